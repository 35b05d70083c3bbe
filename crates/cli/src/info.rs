//! `ncz info`: the format and contents of a dataset.

use std::fmt::Write as _;

use nczarr::dispatch::{DatasetInfo, Fault};
use nczarr::{File, Place};
use nczarr_model::{Chunking, Endian, FilterSpec, GroupId, Model, NcType, Result, Var, VarFill, VarId};
use serde_json::{Map, Value, json};

use crate::failure::{Failure, at, place};
use crate::output::Output;

/// Arguments of `info`.
#[derive(Debug, clap::Args)]
pub struct InfoArgs {
    /// Path or URL
    pub url: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints format and contents of the dataset.
///
/// # Errors
///
/// If it cannot be opened.
pub fn run(args: &InfoArgs) -> Result<(), Failure> {
    let at = at(&args.url);
    let file = nczarr::open(Place::url(&args.url)).map_err(&at)?;
    let text = if args.json { as_json(&args.url, &file) } else { as_text(&args.url, &file) }.map_err(&at)?;
    let mut out = Output::standard();
    out.put(text).and_then(|()| out.finish()).map_err(at)
}

/// Returns the dataset's properties, as names and values.
pub fn facts(info: &DatasetInfo) -> Vec<(&'static str, String)> {
    let mut facts = vec![("driver", info.driver.to_owned())];
    facts.extend(info.map.iter().map(|map| ("map", map.clone())));
    facts.push(("format", info.format.name().to_owned()));
    if !info.flavour.is_empty() {
        facts.push(("flavour", info.flavour.clone()));
    }
    if !info.version.is_empty() {
        facts.push(("version", info.version.clone()));
    }
    facts.extend(info.properties.iter().map(|text| ("written by", text.clone())));
    facts.extend(info.notes.iter().map(|note| ("note", note.clone())));
    facts.extend(info.faults.iter().map(|fault| ("fault", fault.to_string())));
    facts
}

/// Returns the facts about a dataset, with all faults.
fn info(file: &File) -> Result<DatasetInfo> {
    Ok(file.info().faults(file.faults()?))
}

fn as_text(url: &str, file: &File) -> Result<String> {
    let model = file.model();
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<10} {value}");
    };
    line("path", &place(url));
    for (name, value) in facts(&info(file)?) {
        line(name, &value);
    }
    line("groups", &model.groups().len().to_string());
    line("types", &model.user_types().len().to_string());
    for (_, dim) in model.dims() {
        let unlimited = if dim.unlimited { " (unlimited)" } else { "" };
        line(
            "dimension",
            &format!("{} = {}{unlimited}", escaped_path(&model, dim.group, &dim.name)?, dim.len()),
        );
    }
    for (id, var) in model.vars() {
        line("variable", &var_text(&model, id, var, file)?);
    }
    Ok(text)
}

fn escaped_path(model: &Model, group: GroupId, name: &str) -> Result<String> {
    let names = model.group_names(group)?.into_iter().chain([name]);
    Ok(names.map(|name| format!("/{}", nczarr_model::name::escape(name))).collect())
}

fn group_path(model: &Model, id: GroupId) -> Result<String> {
    let path: String = model
        .group_names(id)?
        .into_iter()
        .map(|name| format!("/{}", nczarr_model::name::escape(name)))
        .collect();
    Ok(if path.is_empty() { "/".to_owned() } else { path })
}

fn var_text(model: &Model, id: VarId, var: &Var, file: &File) -> Result<String> {
    let mut text = format!("{} {}", type_name(model, var.xtype), model.var_path(id)?);
    let dims: Result<Vec<_>> =
        var.dims.iter().map(|&dim| Ok((model.dim(dim)?.name.clone(), model.dim(dim)?.len()))).collect();
    let dims: Vec<String> = dims?.iter().map(|(name, len)| format!("{name}={len}")).collect();
    if !dims.is_empty() {
        let _ = write!(text, "({})", dims.join(", "));
    }
    if let Some(chunks) = chunk_shape(id, var, file).filter(|chunks| !chunks.is_empty()) {
        let _ = write!(text, " chunks {}", times(&chunks));
    }
    if let Some(shards) = &var.shards {
        let _ = write!(text, " shards {}", times(shards));
    }
    for filter in &var.filters {
        let _ = write!(text, " {}", filter_text(filter));
    }
    if let Some(stored) = &var.stored_type {
        let _ = write!(text, " stored as {stored}");
    }
    if let Some(problem) = &var.problem {
        let _ = write!(text, " (cannot be read: {problem:#})");
    }
    Ok(text)
}

fn times(shape: &[u64]) -> String {
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

/// Returns the name of a type.
pub fn type_name(model: &Model, ty: NcType) -> String {
    match ty {
        NcType::User(id) => model.user_type(id).map_or_else(|_| "?".to_owned(), |ty| ty.name.clone()),
        atomic => atomic.name().to_owned(),
    }
}

/// Returns the name of a type in a group: its path if the name alone stands for another type or none.
pub fn type_name_in(model: &Model, from: GroupId, ty: NcType) -> String {
    let NcType::User(id) = ty else { return type_name(model, ty) };
    match model.user_type(id) {
        Ok(user) if model.find_type(from, &user.name) != Some(id) => {
            let names = model.group_names(user.group).unwrap_or_default();
            let names = names.into_iter().chain([user.name.as_str()]);
            names.map(|name| format!("/{}", nczarr_model::name::escape(name))).collect()
        }
        _ => type_name(model, ty),
    }
}

fn filter_text(filter: &FilterSpec) -> String {
    let name = match (filter.name.as_str(), filter.hdf5_id) {
        ("", Some(id)) => id.to_string(),
        (name, _) => name.to_owned(),
    };
    let params: Vec<String> = filter.params.iter().map(u32::to_string).collect();
    if params.is_empty() { name } else { format!("{name}({})", params.join(",")) }
}

fn chunk_shape(id: VarId, var: &Var, file: &File) -> Option<Vec<u64>> {
    match &var.chunking {
        Chunking::Chunked(shape) => Some(shape.clone()),
        _ => file.dataset().data(id).ok()?.chunk_shape(),
    }
}

fn as_json(url: &str, file: &File) -> Result<String> {
    let (model, info) = (file.model(), info(file)?);
    let mut dims = Vec::new();
    for (_, dim) in model.dims() {
        dims.push(json!({
            "path": escaped_path(&model, dim.group, &dim.name)?, "length": dim.len(), "unlimited": dim.unlimited,
        }));
    }
    let mut vars = Vec::new();
    for (id, var) in model.vars() {
        vars.push(var_json(&model, id, var, file)?);
    }
    let document = json!({
        "path": place(url),
        "driver": info.driver,
        "map": info.map,
        "format": info.format.name(),
        "flavour": info.flavour,
        "version": info.version,
        "properties": info.properties,
        "notes": info.notes,
        "faults": info.faults.iter().map(fault_json).collect::<Vec<_>>(),
        "groups": model.groups().map(|(id, _)| group_path(&model, id)).collect::<Result<Vec<_>>>()?,
        "types": model.user_types().map(|(_, ty)| escaped_path(&model, ty.group, &ty.name)).collect::<Result<Vec<_>>>()?,
        "dimensions": dims,
        "variables": vars,
    });
    Ok(format!("{document:#}\n"))
}

/// Returns a fault with its kind as one word.
fn fault_json(fault: &Fault) -> Value {
    json!({"kind": format!("{:?}", fault.kind), "path": fault.path, "text": fault.text})
}

fn var_json(model: &Model, id: VarId, var: &Var, file: &File) -> Result<Value> {
    let mut object = Map::new();
    let dims: Result<Vec<_>> = var
        .dims
        .iter()
        .map(|&dim| escaped_path(model, model.dim(dim)?.group, &model.dim(dim)?.name))
        .collect();
    object.insert("path".into(), model.var_path(id)?.into());
    object.insert("type".into(), type_name(model, var.xtype).into());
    object.insert("dimensions".into(), dims?.into());
    object.insert("shape".into(), model.shape(id)?.into());
    object.insert("chunks".into(), chunk_shape(id, var, file).into());
    object.insert("shards".into(), var.shards.clone().into());
    let filters = var
        .filters
        .iter()
        .map(|filter| json!({"id": filter.hdf5_id, "name": filter.name, "params": filter.params}));
    object.insert("filters".into(), filters.collect::<Vec<_>>().into());
    let endian = match var.endian {
        Endian::Native => "native",
        Endian::Little => "little",
        Endian::Big => "big",
    };
    object.insert("endianness".into(), endian.into());
    object.insert("filled".into(), (var.fill != VarFill::NoFill).into());
    object.insert("attributes".into(), var.atts.len().into());
    object.insert("stored_type".into(), var.stored_type.clone().into());
    object.insert("problem".into(), var.problem.as_ref().map(ToString::to_string).into());
    Ok(object.into())
}

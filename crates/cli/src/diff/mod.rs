//! `ncz diff`: differences between two datasets, whatever formats they have: groups, types, dimensions,
//! attributes, variables and values. Storage (chunks, filters, order of names) makes no difference.
//!
//! Values are equal if they are the same number, also in another type; NaN equals NaN. With a tolerance,
//! numbers are equal if they are no further apart than it. Exit codes: 0 no difference, 1 differences, 2 a
//! failure.

mod args;
mod data;

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::process::ExitCode;

use nczarr::{File, Place};
use nczarr_model::{
    Att, Error, ErrorKind, FILL_VALUE, Field, GroupId, Model, NcType, Result, TypeClass, Values, VarId,
};
use serde_json::{Value, json};

use crate::cat::json::each;
use crate::failure::{Failure, at, is_unheard};
use crate::info::type_name;
use crate::json_atts;
use crate::list::split_list;
use crate::output::Output;
pub use args::DiffArgs;

/// Prints the differences.
///
/// # Errors
///
/// Errors of opening and printing. Unreadable data are a difference unless both sides are unreadable.
pub fn run(args: &DiffArgs) -> std::result::Result<ExitCode, Failure> {
    if args.vars.as_deref().is_some_and(|list| split_list(list).is_empty()) {
        return Err(Failure::Usage("-v: no variable is named".to_owned()));
    }
    let (left, right) = (
        nczarr::open(Place::url(&args.left)).map_err(at(&args.left))?,
        nczarr::open(Place::url(&args.right)).map_err(at(&args.right))?,
    );
    let mut found = Comparison { args, all: Vec::new(), failed: None };
    compare(&left, &right, &mut found).map_err(at(&args.left))?;
    let same = found.all.is_empty() && found.failed.is_none();
    let mut out = Output::standard();
    let text = if args.json {
        let all: Vec<Value> = found.all.iter().map(Difference::json).collect();
        format!("{:#}\n", json!({"same": same, "differences": all}))
    } else {
        found.all.iter().map(Difference::line).collect()
    };
    // The exit code counts, even if the reader stops early.
    match out.put(text).and_then(|()| out.finish()) {
        Err(error) if !is_unheard(&error) => return Err(at(&args.left)(error)),
        _ => {}
    }
    if let Some(error) = found.failed {
        return Err(at(&args.left)(error));
    }
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A difference.
struct Difference {
    /// `variable`, `attribute` …
    what: &'static str,
    /// Its path: `/group/var:attribute`.
    path: String,
    /// The values on the left and on the right; `None` where there is no value.
    sides: [Option<String>; 2],
}

impl Difference {
    fn line(&self) -> String {
        let Self { what, path, sides } = self;
        match sides {
            [Some(left), Some(right)] => format!("{what} {path}: {left} | {right}\n"),
            [Some(_), None] => format!("{what} {path}: only in the first\n"),
            [None, _] => format!("{what} {path}: only in the second\n"),
        }
    }

    fn json(&self) -> Value {
        json!({"what": self.what, "path": self.path, "first": self.sides[0], "second": self.sides[1]})
    }
}

struct Comparison<'a> {
    args: &'a DiffArgs,
    all: Vec<Difference>,
    /// Reasons why an object could be compared in neither dataset.
    failed: Option<Error>,
}

impl Comparison<'_> {
    /// Compares two sides and adds a difference.
    fn check(&mut self, what: &'static str, path: &str, sides: [Option<String>; 2]) {
        if sides[0] != sides[1] {
            self.all.push(Difference { what, path: path.to_owned(), sides });
        }
    }
}

fn compare(left: &File, right: &File, found: &mut Comparison<'_>) -> Result<()> {
    let models = [left.model(), right.model()];
    let (a, b) = (&*models[0], &*models[1]);
    let wanted = found.args.vars.as_deref().map(split_list);
    let met = RefCell::new(HashSet::new());
    let wants = |name: &str, path: &str| {
        let is = |wanted: &&String| *wanted == name || *wanted == path;
        let Some(list) = &wanted else { return true };
        let matching: Vec<&String> = list.iter().filter(is).collect();
        met.borrow_mut().extend(matching.iter().map(|wanted| (*wanted).clone()));
        !matching.is_empty()
    };
    let all = [paths(a)?, paths(b)?];
    for path in union(&all[0], &all[1]) {
        let ids = [find(&all[0], &path), find(&all[1], &path)];
        let [Some(one), Some(other)] = ids else {
            if wanted.is_none() {
                found.check("group", &path, ids.map(|id| id.map(|_| String::new())));
            }
            // The whole group is one difference; its contents are not listed.
            for (model, id) in [a, b].into_iter().zip(ids) {
                let names =
                    id.map(|id| model.group(id)).transpose()?.into_iter().flat_map(|group| group.vars.keys());
                for (name, path) in names.map(|name| (name, join(&path, name))) {
                    if wanted.is_some() && wants(name, &path) {
                        found.check("variable", &path, ids.map(|id| id.map(|_| String::new())));
                    }
                }
            }
            continue;
        };
        let groups = [a.group(one)?, b.group(other)?];
        if wanted.is_none() {
            let dims = |model: &Model, group: GroupId| -> Result<Vec<(String, String)>> {
                let dims = model.group(group)?.dims.values();
                dims.map(|&dim| {
                    let dim = model.dim(dim)?;
                    Ok((
                        dim.name.clone(),
                        format!("{}{}", dim.len(), if dim.unlimited { " (unlimited)" } else { "" }),
                    ))
                })
                .collect()
            };
            pairs(found, "dimension", &path, dims(a, one)?, dims(b, other)?);
            let types = |model: &Model, group: GroupId| -> Result<Vec<(String, String)>> {
                let types = model.group(group)?.types.values();
                types
                    .map(|&ty| model.user_type(ty))
                    .map(|ty| ty.map(|ty| (ty.name.clone(), type_text(model, &ty.class))))
                    .collect()
            };
            pairs(found, "type", &path, types(a, one)?, types(b, other)?);
            atts(found, [a, b], &path, [&groups[0].atts, &groups[1].atts])?;
            json(
                found,
                [left, right],
                &path,
                [(one, None), (other, None)],
                [&groups[0].atts, &groups[1].atts],
            )?;
        }
        let names = |at: usize| -> Vec<String> { groups[at].vars.keys().cloned().collect() };
        for name in union(&names(0), &names(1)) {
            let path = join(&path, &name);
            if !wants(&name, &path) {
                continue;
            }
            match [groups[0].vars.get(&name), groups[1].vars.get(&name)] {
                [Some(&one), Some(&other)] => var(found, [left, right], [a, b], &path, [one, other])?,
                ids => found.check("variable", &path, ids.map(|id| id.map(|_| String::new()))),
            }
        }
    }
    match wanted.iter().flatten().find(|wanted| !met.borrow().contains(*wanted)) {
        Some(nowhere) => {
            Err(ErrorKind::NotVar.context(format!("-v {nowhere}: no such variable in either dataset")))
        }
        None => Ok(()),
    }
}

/// Describes a type by names: ids of two datasets are unrelated, and memory offsets do not matter.
fn type_text(model: &Model, class: &TypeClass) -> String {
    let of = |ty: NcType| type_name(model, ty);
    match class {
        TypeClass::Compound { fields, .. } => {
            let field = |field: &Field| {
                let lens: Vec<String> = field.shape.iter().map(u32::to_string).collect();
                let shape = if lens.is_empty() { String::new() } else { format!("({})", lens.join(", ")) };
                format!("{} {}{shape}", of(field.ty), field.name)
            };
            format!("compound {{{}}}", fields.iter().map(field).collect::<Vec<_>>().join("; "))
        }
        TypeClass::Enum { base, members } => {
            let members: Vec<String> =
                members.iter().map(|member| format!("{} = {}", member.name, member.value)).collect();
            format!("{} enum {{{}}}", of(*base), members.join(", "))
        }
        TypeClass::Opaque { size } => format!("opaque({size})"),
        TypeClass::Vlen { base } => format!("{}(*)", of(*base)),
    }
}

fn var(
    found: &mut Comparison<'_>,
    files: [&File; 2],
    models: [&Model; 2],
    path: &str,
    ids: [VarId; 2],
) -> Result<()> {
    let vars = [models[0].var(ids[0])?, models[1].var(ids[1])?];
    let types = [type_name(models[0], vars[0].xtype), type_name(models[1], vars[1].xtype)];
    found.check("type of", path, types.map(Some));
    let dims = |at: usize| -> Result<String> {
        let dims: Result<Vec<_>> =
            vars[at].dims.iter().map(|&dim| Ok(models[at].dim(dim)?.name.clone())).collect();
        Ok(dims?.join(", "))
    };
    found.check("dimensions of", path, [Some(dims(0)?), Some(dims(1)?)]);
    atts(found, models, path, [&vars[0].atts, &vars[1].atts])?;
    let places = [(vars[0].group, Some(ids[0])), (vars[1].group, Some(ids[1]))];
    json(found, files, path, places, [&vars[0].atts, &vars[1].atts])?;
    let shapes = [models[0].shape(ids[0])?, models[1].shape(ids[1])?];
    if shapes[0] != shapes[1] {
        found.check("shape of", path, shapes.map(|shape| Some(format!("{shape:?}"))));
        return Ok(());
    }
    if found.args.header || shapes[0].contains(&0) {
        return Ok(());
    }
    data::compare(found, files, models, path, ids, &shapes[0])
}

/// Compares the JSON of common attributes, where both datasets are plain Zarr: other readers see it.
fn json(
    found: &mut Comparison<'_>,
    files: [&File; 2],
    path: &str,
    places: [(GroupId, Option<VarId>); 2],
    atts: [&Att; 2],
) -> Result<()> {
    let Some(left) = json_atts::plain(files[0], places[0].0, places[0].1)? else { return Ok(()) };
    let Some(right) = json_atts::plain(files[1], places[1].0, places[1].1)? else { return Ok(()) };
    for (name, one) in left.iter().filter(|(name, _)| name != FILL_VALUE) {
        // Comparing the values finds other faults, or they belong to the format.
        let same = atts[0].get(name).is_some_and(|values| atts[1].get(name) == Some(values));
        if let Some((_, other)) = right.iter().find(|(known, _)| known == name && same)
            && !json_atts::same(one, other)
        {
            let place = format!("{}:{name}", if path == "/" { "" } else { path });
            found.check("JSON of attribute", &place, [Some(one.clone()), Some(other.clone())]);
        }
    }
    Ok(())
}

fn atts(found: &mut Comparison<'_>, models: [&Model; 2], path: &str, atts: [&Att; 2]) -> Result<()> {
    let mut rendered = Vec::new();
    for (model, atts) in models.into_iter().zip(atts) {
        let mut all = Vec::new();
        for (name, values) in atts {
            all.push((name.clone(), att_text(model, values)?));
        }
        rendered.push(all);
    }
    let right = rendered.pop().unwrap_or_default();
    let left = rendered.pop().unwrap_or_default();
    let mut names: Vec<&String> = left.iter().map(|(name, _)| name).collect();
    names.extend(
        right.iter().map(|(name, _)| name).filter(|name| !left.iter().any(|(other, _)| other == *name)),
    );
    for name in names {
        let of = |all: &[(String, String)]| {
            all.iter().find(|(other, _)| other == name).map(|(_, text)| text.clone())
        };
        found.check(
            "attribute",
            &format!("{}:{name}", if path == "/" { "" } else { path }),
            [of(&left), of(&right)],
        );
    }
    Ok(())
}

fn att_text(model: &Model, values: &Values) -> Result<String> {
    if let Values::Char(text) = values {
        return Ok(quoted(text));
    }
    let mut all = Vec::new();
    each(model, values, |text| {
        all.push(String::from_utf8_lossy(text).into_owned());
        Ok(())
    })?;
    Ok(format!("{} {}", type_name(model, values.nc_type()), all.join(", ")))
}

/// Returns bytes between quotation marks, with numbers for bytes that are not text: different bytes look
/// different.
fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        let valid = format!("{:?}", chunk.valid());
        text.push_str(&valid[1..valid.len() - 1]);
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text.push('"');
    text
}

/// Describes the named objects of one group.
fn pairs(
    found: &mut Comparison<'_>,
    what: &'static str,
    path: &str,
    left: Vec<(String, String)>,
    right: Vec<(String, String)>,
) {
    let names = |all: &[(String, String)]| all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    for name in union(&names(&left), &names(&right)) {
        let of = |all: &[(String, String)]| {
            all.iter().find(|(other, _)| *other == name).map(|(_, text)| text.clone())
        };
        found.check(what, &join(path, &name), [of(&left), of(&right)]);
    }
}

/// The groups by path.
fn paths(model: &Model) -> Result<Vec<(String, GroupId)>> {
    let mut all = Vec::new();
    for (id, _) in model.groups() {
        let names = model.group_names(id)?;
        let path: String =
            names.into_iter().map(|name| format!("/{}", nczarr_model::name::escape(name))).collect();
        all.push((if path.is_empty() { "/".to_owned() } else { path }, id));
    }
    Ok(all)
}

fn find(all: &[(String, GroupId)], path: &str) -> Option<GroupId> {
    all.iter().find(|(other, _)| other == path).map(|(_, id)| *id)
}

/// Returns all names once, in the order of the first and then of the second.
fn union<T: Named>(left: &[T], right: &[T]) -> Vec<String> {
    let mut all: Vec<String> = left.iter().map(|item| item.name().to_owned()).collect();
    let known: HashSet<String> = all.iter().cloned().collect();
    all.extend(right.iter().map(|item| item.name().to_owned()).filter(|name| !known.contains(name)));
    all
}

trait Named {
    fn name(&self) -> &str;
}

impl Named for String {
    fn name(&self) -> &str {
        self
    }
}

impl Named for (String, GroupId) {
    fn name(&self) -> &str {
        &self.0
    }
}

fn join(group: &str, name: &str) -> String {
    format!("{}/{}", if group == "/" { "" } else { group }, nczarr_model::name::escape(name))
}

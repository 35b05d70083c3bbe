//! NCZarr's own keys as V3 documents have them ⇄ as V2 documents have them today.
//!
//! Read: the definition of NCZarr V3 (lists of objects, `subgroups`, `type_alias`) and the spelling of its first writer
//! (objects, `groups`, `nczarr_type`). Whatever reads NCZarr's keys afterwards knows one form only. Written: the
//! definition, with three keys more that others leave alone: `no_fill`, `filters` and `nan`.
//!
//! Source: appendix E of the NCZarr document, and the table of resolutions in the formats notes.

use nczarr_dispatch::Key;
use nczarr_model::{FilterSpec, Group, Model, NcType, Result};

use super::node_name;
use super::types::DataType;
use crate::annotation;
use crate::attrs::{FILL_VALUE, KEPT, NCZARR_ARRAY, NCZARR_ATTR, NCZARR_GROUP};
use crate::base64;
use crate::dataset::State;
use crate::dtype::{DType, Kind};
use crate::json::{
    Json, Members, Object, Value, json_float, json_single, write_list, write_name, write_number, write_string,
};
use crate::meta::bad;
use crate::user;

/// Where V3 has what V2 has in [`NCZARR_ATTR`].
pub(crate) const NCZARR_ATTRS: &str = "_nczarr_attrs";
/// Keys of the first writer that say nothing that is not said elsewhere.
pub(crate) const SEPARATORS: [&str; 2] = ["_nczarr_default_separator", "_nczarr_separator"];

/// Whether an attribute of this name is a key of V3 alone.
pub(crate) fn is_reserved(name: &str) -> bool {
    name == NCZARR_ATTRS || SEPARATORS.contains(&name)
}

/// What is recorded for what is no attribute of netCDF's, in V2.
const STRUCTURE: &str = "|J0";
/// A string of any length, in V2.
const STRING: &str = "|S1";
/// What of a fill value does not say itself.
const FILL: &str = "fill";
/// What an annotation says of a fill value that is an attribute all the same.
const IMPLIED: &str = "implied";
const NO_FILL: &str = "no_fill";
const TYPES: &str = "attribute_types";
const FILTERS: &str = "filters";

/// The attributes of a group, in V2's form.
///
/// # Errors
/// `NC_ENCZARR` naming the member that is not as it should be.
pub(crate) fn group<'t>(attrs: &Members<'t>) -> Result<Members<'t>> {
    let mut today = today(attrs)?;
    if let Some(found) = today.remove(NCZARR_GROUP) {
        let members = found.as_object().ok_or_else(|| bad(NCZARR_GROUP, "an object", Some(&found)))?;
        let mut group = Members::new();
        if let Some(dims) = members.get("dimensions") {
            group.insert("dimensions", dimensions(dims)?);
        }
        for (name, of) in [("arrays", ["arrays", "vars"]), ("groups", ["subgroups", "groups"])] {
            if let Some(list) = of.iter().find_map(|name| members.get(name)) {
                group.insert(name, list.clone());
            }
        }
        for name in ["types", node_name::NAME] {
            if let Some(value) = members.get(name) {
                group.insert(name, value.clone());
            }
        }
        today.insert(NCZARR_GROUP, Value::Object(group));
    }
    Ok(today)
}

/// The dimensions of a group, by their names.
fn dimensions<'t>(dims: &Value<'t>) -> Result<Value<'t>> {
    let Some(list) = dims.as_array() else { return Ok(dims.clone()) };
    let mut named = Members::new();
    for dim in list {
        let name = dim.as_object().and_then(|dim| dim.get("name")).and_then(Value::as_str);
        let name = name.ok_or_else(|| bad("dimensions", "objects with a \"name\"", Some(dim)))?;
        if named.contains_key(name) {
            return Err(bad("dimensions", "each name once", Some(&Value::string(name))));
        }
        named.insert(name.to_owned(), dim.clone());
    }
    Ok(Value::Object(named))
}

/// What an array's keys say beside V2's.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Extra {
    /// `char` or `string`, where the stored type does not say it.
    pub(crate) alias: Option<String>,
    /// Elements that were never written are whatever they are.
    pub(crate) no_fill: bool,
    /// The filters as they were defined, if they are kept.
    pub(crate) filters: Option<Vec<FilterSpec>>,
    /// The fill value of the array is the attribute `_FillValue`, which is not stored.
    pub(crate) implied: bool,
    /// The fill value of the array is what unwritten elements read as, and no attribute.
    pub(crate) unwritten: bool,
    /// The full name of its user-defined type.
    pub(crate) ty: Option<String>,
    /// The place of its fill value among its attributes, of which it is none that is stored.
    pub(crate) place: Option<usize>,
    /// The document tells a name.
    pub(crate) named: bool,
    /// It is in the spelling of the first writer, who gives every string a fill value.
    pub(crate) is_first: bool,
}

impl Extra {
    /// The stored type as the alias means it.
    pub(crate) fn apply(&self, data: &mut DataType) {
        match (self.alias.as_deref(), data.dtype.kind) {
            (Some("char"), Kind::Number(NcType::UByte)) => data.dtype = DType::from_name(">S1"),
            (Some("string"), Kind::Opaque(width)) => data.dtype = DType::from_name(&format!("|S{width}")),
            _ => {}
        }
    }
}

/// The attributes of an array in V2's form, and what its keys say beside.
///
/// # Errors
/// `NC_ENCZARR` naming the member that is not as it should be.
pub(crate) fn array<'t>(attrs: &Members<'t>) -> Result<(Members<'t>, Extra)> {
    let mut today = today(attrs)?;
    let mut extra = Extra::default();
    if let Some(found) = today.get_mut(NCZARR_ARRAY)
        && let Value::Object(members) = found
    {
        extra.is_first = members.contains_key("nczarr_type");
        let alias = members.remove("type_alias").or_else(|| members.remove("nczarr_type"));
        extra.alias = alias.as_ref().and_then(Value::as_str).map(str::to_owned);
        extra.no_fill = members
            .remove(NO_FILL)
            .is_some_and(|flag| flag.as_integer().is_some_and(|flag| flag != 0) || flag.as_bool() == Some(true));
        extra.filters = members.remove(FILTERS).as_ref().and_then(filters);
        extra.named = members.get(node_name::NAME).and_then(Value::as_str).is_some();
        extra.unwritten = members.get(FILL).and_then(Value::as_str) == Some(annotation::UNWRITTEN);
        if extra.unwritten {
            members.remove(FILL);
        }
    }
    Ok((today, extra))
}

/// What the annotation of a plain store says of an array beside what it says in V2.
pub(crate) fn annotated(attrs: &Members<'_>) -> Extra {
    let Some(members) = annotation::of(attrs) else { return Extra::default() };
    let says = |name: &str, what: &str| members.get(name).and_then(Value::as_str) == Some(what);
    Extra {
        alias: says("type", "char").then(|| "char".to_owned()),
        no_fill: members.get(NO_FILL).and_then(Value::as_integer).is_some_and(|flag| flag != 0),
        filters: members.get(FILTERS).and_then(filters),
        implied: says(FILL, IMPLIED),
        // There no fill value is an attribute unless something says so.
        unwritten: false,
        ty: None,
        place: None,
        named: members.get(node_name::NAME).and_then(Value::as_str).is_some(),
        is_first: false,
    }
}

/// Appends those members of an array's annotation.
pub(crate) fn write_annotated(extra: &Extra, out: &mut String) {
    if extra.implied {
        write_name(FILL, out);
        write_string(IMPLIED, out);
    }
    write_extra(extra, out);
}

fn write_extra(extra: &Extra, out: &mut String) {
    if extra.no_fill {
        write_name(NO_FILL, out);
        out.push('1');
    }
    if let Some(filters) = &extra.filters {
        write_name(FILTERS, out);
        write_list(filters, out, write_filter);
    }
}

/// The `_FillValue` of a variable in a form that says its type: floats may be in base64, as xarray writes them, and a byte
/// may be text. One that its writer gives every string says nothing.
pub(crate) fn plain_fill(attrs: &mut Members<'_>, data: &DataType, extra: &Extra) {
    let Some(Value::String(text)) = attrs.get(FILL_VALUE) else { return };
    let plain = match data.dtype.kind {
        Kind::Number(NcType::Double) => coded_float(text).map(json_float),
        Kind::Number(NcType::Float) | Kind::Half(_) => coded_float(text).map(|value| json_single(value as f32)),
        Kind::Number(NcType::UByte) => match text.as_bytes() {
            [] => Some(Value::int(0)),
            [byte] => Some(Value::int(*byte)),
            _ => None,
        },
        Kind::Text(_) if extra.is_first && text.is_empty() => {
            attrs.remove(FILL_VALUE);
            return;
        }
        _ => None,
    };
    if let Some(plain) = plain {
        attrs.insert(FILL_VALUE, plain);
    }
}

/// The `_FillValue` of a float, in base64 as xarray wants it.
pub(crate) fn coded(value: f64) -> String {
    base64::encode(&value.to_le_bytes())
}

fn coded_float(text: &str) -> Option<f64> {
    // Eight bytes are twelve letters, the last of which fills up.
    let bytes = base64::decode(text).filter(|_| text.len() == 12)?;
    bytes.first_chunk::<8>().map(|bytes| f64::from_le_bytes(*bytes))
}

/// The attributes with the recorded types where V2 has them, and without what says nothing.
fn today<'t>(attrs: &Members<'t>) -> Result<Members<'t>> {
    let mut today = attrs.clone();
    for name in SEPARATORS {
        today.remove(name);
    }
    let Some(found) = today.remove(NCZARR_ATTRS) else { return Ok(today) };
    let members = found.as_object().ok_or_else(|| bad(NCZARR_ATTRS, "an object", Some(&found)))?;
    let mut types = Members::new();
    let mut record = |name: &str, ty: Option<&str>| {
        if let Some(ty) = ty.and_then(|ty| if ty.starts_with('/') { Some(ty) } else { v2_type(ty) }) {
            types.insert(name.to_owned(), Value::string(ty));
        }
    };
    match members.get(TYPES) {
        Some(Value::Array(list)) => {
            for entry in list {
                let named = entry.as_object().and_then(|entry| Some((entry, entry.get("name")?.as_str()?)));
                let (entry, name) =
                    named.ok_or_else(|| bad("attribute_types", "objects with a \"name\"", Some(entry)))?;
                let ty = entry.get("configuration").and_then(Value::as_object).and_then(|ty| ty.get("type"));
                record(name, ty.and_then(Value::as_str));
            }
        }
        Some(Value::Object(by_name)) => by_name.iter().for_each(|(name, ty)| record(name, ty.as_str())),
        None => {}
        Some(other) => return Err(bad(TYPES, "a list or an object", Some(other))),
    }
    let mut beside = Members::new();
    beside.insert("types", Value::Object(types));
    for member in KEPT {
        if let Some(kept) = members.get(member) {
            beside.insert(member, kept.clone());
        }
    }
    today.insert(NCZARR_ATTR, Value::Object(beside));
    Ok(today)
}

/// V2's name of a recorded type.
fn v2_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "int8" => "|i1",
        "uint8" => "|u1",
        "int16" => "<i2",
        "uint16" => "<u2",
        "int32" => "<i4",
        "uint32" => "<u4",
        "int64" => "<i8",
        "uint64" => "<u8",
        "float32" => "<f4",
        "float64" => "<f8",
        "char" => ">S1",
        "string" => STRING,
        "json" => STRUCTURE,
        _ => return None,
    })
}

/// V3's name of the type of an attribute.
pub(crate) fn type_name(ty: NcType) -> &'static str {
    match ty {
        NcType::Byte => "int8",
        NcType::UByte => "uint8",
        NcType::Short => "int16",
        NcType::UShort => "uint16",
        NcType::Int => "int32",
        NcType::UInt => "uint32",
        NcType::Int64 => "int64",
        NcType::UInt64 => "uint64",
        NcType::Float => "float32",
        NcType::Double => "float64",
        NcType::Char => "char",
        NcType::String => "string",
        NcType::User(_) => "json",
    }
}

/// Appends an entry to the list of recorded types, which `out` ends with from its `[` on.
pub(crate) fn write_type(name: &str, ty: &str, out: &mut String) {
    if !out.ends_with('[') {
        out.push(',');
    }
    out.push_str("{\"name\": ");
    write_string(name, out);
    out.push_str(", \"configuration\": {\"type\": ");
    write_string(ty, out);
    out.push_str("}}");
}

/// Appends the superblock.
pub(crate) fn write_superblock(out: &mut String) {
    out.push_str("{\"version\": \"3.0.0\", \"format\": 3}");
}

/// Appends the lists of a group, which is at this key.
///
/// # Errors
/// A dimension that the model does not have.
pub(crate) fn write_group(model: &Model, group: &Group, state: &State, key: &Key, out: &mut String) -> Result<()> {
    out.push_str("{\"dimensions\": [");
    for (name, &dim) in &group.dims {
        let dim = model.dim(dim)?;
        if !out.ends_with('[') {
            out.push(',');
        }
        out.push_str("{\"name\": ");
        write_string(name, out);
        write_number(format_args!(", \"size\": {}, \"unlimited\": {}}}", dim.len(), u8::from(dim.unlimited)), out);
    }
    out.push(']');
    // Others look for nodes of these names.
    let vars = group.vars.values().map(|&id| Ok(node_name::stored(&state.var(id)?.key))).collect::<Result<Vec<_>>>()?;
    let groups = group.groups.values().map(|&id| Ok(node_name::stored(&state.group(id)?.key)));
    write_name("arrays", out);
    write_list(vars, out, write_string);
    write_name("subgroups", out);
    write_list(groups.collect::<Result<Vec<_>>>()?, out, write_string);
    node_name::write(&group.name, key, out);
    if !group.types.is_empty() {
        write_name("types", out);
        user::write_defs(model, group, out)?;
    }
    out.push('}');
    Ok(())
}

/// Appends the keys of an array with its name and its place. `references`: the full names of its dimensions.
pub(crate) fn write_array(references: &[String], extra: &Extra, (name, key): (&str, &Key), out: &mut String) {
    out.push_str("{\"dimension_references\": ");
    write_list(references, out, |name, out| write_string(name, out));
    if let Some(alias) = &extra.alias {
        write_name("type_alias", out);
        write_string(alias, out);
    }
    if let Some(ty) = &extra.ty {
        write_name(user::TYPE, out);
        write_string(ty, out);
    }
    if extra.unwritten {
        write_name(FILL, out);
        write_string(annotation::UNWRITTEN, out);
    }
    if let Some(place) = extra.place {
        write_name(FILL, out);
        write_number(place, out);
    }
    write_extra(extra, out);
    node_name::write(name, key, out);
    out.push('}');
}

/// A group's lists, in V2's form, as V3 has them in the spelling of `like`; what else stands there stays.
pub(crate) fn stored_group(lists: &Object, like: &Json) -> Json {
    let like = like.as_object().cloned().unwrap_or_default();
    let spelled = |names: [&'static str; 2]| *names.iter().find(|name| like.contains_key(name)).unwrap_or(&names[0]);
    let (arrays, groups) = (spelled(["arrays", "vars"]), spelled(["subgroups", "groups"]));
    let by_name = like.get("dimensions").is_some_and(|dims| dims.as_object().is_some());
    let mut stored = like;
    if let Some(Json::Object(dims)) = lists.get("dimensions") {
        stored.insert("dimensions", stored_dimensions(dims, by_name));
    }
    for (of, name) in [("arrays", arrays), ("groups", groups), ("types", "types")] {
        if let Some(names) = lists.get(of) {
            stored.insert(name, names.clone());
        }
    }
    match lists.get(node_name::NAME) {
        Some(name) => stored.insert(node_name::NAME, name.clone()),
        None => drop(stored.remove(node_name::NAME)),
    }
    Json::Object(stored)
}

/// Dimensions as a list of objects, or as an object of objects.
fn stored_dimensions(dims: &Object, by_name: bool) -> Json {
    let member = |dim: &Json, name: &str| dim.as_object().and_then(|dim| dim.get(name)).cloned();
    let entries = dims.iter().map(|(name, dim)| {
        let size = member(dim, "size").unwrap_or_else(|| dim.clone());
        let unlimited = member(dim, "unlimited").unwrap_or_else(|| Json::int(0));
        (name, [("size", size), ("unlimited", unlimited)])
    });
    if by_name {
        let entries = entries.map(|(name, members)| (name.to_owned(), Json::Object(members.into_iter().collect())));
        return Json::Object(entries.collect());
    }
    let named = |(name, members): (&str, [(&'static str, Json); 2])| {
        Json::Object([("name", Json::string(name))].into_iter().chain(members).collect())
    };
    Json::Array(entries.map(named).collect())
}

/// The recorded types of attributes, in order.
pub(crate) fn types(recorded: &Json) -> Vec<(String, String)> {
    let text = |value: &Json| value.as_str().map(str::to_owned);
    let listed = |entry: &Json| {
        let entry = entry.as_object()?;
        let ty = entry.get("configuration")?.as_object()?.get("type")?;
        Some((text(entry.get("name")?)?, text(ty)?))
    };
    match recorded.as_object().and_then(|members| members.get(TYPES)) {
        Some(Json::Array(list)) => list.iter().filter_map(listed).collect(),
        Some(Json::Object(by_name)) => {
            by_name.iter().filter_map(|(name, ty)| Some((name.to_owned(), text(ty)?))).collect()
        }
        _ => Vec::new(),
    }
}

/// Recorded types and what is kept beside them in the spelling of `like`; what else stands there stays.
pub(crate) fn stored_types(types: &[(String, String)], kept: &[(&'static str, Json)], like: Option<&Json>) -> Json {
    let mut stored = like.and_then(Json::as_object).cloned().unwrap_or_default();
    let types = match stored.get(TYPES) {
        Some(Json::Object(_)) => {
            Json::Object(types.iter().map(|(name, ty)| (name.clone(), Json::string(&**ty))).collect())
        }
        _ => {
            let entry = |(name, ty): &(String, String)| {
                let configuration = Json::Object([("type", Json::string(&**ty))].into_iter().collect());
                let members = [("name", Json::string(&**name)), ("configuration", configuration)];
                Json::Object(members.into_iter().collect())
            };
            Json::Array(types.iter().map(entry).collect())
        }
    };
    stored.insert(TYPES, types);
    for (member, kept) in kept {
        match kept.as_object().is_some_and(|kept| !kept.is_empty()) {
            true => stored.insert(*member, kept.clone()),
            false => drop(stored.remove(member)),
        }
    }
    Json::Object(stored)
}

/// A filter by its id and parameters, or by its description if it has no id.
fn write_filter(filter: &FilterSpec, out: &mut String) {
    out.push('{');
    match (filter.hdf5_id, &filter.codec) {
        (Some(id), _) => {
            write_name("id", out);
            write_number(id, out);
        }
        (None, Some(codec)) => {
            write_name("codec", out);
            write_string(codec, out);
            if !filter.name.is_empty() {
                write_name("name", out);
                write_string(&filter.name, out);
            }
        }
        (None, None) => {
            write_name("name", out);
            write_string(&filter.name, out);
        }
    }
    if !filter.params.is_empty() {
        write_name("params", out);
        write_list(&filter.params, out, write_number);
    }
    out.push('}');
}

/// The filters that are kept; `None` if they are not to be understood.
fn filters(list: &Value<'_>) -> Option<Vec<FilterSpec>> {
    let number = |value: &Value<'_>| value.as_integer().and_then(|number| u32::try_from(number).ok());
    let filter = |item: &Value<'_>| {
        let item = item.as_object()?;
        let text = |name: &str| item.get(name).map(|text| text.as_str().map(str::to_owned));
        let params = match item.get("params") {
            None => Vec::new(),
            Some(params) => params.as_array()?.iter().map(number).collect::<Option<_>>()?,
        };
        let hdf5_id = match item.get("id") {
            None => None,
            Some(id) => Some(number(id)?),
        };
        let spec = FilterSpec {
            hdf5_id,
            name: text("name").unwrap_or_else(|| Some(String::new()))?,
            params,
            codec: text("codec").map_or(Some(None), |text| text.map(Some))?,
        };
        (spec.hdf5_id.is_some() || spec.codec.is_some() || !spec.name.is_empty()).then_some(spec)
    };
    list.as_array()?.iter().map(filter).collect()
}

#[cfg(test)]
mod tests;

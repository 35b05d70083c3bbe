//! Conversion of NCZarr's own keys between V3 documents and the current V2 form.
//!
//! Reading accepts the definition of NCZarr V3 (lists of objects, `subgroups`, `type_alias`) and the spelling
//! of its first writer (objects, `groups`, `nczarr_type`). Other modules see only V2's form. Writing follows
//! the definition, with three more keys that other readers ignore: `no_fill`, `filters` and `nan`.
//!
//! Source: appendix E of the NCZarr document, and the table of resolutions in the format notes.

use nczarr_codec::ShownType;
use nczarr_model::{FilterSpec, Group, Model, NcType, Result};
use nczarr_storage::Key;

use super::node_name;
use super::types::DataType;
use crate::dataset::node_states::NodeStates;
use crate::flavour::annotation;
use crate::flavour::nczarr_lists;
use crate::metadata::attributes::{EXACT_MEMBERS, FILL_VALUE, NCZARR_ARRAY, NCZARR_ATTR, NCZARR_GROUP};
use crate::metadata::base64;
use crate::metadata::json::{
    Json, Object, ObjectMembers, Value, json_float, json_single, write_list, write_name, write_number,
    write_string,
};
use crate::metadata::members::bad_member;
use crate::metadata::types::dtype::{DType, DTypeKind};
use crate::user;

/// V3's counterpart of [`NCZARR_ATTR`].
pub(crate) const NCZARR_ATTRS: &str = "_nczarr_attrs";
/// Redundant keys of the first writer.
pub(crate) const SEPARATORS: [&str; 2] = ["_nczarr_default_separator", "_nczarr_separator"];

/// Whether an attribute of this name is a key of V3 only.
pub(crate) fn is_reserved(name: &str) -> bool {
    name == NCZARR_ATTRS || SEPARATORS.contains(&name)
}

/// V2's recorded type of NCZarr's own keys, which are no netCDF attributes.
const JSON_TYPE: &str = "|J0";
/// V2's recorded type of strings.
const STRING: &str = "|S1";
/// The member with facts about the fill value.
const FILL: &str = "fill";
/// In an annotation: the fill value is also the attribute `_FillValue`.
const IMPLIED: &str = "implied";
const NO_FILL: &str = "no_fill";
const TYPES: &str = "attribute_types";
const FILTERS: &str = "filters";

/// Returns the attributes of the document of a V3 group, in V2's form.
///
/// # Errors
/// [`ErrorKind::NcZarr`](nczarr_model::ErrorKind::NcZarr) for attributes that are not an object.
pub(crate) fn group_attributes(document: &Value<'_>) -> Result<Option<Json>> {
    let attrs = super::document::attributes(document)?;
    attrs.map(|attrs| Ok(Value::Object(group(attrs)?.into_owned()))).transpose()
}

/// Converts the attributes of a group to V2's form.
///
/// # Errors
/// `NC_ENCZARR` with the invalid member.
pub(crate) fn group<'t>(attrs: &ObjectMembers<'t>) -> Result<ObjectMembers<'t>> {
    let mut today = to_v2(attrs)?;
    if let Some(found) = today.remove(NCZARR_GROUP) {
        let members = found.as_object().ok_or_else(|| bad_member(NCZARR_GROUP, "an object", Some(&found)))?;
        let mut group = ObjectMembers::new();
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

/// Converts the dimensions of a group to an object by name.
fn dimensions<'t>(dims: &Value<'t>) -> Result<Value<'t>> {
    let Some(list) = dims.as_array() else { return Ok(dims.clone()) };
    let mut named = ObjectMembers::new();
    for dim in list {
        let name = dim.as_object().and_then(|dim| dim.get("name")).and_then(Value::as_str);
        let name = name.ok_or_else(|| bad_member("dimensions", "objects with a \"name\"", Some(dim)))?;
        if named.contains_key(name) {
            return Err(bad_member("dimensions", "each name once", Some(&Value::string(name))));
        }
        named.insert(name.to_owned(), dim.clone());
    }
    Ok(Value::Object(named))
}

/// Members of an array's keys that V2 lacks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ArrayKeys {
    /// `char` or `string`, if the stored type is ambiguous.
    pub(crate) alias: Option<String>,
    /// Unwritten elements are undefined.
    pub(crate) no_fill: bool,
    /// The filters as defined, if recorded.
    pub(crate) filters: Option<Vec<FilterSpec>>,
    /// The array's fill value is also the attribute `_FillValue`, which is not stored.
    pub(crate) implied: bool,
    /// The array's fill value is only the value of unwritten elements, and no attribute.
    pub(crate) unwritten: bool,
    /// The full name of its user-defined type.
    pub(crate) ty: Option<String>,
    /// The position of `_FillValue` among the attributes, if it is not stored.
    pub(crate) fill_position: Option<usize>,
    /// The document has the true name of an escaped node.
    pub(crate) has_true_name: bool,
    /// It has the spelling of the first writer. That writer gives every string a fill value.
    pub(crate) first_writer: bool,
}

impl ArrayKeys {
    /// Applies the alias to the stored type.
    pub(crate) fn apply(&self, data: &mut DataType) {
        match (self.alias.as_deref(), data.dtype.kind) {
            (Some("char"), DTypeKind::Number(NcType::UByte)) => data.dtype = DType::from_name(">S1"),
            (Some("string"), DTypeKind::Opaque(width)) => {
                data.dtype = DType::from_name(&format!("|S{width}"))
            }
            _ => {}
        }
    }
}

/// Converts the attributes of an array to V2's form, and returns the other members.
///
/// # Errors
/// `NC_ENCZARR` with the invalid member.
pub(crate) fn array<'t>(attrs: &ObjectMembers<'t>) -> Result<(ObjectMembers<'t>, ArrayKeys)> {
    let mut today = to_v2(attrs)?;
    let mut extra = ArrayKeys::default();
    if let Some(found) = today.get_mut(NCZARR_ARRAY)
        && let Value::Object(members) = found
    {
        extra.first_writer = members.contains_key("nczarr_type");
        let alias = members.remove("type_alias").or_else(|| members.remove("nczarr_type"));
        extra.alias = alias.as_ref().and_then(Value::as_str).map(str::to_owned);
        extra.no_fill = members.remove(NO_FILL).is_some_and(|flag| {
            flag.as_integer().is_some_and(|flag| flag != 0) || flag.as_bool() == Some(true)
        });
        extra.filters = members.remove(FILTERS).as_ref().and_then(filters);
        extra.has_true_name = members.get(node_name::NAME).and_then(Value::as_str).is_some();
        extra.unwritten = members.get(FILL).and_then(Value::as_str) == Some(annotation::FILL_UNWRITTEN);
        if extra.unwritten {
            members.remove(FILL);
        }
    }
    Ok((today, extra))
}

/// Returns the members in the annotation of a plain store that V2 lacks.
pub(crate) fn annotation_keys(attrs: &ObjectMembers<'_>) -> ArrayKeys {
    let Some(members) = annotation::of(attrs) else { return ArrayKeys::default() };
    let says = |name: &str, what: &str| members.get(name).and_then(Value::as_str) == Some(what);
    ArrayKeys {
        alias: says("type", "char").then(|| "char".to_owned()),
        no_fill: members.get(NO_FILL).and_then(Value::as_integer).is_some_and(|flag| flag != 0),
        filters: members.get(FILTERS).and_then(filters),
        implied: says(FILL, IMPLIED),
        // In plain stores a fill value is no attribute by default.
        unwritten: false,
        ty: None,
        fill_position: None,
        has_true_name: members.get(node_name::NAME).and_then(Value::as_str).is_some(),
        first_writer: false,
    }
}

/// Appends these members to an array's annotation.
pub(crate) fn write_annotation_keys(extra: &ArrayKeys, out: &mut String) {
    if extra.implied {
        write_name(FILL, out);
        write_string(IMPLIED, out);
    }
    write_extra(extra, out);
}

fn write_extra(extra: &ArrayKeys, out: &mut String) {
    if extra.no_fill {
        write_name(NO_FILL, out);
        out.push('1');
    }
    if let Some(filters) = &extra.filters {
        write_name(FILTERS, out);
        write_list(filters, out, write_filter);
    }
}

/// Converts a variable's `_FillValue` to its plain form: xarray writes floats in base64, and a byte may be
/// text. Removes the one that the first writer gives every string.
pub(crate) fn plain_fill(attrs: &mut ObjectMembers<'_>, data: &DataType, extra: &ArrayKeys) {
    let Some(Value::String(text)) = attrs.get(FILL_VALUE) else { return };
    let plain = match data.dtype.kind {
        DTypeKind::Number(NcType::Double) | DTypeKind::Extension(ShownType::Atomic(NcType::Double)) => {
            coded_float(text).map(json_float)
        }
        DTypeKind::Number(NcType::Float)
        | DTypeKind::Half(_)
        | DTypeKind::Extension(ShownType::Atomic(NcType::Float)) => {
            coded_float(text).map(|value| json_single(value as f32))
        }
        DTypeKind::Number(NcType::UByte) => match text.as_bytes() {
            [] => Some(Value::int(0)),
            [byte] => Some(Value::int(*byte)),
            _ => None,
        },
        DTypeKind::Text(_) if extra.first_writer && text.is_empty() => {
            attrs.remove(FILL_VALUE);
            return;
        }
        _ => None,
    };
    if let Some(plain) = plain {
        attrs.insert(FILL_VALUE, plain);
    }
}

/// Returns the `_FillValue` of a float in base64, as xarray expects it.
pub(crate) fn coded(value: f64) -> String {
    base64::encode(&value.to_le_bytes())
}

fn coded_float(text: &str) -> Option<f64> {
    // Eight bytes are twelve base64 letters with padding.
    let bytes = base64::decode(text).filter(|_| text.len() == 12)?;
    bytes.first_chunk::<8>().map(|bytes| f64::from_le_bytes(*bytes))
}

/// Moves the recorded types to V2's place and drops redundant keys.
fn to_v2<'t>(attrs: &ObjectMembers<'t>) -> Result<ObjectMembers<'t>> {
    let mut today = attrs.clone();
    for name in SEPARATORS {
        today.remove(name);
    }
    let Some(found) = today.remove(NCZARR_ATTRS) else { return Ok(today) };
    let members = found.as_object().ok_or_else(|| bad_member(NCZARR_ATTRS, "an object", Some(&found)))?;
    let mut types = ObjectMembers::new();
    let mut record = |name: &str, ty: Option<&str>| {
        if let Some(ty) = ty.and_then(|ty| if ty.starts_with('/') { Some(ty) } else { v2_type(ty) }) {
            types.insert(name.to_owned(), Value::string(ty));
        }
    };
    match members.get(TYPES) {
        Some(Value::Array(list)) => {
            for entry in list {
                let named = entry.as_object().and_then(|entry| Some((entry, entry.get("name")?.as_str()?)));
                let (entry, name) = named
                    .ok_or_else(|| bad_member("attribute_types", "objects with a \"name\"", Some(entry)))?;
                let ty = entry.get("configuration").and_then(Value::as_object).and_then(|ty| ty.get("type"));
                record(name, ty.and_then(Value::as_str));
            }
        }
        Some(Value::Object(by_name)) => by_name.iter().for_each(|(name, ty)| record(name, ty.as_str())),
        None => {}
        Some(other) => return Err(bad_member(TYPES, "a list or an object", Some(other))),
    }
    let mut beside = ObjectMembers::new();
    beside.insert("types", Value::Object(types));
    for member in EXACT_MEMBERS {
        if let Some(kept) = members.get(member) {
            beside.insert(member, kept.clone());
        }
    }
    today.insert(NCZARR_ATTR, Value::Object(beside));
    Ok(today)
}

/// Returns V2's name of a recorded type.
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
        "json" => JSON_TYPE,
        _ => return None,
    })
}

/// Returns V3's name of an attribute's type.
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

/// Appends an entry to the list of recorded types; `out` ends with the list so far, from its `[` on.
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

/// Appends the lists of a group at this key.
///
/// # Errors
/// A dimension that the model does not have.
pub(crate) fn write_group(
    model: &Model,
    group: &Group,
    state: &NodeStates,
    key: &Key,
    out: &mut String,
) -> Result<()> {
    out.push_str("{\"dimensions\": [");
    for (name, &dim) in &group.dims {
        let dim = model.dim(dim)?;
        if !out.ends_with('[') {
            out.push(',');
        }
        out.push_str("{\"name\": ");
        write_string(name, out);
        write_number(
            format_args!(", \"size\": {}, \"unlimited\": {}}}", dim.len(), u8::from(dim.unlimited)),
            out,
        );
    }
    out.push(']');
    // Other readers look for nodes of these names.
    let vars = group
        .vars
        .values()
        .map(|&id| Ok(node_name::stored(&state.var(id)?.key)))
        .collect::<Result<Vec<_>>>()?;
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

/// Appends the keys of an array with its name and key. `references` are the full names of its dimensions.
pub(crate) fn write_array(
    references: &[String],
    extra: &ArrayKeys,
    (name, key): (&str, &Key),
    out: &mut String,
) {
    out.push_str("{\"dimension_references\": ");
    write_list(references, out, |name, out| write_string(name, out));
    if let Some(alias) = &extra.alias {
        write_name("type_alias", out);
        write_string(alias, out);
    }
    if let Some(ty) = &extra.ty {
        write_name(nczarr_lists::TYPE, out);
        write_string(ty, out);
    }
    if extra.unwritten {
        write_name(FILL, out);
        write_string(annotation::FILL_UNWRITTEN, out);
    }
    if let Some(place) = extra.fill_position {
        write_name(FILL, out);
        write_number(place, out);
    }
    write_extra(extra, out);
    node_name::write(name, key, out);
    out.push('}');
}

/// Converts a group's lists from V2's form to V3, in the spelling of `like`; other members of `like` stay.
pub(crate) fn stored_group(lists: &Object, like: &Json) -> Json {
    let like = like.as_object().cloned().unwrap_or_default();
    let spelled =
        |names: [&'static str; 2]| *names.iter().find(|name| like.contains_key(name)).unwrap_or(&names[0]);
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

/// Renders dimensions as a list of objects, or as an object of objects.
fn stored_dimensions(dims: &Object, by_name: bool) -> Json {
    let member = |dim: &Json, name: &str| dim.as_object().and_then(|dim| dim.get(name)).cloned();
    let entries = dims.iter().map(|(name, dim)| {
        let size = member(dim, "size").unwrap_or_else(|| dim.clone());
        let unlimited = member(dim, "unlimited").unwrap_or_else(|| Json::int(0));
        (name, [("size", size), ("unlimited", unlimited)])
    });
    if by_name {
        let entries =
            entries.map(|(name, members)| (name.to_owned(), Json::Object(members.into_iter().collect())));
        return Json::Object(entries.collect());
    }
    let named = |(name, members): (&str, [(&'static str, Json); 2])| {
        Json::Object([("name", Json::string(name))].into_iter().chain(members).collect())
    };
    Json::Array(entries.map(named).collect())
}

/// Returns the recorded types of attributes, in order.
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

/// Renders recorded types and exact values in the spelling of `like`; other members of `like` stay.
pub(crate) fn stored_types(
    types: &[(String, String)],
    kept: &[(&'static str, Json)],
    like: Option<&Json>,
) -> Json {
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
        if kept.as_object().is_some_and(|kept| !kept.is_empty()) {
            stored.insert(*member, kept.clone())
        } else {
            drop(stored.remove(member))
        }
    }
    Json::Object(stored)
}

/// Appends a filter by its id and parameters, or by its description if it has no id.
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

/// Parses the recorded filters; `None` if they are invalid.
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

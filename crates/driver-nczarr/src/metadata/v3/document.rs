//! Parsing of an array's `zarr.json`: [`ArrayDocument`].
//!
//! It checks members and their forms; other modules of `v3` interpret types, fill values and codecs. An
//! unknown member makes the array unreadable, unless it says that readers may ignore it.
//!
//! Source: Zarr V3 core specification.

use std::sync::Arc;

use nczarr_codec::AxisEdges;
use nczarr_dispatch::Registry;
use nczarr_model::{Error, ErrorKind, Result};

use super::chain::{self, CodecChain};
use super::grid::{self, ParsedGrid};
use super::types::{DataType, extension, short};
use crate::metadata::json::{Object, ObjectMembers, Value};
use crate::metadata::members::{bad_member, note_problem, sizes};

/// The document of a node.
pub(crate) const ZARR_JSON: &str = "zarr.json";

/// The member of the root that repeats all other documents.
pub(crate) const CONSOLIDATED: &str = "consolidated_metadata";

/// Whether this is a known member of an array.
fn is_known(name: &str) -> bool {
    matches!(
        name,
        "zarr_format"
            | "node_type"
            | "shape"
            | "data_type"
            | "chunk_grid"
            | "chunk_key_encoding"
            | "fill_value"
            | "codecs"
            | "attributes"
            | "dimension_names"
            | "storage_transformers"
            | "must_understand"
    )
}

/// The type of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeType {
    Group,
    Array,
}

/// Returns the type of a document's node.
///
/// # Errors
/// [`ErrorKind::NcZarr`] with the member.
pub(crate) fn node_type(document: &Value<'_>) -> Result<NodeType> {
    let members = members(document)?;
    match members.get("zarr_format").map(Value::as_u64) {
        Some(Some(3)) => {}
        _ => return Err(bad_member("zarr_format", "3", members.get("zarr_format"))),
    }
    match members.get("node_type").and_then(Value::as_str) {
        Some("group") => Ok(NodeType::Group),
        Some("array") => Ok(NodeType::Array),
        _ => Err(bad_member("node_type", "\"group\" or \"array\"", members.get("node_type"))),
    }
}

/// Checks that a group has no unknown members that must be understood.
///
/// # Errors
/// [`ErrorKind::NcZarr`] with the unknown member.
pub(crate) fn check_group(document: &Value<'_>) -> Result<()> {
    const KNOWN: [&str; 5] = ["zarr_format", "node_type", "attributes", CONSOLIDATED, "must_understand"];
    match members(document)?.iter().find(|(name, value)| !KNOWN.contains(name) && !may_be_skipped(value)) {
        Some((name, _)) => Err(unknown(name)),
        None => Ok(()),
    }
}

/// Whether readers may ignore an unknown member.
fn may_be_skipped(value: &Value<'_>) -> bool {
    value.as_object().and_then(|value| value.get("must_understand")).and_then(Value::as_bool) == Some(false)
}

fn unknown(name: &str) -> Error {
    ErrorKind::NcZarr.context(format!("member {name:?} is unknown, but must be understood"))
}

/// Returns the attributes of a node; `None` if absent or `null`, which zarr-python accepts.
///
/// # Errors
/// [`ErrorKind::NcZarr`] if they are not an object.
pub(crate) fn attributes<'d, 't>(document: &'d Value<'t>) -> Result<Option<&'d ObjectMembers<'t>>> {
    match members(document)?.get("attributes") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(attributes)) => Ok(Some(attributes)),
        Some(found) => Err(bad_member("attributes", "an object", Some(found))),
    }
}

/// Copies a document without its attributes and consolidated metadata.
pub(crate) fn without_attributes(document: &Value<'_>) -> Object {
    let rest = document.as_object().into_iter().flat_map(ObjectMembers::iter);
    let rest = rest.filter(|(name, _)| !["attributes", CONSOLIDATED].contains(name));
    rest.map(|(name, value)| (name.to_owned(), value.clone().into_owned())).collect()
}

fn members<'d, 't>(document: &'d Value<'t>) -> Result<&'d ObjectMembers<'t>> {
    document
        .as_object()
        .ok_or_else(|| ErrorKind::NcZarr.context(format!("expected an object, found {}", document.kind())))
}

/// A parsed array document.
#[derive(Debug)]
pub(crate) struct ArrayDocument<'d, 't> {
    pub(crate) shape: Vec<u64>,
    /// The shape of the stored objects: the outermost shards, if any. `var` resolves the inner levels.
    pub(crate) chunks: Vec<u64>,
    /// As [`ArrayMeta::axes`](crate::metadata::v2::array_meta::ArrayMeta::axes).
    pub(crate) axes: Option<Arc<[AxisEdges]>>,
    /// Whether chunk keys begin with `c`.
    pub(crate) prefix: bool,
    /// The separator of the indices in chunk keys.
    pub(crate) separator: char,
    pub(crate) data_type: &'d Value<'t>,
    pub(crate) codecs: &'d Value<'t>,
    pub(crate) fill: &'d Value<'t>,
    pub(crate) data: DataType,
    pub(crate) chain: CodecChain,
    /// One for each dimension; `None` for an unnamed one.
    pub(crate) names: Vec<Option<String>>,
    /// Why its data cannot be read.
    pub(crate) problem: Option<Error>,
}

/// Parses an array's document.
///
/// # Errors
/// [`ErrorKind::NcZarr`] with the member, the expected and the found value.
pub(crate) fn read<'d, 't>(
    document: &'d Value<'t>,
    rank_limit: usize,
    registry: &Registry,
) -> Result<ArrayDocument<'d, 't>> {
    if node_type(document)? != NodeType::Array {
        return Err(bad_member("node_type", "\"array\"", Some(&Value::string("group"))));
    }
    let raw = members(document)?;
    let none = ObjectMembers::new();
    let mut problem = None;
    let shape = sizes(raw, "shape", rank_limit)?;
    let (mut chunks, axes) = match grid::read(raw, &shape, rank_limit, registry, &mut problem)? {
        Some(ParsedGrid { chunks, axes }) => (chunks, axes),
        None => (shape.iter().map(|&len| len.max(1)).collect(), None),
    };
    if chunks.len() != shape.len() {
        return Err(ErrorKind::NcZarr.context(format!(
            "member \"chunk_grid\" has {} dimensions, \"shape\" has {}",
            chunks.len(),
            shape.len()
        )));
    }
    for (chunk, &len) in chunks.iter_mut().zip(&shape) {
        match (*chunk, len) {
            (0, 0) => *chunk = 1,
            (0, _) => {
                return Err(bad_member("chunk_grid", "chunk lengths of at least 1", raw.get("chunk_grid")));
            }
            _ => {}
        }
    }
    let data_type = raw.get("data_type").ok_or_else(|| bad_member("data_type", "a type", None))?;
    let codecs = raw.get("codecs").ok_or_else(|| bad_member("codecs", "a list", None))?;
    let (mut data, chain) = chain::read(data_type, codecs, &chunks, registry)?;
    let fill = raw.get("fill_value").unwrap_or(&Value::Null);
    data.detect_text(fill);
    if let (Some(axes), Some(shards)) = (&axes, &chain.shards)
        && let Some(dim) =
            axes.iter().zip(&shards.chunk_shape).position(|(axis, size)| !axis.is_multiple_of(*size))
    {
        let text = format!("along dimension {dim}, an edge is not a multiple of the chunks in the shards");
        note_problem(&mut problem, ErrorKind::NcZarr.context(text).at("member \"chunk_grid\""));
    }
    let (prefix, separator) = keys(raw, &none)?;
    let names = names(raw, shape.len())?;
    match raw.get("storage_transformers") {
        None | Some(Value::Null) => {}
        Some(Value::Array(list)) if list.is_empty() => {}
        Some(found) => note_problem(&mut problem, bad_member("storage_transformers", "none", Some(found))),
    }
    if let Some((name, _)) = raw.iter().find(|(name, value)| !is_known(name) && !may_be_skipped(value)) {
        note_problem(&mut problem, unknown(name));
    }
    Ok(ArrayDocument {
        shape,
        chunks,
        axes,
        prefix,
        separator,
        data_type,
        codecs,
        fill,
        data,
        chain,
        names,
        problem,
    })
}

/// Returns the chunk key encoding: whether keys begin with `c`, and the separator of indices.
fn keys(raw: &ObjectMembers<'_>, none: &ObjectMembers<'_>) -> Result<(bool, char)> {
    let at = |error: Error| error.at("member \"chunk_key_encoding\"");
    let found =
        raw.get("chunk_key_encoding").ok_or_else(|| bad_member("chunk_key_encoding", "an encoding", None))?;
    let (name, configuration) = extension(found, none).map_err(at)?;
    let (prefix, default) = match name {
        "default" => (true, '/'),
        "v2" => (false, '.'),
        _ => {
            return Err(at(
                ErrorKind::NcZarr.context(format!("expected \"default\" or \"v2\", found {name:?}"))
            ));
        }
    };
    match configuration.get("separator").map(|separator| (separator, separator.as_str())) {
        None => Ok((prefix, default)),
        Some((_, Some("/"))) => Ok((prefix, '/')),
        Some((_, Some("."))) => Ok((prefix, '.')),
        Some((found, _)) => Err(at(ErrorKind::NcZarr
            .context(format!("\"separator\": expected \"/\" or \".\", found {}", short(found))))),
    }
}

fn names(raw: &ObjectMembers<'_>, rank: usize) -> Result<Vec<Option<String>>> {
    let wrong =
        |found: &Value<'_>| bad_member("dimension_names", &format!("{rank} names or nulls"), Some(found));
    let Some(found) = raw.get("dimension_names").filter(|found| !found.is_null()) else {
        return Ok(vec![None; rank]);
    };
    let items = found.as_array().filter(|items| items.len() == rank).ok_or_else(|| wrong(found))?;
    let mut names = Vec::with_capacity(rank);
    for item in items {
        names.push(match item {
            Value::String(name) => Some(String::from(&**name)),
            item if item.is_null() => None,
            item => return Err(wrong(item)),
        });
    }
    Ok(names)
}

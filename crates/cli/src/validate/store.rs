//! The objects of a store: whether each belongs to the dataset, and whether consolidated metadata says what the documents
//! say. Documents are taken for JSON here and looked at for shapes only; what they mean was decided when the dataset was
//! opened.

use std::collections::BTreeMap;

use model::Result;
use nczarr::dispatch::{ByteRange, Key, Options};
use serde_json::Value;

use super::Report;

/// Names of documents, of all generations.
pub const DOCUMENTS: &[&str] = &[
    ".zgroup",
    ".zarray",
    ".zattrs",
    ".zmetadata",
    "zarr.json",
    ".nczarr",
    ".nczgroup",
    ".nczarray",
    ".nczvar",
    ".nczattr",
    ".nczattrs",
];
/// What we leave beside the objects.
const OURS: &str = ".nczarr-";
/// Documents are not larger.
const LIMIT: u64 = 256 << 20;

/// An array's chunks by their names.
struct Array {
    /// Chunks, or shards, along each dimension.
    grid: Vec<u64>,
    /// What stands before the indices: `c` in most of V3.
    prefix: &'static str,
    separator: char,
}

/// Looks at all objects of the store at `url`.
///
/// # Errors
/// What the storage says.
pub fn look(url: &str, report: &mut Report) -> Result<()> {
    let map = nczarr::registry()?.storage(url, false, &Options::default())?;
    let keys = map.list(&Key::root())?;
    report.objects = keys.len() as u64;
    let mut arrays: BTreeMap<String, Array> = BTreeMap::new();
    let mut documents = BTreeMap::new();
    for key in &keys {
        let (folder, name) = key.as_str().rsplit_once('/').unwrap_or(("", key.as_str()));
        if !DOCUMENTS.contains(&name) {
            continue;
        }
        let mut bytes = Vec::new();
        map.read(key, ByteRange::first(LIMIT), &mut bytes)?;
        match serde_json::from_slice::<Value>(&bytes) {
            Ok(document) => {
                if let Some(array) = Array::of(name, &document) {
                    arrays.insert(folder.to_owned(), array);
                }
                documents.insert(key.as_str().to_owned(), document);
            }
            Err(error) => report.error("object", key, format!("is no JSON: {error}")),
        }
    }
    stray(&keys, &arrays, report);
    stale(&documents, report);
    map.close()
}

/// Objects that belong to nothing.
fn stray(keys: &[Key], arrays: &BTreeMap<String, Array>, report: &mut Report) {
    for key in keys {
        let path = key.as_str();
        let name = path.rsplit('/').next().unwrap_or(path);
        if DOCUMENTS.contains(&name) || name.starts_with(OURS) {
            continue;
        }
        // The array is the longest folder around the key that is one.
        let folders = path.match_indices('/').map(|(at, _)| at).rev();
        let array = folders
            .map(|at| (&path[..at], &path[at + 1..]))
            .chain([("", path)])
            .find_map(|(folder, rest)| arrays.get(folder).map(|array| (array, rest)));
        match array {
            None => report.warning("object", path, "belongs to no array"),
            Some((array, rest)) => {
                if let Err(why) = array.check(rest) {
                    report.warning("object", path, why);
                }
            }
        }
    }
}

/// Consolidated metadata beside what it was made of.
fn stale(documents: &BTreeMap<String, Value>, report: &mut Report) {
    let parts: Option<(&str, Vec<(String, &Value)>)> = match (documents.get(".zmetadata"), documents.get("zarr.json")) {
        (Some(all), _) => all
            .get("metadata")
            .and_then(Value::as_object)
            .map(|all| (".zmetadata", all.iter().map(|(key, document)| (key.clone(), document)).collect())),
        (None, Some(root)) => root.pointer("/consolidated_metadata/metadata").and_then(Value::as_object).map(|all| {
            ("zarr.json", all.iter().map(|(path, document)| (format!("{path}/zarr.json"), document)).collect())
        }),
        (None, None) => None,
    };
    let Some((place, parts)) = parts else { return };
    for (key, said) in &parts {
        match documents.get(key) {
            Some(document) if bare(document) != bare(said) => {
                report.error("object", place, format!("is stale: it says otherwise of {key} than the document does"));
            }
            Some(_) => {}
            None => report.error("object", place, format!("is stale: it tells of {key}, which is not there")),
        }
    }
    for key in documents.keys() {
        if key != place && !parts.iter().any(|(told, _)| told == key) {
            report.error("object", place, format!("is stale: it does not tell of {key}"));
        }
    }
}

/// A document without the consolidated metadata it may carry itself.
fn bare(document: &Value) -> Value {
    let mut document = document.clone();
    if let Some(object) = document.as_object_mut() {
        object.remove("consolidated_metadata");
    }
    document
}

impl Array {
    /// What an array's document says of the names of its chunks; `None` if it is none, or says something unknown.
    fn of(name: &str, document: &Value) -> Option<Self> {
        let lengths =
            |value: Option<&Value>| value?.as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>();
        let shape = lengths(document.get("shape"))?;
        let (chunks, prefix, separator) = match name {
            ".zarray" => {
                let separator = document.get("dimension_separator").and_then(Value::as_str).unwrap_or(".");
                (lengths(document.get("chunks"))?, "", separator)
            }
            "zarr.json" => {
                let chunks = lengths(document.pointer("/chunk_grid/configuration/chunk_shape"))?;
                let encoding = document.get("chunk_key_encoding");
                let named = encoding.and_then(|encoding| encoding.as_str().or_else(|| encoding.get("name")?.as_str()));
                let separator = document.pointer("/chunk_key_encoding/configuration/separator").and_then(Value::as_str);
                match named {
                    Some("v2") => (chunks, "", separator.unwrap_or(".")),
                    _ => (chunks, "c", separator.unwrap_or("/")),
                }
            }
            _ => return None,
        };
        if chunks.len() != shape.len() || chunks.contains(&0) {
            return None;
        }
        let grid = shape.iter().zip(&chunks).map(|(len, chunk)| len.div_ceil(*chunk)).collect();
        Some(Self { grid, prefix, separator: separator.chars().next()? })
    }

    /// Whether `rest`, the key behind the array's folder, names a chunk of the array.
    fn check(&self, rest: &str) -> std::result::Result<(), String> {
        let none = || format!("is no name of a chunk with {} dimensions", self.grid.len());
        let indices = match (self.prefix, self.grid.is_empty()) {
            ("", true) => return if rest == "0" { Ok(()) } else { Err(none()) },
            (prefix, true) => return if rest == prefix { Ok(()) } else { Err(none()) },
            ("", false) => rest,
            (prefix, false) => {
                rest.strip_prefix(prefix).and_then(|rest| rest.strip_prefix(self.separator)).ok_or_else(none)?
            }
        };
        let found: Vec<Option<u64>> = indices
            .split(self.separator)
            .map(|text| text.parse().ok().filter(|index: &u64| index.to_string() == text))
            .collect();
        if found.len() != self.grid.len() || found.contains(&None) {
            return Err(none());
        }
        match found.iter().flatten().zip(&self.grid).position(|(index, grid)| index >= grid) {
            Some(dim) => Err(format!("is beyond the array: dimension {dim} has {} chunks", self.grid[dim])),
            None => Ok(()),
        }
    }
}

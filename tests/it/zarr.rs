//! Zarr V2 and V3 stores by other writers: every array, and the hierarchy of every directory store.
//!
//! If this build lacks a codec, type or format version, the dataset still opens and reports the gap for that
//! array.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use nczarr::model::{Scalar, name};
use nczarr::{File, Group, NcType, Place, Values, Variable};
use nczarr_tests::json;
use nczarr_tests::npy::Npy;
use nczarr_tests::report::{Outcome, Report};
use nczarr_tests::unpack::unpack;
use serde_json::Value;

use crate::corpus;

struct Row {
    store: String,
    array: String,
    format: String,
    expected: String,
    compare: String,
}

fn rows(folder: &Path) -> Vec<Row> {
    let rows = corpus::manifest(folder).into_iter().map(|mut row| Row {
        compare: row.swap_remove(11),
        expected: row.swap_remove(10),
        format: row.swap_remove(4),
        array: row.swap_remove(1),
        store: row.swap_remove(0),
    });
    rows.collect()
}

#[test]
fn arrays_of_other_writers_have_their_values() {
    corpus::each("zarr", "Zarr arrays", |folder| {
        let mut report = Report::default();
        for row in rows(folder) {
            let outcome = match &*row.compare {
                "error" => must_fail(folder, &row).into(),
                // The test of hierarchies covers these rows.
                "tree" => continue,
                _ => has_values(folder, &row),
            };
            report.add(format_args!("{} {}", row.store, row.array), outcome);
        }
        report
    });
}

#[test]
fn hierarchies_of_other_writers_are_found() {
    corpus::each("zarr", "Zarr hierarchies", |folder| {
        let mut report = Report::default();
        let mut seen = BTreeSet::new();
        for row in rows(folder) {
            if row.compare == "error" || !seen.insert(row.store.clone()) {
                continue;
            }
            report.add(&row.store, has_tree(folder, &row.store).into());
        }
        report
    });
}

fn open(folder: &Path, store: &str) -> Result<File, String> {
    let path = folder.join(store);
    nczarr::open(Place::url(path.display().to_string())).map_err(|error| format!("open: {error}"))
}

/// The variable of an array. An array at the root of a store has the store's name.
fn variable(file: &File, store: &str, array: &str) -> Result<Variable, String> {
    let path = if array == "/" {
        let stem = Path::new(store).file_stem().expect("a store has a name").to_string_lossy();
        format!("/{}", name::escape(&stem))
    } else {
        array
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| format!("/{}", name::escape(segment)))
            .collect()
    };
    file.variable(&path).map_err(|error| format!("variable: {error}"))
}

fn must_fail(folder: &Path, row: &Row) -> Result<(), String> {
    let Ok(file) = open(folder, &row.store) else { return Ok(()) };
    let Ok(variable) = variable(&file, &row.store, &row.array) else { return Ok(()) };
    let read = match variable.nc_type() {
        NcType::String => variable.get_nc_strings(..).map(|strings| format!("{:?}", strings.as_slice())),
        _ => variable.get::<f64>(..).map(|values| format!("{:?}", values.as_slice())),
    };
    match read {
        Err(_) => Ok(()),
        Ok(values) => Err(format!("it was read: {values}")),
    }
}

fn has_values(folder: &Path, row: &Row) -> Outcome {
    let file = match open(folder, &row.store) {
        Ok(file) => file,
        Err(why) => return Outcome::Failed(why),
    };
    let variable = match variable(&file, &row.store, &row.array) {
        Ok(variable) => variable,
        Err(why) => return Outcome::Failed(why),
    };
    let missing = if row.format == "3" {
        document(&folder.join(&row.store), &row.array, "zarr.json").and_then(|text| missing_of_v3(&text))
    } else {
        document(&folder.join(&row.store), &row.array, ".zarray").and_then(|text| missing(&text))
    };
    match missing {
        Err(why) => Outcome::Failed(why),
        Ok(None) => compare(folder, row, &variable).into(),
        Ok(Some(missing)) => match compare(folder, row, &variable) {
            Err(why) if why.contains(&missing.0) => Outcome::Skipped(format!("{} {}", missing.1, missing.0)),
            other => other.into(),
        },
    }
}

/// The document of an array in a directory or an archive.
fn document(store: &Path, array: &str, name: &str) -> Result<String, String> {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let root = if store.is_dir() {
        store
    } else {
        unpack(store, scratch.path()).map_err(|error| error.to_string())?;
        scratch.path()
    };
    fs::read_to_string(root.join(array.trim_matches('/')).join(name)).map_err(|error| error.to_string())
}

/// Returns the name and kind of a feature that an array needs and this build lacks.
fn missing(document: &str) -> Result<Option<(String, &'static str)>, String> {
    let document = json::parse(document)?;
    let codecs = document["filters"].as_array().into_iter().flatten().chain([&document["compressor"]]);
    for codec in codecs.filter(|codec| !codec.is_null()) {
        let id = codec["id"].as_str().ok_or("a codec without id")?;
        let built = [
            "shuffle",
            "zlib",
            "gzip",
            "bz2",
            "lz4",
            "lzma",
            "zstd",
            "blosc",
            "vlen-utf8",
            "vlen-bytes",
            "vlen-array",
            "json2",
        ];
        let sums = ["fletcher32", "crc32", "crc32c", "adler32", "jenkins_lookup3"];
        let computing =
            ["delta", "fixedscaleoffset", "quantize", "bitround", "packbits", "astype", "categorize"];
        if ![&built[..], &sums, &computing].concat().contains(&id) {
            return Ok(Some((id.to_owned(), "the codec")));
        }
    }
    let dtype = match &document["dtype"] {
        Value::String(dtype) => dtype.clone(),
        _ => return Ok(None),
    };
    // TensorStore writes type names of this form.
    let foreign = dtype.contains("int") || dtype.starts_with("float");
    Ok(foreign.then_some((dtype, "the type")))
}

/// Like [`missing`] for a V3 document. Also reports small number types that the model lacks.
fn missing_of_v3(document: &str) -> Result<Option<(String, &'static str)>, String> {
    let document = json::parse(document)?;
    let dtype = document["data_type"].as_str().unwrap_or_default();
    let small = dtype == "int4" || dtype.starts_with("float8_");
    Ok(small.then(|| (dtype.to_owned(), "the type")))
}

fn compare(folder: &Path, row: &Row, variable: &Variable) -> Result<(), String> {
    let path = folder.join(&row.expected);
    let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    if row.expected.ends_with(".json") {
        return compare_json(&bytes, variable);
    }
    let expected = Npy::parse(&bytes)?;
    same_shape(variable, &expected.shape)?;
    let Some((order, kind, size)) = expected.plain() else {
        return match expected.record() {
            Ok(record) => same_bytes(variable, &record),
            Err(why) => {
                same_times(folder, row, variable, &expected).map_err(|error| format!("{error} ({why})"))
            }
        };
    };
    let big = order == '>';
    macro_rules! numbers {
        ($t:ty) => {{
            let values = variable.get_values::<$t>(..).map_err(|error| error.to_string())?;
            let stored = expected.data.as_chunks().0.iter();
            let stored: Vec<$t> = stored
                .map(|item| if big { <$t>::from_be_bytes(*item) } else { <$t>::from_le_bytes(*item) })
                .collect();
            #[allow(clippy::eq_op, reason = "of floats a NaN equals nothing but a NaN here")]
            let equal = |a: &$t, b: &$t| a.to_ne_bytes() == b.to_ne_bytes() || (a != a && b != b);
            same(&values, &stored, equal)
        }};
    }
    match (kind, size) {
        // Floats with expected values of unsigned type are compared bit by bit.
        ('u', 4) if variable.nc_type() == NcType::Float => {
            let found = variable.get_values::<f32>(..).map_err(|error| error.to_string())?;
            let stored: Vec<u32> =
                expected.data.as_chunks().0.iter().map(|item| u32::from_le_bytes(*item)).collect();
            let found: Vec<u32> = found.iter().map(|value| value.to_bits()).collect();
            same(&found, &stored, |a, b| a == b)
        }
        ('u', 8) if variable.nc_type() == NcType::Double => {
            let found = variable.get_values::<f64>(..).map_err(|error| error.to_string())?;
            let stored: Vec<u64> =
                expected.data.as_chunks().0.iter().map(|item| u64::from_le_bytes(*item)).collect();
            let found: Vec<u64> = found.iter().map(|value| value.to_bits()).collect();
            same(&found, &stored, |a, b| a == b)
        }
        ('i', 1) => numbers!(i8),
        ('i', 2) => numbers!(i16),
        ('i', 4) => numbers!(i32),
        ('i', 8) => numbers!(i64),
        ('u' | 'b', 1) => numbers!(u8),
        ('u', 4) => numbers!(u32),
        ('u', 8) => numbers!(u64),
        ('u', 2) if variable.nc_type() == NcType::Float => {
            let found = variable.get_values::<f32>(..).map_err(|error| error.to_string())?;
            let stored = expected.data.as_chunks().0.iter();
            let stored: Vec<f32> =
                stored.map(|item| half::bf16::from_bits(u16::from_le_bytes(*item)).to_f32()).collect();
            same(&found, &stored, |a, b| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()))
        }
        ('u', 2) => numbers!(u16),
        ('f', 2) => {
            let found = variable.get_values::<f32>(..).map_err(|error| error.to_string())?;
            let stored = expected.data.as_chunks().0.iter();
            let stored: Vec<f32> =
                stored.map(|item| half::f16::from_bits(u16::from_le_bytes(*item)).to_f32()).collect();
            same(&found, &stored, |a, b| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()))
        }
        ('c', _) => same_bytes(variable, &swapped(&expected.data, if big { size / 2 } else { 1 })),
        ('V', _) => same_bytes(variable, &expected.data),
        ('f', 4) => numbers!(f32),
        ('f', 8) => numbers!(f64),
        ('S' | 'U', _) => same_strings(variable, &expected.texts()?),
        ('M' | 'm', 8) => same_times(folder, row, variable, &expected),
        _ => readable(variable).and(Err(format!("the type {} is not compared", expected.descr))),
    }
}

/// Reverses the bytes of each run of `size` bytes.
fn swapped(bytes: &[u8], size: usize) -> Vec<u8> {
    bytes.chunks(size).flat_map(|item| item.iter().rev().copied()).collect()
}

/// Compares elements of a user-defined type as bytes in memory order.
fn same_bytes(variable: &Variable, expected: &[u8]) -> Result<(), String> {
    let mut found = vec![0; expected.len()];
    variable.get_raw(&mut found, ..).map_err(|error| error.to_string())?;
    same(&found, expected, |a, b| a == b)
}

/// Compares times as text and as counts.
fn same_times(folder: &Path, row: &Row, variable: &Variable, expected: &Npy) -> Result<(), String> {
    let big = expected.descr.starts_with('>');
    let counts = expected.data.as_chunks().0.iter();
    let counts: Vec<i64> =
        counts.map(|item| if big { i64::from_be_bytes(*item) } else { i64::from_le_bytes(*item) }).collect();
    let unit = expected.time().ok_or_else(|| format!("the type {} is not compared", expected.descr))?;
    let texts: Vec<_> = counts.iter().map(|&count| unit.format(count).into_bytes()).collect();
    same_strings(variable, &texts)?;
    if unit.cf_units().is_none() {
        return Ok(());
    }
    let file = open(folder, &format!("{}#datetime=cf", row.store))?;
    let counted = self::variable(&file, &row.store, &row.array)?;
    let found = counted.get_values::<i64>(..).map_err(|error| error.to_string())?;
    let units = counted.attribute("units").map(nczarr::Attribute::into_values);
    if units.as_ref().and_then(Values::as_text) != unit.cf_units().as_deref() {
        return Err(format!("units {units:?}"));
    }
    same(&found, &counts, |a, b| a == b)
}

fn readable(variable: &Variable) -> Result<(), String> {
    let read = match variable.nc_type() {
        NcType::User(_) => Ok(()),
        NcType::String => variable.get_nc_strings(..).map(drop),
        _ => variable.get::<f64>(..).map(drop),
    };
    read.map_err(|error| error.to_string())
}

fn compare_json(expected: &[u8], variable: &Variable) -> Result<(), String> {
    let expected = json::parse(std::str::from_utf8(expected).map_err(|error| error.to_string())?)?;
    let shape =
        expected["shape"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect::<Vec<_>>();
    same_shape(variable, &shape)?;
    readable(variable)?;
    let values = expected["values"].as_array().ok_or("no values")?;
    if let NcType::User(_) = variable.nc_type() {
        return same_lists(variable, values);
    }
    let texts = values.iter().map(|value| match value {
        Value::String(text) => Ok(text.as_bytes().to_vec()),
        // An unwritten element with a fill value of null or 0 is an empty text.
        Value::Null => Ok(Vec::new()),
        Value::Number(number) if number.as_u64() == Some(0) => Ok(Vec::new()),
        other => Err(format!("expected value {other} is no string")),
    });
    same_strings(variable, &texts.collect::<Result<Vec<_>, _>>()?)
}

/// Compares lists of numbers. Doubles represent all of them exactly.
fn same_lists(variable: &Variable, expected: &[Value]) -> Result<(), String> {
    let found = variable.get_lists::<f64>(..).map_err(|error| error.to_string())?;
    let expected =
        expected.iter().map(|value| match (value["base64"].as_str(), value["values"].as_array()) {
            (Some(text), _) => Ok(base64(text).into_iter().map(f64::from).collect()),
            (_, Some(items)) => Ok(items.iter().map(|item| item.as_f64().unwrap_or(f64::NAN)).collect()),
            _ if value.is_null() || value.as_str() == Some("") || value.as_u64() == Some(0) => Ok(Vec::new()),
            _ => Err(format!("expected value {value} is no list")),
        });
    same(&found, &expected.collect::<Result<Vec<Vec<f64>>, _>>()?, |a, b| a == b)
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for c in text.bytes().filter(|c| *c != b'=') {
        (bits, held) = (bits << 6 | u32::from(digit(c)), held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

fn same_strings(variable: &Variable, expected: &[Vec<u8>]) -> Result<(), String> {
    let strings = variable.get_nc_strings(..).map_err(|error| error.to_string())?;
    let found: Vec<_> = strings.iter().map(|string| string.as_bytes().to_vec()).collect();
    same(&found, expected, |a, b| a == b)
}

fn same_shape(variable: &Variable, expected: &[u64]) -> Result<(), String> {
    let shape = variable.shape().map_err(|error| error.to_string())?;
    if shape == expected { Ok(()) } else { Err(format!("shape {shape:?}, expected {expected:?}")) }
}

fn same<T: std::fmt::Debug>(
    found: &[T],
    expected: &[T],
    equal: impl Fn(&T, &T) -> bool,
) -> Result<(), String> {
    if found.len() != expected.len() {
        return Err(format!("{} values, expected {}", found.len(), expected.len()));
    }
    match found.iter().zip(expected).position(|(a, b)| !equal(a, b)) {
        None => Ok(()),
        Some(at) => Err(format!("value {at} is {:?}, expected {:?}", found[at], expected[at])),
    }
}

fn has_tree(folder: &Path, store: &str) -> Result<(), String> {
    let path = folder.join(store.replacen("stores", "expected", 1)).join("_tree.json");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let expected = json::parse(&text)?;
    let file = open(folder, store)?;
    let nodes = expected.as_object().ok_or("the tree is no object")?;
    for (path, node) in nodes {
        let found = if node["kind"] == "array" {
            array(&file, folder, store, path, node)
        } else {
            group(&file, path, node)
        };
        found.map_err(|why| format!("{path}: {why}"))?;
    }
    let arrays = nodes.values().filter(|node| node["kind"] == "array").count();
    let found = file.model().vars().len();
    if arrays == found { Ok(()) } else { Err(format!("{found} variables, expected {arrays}")) }
}

/// Returns the innermost chunk shape of a sharded V3 array. The axes are those of the array, before any
/// transposition around the shards.
fn inside_shards(document: &str) -> Result<Option<Vec<u64>>, String> {
    let document = json::parse(document)?;
    let list = |value: &Value| -> Vec<u64> {
        value.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
    };
    let (mut codecs, mut inside, mut orders) = (&document["codecs"], None, Vec::new());
    while let Some(items) = codecs.as_array()
        && let Some(at) = items.iter().position(|codec| codec["name"] == "sharding_indexed")
    {
        let around = items[..at].iter().filter(|codec| codec["name"] == "transpose");
        orders.extend(around.map(|codec| list(&codec["configuration"]["order"])));
        inside = Some(list(&items[at]["configuration"]["chunk_shape"]));
        codecs = &items[at]["configuration"]["codecs"];
    }
    Ok(inside.map(|inside| {
        orders.iter().rev().fold(inside, |inside, order| {
            let mut chunks = inside.clone();
            order.iter().zip(inside).for_each(|(&axis, len)| chunks[axis as usize] = len);
            chunks
        })
    }))
}

fn array(file: &File, folder: &Path, store: &str, path: &str, node: &Value) -> Result<(), String> {
    let variable = variable(file, store, path)?;
    let shape: Vec<u64> = node["shape"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    same_shape(&variable, &shape)?;
    let mut chunks: Vec<u64> =
        node["chunks"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    if let Ok(document) = document(&folder.join(store), path, "zarr.json")
        && let Some(inside) = inside_shards(&document)?
    {
        chunks = inside;
    }
    let found = variable.chunk_shape().map_err(|error| error.to_string());
    if !shape.is_empty() && found.as_ref().is_ok_and(|found| found.as_ref() != Some(&chunks)) {
        return Err(format!("chunks {found:?}, expected {chunks:?}"));
    }
    if let Some(names) = node["dimension_names"].as_array() {
        for (dim, (name, len)) in variable.dimensions().iter().zip(names.iter().zip(&shape)) {
            // One dimension name can have several lengths in Zarr. All but the first include their length.
            let Some(name) = name.as_str().filter(|name| !name.is_empty() && !name.contains('/')) else {
                continue;
            };
            if dim.name() != name && dim.name() != format!("{name}_{len}") {
                return Err(format!("dimension {:?}, expected {name:?}", dim.name()));
            }
        }
    }
    no_more(node, &variable.attributes())?;
    attributes(node, |name| variable.attribute(name).map(nczarr::Attribute::into_values))
}

/// Checks that every attribute is stored. A fill value can also appear as an attribute.
fn no_more(node: &Value, found: &[nczarr::Attribute]) -> Result<(), String> {
    match found
        .iter()
        .find(|found| node["attributes"][found.name()].is_null() && found.name() != "_FillValue")
    {
        Some(more) if node["attributes"].get(more.name()).is_none() => {
            Err(format!("attribute {:?}", more.name()))
        }
        _ => Ok(()),
    }
}

fn group(file: &File, path: &str, node: &Value) -> Result<(), String> {
    let mut group: Group = file.root();
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        group = group.group(&name::escape(segment)).map_err(|error| error.to_string())?;
    }
    no_more(node, &group.attributes())?;
    attributes(node, |name| group.attribute(name).map(nczarr::Attribute::into_values))
}

/// Metadata of a convention that are stored as attributes but not shown.
const HIDDEN: [&str; 1] = ["_ARRAY_DIMENSIONS"];

fn attributes(node: &Value, find: impl Fn(&str) -> Option<Values>) -> Result<(), String> {
    for (name, expected) in node["attributes"].as_object().into_iter().flatten() {
        match find(name) {
            Some(found) if means(&found, expected) => {}
            // xarray stores fill values of floats in V3 as the bytes of a double.
            Some(found)
                if name == "_FillValue" && coded(expected).is_some_and(|bits| is_float(&found, bits)) => {}
            None if HIDDEN.contains(&name.as_str()) => {}
            found => return Err(format!("attribute {name:?} is {found:?}, expected {expected}")),
        }
    }
    Ok(())
}

fn coded(expected: &Value) -> Option<f64> {
    let bytes = base64(expected.as_str().filter(|text| text.len() == 12)?);
    Some(f64::from_le_bytes(bytes.try_into().ok()?))
}

fn is_float(found: &Values, expected: f64) -> bool {
    match found.scalar(0) {
        Some(Scalar::Float(found)) => found == expected || found.is_nan() && expected.is_nan(),
        _ => false,
    }
}

/// Whether an attribute has the meaning of the stored JSON.
fn means(found: &Values, expected: &Value) -> bool {
    let number = |index: usize, expected: &Value| match (found.scalar(index), expected) {
        (Some(Scalar::Int(found)), Value::Bool(expected)) => found == i128::from(*expected),
        (Some(Scalar::Int(found)), Value::Number(expected)) => expected.to_string() == found.to_string(),
        (Some(Scalar::Float(found)), Value::Number(expected)) => expected.as_f64() == Some(found),
        (Some(Scalar::Float(found)), Value::String(expected)) => {
            expected.parse::<f64>().is_ok_and(|expected| expected.to_bits() == found.to_bits())
        }
        _ => false,
    };
    let as_json =
        || found.as_text().and_then(|text| json::parse(text).ok()).is_some_and(|found| found == *expected);
    match expected {
        Value::String(text) if found.as_text() == Some(text) => true,
        Value::Array(items) if items.is_empty() && found.is_empty() => true,
        Value::Array(items) if found.len() == items.len() && !matches!(found, Values::Char(_)) => match found
        {
            Values::String(found) => found.iter().zip(items).all(|(a, b)| b.as_str().is_some_and(|b| a == b)),
            _ => items.iter().enumerate().all(|(index, item)| number(index, item)),
        },
        Value::Array(_) | Value::Object(_) | Value::Null => as_json(),
        scalar => found.len() == 1 && number(0, scalar),
    }
}

#[test]
fn missing_plugins_are_found_in_the_metadata() {
    let of = |text| missing(text).unwrap().map(|(name, _)| name);
    assert_eq!(of(r#"{"dtype": "<f8", "filters": null, "compressor": {"id": "zlib"}}"#), None);
    assert_eq!(
        of(r#"{"dtype": "<f8", "filters": [{"id": "pcodec"}], "compressor": null}"#).as_deref(),
        Some("pcodec")
    );
    assert_eq!(of(r#"{"dtype": "int4"}"#).as_deref(), Some("int4"));
    assert_eq!(of(r#"{"dtype": [["a", "<i4"]]}"#), None);
    assert!(missing(r#"{"dtype": "<f8", "compressor": {}}"#).is_err());
}

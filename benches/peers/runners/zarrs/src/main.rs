//! Runner for the Rust library zarrs. One process runs one operation; see `../../README.md`.
#![forbid(unsafe_code)]

mod bucket;
mod job;
mod measure;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use zarrs::array::chunk_cache::{ChunkCache as _, ChunkCacheDecodedLruSizeLimit};
use zarrs::array::{Array, ArrayBytes, ArrayMetadata, ArraySubset, CodecOptions};
use zarrs::filesystem::FilesystemStore;
use zarrs::group::Group;
use zarrs::node::NodeMetadata;
use zarrs::storage::{
    ListableStorageTraits as _, ReadableListableStorageTraits, ReadableStorageTraits, StoreKey, StorePrefix,
    WritableStorageTraits as _,
};
use zarrs_zip::ZipStorageAdapter;

use job::{Failure, Job};
use measure::Clock;

fn main() {
    let mut line = json!({"peer": "zarrs"});
    let done = Job::parse(std::env::args().skip(1)).and_then(|job| {
        line["op"] = job.text("op", "").into();
        run(&job)
    });
    let said = done.unwrap_or_else(|why| json!({"skip": why.to_string()}));
    if let (Value::Object(line), Value::Object(said)) = (&mut line, said) {
        line.extend(said);
    }
    println!("{line}");
}

fn run(job: &Job) -> Result<Value, Failure> {
    match (job.text("store", "file"), job.text("op", "")) {
        ("file", _) | ("zip" | "s3", "read" | "conv" | "vars" | "elem" | "row" | "box" | "series" | "open" | "list" | "meta_open") => {}
        ("zip" | "s3", _) => return Err("archives and buckets are only read".into()),
        (store, _) => return Err(format!("store {store}").into()),
    }
    let threads = usize::try_from(job.number("threads", 0)?)?;
    if threads > 0 {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
        zarrs::config::global_config_mut().set_codec_concurrent_target(threads);
    }
    match job.text("op", "") {
        "write" => write(job),
        "read" => read(job),
        "conv" => convert(job),
        "vars" => strided(job),
        "elem" | "row" | "box" | "series" => access(job),
        "open" => open_often(job),
        "append" => append(job),
        "list" => list(job),
        "meta_write" => write_metadata(job),
        "meta_open" => open_metadata(job),
        _ => Err("op".into()),
    }
}

type Opened = Array<dyn ReadableListableStorageTraits>;

fn store(job: &Job) -> Result<Arc<FilesystemStore>, Failure> {
    Ok(Arc::new(FilesystemStore::new(job.text("path", ""))?))
}

/// Opens the existing store for reading.
fn source(job: &Job) -> Result<Arc<dyn ReadableListableStorageTraits>, Failure> {
    match job.text("store", "file") {
        "zip" => {}
        "s3" => return bucket::open(job),
        _ => return Ok(store(job)?),
    }
    let path = Path::new(job.text("path", ""));
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err("no archive".into());
    };
    let folder = Arc::new(FilesystemStore::new(folder)?);
    Ok(Arc::new(ZipStorageAdapter::new(folder, StoreKey::new(name)?)?))
}

fn open(job: &Job) -> Result<Opened, Failure> {
    Ok(Array::open(source(job)?, "/v")?)
}

/// Replaces the store by a new one with a root group.
fn create(job: &Job) -> Result<Arc<FilesystemStore>, Failure> {
    let store = store(job)?;
    let (key, text) = match job.is_v2() {
        true => (".zgroup", r#"{"zarr_format":2}"#),
        false => ("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#),
    };
    store.set(&StoreKey::new(key)?, text.as_bytes().to_vec().into())?;
    Ok(store)
}

/// Deletes the previous store, before the clock starts.
fn wipe(job: &Job) -> Result<(), Failure> {
    let path = job.text("path", "");
    if std::fs::exists(path)? {
        std::fs::remove_dir_all(path)?;
    }
    Ok(std::fs::create_dir_all(path)?)
}

fn whole_bytes(job: &Job) -> Result<usize, Failure> {
    Ok(usize::try_from(job.shape.iter().product::<u64>())? * job.item()?)
}

fn write(job: &Job) -> Result<Value, Failure> {
    let data = job.load(whole_bytes(job)?)?;
    wipe(job)?;
    let clock = Clock::start();
    let metadata: ArrayMetadata = serde_json::from_value(job.metadata(&job.shape)?)?;
    let array = Array::new_with_metadata(create(job)?, "/v", metadata)?;
    array.store_metadata()?;
    array.store_array_subset(&array.subset_all(), ArrayBytes::new_flen(&data[..]))?;
    Ok(clock.stop().data(1, [&data[..]]))
}

fn read(job: &Job) -> Result<Value, Failure> {
    let clock = Clock::start();
    let array = open(job)?;
    let bytes: ArrayBytes = array.retrieve_array_subset(&array.subset_all())?;
    let taken = clock.stop();
    Ok(taken.data(1, [&*bytes.into_fixed()?]))
}

fn convert(job: &Job) -> Result<Value, Failure> {
    let clock = Clock::start();
    let array = open(job)?;
    let packed: Vec<i16> = array.retrieve_array_subset(&array.subset_all())?;
    let values: Vec<f64> = packed.iter().map(|&value| f64::from(value) * 0.005 + 273.0).collect();
    Ok(clock.stop().data(1, [bytemuck::cast_slice(&values)]))
}

/// zarrs has no strided read, so this reads the whole array and picks elements.
fn strided(job: &Job) -> Result<Value, Failure> {
    let item = job.item()?;
    let lengths: Vec<usize> = job.shape.iter().map(|&len| len.try_into()).collect::<Result<_, _>>()?;
    let steps: Vec<usize> =
        job.list("stride", "2,2,2")?.iter().map(|&step| step.try_into()).collect::<Result<_, _>>()?;
    let ([layers, rows, columns], [by_layer, by_row, by_column]) = (&lengths[..], &steps[..]) else {
        return Err("three dimensions are expected".into());
    };
    let clock = Clock::start();
    let array = open(job)?;
    let bytes: ArrayBytes = array.retrieve_array_subset(&array.subset_all())?;
    let bytes = bytes.into_fixed()?;
    let mut out = Vec::with_capacity(bytes.len() / steps.iter().product::<usize>());
    for layer in (0..*layers).step_by(*by_layer) {
        for row in (0..*rows).step_by(*by_row) {
            let row = &bytes[(layer * rows + row) * columns * item..][..columns * item];
            row.chunks_exact(item).step_by(*by_column).for_each(|element| out.extend_from_slice(element));
        }
    }
    Ok(clock.stop().data(1, [&out[..]]))
}

fn access(job: &Job) -> Result<Value, Failure> {
    let parts = parts(job)?;
    let mut found: Vec<ArrayBytes<'static>> = Vec::with_capacity(parts.len());
    let clock;
    // Freeing the cache is not part of an access, so the cache lives until the clock has stopped.
    let mut kept = None;
    match job.text("mode", "open") {
        "cold" => {
            clock = Clock::start();
            for part in &parts {
                found.push(open(job)?.retrieve_array_subset::<ArrayBytes>(part)?.into_owned());
            }
        }
        "warm" => {
            let store: Arc<dyn ReadableStorageTraits> = source(job)?;
            let array = Arc::new(Array::open(store, "/v")?);
            let cache = kept.insert(ChunkCacheDecodedLruSizeLimit::new(array, job.number("cache", 256 << 20)?));
            let options = CodecOptions::default();
            for part in &parts {
                cache.retrieve_array_subset::<ArrayBytes>(part, &options)?;
            }
            clock = Clock::start();
            for part in &parts {
                found.push(cache.retrieve_array_subset::<ArrayBytes>(part, &options)?.into_owned());
            }
        }
        _ => {
            let array = open(job)?;
            clock = Clock::start();
            for part in &parts {
                found.push(array.retrieve_array_subset::<ArrayBytes>(part)?.into_owned());
            }
        }
    }
    let taken = clock.stop();
    let found = found.into_iter().map(|bytes| Ok(bytes.into_fixed()?)).collect::<Result<Vec<_>, Failure>>()?;
    Ok(taken.data(parts.len() as u64, found.iter().map(|bytes| &**bytes)))
}

/// Returns the parts to read. Positions come from the sequence of all runners: one number per axis, except
/// for axes that are read whole.
fn parts(job: &Job) -> Result<Vec<ArraySubset>, Failure> {
    let (op, shape) = (job.text("op", ""), &job.shape);
    let mut counts = vec![1; shape.len()];
    match op {
        "row" => counts[shape.len() - 1] = shape[shape.len() - 1],
        "series" => counts[0] = shape[0],
        "box" => counts = job.list("box", "32,32,32")?,
        _ => {}
    }
    let mut state = job.number("seed", 1)?;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    (0..job.number("count", 100)?)
        .map(|_| {
            let start = (counts.iter().zip(shape))
                .map(|(&count, &len)| {
                    let whole = count == len && count != 1 && op != "box";
                    if whole { 0 } else { below(len - count + 1) }
                })
                .collect();
            Ok(ArraySubset::new_with_start_shape(start, counts.clone())?)
        })
        .collect()
}

fn open_often(job: &Job) -> Result<Value, Failure> {
    let count = job.number("count", 100)?;
    let clock = Clock::start();
    for _ in 0..count {
        open(job)?;
    }
    Ok(clock.stop().count(count, ""))
}

fn append(job: &Job) -> Result<Value, Failure> {
    let count = job.number("count", 100)?;
    let record = whole_bytes(job)? / usize::try_from(job.shape[0])?;
    let data = job.load(record * usize::try_from(count)?)?;
    wipe(job)?;
    let clock = Clock::start();
    let mut shape = job.shape.clone();
    shape[0] = 0;
    let metadata: ArrayMetadata = serde_json::from_value(job.metadata(&shape)?)?;
    let mut array = Array::new_with_metadata(create(job)?, "/v", metadata)?;
    let (mut start, mut part) = (vec![0; shape.len()], job.shape.clone());
    part[0] = 1;
    for (i, values) in (0..).zip(data.chunks(record)) {
        (start[0], shape[0]) = (i, i + 1);
        array.set_shape(shape.clone())?;
        array.store_metadata()?;
        let subset = ArraySubset::new_with_start_shape(start.clone(), part.clone())?;
        array.store_array_subset(&subset, ArrayBytes::new_flen(values))?;
    }
    Ok(clock.stop().data(count, [&data[..]]))
}

fn list(job: &Job) -> Result<Value, Failure> {
    let clock = Clock::start();
    let keys = source(job)?.list_prefix(&StorePrefix::new("v/")?)?;
    let is_chunk = |key: &&StoreKey| {
        let name = key.as_str().rsplit('/').next().unwrap_or_default();
        !name.starts_with('.') && name != "zarr.json"
    };
    let chunks = keys.iter().filter(is_chunk).count();
    Ok(clock.stop().count(chunks as u64, &chunks.to_string()))
}

fn write_metadata(job: &Job) -> Result<Value, Failure> {
    if job.has("consolidated") {
        return Err("no consolidated metadata is written".into());
    }
    let nvars = job.number("nvars", 100)?;
    wipe(job)?;
    let clock = Clock::start();
    let store = create(job)?;
    for i in 0..nvars {
        let metadata: ArrayMetadata = serde_json::from_value(job.small(i))?;
        Array::new_with_metadata(store.clone(), &format!("/v{i:05}"), metadata)?.store_metadata()?;
    }
    Ok(clock.stop().count(nvars, ""))
}

fn open_metadata(job: &Job) -> Result<Value, Failure> {
    let clock = Clock::start();
    let store = source(job)?;
    let mut sum = 0;
    for node in Group::open(store.clone(), "/")?.children(false)? {
        if let NodeMetadata::Array(metadata) = node.metadata().clone() {
            let array = Array::new_with_metadata(store.clone(), node.path().as_str(), metadata)?;
            sum += array.attributes().len() as u64 * 1000 + array.shape()[0];
        }
    }
    Ok(clock.stop().count(job.number("nvars", 100)?, &sum.to_string()))
}

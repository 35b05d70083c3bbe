//! Random chains of Zarr V3 codecs for all number types, with plain and nested shards. Written data read back
//! unchanged, as a whole and in parts.
//!
//! The tests make the documents. They write and read data through the facade and compare them with an array
//! in memory.

use std::sync::Arc;

use nczarr::model::Slab;
use nczarr::{MemMut, MemRef, NcType, OpenOptions, OutBuf, Variable};
use nczarr_tests::fuzz::Rng;
use nczarr_zmap_mem::MemMap;
use proptest::prelude::*;
use serde_json::{Value, json};

const TYPES: [(&str, usize); 10] = [
    ("int8", 1),
    ("uint8", 1),
    ("int16", 2),
    ("uint16", 2),
    ("int32", 4),
    ("uint32", 4),
    ("int64", 8),
    ("uint64", 8),
    ("float32", 4),
    ("float64", 8),
];

/// A box of an array.
#[derive(Debug, Clone)]
struct Part {
    start: Vec<u64>,
    count: Vec<u64>,
    /// The first of its values. Each further value is one larger, modulo 100.
    first: u64,
    synced: bool,
}

#[derive(Debug)]
struct Sample {
    document: Value,
    shape: Vec<u64>,
    parts: Vec<Part>,
}

fn codec(name: &str, configuration: Value) -> Value {
    json!({"name": name, "configuration": configuration})
}

/// Random codecs that encode bytes.
fn on_bytes(rng: &mut Rng, item: usize, most: usize) -> Vec<Value> {
    let all = [
        codec("gzip", json!({"level": 1})),
        codec("zstd", json!({"level": 3, "checksum": false})),
        codec("zstd", json!({"level": 1, "checksum": true})),
        codec("crc32c", json!({})),
        codec(
            "blosc",
            json!({"cname": "lz4", "clevel": 5, "shuffle": "bitshuffle", "typesize": item, "blocksize": 0}),
        ),
        codec(
            "blosc",
            json!({"cname": "zstd", "clevel": 1, "shuffle": "shuffle", "typesize": item, "blocksize": 0}),
        ),
        codec(
            "blosc",
            json!({"cname": "blosclz", "clevel": 0, "shuffle": "noshuffle", "typesize": 1, "blocksize": 0}),
        ),
        codec("numcodecs.zlib", json!({"level": 2})),
        codec("numcodecs.bz2", json!({"level": 1})),
        codec("numcodecs.lz4", json!({"acceleration": 1})),
        codec("numcodecs.lzma", json!({"preset": 1})),
        codec("numcodecs.crc32", json!({})),
        codec("numcodecs.adler32", json!({})),
        codec("numcodecs.fletcher32", json!({})),
    ];
    let mut codecs: Vec<Value> = (0..rng.below(most + 1)).map(|_| rng.of_these(&all).clone()).collect();
    if percent(rng, 20) && most > 1 {
        codecs.insert(0, codec("numcodecs.shuffle", json!({"elementsize": item})));
    }
    codecs
}

/// Returns a random divisor of a length.
fn divisor(rng: &mut Rng, len: u64) -> u64 {
    let all: Vec<u64> = (1..=len).filter(|divisor| len.is_multiple_of(*divisor)).collect();
    *rng.of_these(&all)
}

/// Returns a random codec chain for arrays of this shape.
fn chain(rng: &mut Rng, shape: &[u64], dtype: (&str, usize), depth: usize) -> Vec<Value> {
    let (name, item) = dtype;
    let mut codecs = Vec::new();
    let mut shape = shape.to_vec();
    if percent(rng, 30) {
        let mut order: Vec<usize> = (0..shape.len()).collect();
        shuffle(rng, &mut order);
        shape = order.iter().map(|&axis| shape[axis]).collect();
        codecs.push(codec("transpose", json!({"order": order})));
    }
    let endian = *rng.of_these(&["little", "big"]);
    if depth > 0 && percent(rng, 60) {
        let inner: Vec<u64> = shape.iter().map(|&len| divisor(rng, len)).collect();
        let mut index = vec![codec("bytes", json!({"endian": *rng.of_these(&["little", "big"])}))];
        if percent(rng, 30) {
            let mut order: Vec<usize> = (0..=shape.len()).collect();
            shuffle(rng, &mut order);
            index.insert(0, codec("transpose", json!({"order": order})));
        }
        if percent(rng, 70) {
            index.push(codec("crc32c", json!({})));
        }
        let inner_codecs = chain(rng, &inner, dtype, depth - 1);
        codecs.push(codec(
            "sharding_indexed",
            json!({"chunk_shape": inner, "codecs": inner_codecs, "index_codecs": index,
                "index_location": *rng.of_these(&["start", "end"])}),
        ));
        if percent(rng, 20) {
            codecs.extend(on_bytes(rng, item, 2));
        }
        return codecs;
    }
    if percent(rng, 15) && !name.starts_with("float") {
        let numpy = format!("<{}{item}", &name[..1]);
        codecs.push(codec("numcodecs.delta", json!({"dtype": numpy, "astype": numpy})));
    }
    codecs.push(codec("bytes", json!({"endian": endian})));
    codecs.extend(on_bytes(rng, item, 3));
    codecs
}

fn percent(rng: &mut Rng, percent: usize) -> bool {
    rng.below(100) < percent
}

fn shuffle(rng: &mut Rng, items: &mut [usize]) {
    for at in 1..items.len() {
        items.swap(at, rng.below(at + 1));
    }
}

fn sample(rng: &mut Rng) -> Sample {
    let dtype = *rng.of_these(&TYPES);
    let rank = 1 + rng.below(3);
    let shape: Vec<u64> = (0..rank).map(|_| 1 + rng.below(14) as u64).collect();
    let chunks: Vec<u64> = shape.iter().map(|_| *rng.of_these(&[1, 2, 3, 4, 6, 8, 12])).collect();
    let codecs = chain(rng, &chunks, dtype, 2);
    let fill = if dtype.0.starts_with("float") { json!(1.5) } else { json!(101) };
    let document = json!({"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": dtype.0, "fill_value": fill,
        "chunk_grid": codec("regular", json!({"chunk_shape": chunks})),
        "chunk_key_encoding": codec("default", json!({"separator": "/"})), "codecs": codecs});
    let parts = (0..1 + rng.below(4)).map(|_| {
        let start: Vec<u64> = shape.iter().map(|&len| rng.below(len as usize) as u64).collect();
        let start: Vec<u64> = if percent(rng, 30) { vec![0; shape.len()] } else { start };
        let count = start
            .iter()
            .zip(&shape)
            .map(|(&start, &len)| 1 + rng.below((len - start) as usize) as u64)
            .collect();
        Part { start, count, first: rng.below(100) as u64, synced: percent(rng, 40) }
    });
    let parts = parts.collect();
    Sample { document, shape, parts }
}

/// Positions in C order of the elements of a box.
fn places(shape: &[u64], start: &[u64], count: &[u64]) -> Vec<usize> {
    (0..count.iter().product::<u64>())
        .map(|mut number| {
            let (mut place, mut step) = (0, 1);
            for dim in (0..shape.len()).rev() {
                place += (start[dim] + number % count[dim]) * step;
                number /= count[dim];
                step *= shape[dim];
            }
            place as usize
        })
        .collect()
}

fn read(variable: &Variable, start: &[u64], count: &[u64]) -> nczarr::Result<Vec<f64>> {
    let mut bytes = vec![0; count.iter().product::<u64>() as usize * 8];
    let out = MemMut::Fixed { ty: NcType::Double, out: &mut OutBuf::from_slice(&mut bytes) };
    variable.read(&Slab::new(start, count), out)?;
    Ok(bytes.as_chunks().0.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect())
}

fn holds(sample: &Sample) -> Result<(), TestCaseError> {
    let fail = |what: String| TestCaseError::fail(format!("{what}: {}", sample.document));
    let map =
        Arc::new(MemMap::from_objects([("zarr.json".to_owned(), sample.document.to_string())]).unwrap());
    let open = |writable: bool| {
        let file = OpenOptions::new().writable(writable).map(map.clone()).open("memory://chains#mode=zarr");
        file.map_err(|error| fail(format!("open: {error}")))
    };
    let file = open(true)?;
    let variable = file.variables().pop().ok_or_else(|| fail("no variable".to_owned()))?;
    let fill = if sample.document["data_type"].as_str().is_some_and(|name| name.starts_with("float")) {
        1.5
    } else {
        101.0
    };
    let mut expected = vec![fill; sample.shape.iter().product::<u64>() as usize];
    for Part { start, count, first, synced } in &sample.parts {
        let places = places(&sample.shape, start, count);
        let values: Vec<f64> = (0..places.len() as u64).map(|at| ((first + at) % 100) as f64).collect();
        places.iter().zip(&values).for_each(|(&place, &value)| expected[place] = value);
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        let written =
            variable.write(&Slab::new(start, count), MemRef::Fixed { ty: NcType::Double, bytes: &bytes });
        written.map_err(|error| fail(format!("write: {error}")))?;
        if *synced {
            file.sync().map_err(|error| fail(format!("sync: {error}")))?;
        }
    }
    file.close().map_err(|error| fail(format!("close: {error}")))?;
    let file = open(false)?;
    let variable = file.variables().pop().ok_or_else(|| fail("no variable".to_owned()))?;
    let origin = vec![0; sample.shape.len()];
    for (start, count) in
        sample.parts.iter().map(|part| (&part.start, &part.count)).chain([(&origin, &sample.shape)])
    {
        let found = read(&variable, start, count).map_err(|error| fail(format!("read: {error}")))?;
        let wanted: Vec<f64> =
            places(&sample.shape, start, count).iter().map(|&place| expected[place]).collect();
        if found != wanted {
            return Err(fail(format!("{start:?} {count:?}: {found:?}, expected {wanted:?}")));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 0, ..ProptestConfig::with_cases(160) })]

    #[test]
    fn any_chain_round_trips(seed in any::<u64>()) {
        holds(&sample(&mut Rng::of("chains", seed, 0)))?;
    }
}

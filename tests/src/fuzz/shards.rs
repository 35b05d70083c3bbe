//! Targets for Zarr V3 shards with false indexes and correct checksums, and for codec chains.
//!
//! The target makes the shard byte by byte. It reads the shard whole and in part, and sometimes writes to it.

use std::sync::Arc;

use nczarr::dispatch::Limits;
use nczarr::{Error, OpenOptions};
use nczarr_zmap_mem::MemMap;
use serde_json::{Value, json};

use super::rng::Rng;
use super::{Case, Entry, Outcome, Target, judged, mutate};

/// Number of elements of the array, which is one shard, and of a chunk.
const ELEMENTS: usize = 16;
const CHUNK: usize = 4;

/// Computes CRC-32C bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| sum >> 1 ^ (0x82f6_3b78 & (sum & 1).wrapping_neg()))
    })
}

/// The form of a shard.
#[derive(Clone, Copy)]
struct Form {
    at_start: bool,
    checked: bool,
    /// Each chunk is a shard with two chunks.
    nested: bool,
}

impl Form {
    fn of(rng: &mut Rng) -> Self {
        Self { at_start: rng.one_in(2), checked: !rng.one_in(4), nested: rng.one_in(2) }
    }

    fn codec(self, chunk: usize, codecs: &Value) -> Value {
        let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
        let index = if self.checked { json!([little, {"name": "crc32c"}]) } else { json!([little]) };
        let place = if self.at_start { "start" } else { "end" };
        json!({"name": "sharding_indexed", "configuration": {
            "chunk_shape": [chunk], "codecs": codecs, "index_codecs": index, "index_location": place}})
    }

    fn codecs(self) -> Value {
        let bytes = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
        let inner = if self.nested { json!([self.codec(CHUNK / 2, &bytes)]) } else { bytes };
        json!([self.codec(CHUNK, &inner)])
    }

    fn document(self) -> String {
        json!({"zarr_format": 3, "node_type": "array", "shape": [ELEMENTS], "data_type": "uint32", "fill_value": 7,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [ELEMENTS]}},
            "chunk_key_encoding": {"name": "default"}, "codecs": self.codecs(), "attributes": {}})
        .to_string()
    }

    /// Makes a shard of these chunks. `lie` can change the index entries.
    fn shard(self, chunks: &[Vec<u8>], lie: &mut dyn FnMut(&mut [u64], usize)) -> Vec<u8> {
        let index_len = chunks.len() * 16 + if self.checked { 4 } else { 0 };
        let mut at = if self.at_start { index_len } else { 0 };
        let mut entries = Vec::new();
        for chunk in chunks {
            entries.extend([at as u64, chunk.len() as u64]);
            at += chunk.len();
        }
        lie(&mut entries, at + if self.at_start { 0 } else { index_len });
        let mut index: Vec<u8> = entries.iter().flat_map(|entry| entry.to_le_bytes()).collect();
        if self.checked {
            index.extend(crc32c(&index).to_le_bytes());
        }
        let data = chunks.concat();
        if self.at_start { [index, data].concat() } else { [data, index].concat() }
    }

    fn whole(self, rng: &mut Rng) -> Vec<u8> {
        let mut lie = |entries: &mut [u64], len: usize| {
            for _ in 0..rng.below(4) {
                let len = len as u64;
                let values = [
                    0,
                    1,
                    4,
                    8,
                    16,
                    len - 1,
                    len,
                    len + 1,
                    1 << 32,
                    1 << 62,
                    1 << 63,
                    u64::MAX - 16,
                    u64::MAX,
                ];
                let value = *rng.of_these(&values);
                let at = rng.below(entries.len());
                entries[at] = value;
                if rng.one_in(4) {
                    // Marks the chunk as missing.
                    entries[at & !1..][..2].fill(u64::MAX);
                }
            }
        };
        let mut chunks = Vec::new();
        for chunk in 0..ELEMENTS / CHUNK {
            let bytes = |elements: std::ops::Range<usize>| -> Vec<u8> {
                elements.flat_map(|element| ((chunk * CHUNK + element) as u32).to_le_bytes()).collect()
            };
            chunks.push(match self.nested {
                true => self.shard(&[bytes(0..CHUNK / 2), bytes(CHUNK / 2..CHUNK)], &mut lie),
                false => bytes(0..CHUNK),
            });
        }
        self.shard(&chunks, &mut lie)
    }
}

/// Reads the array whole and in part. Writes a part of it if `writes` is true.
fn use_it(store: Vec<(String, Vec<u8>)>, writes: bool) -> Outcome {
    let map = Arc::new(MemMap::from_objects(store).map_err(|error| error.to_string())?);
    let mut limits = Limits::default();
    limits.chunk = 1 << 20;
    let opened = OpenOptions::new()
        .limits(limits)
        .threads(1)
        .writable(writes)
        .map(map)
        .open("memory://fuzz#mode=zarr");
    if !judged(opened.as_ref().map_err(Clone::clone))? {
        return Ok(false);
    }
    let Ok(file) = opened else { return Ok(false) };
    let Some(variable) = file.variables().pop() else { return Ok(false) };
    let mut all = judged(variable.get::<u32>(..))?;
    all &= judged(variable.get::<u32>((5,)))?;
    if writes {
        let written = || -> Result<bool, Error> {
            variable.put(&[1u32, 2, 3], (3..6,))?;
            file.sync()?;
            Ok(variable.get::<u32>((3..6,))?.as_slice() == [1, 2, 3])
        };
        match written() {
            Ok(false) => return Err("the values read differ from the values written".to_owned()),
            outcome => all &= judged(outcome)?,
        }
    }
    Ok(all)
}

/// Shards with false index entries.
struct Indexes;

impl Target for Indexes {
    fn case(&self, rng: &mut Rng) -> Case<'_> {
        let form = Form::of(rng);
        let mut shard = form.whole(rng);
        if rng.one_in(4) {
            mutate::bytes(rng, &mut shard);
        }
        let writes = rng.one_in(4);
        let files = vec![("zarr.json".to_owned(), form.document().into_bytes()), ("c/0".to_owned(), shard)];
        Case::new(if writes { "for writing" } else { "" }.to_owned(), files, move |store| {
            use_it(store, writes)
        })
    }
}

/// Codec chains that are almost valid.
struct Chains;

impl Target for Chains {
    fn case(&self, rng: &mut Rng) -> Case<'_> {
        let names =
            ["bytes", "gzip", "zstd", "blosc", "crc32c", "transpose", "numcodecs.shuffle", "numcodecs.zlib"];
        let configurations = [
            json!({}),
            json!({"level": 1}),
            json!({"level": 1, "checksum": false}),
            json!({"order": [0]}),
            json!({"elementsize": 4}),
            json!({"endian": "big"}),
            json!({"cname": "lz4", "clevel": 1, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}),
        ];
        let mut document: Value = serde_json::from_str(&Form::of(rng).document()).unwrap_or_default();
        if let Some(codecs) = document["codecs"].as_array_mut() {
            for _ in 0..=rng.below(3) {
                let codec =
                    json!({"name": rng.of_these(&names), "configuration": rng.of_these(&configurations)});
                match rng.below(3) {
                    0 => codecs.insert(rng.below(codecs.len() + 1), codec),
                    1 => {
                        let chain =
                            &mut codecs[0]["configuration"][*rng.of_these(&["codecs", "index_codecs"])];
                        if let Some(chain) = chain.as_array_mut() {
                            chain.insert(rng.below(chain.len() + 1), codec);
                        }
                    }
                    _ => {
                        // Nests the chain in itself up to 80 times.
                        let mut inner = Value::Array(codecs.clone());
                        for _ in 0..rng.below(80) {
                            let mut around = codecs[0].clone();
                            around["configuration"]["codecs"] = inner;
                            inner = json!([around]);
                        }
                        *codecs = inner.as_array().cloned().unwrap_or_default();
                        break;
                    }
                }
            }
        }
        let text = mutate_some(rng, document.to_string().into_bytes());
        let shard = Form { at_start: false, checked: true, nested: false }.whole(rng);
        let files = vec![("zarr.json".to_owned(), text), ("c/0".to_owned(), shard)];
        Case::new(String::new(), files, |store| use_it(store, true))
    }
}

fn mutate_some(rng: &mut Rng, text: Vec<u8>) -> Vec<u8> {
    if rng.one_in(2) { mutate::document(rng, &text) } else { text }
}

pub(super) fn entries() -> Vec<Entry> {
    vec![Entry::new("v3/shard-index", || Indexes), Entry::new("v3/codecs", || Chains)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_that_does_not_lie_is_read() {
        for bits in 0..8 {
            let form = Form { at_start: bits & 1 > 0, checked: bits & 2 > 0, nested: bits & 4 > 0 };
            let chunks: Vec<Vec<u8>> = (0..4u32)
                .map(|chunk| {
                    let bytes = |range: std::ops::Range<u32>| -> Vec<u8> {
                        range.flat_map(|element| (chunk * 4 + element).to_le_bytes()).collect()
                    };
                    if form.nested {
                        form.shard(&[bytes(0..2), bytes(2..4)], &mut |_, _| {})
                    } else {
                        bytes(0..4)
                    }
                })
                .collect();
            let shard = form.shard(&chunks, &mut |_, _| {});
            let store =
                vec![("zarr.json".to_owned(), form.document().into_bytes()), ("c/0".to_owned(), shard)];
            let map = Arc::new(MemMap::from_objects(store.clone()).unwrap());
            let file = OpenOptions::new().map(map).open("memory://fuzz#mode=zarr").unwrap();
            let found = file.variables()[0].get::<u32>(..).unwrap();
            assert_eq!(found.as_slice(), (0..16).collect::<Vec<u32>>());
            assert_eq!(use_it(store, true), Ok(true));
        }
    }
}

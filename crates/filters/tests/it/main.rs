//! Tests of the filters' public interface: foreign streams, round trips, damage, and the registry.
#![cfg_attr(
    not(all(
        feature = "shuffle",
        feature = "deflate",
        feature = "fletcher32",
        feature = "zstd",
        feature = "blosc",
        feature = "bzip2",
        feature = "lz4",
        feature = "lzma"
    )),
    allow(unused)
)]

mod foreign;
mod hdf5;
mod hostile;
mod json;
mod registry;
mod round_trip;

use nczarr_codec::{ChunkInfo, Filter, FilterClass, ItemType, Json, OutBuf, ZarrFormat};
use nczarr_model::Result;

/// Returns the built-in class of a name.
fn class(name: &str) -> &'static dyn FilterClass {
    let is = |class: &&&dyn FilterClass| class.info().name == name || class.info().aliases.contains(&name);
    *nczarr_filters::BUILTIN.iter().find(is).unwrap_or_else(|| panic!("no filter {name}"))
}

/// Makes the filter of a V2 description, bound to chunks of such elements.
fn v2(codec: Json, item_size: usize) -> Box<dyn Filter> {
    let name = codec["id"].as_str().expect("an id").to_owned();
    bound(class(&name).parse_json(&codec, ZarrFormat::V2).expect("a good description"), item_size)
}

fn bound(mut filter: Box<dyn Filter>, item_size: usize) -> Box<dyn Filter> {
    let chunk_bytes = 1000 * item_size;
    let item = ItemType::bytes(item_size);
    let chunk = ChunkInfo::new(item, 1000)
        .item_size(item_size)
        .chunk_bytes(chunk_bytes)
        .array_row(Some(1000))
        .big_endian(false);
    filter.bind(&chunk).expect("bound");
    filter
}

fn encode(filter: &dyn Filter, src: &[u8]) -> Result<Vec<u8>> {
    // LZMA1 has no bound. The data of these tests are not its worst case.
    let bound = filter.encode_bound(src.len()).unwrap_or(2 * src.len() + 100);
    let mut memory = Vec::with_capacity(bound);
    let mut out = OutBuf::new(memory.spare_capacity_mut());
    filter.encode(src, &mut out)?;
    assert!(out.filled().len() <= bound, "{filter:?}: {} bytes, bound {bound}", out.filled().len());
    Ok(out.filled().to_vec())
}

fn decode(filter: &dyn Filter, src: &[u8], capacity: usize) -> Result<Vec<u8>> {
    // Guard bytes behind the capacity detect writes beyond it.
    let mut memory = vec![0xa5; capacity + 64];
    let (inside, guard) = memory.split_at_mut(capacity);
    let mut out = OutBuf::from_slice(inside);
    let outcome = filter.decode(src, &mut out).map(|()| out.filled().to_vec());
    assert!(guard.iter().all(|&byte| byte == 0xa5), "{filter:?} wrote beyond {capacity} bytes");
    outcome
}

/// The bytes of `sample` in vectors/make.py.
fn sample(words: u64) -> Vec<u8> {
    (0..words)
        .flat_map(|i| {
            let noise = if i % 61 == 0 { (i * 2_654_435_761 % (1 << 32)) >> 29 } else { 0 };
            ((i / 100 + noise) as u32).to_le_bytes()
        })
        .collect()
}

/// Bytes that do not compress.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let bytes = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    });
    bytes.take(len).collect()
}

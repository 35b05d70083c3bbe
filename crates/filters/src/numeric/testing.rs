//! Helpers for the tests of these filters.

use nczarr_codec::{ChunkInfo, Filter, FilterClass, ItemType, Json, OutBuf, ZarrFormat};
use nczarr_model::Result;

/// Makes the filter of a V2 description, bound to plain bytes.
pub(super) fn filter(class: &dyn FilterClass, codec: Json) -> Box<dyn Filter> {
    bound(class, codec, ItemType::BYTES)
}

/// Makes the filter of a V2 description, bound to elements of a type.
pub(super) fn bound(class: &dyn FilterClass, codec: Json, item: ItemType) -> Box<dyn Filter> {
    let mut filter = class.parse_json(&codec, ZarrFormat::V2).expect("a good description");
    let chunk = ChunkInfo::new(item, 16).big_endian(false);
    filter.bind(&chunk).expect("bound");
    filter
}

/// Encodes into as much room as the bound.
pub(super) fn encode(filter: &dyn Filter, src: &[u8]) -> Result<Vec<u8>> {
    run(filter.encode_bound(src.len()).unwrap_or(0), |out| filter.encode(src, out))
}

pub(super) fn decode(filter: &dyn Filter, src: &[u8], capacity: usize) -> Result<Vec<u8>> {
    run(capacity, |out| filter.decode(src, out))
}

fn run(capacity: usize, run: impl FnOnce(&mut OutBuf<'_>) -> Result<()>) -> Result<Vec<u8>> {
    let mut memory = vec![0xa5; capacity];
    let mut out = OutBuf::from_slice(&mut memory);
    run(&mut out)?;
    Ok(out.filled().to_vec())
}

pub(super) trait Bytes: Copy {
    fn bytes(self, big: bool) -> Vec<u8>;
}

macro_rules! bytes {
    ($($t:ty),*) => {$(
        impl Bytes for $t {
            fn bytes(self, big: bool) -> Vec<u8> {
                if big { self.to_be_bytes().to_vec() } else { self.to_le_bytes().to_vec() }
            }
        }
    )*};
}

bytes!(u8, i16, u16, i32, u32, i64, u64, f32, f64);

/// Returns values as bytes.
pub(super) fn bytes_of<T: Bytes>(values: &[T], big: bool) -> Vec<u8> {
    values.iter().flat_map(|value| value.bytes(big)).collect()
}

//! Lists of numbers in native byte order: [`in_native_order`] wraps an element codec.

use nczarr_codec::{ElementChunk, ElementCodec, ItemType, Json};
use nczarr_model::{NcString, Result};

/// Returns a codec whose lists are in native order, from one whose lists of `item` are in stored order.
pub(crate) fn in_native_order(codec: Box<dyn ElementCodec>, item: ItemType) -> Box<dyn ElementCodec> {
    if item.size <= 1 || item.big_endian == cfg!(target_endian = "big") {
        return codec;
    }
    Box::new(ByteSwapped { codec, size: item.size })
}

/// Reverses the bytes of each number.
#[derive(Debug, Clone)]
struct ByteSwapped {
    codec: Box<dyn ElementCodec>,
    size: usize,
}

impl ByteSwapped {
    fn swap(&self, list: NcString) -> NcString {
        let mut bytes = list.into_bytes();
        bytes.chunks_exact_mut(self.size).for_each(<[u8]>::reverse);
        bytes.into()
    }
}

impl ElementCodec for ByteSwapped {
    fn name(&self) -> &str {
        self.codec.name()
    }

    fn to_json(&self) -> Json {
        self.codec.to_json()
    }

    fn item(&self) -> Option<ItemType> {
        self.codec.item()
    }

    fn bind(&mut self, chunk: &ElementChunk<'_>) -> Result<()> {
        self.codec.bind(chunk)
    }

    fn encode(&self, elements: &[NcString], out: &mut Vec<u8>) -> Result<()> {
        let stored: Vec<_> = elements.iter().map(|list| self.swap(list.clone())).collect();
        self.codec.encode(&stored, out)
    }

    fn decode(&self, src: &[u8], count: usize, limit: usize) -> Result<Vec<NcString>> {
        Ok(self.codec.decode(src, count, limit)?.into_iter().map(|list| self.swap(list)).collect())
    }
}

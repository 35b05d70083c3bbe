//! Lists of numbers in this machine's byte order: [`native`], an element codec around another.

use nczarr_dispatch::{ElementChunk, ElementCodec, ItemType, Json};
use nczarr_model::{NcString, Result};

/// A codec whose lists are as they are in memory, of one whose lists of `item` are as stored.
pub(crate) fn native(codec: Box<dyn ElementCodec>, item: ItemType) -> Box<dyn ElementCodec> {
    if item.size <= 1 || item.big_endian == cfg!(target_endian = "big") {
        return codec;
    }
    Box::new(Swapped { codec, size: item.size })
}

/// The bytes of each number the other way round.
#[derive(Debug, Clone)]
struct Swapped {
    codec: Box<dyn ElementCodec>,
    size: usize,
}

impl Swapped {
    fn swap(&self, list: NcString) -> NcString {
        let mut bytes = list.into_bytes();
        bytes.chunks_exact_mut(self.size).for_each(<[u8]>::reverse);
        bytes.into()
    }
}

impl ElementCodec for Swapped {
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

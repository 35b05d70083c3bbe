//! [`Image`]: metadata as they will lie in the file, one block after another, and where each block is.
//!
//! Objects refer to each other both ways, so an image is made twice: the first time nobody knows where the later ones will
//! be, and what is made has the same size all the same.

use super::bytes::Put;
use super::heap;

/// Metadata from an address on.
#[derive(Debug)]
pub(super) struct Image {
    base: u64,
    bytes: Vec<u8>,
    heap: heap::Values,
}

/// A value of variable length in the global heap: its collection's address, and which it is there.
pub(super) type HeapId = (u64, u32);

impl Image {
    /// `heap`: where the collections of an image like this one were.
    pub(super) fn new(base: u64, heap: Vec<u64>) -> Self {
        Self { base, bytes: Vec::new(), heap: heap::Values::new(heap) }
    }

    /// Where the next block will be.
    pub(super) fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    /// Appends a block; answers where it is.
    pub(super) fn put(&mut self, block: &[u8]) -> u64 {
        let address = self.end();
        self.bytes.extend_from_slice(block);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        address
    }

    /// Appends a value to the heap.
    pub(super) fn keep(&mut self, value: &[u8]) -> HeapId {
        self.heap.keep(value)
    }

    /// A value's place in an element of variable length: its length, and where it is.
    pub(super) fn pointer(&mut self, out: &mut Vec<u8>, count: usize, value: &[u8]) {
        let (collection, index) = self.keep(value);
        out.u32(count as u32);
        out.u64(collection);
        out.u32(index);
    }

    /// All bytes, and where the heap's collections are.
    pub(super) fn finish(mut self) -> (Vec<u8>, Vec<u64>) {
        let mut places = Vec::new();
        for collection in std::mem::take(&mut self.heap).finish() {
            places.push(self.put(&collection));
        }
        (self.bytes, places)
    }
}

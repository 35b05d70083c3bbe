//! [`MetadataImage`]: metadata as they will be stored, and the address of each block.
//!
//! Objects refer to each other in both directions, so an image is built twice. The first pass does not know
//! later addresses, but gives every block its final size.

use super::bytes::PutBytes;
use super::heap;

/// Metadata from an address on.
#[derive(Debug)]
pub(super) struct MetadataImage {
    base: u64,
    bytes: Vec<u8>,
    heap: heap::ImageHeap,
}

impl MetadataImage {
    /// `heap`: addresses of the collections, from the first pass.
    pub(super) fn new(base: u64, heap: Vec<u64>) -> Self {
        Self { base, bytes: Vec::new(), heap: heap::ImageHeap::new(heap) }
    }

    /// Returns the address of the next block.
    pub(super) fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    /// Appends a block, and returns its address.
    pub(super) fn put(&mut self, block: &[u8]) -> u64 {
        let address = self.end();
        self.bytes.extend_from_slice(block);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        address
    }

    /// Appends a value to the heap.
    pub(super) fn keep(&mut self, value: &[u8]) -> heap::HeapValueId {
        self.heap.keep(value)
    }

    /// Appends a value to the heap, and its length and place to `out`.
    pub(super) fn pointer(&mut self, out: &mut Vec<u8>, count: usize, value: &[u8]) {
        let (collection, index) = self.keep(value);
        out.u32(count as u32);
        out.u64(collection);
        out.u32(index);
    }

    /// Returns all bytes, and the addresses of the collections.
    pub(super) fn finish(mut self) -> (Vec<u8>, Vec<u64>) {
        let mut places = Vec::new();
        for collection in std::mem::take(&mut self.heap).finish() {
            places.push(self.put(&collection));
        }
        (self.bytes, places)
    }
}

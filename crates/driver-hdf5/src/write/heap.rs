//! Builds collections of the global heap, which holds values of variable length.
//!
//! Source: HDF5 File Format Specification 3.0, III.E.

use std::collections::HashMap;
use std::ops::Range;

use super::bytes::PutBytes;

/// The place of a value in the global heap: address of its collection, and index.
pub(super) type HeapValueId = (u64, u32);

/// Smallest size of a collection in bytes.
pub(super) const LEAST: usize = 4096;

/// A collection of this many bytes gets no more values.
pub(super) const FULL: usize = 64 << 10;

/// Bytes before the first value.
const HEAD: usize = 16;

/// Bytes before each value.
const VALUE_HEAD: usize = 16;

/// The values of one collection.
#[derive(Debug, Default, Clone)]
pub(super) struct CollectionBuilder {
    values: Vec<u8>,
    /// The range of each value, by index from 1 on.
    places: Vec<Range<usize>>,
}

impl CollectionBuilder {
    /// Whether one more value fits in a collection of `bytes` bytes.
    pub(super) fn has_room(&self, value: usize, bytes: usize) -> bool {
        let all = HEAD + self.values.len() + VALUE_HEAD + value.next_multiple_of(8);
        self.places.is_empty() || self.places.len() < usize::from(u16::MAX) && all <= bytes
    }

    /// Appends a value, and returns its index.
    pub(super) fn push(&mut self, value: &[u8]) -> u32 {
        // `has_room` limits the number of values.
        let index = self.places.len() as u16 + 1;
        self.values.u16(index);
        self.values.u16(1);
        self.values.u32(0);
        self.values.u64(value.len() as u64);
        let start = self.values.len();
        self.values.extend_from_slice(value);
        self.places.push(start..self.values.len());
        self.values.resize(self.values.len().next_multiple_of(8), 0);
        u32::from(index)
    }

    /// Returns the value of an index.
    pub(super) fn value(&self, index: u32) -> Option<&[u8]> {
        let place = self.places.get((index as usize).checked_sub(1)?)?;
        self.values.get(place.clone())
    }

    /// Returns the stored form of the collection, of at least `least` bytes.
    pub(super) fn bytes(&self, least: usize) -> Vec<u8> {
        let size = (HEAD + self.values.len()).max(LEAST).max(least);
        let mut out = Vec::with_capacity(size);
        out.extend_from_slice(b"GCOL\x01\0\0\0");
        out.u64(size as u64);
        out.extend_from_slice(&self.values);
        let free = size - out.len();
        if free >= VALUE_HEAD {
            out.u64(0);
            out.u64(free as u64);
        }
        out.resize(size, 0);
        out
    }
}

/// Finds the values of a stored collection, by index. `None`: it is damaged.
pub(super) fn places(collection: &[u8]) -> Option<HashMap<u16, Range<usize>>> {
    collection.strip_prefix(b"GCOL\x01")?;
    let (mut places, mut at) = (HashMap::new(), HEAD);
    while let Some(head) = collection.get(at..at + VALUE_HEAD) {
        let index = u16::from_le_bytes([head[0], head[1]]);
        let len = usize::try_from(u64::from_le_bytes(head[8..].try_into().ok()?)).ok()?;
        if index == 0 {
            break;
        }
        let (start, end) = (at + VALUE_HEAD, (at + VALUE_HEAD).checked_add(len)?);
        if end > collection.len() || places.insert(index, start..end).is_some() {
            return None;
        }
        at = end.next_multiple_of(8);
    }
    Some(places)
}

/// The global heap of an image.
#[derive(Debug, Default)]
pub(super) struct ImageHeap {
    collections: Vec<CollectionBuilder>,
    /// Addresses of the collections.
    places: Vec<u64>,
}

impl ImageHeap {
    pub(super) fn new(places: Vec<u64>) -> Self {
        Self { collections: Vec::new(), places }
    }

    pub(super) fn keep(&mut self, value: &[u8]) -> HeapValueId {
        if self.collections.last().is_none_or(|last| !last.has_room(value.len(), FULL)) {
            self.collections.push(CollectionBuilder::default());
        }
        let at = self.collections.len() - 1;
        let index = self.collections[at].push(value);
        (self.places.get(at).copied().unwrap_or(0), index)
    }

    pub(super) fn finish(self) -> impl Iterator<Item = Vec<u8>> {
        self.collections.into_iter().map(|collection| collection.bytes(0))
    }
}

//! [`GlobalHeap`]: values of variable length, in collections that datasets share.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use nczarr_model::Result;

use super::cursor::{MetadataCursor, UNDEFINED, damaged};
use super::file::HdfFile;

/// Most bytes of cached collections.
const KEPT: usize = 32 << 20;

/// The cached collections of a file, by address ([`HdfFile::collection`]).
#[derive(Debug, Default)]
pub(super) struct GlobalHeap(Mutex<CachedCollections>);

#[derive(Debug, Default)]
struct CachedCollections {
    collections: HashMap<u64, Arc<HeapCollection>>,
    bytes: usize,
    /// Length of the last collection in bytes. Others are probably as long.
    len: u64,
}

#[derive(Debug)]
pub(crate) struct HeapCollection {
    bytes: Vec<u8>,
    objects: HashMap<u16, Range<usize>>,
}

impl HeapCollection {
    /// Returns the bytes of an object.
    pub(crate) fn object(&self, index: u32) -> Option<&[u8]> {
        self.objects.get(&u16::try_from(index).ok()?).map(|range| &self.bytes[range.clone()])
    }

    fn read(file: &HdfFile, address: u64) -> Result<Self> {
        // An evicted collection is read again, so it does not count.
        let head = file.read_again(address, 8 + u64::from(file.lengths))?;
        let mut at = MetadataCursor::new(&head, "global heap");
        at.expect(b"GCOL")?;
        at.version(1)?;
        at.skip(3)?;
        let len = at.uint(file.lengths)?;
        let bytes = file.read_again(address, len)?;
        let mut at = MetadataCursor::new(&bytes, "global heap");
        at.skip(head.len().min(bytes.len()))?;
        let mut objects = HashMap::new();
        while at.rest().len() >= 8 + usize::from(file.lengths) {
            let index = at.u16()?;
            at.skip(6)?;
            let len = at.uint(file.lengths)?;
            if index == 0 {
                break;
            }
            let from = at.at();
            let len = usize::try_from(len).map_err(|_| damaged("global heap: an object is too large"))?;
            at.skip(len)?;
            if objects.insert(index, from..from + len).is_some() {
                return Err(damaged(format!("global heap at {address}: object {index} occurs twice")));
            }
            // The last object may end at the end of the collection, without padding.
            let pad = (len.wrapping_neg() & 7).min(at.rest().len());
            at.skip(pad)?;
        }
        Ok(Self { bytes, objects })
    }
}

/// Size of a collection that HDF5 makes for short objects, in bytes.
const LIKELY: u64 = 4 << 10;

/// Most bytes prefetched of a collection of unknown length.
const MOST: u64 = 64 << 10;

/// Most bytes of collections prefetched together.
const TOGETHER: u64 = 8 << 20;

impl HdfFile {
    /// Announces reads of collections. In a remote file they are requested at once.
    pub(crate) fn prefetch_collections(&self, addresses: impl Iterator<Item = u64>) {
        let kept = self.heap.0.lock().unwrap_or_else(PoisonError::into_inner);
        let missing: BTreeSet<u64> =
            addresses.filter(|address| !kept.collections.contains_key(address)).collect();
        let len = kept.len.clamp(LIKELY, MOST);
        drop(kept);
        let together = (TOGETHER / len) as usize;
        self.prefetch(missing.into_iter().take(together).map(|address| (address, len)));
    }

    /// Reads the collection at an address of the global heap, or takes it from the cache.
    ///
    /// # Errors
    /// `NC_EHDFERR` if it is damaged.
    pub(crate) fn collection(&self, address: u64) -> Result<Arc<HeapCollection>> {
        let lock = || self.heap.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(collection) = lock().collections.get(&address) {
            return Ok(Arc::clone(collection));
        }
        let collection = Arc::new(HeapCollection::read(self, address)?);
        let mut kept = lock();
        // Sound collections do not overlap, so together they are no larger than the file.
        if kept.bytes > KEPT.min(usize::try_from(self.len).unwrap_or(usize::MAX)) {
            *kept = CachedCollections::default();
        }
        kept.len = collection.bytes.len() as u64;
        kept.bytes += collection.bytes.len();
        kept.collections.insert(address, Arc::clone(&collection));
        Ok(collection)
    }
}

/// The stored form of a value of variable length: its number of items and its place in the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GlobalHeapId {
    pub(crate) count: u32,
    pub(crate) address: u64,
    pub(crate) index: u32,
}

impl GlobalHeapId {
    pub(crate) fn parse(file: &HdfFile, bytes: &[u8]) -> Result<Self> {
        let mut at = MetadataCursor::new(bytes, "element of variable length");
        Ok(Self { count: at.u32()?, address: at.address(file.offsets)?, index: at.u32()? })
    }

    /// Whether it has no place in a heap: never written, or written as a null pointer.
    pub(crate) fn is_null(&self) -> bool {
        self.address == 0 || self.address == UNDEFINED
    }

    /// Whether it has no items.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0 || self.is_null()
    }

    /// Returns its items of `size` bytes each. Text may have fewer.
    ///
    /// # Errors
    /// `NC_EHDFERR` if the heap does not have them.
    pub(crate) fn items<'c>(&self, collection: &'c HeapCollection, size: u32) -> Result<&'c [u8]> {
        let wanted = u64::from(self.count) * u64::from(size);
        let bytes = collection.object(self.index);
        let bytes = bytes.and_then(|bytes| bytes.get(..usize::try_from(wanted).ok()?));
        bytes.ok_or_else(|| {
            damaged(format!(
                "global heap: {wanted} bytes of object {} are missing in the collection at address {}",
                self.index, self.address
            ))
        })
    }
}

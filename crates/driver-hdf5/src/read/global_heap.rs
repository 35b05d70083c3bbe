//! [`GlobalHeap`]: elements of variable length, in collections that many share.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use nczarr_model::Result;

use super::cursor::{Cursor, UNDEFINED, bad};
use super::file::Hdf;

/// Bytes of collections that are kept.
const KEPT: usize = 32 << 20;

/// The collections of a file that are kept, by their addresses: they are a part of what is known of it ([`Hdf::collection`]).
#[derive(Debug, Default)]
pub(super) struct GlobalHeap(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    collections: HashMap<u64, Arc<Collection>>,
    bytes: usize,
    /// How long the one was that was read last: others are probably like it.
    len: u64,
}

#[derive(Debug)]
pub(crate) struct Collection {
    bytes: Vec<u8>,
    objects: HashMap<u16, Range<usize>>,
}

impl Collection {
    /// The bytes of an object.
    pub(crate) fn object(&self, index: u32) -> Option<&[u8]> {
        self.objects.get(&u16::try_from(index).ok()?).map(|range| &self.bytes[range.clone()])
    }

    fn read(file: &Hdf, address: u64) -> Result<Self> {
        // Collections are read again when they are no longer kept.
        let head = file.read_again(address, 8 + u64::from(file.lengths))?;
        let mut at = Cursor::new(&head, "global heap");
        at.expect(b"GCOL")?;
        at.version(1)?;
        at.skip(3)?;
        let len = at.uint(file.lengths)?;
        let bytes = file.read_again(address, len)?;
        let mut at = Cursor::new(&bytes, "global heap");
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
            let len = usize::try_from(len).map_err(|_| bad("global heap: an object without end"))?;
            at.skip(len)?;
            if objects.insert(index, from..from + len).is_some() {
                return Err(bad(format!("global heap at {address}: two objects {index}")));
            }
            // The last one may end where the collection does.
            let pad = (len.wrapping_neg() & 7).min(at.rest().len());
            at.skip(pad)?;
        }
        Ok(Self { bytes, objects })
    }
}

/// Bytes of a collection, as HDF5 makes them where no object is longer.
const LIKELY: u64 = 4 << 10;

/// Bytes that are asked for of a collection whose length is not known, at most.
const MOST: u64 = 64 << 10;

/// Bytes of collections that are asked for together.
const TOGETHER: u64 = 8 << 20;

impl Hdf {
    /// Says which collections will be read soon: of a file elsewhere they are asked for at once.
    pub(crate) fn expect_collections(&self, addresses: impl Iterator<Item = u64>) {
        let kept = self.heap.0.lock().unwrap_or_else(PoisonError::into_inner);
        let missing: BTreeSet<u64> = addresses.filter(|address| !kept.collections.contains_key(address)).collect();
        let len = kept.len.clamp(LIKELY, MOST);
        drop(kept);
        let together = (TOGETHER / len) as usize;
        self.expect(missing.into_iter().take(together).map(|address| (address, len)));
    }

    /// The collection of its global heap at an address.
    ///
    /// # Errors
    /// `NC_EHDFERR` if it is damaged.
    pub(crate) fn collection(&self, address: u64) -> Result<Arc<Collection>> {
        let lock = || self.heap.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(collection) = lock().collections.get(&address) {
            return Ok(Arc::clone(collection));
        }
        let collection = Arc::new(Collection::read(self, address)?);
        let mut kept = lock();
        // Sound ones lie beside one another: together they are no more than the file.
        if kept.bytes > KEPT.min(usize::try_from(self.len).unwrap_or(usize::MAX)) {
            *kept = Kept::default();
        }
        kept.len = collection.bytes.len() as u64;
        kept.bytes += collection.bytes.len();
        kept.collections.insert(address, Arc::clone(&collection));
        Ok(collection)
    }
}

/// What an element of variable length is stored as: how many items, and where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeapRef {
    pub(crate) count: u32,
    pub(crate) address: u64,
    pub(crate) index: u32,
}

impl HeapRef {
    pub(crate) fn parse(file: &Hdf, bytes: &[u8]) -> Result<Self> {
        let mut at = Cursor::new(bytes, "element of variable length");
        Ok(Self { count: at.u32()?, address: at.address(file.offsets)?, index: at.u32()? })
    }

    /// Whether it is in no heap: never written, or a null pointer when it was.
    pub(crate) fn is_nil(&self) -> bool {
        self.address == 0 || self.address == UNDEFINED
    }

    /// Whether it is none: never written, or of no items.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0 || self.is_nil()
    }

    /// Its items of `size` bytes each; of text there may be fewer.
    ///
    /// # Errors
    /// `NC_EHDFERR` if they are not there.
    pub(crate) fn items<'c>(&self, collection: &'c Collection, size: u32) -> Result<&'c [u8]> {
        let wanted = u64::from(self.count) * u64::from(size);
        let bytes = collection.object(self.index);
        let bytes = bytes.and_then(|bytes| bytes.get(..usize::try_from(wanted).ok()?));
        bytes.ok_or_else(|| {
            bad(format!("{wanted} bytes as object {} of the global heap at {}", self.index, self.address))
        })
    }
}

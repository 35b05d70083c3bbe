//! Resolves shared messages: those of another object, and those in the file's table of shared messages.
//!
//! The table has indexes, each for some message types and with its own fractal heap. A message has the id of
//! its object in that heap.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use nczarr_model::Result;

use super::cursor::{MetadataCursor, damaged};
use super::file::{HdfFile, TIMES};
use super::fractal_heap::FractalHeap;
use super::header::{HeaderMessage, ObjectHeader, message_type};

/// Bytes of shared messages that may be returned beyond [`TIMES`] the file size. All objects may share one
/// message, but each makes its own copy.
const SPARE: u64 = 64 << 20;

/// Bytes that a cached message counts for beside its own.
const EACH: u64 = 64;

/// The table of shared messages.
#[derive(Debug, Default)]
pub(crate) struct SharedTable {
    /// For each index: a bit for each message type, and the address of its heap.
    pub(super) indexes: Vec<(u32, u64)>,
    kept: Mutex<CachedMessages>,
}

/// Heaps and messages that were read. Each is read once.
#[derive(Debug, Default)]
struct CachedMessages {
    /// The heaps, by address.
    heaps: HashMap<u64, FractalHeap>,
    /// The messages, by heap address and id.
    messages: HashMap<(u64, [u8; 8]), Arc<[u8]>>,
    /// Bytes of cached messages. Sound messages do not overlap, so they are limited by the file size.
    taken: u64,
    /// Bytes of messages returned to callers.
    given: u64,
}

impl SharedTable {
    /// Reads the table from the superblock extension at an address.
    ///
    /// # Errors
    /// `NC_EHDFERR` if it is damaged.
    pub(crate) fn read(file: &HdfFile, extension: u64) -> Result<Self> {
        let header =
            ObjectHeader::read(file, extension).map_err(|error| error.at("extension of the superblock"))?;
        let Some(message) = header.find(message_type::SHARED_TABLE) else { return Ok(Self::default()) };
        let mut at = MetadataCursor::new(message.bytes, "table of shared messages");
        at.version(0)?;
        let (address, count) = (at.address(file.offsets)?, at.u8()?);
        let entry = 14 + 2 * u64::from(file.offsets);
        let bytes = file.checked(address, 8 + u64::from(count) * entry, "table of shared messages")?;
        let mut at = MetadataCursor::new(&bytes, "table of shared messages");
        at.expect(b"SMTB")?;
        let mut indexes = Vec::new();
        for _ in 0..count {
            at.version(0)?;
            at.skip(1)?;
            let kinds = at.u16()?.into();
            at.skip(10)?;
            at.address(file.offsets)?;
            indexes.push((kinds, at.address(file.offsets)?));
        }
        Ok(Self { indexes, kept: Mutex::default() })
    }
}

/// The place of a shared message.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SharedLocation {
    /// A message of the object at an address.
    Object(u64),
    /// An object in the heap of its message type.
    Heap([u8; 8]),
}

/// Parses the place of a shared message.
///
/// # Errors
/// `NC_EHDFERR` if it is damaged.
pub(crate) fn place(file: &HdfFile, bytes: &[u8]) -> Result<SharedLocation> {
    let mut at = MetadataCursor::new(bytes, "shared message");
    let (version, ty) = (at.version(3)?, at.u8()?);
    match (version, ty) {
        (1, _) => at.skip(6)?,
        (3, 1) => {
            let mut id = [0; 8];
            id.copy_from_slice(at.bytes(8)?);
            return Ok(SharedLocation::Heap(id));
        }
        (3, 0 | 3..) => return Err(damaged(format!("shared message: unknown type {ty}"))),
        _ => {}
    }
    Ok(SharedLocation::Object(at.address(file.offsets)?))
}

/// Returns the bytes of a message, shared or not.
///
/// # Errors
/// `NC_EHDFERR` if a shared message is not at its place.
pub(crate) fn resolve<'h>(file: &HdfFile, kind: u16, message: HeaderMessage<'h>) -> Result<Cow<'h, [u8]>> {
    if !message.shared {
        return Ok(Cow::Borrowed(message.bytes));
    }
    match place(file, message.bytes)? {
        SharedLocation::Heap(id) => object(file, kind, &id).map(|bytes| Cow::Owned(bytes.to_vec())),
        SharedLocation::Object(address) => {
            let owner = ObjectHeader::read(file, address)?;
            let own = owner.find(kind).filter(|message| !message.shared);
            let own = own.ok_or_else(|| {
                damaged(format!(
                    "shared message: the object at address {address} has no own message of type {kind}"
                ))
            })?;
            Ok(Cow::Owned(own.bytes.to_vec()))
        }
    }
}

/// Reads a message from the heap of its type.
///
/// # Errors
/// `NC_EHDFERR` if it is not there, or if more is read than a file of this size can have.
pub(crate) fn object(file: &HdfFile, kind: u16, id: &[u8]) -> Result<Arc<[u8]>> {
    // The table lists old fill values as new ones.
    let listed = if kind == message_type::OLD_FILL { message_type::FILL } else { kind };
    let heap = file.shared.indexes.iter().find(|(kinds, _)| kinds >> listed & 1 == 1);
    let &(_, address) = heap.ok_or_else(|| {
        damaged(format!("shared message: the table of shared messages has no index for type {kind}"))
    })?;
    let id: [u8; 8] = id.try_into().map_err(|_| damaged("shared message: the id is too short"))?;
    let mut kept = file.shared.kept.lock().unwrap_or_else(PoisonError::into_inner);
    let CachedMessages { heaps, messages, taken, given } = &mut *kept;
    let found = match messages.get(&(address, id)) {
        Some(found) => Arc::clone(found),
        None => {
            let heap = match heaps.entry(address) {
                Entry::Occupied(heap) => heap.into_mut(),
                Entry::Vacant(place) => place.insert(FractalHeap::read(file, address)?),
            };
            let found: Arc<[u8]> = heap.object(file, &id)?.into();
            let more = taken.saturating_add(found.len() as u64 + EACH);
            if more <= file.len {
                *taken = more;
                messages.insert((address, id), Arc::clone(&found));
            }
            found
        }
    };
    *given = given.saturating_add(found.len() as u64);
    if *given <= file.len.saturating_mul(TIMES).saturating_add(SPARE) {
        Ok(found)
    } else {
        Err(damaged(format!("shared messages: more than a file of this size can have (found {given} bytes)")))
    }
}

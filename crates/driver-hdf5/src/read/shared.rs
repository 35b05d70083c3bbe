//! Messages that several objects share: that of another object, or one in the file's table of shared messages.
//!
//! The table has an index for some kinds of messages each, with a fractal heap; a message says where in the heap of its kind it is.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use nczarr_model::Result;

use super::cursor::{Cursor, bad};
use super::file::{Hdf, TIMES};
use super::fractal_heap::FractalHeap;
use super::header::{Found, Header, kind};

/// Bytes of shared messages that may be handed out beyond [`TIMES`] those of the file: one message may belong to all objects,
/// but whoever asks makes something of it each time.
const SPARE: u64 = 64 << 20;

/// What a message that is kept takes beside its bytes.
const EACH: u64 = 64;

/// The table of shared messages.
#[derive(Debug, Default)]
pub(crate) struct SharedTable {
    /// The kinds of messages in it, a bit each, and the heap they are in.
    pub(super) indexes: Vec<(u32, u64)>,
    kept: Mutex<Kept>,
}

/// What was read of the heaps: each is read once, however often a message is asked for.
#[derive(Debug, Default)]
struct Kept {
    /// The heaps, by their addresses.
    heaps: HashMap<u64, FractalHeap>,
    /// Messages, by their heap and their id in it.
    messages: HashMap<(u64, [u8; 8]), Arc<[u8]>>,
    /// Bytes they take. Sound ones lie beside one another, so that there are no more than the file has.
    taken: u64,
    /// Bytes that were handed out.
    given: u64,
}

impl SharedTable {
    /// Reads the table of a file whose superblock has an extension there.
    ///
    /// # Errors
    /// `NC_EHDFERR` if it is damaged.
    pub(crate) fn read(file: &Hdf, extension: u64) -> Result<Self> {
        let header = Header::read(file, extension).map_err(|error| error.at("extension of the superblock"))?;
        let Some(message) = header.find(kind::SHARED_TABLE) else { return Ok(Self::default()) };
        let mut at = Cursor::new(message.bytes, "table of shared messages");
        at.version(0)?;
        let (address, count) = (at.address(file.offsets)?, at.u8()?);
        let entry = 14 + 2 * u64::from(file.offsets);
        let bytes = file.checked(address, 8 + u64::from(count) * entry, "table of shared messages")?;
        let mut at = Cursor::new(&bytes, "table of shared messages");
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

/// Where a shared message is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    /// It is another object's own one.
    Object(u64),
    /// In the heap of its kind.
    Heap([u8; 8]),
}

/// Reads where a shared message is.
///
/// # Errors
/// `NC_EHDFERR` if that makes no sense.
pub(crate) fn place(file: &Hdf, bytes: &[u8]) -> Result<Place> {
    let mut at = Cursor::new(bytes, "shared message");
    let (version, ty) = (at.version(3)?, at.u8()?);
    match (version, ty) {
        (1, _) => at.skip(6)?,
        (3, 1) => {
            let mut id = [0; 8];
            id.copy_from_slice(at.bytes(8)?);
            return Ok(Place::Heap(id));
        }
        (3, 0 | 3..) => return Err(bad(format!("a shared message of type {ty}"))),
        _ => {}
    }
    Ok(Place::Object(at.address(file.offsets)?))
}

/// The bytes of a message of a kind, wherever they are.
///
/// # Errors
/// `NC_EHDFERR` if they are not where they are said to be.
pub(crate) fn resolve<'h>(file: &Hdf, kind: u16, message: Found<'h>) -> Result<Cow<'h, [u8]>> {
    if !message.shared {
        return Ok(Cow::Borrowed(message.bytes));
    }
    match place(file, message.bytes)? {
        Place::Heap(id) => object(file, kind, &id).map(|bytes| Cow::Owned(bytes.to_vec())),
        Place::Object(address) => {
            let owner = Header::read(file, address)?;
            let own = owner.find(kind).filter(|message| !message.shared);
            let own = own.ok_or_else(|| bad(format!("no message of type {kind} of its own at address {address}")))?;
            Ok(Cow::Owned(own.bytes.to_vec()))
        }
    }
}

/// A message in the heap of its kind.
///
/// # Errors
/// `NC_EHDFERR` if it is not there, or more are asked for than a file of this size can have.
pub(crate) fn object(file: &Hdf, kind: u16, id: &[u8]) -> Result<Arc<[u8]>> {
    // Fill values of both kinds are in the table as those of the newer one.
    let listed = if kind == kind::OLD_FILL { kind::FILL } else { kind };
    let heap = file.shared.indexes.iter().find(|(kinds, _)| kinds >> listed & 1 == 1);
    let &(_, address) = heap.ok_or_else(|| {
        bad(format!("a message of type {kind} is in the table of shared messages, where there are none of that type"))
    })?;
    let id: [u8; 8] = id.try_into().map_err(|_| bad("an id of a shared message that is cut short"))?;
    let mut kept = file.shared.kept.lock().unwrap_or_else(PoisonError::into_inner);
    let Kept { heaps, messages, taken, given } = &mut *kept;
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
    match *given <= file.len.saturating_mul(TIMES).saturating_add(SPARE) {
        true => Ok(found),
        false => Err(bad(format!("{given} bytes of shared messages, more than a file of this size can have"))),
    }
}

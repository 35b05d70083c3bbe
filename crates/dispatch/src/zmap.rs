//! The storage seam: [`ZMap`], one dataset's key → bytes store, and the batches it is driven by.
//!
//! A map stores objects and knows nothing of Zarr, chunks or JSON. Batches are *pulled*: the map takes
//! tickets from a job and reports each one back, from as many threads as it likes, so a thread pool and an
//! asynchronous client can both drive a transfer, and memory is bounded by what is in flight.

use std::fmt;
use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};

use crate::batch;
use crate::{Key, OutBuf, Version};

/// What a map can do. All capabilities are positive; a method behind an absent one is `NC_EPERM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MapCaps {
    /// Objects can be written.
    pub write: bool,
    /// Existing objects can be replaced.
    pub overwrite: bool,
    /// Objects can be deleted.
    pub delete: bool,
    /// Keys can be found by [`ZMap::search`] and [`ZMap::list`].
    pub list: bool,
    /// A range of an object can be read at a cost that does not grow with the object.
    pub range_read: bool,
    /// [`ZMap::read_versioned`] and [`ZMap::write_if`] work: no update is lost between processes.
    pub conditional_write: bool,
    /// [`ReadTicket::versioned`] is answered for parts of objects too, at a cost that does not grow with the object, by
    /// versions that tell whether two parts are of one state ([`Version::same`]); also where nothing can be written.
    pub versioned_parts: bool,
    /// Each operation is a request over a network.
    pub remote: bool,
}

/// A part of an object, in bytes from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    /// First byte.
    pub offset: u64,
    /// At most this many bytes; `None` up to the end.
    pub len: Option<u64>,
}

impl ByteRange {
    /// The whole object.
    pub const ALL: Self = Self { offset: 0, len: None };

    /// The first `len` bytes.
    pub const fn first(len: u64) -> Self {
        Self { offset: 0, len: Some(len) }
    }

    /// `len` bytes from `offset` on.
    pub const fn new(offset: u64, len: u64) -> Self {
        Self { offset, len: Some(len) }
    }
}

/// What a conditional write expects to find.
#[derive(Debug, Clone, Copy)]
pub enum Expect<'a> {
    /// No object.
    Absent,
    /// The object as it was when this version was read.
    Is(&'a Version),
}

/// What became of a write.
#[derive(Debug, Clone)]
pub enum Written {
    /// Done; the version of what now stands there, if the map tells.
    Done(Option<Version>),
    /// Not done: the object is not as expected.
    Lost,
}

/// Which parts of an object a ticket wants.
///
/// Of `All`, `One` and `Last` what lies beyond the end of the object is left out. Of `Every` and `List` each range
/// must be there as a whole: one that is not is an error (`NC_EIO`), since what follows would stand in the wrong place.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Ranges {
    /// All of it.
    All,
    /// One range.
    One(ByteRange),
    /// The last bytes.
    Last(u64),
    /// `count` ranges of the length of `first`, `step` bytes apart; delivered one after another.
    Every {
        /// The first range; its `len` is set.
        first: ByteRange,
        /// Bytes from the start of one range to the start of the next.
        step: u64,
        /// How many ranges.
        count: u32,
    },
    /// These ranges, delivered one after another; each has its `len` set.
    List(Arc<[ByteRange]>),
}

/// One object to read.
#[derive(Debug)]
pub struct ReadTicket<'j> {
    /// Which piece of the job this is.
    pub index: usize,
    /// The parts wanted.
    pub ranges: Ranges,
    /// How many bytes are expected; a guess that sizes the first read.
    pub hint: usize,
    /// More bytes than this are an error ([`ReadTicket::check_len`]), not an allocation: a map reads at most one more.
    pub limit: usize,
    /// Whether [`ReadJob::done`] wants the object's version.
    pub versioned: bool,
    /// Where the bytes may go straight away, for [`Ranges::All`] and [`Ranges::One`]; the map may ignore it. With a version
    /// it is that of the bytes, as ever.
    ///
    /// A map that reports [`Found::InPlace`] says: `into` holds all that was asked for. So it has seen that the object
    /// (or the part up to its end, when `One` has no length) does not go on beyond the capacity, for instance by
    /// reading one more byte into a place of its own; if it does go on, that is an error (`NC_EIO`), as beyond
    /// `limit`. An object that is shorter fills less; the job compares with what was declared. `One` with a length
    /// other than the capacity is not read in place.
    pub into: Option<OutBuf<'j>>,
}

/// The bytes of an object.
#[derive(Debug)]
pub enum Found<'v> {
    /// They are in the ticket's `into`.
    InPlace,
    /// Here they are, for the time of the call.
    Bytes(&'v [u8]),
}

/// A batch of reads, pulled by the map.
pub trait ReadJob: Sync {
    /// How many threads the work is worth. 1: stay on the calling thread.
    fn threads(&self) -> usize;

    /// The next ticket and, in `key`, its object. `None`: no more, or cancelled. Each ticket is handed out once.
    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>>;

    /// How many tickets there are still at most, if that is known. A map may ignore it.
    fn left(&self) -> Option<usize> {
        None
    }

    /// What would rather have the object of a ticket piece by piece than all at once. A map may ignore it.
    ///
    /// For tickets that want all of an object, without a version, and that were lent no memory. A map that uses it asks once
    /// there is something to read, hands over pieces until none is wanted or the object ended, all of them of one
    /// state of the object, and reports [`Found::InPlace`]; or the error that taking a piece was.
    fn sink<'j>(&'j self, _ticket: &ReadTicket<'_>) -> Option<Box<dyn Sink + 'j>> {
        None
    }

    /// Takes a ticket back with what was found; `Ok(None)`: no such object.
    ///
    /// Called once per ticket, from any thread, in any order.
    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(Found<'_>, Option<Version>)>>);
}

/// Takes an object from its start to its end, each piece while it is still near the processor.
pub trait Sink {
    /// How many bytes the next piece is to have; 0: no more are wanted.
    fn wants(&self) -> usize;

    /// Takes the next piece: as many bytes as were wanted, or fewer, where the object ends.
    ///
    /// # Errors
    /// What is wrong with the object.
    fn take(&mut self, piece: &[u8]) -> Result<()>;
}

/// One object to write.
#[derive(Debug)]
pub struct WriteTicket {
    /// Which piece of the job this is.
    pub index: usize,
    /// Write only if the object is in this state; `None`: replace whatever is there.
    pub expect: Option<ExpectOwned>,
}

/// As [`Expect`], kept in a ticket.
#[derive(Debug, Clone)]
pub enum ExpectOwned {
    /// No object.
    Absent,
    /// The object as it was when this version was read.
    Is(Version),
}

impl ExpectOwned {
    /// The borrowed form.
    pub fn as_expect(&self) -> Expect<'_> {
        match self {
            Self::Absent => Expect::Absent,
            Self::Is(version) => Expect::Is(version),
        }
    }
}

/// Where the bytes of a write are.
#[derive(Debug)]
pub enum Payload<'s> {
    /// In the scratch the map handed in.
    Scratch,
    /// In the caller's memory: nothing was copied.
    Caller(&'s [u8]),
}

/// A batch of writes, pulled by the map: encoding overlaps storing.
pub trait WriteJob: Sync {
    /// How many threads the work is worth. 1: stay on the calling thread.
    fn threads(&self) -> usize;

    /// The next ticket and, in `key`, its object. Each ticket is handed out once.
    fn next(&self, key: &mut Key) -> Option<WriteTicket>;

    /// Makes the bytes of piece `index`, in `scratch` (whose contents are replaced) or elsewhere.
    ///
    /// # Errors
    /// The map reports them through [`WriteJob::done`] and goes on.
    fn value(&self, index: usize, scratch: &mut Vec<u8>) -> Result<Payload<'_>>;

    /// Whether the bytes of each piece can be had in parts too, by [`WriteJob::parts`].
    fn has_parts(&self) -> bool {
        false
    }

    /// As [`WriteJob::value`], in parts: `put` is called with one after another, and the whole is never in memory.
    ///
    /// For maps that store an object as it comes and show it once it is complete. May be called again for the same piece,
    /// if the map has to begin anew.
    ///
    /// # Errors
    /// Those of `put`, and of making the parts; then the object is not to be stored.
    fn parts(&self, _index: usize, _put: &mut PutPart<'_>) -> Result<()> {
        Err(ErrorKind::Internal.context("the job has no parts"))
    }

    /// Takes a ticket back with what became of it.
    fn done(&self, ticket: WriteTicket, outcome: Result<Written>);
}

/// Takes the next part of an object.
pub type PutPart<'p> = dyn FnMut(&[u8]) -> Result<()> + Send + 'p;

/// One dataset's key → bytes store.
///
/// Guarantees of every implementation:
/// * a write replaces the whole object or leaves the old one: no reader ever sees a part of it;
/// * only the storage's own "no such key" is absence (`Ok(None)`, `Ok(false)`); every other failure is an error
///   that names the key;
/// * an object's key is never a prefix of another object's key, and a key that is only a prefix holds no object (where
///   each operation is a request, [`MapCaps::remote`], a map does not ask for this alone: there a key that is only a
///   prefix is one without an object, and to keep keys apart is the caller's part);
/// * nothing outside the dataset is ever touched.
pub trait ZMap: Send + Sync + fmt::Debug {
    /// What this map can do.
    fn caps(&self) -> MapCaps;

    /// Length in bytes of the object at `key`, or `None` if there is none.
    ///
    /// # Errors
    /// `NC_EEMPTY` if `key` is only a prefix of objects; otherwise what the storage says.
    fn len(&self, key: &Key) -> Result<Option<u64>>;

    /// Replaces `out` by the requested bytes; `false` if there is no object. Bytes beyond the end are left out.
    ///
    /// # Errors
    /// As [`ZMap::len`].
    fn read(&self, key: &Key, range: ByteRange, out: &mut Vec<u8>) -> Result<bool>;

    /// The next segments below `prefix` that lead to an object, sorted bytewise, each once.
    ///
    /// # Errors
    /// What the storage says; a prefix without objects is an empty list, not an error.
    fn search(&self, prefix: &Key) -> Result<Vec<String>>;

    /// The next segments below `prefix` that may lead to an object, sorted bytewise, each once.
    ///
    /// All that [`ZMap::search`] finds, and perhaps more: a name is not looked behind, which in a directory costs an
    /// open and a list each. For callers that ask for what they want below each name anyway.
    ///
    /// # Errors
    /// As [`ZMap::search`].
    fn names(&self, prefix: &Key) -> Result<Vec<String>> {
        self.search(prefix)
    }

    /// The next segments below `prefix` that no key can have, as text to show ([`Key::shown`]), sorted, each once.
    /// One that leads further ends with a `/`.
    ///
    /// The storage holds objects there that no method reaches. A map whose storage knows keys only has none.
    ///
    /// # Errors
    /// Those of the storage.
    fn unnamable(&self, _prefix: &Key) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Replaces the object at `key`, atomically.
    ///
    /// # Errors
    /// `NC_EPERM` if the map cannot; `NC_EOBJECT` if `key` is a prefix of an object or an object's key is a prefix of it.
    fn write(&self, key: &Key, _value: &[u8]) -> Result<()> {
        Err(not_able("write", key))
    }

    /// Removes the object at `key`; `false` if there was none. Prefixes left without objects vanish.
    ///
    /// # Errors
    /// `NC_EPERM` if the map cannot.
    fn delete(&self, key: &Key) -> Result<bool> {
        Err(not_able("delete", key))
    }

    /// Makes everything written so far durable, as far as the open options ask for it.
    ///
    /// # Errors
    /// Those of the storage.
    fn sync(&self) -> Result<()> {
        Ok(())
    }

    /// Flushes, then releases what the map holds: files, locks, memory and connections. Idempotent.
    ///
    /// Handles to the map may live on: nothing waits for the last of them to go. A request that comes later takes up again
    /// what it needs, or fails with `NC_EBADID`. Some things stay on purpose: objects in the memory of the process, a
    /// cache, connections that several maps share.
    ///
    /// # Errors
    /// Those of the storage.
    fn close(&self) -> Result<()> {
        self.sync()
    }

    /// Whether there is an object at `key`; a mere prefix is none.
    ///
    /// # Errors
    /// As [`ZMap::len`], without `NC_EEMPTY`.
    fn exists(&self, key: &Key) -> Result<bool> {
        match self.len(key) {
            Ok(len) => Ok(len.is_some()),
            Err(error) if error.kind() == ErrorKind::Empty => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// All keys of objects at or below `prefix`, sorted bytewise.
    ///
    /// # Errors
    /// Those of the storage.
    fn list(&self, prefix: &Key) -> Result<Vec<Key>> {
        batch::walk(self, prefix)
    }

    /// All keys of objects below `prefix`, sorted bytewise, if a single request brings them; `None` if it takes more
    /// requests than one, or if a map does not tell.
    ///
    /// For who would know everything at once where each step is a wait ([`MapCaps::remote`]). What lies at `prefix` itself
    /// is not named.
    ///
    /// # Errors
    /// Those of the storage.
    fn list_once(&self, _prefix: &Key) -> Result<Option<Vec<Key>>> {
        Ok(None)
    }

    /// The most bytes that a key may have, if there is such a limit: longer ones cannot be written.
    fn max_key(&self) -> Option<usize> {
        None
    }

    /// The most bytes that a segment of a key may have, if there is such a limit: keys with longer ones cannot be written.
    fn max_segment(&self) -> Option<usize> {
        None
    }

    /// Whether two threads that write at once store nearly twice as many small objects as one.
    ///
    /// Files of a directory, whose making the system does for several at once; not memory, where a write is a copy, nor one
    /// file for all, where they wait for each other. Asked before each of many writes, so it looks nowhere.
    fn parallel_writes(&self) -> bool {
        false
    }

    /// Moves every object at or below `from` to the same place below `to`, where nothing may be.
    ///
    /// The default copies all of them, then deletes; a map that can do better (one rename) does.
    ///
    /// # Errors
    /// `NC_EPERM` if the map cannot delete, `NC_EOBJECT` if there is something at `to` or one lies in the other,
    /// `NC_EINVAL` for the root; then nothing has changed. If nothing is at `from` nothing happens.
    fn rename(&self, from: &Key, to: &Key) -> Result<()> {
        batch::copy_then_delete(self, from, to)
    }

    /// Fills the empty `out` with bytes from `offset` on, up to its capacity; `false` if there is no object.
    ///
    /// # Errors
    /// As [`ZMap::read`].
    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        let mut bytes = Vec::new();
        let found = self.read(key, ByteRange::new(offset, out.capacity() as u64), &mut bytes)?;
        out.put(&bytes)?;
        Ok(found)
    }

    /// As [`ZMap::read`] of the first `limit` bytes, with the version of what was read; `None` if there is no object.
    ///
    /// # Errors
    /// `NC_EPERM` if the map has no conditional writes.
    fn read_versioned(&self, key: &Key, _limit: usize, _out: &mut Vec<u8>) -> Result<Option<Version>> {
        Err(not_able("read versions", key))
    }

    /// Replaces the object at `key` if it is as expected.
    ///
    /// # Errors
    /// `NC_EPERM` if the map has no conditional writes.
    fn write_if(&self, key: &Key, _value: &[u8], _expect: Expect<'_>) -> Result<Written> {
        Err(not_able("write conditionally", key))
    }

    /// Reads the object, lets `change` make a new one of it, and writes that, again and again until nobody
    /// came between. `change` gets the old bytes (or `None`) and the emptied buffer for the new ones.
    ///
    /// An object of more than `limit` bytes is an error, not an allocation: a map reads at most one more.
    ///
    /// # Errors
    /// `NC_EPERM` if the map has no conditional writes; `NC_EIO` if the object is longer than `limit`; whatever
    /// `change` answers; an error that names the key after too many lost races.
    fn update(&self, key: &Key, limit: usize, change: &mut Change<'_>) -> Result<()> {
        batch::compare_and_swap(self, key, limit, change)
    }

    /// All bytes of a map that lies in memory as one file, everything written; also once it is closed.
    ///
    /// # Errors
    /// `NC_EINMEMORY` if it does not.
    fn image(&self) -> Result<Vec<u8>> {
        Err(ErrorKind::InMemory.context("the map is not a file in memory"))
    }

    /// Runs a batch of reads.
    fn read_batch(&self, job: &dyn ReadJob) {
        batch::read_parallel(self, job);
    }

    /// Runs a batch of writes.
    fn write_batch(&self, job: &dyn WriteJob) {
        batch::write_parallel(self, job);
    }
}

/// What [`ZMap::update`] calls: old bytes in, new bytes out.
///
/// It may be called while the key is locked: it must neither use the map nor wait for the pool of threads.
pub type Change<'c> = dyn FnMut(Option<&[u8]>, &mut Vec<u8>) -> Result<()> + 'c;

fn not_able(what: &str, key: &Key) -> nczarr_model::Error {
    ErrorKind::Perm.context(format!("this map cannot {what}: key {key}"))
}

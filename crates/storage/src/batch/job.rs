//! Jobs of many reads or writes, and their tickets.

use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};

use crate::{ByteRange, Key, OutBuf, Precondition, Version, WriteOutcome};

/// The parts of an object that a ticket wants.
///
/// `All`, `One` and `Suffix` are truncated at the end of the object. Each range of `Strided` and `List` must
/// exist as a whole: otherwise the read fails (`NC_EIO`), since later ranges would be misplaced.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Ranges {
    /// All of it.
    All,
    /// One range.
    One(ByteRange),
    /// The last bytes.
    Suffix(u64),
    /// `count` ranges of the length of `first`, `step` bytes apart, concatenated.
    Strided {
        /// The first range; its `len` is set.
        first: ByteRange,
        /// Bytes from the start of one range to the start of the next.
        step: u64,
        /// The number of ranges.
        count: u32,
    },
    /// These ranges, concatenated; each has its `len` set.
    List(Arc<[ByteRange]>),
}

/// One object to read.
///
/// ```
/// use nczarr_storage::batch::{Ranges, ReadTicket};
///
/// let ticket = ReadTicket::new(7, Ranges::All, 1 << 20).hint(4096);
/// assert!(ticket.index == 7 && !ticket.versioned && ticket.into.is_none());
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct ReadTicket<'j> {
    /// The number of this ticket in its job.
    pub index: usize,
    /// The parts wanted.
    pub ranges: Ranges,
    /// The expected number of bytes; a hint for the size of the first read.
    pub hint: usize,
    /// The largest allowed size. A longer object is an error ([`ReadTicket::check_len`]), not an allocation:
    /// a map reads at most one byte more.
    pub limit: usize,
    /// Whether [`ReadJob::done`] needs the object's version.
    pub versioned: bool,
    /// Memory for the bytes, for [`Ranges::All`] and [`Ranges::One`]. The map may ignore it.
    ///
    /// A map that reports [`ReadOutcome::InPlace`] has filled `into` with all wanted bytes. It has checked
    /// that the object, or an open-ended range, does not exceed the capacity, for example by reading one more
    /// byte. A longer object is an error (`NC_EIO`). A shorter object fills less, and the job compares the
    /// length. A `One` whose length differs from the capacity is not read in place.
    pub into: Option<OutBuf<'j>>,
}

impl<'j> ReadTicket<'j> {
    /// Requests parts of an object, at most `limit` bytes, without its version.
    pub fn new(index: usize, ranges: Ranges, limit: usize) -> Self {
        Self { index, ranges, hint: 0, limit, versioned: false, into: None }
    }

    nczarr_runtime::setters! {
        hint: usize,
        versioned: bool,
        into: Option<OutBuf<'j>>,
    }
}

/// The location of an object's bytes.
#[derive(Debug)]
pub enum ReadOutcome<'v> {
    /// In the ticket's `into`.
    InPlace,
    /// Here, for the duration of the call.
    Bytes(&'v [u8]),
}

/// A batch of reads. The map pulls its tickets.
pub trait ReadJob: Sync {
    /// Returns the useful number of threads. 1: stay on the calling thread.
    fn threads(&self) -> usize;

    /// Returns the next ticket and sets `key` to its object. `None`: done or cancelled. Each ticket is
    /// returned once.
    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>>;

    /// Returns an upper bound of the remaining tickets, if it is known. A map may ignore it.
    fn remaining(&self) -> Option<usize> {
        None
    }

    /// Returns a sink for a ticket that prefers its object part by part. A map may ignore the sink.
    ///
    /// Only tickets for whole objects, without a version and without memory, have a sink. A map calls this
    /// method when bytes are available. It then passes parts until the sink wants none or the object ends.
    /// All parts are of one state of the object. Then it reports [`ReadOutcome::InPlace`], or the sink's
    /// error.
    fn sink<'j>(&'j self, _ticket: &ReadTicket<'_>) -> Option<Box<dyn ObjectSink + 'j>> {
        None
    }

    /// Completes a ticket. `Ok(None)`: no such object.
    ///
    /// Called once per ticket, from any thread, in any order.
    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>);
}

/// Receives an object part by part from its start, while each part is in the processor's cache.
pub trait ObjectSink {
    /// Returns the size of the next part; 0: no more is wanted.
    fn wants(&self) -> usize;

    /// Takes the next part: the wanted size, or less at the end of the object.
    ///
    /// # Errors
    /// An error in the object's content.
    fn take(&mut self, piece: &[u8]) -> Result<()>;
}

/// One object to write.
#[derive(Debug)]
pub struct WriteTicket {
    /// The number of this ticket in its job.
    pub index: usize,
    /// The expected state of the object.
    pub precondition: Precondition,
}

/// The location of the bytes of a write.
#[derive(Debug)]
pub enum Payload<'s> {
    /// In the scratch buffer that the map passed.
    Scratch,
    /// In the caller's memory, without a copy.
    Borrowed(&'s [u8]),
}

/// A batch of writes. The map pulls its tickets, so encoding overlaps storing.
pub trait WriteJob: Sync {
    /// Returns the useful number of threads. 1: stay on the calling thread.
    fn threads(&self) -> usize;

    /// Returns the next ticket and sets `key` to its object. Each ticket is returned once.
    fn next(&self, key: &mut Key) -> Option<WriteTicket>;

    /// Produces the bytes of ticket `index`, in `scratch` (whose content is replaced) or elsewhere.
    ///
    /// # Errors
    /// The map passes errors to [`WriteJob::done`] and continues.
    fn value(&self, index: usize, scratch: &mut Vec<u8>) -> Result<Payload<'_>>;

    /// Whether [`WriteJob::parts`] is available.
    fn has_parts(&self) -> bool {
        false
    }

    /// As [`WriteJob::value`], in parts: `put` is called for each part, and the whole is never in memory.
    ///
    /// For maps that stream an object and publish it when it is complete. It may be called again for the same
    /// ticket, if the map starts over.
    ///
    /// # Errors
    /// The errors of `put` and of encoding; the object must not be stored then.
    fn parts(&self, _index: usize, _put: &mut PutPart<'_>) -> Result<()> {
        Err(ErrorKind::Internal.context("the job has no parts"))
    }

    /// Completes a ticket with its result.
    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>);
}

/// Stores the next part of an object.
pub type PutPart<'p> = dyn FnMut(&[u8]) -> Result<()> + Send + 'p;

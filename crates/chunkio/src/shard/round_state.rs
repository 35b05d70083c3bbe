//! The state of a [`ReadRound`]: its chunks, shards and requests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nczarr_model::Result;
use nczarr_storage::batch::{CoalescedRanges, Ranges, ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::{Key, MapCaps, Version};

use super::index::ShardEntry;
use super::index_cache::CachedIndex;
use super::map::ShardMap;

/// A requested chunk.
pub(super) struct ChunkRequest<'j> {
    pub(super) ticket: Mutex<Option<ReadTicket<'j>>>,
    pub(super) shard: usize,
    pub(super) number: usize,
    /// The offset of its wanted bytes in the shard.
    pub(super) from: u64,
    pub(super) len: u64,
    /// The position of the chunk, for errors.
    pub(super) entry: ShardEntry,
}

/// A shard with requested chunks.
pub(super) struct RequestedShard {
    pub(super) key: Key,
    pub(super) items: Vec<usize>,
    /// The number of unanswered chunks.
    pub(super) left: AtomicUsize,
    pub(super) state: Mutex<IndexState>,
}

#[derive(Clone)]
pub(super) enum IndexState {
    /// The index is unknown.
    New,
    /// The index, and the version of the shard if it was read in this round.
    Known(Arc<CachedIndex>, Option<Version>),
}

/// One request.
pub(super) struct ShardRequest {
    pub(super) shard: usize,
    pub(super) what: RequestKind,
}

pub(super) enum RequestKind {
    Index,
    Whole,
    /// The items by offset, and the joined ranges that contain them.
    Parts(Vec<usize>, CoalescedRanges),
    /// One item, read into its ticket's memory.
    Place(usize),
}

/// The chunks and shards of one round.
pub(super) struct ReadRound<'r, 'j> {
    pub(super) map: &'r ShardMap,
    pub(super) job: &'j dyn ReadJob,
    pub(super) caps: MapCaps,
    /// Whether this is the first attempt, which may use cached indexes and lent memory.
    pub(super) fresh: bool,
    pub(super) items: Vec<ChunkRequest<'j>>,
    pub(super) shards: Vec<RequestedShard>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'j> ReadRound<'_, 'j> {
    /// Takes a ticket to answer it, unless it is answered.
    pub(super) fn take(&self, number: usize) -> Option<ReadTicket<'j>> {
        let item = &self.items[number];
        let ticket = lock(&item.ticket).take()?;
        self.shards[item.shard].left.fetch_sub(1, Ordering::AcqRel);
        Some(ticket)
    }

    /// Completes a ticket.
    pub(super) fn finish(&self, number: usize, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        self.finish_with(number, || found);
    }

    pub(super) fn finish_with<'f>(
        &self,
        number: usize,
        found: impl FnOnce() -> Result<Option<(ReadOutcome<'f>, Option<Version>)>>,
    ) {
        if let Some(ticket) = self.take(number) {
            self.job.done(ticket, found());
        }
    }

    /// Completes a ticket with bytes of its chunk: the wanted ones, or all if `whole`.
    pub(super) fn deliver(&self, number: usize, chunk: &[u8], whole: bool, version: Option<&Version>) {
        let Some(ticket) = self.take(number) else { return };
        let version = version.filter(|_| ticket.versioned).cloned();
        if !whole && !is_several(&ticket.ranges) {
            return self.job.done(ticket, Ok(Some((ReadOutcome::Bytes(chunk), version))));
        }
        match ticket.ranges.cut(&self.shards[self.items[number].shard].key, chunk, ticket.limit) {
            Ok(bytes) => self.job.done(ticket, Ok(Some((ReadOutcome::Bytes(&bytes), version)))),
            Err(error) => self.job.done(ticket, Err(error)),
        }
    }
}

/// Whether a ticket wants several ranges.
pub(super) fn is_several(ranges: &Ranges) -> bool {
    matches!(ranges, Ranges::Strided { .. } | Ranges::List(_))
}

//! [`ShardRequests`]: the requests of a [`ReadRound`] as a batch, and the handling of their results.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::{OutBuf, run_on_pool};
use nczarr_storage::batch::{CoalescedRanges, Ranges, ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::{ByteRange, Key, Version};

use super::index::beyond;
use super::index_cache::CachedIndex;
use super::round_state::{IndexState, ReadRound, RequestKind, RequestedShard, ShardRequest, lock};

/// The assumed size of a whole shard.
const HINT: usize = 1 << 20;

/// The number of chunks of one shard that justifies another thread.
const WORTH: usize = 8;

/// The result of a request.
type Answer<'f> = Result<Option<(ReadOutcome<'f>, Option<Version>)>>;

/// A batch of requests.
pub(super) struct ShardRequests<'b, 'r, 'j> {
    round: &'b ReadRound<'r, 'j>,
    list: Vec<ShardRequest>,
    next: AtomicUsize,
}

/// Copies an error for each chunk that it concerns.
fn again(error: &Error) -> Error {
    error.clone()
}

fn not_lent() -> Error {
    ErrorKind::Internal.context("the map filled memory it was not lent")
}

impl<'b, 'r, 'j> ShardRequests<'b, 'r, 'j> {
    pub(super) fn new(round: &'b ReadRound<'r, 'j>, list: Vec<ShardRequest>) -> Self {
        Self { round, list, next: AtomicUsize::new(0) }
    }
}

impl ReadJob for ShardRequests<'_, '_, '_> {
    fn threads(&self) -> usize {
        self.round.job.threads().min(self.list.len())
    }

    fn next<'n>(&'n self, key: &mut Key) -> Option<ReadTicket<'n>> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let request = self.list.get(index)?;
        let (round, level) = (self.round, &self.round.map.level);
        key.set(&round.shards[request.shard].key);
        let versioned = round.caps.versioned_parts;
        let ticket = |ranges, bytes| ReadTicket::new(index, ranges, bytes).hint(bytes).versioned(versioned);
        Some(match &request.what {
            RequestKind::Index if level.at_start => {
                ticket(Ranges::One(ByteRange::first(level.index_bytes as u64)), level.index_bytes)
            }
            RequestKind::Index => ticket(Ranges::Suffix(level.index_bytes as u64), level.index_bytes),
            RequestKind::Whole => {
                ReadTicket::new(index, Ranges::All, level.limit).hint(HINT).versioned(versioned)
            }
            RequestKind::Parts(_, stretches) => {
                let bytes = usize::try_from(stretches.bytes()).unwrap_or(usize::MAX);
                let range = |&(from, to): &(u64, u64)| ByteRange::new(from, to - from);
                match stretches.as_slice() {
                    [one] => ticket(Ranges::One(range(one)), bytes),
                    list => ticket(Ranges::List(list.iter().map(range).collect()), bytes),
                }
            }
            RequestKind::Place(number) => {
                let item = &round.items[*number];
                let into = lock(&item.ticket).as_mut().and_then(|ticket| ticket.into.take());
                // The length equals the capacity of the memory.
                let range = ByteRange::new(item.from, item.len);
                ticket(Ranges::One(range), item.len as usize).into(into)
            }
        })
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Answer<'_>) {
        let Some(request) = self.list.get(ticket.index) else { return };
        let shard = &self.round.shards[request.shard];
        match &request.what {
            RequestKind::Place(number) => self.placed(shard, *number, ticket.into, found),
            RequestKind::Parts(items, stretches) => self.parts(shard, items, stretches, found),
            RequestKind::Index => self.index(shard, found),
            RequestKind::Whole => self.whole(shard, found),
        }
    }
}

/// Whether bytes belong to the same version as the index.
#[derive(PartialEq, Eq)]
enum VersionMatch {
    Same,
    /// The index must be read again.
    Other,
}

impl ShardRequests<'_, '_, '_> {
    fn index(&self, shard: &RequestedShard, found: Answer<'_>) {
        let round = self.round;
        let (bytes, version) = match found {
            Ok(Some((ReadOutcome::Bytes(bytes), version))) => (bytes, version),
            other => return self.for_all(shard, other),
        };
        match round.map.level.parse(bytes) {
            Ok(index) => {
                let known = Arc::new(CachedIndex { index, stamp: version.as_ref().map(Version::stamp) });
                round.map.indexes.keep(shard.key.as_str(), &known);
                *lock(&shard.state) = IndexState::Known(known, version);
            }
            Err(error) => self.for_all(shard, Err(error)),
        }
    }

    /// Extracts all chunks from a whole shard.
    fn whole(&self, shard: &RequestedShard, found: Answer<'_>) {
        let (round, level) = (self.round, &self.round.map.level);
        let (stored, version) = match found {
            Ok(Some((ReadOutcome::Bytes(bytes), version))) => (bytes, version),
            other => return self.for_all(shard, other),
        };
        let cut = level.unwrap(stored, |bytes| {
            let index = level.index_of(bytes)?;
            let next = AtomicUsize::new(0);
            // Idle threads help: shards are few, and the last ones often arrive together.
            run_on_pool(round.job.threads().min(shard.items.len() / WORTH), &|| {
                while let Some(&number) = shard.items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match index.cut(round.items[number].number, bytes) {
                        Ok(Some(chunk)) => round.deliver(number, chunk, true, version.as_ref()),
                        Ok(None) => round.finish(number, Ok(None)),
                        Err(error) => round.finish(number, Err(error)),
                    }
                }
            });
            Ok(())
        });
        if let Err(error) = cut {
            self.for_all(shard, Err(error));
        }
    }

    /// Completes all chunks of a shard with the same result.
    fn for_all(&self, shard: &RequestedShard, found: Answer<'_>) {
        let error = match found {
            Ok(None) => None,
            Ok(Some(_)) => Some(not_lent()),
            Err(error) => Some(error),
        };
        for &number in &shard.items {
            self.round.finish_with(number, || error.as_ref().map_or(Ok(None), |error| Err(again(error))));
        }
    }

    /// Compares the version of a result with that of the index. An old index may also cause a storage error.
    fn age(&self, shard: &RequestedShard, found: &Answer<'_>) -> VersionMatch {
        let IndexState::Known(known, read) = lock(&shard.state).clone() else { return VersionMatch::Other };
        let same = match (found, &known.stamp) {
            (Ok(Some(_)), None) => true,
            (Ok(Some((_, Some(version)))), Some(stamp)) => {
                read.as_ref().map_or_else(|| stamp.is(version), |read| read.same(version))
            }
            (Ok(_), _) => false,
            (Err(_), stamp) => read.is_some() || stamp.is_none(),
        };
        if same { VersionMatch::Same } else { VersionMatch::Other }
    }

    /// Delivers the bytes of chunks.
    fn parts(&self, shard: &RequestedShard, items: &[usize], stretches: &CoalescedRanges, found: Answer<'_>) {
        let round = self.round;
        if self.age(shard, &found) == VersionMatch::Other {
            return;
        }
        let (bytes, version) = match found {
            Ok(Some((ReadOutcome::Bytes(bytes), version))) => (bytes, version),
            Ok(_) => return items.iter().for_each(|&number| round.finish_with(number, || Err(not_lent()))),
            Err(error) => {
                return items.iter().for_each(|&number| round.finish_with(number, || Err(again(&error))));
            }
        };
        let (mut stretches, mut before) = (stretches.as_slice().iter().peekable(), 0);
        for &number in items {
            let item = &round.items[number];
            // Items and ranges are sorted, and each item is inside one range.
            while let Some((from, to)) = stretches.next_if(|(_, to)| *to < item.from + item.len) {
                before += to - from;
            }
            // The offset is within memory.
            let start = stretches.peek().map(|(from, _)| before.saturating_add(item.from - from) as usize);
            match start.and_then(|start| bytes.get(start..start.checked_add(item.len as usize)?)) {
                Some(chunk) => round.deliver(number, chunk, false, version.as_ref()),
                None => {
                    let first = stretches.peek().map_or(0, |(from, _)| *from);
                    let end = first.saturating_add(bytes.len() as u64).saturating_sub(before);
                    round.finish(number, Err(beyond(item.number, item.entry, end)));
                }
            }
        }
    }

    /// Completes a chunk that was read into the ticket's memory, or should have been.
    fn placed(&self, shard: &RequestedShard, number: usize, into: Option<OutBuf<'_>>, found: Answer<'_>) {
        let (round, item) = (self.round, &self.round.items[number]);
        let age = self.age(shard, &found);
        let Some(ticket) = round.take(number) else { return };
        let mut ticket = ticket.into(into);
        if age == VersionMatch::Other {
            // The ticket's memory is bound to this call, so the retry runs here.
            let mut round = ReadRound::again(round.map, round.job);
            round.add(shard.key.as_str(), item.number, ticket);
            return round.run();
        }
        let filled = match &found {
            Ok(Some((ReadOutcome::Bytes(bytes), _))) => bytes.len(),
            Ok(Some((ReadOutcome::InPlace, _))) => ticket.into.as_ref().map_or(0, |into| into.filled().len()),
            _ => 0,
        };
        let found = match found {
            Ok(Some((_, _))) if filled as u64 != item.len => {
                Err(beyond(item.number, item.entry, item.from + filled as u64))
            }
            Ok(Some((found, version))) => Ok(Some((found, version.filter(|_| ticket.versioned)))),
            other => other,
        };
        if found.is_err()
            && let Some(into) = &mut ticket.into
        {
            into.clear();
        }
        round.job.done(ticket, found);
    }
}

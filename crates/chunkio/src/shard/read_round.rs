//! [`ReadRound`]: answers tickets for chunks in shards by few requests for parts of shards.
//!
//! First unknown indexes are read, then data, with near ranges in one request. Versions are compared if the
//! storage has them: data of another version than the index are never used. Then the index is read again, and
//! finally the whole shard, which is of one version. [`super::answers`] handles the results.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::batch::{Ranges, ReadJob, ReadTicket};
use nczarr_storage::{ByteRange, Key, ZMap};

use super::answers::ShardRequests;
use super::group_requests::{RequestGroup, RequestReach, WantedBytes, group_requests};
use super::index::ShardEntry;
use super::index_cache::CachedIndex;
use super::map::ShardMap;
use super::prefetch::IndexPrefetch;
use super::round_state::{
    ChunkRequest, IndexState, ReadRound, RequestKind, RequestedShard, ShardRequest, is_several, lock,
};

/// The number of attempts with an outdated index.
const TRIES: usize = 3;

impl<'r, 'j> ReadRound<'r, 'j> {
    pub(super) fn new(map: &'r ShardMap, job: &'j dyn ReadJob) -> Self {
        Self { map, job, caps: map.caps(), fresh: true, items: Vec::new(), shards: Vec::new() }
    }

    /// Creates a round for tickets whose first result had another version than the index.
    pub(super) fn again(map: &'r ShardMap, job: &'j dyn ReadJob) -> Self {
        Self { fresh: false, ..Self::new(map, job) }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Adds a ticket for a chunk. Tickets of a shard should be adjacent, or its index is requested again.
    pub(super) fn add(&mut self, shard: &str, number: usize, ticket: ReadTicket<'j>) {
        if self.shards.last().is_none_or(|last| last.key.as_str() != shard) {
            match Key::new(shard) {
                Ok(key) => {
                    let state = Mutex::new(IndexState::New);
                    self.shards.push(RequestedShard {
                        key,
                        items: Vec::new(),
                        left: AtomicUsize::new(0),
                        state,
                    });
                }
                Err(error) => return self.job.done(ticket, Err(error)),
            }
        }
        let at = self.shards.len() - 1;
        self.shards[at].items.push(self.items.len());
        *self.shards[at].left.get_mut() += 1;
        let ticket = Mutex::new(Some(ticket));
        self.items.push(ChunkRequest {
            ticket,
            shard: at,
            number,
            from: 0,
            len: 0,
            entry: ShardEntry::MISSING,
        });
    }

    /// Answers all tickets.
    pub(super) fn run(mut self) {
        let whole = self.map.level.is_wrapped() || !self.caps.range_read;
        for attempt in 0..=TRIES {
            let open = |shard: &usize| self.shards[*shard].left.load(Ordering::Acquire) > 0;
            let open: Vec<usize> = (0..self.shards.len()).filter(open).collect();
            if open.is_empty() {
                return;
            }
            if whole || attempt == TRIES {
                self.ask(
                    open.into_iter().map(|shard| ShardRequest { shard, what: RequestKind::Whole }).collect(),
                );
                break;
            }
            let trust = self.fresh && attempt == 0;
            let mut requests = self.learn(open, trust);
            if trust {
                self.look_ahead(&mut requests);
            }
            self.ask(requests);
            let requests = self.plan(self.fresh && attempt == 0);
            self.ask(requests);
        }
        // The map did not return some tickets.
        for number in 0..self.items.len() {
            let lost = || ErrorKind::Internal.context("the map did not return its ticket");
            self.finish_with(number, || Err(lost()));
        }
    }

    /// Returns the requests for unknown indexes, or for whole shards. `trust`: cached indexes may be used.
    fn learn(&self, open: Vec<usize>, trust: bool) -> Vec<ShardRequest> {
        let mut requests = Vec::new();
        for shard in open {
            let about = &self.shards[shard];
            if self.wants_all(about) {
                requests.push(ShardRequest { shard, what: RequestKind::Whole });
                continue;
            }
            let known = if trust { self.map.indexes.find(about.key.as_str()) } else { None };
            // Absence is not confirmed by data: another writer may have added the chunk.
            let there = |item: &usize, known: &CachedIndex| {
                matches!(known.index.find(self.items[*item].number), Ok(Some(_)))
            };
            match known.filter(|known| about.items.iter().all(|item| there(item, known))) {
                Some(known) => *lock(&about.state) = IndexState::Known(known, None),
                None => {
                    *lock(&about.state) = IndexState::New;
                    requests.push(ShardRequest { shard, what: RequestKind::Index });
                }
            }
        }
        requests
    }

    /// Adds requests for the indexes of all other shards, if separate round trips would cost more. A read of
    /// a single chunk needs only one.
    fn look_ahead(&mut self, requests: &mut Vec<ShardRequest>) {
        let asks = requests.iter().any(|request| matches!(request.what, RequestKind::Index));
        if !self.caps.remote || self.items.len() < 2 || !asks {
            return;
        }
        for key in self.map.ahead.as_ref().map_or_else(Vec::new, IndexPrefetch::keys) {
            let known = self.map.indexes.find(key.as_str()).is_some();
            if !known && self.shards.iter().all(|shard| shard.key != key) {
                let (left, state) = (AtomicUsize::new(0), Mutex::new(IndexState::New));
                requests.push(ShardRequest { shard: self.shards.len(), what: RequestKind::Index });
                self.shards.push(RequestedShard { key, items: Vec::new(), left, state });
            }
        }
    }

    /// Whether all chunks of a shard are wanted whole, so that one network request suffices.
    fn wants_all(&self, shard: &RequestedShard) -> bool {
        let all = |item: &usize| {
            lock(&self.items[*item].ticket)
                .as_ref()
                .is_some_and(|ticket| matches!(ticket.ranges, Ranges::All))
        };
        self.caps.remote && shard.items.len() >= self.map.level.total && shard.items.iter().all(all)
    }

    /// Looks up all chunks in the known indexes, answers absent ones and groups the others.
    fn plan(&mut self, lend: bool) -> Vec<ShardRequest> {
        let (mut lists, mut sum) = (Vec::new(), 0u64);
        for shard in 0..self.shards.len() {
            let IndexState::Known(known, _) = lock(&self.shards[shard].state).clone() else { continue };
            let mut list = Vec::with_capacity(self.shards[shard].items.len());
            for at in 0..self.shards[shard].items.len() {
                let number = self.shards[shard].items[at];
                match self.locate(number, &known) {
                    Ok(Some(wanted)) => {
                        sum = sum.saturating_add(wanted.to - wanted.from);
                        list.push(WantedBytes { has_place: wanted.has_place && lend, ..wanted });
                    }
                    Ok(None) => self.finish(number, Ok(None)),
                    Err(error) => self.finish(number, Err(error)),
                }
            }
            if !list.is_empty() {
                lists.push((shard, list));
            }
        }
        let reach = RequestReach::new(self.caps.remote, sum, self.job.threads());
        let mut requests = Vec::new();
        for (shard, list) in &mut lists {
            group_requests(list, reach, |what| {
                let what = match what {
                    RequestGroup::Alone(wanted) => RequestKind::Place(wanted.item),
                    RequestGroup::Near(items, stretches) => RequestKind::Parts(items, stretches),
                };
                requests.push(ShardRequest { shard: *shard, what });
            });
        }
        requests
    }

    /// Returns the wanted bytes of a chunk; `None` if it is absent or answered.
    fn locate(&mut self, number: usize, known: &CachedIndex) -> Result<Option<WantedBytes>> {
        let item = &mut self.items[number];
        let Some(entry) = known.index.find(item.number)? else { return Ok(None) };
        let ticket = lock(&item.ticket);
        let Some(ticket) = ticket.as_ref() else { return Ok(None) };
        let (skip, len) = match ticket.ranges {
            Ranges::One(ByteRange { offset, len }) => {
                let skip = offset.min(entry.len);
                (skip, len.unwrap_or(u64::MAX).min(entry.len - skip))
            }
            Ranges::Suffix(len) => {
                let len = len.min(entry.len);
                (entry.len - len, len)
            }
            // Several ranges: read the whole chunk, since chunks in shards are small.
            _ => (0, entry.len),
        };
        if !is_several(&ticket.ranges) {
            ticket.check_len(&self.shards[item.shard].key, len)?;
        }
        let has_place = !is_several(&ticket.ranges)
            && ticket.into.as_ref().is_some_and(|into| into.capacity() as u64 == len);
        (item.from, item.len, item.entry) = (entry.offset + skip, len, entry);
        Ok(Some(WantedBytes { item: number, from: item.from, to: item.from + len, has_place }))
    }

    fn ask(&self, requests: Vec<ShardRequest>) {
        if !requests.is_empty() {
            self.map.shards().read_batch(&ShardRequests::new(self, requests));
        }
    }
}

//! [`Round`]: some tickets for chunks in shards, answered by few requests for parts of shards.
//!
//! First the indexes that are not known are read, then the bytes that are wanted, in one request what lies near. Both
//! are compared by version where the storage has any: bytes of another state than the index are never taken; the index
//! is read again then, and at last the shard as a whole, which is of one state for sure. What becomes of an answer is in
//! [`super::answer`].

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nczarr_dispatch::{
    ByteRange, CoalescedRanges, Key, MapCaps, Ranges, ReadJob, ReadOutcome, ReadTicket, Version, ZMap,
};
use nczarr_model::{ErrorKind, Result};

use super::ahead::Ahead;
use super::answer::Requests;
use super::cache::Known;
use super::index::Entry;
use super::map::ShardMap;
use super::together::{Reach, Together, Wanted, together};

/// Tries with an index that is not of the bytes any more.
const TRIES: usize = 3;

/// A chunk that was asked for.
pub(super) struct Item<'j> {
    pub(super) ticket: Mutex<Option<ReadTicket<'j>>>,
    shard: usize,
    pub(super) number: usize,
    /// Where its wanted bytes are in the shard.
    pub(super) from: u64,
    pub(super) len: u64,
    /// Where the chunk begins and how long it is, for errors.
    pub(super) entry: Entry,
}

/// A shard that is asked for.
pub(super) struct Shard {
    pub(super) key: Key,
    pub(super) items: Vec<usize>,
    /// How many of them have no answer yet.
    left: AtomicUsize,
    pub(super) state: Mutex<State>,
}

#[derive(Clone)]
pub(super) enum State {
    /// Nothing is known.
    New,
    /// What its index says, and the version of the shard if it was read just now.
    Known(Arc<Known>, Option<Version>),
}

/// One request.
pub(super) struct Request {
    pub(super) shard: usize,
    pub(super) what: What,
}

pub(super) enum What {
    Index,
    Whole,
    /// The items by offset, and the stretches they lie in.
    Parts(Vec<usize>, CoalescedRanges),
    /// One item, into the memory on its ticket.
    Place(usize),
}

pub(super) struct Round<'r, 'j> {
    pub(super) map: &'r ShardMap,
    pub(super) job: &'j dyn ReadJob,
    pub(super) caps: MapCaps,
    /// Whether this is the first try: an index that is known may be used, and memory that was lent.
    fresh: bool,
    pub(super) items: Vec<Item<'j>>,
    pub(super) shards: Vec<Shard>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'r, 'j> Round<'r, 'j> {
    pub(super) fn new(map: &'r ShardMap, job: &'j dyn ReadJob) -> Self {
        Self { map, job, caps: map.caps(), fresh: true, items: Vec::new(), shards: Vec::new() }
    }

    /// For tickets whose first answer was of another state than the index.
    pub(super) fn again(map: &'r ShardMap, job: &'j dyn ReadJob) -> Self {
        Self { fresh: false, ..Self::new(map, job) }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Adds a ticket for a chunk. Those of a shard follow one another; otherwise its index is asked for more than once.
    pub(super) fn add(&mut self, shard: &str, number: usize, ticket: ReadTicket<'j>) {
        if self.shards.last().is_none_or(|last| last.key.as_str() != shard) {
            match Key::new(shard) {
                Ok(key) => {
                    let state = Mutex::new(State::New);
                    self.shards.push(Shard { key, items: Vec::new(), left: AtomicUsize::new(0), state });
                }
                Err(error) => return self.job.done(ticket, Err(error)),
            }
        }
        let at = self.shards.len() - 1;
        self.shards[at].items.push(self.items.len());
        *self.shards[at].left.get_mut() += 1;
        let ticket = Mutex::new(Some(ticket));
        self.items.push(Item { ticket, shard: at, number, from: 0, len: 0, entry: Entry::MISSING });
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
                self.ask(open.into_iter().map(|shard| Request { shard, what: What::Whole }).collect());
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
        // A map that did not give back what it took.
        for number in 0..self.items.len() {
            let lost = || ErrorKind::Internal.context("the map did not return its ticket");
            self.finish_with(number, || Err(lost()));
        }
    }

    /// What to ask for to know where chunks are, or to have all of them. `trust`: what is known already will do.
    fn learn(&self, open: Vec<usize>, trust: bool) -> Vec<Request> {
        let mut requests = Vec::new();
        for shard in open {
            let about = &self.shards[shard];
            if self.wants_all(about) {
                requests.push(Request { shard, what: What::Whole });
                continue;
            }
            let known = if trust { self.map.indexes.find(about.key.as_str()) } else { None };
            // That a chunk is missing no bytes will confirm: somebody may have written it since.
            let there = |item: &usize, known: &Known| matches!(known.index.find(self.items[*item].number), Ok(Some(_)));
            match known.filter(|known| about.items.iter().all(|item| there(item, known))) {
                Some(known) => *lock(&about.state) = State::Known(known, None),
                None => {
                    *lock(&about.state) = State::New;
                    requests.push(Request { shard, what: What::Index });
                }
            }
        }
        requests
    }

    /// Adds the indexes of all other shards, where a round trip for each would cost more; whoever reads one chunk may not want
    /// another.
    fn look_ahead(&mut self, requests: &mut Vec<Request>) {
        let asks = requests.iter().any(|request| matches!(request.what, What::Index));
        if !self.caps.remote || self.items.len() < 2 || !asks {
            return;
        }
        for key in self.map.ahead.as_ref().map_or_else(Vec::new, Ahead::keys) {
            let known = self.map.indexes.find(key.as_str()).is_some();
            if !known && self.shards.iter().all(|shard| shard.key != key) {
                let (left, state) = (AtomicUsize::new(0), Mutex::new(State::New));
                requests.push(Request { shard: self.shards.len(), what: What::Index });
                self.shards.push(Shard { key, items: Vec::new(), left, state });
            }
        }
    }

    /// Whether every chunk of a shard is wanted as a whole, so that one request over the network brings all.
    fn wants_all(&self, shard: &Shard) -> bool {
        let all = |item: &usize| {
            lock(&self.items[*item].ticket).as_ref().is_some_and(|ticket| matches!(ticket.ranges, Ranges::All))
        };
        self.caps.remote && shard.items.len() >= self.map.level.total && shard.items.iter().all(all)
    }

    /// Looks all chunks up in the indexes that are known now, answers those that are missing, and groups the others.
    fn plan(&mut self, lend: bool) -> Vec<Request> {
        let (mut lists, mut sum) = (Vec::new(), 0u64);
        for shard in 0..self.shards.len() {
            let State::Known(known, _) = lock(&self.shards[shard].state).clone() else { continue };
            let mut list = Vec::with_capacity(self.shards[shard].items.len());
            for at in 0..self.shards[shard].items.len() {
                let number = self.shards[shard].items[at];
                match self.locate(number, &known) {
                    Ok(Some(wanted)) => {
                        sum = sum.saturating_add(wanted.to - wanted.from);
                        list.push(Wanted { has_place: wanted.has_place && lend, ..wanted });
                    }
                    Ok(None) => self.finish(number, Ok(None)),
                    Err(error) => self.finish(number, Err(error)),
                }
            }
            if !list.is_empty() {
                lists.push((shard, list));
            }
        }
        let reach = Reach::new(self.caps.remote, sum, self.job.threads());
        let mut requests = Vec::new();
        for (shard, list) in &mut lists {
            together(list, reach, |what| {
                let what = match what {
                    Together::Alone(wanted) => What::Place(wanted.item),
                    Together::Near(items, stretches) => What::Parts(items, stretches),
                };
                requests.push(Request { shard: *shard, what });
            });
        }
        requests
    }

    /// Finds the wanted bytes of a chunk; `None` if it is missing, or has its answer.
    fn locate(&mut self, number: usize, known: &Known) -> Result<Option<Wanted>> {
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
            // Several: out of all of it, chunks in shards are small.
            _ => (0, entry.len),
        };
        if !is_several(&ticket.ranges) {
            ticket.check_len(&self.shards[item.shard].key, len)?;
        }
        let has_place =
            !is_several(&ticket.ranges) && ticket.into.as_ref().is_some_and(|into| into.capacity() as u64 == len);
        (item.from, item.len, item.entry) = (entry.offset + skip, len, entry);
        Ok(Some(Wanted { item: number, from: item.from, to: item.from + len, has_place }))
    }

    fn ask(&self, requests: Vec<Request>) {
        if !requests.is_empty() {
            self.map.shards().read_batch(&Requests::new(self, requests));
        }
    }

    /// Takes a ticket to answer it, unless it has its answer.
    pub(super) fn take(&self, number: usize) -> Option<ReadTicket<'j>> {
        let item = &self.items[number];
        let ticket = lock(&item.ticket).take()?;
        self.shards[item.shard].left.fetch_sub(1, Ordering::AcqRel);
        Some(ticket)
    }

    /// Gives a ticket back.
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

    /// Gives a ticket back with bytes of its chunk: all that is wanted of it, or, if `whole`, all there is.
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

fn is_several(ranges: &Ranges) -> bool {
    matches!(ranges, Ranges::Strided { .. } | Ranges::List(_))
}

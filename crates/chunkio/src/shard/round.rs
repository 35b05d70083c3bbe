//! [`Round`]: some tickets for chunks in shards, answered by few requests for parts of shards.
//!
//! First the indexes that are not known are read, then the bytes that are wanted, in one request what lies near. Both
//! are compared by version where the storage has any: bytes of another state than the index are never taken; the index
//! is read again then, and at last the shard as a whole, which is of one state for sure.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dispatch::{ByteRange, Found, Key, MapCaps, Ranges, ReadJob, ReadTicket, Version, ZMap};
use model::{Error, ErrorKind, Result};

use super::cache::Known;
use super::index::{Entry, beyond};
use super::map::ShardMap;

/// Bytes between two chunks that are rather read than asked for twice, of a local storage and of a remote one.
const GAP: u64 = 4 << 10;
const REMOTE_GAP: u64 = 512 << 10;

/// The most bytes asked for at once, unless one chunk is more: what a processor's cache holds; and what a connection
/// should not have to repeat.
const SPAN: u64 = 1 << 20;
const LEAST_SPAN: u64 = 64 << 10;
const REMOTE_SPAN: u64 = 16 << 20;

/// Tries with an index that is not of the bytes any more.
const TRIES: usize = 3;

/// A chunk that was asked for.
struct Item<'j> {
    ticket: Mutex<Option<ReadTicket<'j>>>,
    shard: usize,
    number: usize,
    /// Where its wanted bytes are in the shard.
    from: u64,
    len: u64,
    /// Where the chunk begins and how long it is, for errors.
    entry: Entry,
}

/// A shard that is asked for.
struct Shard {
    key: Key,
    items: Vec<usize>,
    state: Mutex<State>,
}

#[derive(Clone)]
enum State {
    /// Nothing is known.
    New,
    /// What its index says, and the version of the shard if it was read just now.
    Known(Arc<Known>, Option<Version>),
    /// All of its tickets were answered.
    Done,
}

/// One request.
struct Request {
    shard: usize,
    what: What,
}

enum What {
    Index,
    Whole,
    /// The items by offset, and the ranges they lie in.
    Parts(Vec<usize>, Vec<(u64, u64)>),
}

pub(super) struct Round<'r, 'j> {
    map: &'r ShardMap,
    job: &'j dyn ReadJob,
    caps: MapCaps,
    items: Vec<Item<'j>>,
    shards: Vec<Shard>,
    seen: HashMap<Box<str>, usize>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error for each of several that it happened to.
fn again(error: &Error) -> Error {
    error.kind().context(error.what())
}

impl<'r, 'j> Round<'r, 'j> {
    pub(super) fn new(map: &'r ShardMap, job: &'j dyn ReadJob) -> Self {
        let caps = map.caps();
        Self { map, job, caps, items: Vec::new(), shards: Vec::new(), seen: HashMap::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Adds a ticket for a chunk.
    pub(super) fn add(&mut self, shard: &str, number: usize, ticket: ReadTicket<'j>) {
        let at = match self.shards.last() {
            Some(last) if last.key.as_str() == shard => self.shards.len() - 1,
            _ => match self.seen.get(shard) {
                Some(&at) => at,
                None => {
                    let key = match Key::new(shard) {
                        Ok(key) => key,
                        Err(error) => return self.job.done(ticket, Err(error)),
                    };
                    self.seen.insert(shard.into(), self.shards.len());
                    self.shards.push(Shard { key, items: Vec::new(), state: Mutex::new(State::New) });
                    self.shards.len() - 1
                }
            },
        };
        self.shards[at].items.push(self.items.len());
        self.items.push(Item {
            ticket: Mutex::new(Some(ticket)),
            shard: at,
            number,
            from: 0,
            len: 0,
            entry: Entry::MISSING,
        });
    }

    /// Answers all tickets.
    pub(super) fn run(mut self) {
        if self.items.is_empty() {
            return;
        }
        let whole = self.map.level.is_wrapped() || !self.caps.range_read;
        for attempt in 0..=TRIES {
            let open: Vec<usize> = (0..self.shards.len())
                .filter(|&shard| !matches!(*lock(&self.shards[shard].state), State::Done))
                .collect();
            if open.is_empty() {
                return;
            }
            if whole || attempt == TRIES {
                self.ask(open.iter().map(|&shard| Request { shard, what: What::Whole }).collect());
                break;
            }
            let (mut wholes, mut unknown) = (Vec::new(), Vec::new());
            for &shard in &open {
                if self.wants_all(&self.shards[shard]) {
                    wholes.push(Request { shard, what: What::Whole });
                    continue;
                }
                let known = if attempt == 0 { self.map.indexes.find(self.shards[shard].key.as_str()) } else { None };
                // That a chunk is missing no bytes will confirm: somebody may have written it since.
                let there =
                    |item: &usize, known: &Known| matches!(known.index.find(self.items[*item].number), Ok(Some(_)));
                match known.filter(|known| self.shards[shard].items.iter().all(|item| there(item, known))) {
                    Some(known) => *lock(&self.shards[shard].state) = State::Known(known, None),
                    None => unknown.push(Request { shard, what: What::Index }),
                }
            }
            wholes.extend(unknown);
            self.ask(wholes);
            let requests = self.plan();
            self.ask(requests);
        }
        // A map that did not give back what it took.
        for item in &self.items {
            if let Some(ticket) = lock(&item.ticket).take() {
                self.job.done(ticket, Err(ErrorKind::Internal.context("the map did not return its ticket")));
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
    fn plan(&mut self) -> Vec<Request> {
        let mut requests = Vec::new();
        let mut wanted = Vec::new();
        let mut sum = 0u64;
        for at in 0..self.shards.len() {
            let state = lock(&self.shards[at].state).clone();
            let State::Known(known, _) = state else { continue };
            let mut items = Vec::with_capacity(self.shards[at].items.len());
            for &number in &self.shards[at].items {
                let item = &mut self.items[number];
                match locate(item, &known, &self.shards[at].key) {
                    Ok(true) => {
                        sum = sum.saturating_add(item.len);
                        items.push(number);
                    }
                    Ok(false) => self.finish(number, Ok(None)),
                    Err(error) => self.finish(number, Err(error)),
                }
            }
            if items.is_empty() {
                *lock(&self.shards[at].state) = State::Done;
                continue;
            }
            items.sort_unstable_by_key(|&number| (self.items[number].from, self.items[number].len));
            wanted.push((at, items));
        }
        let threads = self.job.threads().max(1) as u64;
        let (gap, span) = match self.caps.remote {
            true => (REMOTE_GAP, REMOTE_SPAN),
            false => (GAP, (sum / (2 * threads)).clamp(LEAST_SPAN, SPAN)),
        };
        for (shard, items) in wanted {
            let (mut group, mut ranges): (Vec<usize>, Vec<(u64, u64)>) = Default::default();
            let mut bytes = 0u64;
            for number in items {
                let (from, len) = (self.items[number].from, self.items[number].len);
                // Both were checked when it was located.
                let to = from + len;
                let near = ranges.last().is_some_and(|&(_, end)| from <= end.saturating_add(gap));
                let more = match ranges.last() {
                    Some(&(_, end)) if near => to.saturating_sub(end),
                    _ => len,
                };
                let full = bytes.saturating_add(more) > span || (self.caps.remote && !near);
                if full && !group.is_empty() {
                    let what = What::Parts(std::mem::take(&mut group), std::mem::take(&mut ranges));
                    requests.push(Request { shard, what });
                    bytes = 0;
                }
                group.push(number);
                match ranges.last_mut() {
                    Some((_, end)) if near => {
                        *end = (*end).max(to);
                        bytes = bytes.saturating_add(more);
                    }
                    _ => {
                        ranges.push((from, to));
                        bytes = bytes.saturating_add(len);
                    }
                }
            }
            requests.push(Request { shard, what: What::Parts(group, ranges) });
        }
        requests
    }

    fn ask(&self, requests: Vec<Request>) {
        if requests.is_empty() {
            return;
        }
        let threads = self.job.threads().min(requests.len());
        let batch = Batch { round: self, requests, threads, next: AtomicUsize::new(0) };
        self.map.shards().read_batch(&batch);
    }

    /// Gives a ticket back.
    fn finish(&self, number: usize, found: Result<Option<(Found<'_>, Option<Version>)>>) {
        if let Some(ticket) = lock(&self.items[number].ticket).take() {
            self.job.done(ticket, found);
        }
    }

    fn finish_all(&self, shard: &Shard, mut found: impl FnMut(&Item<'_>) -> Result<()>) {
        for &number in &shard.items {
            // Answers of the storage are for all of them.
            if let Err(error) = found(&self.items[number]) {
                self.finish(number, Err(error));
            } else {
                self.finish(number, Ok(None));
            }
        }
        *lock(&shard.state) = State::Done;
    }

    /// Gives a ticket back with bytes of its chunk: all that is wanted of it.
    fn deliver(&self, number: usize, chunk: &[u8], whole: bool, version: Option<&Version>) {
        let item = &self.items[number];
        let Some(ticket) = lock(&item.ticket).take() else { return };
        let key = &self.shards[item.shard].key;
        let version = if ticket.versioned { version.cloned() } else { None };
        let several = matches!(ticket.ranges, Ranges::Every { .. } | Ranges::List(_));
        if whole || several {
            match ticket.ranges.cut(key, chunk, ticket.limit) {
                Ok(bytes) => self.job.done(ticket, Ok(Some((Found::Bytes(&bytes), version)))),
                Err(error) => self.job.done(ticket, Err(error)),
            }
            return;
        }
        self.job.done(ticket, Ok(Some((Found::Bytes(chunk), version))));
    }
}

/// Finds the wanted bytes of a chunk; `false` if it is missing.
fn locate(item: &mut Item<'_>, known: &Known, key: &Key) -> Result<bool> {
    let Some(entry) = known.index.find(item.number)? else { return Ok(false) };
    let ticket = lock(&item.ticket);
    let Some(ticket) = ticket.as_ref() else { return Ok(false) };
    let (skip, len) = match ticket.ranges {
        Ranges::One(ByteRange { offset, len }) => {
            let skip = offset.min(entry.len);
            (skip, len.unwrap_or(u64::MAX).min(entry.len - skip))
        }
        Ranges::Last(len) => {
            let len = len.min(entry.len);
            (entry.len - len, len)
        }
        // Several: out of all of it, chunks in shards are small.
        _ => (0, entry.len),
    };
    if !matches!(ticket.ranges, Ranges::Every { .. } | Ranges::List(_)) {
        ticket.check_len(key, len)?;
    }
    (item.from, item.len, item.entry) = (entry.offset + skip, len, entry);
    Ok(true)
}

struct Batch<'b, 'r, 'j> {
    round: &'b Round<'r, 'j>,
    requests: Vec<Request>,
    threads: usize,
    next: AtomicUsize,
}

impl ReadJob for Batch<'_, '_, '_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next<'n>(&'n self, key: &mut Key) -> Option<ReadTicket<'n>> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        let request = self.requests.get(at)?;
        let round = self.round;
        let level = &round.map.level;
        key.set(&round.shards[request.shard].key);
        let versioned = round.caps.versioned_parts;
        let ticket = |ranges, bytes| ReadTicket { index: at, ranges, hint: bytes, limit: bytes, versioned, into: None };
        Some(match &request.what {
            What::Index if level.at_start => {
                ticket(Ranges::One(ByteRange::first(level.index_bytes as u64)), level.index_bytes)
            }
            What::Index => ticket(Ranges::Last(level.index_bytes as u64), level.index_bytes),
            What::Whole => {
                ReadTicket { index: at, ranges: Ranges::All, hint: 1 << 20, limit: level.limit, versioned, into: None }
            }
            What::Parts(_, ranges) => {
                let bytes = ranges.iter().fold(0u64, |sum, (from, to)| sum.saturating_add(to - from));
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                match ranges[..] {
                    [(from, to)] => ticket(Ranges::One(ByteRange::new(from, to - from)), bytes),
                    _ => {
                        let list = ranges.iter().map(|(from, to)| ByteRange::new(*from, to - from)).collect();
                        ticket(Ranges::List(list), bytes)
                    }
                }
            }
        })
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(Found<'_>, Option<Version>)>>) {
        let Some(request) = self.requests.get(ticket.index) else { return };
        let round = self.round;
        let shard = &round.shards[request.shard];
        let found = match found {
            Ok(Some((Found::Bytes(bytes), version))) => Ok(Some((bytes, version))),
            Ok(None) => Ok(None),
            Ok(Some((Found::InPlace, _))) => Err(ErrorKind::Internal.context("the map filled memory it was not lent")),
            Err(error) => Err(error),
        };
        match &request.what {
            What::Parts(items, ranges) => self.parts(shard, items, ranges, found),
            What::Index | What::Whole => match found {
                Ok(None) => round.finish_all(shard, |_| Ok(())),
                Err(error) => round.finish_all(shard, |_| Err(again(&error))),
                Ok(Some((bytes, version))) if matches!(request.what, What::Index) => {
                    match round.map.level.parse(bytes) {
                        Ok(index) => {
                            let stamp = version.as_ref().map(Version::stamp);
                            let known = Arc::new(Known { index, stamp });
                            round.map.indexes.keep(shard.key.as_str(), &known);
                            *lock(&shard.state) = State::Known(known, version);
                        }
                        Err(error) => round.finish_all(shard, |_| Err(again(&error))),
                    }
                }
                Ok(Some((bytes, version))) => self.whole(shard, bytes, version),
            },
        }
    }
}

impl Batch<'_, '_, '_> {
    /// Cuts all chunks out of a whole shard.
    fn whole(&self, shard: &Shard, stored: &[u8], version: Option<Version>) {
        let (round, level) = (self.round, &self.round.map.level);
        let cut = level.unwrap(stored, |bytes| {
            let index = level.index_of(bytes)?;
            for &number in &shard.items {
                match index.cut(round.items[number].number, bytes) {
                    Ok(Some(chunk)) => round.deliver(number, chunk, true, version.as_ref()),
                    Ok(None) => round.finish(number, Ok(None)),
                    Err(error) => round.finish(number, Err(error)),
                }
            }
            Ok(())
        });
        match cut {
            Ok(()) => *lock(&shard.state) = State::Done,
            Err(error) => round.finish_all(shard, |_| Err(again(&error))),
        }
    }

    /// Gives chunks their bytes, if these are of the state that the index is of.
    fn parts(
        &self,
        shard: &Shard,
        items: &[usize],
        ranges: &[(u64, u64)],
        found: Result<Option<(&[u8], Option<Version>)>>,
    ) {
        let round = self.round;
        let state = lock(&shard.state).clone();
        let same = |known: &Known, read: &Option<Version>, version: &Option<Version>| match (&known.stamp, version) {
            (None, _) => true,
            (Some(stamp), Some(version)) => read.as_ref().map_or_else(|| stamp.is(version), |read| read.same(version)),
            (Some(_), None) => false,
        };
        match (state, found) {
            (State::Known(known, read), Ok(Some((bytes, version)))) if same(&known, &read, &version) => {
                let (mut ranges, mut before) = (ranges.iter().peekable(), 0);
                for &number in items {
                    let item = &round.items[number];
                    // Items and ranges are in order, and each item lies in one range.
                    while let Some((from, to)) = ranges.next_if(|(_, to)| *to < item.from + item.len) {
                        before += to - from;
                    }
                    // All of it lies in memory.
                    let start = ranges.peek().map(|(from, _)| (before + item.from - from) as usize);
                    let chunk = start.and_then(|start| bytes.get(start..start.checked_add(item.len as usize)?));
                    match chunk {
                        Some(chunk) => round.deliver(number, chunk, false, version.as_ref()),
                        None => {
                            let end = (ranges.peek().map_or(0, |(from, _)| *from) + bytes.len() as u64)
                                .saturating_sub(before);
                            round.finish(number, Err(beyond(item.number, item.entry, end)));
                        }
                    }
                }
            }
            // Another state, or none any more: its index is read again.
            (_, Ok(_)) => {}
            // The index may be an old one.
            (State::Known(known, None), Err(_)) if known.stamp.is_some() => {}
            (_, Err(error)) => items.iter().for_each(|&number| round.finish(number, Err(again(&error)))),
        }
        let open = |number: &usize| lock(&round.items[*number].ticket).is_some();
        if !shard.items.iter().any(open) {
            *lock(&shard.state) = State::Done;
        }
    }
}

//! [`ShardMap`]: the chunks in shards as objects of a map, for reading.
//!
//! The key of a chunk is that of its shard and, below it, the chunk's number in the shard. A batch is read in rounds:
//! the indexes that are not known, then the bytes, near ones together (see [`crate::shard::round`]). Shards in shards
//! are a map over a map. Written is elsewhere, whole shards at a time.

use std::sync::{Arc, Mutex, PoisonError};

use nczarr_dispatch::{ByteRange, Key, MapCaps, Ranges, ReadJob, ReadOutcome, ReadTicket, Version, ZMap};
use nczarr_model::{ErrorKind, Result};

use super::ahead::Ahead;
use super::cache::Indexes;
use super::level::Level;
use super::round::Round;
use crate::ChunkStore;

/// Tickets looked at together.
const WINDOW: usize = 4096;

/// What holds the shards.
#[derive(Debug)]
pub(crate) enum Below {
    Store(Arc<dyn ChunkStore>),
    Shards(Arc<ShardMap>),
}

/// The chunks of one level of shards.
#[derive(Debug)]
pub(crate) struct ShardMap {
    below: Below,
    pub(super) level: Arc<Level>,
    pub(super) indexes: Indexes,
    /// Of the outermost level.
    pub(super) ahead: Option<Ahead>,
}

impl ShardMap {
    pub(super) fn new(below: Below, level: Arc<Level>, ahead: Option<Ahead>) -> Self {
        Self { below, level, indexes: Indexes::new(), ahead }
    }

    /// The map that holds the shards.
    pub(super) fn shards(&self) -> &dyn ZMap {
        match &self.below {
            Below::Store(store) => store.map(),
            Below::Shards(map) => &**map,
        }
    }

    fn one(&self, key: &Key, ranges: Ranges, limit: usize, out: &mut Vec<u8>) -> Result<bool> {
        let job = One { key, ranges: Mutex::new(Some(ranges)), limit, found: Mutex::new((None, out)) };
        self.read_batch(&job);
        let (found, _) = job.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.unwrap_or_else(|| Err(ErrorKind::Internal.context(format!("{key}: the map did not return its ticket"))))
    }
}

/// The shard of a chunk's key, and the chunk's number.
fn split(key: &Key) -> Option<(&str, usize)> {
    let (shard, number) = key.as_str().rsplit_once('/')?;
    Some((shard, number.parse().ok()?))
}

impl ZMap for ShardMap {
    fn caps(&self) -> MapCaps {
        self.shards().caps()
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        let mut bytes = Vec::new();
        let found = self.one(key, Ranges::All, usize::MAX, &mut bytes)?;
        Ok(found.then_some(bytes.len() as u64))
    }

    fn exists(&self, key: &Key) -> Result<bool> {
        self.one(key, Ranges::One(ByteRange::first(0)), 0, &mut Vec::new())
    }

    fn read(&self, key: &Key, range: ByteRange, out: &mut Vec<u8>) -> Result<bool> {
        self.one(key, Ranges::One(range), usize::MAX, out)
    }

    fn children(&self, _prefix: &Key) -> Result<Vec<String>> {
        Err(ErrorKind::Internal.context("chunks in shards are not listed"))
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        let mut key = Key::root();
        loop {
            let mut round = Round::new(self, job);
            while round.len() < WINDOW
                && let Some(ticket) = job.next(&mut key)
            {
                match split(&key) {
                    Some((shard, number)) => round.add(shard, number, ticket),
                    None => {
                        job.done(ticket, Err(ErrorKind::Internal.context(format!("{key} is no chunk of a shard"))));
                    }
                }
            }
            let last = round.len() < WINDOW;
            round.run();
            if last {
                return;
            }
        }
    }
}

/// The read of one chunk.
struct One<'a> {
    key: &'a Key,
    ranges: Mutex<Option<Ranges>>,
    limit: usize,
    found: Mutex<(Option<Result<bool>>, &'a mut Vec<u8>)>,
}

impl ReadJob for One<'_> {
    fn threads(&self) -> usize {
        1
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let ranges = self.ranges.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        key.set(self.key);
        Some(ReadTicket { index: 0, ranges, hint: 0, limit: self.limit, versioned: false, into: None })
    }

    fn done(&self, _: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let mut place = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        place.1.clear();
        let found = found.and_then(|found| match found {
            None => Ok(false),
            Some((ReadOutcome::Bytes(bytes), _)) => {
                place.1.extend_from_slice(bytes);
                Ok(true)
            }
            Some((ReadOutcome::InPlace, _)) => {
                Err(ErrorKind::Internal.context("the map filled memory it was not lent"))
            }
        });
        place.0 = Some(found);
    }
}

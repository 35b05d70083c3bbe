//! Reads chunks in shards as objects: [`ShardMap`] as a map.
//!
//! The key of a chunk is that of its shard, followed by the chunk's number. A batch is read in rounds: first
//! unknown indexes, then data, with near ranges joined ([`super::read_round`]).

use std::sync::{Mutex, PoisonError};

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::batch::{Ranges, ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::{Key, ListMode, MapCaps, ObjectInfo, ReadOptions, Version, ZMap};

use super::map::ShardMap;
use super::round_state::ReadRound;

/// The number of tickets per round.
const WINDOW: usize = 4096;

impl ShardMap {
    fn one(&self, key: &Key, ranges: Ranges, limit: usize, out: &mut Vec<u8>) -> Result<bool> {
        let job =
            SingleChunkRead { key, ranges: Mutex::new(Some(ranges)), limit, found: Mutex::new((None, out)) };
        self.read_batch(&job);
        let (found, _) = job.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.unwrap_or_else(|| {
            Err(ErrorKind::Internal.context(format!("{key}: the map did not return its ticket")))
        })
    }
}

/// Splits a chunk's key into shard and number.
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

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        Ok(self.one(key, Ranges::One(options.range), usize::MAX, out)?.then(ObjectInfo::default))
    }

    fn list(&self, _prefix: &Key, _mode: ListMode) -> Result<Option<Vec<String>>> {
        Err(ErrorKind::Internal.context("chunks in shards are not listed"))
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        let mut key = Key::root();
        loop {
            let mut round = ReadRound::new(self, job);
            while round.len() < WINDOW
                && let Some(ticket) = job.next(&mut key)
            {
                match split(&key) {
                    Some((shard, number)) => round.add(shard, number, ticket),
                    None => {
                        job.done(
                            ticket,
                            Err(ErrorKind::Internal.context(format!("{key}: not a chunk of a shard"))),
                        );
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

/// The read of a single chunk.
struct SingleChunkRead<'a> {
    key: &'a Key,
    ranges: Mutex<Option<Ranges>>,
    limit: usize,
    found: Mutex<(Option<Result<bool>>, &'a mut Vec<u8>)>,
}

impl ReadJob for SingleChunkRead<'_> {
    fn threads(&self) -> usize {
        1
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let ranges = self.ranges.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        key.set(self.key);
        Some(ReadTicket::new(0, ranges, self.limit))
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

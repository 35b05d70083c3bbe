//! Default ways to run a batch over any map.

use model::{ErrorKind, Result};

use crate::Key;
use crate::zmap::{ByteRange, Change, Expect, Found, Payload, Ranges, ReadJob, WriteJob, Written, ZMap};

pub(crate) fn walk<M: ZMap + ?Sized>(map: &M, prefix: &Key) -> Result<Vec<Key>> {
    let mut keys = Vec::new();
    let mut open = vec![prefix.clone()];
    while let Some(here) = open.pop() {
        if !here.is_root() && map.exists(&here)? {
            keys.push(here);
            continue;
        }
        for name in map.search(&here)? {
            open.push(here.join(&name)?);
        }
    }
    keys.sort_unstable();
    Ok(keys)
}

pub(crate) fn copy_then_delete<M: ZMap + ?Sized>(map: &M, from: &Key, to: &Key) -> Result<()> {
    let _ = (map, from, to);
    Err(ErrorKind::Internal.context("under construction"))
}

pub(crate) fn compare_and_swap<M: ZMap + ?Sized>(map: &M, key: &Key, change: &mut Change<'_>) -> Result<()> {
    let _ = (map, key, change, Expect::Absent, ByteRange::ALL);
    Err(ErrorKind::Internal.context("under construction"))
}

/// Runs a batch of reads on the pool (or the calling thread), each object through [`ZMap::read`] or [`ZMap::read_into`].
pub fn read_parallel<M: ZMap + ?Sized>(map: &M, job: &dyn ReadJob) {
    let (mut key, mut bytes) = (Key::root(), Vec::new());
    while let Some(ticket) = job.next(&mut key) {
        let Ranges::All = ticket.ranges else { continue };
        match map.read(&key, ByteRange::ALL, &mut bytes) {
            Ok(true) => job.done(ticket, Ok(Some((Found::Bytes(&bytes), None)))),
            Ok(false) => job.done(ticket, Ok(None)),
            Err(error) => job.done(ticket, Err(error)),
        }
    }
}

/// Runs a batch of writes on the pool (or the calling thread), each object through [`ZMap::write`] or [`ZMap::write_if`].
pub fn write_parallel<M: ZMap + ?Sized>(map: &M, job: &dyn WriteJob) {
    let (mut key, mut scratch) = (Key::root(), Vec::new());
    while let Some(ticket) = job.next(&mut key) {
        let outcome = match job.value(ticket.index, &mut scratch) {
            Ok(Payload::Scratch) => map.write(&key, &scratch),
            Ok(Payload::Caller(bytes)) => map.write(&key, bytes),
            Err(error) => Err(error),
        };
        job.done(ticket, outcome.map(|()| Written::Done(None)));
    }
}

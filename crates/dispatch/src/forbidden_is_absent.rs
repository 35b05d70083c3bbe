//! [`ForbiddenIsAbsent`]: the map for callers that know that every forbidden key is absent.

use std::sync::Arc;

use nczarr_model::{Error, ErrorKind, Result};

use crate::OutBuf;
use nczarr_storage::batch::{ObjectSink, ReadJob, ReadOutcome, ReadTicket, WriteJob};
use nczarr_storage::{
    Forbidden, Key, Layer, MapCaps, ObjectInfo, Precondition, ReadOptions, UpdateFn, Version, WriteOutcome,
    ZMap,
};

/// A map in which every forbidden key is absent.
#[derive(Debug)]
pub(crate) struct ForbiddenIsAbsent(pub(crate) Arc<dyn ZMap>);

/// Replaces a refusal by `absent`.
fn absent_if_forbidden<T>(found: Result<T>, absent: T) -> Result<T> {
    match found {
        Err(error) if Forbidden::is_cause_of(&error) => Ok(absent),
        found => found,
    }
}

impl Layer for ForbiddenIsAbsent {
    fn inner(&self) -> &dyn ZMap {
        &*self.0
    }

    fn caps(&self) -> MapCaps {
        // A forbidden object that counts as absent must not be overwritten.
        self.0.caps().read_only()
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        absent_if_forbidden(self.0.len(key), None)
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        absent_if_forbidden(self.0.read_with(key, options, out), None)
    }

    fn write_if(&self, key: &Key, _value: &[u8], _expect: &Precondition) -> Result<WriteOutcome> {
        Err(only_read(key))
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        Err(only_read(key))
    }

    fn rename(&self, from: &Key, _to: &Key) -> Result<()> {
        Err(only_read(from))
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        absent_if_forbidden(self.0.read_into(key, offset, out), false)
    }

    fn update(&self, key: &Key, _limit: usize, _change: &mut UpdateFn<'_>) -> Result<()> {
        Err(only_read(key))
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        self.0.read_batch(&ForbiddenAsAbsentJob(job));
    }

    fn write_batch(&self, job: &dyn WriteJob) {
        let mut key = Key::root();
        while let Some(ticket) = job.next(&mut key) {
            job.done(ticket, Err(only_read(&key)));
        }
    }
}

fn only_read(key: &Key) -> Error {
    ErrorKind::Perm.context(format!("key {key}: the dataset is read-only with forbidden=absent"))
}

/// A read job that sees forbidden keys as absent.
struct ForbiddenAsAbsentJob<'a>(&'a dyn ReadJob);

#[deny(clippy::missing_trait_methods)]
impl ReadJob for ForbiddenAsAbsentJob<'_> {
    fn threads(&self) -> usize {
        self.0.threads()
    }

    fn remaining(&self) -> Option<usize> {
        self.0.remaining()
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        self.0.next(key)
    }

    fn sink<'j>(&'j self, ticket: &ReadTicket<'_>) -> Option<Box<dyn ObjectSink + 'j>> {
        self.0.sink(ticket)
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        self.0.done(ticket, absent_if_forbidden(found, None));
    }
}

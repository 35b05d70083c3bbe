//! [`Counting`]: a map that counts requests to another map.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use nczarr_model::Result;
use nczarr_storage::batch::{
    ObjectSink, Payload, PutPart, ReadJob, ReadOutcome, ReadTicket, WriteJob, WriteTicket,
};
use nczarr_storage::{
    Key, Layer, ListMode, ObjectInfo, OutBuf, Precondition, ReadOptions, UpdateFn, Version, WriteOutcome,
    ZMap,
};

use crate::Op;

/// The counters of one method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Calls of the method.
    pub calls: u64,
    /// Objects or prefixes requested: one per call, in batches one per ticket.
    pub requests: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Bytes that reads returned, and bytes that were passed to the storage for writing, whether or not that
    /// succeeded.
    pub bytes: u64,
}

impl Count {
    fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            requests: self.requests + other.requests,
            failed: self.failed + other.failed,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// A snapshot of the counters by method. While other threads use the map, its numbers may differ slightly in
/// time.
///
/// `Display` prints a table of the methods that were called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts([Count; Op::ALL.len()]);

impl Counts {
    /// Returns the counters of one method.
    pub fn of(&self, op: Op) -> Count {
        self.0[op as usize]
    }

    /// Returns the sum over all methods that read objects and names.
    pub fn read(&self) -> Count {
        self.sum(Op::READS)
    }

    /// Returns the sum over all methods that change objects. The bytes of [`Op::Update`] are those read and
    /// written.
    pub fn written(&self) -> Count {
        self.sum(Op::WRITES)
    }

    fn sum(&self, ops: &[Op]) -> Count {
        ops.iter().fold(Count::default(), |sum, &op| sum.plus(self.of(op)))
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<15}{:>10}{:>10}{:>8}{:>16}", "method", "calls", "requests", "failed", "bytes")?;
        for (op, count) in Op::ALL.iter().zip(&self.0).filter(|(_, count)| count.calls > 0) {
            let Count { calls, requests, failed, bytes } = count;
            writeln!(f, "{op:<15}{calls:>10}{requests:>10}{failed:>8}{bytes:>16}")?;
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
struct Counters {
    calls: AtomicU64,
    requests: AtomicU64,
    failed: AtomicU64,
    bytes: AtomicU64,
}

impl Counters {
    fn one<T>(&self, outcome: &Result<T>, bytes: u64) {
        self.calls.fetch_add(1, Relaxed);
        self.request(outcome, bytes);
    }

    fn request<T>(&self, outcome: &Result<T>, bytes: u64) {
        self.requests.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        if outcome.is_err() {
            self.failed.fetch_add(1, Relaxed);
        }
    }
}

/// A map that counts requests and bytes per method, with atomics instead of locks. [`Counting::counts`]
/// returns them at any time.
#[derive(Debug)]
pub struct Counting {
    inner: Arc<dyn ZMap>,
    cells: [Counters; Op::ALL.len()],
}

impl Counting {
    /// Wraps a map.
    pub fn new(inner: Arc<dyn ZMap>) -> Self {
        Self { inner, cells: Default::default() }
    }

    /// Returns the counters.
    pub fn counts(&self) -> Counts {
        self.each(|number| number.load(Relaxed))
    }

    /// Returns the counters and resets them.
    pub fn take(&self) -> Counts {
        self.each(|number| number.swap(0, Relaxed))
    }

    fn each(&self, read: impl Fn(&AtomicU64) -> u64) -> Counts {
        Counts(std::array::from_fn(|i| {
            let cell = &self.cells[i];
            Count {
                calls: read(&cell.calls),
                requests: read(&cell.requests),
                failed: read(&cell.failed),
                bytes: read(&cell.bytes),
            }
        }))
    }

    fn cell(&self, op: Op) -> &Counters {
        &self.cells[op as usize]
    }

    fn count<T>(&self, op: Op, outcome: Result<T>, bytes: impl FnOnce(&T) -> u64) -> Result<T> {
        self.cell(op).one(&outcome, outcome.as_ref().map_or(0, bytes));
        outcome
    }
}

fn no_bytes<T>(_: &T) -> u64 {
    0
}

impl Layer for Counting {
    fn inner(&self) -> &dyn ZMap {
        &*self.inner
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        self.count(Op::Len, self.inner.len(key), no_bytes)
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        let outcome = self.inner.read_with(key, options, out);
        let bytes = |found: &Option<ObjectInfo>| if found.is_some() { out.len() as u64 } else { 0 };
        self.count(Op::of_read(options), outcome, bytes)
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        self.count(Op::of_list(mode), self.inner.list(prefix, mode), no_bytes)
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        let outcome = self.inner.write_if(key, value, expect);
        self.cell(Op::of_write(expect)).one(&outcome, value.len() as u64);
        outcome
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        self.count(Op::Delete, self.inner.delete(key), no_bytes)
    }

    fn sync(&self) -> Result<()> {
        self.count(Op::Sync, self.inner.sync(), no_bytes)
    }

    fn close(&self) -> Result<()> {
        self.count(Op::Close, self.inner.close(), no_bytes)
    }

    fn rename(&self, from: &Key, to: &Key) -> Result<()> {
        self.count(Op::Rename, self.inner.rename(from, to), no_bytes)
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        let outcome = self.inner.read_into(key, offset, out);
        self.count(Op::ReadInto, outcome, |&found| if found { out.filled().len() as u64 } else { 0 })
    }

    fn update(&self, key: &Key, limit: usize, change: &mut UpdateFn<'_>) -> Result<()> {
        let mut bytes = 0;
        let outcome = self.inner.update(key, limit, &mut |old, new| {
            bytes += old.map_or(0, <[u8]>::len) as u64;
            change(old, new)?;
            bytes += new.len() as u64;
            Ok(())
        });
        self.cell(Op::Update).one(&outcome, bytes);
        outcome
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        let cell = self.cell(Op::ReadBatch);
        cell.calls.fetch_add(1, Relaxed);
        self.inner.read_batch(&CountedReads { inner: job, cell });
    }

    fn write_batch(&self, job: &dyn WriteJob) {
        let cell = self.cell(Op::WriteBatch);
        cell.calls.fetch_add(1, Relaxed);
        self.inner.write_batch(&CountedWrites { inner: job, cell });
    }
}

struct CountedReads<'a> {
    inner: &'a dyn ReadJob,
    cell: &'a Counters,
}

#[deny(clippy::missing_trait_methods)]
impl ReadJob for CountedReads<'_> {
    fn threads(&self) -> usize {
        self.inner.threads()
    }

    fn remaining(&self) -> Option<usize> {
        self.inner.remaining()
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        self.inner.next(key)
    }

    /// Bytes are counted for whole objects.
    fn sink<'j>(&'j self, _: &ReadTicket<'_>) -> Option<Box<dyn ObjectSink + 'j>> {
        None
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let bytes = match &found {
            Ok(Some((ReadOutcome::Bytes(bytes), _))) => bytes.len(),
            Ok(Some((ReadOutcome::InPlace, _))) => ticket.into.as_ref().map_or(0, |into| into.filled().len()),
            Ok(None) | Err(_) => 0,
        };
        self.cell.request(&found, bytes as u64);
        self.inner.done(ticket, found);
    }
}

struct CountedWrites<'a> {
    inner: &'a dyn WriteJob,
    cell: &'a Counters,
}

#[deny(clippy::missing_trait_methods)]
impl WriteJob for CountedWrites<'_> {
    fn threads(&self) -> usize {
        self.inner.threads()
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        self.inner.next(key)
    }

    fn value(&self, index: usize, scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        let payload = self.inner.value(index, scratch)?;
        let bytes = match &payload {
            Payload::Scratch => scratch.len(),
            Payload::Borrowed(bytes) => bytes.len(),
        };
        self.cell.bytes.fetch_add(bytes as u64, Relaxed);
        Ok(payload)
    }

    fn has_parts(&self) -> bool {
        self.inner.has_parts()
    }

    fn parts(&self, index: usize, put: &mut PutPart<'_>) -> Result<()> {
        self.inner.parts(index, &mut |part| {
            self.cell.bytes.fetch_add(part.len() as u64, Relaxed);
            put(part)
        })
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        self.cell.request(&outcome, 0);
        self.inner.done(ticket, outcome);
    }
}

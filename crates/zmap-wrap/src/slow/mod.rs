//! [`Slow`]: a map with the delays and errors of a network, for tests and experiments.
//!
//! Delays are only added up ([`Slow::elapsed`]), unless [`Slow::sleeping`] makes threads wait.

mod faults;
mod job;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::batch::{ReadJob, WriteJob};
use nczarr_storage::{
    Key, Layer, ListMode, ObjectInfo, OutBuf, Precondition, ReadOptions, UpdateFn, WriteOutcome, ZMap,
};

use crate::Op;
use job::{SlowReads, SlowWrites};

pub use faults::{Fault, Faults, When};

/// A map with a delay for each request and byte, and planned faults.
#[derive(Debug)]
pub struct Slow {
    inner: Arc<dyn ZMap>,
    per_request: Duration,
    per_byte: Duration,
    sleeps: bool,
    /// In nanoseconds.
    elapsed: AtomicU64,
    faults: Faults,
}

impl Slow {
    /// Wraps a map, without delays or faults.
    pub fn new(inner: Arc<dyn ZMap>) -> Self {
        Self {
            inner,
            per_request: Duration::ZERO,
            per_byte: Duration::ZERO,
            sleeps: false,
            elapsed: AtomicU64::new(0),
            faults: Faults::default(),
        }
    }

    /// Sets the time of each request; each ticket of a batch is one.
    #[must_use]
    pub fn per_request(mut self, time: Duration) -> Self {
        self.per_request = time;
        self
    }

    /// Sets the time of each byte that is read or written.
    #[must_use]
    pub fn per_byte(mut self, time: Duration) -> Self {
        self.per_byte = time;
        self
    }

    /// Makes the calling thread sleep. Otherwise time is only added up.
    #[must_use]
    pub fn sleeping(mut self) -> Self {
        self.sleeps = true;
        self
    }

    /// Sets the plan of faults.
    #[must_use]
    pub fn faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    /// Returns the total time of all requests, as if they were sequential.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.elapsed.load(Relaxed))
    }

    fn spend(&self, time: Duration) {
        if time.is_zero() {
            return;
        }
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let add = |elapsed: u64| Some(elapsed.saturating_add(nanos));
        let _ = self.elapsed.fetch_update(Relaxed, Relaxed, add);
        if self.sleeps {
            std::thread::sleep(time);
        }
    }

    /// Spends the time of a request's bytes.
    fn carry(&self, bytes: usize) {
        self.spend(self.per_byte.saturating_mul(u32::try_from(bytes).unwrap_or(u32::MAX)));
    }

    /// Spends the time of a request, and returns its fault.
    ///
    /// # Panics
    /// If that is the fault.
    fn begin(&self, op: Op, key: &Key) -> Option<Fault> {
        self.spend(self.per_request);
        let fault = self.faults.next(op);
        if fault == Some(Fault::Panic) {
            panic_at(op, key);
        }
        fault
    }

    /// Runs a request that has no bytes.
    fn run<T>(&self, op: Op, key: &Key, run: impl FnOnce() -> Result<T>) -> Result<T> {
        let fault = self.begin(op, key);
        if let Some(Fault::Fail(kind) | Fault::Torn(kind)) = fault {
            return Err(injected(kind, op, key));
        }
        let outcome = run()?;
        self.end(op, key, fault).map(|()| outcome)
    }

    /// Reads into `out`, perhaps only half.
    fn fetch<T>(
        &self,
        op: Op,
        key: &Key,
        out: &mut Vec<u8>,
        read: impl FnOnce(&mut Vec<u8>) -> Result<T>,
    ) -> Result<T> {
        let fault = self.begin(op, key);
        if let Some(Fault::Fail(kind) | Fault::Torn(kind)) = fault {
            return Err(injected(kind, op, key));
        }
        let found = read(out)?;
        if fault == Some(Fault::Short) {
            out.truncate(out.len() / 2);
        }
        self.carry(out.len());
        self.end(op, key, fault).map(|()| found)
    }

    /// Stores `value`, perhaps only half.
    fn store<T>(&self, op: Op, key: &Key, value: &[u8], write: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        let fault = self.begin(op, key);
        let value = match fault {
            Some(Fault::Fail(kind)) => return Err(injected(kind, op, key)),
            Some(Fault::Torn(_)) => &value[..value.len() / 2],
            _ => value,
        };
        self.carry(value.len());
        let outcome = write(value)?;
        self.end(op, key, fault).map(|()| outcome)
    }

    /// Returns the planned result of a request that happened.
    ///
    /// # Panics
    /// If that is the fault.
    fn end(&self, op: Op, key: &Key, fault: Option<Fault>) -> Result<()> {
        match fault {
            Some(Fault::Late(kind) | Fault::Torn(kind)) => Err(injected(kind, op, key)),
            Some(Fault::LatePanic) => panic_at(op, key),
            _ => Ok(()),
        }
    }
}

/// Panics, as planned.
fn panic_at(op: Op, key: &Key) -> ! {
    panic!("key {:?}: {op} was made to panic", key.as_str())
}

/// Returns the error of a fault.
fn injected(kind: ErrorKind, op: Op, key: &Key) -> Error {
    kind.context(format!("key {:?}: {op} was made to fail", key.as_str()))
}

impl Layer for Slow {
    fn inner(&self) -> &dyn ZMap {
        &*self.inner
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        self.run(Op::Len, key, || self.inner.len(key))
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        self.fetch(Op::of_read(options), key, out, |out| self.inner.read_with(key, options, out))
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        self.run(Op::of_list(mode), prefix, || self.inner.list(prefix, mode))
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        self.store(Op::of_write(expect), key, value, |value| self.inner.write_if(key, value, expect))
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        self.run(Op::Delete, key, || self.inner.delete(key))
    }

    fn sync(&self) -> Result<()> {
        self.run(Op::Sync, &Key::root(), || self.inner.sync())
    }

    fn close(&self) -> Result<()> {
        self.run(Op::Close, &Key::root(), || self.inner.close())
    }

    fn rename(&self, from: &Key, to: &Key) -> Result<()> {
        self.run(Op::Rename, from, || self.inner.rename(from, to))
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        let fault = self.begin(Op::ReadInto, key);
        if let Some(Fault::Fail(kind) | Fault::Torn(kind)) = fault {
            return Err(injected(kind, Op::ReadInto, key));
        }
        let found = self.inner.read_into(key, offset, out)?;
        if fault == Some(Fault::Short) {
            let half = out.filled()[..out.filled().len() / 2].to_vec();
            out.clear();
            out.put(&half)?;
        }
        self.carry(out.filled().len());
        self.end(Op::ReadInto, key, fault).map(|()| found)
    }

    fn update(&self, key: &Key, limit: usize, change: &mut UpdateFn<'_>) -> Result<()> {
        let fault = self.begin(Op::Update, key);
        if let Some(Fault::Fail(kind)) = fault {
            return Err(injected(kind, Op::Update, key));
        }
        self.inner.update(key, limit, &mut |old, new| {
            change(old, new)?;
            if matches!(fault, Some(Fault::Torn(_))) {
                new.truncate(new.len() / 2);
            }
            self.carry(old.map_or(0, <[u8]>::len).saturating_add(new.len()));
            Ok(())
        })?;
        self.end(Op::Update, key, fault)
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        self.inner.read_batch(&SlowReads::new(self, job));
    }

    fn write_batch(&self, job: &dyn WriteJob) {
        self.inner.write_batch(&SlowWrites::new(self, job));
    }
}

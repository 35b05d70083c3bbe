//! A map in memory that counts its calls and fails on request.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::{OutBuf, run_on_pool};
use nczarr_storage::batch::{ReadJob, ReadOutcome, read_parallel};
use nczarr_storage::{
    ByteRange, Key, MapCaps, ObjectInfo, Precondition, ReadOptions, Version, WriteOutcome, ZMap,
};

pub struct Mem {
    pub objects: Mutex<BTreeMap<String, (Vec<u8>, u64)>>,
    pub caps: MapCaps,
    parallel_writes: bool,
    pub lens: AtomicUsize,
    pub reads: AtomicUsize,
    pub read_bytes: AtomicUsize,
    pub writes: AtomicUsize,
    /// The number of writes that fail next.
    pub failing_writes: AtomicUsize,
    /// The number of reads that fail next.
    pub failing_reads: AtomicUsize,
    /// The number of conditional writes that lose a race next. Each lost race adds one to every element.
    pub losing: AtomicUsize,
    /// Runs once, after a read and before its result is returned.
    pub meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// Runs once, when bytes to write arrive.
    pub before_write: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    clock: AtomicUsize,
}

impl fmt::Debug for Mem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mem")
    }
}

pub const ALL: MapCaps = MapCaps::new()
    .write(true)
    .overwrite(true)
    .delete(true)
    .list(true)
    .range_read(true)
    .conditional_write(true);

impl Mem {
    pub fn new(caps: MapCaps) -> Self {
        let zero = || AtomicUsize::new(0);
        Self {
            objects: Mutex::default(),
            caps,
            parallel_writes: false,
            lens: zero(),
            reads: zero(),
            read_bytes: zero(),
            writes: zero(),
            failing_writes: zero(),
            failing_reads: zero(),
            losing: zero(),
            meanwhile: Mutex::default(),
            before_write: Mutex::default(),
            clock: zero(),
        }
    }

    /// Sets the `parallel_writes` flag of the map.
    pub fn with_parallel_writes(self, parallel_writes: bool) -> Self {
        Self { parallel_writes, ..self }
    }

    pub fn object(&self, key: &str) -> Option<Vec<u8>> {
        self.objects.lock().unwrap().get(key).map(|(bytes, _)| bytes.clone())
    }

    pub fn set(&self, key: &str, bytes: &[u8]) {
        self.objects.lock().unwrap().insert(key.to_owned(), (bytes.to_vec(), self.tick()));
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, SeqCst) as u64
    }

    fn fail(counter: &AtomicUsize) -> bool {
        counter.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok()
    }

    fn call(hook: &Mutex<Option<Box<dyn FnOnce() + Send>>>) {
        let hook = hook.lock().unwrap().take();
        if let Some(hook) = hook {
            hook();
        }
    }

    fn cut(bytes: &[u8], range: ByteRange) -> &[u8] {
        let start = bytes.len().min(range.offset as usize);
        let end = range.len.map_or(bytes.len(), |len| bytes.len().min(start.saturating_add(len as usize)));
        &bytes[start..end]
    }
}

impl ZMap for Mem {
    fn caps(&self) -> MapCaps {
        self.caps.parallel_writes(self.parallel_writes)
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        self.lens.fetch_add(1, SeqCst);
        Ok(self.objects.lock().unwrap().get(key.as_str()).map(|(bytes, _)| bytes.len() as u64))
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        self.reads.fetch_add(1, SeqCst);
        if Self::fail(&self.failing_reads) {
            return Err(ErrorKind::Io.context("the disk is gone"));
        }
        out.clear();
        let objects = self.objects.lock().unwrap();
        let Some((bytes, version)) = objects.get(key.as_str()) else { return Ok(None) };
        out.extend_from_slice(Self::cut(bytes, options.range));
        if options.versioned {
            return Ok(Some(ObjectInfo::new(Some(Version::comparable(*version)))));
        }
        self.read_bytes.fetch_add(out.len(), SeqCst);
        drop(objects);
        Self::call(&self.meanwhile);
        Ok(Some(ObjectInfo::default()))
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        self.reads.fetch_add(1, SeqCst);
        if Self::fail(&self.failing_reads) {
            return Err(ErrorKind::Io.context("the disk is gone"));
        }
        let objects = self.objects.lock().unwrap();
        let Some((bytes, _)) = objects.get(key.as_str()) else { return Ok(false) };
        let bytes = Self::cut(bytes, ByteRange::new(offset, out.capacity() as u64));
        self.read_bytes.fetch_add(bytes.len(), SeqCst);
        out.put(bytes)?;
        Ok(true)
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        if !self.caps.versioned_parts {
            return read_parallel(self, job);
        }
        run_on_pool(job.threads(), &|| {
            let mut key = Key::root();
            while let Some(ticket) = job.next(&mut key) {
                self.reads.fetch_add(1, SeqCst);
                if Self::fail(&self.failing_reads) {
                    job.done(ticket, Err(ErrorKind::Io.context("the disk is gone")));
                    continue;
                }
                let object = self.objects.lock().unwrap().get(key.as_str()).cloned();
                Self::call(&self.meanwhile);
                let Some((bytes, version)) = object else {
                    job.done(ticket, Ok(None));
                    continue;
                };
                match ticket.ranges.cut(&key, &bytes, ticket.limit) {
                    Ok(bytes) => {
                        self.read_bytes.fetch_add(bytes.len(), SeqCst);
                        let version = ticket.versioned.then(|| Version::comparable(version));
                        job.done(ticket, Ok(Some((ReadOutcome::Bytes(&bytes), version))));
                    }
                    Err(error) => job.done(ticket, Err(error)),
                }
            }
        });
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        if let Precondition::Any = expect {
            self.writes.fetch_add(1, SeqCst);
            Self::call(&self.before_write);
            if Self::fail(&self.failing_writes) {
                return Err(ErrorKind::Io.context("the disk is full"));
            }
            self.set(key.as_str(), value);
            return Ok(WriteOutcome::Done(None));
        }
        Self::call(&self.before_write);
        if Self::fail(&self.failing_writes) {
            return Err(ErrorKind::Io.context("the disk is full"));
        }
        self.writes.fetch_add(1, SeqCst);
        let mut objects = self.objects.lock().unwrap();
        if Self::fail(&self.losing)
            && let Some((bytes, version)) = objects.get_mut(key.as_str())
        {
            bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
            *version = self.tick();
        }
        let found = objects.get(key.as_str()).map(|(_, version)| *version);
        let expected = match expect {
            Precondition::Any | Precondition::Absent => None,
            Precondition::Unchanged(version) => Some(*version.get::<u64>().unwrap()),
        };
        if found != expected {
            return Ok(WriteOutcome::Conflict);
        }
        objects.insert(key.as_str().to_owned(), (value.to_vec(), self.tick()));
        Ok(WriteOutcome::Done(None))
    }
}

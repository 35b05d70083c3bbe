//! A map that records the calls of its methods. Each method gives a different answer.

use std::collections::BTreeMap;
use std::sync::Mutex;

use nczarr_model::Result;
use nczarr_storage::batch::{ReadJob, ReadOutcome, WriteJob};
use nczarr_storage::{
    Key, ListMode, MapCaps, ObjectInfo, OutBuf, Precondition, ReadOptions, UpdateFn, Version, WriteOutcome,
    ZMap,
};
use nczarr_zmap_wrap::Op;

#[derive(Debug, Default)]
pub struct Recorder(Mutex<BTreeMap<Op, usize>>);

impl Recorder {
    fn note(&self, op: Op) {
        *self.0.lock().unwrap().entry(op).or_default() += 1;
    }

    /// The calls since the last query.
    pub fn take(&self) -> BTreeMap<Op, usize> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

pub const CAPS: MapCaps = MapCaps::new()
    .write(true)
    .delete(true)
    .range_read(true)
    .conditional_write(true)
    .remote(true)
    .parallel_writes(true)
    .max_key(Some(MAX_KEY))
    .max_segment(Some(MAX_SEGMENT));

pub const MAX_KEY: usize = 333;
pub const MAX_SEGMENT: usize = 111;

#[deny(clippy::missing_trait_methods)]
impl ZMap for Recorder {
    fn caps(&self) -> MapCaps {
        CAPS
    }

    fn len(&self, _: &Key) -> Result<Option<u64>> {
        self.note(Op::Len);
        Ok(Some(11))
    }

    fn read_with(&self, _: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        self.note(Op::of_read(options));
        out.clear();
        out.extend_from_slice(if options.versioned { b"versioned" } else { b"read" });
        Ok(Some(ObjectInfo::new(options.versioned.then(|| Version::new(7u8)))))
    }

    fn list(&self, _: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        self.note(Op::of_list(mode));
        let name = match mode {
            ListMode::Children => "search",
            ListMode::PossibleChildren => "names",
            ListMode::InvalidNames => "unnamable",
            ListMode::Keys => "list",
            ListMode::KeysInOneRequest => "once",
            _ => return Ok(None),
        };
        Ok(Some(vec![name.to_owned()]))
    }

    fn write_if(&self, _: &Key, _: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        self.note(Op::of_write(expect));
        Ok(if matches!(expect, Precondition::Any) {
            WriteOutcome::Done(None)
        } else {
            WriteOutcome::Conflict
        })
    }

    fn delete(&self, _: &Key) -> Result<bool> {
        self.note(Op::Delete);
        Ok(true)
    }

    fn sync(&self) -> Result<()> {
        self.note(Op::Sync);
        Ok(())
    }

    fn close(&self) -> Result<()> {
        self.note(Op::Close);
        Ok(())
    }

    fn rename(&self, _: &Key, _: &Key) -> Result<()> {
        self.note(Op::Rename);
        Ok(())
    }

    fn read_into(&self, _: &Key, _: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        self.note(Op::ReadInto);
        out.put(b"into")?;
        Ok(true)
    }

    fn update(&self, _: &Key, _: usize, change: &mut UpdateFn<'_>) -> Result<()> {
        self.note(Op::Update);
        let mut new = Vec::new();
        change(Some(b"old"), &mut new)
    }

    fn image(&self) -> Result<Vec<u8>> {
        Ok(b"image".to_vec())
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        self.note(Op::ReadBatch);
        let mut key = Key::root();
        while let Some(ticket) = job.next(&mut key) {
            job.done(ticket, Ok(Some((ReadOutcome::Bytes(b"batch"), None))));
        }
    }

    fn write_batch(&self, job: &dyn WriteJob) {
        self.note(Op::WriteBatch);
        let mut key = Key::root();
        while let Some(ticket) = job.next(&mut key) {
            let outcome = job.value(ticket.index, &mut Vec::new()).map(|_| WriteOutcome::Conflict);
            job.done(ticket, outcome);
        }
    }
}

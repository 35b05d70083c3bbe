//! The map's methods over a cache.

use nczarr_model::Result;
use nczarr_storage::batch::{ReadJob, WriteJob};
use nczarr_storage::{
    ByteRange, Key, Layer, ObjectInfo, OutBuf, Precondition, ReadOptions, UpdateFn, WriteOutcome, ZMap,
};

use super::job::{CachedReads, TrackedWrites};
use super::part::ObjectPart;
use super::{CacheAnswer, Cached};

impl Layer for Cached {
    fn inner(&self) -> &dyn ZMap {
        &*self.inner
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        match self.find(key, None).0 {
            Some(CacheAnswer::Whole(bytes)) => {
                self.hit(0);
                Ok(Some(bytes.len() as u64))
            }
            Some(CacheAnswer::Absent) => {
                self.hit(0);
                Ok(None)
            }
            _ => self.inner.len(key),
        }
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        if options.versioned {
            return self.inner.read_with(key, options, out);
        }
        let part = ObjectPart::of(options.range);
        let (answer, seen) = self.find(key, Some(part));
        let bytes = match &answer {
            Some(CacheAnswer::Whole(bytes)) => part.cut(bytes),
            Some(CacheAnswer::Part(bytes)) => bytes,
            Some(CacheAnswer::Absent) => {
                self.hit(0);
                out.clear();
                return Ok(None);
            }
            None => {
                let found = self.inner.read_with(key, options, out)?;
                self.record_answer(key, part, found.is_some().then_some(out), seen);
                return Ok(found);
            }
        };
        self.hit(bytes.len());
        out.clear();
        out.extend_from_slice(bytes);
        Ok(Some(ObjectInfo::default()))
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        let _writing = self.begin(key)?;
        self.inner.delete(key)
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()?;
        self.refresh()
    }

    fn rename(&self, from: &Key, to: &Key) -> Result<()> {
        let _writing = self.begin_all()?;
        self.inner.rename(from, to)
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        let part = ObjectPart::of(ByteRange::new(offset, out.capacity() as u64));
        let (answer, seen) = self.find(key, Some(part));
        let bytes = match &answer {
            Some(CacheAnswer::Whole(bytes)) => part.cut(bytes),
            Some(CacheAnswer::Part(bytes)) => bytes,
            Some(CacheAnswer::Absent) => {
                self.hit(0);
                out.clear();
                return Ok(false);
            }
            None => {
                let found = self.inner.read_into(key, offset, out)?;
                self.record_answer(key, part, found.then_some(out.filled()), seen);
                return Ok(found);
            }
        };
        self.hit(bytes.len());
        out.clear();
        out.put(bytes)?;
        Ok(true)
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        let _writing = self.begin(key)?;
        self.inner.write_if(key, value, expect)
    }

    fn update(&self, key: &Key, limit: usize, change: &mut UpdateFn<'_>) -> Result<()> {
        let _writing = self.begin(key)?;
        self.inner.update(key, limit, change)
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        self.inner.read_batch(&CachedReads::new(self, job));
    }

    fn write_batch(&self, job: &dyn WriteJob) {
        self.inner.write_batch(&TrackedWrites::new(self, job));
    }
}

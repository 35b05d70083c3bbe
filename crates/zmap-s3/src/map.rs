//! [`S3Map`]: the objects below one prefix of a bucket.
//!
//! Each operation is one request. Existence, length and value come from one GET. HEAD is never used, because
//! its response does not tell an absent key from an absent bucket. A key that is only a prefix has no object.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::{StopSignal, stoppable};
use nczarr_storage::batch::{ReadJob, WriteJob};
use nczarr_storage::{
    ByteRange, Forbidden, Key, ListMode, MapCaps, ObjectInfo, OutBuf, Precondition, ReadOptions, UpdateFn,
    Version, WriteOutcome, ZMap, ZMapExt,
};
use tokio::task::JoinHandle;

use crate::access::Access;
use crate::batch;
use crate::conditions::ProbeVerdict;
use crate::deadline::Deadline;
use crate::failure::RequestFailure;
use crate::get::{FetchedObject, GetRange, ReadMiss};
use crate::list::{ListDepth, OWN};
use crate::parts::is_part;
use crate::put::{MOST, PutOutcome, WriteCondition};
use crate::remote::{RemoteBucket, pause};
use crate::runtime;

/// The longest object key in bytes.
const LONGEST: usize = 1024;
/// Most lost races before an update fails.
const TRIES: u32 = 64;
/// Longest pause after the first lost race.
const RACE: Duration = Duration::from_millis(5);

/// The content of a version.
#[derive(PartialEq)]
struct ObjectVersion {
    etag: Arc<str>,
    /// Bucket and key.
    object: String,
}

/// The objects of a dataset in S3.
pub struct S3Map {
    pub(crate) remote: Arc<RemoteBucket>,
    writable: bool,
    /// No other process writes, so writes are unconditional.
    exclusive: bool,
    /// Whether conditional writes separate writers, once known.
    probe_verdict: OnceLock<ProbeVerdict>,
    /// Locked during the probe.
    finding: Mutex<()>,
    /// The running removal of the probe's objects.
    removal: Mutex<Option<JoinHandle<()>>>,
    /// Locked by updates of this process that lost several races.
    turn: Mutex<()>,
}

impl S3Map {
    /// Opens the map at `access` without a request.
    ///
    /// # Errors
    /// `NC_ES3` if the system provides no threads; `NC_EINVAL` for parts smaller than 5 MiB at Amazon's
    /// endpoint.
    pub fn open(access: Access, writable: bool) -> Result<Self> {
        if access.endpoint.is_none() && !is_part(access.part) {
            return Err(ErrorKind::Inval.context(format!("{}: parts must have at least 5 MiB", access.shown)));
        }
        Ok(Self {
            remote: RemoteBucket::new(access)?,
            writable,
            exclusive: false,
            probe_verdict: OnceLock::new(),
            finding: Mutex::default(),
            removal: Mutex::default(),
            turn: Mutex::default(),
        })
    }

    /// Promises that no other process writes the dataset. Then writes are unconditional, and the server need
    /// not support conditions. Without the promise, writing to a server whose conditional writes do not
    /// separate writers is refused.
    #[must_use]
    pub fn exclusive(mut self, exclusive: bool) -> Self {
        self.exclusive = exclusive;
        self
    }

    /// Whether the map has no objects.
    ///
    /// # Errors
    /// Errors of the server.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.below(&Key::root(), ListDepth::Any, self.deadline())?.is_empty())
    }

    /// Sends what changes the server and waits for the answer. It finishes once it is on its way.
    fn wait<T: Send + 'static>(
        &self,
        verb: &str,
        object: &str,
        work: impl Future<Output = Result<T, (RequestFailure, u32)>> + Send + 'static,
    ) -> Result<T> {
        self.answer(verb, object, async move { Ok(work.await) })
    }

    /// Sends what only reads and waits for the answer. It is abandoned when the call is stopped.
    fn wait_for_read<T: Send + 'static>(
        &self,
        verb: &str,
        object: &str,
        work: impl Future<Output = Result<T, (RequestFailure, u32)>> + Send + 'static,
    ) -> Result<T> {
        self.answer(verb, object, stoppable(work))
    }

    fn answer<T: Send + 'static>(
        &self,
        verb: &str,
        object: &str,
        work: impl Future<Output = Result<Result<T, (RequestFailure, u32)>>> + Send + 'static,
    ) -> Result<T> {
        StopSignal::check_current()?;
        let span = runtime::request_span(verb, object);
        let done = runtime::wait(&self.remote.handle, work)??;
        drop(span);
        done.map_err(|(failure, tries)| failure.into_error(&self.remote.describe(verb, object), tries))
    }

    pub(crate) fn deadline(&self) -> Deadline {
        self.remote.deadline(0)
    }

    fn get(
        &self,
        key: &Key,
        want: GetRange,
        limit: u64,
        mut deadline: Deadline,
    ) -> Result<Option<FetchedObject>> {
        if key.is_root() {
            return Ok(None);
        }
        self.check_key(key)?;
        let object = self.remote.object(key);
        let (remote, name) = (Arc::clone(&self.remote), object.clone());
        let read = async move { remote.get(&name, want, limit, &mut deadline).await };
        match self.wait_for_read("read", &object, read).map_err(Forbidden::with_advice)? {
            Ok(found) => Ok(Some(found)),
            Err(ReadMiss::Absent) => Ok(None),
            Err(ReadMiss::TooLong(len)) => Err(too_long(&self.remote.describe("read", &object), len, limit)),
            Err(ReadMiss::Changed) => Err(changed(&self.remote.describe("read", &object))),
            Err(ReadMiss::Failed(failure)) => {
                Err(Forbidden::with_advice(failure.into_error(&self.remote.describe("read", &object), 1)))
            }
        }
    }

    fn put(
        &self,
        key: &Key,
        value: Bytes,
        condition: WriteCondition,
        deadline: Deadline,
    ) -> Result<PutOutcome> {
        self.check_put(key, value.len() as u64, deadline)?;
        let object = self.remote.object(key);
        let (remote, name) = (Arc::clone(&self.remote), object.clone());
        self.wait("write", &object, async move { remote.put(&name, value, &condition, deadline).await })
    }

    /// Checks the size of an object to be written.
    pub(crate) fn check_put(&self, key: &Key, size: u64, deadline: Deadline) -> Result<()> {
        if !self.writable {
            return Err(ErrorKind::Perm
                .context(format!("{}: key {key}: the map is read-only", self.remote.access.shown)));
        }
        if key.is_root() {
            return Err(ErrorKind::Object
                .context(format!("{}: the root key cannot have an object", self.remote.access.shown)));
        }
        self.check_key(key)?;
        if size > MOST {
            let what = self.remote.describe("write", &self.remote.object(key));
            return Err(ErrorKind::VarSize
                .context(format!("{what}: too large (expected at most {MOST} bytes, found {size})")));
        }
        self.check_shared(key, deadline)
    }

    /// Checks the length of a key.
    pub(crate) fn check_key(&self, key: &Key) -> Result<()> {
        let len = self.remote.object(key).len();
        if len > LONGEST {
            return Err(ErrorKind::MaxName.context(format!(
                "{}: key {key}: too long with the dataset's prefix (expected at most {LONGEST} bytes, found {len})",
                self.remote.access.shown
            )));
        }
        Ok(())
    }

    /// Returns the common prefix of all object keys below a prefix.
    fn start(&self, prefix: &Key) -> String {
        let object = self.remote.object(prefix);
        if object.is_empty() { object } else { format!("{object}/") }
    }

    fn below(&self, prefix: &Key, how: ListDepth, deadline: Deadline) -> Result<BTreeSet<String>> {
        let start = self.start(prefix);
        let (remote, name) = (Arc::clone(&self.remote), start.clone());
        self.wait_for_read("list", &start, async move { remote.list(&name, how, deadline).await })
    }

    /// Converts an expected version to the condition of a write.
    pub(crate) fn only(
        &self,
        key: &Key,
        expect: &Precondition,
        deadline: Deadline,
    ) -> Result<WriteCondition> {
        if !matches!(expect, Precondition::Any) {
            self.want_conditions(key, deadline)?;
        }
        match expect {
            Precondition::Any => Ok(WriteCondition::Always),
            Precondition::Absent => Ok(WriteCondition::Absent),
            Precondition::Unchanged(version) => match version.get::<ObjectVersion>() {
                Some(mark) if mark.object == self.named(key) => {
                    Ok(WriteCondition::Is(Arc::clone(&mark.etag)))
                }
                _ => Err(ErrorKind::Inval.context(format!(
                    "{}: key {key}: the version is of another object",
                    self.remote.access.shown
                ))),
            },
        }
    }

    /// Returns the name of the object at its endpoint.
    fn named(&self, key: &Key) -> String {
        format!("{}/{}", self.remote.access.bucket, self.remote.object(key))
    }

    pub(crate) fn version(&self, key: &Key, etag: &Arc<str>) -> Version {
        Version::comparable(ObjectVersion { etag: Arc::clone(etag), object: self.named(key) })
    }

    /// Refuses conditional writes where conditions do not hold, or in exclusive mode.
    fn want_conditions(&self, key: &Key, deadline: Deadline) -> Result<()> {
        if self.exclusive {
            let what = "the map is exclusive, so conditional writes are not allowed";
            return Err(ErrorKind::Perm.context(format!("{}: key {key}: {what}", self.remote.access.shown)));
        }
        self.check_shared(key, deadline)
    }

    /// Probes once whether writers can be separated, unless there is only one. It runs before anything is
    /// written, so no half-written dataset is left.
    ///
    /// # Errors
    /// `NC_EPERM` if they cannot, or if the map is read-only; errors of the server.
    pub(crate) fn check_shared(&self, key: &Key, deadline: Deadline) -> Result<()> {
        let shown = &self.remote.access.shown;
        if !self.writable {
            return Err(ErrorKind::Perm.context(format!("{shown}: key {key}: the map is read-only")));
        }
        if self.exclusive {
            return Ok(());
        }
        if self.probe_verdict.get().is_none() {
            let _finding = self.finding.lock().unwrap_or_else(PoisonError::into_inner);
            if self.probe_verdict.get().is_none() {
                let object = self.remote.object(&Key::new(OWN)?);
                let probe = Arc::clone(&self.remote).probe(deadline);
                let (verdict, removal) = self.wait("write", &object, probe)?;
                *self.removal.lock().unwrap_or_else(PoisonError::into_inner) = removal;
                // The lock makes this the first.
                let _ = self.probe_verdict.set(verdict);
            }
        }
        match self.probe_verdict.get().copied().flatten() {
            None => Ok(()),
            Some(why) => Err(ErrorKind::Perm.context(format!(
                "{shown}: key {key}: {why}, so what others write could be lost; nothing was written; if nobody else \
                 writes, open the dataset as exclusive (--exclusive, #exclusive=true in the URL, or ZARR.EXCLUSIVE=true \
                 in an rc file)"
            ))),
        }
    }

    /// Waits until the probe's objects are removed.
    fn await_removal(&self) -> Result<()> {
        let removal = self.removal.lock().unwrap_or_else(PoisonError::into_inner).take();
        // An object that could not be removed is not part of the dataset.
        removal.map_or(Ok(()), |removal| runtime::wait(&self.remote.handle, async { drop(removal.await) }))
    }

    /// Reads a range of an object, and its version.
    fn read_until(
        &self,
        key: &Key,
        range: ByteRange,
        out: &mut Vec<u8>,
        deadline: Deadline,
    ) -> Result<Option<Version>> {
        out.clear();
        self.want_conditions(key, deadline)?;
        let limit = range.len.map_or(u64::MAX, |len| range.offset.saturating_add(len));
        // A longer object is read up to the requested length, in a second request. Both are rare.
        let found = match self.get(key, GetRange::All, limit, deadline) {
            Err(error) if error.kind() == ErrorKind::Io => {
                self.get(key, GetRange::Span(0, limit.max(1)), limit.max(1), deadline)?
            }
            found => found?,
        };
        let Some(found) = found else { return Ok(None) };
        out.extend_from_slice(range.cut(&found.bytes));
        Ok(Some(self.version(key, &found.etag)))
    }

    fn write_until(
        &self,
        key: &Key,
        value: &[u8],
        expect: &Precondition,
        deadline: Deadline,
    ) -> Result<WriteOutcome> {
        self.check_put(key, value.len() as u64, deadline)?;
        let only = self.only(key, expect, deadline)?;
        Ok(match self.put(key, Bytes::copy_from_slice(value), only, deadline)? {
            PutOutcome::Done(etag) => WriteOutcome::Done(Some(self.version(key, &etag))),
            PutOutcome::Lost => WriteOutcome::Conflict,
        })
    }

    /// Returns all keys at or below a prefix.
    fn keys_below(&self, prefix: &Key) -> Result<Vec<String>> {
        let deadline = self.deadline();
        let names = self.below(prefix, ListDepth::Deep, deadline)?;
        let mut keys: Vec<String> = names.iter().map(|name| below(prefix, name)).collect();
        if !prefix.is_root() && self.get(prefix, GetRange::PRESENCE, 2, deadline)?.is_some() {
            keys.insert(0, prefix.as_str().to_owned());
        }
        Ok(keys)
    }

    fn remove(&self, key: &Key, deadline: Deadline) -> Result<()> {
        let object = self.remote.object(key);
        let (remote, name) = (Arc::clone(&self.remote), object.clone());
        self.wait("delete", &object, async move { remote.delete(&name, deadline).await })
    }

    /// Removes everything, and `last` at the end.
    pub(crate) fn clear(&self, last: &[&str]) -> Result<()> {
        let keys = self.keys(&Key::root())?;
        let (last, first): (Vec<_>, Vec<_>) = keys.into_iter().partition(|key| last.contains(&key.as_str()));
        for keys in [first, last] {
            batch::delete(&self.remote, &keys)?;
        }
        Ok(())
    }
}

/// Returns a key below a prefix.
fn below(prefix: &Key, name: &str) -> String {
    if prefix.is_root() { name.to_owned() } else { format!("{prefix}/{name}") }
}

/// Makes the error for an object that exceeds a limit.
pub(crate) fn too_long(what: &str, len: u64, limit: u64) -> Error {
    ErrorKind::Io.context(format!("{what}: too long (expected at most {limit} bytes, found {len})"))
}

/// Makes the error for an object that changed.
pub(crate) fn changed(what: &str) -> Error {
    ErrorKind::Io.context(format!("{what}: the object changed since it was opened"))
}

/// Shows the location, without credentials.
impl fmt::Debug for S3Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Map")
            .field("access", &self.remote.access)
            .field("writable", &self.writable)
            .finish()
    }
}

impl ZMap for S3Map {
    fn caps(&self) -> MapCaps {
        MapCaps::new()
            .write(self.writable)
            .overwrite(self.writable)
            .delete(self.writable)
            .list(true)
            .range_read(true)
            .conditional_write(
                self.writable && !self.exclusive && self.probe_verdict.get().is_none_or(Option::is_none),
            )
            .versioned_parts(true)
            .remote(true)
            .max_key(Some(LONGEST.saturating_sub(self.start(&Key::root()).len())))
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        Ok(self.get(key, GetRange::PRESENCE, 2, self.deadline())?.map(|found| found.total))
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        let range = options.range;
        if options.versioned {
            let version = self.read_until(key, range, out, self.deadline())?;
            return Ok(version.map(|version| ObjectInfo::new(Some(version))));
        }
        out.clear();
        let nothing = range.len == Some(0);
        let want = match range {
            ByteRange { offset: 0, len: None } => GetRange::All,
            ByteRange { offset, len: None } => GetRange::From(offset),
            ByteRange { offset, len: Some(len) } => GetRange::Span(offset, len.max(1)),
        };
        let limit = range.len.map_or(u64::MAX, |len| len.max(1));
        let Some(found) = self.get(key, want, limit, self.deadline())? else { return Ok(None) };
        if !nothing {
            out.extend_from_slice(&found.bytes);
        }
        Ok(Some(ObjectInfo::default()))
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        out.clear();
        let room = out.capacity() as u64;
        let want = GetRange::Span(offset, room.max(1));
        let Some(found) = self.get(key, want, room.max(1), self.deadline())? else { return Ok(false) };
        if room > 0 {
            out.put(&found.bytes)?;
        }
        Ok(true)
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        match mode {
            ListMode::Children | ListMode::PossibleChildren => {
                Ok(Some(self.below(prefix, ListDepth::Flat, self.deadline())?.into_iter().collect()))
            }
            ListMode::Keys => self.keys_below(prefix).map(Some),
            ListMode::KeysInOneRequest => {
                let start = self.start(prefix);
                let (remote, name) = (Arc::clone(&self.remote), start.clone());
                let list = async move { remote.list_in_one_request(&name).await };
                let names = self.wait_for_read("list", &start, list)?;
                Ok(names.map(|names| names.iter().map(|name| below(prefix, name)).collect()))
            }
            _ => Ok(None),
        }
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        self.write_until(key, value, expect, self.remote.deadline(value.len() as u64))
    }

    fn update(&self, key: &Key, limit: usize, change: &mut UpdateFn<'_>) -> Result<()> {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        let (mut turn, mut deadline) = (None, self.deadline());
        for lost in 0..TRIES {
            let range = ByteRange::first((limit as u64).saturating_add(1));
            let version = self.read_until(key, range, &mut old, deadline)?;
            if old.len() > limit {
                let what = self.remote.describe("update", &self.remote.object(key));
                return Err(too_long(&what, old.len() as u64, limit as u64));
            }
            new.clear();
            change(version.is_some().then_some(&old[..]), &mut new)?;
            let expect = Precondition::unchanged(version);
            deadline.moves(new.len() as u64);
            if let WriteOutcome::Done(_) = self.write_until(key, &new, &expect, deadline)? {
                return Ok(());
            }
            if turn.is_none() {
                // Threads of this process take turns instead of racing.
                turn = Some(self.turn.lock().unwrap_or_else(PoisonError::into_inner));
            }
            std::thread::sleep(pause(RACE, lost + 1));
        }
        drop(turn);
        let what = self.remote.describe("update", &self.remote.object(key));
        Err(ErrorKind::CantWrite.context(format!("{what}: other writers changed it during {TRIES} attempts")))
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        if !self.writable {
            return Err(ErrorKind::Perm
                .context(format!("{}: key {key}: the map is read-only", self.remote.access.shown)));
        }
        // S3 does not report whether the object existed.
        let deadline = self.deadline();
        if self.get(key, GetRange::PRESENCE, 2, deadline)?.is_none() {
            return Ok(false);
        }
        self.remove(key, deadline)?;
        Ok(true)
    }

    fn sync(&self) -> Result<()> {
        self.await_removal()
    }

    fn close(&self) -> Result<()> {
        self.await_removal()
    }

    fn rename(&self, from: &Key, to: &Key) -> Result<()> {
        batch::rename(self, from, to)
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        batch::read(self, job);
    }

    fn write_batch(&self, job: &dyn WriteJob) {
        batch::write(self, job);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_large_objects_and_keys_are_refused_before_sending() {
        let target = nczarr_url_infer::parse("http://127.0.0.1:1/bucket/set#mode=s3").unwrap();
        let ignored = |name: &str| (name == "NCRCENV_IGNORE").then(|| "1".to_owned());
        let map =
            S3Map::open(Access::with_variables(&target, &ignored).unwrap(), true).unwrap().exclusive(true);
        let key = Key::new("a").unwrap();
        map.check_put(&key, MOST, map.deadline()).unwrap();
        let error = map.check_put(&key, MOST + 1, map.deadline()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::VarSize, "{error}");
        assert!(error.to_string().contains("bucket/set/a"), "{error}");
        let long = Key::new(&"k".repeat(LONGEST)).unwrap();
        assert_eq!(map.check_put(&long, 1, map.deadline()).unwrap_err().kind(), ErrorKind::MaxName);
    }
}

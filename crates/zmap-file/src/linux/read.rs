//! Reading of objects: `open`, `pread` and `close`. `fetch` reads the bytes.

use std::cell::Cell;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::run_on_pool;
use nczarr_storage::batch::{Ranges, ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::{ByteRange, Key, OutBuf, Version};
use rustix::fs::{FileType, Mode, Stat, fstat};
use rustix::io::Errno;

use super::fetch::{ReadOutput, ReadScratch, fetch, one_into, size, stream_to, vec_from, want_regular};
use super::memory::ReadBuffer;
use super::open_file::OpenFile;
use super::read_failure::ReadFailure;
use super::version::FileVersion;
use super::{FileMap, beneath};
use crate::names;

/// The largest scratch memory that a thread keeps.
const MAX_KEPT_SCRATCH: usize = 16 << 20;

/// The largest read from a cached file.
const MAX_CACHED_READ: usize = 4 << 10;

/// The number of missing objects that are reported together.
const ABSENT_PER_REPORT: usize = 64;

thread_local! {
    /// Taken while in use, because a thread that waits for a batch may run another one. Boxed, so that taking
    /// it is cheap.
    static SCRATCH: Cell<Option<Box<ReadScratch>>> = const { Cell::new(None) };
}

impl FileMap {
    /// Opens an object; `None` only if it does not exist.
    fn open_object(&self, key: &Key) -> Result<Option<OwnedFd>> {
        match self.try_open(key)? {
            Some(file) => Ok(Some(file)),
            None => self.want_root().map(|()| None),
        }
    }

    /// As [`FileMap::open_object`], but `None` may also mean that the dataset was removed.
    fn try_open(&self, key: &Key) -> Result<Option<OwnedFd>> {
        if names::has_reserved(key) {
            return Ok(None);
        }
        match beneath::open(self.root(), key.as_str(), beneath::READ, Mode::empty()) {
            Ok(file) => Ok(Some(file)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(self.fail(key.as_str(), "open", errno)),
        }
    }

    /// Checks that the dataset itself still exists, before an object counts as absent.
    pub(super) fn want_root(&self) -> Result<()> {
        match fstat(&self.root) {
            Ok(stat) if stat.st_nlink > 0 => Ok(()),
            Ok(_) => Err(ErrorKind::NotFound.context(format!("{} has been removed", self.path.display()))),
            Err(errno) => Err(self.fail("", "look at", errno)),
        }
    }

    pub(super) fn object_len(&self, key: &Key) -> Result<Option<u64>> {
        if names::has_reserved(key) {
            return Ok(None);
        }
        let found = beneath::open(self.root(), key.as_str(), beneath::LOOK, Mode::empty()).and_then(fstat);
        match found {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Ok(Some(size(&stat))),
                FileType::Directory => self.only_prefix(key).map(|()| None),
                _ => Err(self.refuse(key.as_str(), "is not a regular file")),
            },
            Err(Errno::NOENT | Errno::NOTDIR) => self.want_root().map(|()| None),
            Err(errno) => Err(self.fail(key.as_str(), "look at", errno)),
        }
    }

    /// Returns `NC_EEMPTY` if objects exist below `key`.
    fn only_prefix(&self, key: &Key) -> Result<()> {
        if self.leads_to_object(key.as_str())? {
            return Err(ErrorKind::Empty.context(format!(
                "{}: key {:?} is a prefix of objects, not an object",
                self.path.display(),
                key.as_str()
            )));
        }
        Ok(())
    }

    fn explain<T>(&self, key: &Key, fault: ReadFailure) -> Result<Option<T>> {
        let place = || format!("{}: key {:?}", self.path.display(), key.as_str());
        match fault {
            ReadFailure::Directory => self.only_prefix(key).map(|()| None),
            ReadFailure::System(errno) => Err(self.fail(key.as_str(), "read", errno)),
            ReadFailure::TooLong(limit) => Err(self.too_long(key, limit)),
            ReadFailure::Ranges => {
                Err(ErrorKind::Inval.context(format!("{}: the end of the range does not fit 64 bits", place())))
            }
            ReadFailure::Short { offset, len, end } => Err(ErrorKind::Io.context(format!(
                "{}: the object is too short (expected {len} bytes at offset {offset}, found the end at {end})",
                place()
            ))),
            ReadFailure::Memory(len) => {
                Err(ErrorKind::NoMem.context(format!("{}: not enough memory for {len} bytes", place())))
            }
        }
    }

    pub(super) fn too_long(&self, key: &Key, limit: usize) -> Error {
        let place = self.path.display();
        ErrorKind::Io.context(format!(
            "{place}: key {:?}: the object is too long (expected at most {limit} bytes)",
            key.as_str()
        ))
    }

    /// Replaces `out` by a range of an object; `None` if the object does not exist. With `mark` also returns
    /// its version.
    pub(super) fn read_vec(
        &self,
        key: &Key,
        range: ByteRange,
        out: &mut Vec<u8>,
        mark: bool,
    ) -> Result<Option<Option<FileVersion>>> {
        out.clear();
        let Some(file) = self.open_object(key)? else { return Ok(None) };
        let read = FileVersion::of(file).map_err(ReadFailure::from).and_then(|state| {
            want_regular(state.file())?;
            vec_from(state.file(), state.stat(), range, out)?;
            Ok(state)
        });
        match read {
            Ok(state) => Ok(Some(mark.then_some(state))),
            Err(fault) => {
                out.clear();
                self.explain(key, fault)
            }
        }
    }

    pub(super) fn read_out(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        out.clear();
        let mut lookup = (out.capacity() <= MAX_CACHED_READ).then(|| self.kept.lookup(key.as_str()));
        let kept =
            lookup.as_mut().and_then(|lookup| lookup.read(self.root(), |file| one_into(file, offset, out)));
        if let Some(read) = kept {
            return read.map_or_else(|fault| self.explain_out(key, out, fault), |()| Ok(true));
        }
        let Some(file) = self.open_object(key)? else { return Ok(false) };
        if let Err(fault) = one_into(file.as_fd(), offset, out) {
            return self.explain_out(key, out, fault);
        }
        // A short read at an offset is a partial read, so others are likely.
        if let Some(lookup) = lookup.filter(|_| offset > 0) {
            lookup.insert(self.root(), file);
        }
        Ok(true)
    }

    #[cold]
    fn explain_out(&self, key: &Key, out: &mut OutBuf<'_>, fault: ReadFailure) -> Result<bool> {
        out.clear();
        self.explain::<()>(key, fault).map(|_| false)
    }

    /// Runs a batch of reads.
    pub(super) fn serve_reads(&self, job: &dyn ReadJob) {
        run_on_pool(job.threads(), &|| {
            let mut scratch = SCRATCH.take().unwrap_or_default();
            let mut key = mem::take(&mut scratch.key);
            let mut absent = Vec::new();
            while let Some(ticket) = job.next(&mut key) {
                absent.extend(self.serve(job, &key, ticket, &mut scratch));
                if absent.len() == ABSENT_PER_REPORT {
                    self.report_absent(job, &mut absent);
                }
            }
            self.report_absent(job, &mut absent);
            scratch.key = key;
            if scratch.bytes.capacity() > MAX_KEPT_SCRATCH {
                scratch.bytes = ReadBuffer::default();
            }
            SCRATCH.set(Some(scratch));
        });
    }

    /// Reads the ranges of a ticket; returns the ticket if the object does not exist.
    fn serve<'j>(
        &self,
        job: &dyn ReadJob,
        key: &Key,
        mut ticket: ReadTicket<'j>,
        scratch: &mut ReadScratch,
    ) -> Option<ReadTicket<'j>> {
        let open_for_ticket = match self.open_for_ticket(key, &ticket) {
            Ok(Some(open_for_ticket)) => open_for_ticket,
            Ok(None) => return Some(ticket),
            Err(error) => {
                job.done(ticket, Err(error));
                return None;
            }
        };
        let whole = matches!(ticket.ranges, Ranges::All) && !ticket.versioned && ticket.into.is_none();
        if whole && let Some(mut sink) = job.sink(&ticket) {
            let poured = stream_to(open_for_ticket.fd(), &mut *sink, scratch);
            drop(sink);
            let found = match poured {
                Ok(taken) => taken.map(|()| Some((ReadOutcome::InPlace, None))),
                Err(fault) => self.explain(key, fault),
            };
            job.done(ticket, found);
            return None;
        }
        match fetch(open_for_ticket.fd(), open_for_ticket.stat(), &mut ticket, scratch) {
            Ok(got) => {
                let version = open_for_ticket.finish(self, key);
                match &got {
                    ReadOutput::Into => job.done(ticket, Ok(Some((ReadOutcome::InPlace, version)))),
                    ReadOutput::ReadScratch(out) => {
                        job.done(ticket, Ok(Some((ReadOutcome::Bytes(out.filled()), version))))
                    }
                    ReadOutput::Owned(bytes) => {
                        job.done(ticket, Ok(Some((ReadOutcome::Bytes(bytes), version))))
                    }
                }
            }
            Err(fault) => {
                let found = self.explain::<()>(key, fault).map(|_| None);
                job.done(ticket, found);
            }
        }
        None
    }

    /// Reports tickets without an object: one check of the root, after the last of them, is enough.
    fn report_absent(&self, job: &dyn ReadJob, absent: &mut Vec<ReadTicket<'_>>) {
        let there = !absent.is_empty() && self.want_root().is_ok();
        for ticket in absent.drain(..) {
            job.done(ticket, if there { Ok(None) } else { self.want_root().map(|()| None) });
        }
    }

    /// Opens an object for a versioned partial read and caches it, because more parts follow.
    fn versioned(&self, key: &Key) -> Result<Option<OpenObject>> {
        if let Some((object, version)) = self.kept.find_version(self.root(), key.as_str()) {
            return Ok(Some(OpenObject::KeptMarked(object, version)));
        }
        let Some(file) = self.try_open(key)? else { return Ok(None) };
        // The version is that before reading, so that a write in place is detected.
        let stat = fstat(&file).map_err(|errno| self.fail(key.as_str(), "read", errno))?;
        Ok(Some(match self.kept.insert_version(self.root(), key.as_str(), file, stat) {
            Ok((object, version)) => OpenObject::KeptMarked(object, version),
            Err(file) => OpenObject::Marked(FileVersion::own(file, stat)),
        }))
    }

    /// Opens the object of a ticket; `None` as in [`FileMap::try_open`].
    fn open_for_ticket(&self, key: &Key, ticket: &ReadTicket<'_>) -> Result<Option<OpenObject>> {
        let part = !matches!(ticket.ranges, Ranges::All);
        if part && ticket.versioned {
            return self.versioned(key);
        }
        if part && let Some(kept) = self.kept.find(self.root(), key.as_str()) {
            return Ok(Some(OpenObject::Kept(kept)));
        }
        let Some(file) = self.try_open(key)? else { return Ok(None) };
        if !ticket.versioned {
            return Ok(Some(if part { OpenObject::Part(file) } else { OpenObject::Whole(file) }));
        }
        // Takes the version before reading, so that a write in place is detected.
        match FileVersion::of(file) {
            Ok(mark) => Ok(Some(OpenObject::Marked(mark))),
            Err(errno) => Err(self.fail(key.as_str(), "read", errno)),
        }
    }
}

/// An open object.
enum OpenObject {
    /// With its version.
    KeptMarked(Arc<OpenFile>, Version),
    Whole(OwnedFd),
    /// To be cached.
    Part(OwnedFd),
    Kept(Arc<OpenFile>),
    Marked(FileVersion),
}

impl OpenObject {
    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Whole(file) | Self::Part(file) => file.as_fd(),
            Self::Kept(object) | Self::KeptMarked(object, _) => object.as_fd(),
            Self::Marked(mark) => mark.file(),
        }
    }

    /// Returns the state of an object with a version.
    fn stat(&self) -> Option<&Stat> {
        match self {
            Self::Whole(_) | Self::Part(_) | Self::Kept(_) => None,
            Self::Marked(mark) => Some(mark.stat()),
            Self::KeptMarked(_, version) => version.get::<FileVersion>().map(FileVersion::stat),
        }
    }

    /// Returns the version after reading, and caches the file if needed.
    fn finish(self, map: &FileMap, key: &Key) -> Option<Version> {
        match self {
            Self::Whole(_) | Self::Kept(_) => None,
            Self::Part(file) => {
                map.kept.lookup(key.as_str()).insert(map.root(), file);
                None
            }
            Self::Marked(mark) => Some(Version::scarce(mark)),
            Self::KeptMarked(_, version) => Some(version),
        }
    }
}

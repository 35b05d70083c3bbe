//! Reading: an object is one `open`, one `pread` and a `close`. How the bytes are read is in `fetch`.

use std::cell::Cell;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use nczarr_dispatch::{ByteRange, Key, OutBuf, Ranges, ReadJob, ReadOutcome, ReadTicket, Version, run_on_pool};
use nczarr_model::{Error, ErrorKind, Result};
use rustix::fs::{FileType, Mode, fstat};
use rustix::io::Errno;

use super::fetch::{Fault, Got, Scratch, fetch, one_into, pour, size, vec_from, want_regular};
use super::kept::Object;
use super::memory::Memory;
use super::version::Mark;
use super::{FileMap, beneath};
use crate::names;

/// More scratch than this is not kept for the next batch.
const KEEP: usize = 16 << 20;

/// As many bytes are read at once where the object is kept.
const FEW: usize = 4 << 10;

/// So many objects may be missing before the job is told.
const ABSENT: usize = 64;

thread_local! {
    /// Taken while in use, never borrowed: a thread that waits for a batch may run another one.
    /// In a box, so that taking it copies nothing.
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl FileMap {
    /// The file of an object; `None` only if the storage says that there is none.
    fn open_object(&self, key: &Key) -> Result<Option<OwnedFd>> {
        match self.try_open(key)? {
            Some(file) => Ok(Some(file)),
            None => self.want_root().map(|()| None),
        }
    }

    /// As [`FileMap::open_object`]; `None` may also mean that the dataset is gone.
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

    /// Nothing is absent from a dataset that has itself been removed.
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

    /// `NC_EEMPTY` if the directory `key` leads to an object.
    fn only_prefix(&self, key: &Key) -> Result<()> {
        if self.leads_to_object(key.as_str())? {
            return Err(ErrorKind::Empty.context(format!(
                "{}: key {:?} is a prefix and holds nothing",
                self.path.display(),
                key.as_str()
            )));
        }
        Ok(())
    }

    fn explain<T>(&self, key: &Key, fault: Fault) -> Result<Option<T>> {
        let place = || format!("{}: key {:?}", self.path.display(), key.as_str());
        match fault {
            Fault::Directory => self.only_prefix(key).map(|()| None),
            Fault::System(errno) => Err(self.fail(key.as_str(), "read", errno)),
            Fault::TooLong(limit) => Err(self.too_long(key, limit)),
            Fault::Ranges => Err(ErrorKind::Inval.context(format!("{}: a range without an end in 64 bits", place()))),
            Fault::Short { offset, len, end } => {
                Err(ErrorKind::Io
                    .context(format!("{}: bytes {offset} + {len} wanted, the object ends at {end}", place())))
            }
            Fault::Memory(len) => Err(ErrorKind::NoMem.context(format!("{}: {len} bytes", place()))),
        }
    }

    pub(super) fn too_long(&self, key: &Key, limit: usize) -> Error {
        let place = self.path.display();
        ErrorKind::Io.context(format!("{place}: key {:?} holds more than the {limit} bytes allowed", key.as_str()))
    }

    /// Replaces `out` by a range of an object; `None` if there is none. With `mark` also says what was read.
    pub(super) fn read_vec(
        &self,
        key: &Key,
        range: ByteRange,
        out: &mut Vec<u8>,
        mark: bool,
    ) -> Result<Option<Option<Mark>>> {
        out.clear();
        let Some(file) = self.open_object(key)? else { return Ok(None) };
        let read = Mark::of(file).map_err(Fault::from).and_then(|state| {
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
        let mut seat = (out.capacity() <= FEW).then(|| self.kept.seat(key.as_str()));
        let kept = seat.as_mut().and_then(|seat| seat.read(self.root(), |file| one_into(file, offset, out)));
        if let Some(read) = kept {
            return read.map_or_else(|fault| self.explain_out(key, out, fault), |()| Ok(true));
        }
        let Some(file) = self.open_object(key)? else { return Ok(false) };
        if let Err(fault) = one_into(file.as_fd(), offset, out) {
            return self.explain_out(key, out, fault);
        }
        // Who asks for a few bytes beyond the first ones asks for a part, and may ask for others.
        if let Some(seat) = seat.filter(|_| offset > 0) {
            seat.keep(self.root(), file, false);
        }
        Ok(true)
    }

    #[cold]
    fn explain_out(&self, key: &Key, out: &mut OutBuf<'_>, fault: Fault) -> Result<bool> {
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
                if absent.len() == ABSENT {
                    self.tell_absent(job, &mut absent);
                }
            }
            self.tell_absent(job, &mut absent);
            scratch.key = key;
            if scratch.bytes.capacity() > KEEP {
                scratch.bytes = Memory::default();
            }
            SCRATCH.set(Some(scratch));
        });
    }

    /// Reads what a ticket wants; gives it back if there is no object, unless the dataset is gone.
    fn serve<'j>(
        &self,
        job: &dyn ReadJob,
        key: &Key,
        mut ticket: ReadTicket<'j>,
        scratch: &mut Scratch,
    ) -> Option<ReadTicket<'j>> {
        let source = match self.source(key, &ticket) {
            Ok(Some(source)) => source,
            Ok(None) => return Some(ticket),
            Err(error) => {
                job.done(ticket, Err(error));
                return None;
            }
        };
        let whole = matches!(ticket.ranges, Ranges::All) && !ticket.versioned && ticket.into.is_none();
        if whole && let Some(mut sink) = job.sink(&ticket) {
            let poured = pour(source.fd(), &mut *sink, scratch);
            drop(sink);
            let found = match poured {
                Ok(taken) => taken.map(|()| Some((ReadOutcome::InPlace, None))),
                Err(fault) => self.explain(key, fault),
            };
            job.done(ticket, found);
            return None;
        }
        match fetch(source.fd(), &mut ticket, scratch) {
            Ok(got) => {
                let version = source.leave(self, key);
                match &got {
                    Got::Into => job.done(ticket, Ok(Some((ReadOutcome::InPlace, version)))),
                    Got::Scratch(out) => job.done(ticket, Ok(Some((ReadOutcome::Bytes(out.filled()), version)))),
                    Got::Owned(bytes) => job.done(ticket, Ok(Some((ReadOutcome::Bytes(bytes), version)))),
                }
            }
            Err(fault) => {
                let found = self.explain::<()>(key, fault).map(|_| None);
                job.done(ticket, found);
            }
        }
        None
    }

    /// Reports tickets for which nothing was found: one look at the root, after the last of them, is enough.
    fn tell_absent(&self, job: &dyn ReadJob, absent: &mut Vec<ReadTicket<'_>>) {
        let there = !absent.is_empty() && self.want_root().is_ok();
        for ticket in absent.drain(..) {
            job.done(ticket, if there { Ok(None) } else { self.want_root().map(|()| None) });
        }
    }

    /// An object of which a part is wanted with its version: more parts will be, so it is kept.
    fn versioned(&self, key: &Key) -> Result<Option<Source>> {
        let find = || self.kept.find_version(self.root(), key.as_str());
        if let Some((object, version)) = find() {
            return Ok(Some(Source::KeptMarked(object, version)));
        }
        let Some(file) = self.try_open(key)? else { return Ok(None) };
        let mark = |file| match Mark::of(file) {
            Ok(mark) => Ok(Some(Source::Marked(mark))),
            Err(errno) => Err(self.fail(key.as_str(), "read", errno)),
        };
        // A directory is no object; what it is, reading it will tell.
        let Ok(copy) = file.try_clone() else { return mark(file) };
        self.kept.seat(key.as_str()).keep(self.root(), file, true);
        match find() {
            Some((object, version)) => Ok(Some(Source::KeptMarked(object, version))),
            None => mark(copy),
        }
    }

    /// The object of a ticket, opened as the ticket needs it; `None` as of [`FileMap::try_open`].
    fn source(&self, key: &Key, ticket: &ReadTicket<'_>) -> Result<Option<Source>> {
        let part = !matches!(ticket.ranges, Ranges::All);
        if part && ticket.versioned {
            return self.versioned(key);
        }
        if part && let Some(kept) = self.kept.find(self.root(), key.as_str()) {
            return Ok(Some(Source::Kept(kept)));
        }
        let Some(file) = self.try_open(key)? else { return Ok(None) };
        if !ticket.versioned {
            return Ok(Some(if part { Source::Part(file) } else { Source::Whole(file) }));
        }
        // Marked before the bytes are read, so that whoever writes in place meanwhile shows.
        match Mark::of(file) {
            Ok(mark) => Ok(Some(Source::Marked(mark))),
            Err(errno) => Err(self.fail(key.as_str(), "read", errno)),
        }
    }
}

/// An open object.
enum Source {
    /// With its version.
    KeptMarked(Arc<Object>, Version),
    Whole(OwnedFd),
    /// To be kept.
    Part(OwnedFd),
    Kept(Arc<Object>),
    Marked(Mark),
}

impl Source {
    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Whole(file) | Self::Part(file) => file.as_fd(),
            Self::Kept(object) | Self::KeptMarked(object, _) => object.as_fd(),
            Self::Marked(mark) => mark.file(),
        }
    }

    /// After it was read.
    fn leave(self, map: &FileMap, key: &Key) -> Option<Version> {
        match self {
            Self::Whole(_) | Self::Kept(_) => None,
            Self::Part(file) => {
                map.kept.seat(key.as_str()).keep(map.root(), file, false);
                None
            }
            Self::Marked(mark) => Some(Version::scarce(mark)),
            Self::KeptMarked(_, version) => Some(version),
        }
    }
}

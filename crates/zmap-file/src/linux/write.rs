//! Writing, updating, deleting and renaming of objects.
//!
//! A new object appears by one link, which fails if the object exists: a conditional creation without a lock.
//! Replacing takes the key's lock, compares if required, and renames; deleting takes the lock too. So compare
//! and rename are one step for all processes that use this crate.

use std::cell::Cell;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::run_with_caller;
use nczarr_storage::batch::{Payload, WriteJob};
use nczarr_storage::{ByteRange, Key, Precondition, UpdateFn, Version, WriteOutcome};
use rustix::fs::{AtFlags, FileType, RenameFlags, Stat, linkat, renameat, renameat_with, statat, unlinkat};
use rustix::io::{Errno, retry_on_intr};

use super::FileMap;
use super::directory::{MAX_ROUNDS, ObjectDirectory, WriteStop, is_gone};
use super::lock::KeyGuard;
use super::stage::{LinkOutcome, ObjectValue, StagedFile};
use super::version::FileVersion;
use crate::names;

/// The number of lost races after which [`FileMap::change`] takes the lock.
const RACES: usize = 4;

/// The largest scratch memory that a thread keeps.
const KEEP: usize = 16 << 20;

thread_local! {
    /// Taken while in use, because a thread that waits for a batch may run another one.
    static SCRATCH: Cell<(Key, Vec<u8>)> = const { Cell::new((Key::root(), Vec::new())) };
}

/// The state that a write accepts at its key.
#[derive(Clone, Copy)]
pub(super) enum WriteIntent<'v> {
    /// Any state.
    Replace,
    /// Any state; the caller holds the key's lock.
    ReplaceLocked,
    /// No object.
    Create,
    /// No object; the caller holds the key's lock.
    CreateLocked,
    /// This version.
    Swap(&'v FileVersion),
}

impl FileMap {
    /// Returns the intent for an expectation.
    pub(super) fn intent<'v>(&self, key: &Key, expect: &'v Precondition) -> Result<WriteIntent<'v>> {
        match expect {
            Precondition::Any => Ok(WriteIntent::Replace),
            Precondition::Absent => {
                self.want_versions(key)?;
                Ok(WriteIntent::Create)
            }
            Precondition::Unchanged(version) => {
                self.want_versions(key)?;
                version.get::<FileVersion>().map(WriteIntent::Swap).ok_or_else(|| {
                    let place = self.path.display();
                    ErrorKind::Inval.context(format!(
                        "{place}: key {:?}: the version belongs to another map",
                        key.as_str()
                    ))
                })
            }
        }
    }

    /// Writes one object if `intent` allows it.
    pub(super) fn put_one(&self, key: &Key, value: &[u8], intent: WriteIntent<'_>) -> Result<WriteOutcome> {
        let mut place = None;
        let written = self.put(key, ObjectValue::Bytes(value), intent, &mut place);
        self.leave(place);
        written
    }

    /// Writes an object if `intent` allows it; reuses the directory of the previous write if it is the same.
    fn put(
        &self,
        key: &Key,
        value: ObjectValue<'_>,
        intent: WriteIntent<'_>,
        kept: &mut Option<ObjectDirectory>,
    ) -> Result<WriteOutcome> {
        self.want_writable("write", key)?;
        self.want_name(key)?;
        for round in 0..MAX_ROUNDS {
            match self.try_put(key, value, intent, kept, round) {
                Ok(written) => return Ok(written),
                Err(WriteStop::Gone) => *kept = None,
                Err(WriteStop::Failed(error)) => return Err(error),
            }
        }
        Err(self.too_many_races(key))
    }

    fn try_put(
        &self,
        key: &Key,
        value: ObjectValue<'_>,
        intent: WriteIntent<'_>,
        kept: &mut Option<ObjectDirectory>,
        round: usize,
    ) -> Result<WriteOutcome, WriteStop> {
        let mut directories_lock = None;
        let replaces = match intent {
            // Without its directory the object does not exist, and nothing needs to be made.
            WriteIntent::Swap(_) => match self.find_directory(key)? {
                Some(place) => {
                    *kept = Some(place);
                    true
                }
                None => return Ok(WriteOutcome::Conflict),
            },
            WriteIntent::ReplaceLocked => true,
            // After a replacement the next write usually replaces too, so the attempt to create is skipped.
            WriteIntent::Replace if round == 0 && self.replacing.load(Ordering::Relaxed) => true,
            WriteIntent::Replace | WriteIntent::Create | WriteIntent::CreateLocked => {
                directories_lock = self.directories_lock(key, round)?;
                false
            }
        };
        let creates = matches!(intent, WriteIntent::Create | WriteIntent::CreateLocked);
        let place = self.place(key, kept)?;
        let dir = place.dir(self);
        let mut staged = self.stage(dir, key, value, replaces)?;
        let linked = if replaces {
            LinkOutcome::Taken
        } else {
            self.put_new(&mut staged, dir, key, value, directories_lock.is_some())?
        };
        // Releases the directories before waiting for a key.
        drop(directories_lock);
        let done = match linked {
            LinkOutcome::Done => true,
            LinkOutcome::Taken if creates => false,
            LinkOutcome::Taken | LinkOutcome::Refused => {
                self.replacing.store(linked == LinkOutcome::Taken, Ordering::Relaxed);
                self.name(&mut staged, dir, key, value)?;
                self.put_over(&mut staged, dir, key, intent)?
            }
        };
        if !done {
            return Ok(WriteOutcome::Conflict);
        }
        if !matches!(linked, LinkOutcome::Done) {
            self.kept.forget(key.as_str());
        }
        self.touched(place.path());
        Ok(WriteOutcome::Done(match intent {
            WriteIntent::Replace | WriteIntent::ReplaceLocked => None,
            _ => FileVersion::of(staged.file).ok().map(Version::scarce),
        }))
    }

    /// Puts a file at a key without an object.
    fn put_new<'p>(
        &self,
        staged: &mut StagedFile<'p>,
        dir: BorrowedFd<'p>,
        key: &Key,
        value: ObjectValue<'_>,
        directories_lock: bool,
    ) -> Result<LinkOutcome, WriteStop> {
        for _ in 0..MAX_ROUNDS {
            let linked = self.link(staged, dir, key, value)?;
            if linked != LinkOutcome::Taken || !self.clear_target(dir, key, directories_lock)? {
                return Ok(linked);
            }
        }
        Err(self.too_many_races(key).into())
    }

    /// Puts a file at a key that may have an object; `false` if its state is not the expected one.
    fn put_over(
        &self,
        staged: &mut StagedFile<'_>,
        dir: BorrowedFd<'_>,
        key: &Key,
        intent: WriteIntent<'_>,
    ) -> Result<bool, WriteStop> {
        let (_, name) = names::split(key);
        for _ in 0..MAX_ROUNDS {
            let guard = match intent {
                WriteIntent::ReplaceLocked | WriteIntent::CreateLocked => None,
                _ => Some(self.lock_key(key)?),
            };
            let expected = match intent {
                WriteIntent::Swap(mark) => {
                    self.want_versions(key)?;
                    self.is_unchanged(dir, key, mark)?
                }
                WriteIntent::Create | WriteIntent::CreateLocked => self.clear_target(dir, key, false)?,
                WriteIntent::Replace | WriteIntent::ReplaceLocked => {
                    if self.clear_target(dir, key, false)? {
                        self.replacing.store(false, Ordering::Relaxed);
                    }
                    true
                }
            };
            if !expected {
                return Ok(false);
            }
            let renamed = staged.temporary().and_then(|old| retry_on_intr(|| renameat(dir, old, dir, name)));
            drop(guard);
            match renamed {
                Ok(()) => {
                    staged.mark_renamed();
                    return Ok(true);
                }
                Err(Errno::NOENT) => return Err(WriteStop::Gone),
                Err(_) if is_gone(dir) => return Err(WriteStop::Gone),
                // A directory appeared; the next round handles it.
                Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => {}
                Err(errno) => return Err(self.fail(key.as_str(), "replace", errno).into()),
            }
        }
        Err(self.too_many_races(key).into())
    }

    fn lock_key(&self, key: &Key) -> Result<KeyGuard<'_>> {
        self.locks.lock(self.root(), key.as_str()).map_err(|errno| self.fail(key.as_str(), "lock", errno))
    }

    /// Whether a key still has the state of a version.
    fn is_unchanged(&self, dir: BorrowedFd<'_>, key: &Key, mark: &FileVersion) -> Result<bool> {
        let fail = |errno| self.fail(key.as_str(), "look at", errno);
        match self.stat_object(dir, key)? {
            Some(found) => mark.is_current(&found).map_err(fail),
            None => Ok(false),
        }
    }

    fn stat_object(&self, dir: BorrowedFd<'_>, key: &Key) -> Result<Option<Stat>> {
        match statat(dir, names::split(key).1, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.fail(key.as_str(), "look at", errno)),
        }
    }

    /// Reads, changes and writes an object until no other writer interferes; takes the lock after some lost
    /// races.
    pub(super) fn change(&self, key: &Key, limit: usize, change: &mut UpdateFn<'_>) -> Result<()> {
        self.want_versions(key)?;
        self.want_name(key)?;
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for round in 0..MAX_ROUNDS {
            // Creations take no lock, so an object may still appear; the lock protects it afterwards.
            let guard = if round < RACES { None } else { Some(self.lock_key(key)?) };
            let range = ByteRange::first((limit as u64).saturating_add(1));
            let mark = self.read_vec(key, range, &mut old, true)?.flatten();
            if old.len() > limit {
                return Err(self.too_long(key, limit));
            }
            new.clear();
            change(mark.is_some().then_some(&old[..]), &mut new)?;
            let intent = match &mark {
                None if guard.is_some() => WriteIntent::CreateLocked,
                None => WriteIntent::Create,
                Some(_) if guard.is_some() => WriteIntent::ReplaceLocked,
                Some(mark) => WriteIntent::Swap(mark),
            };
            if let WriteOutcome::Done(_) = self.put_one(key, &new, intent)? {
                return Ok(());
            }
        }
        Err(self.too_many_races(key))
    }

    pub(super) fn delete_object(&self, key: &Key) -> Result<bool> {
        self.want_writable("delete", key)?;
        if key.is_root() || names::has_reserved(key) {
            return Ok(false);
        }
        let Some(place) = self.find_directory(key)? else { return Ok(false) };
        let (dir, (_, name)) = (place.dir(self), names::split(key));
        // Checks without the lock first, so that a missing object leaves no lock file.
        if !self.is_deletable(dir, key)? {
            return Ok(false);
        }
        let guard = self.lock_key(key)?;
        if !self.is_deletable(dir, key)? {
            return Ok(false);
        }
        match unlinkat(dir, name, AtFlags::empty()) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(false),
            Err(errno) => return Err(self.fail(key.as_str(), "delete", errno)),
        }
        drop(guard);
        self.kept.forget(key.as_str());
        self.last.clear();
        self.touched(place.path());
        self.thinned(place.path());
        Ok(true)
    }

    fn is_deletable(&self, dir: BorrowedFd<'_>, key: &Key) -> Result<bool> {
        match self.stat_object(dir, key)?.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            None | Some(FileType::Directory) => Ok(false),
            Some(FileType::RegularFile) => Ok(true),
            Some(FileType::Symlink) => Err(self.fail(key.as_str(), "delete", Errno::LOOP)),
            Some(_) => Err(self.refuse(key.as_str(), "is not a regular file")),
        }
    }

    /// Moves the object at `from`, or all objects below it.
    pub(super) fn rename_all(&self, from: &Key, to: &Key) -> Result<()> {
        self.want_writable("rename", from)?;
        if from.is_root() || to.is_root() || names::has_reserved(from) {
            return Err(ErrorKind::Inval.context(format!(
                "{}: key {:?} cannot be moved to {:?}",
                self.path.display(),
                from.as_str(),
                to.as_str()
            )));
        }
        self.want_name(to)?;
        let taken = || self.collision(to.as_str(), "already exists");
        if from == to
            || to.relative_to(from).is_some()
            || from.relative_to(to).is_some()
            || self.is_taken(to)?
        {
            return Err(taken());
        }
        for round in 0..MAX_ROUNDS {
            let Some(source) = self.find_directory(from)? else { return Ok(()) };
            let Some(stat) = self.stat_object(source.dir(self), from)? else { return Ok(()) };
            let is_file = match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => true,
                FileType::Directory if self.leads_to_object(from.as_str())? => false,
                FileType::Directory => return Ok(()),
                FileType::Symlink => return Err(self.fail(from.as_str(), "move", Errno::LOOP)),
                _ => return Err(self.refuse(from.as_str(), "is not a regular file")),
            };
            let guard = if is_file { Some(self.lock_key(from)?) } else { None };
            let directories_lock = self.directories_lock(from, round)?;
            let mut target = None;
            let target = match self.place(to, &mut target) {
                Ok(target) => target,
                Err(WriteStop::Gone) => continue,
                Err(WriteStop::Failed(error)) => return Err(error),
            };
            let moved = self.move_one(source.dir(self), from, target.dir(self), to, is_file);
            drop((directories_lock, guard));
            match moved {
                Ok(()) => {
                    self.kept.clear();
                    self.last.clear();
                    self.touched(source.path());
                    self.touched(target.path());
                    self.prune(source.path());
                    return Ok(());
                }
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::ISDIR | Errno::NOTDIR) => {
                    if !self.clear_target(target.dir(self), to, false)? {
                        return Err(taken());
                    }
                }
                Err(Errno::NOENT) => {}
                Err(errno) => {
                    self.prune(target.path());
                    return Err(self.fail(from.as_str(), "move", errno));
                }
            }
        }
        Err(self.too_many_races(from))
    }

    /// Whether an object exists at or below a key.
    fn is_taken(&self, to: &Key) -> Result<bool> {
        match self.object_len(to) {
            Ok(len) => Ok(len.is_some()),
            Err(error) if error.kind() == ErrorKind::Empty => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Renames without replacing.
    fn move_one(
        &self,
        from: BorrowedFd<'_>,
        old: &Key,
        to: BorrowedFd<'_>,
        new: &Key,
        is_file: bool,
    ) -> Result<(), Errno> {
        let ((_, old), (_, new)) = (names::split(old), names::split(new));
        match renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if is_file => {
                linkat(from, old, to, new, AtFlags::empty())?;
                unlinkat(from, old, AtFlags::empty())
            }
            // Renaming a directory can only replace an empty one.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => renameat(from, old, to, new),
            moved => moved,
        }
    }

    /// Runs a batch of writes.
    pub(super) fn serve_writes(&self, job: &dyn WriteJob) {
        let in_parts = job.has_parts();
        // The caller works too, because writing starts sooner than on threads that sleep or do not exist yet.
        run_with_caller(job.threads(), &|| {
            let ((mut key, mut scratch), mut kept) = (SCRATCH.take(), None);
            while let Some(ticket) = job.next(&mut key) {
                let mut store = |value: ObjectValue<'_>| {
                    let intent = self.intent(&key, &ticket.precondition)?;
                    self.put(&key, value, intent, &mut kept)
                };
                let outcome = if in_parts {
                    store(ObjectValue::Parts(job, ticket.index))
                } else {
                    match job.value(ticket.index, &mut scratch) {
                        Ok(Payload::Scratch) => store(ObjectValue::Bytes(&scratch)),
                        Ok(Payload::Borrowed(bytes)) => store(ObjectValue::Bytes(bytes)),
                        Err(error) => Err(error),
                    }
                };
                job.done(ticket, outcome);
            }
            self.leave(kept);
            scratch.clear();
            if scratch.capacity() > KEEP {
                scratch = Vec::new();
            }
            SCRATCH.set((key, scratch));
        });
    }
}

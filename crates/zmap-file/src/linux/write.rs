//! Writing, changing, removing and moving objects.
//!
//! A new object appears by one link, which fails if there is one: a conditional creation, without a lock.
//! Replacing takes the key's lock, compares if asked to, and renames; removing takes the lock too. So
//! comparing and renaming is one step for everybody who keeps to this, in this process and in others.

use std::cell::Cell;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;

use nczarr_dispatch::{
    ByteRange, Key, Payload, Precondition, UpdateFn, Version, WriteJob, WriteOutcome, run_with_caller,
};
use nczarr_model::{ErrorKind, Result};
use rustix::fs::{AtFlags, FileType, RenameFlags, Stat, linkat, renameat, renameat_with, statat, unlinkat};
use rustix::io::{Errno, retry_on_intr};

use super::FileMap;
use super::lock::Guard;
use super::place::{Place, Stop, TRIES, is_gone};
use super::stage::{Linked, Staged, Value};
use super::version::Mark;
use crate::names;

/// Lost races after which [`FileMap::change`] keeps others out.
const RACES: usize = 4;

/// More scratch than this is not kept for the next batch.
const KEEP: usize = 16 << 20;

thread_local! {
    /// Taken while in use, never borrowed: a thread that waits for a batch may run another one.
    static SCRATCH: Cell<(Key, Vec<u8>)> = const { Cell::new((Key::root(), Vec::new())) };
}

/// What a write may find.
#[derive(Clone, Copy)]
pub(super) enum Intent<'v> {
    /// Anything.
    Replace,
    /// Anything; the caller holds the key's lock.
    ReplaceLocked,
    /// Nothing.
    Create,
    /// Nothing; the caller holds the key's lock.
    CreateLocked,
    /// This state.
    Swap(&'v Mark),
}

impl FileMap {
    /// What an expectation asks of a write.
    pub(super) fn intent<'v>(&self, key: &Key, expect: Precondition<'v>) -> Result<Intent<'v>> {
        match expect {
            Precondition::Absent => Ok(Intent::Create),
            Precondition::Unchanged(version) => version.get::<Mark>().map(Intent::Swap).ok_or_else(|| {
                let place = self.path.display();
                ErrorKind::Inval.context(format!("{place}: key {:?}: a version of another map", key.as_str()))
            }),
        }
    }

    /// Writes one object, as far as `intent` allows.
    pub(super) fn put_one(&self, key: &Key, value: &[u8], intent: Intent<'_>) -> Result<WriteOutcome> {
        let mut place = None;
        let written = self.put(key, Value::Bytes(value), intent, &mut place);
        self.leave(place);
        written
    }

    /// Writes an object, as far as `intent` allows, in the directory of the one before if it is that.
    fn put(&self, key: &Key, value: Value<'_>, intent: Intent<'_>, kept: &mut Option<Place>) -> Result<WriteOutcome> {
        self.want_writable("write", key)?;
        self.want_name(key)?;
        for round in 0..TRIES {
            match self.try_put(key, value, intent, kept, round) {
                Ok(written) => return Ok(written),
                Err(Stop::Gone) => *kept = None,
                Err(Stop::Failed(error)) => return Err(error),
            }
        }
        Err(self.restless(key))
    }

    fn try_put(
        &self,
        key: &Key,
        value: Value<'_>,
        intent: Intent<'_>,
        kept: &mut Option<Place>,
        round: usize,
    ) -> Result<WriteOutcome, Stop> {
        let mut calm = None;
        let replaces = match intent {
            // Where the directory is gone, so is the object: nothing is to be made for it.
            Intent::Swap(_) => match self.find_place(key)? {
                Some(place) => {
                    *kept = Some(place);
                    true
                }
                None => return Ok(WriteOutcome::Conflict),
            },
            Intent::ReplaceLocked => true,
            // Whoever replaces one object mostly replaces the next: the attempt to create it can be spared.
            Intent::Replace if round == 0 && self.replacing.load(Ordering::Relaxed) => true,
            Intent::Replace | Intent::Create | Intent::CreateLocked => {
                calm = self.calm(key, round)?;
                false
            }
        };
        let creates = matches!(intent, Intent::Create | Intent::CreateLocked);
        let place = self.place(key, kept)?;
        let dir = place.dir(self);
        let mut staged = self.stage(dir, key, value, replaces)?;
        let linked = if replaces { Linked::Taken } else { self.put_new(&mut staged, dir, key, value, calm.is_some())? };
        // Keys are not waited for while the directories are held.
        drop(calm);
        let done = match linked {
            Linked::Done => true,
            Linked::Taken if creates => false,
            Linked::Taken | Linked::Refused => {
                self.replacing.store(linked == Linked::Taken, Ordering::Relaxed);
                self.name(&mut staged, dir, key, value)?;
                self.put_over(&mut staged, dir, key, intent)?
            }
        };
        if !done {
            return Ok(WriteOutcome::Conflict);
        }
        if !matches!(linked, Linked::Done) {
            self.kept.forget(key.as_str());
        }
        self.touched(place.path());
        Ok(WriteOutcome::Done(match intent {
            Intent::Replace | Intent::ReplaceLocked => None,
            _ => Mark::of(staged.file).ok().map(Version::scarce),
        }))
    }

    /// Puts a file where nothing is.
    fn put_new<'p>(
        &self,
        staged: &mut Staged<'p>,
        dir: BorrowedFd<'p>,
        key: &Key,
        value: Value<'_>,
        calm: bool,
    ) -> Result<Linked, Stop> {
        for _ in 0..TRIES {
            let linked = self.link(staged, dir, key, value)?;
            if linked != Linked::Taken || !self.clear_way(dir, key, calm)? {
                return Ok(linked);
            }
        }
        Err(self.restless(key).into())
    }

    /// Puts a file where an object may be; `false` if that is not what was expected.
    fn put_over(
        &self,
        staged: &mut Staged<'_>,
        dir: BorrowedFd<'_>,
        key: &Key,
        intent: Intent<'_>,
    ) -> Result<bool, Stop> {
        let (_, name) = names::split(key);
        for _ in 0..TRIES {
            let guard = match intent {
                Intent::ReplaceLocked | Intent::CreateLocked => None,
                _ => Some(self.hold(key)?),
            };
            let expected = match intent {
                Intent::Swap(mark) => {
                    self.want_versions(key)?;
                    self.is_unchanged(dir, key, mark)?
                }
                Intent::Create | Intent::CreateLocked => self.clear_way(dir, key, false)?,
                Intent::Replace | Intent::ReplaceLocked => {
                    if self.clear_way(dir, key, false)? {
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
                    staged.arrived();
                    return Ok(true);
                }
                Err(Errno::NOENT) => return Err(Stop::Gone),
                Err(_) if is_gone(dir) => return Err(Stop::Gone),
                // A directory came between: the next round looks at it.
                Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => {}
                Err(errno) => return Err(self.fail(key.as_str(), "replace", errno).into()),
            }
        }
        Err(self.restless(key).into())
    }

    fn hold(&self, key: &Key) -> Result<Guard<'_>> {
        self.locks.lock(self.root(), key.as_str()).map_err(|errno| self.fail(key.as_str(), "lock", errno))
    }

    /// Whether a key still leads to the state of a mark.
    fn is_unchanged(&self, dir: BorrowedFd<'_>, key: &Key, mark: &Mark) -> Result<bool> {
        let fail = |errno| self.fail(key.as_str(), "look at", errno);
        match self.look(dir, key)? {
            Some(found) => mark.is(&found).map_err(fail),
            None => Ok(false),
        }
    }

    fn look(&self, dir: BorrowedFd<'_>, key: &Key) -> Result<Option<Stat>> {
        match statat(dir, names::split(key).1, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.fail(key.as_str(), "look at", errno)),
        }
    }

    /// Reads, changes and writes an object until nobody came between; after some lost races nobody can.
    pub(super) fn change(&self, key: &Key, limit: usize, change: &mut UpdateFn<'_>) -> Result<()> {
        self.want_versions(key)?;
        self.want_name(key)?;
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for round in 0..TRIES {
            // A creation takes no lock, so the object may appear even now: once it is there, the lock holds.
            let guard = if round < RACES { None } else { Some(self.hold(key)?) };
            let range = ByteRange::first((limit as u64).saturating_add(1));
            let mark = self.read_vec(key, range, &mut old, true)?.flatten();
            if old.len() > limit {
                return Err(self.too_long(key, limit));
            }
            new.clear();
            change(mark.is_some().then_some(&old[..]), &mut new)?;
            let intent = match &mark {
                None if guard.is_some() => Intent::CreateLocked,
                None => Intent::Create,
                Some(_) if guard.is_some() => Intent::ReplaceLocked,
                Some(mark) => Intent::Swap(mark),
            };
            if let WriteOutcome::Done(_) = self.put_one(key, &new, intent)? {
                return Ok(());
            }
        }
        Err(self.restless(key))
    }

    pub(super) fn delete_object(&self, key: &Key) -> Result<bool> {
        self.want_writable("delete", key)?;
        if key.is_root() || names::has_reserved(key) {
            return Ok(false);
        }
        let Some(place) = self.find_place(key)? else { return Ok(false) };
        let (dir, (_, name)) = (place.dir(self), names::split(key));
        // Looked at first without the lock, so that nothing is made for what is not there.
        if !self.is_deletable(dir, key)? {
            return Ok(false);
        }
        let guard = self.hold(key)?;
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
        match self.look(dir, key)?.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            None | Some(FileType::Directory) => Ok(false),
            Some(FileType::RegularFile) => Ok(true),
            Some(FileType::Symlink) => Err(self.fail(key.as_str(), "delete", Errno::LOOP)),
            Some(_) => Err(self.refuse(key.as_str(), "is not a regular file")),
        }
    }

    /// Moves what is at or below `from`.
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
        let taken = || self.collision(to.as_str(), "is taken");
        if from == to || to.relative_to(from).is_some() || from.relative_to(to).is_some() || self.is_taken(to)? {
            return Err(taken());
        }
        for round in 0..TRIES {
            let Some(source) = self.find_place(from)? else { return Ok(()) };
            let Some(stat) = self.look(source.dir(self), from)? else { return Ok(()) };
            let is_file = match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => true,
                FileType::Directory if self.leads_to_object(from.as_str())? => false,
                FileType::Directory => return Ok(()),
                FileType::Symlink => return Err(self.fail(from.as_str(), "move", Errno::LOOP)),
                _ => return Err(self.refuse(from.as_str(), "is not a regular file")),
            };
            let guard = if is_file { Some(self.hold(from)?) } else { None };
            let calm = self.calm(from, round)?;
            let mut target = None;
            let target = match self.place(to, &mut target) {
                Ok(target) => target,
                Err(Stop::Gone) => continue,
                Err(Stop::Failed(error)) => return Err(error),
            };
            let moved = self.move_one(source.dir(self), from, target.dir(self), to, is_file);
            drop((calm, guard));
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
                    if !self.clear_way(target.dir(self), to, false)? {
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
        Err(self.restless(from))
    }

    /// Whether an object is at or below a key.
    fn is_taken(&self, to: &Key) -> Result<bool> {
        match self.object_len(to) {
            Ok(len) => Ok(len.is_some()),
            Err(error) if error.kind() == ErrorKind::Empty => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// One rename that replaces nothing.
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
            // A directory replaces nothing but an empty one anyway.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => renameat(from, old, to, new),
            moved => moved,
        }
    }

    /// Runs a batch of writes.
    pub(super) fn serve_writes(&self, job: &dyn WriteJob) {
        let in_parts = job.has_parts();
        // The caller works too: writes begin sooner than threads that sleep, or are still being made, can.
        run_with_caller(job.threads(), &|| {
            let ((mut key, mut scratch), mut kept) = (SCRATCH.take(), None);
            while let Some(ticket) = job.next(&mut key) {
                let mut store = |value: Value<'_>| match &ticket.precondition {
                    None => self.put(&key, value, Intent::Replace, &mut kept),
                    Some(expect) => {
                        self.want_versions(&key)?;
                        self.put(&key, value, self.intent(&key, expect.as_precondition())?, &mut kept)
                    }
                };
                let outcome = match in_parts {
                    true => store(Value::Parts(job, ticket.index)),
                    false => match job.value(ticket.index, &mut scratch) {
                        Ok(Payload::Scratch) => store(Value::Bytes(&scratch)),
                        Ok(Payload::Borrowed(bytes)) => store(Value::Bytes(bytes)),
                        Err(error) => Err(error),
                    },
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

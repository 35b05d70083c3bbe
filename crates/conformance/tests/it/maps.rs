//! The conformance suite finds maps that break one promise each.

use std::sync::{Arc, Mutex};

use nczarr_conformance::check_map;
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;
use nczarr_storage::batch::{
    ReadJob, ReadOutcome, ReadTicket, WriteJob, WriteTicket, read_parallel, write_parallel,
};
use nczarr_storage::{
    ByteRange, Key, ListMode, MapCaps, ObjectInfo, Precondition, ReadOptions, Version, WriteOutcome, ZMap,
    ZMapExt,
};
use nczarr_zmap_mem::MemMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    AbsentIsEmpty,
    PrefixIsAbsent,
    KeepsOldBytes,
    PadsShortReads,
    ReadIntoIsShort,
    SearchIsUnsorted,
    SearchShowsWhatIsDeeper,
    NamesMissOne,
    NamesTellTwice,
    ListMissesOne,
    DeleteIsAlwaysTrue,
    WritesInTwoSteps,
    ReplaceAppends,
    VersionsAreAllEqual,
    CreationReplaces,
    UpdateReadsOnce,
    UpdateHasNoLimit,
    RenameReplaces,
    RenameForgetsTheOld,
    PromisesVersions,
    PromisesDeletion,
    RefusesWithAnotherError,
    BatchDropsATicket,
    BatchAnswersTwice,
    BatchCutsAtItsPlace,
    BatchIgnoresLimits,
    BatchIgnoresExpectations,
    BatchStopsAtAnError,
}

/// A map in memory with one fault.
#[derive(Debug)]
struct Faulty {
    inner: MemMap,
    fault: Fault,
    log: Mutex<Vec<Key>>,
}

impl Faulty {
    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }
}

impl ZMap for Faulty {
    fn caps(&self) -> MapCaps {
        let caps = self.inner.caps();
        match self.fault {
            Fault::PromisesDeletion | Fault::RefusesWithAnotherError => caps.conditional_write(false),
            _ => caps,
        }
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        match self.inner.len(key) {
            Ok(None) if self.is(Fault::AbsentIsEmpty) => Ok(Some(0)),
            Err(_) if self.is(Fault::PrefixIsAbsent) => Ok(None),
            len => len,
        }
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        if options.versioned {
            match self.fault {
                Fault::PromisesVersions | Fault::PromisesDeletion => return Err(ErrorKind::Perm.into()),
                Fault::RefusesWithAnotherError => return Err(ErrorKind::Io.into()),
                _ => return self.inner.read_with(key, options, out),
            }
        }
        let old = out.clone();
        let found = self.inner.read_with(key, options, out)?;
        if found.is_some() && self.is(Fault::KeepsOldBytes) {
            out.splice(0..0, old);
        }
        if found.is_some()
            && self.is(Fault::PadsShortReads)
            && let Some(len) = options.range.len.filter(|&len| len < 100_000)
        {
            out.resize(len as usize, 0);
        }
        Ok(found)
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        if self.is(Fault::ReadIntoIsShort) && out.capacity() > 4096 {
            let mut bytes = Vec::new();
            let found = self.inner.read(key, ByteRange::new(offset, 4096), &mut bytes)?;
            out.put(&bytes)?;
            return Ok(found);
        }
        self.inner.read_into(key, offset, out)
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        let Some(mut names) = self.inner.list(prefix, mode)? else { return Ok(None) };
        match (self.fault, mode) {
            (Fault::SearchIsUnsorted, ListMode::Children) => names.reverse(),
            (Fault::SearchShowsWhatIsDeeper, ListMode::Children) => {
                names.extend(self.inner.keys(prefix)?.iter().map(|key| key.name().to_owned()));
                names.sort();
                names.dedup();
            }
            (Fault::NamesMissOne, ListMode::PossibleChildren) => drop(names.pop()),
            (Fault::NamesTellTwice, ListMode::PossibleChildren) => names.extend(names.last().cloned()),
            (Fault::ListMissesOne, ListMode::Keys) if names.len() > 2 => drop(names.remove(1)),
            _ => {}
        }
        Ok(Some(names))
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        match (self.fault, expect) {
            (Fault::WritesInTwoSteps, Precondition::Any) if value.len() > 1 => {
                self.inner.write(key, &value[..value.len() / 2])?;
                std::thread::yield_now();
                self.inner.write_if(key, value, expect)
            }
            (Fault::ReplaceAppends, Precondition::Any) => {
                let mut all = Vec::new();
                let _ = self.inner.read(key, ByteRange::ALL, &mut all);
                all.extend_from_slice(value);
                self.inner.write_if(key, &all, expect)
            }
            (_, Precondition::Any) => self.inner.write_if(key, value, expect),
            (Fault::PromisesVersions | Fault::PromisesDeletion, _) => Err(ErrorKind::Perm.into()),
            (Fault::RefusesWithAnotherError, _) => Err(ErrorKind::Io.into()),
            (Fault::VersionsAreAllEqual, Precondition::Unchanged(_)) => {
                if !self.inner.exists(key)? {
                    return Ok(WriteOutcome::Conflict);
                }
                self.inner.write(key, value).map(|()| WriteOutcome::Done(None))
            }
            (Fault::CreationReplaces, Precondition::Absent) => {
                self.inner.write(key, value).map(|()| WriteOutcome::Done(None))
            }
            _ => self.inner.write_if(key, value, expect),
        }
    }

    fn update(&self, key: &Key, limit: usize, change: &mut nczarr_storage::UpdateFn<'_>) -> Result<()> {
        match self.fault {
            Fault::PromisesVersions | Fault::PromisesDeletion => Err(ErrorKind::Perm.into()),
            Fault::RefusesWithAnotherError => Err(ErrorKind::Io.into()),
            Fault::UpdateReadsOnce => {
                let (mut old, mut new) = (Vec::new(), Vec::new());
                let found = self.inner.read(key, ByteRange::ALL, &mut old)?;
                if old.len() > limit {
                    return Err(ErrorKind::Io.into());
                }
                std::thread::yield_now();
                change(found.then_some(&old), &mut new)?;
                self.inner.write(key, &new)
            }
            Fault::UpdateHasNoLimit => self.inner.update(key, usize::MAX, change),
            _ => self.inner.update(key, limit, change),
        }
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        if self.is(Fault::PromisesDeletion) {
            return Err(ErrorKind::Perm.into());
        }
        let deleted = self.inner.delete(key)?;
        Ok(deleted || self.is(Fault::DeleteIsAlwaysTrue))
    }

    fn rename(&self, from: &Key, to: &Key) -> Result<()> {
        match self.fault {
            Fault::RenameReplaces => {
                if from != to
                    && !to.is_root()
                    && to.relative_to(from).is_none()
                    && from.relative_to(to).is_none()
                {
                    for key in self.inner.keys(to)? {
                        self.inner.delete(&key)?;
                    }
                }
                self.inner.rename(from, to)
            }
            Fault::RenameForgetsTheOld => {
                let keys = self.inner.keys(from)?;
                self.inner.rename(from, to)?;
                for key in keys {
                    self.inner.write(&key, b"")?;
                }
                Ok(())
            }
            _ => self.inner.rename(from, to),
        }
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        match self.fault {
            Fault::BatchDropsATicket
            | Fault::BatchAnswersTwice
            | Fault::BatchCutsAtItsPlace
            | Fault::BatchIgnoresLimits => self.inner.read_batch(&Meddled { job, fault: self.fault }),
            // This branch acts like a map with the default batch.
            _ => read_parallel(self, job),
        }
    }

    fn write_batch(&self, job: &dyn WriteJob) {
        match self.fault {
            Fault::BatchIgnoresExpectations | Fault::BatchStopsAtAnError => {
                let meddled =
                    MeddledWrites { job, fault: self.fault, stopped: Mutex::new(false), log: &self.log };
                write_parallel(&self.inner, &meddled);
            }
            _ => write_parallel(self, job),
        }
    }
}

/// A read batch that stands between the suite and the map.
struct Meddled<'j> {
    job: &'j dyn ReadJob,
    fault: Fault,
}

impl ReadJob for Meddled<'_> {
    fn threads(&self) -> usize {
        self.job.threads()
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let mut ticket = self.job.next(key)?;
        if self.fault == Fault::BatchIgnoresLimits {
            ticket.limit = usize::MAX;
        }
        Some(ticket)
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        match (self.fault, found) {
            (Fault::BatchDropsATicket, _) if ticket.index == 17 => {}
            (Fault::BatchAnswersTwice, Ok(None)) => {
                let (ranges, index) = (ticket.ranges.clone(), ticket.index);
                let again = ReadTicket::new(index, ranges, 0);
                self.job.done(ticket, Ok(None));
                self.job.done(again, Ok(None));
            }
            (Fault::BatchCutsAtItsPlace, Ok(Some((ReadOutcome::Bytes(bytes), version)))) => {
                let room = ticket.into.as_ref().map_or(bytes.len(), OutBuf::capacity).min(bytes.len());
                self.job.done(ticket, Ok(Some((ReadOutcome::Bytes(&bytes[..room]), version))));
            }
            (_, found) => self.job.done(ticket, found),
        }
    }
}

/// A write batch that stands between the suite and the map.
struct MeddledWrites<'j> {
    job: &'j dyn WriteJob,
    fault: Fault,
    stopped: Mutex<bool>,
    log: &'j Mutex<Vec<Key>>,
}

impl WriteJob for MeddledWrites<'_> {
    fn threads(&self) -> usize {
        self.job.threads()
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        if *self.stopped.lock().unwrap() {
            return None;
        }
        let mut ticket = self.job.next(key)?;
        self.log.lock().unwrap().push(key.clone());
        if self.fault == Fault::BatchIgnoresExpectations {
            ticket.precondition = Precondition::Any;
        }
        Some(ticket)
    }

    fn value(&self, index: usize, scratch: &mut Vec<u8>) -> Result<nczarr_storage::batch::Payload<'_>> {
        self.job.value(index, scratch)
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        *self.stopped.lock().unwrap() |= self.fault == Fault::BatchStopsAtAnError && outcome.is_err();
        self.job.done(ticket, outcome);
    }
}

fn check(fault: Fault) -> nczarr_conformance::Outcome {
    check_map(&|| Arc::new(Faulty { inner: MemMap::new(), fault, log: Mutex::default() }))
}

#[test]
fn a_map_over_the_defaults_passes() {
    check(Fault::None).unwrap();
}

#[test]
fn every_broken_promise_is_found() {
    let faults = [
        (Fault::AbsentIsEmpty, "absent"),
        (Fault::PrefixIsAbsent, "prefix"),
        (Fault::KeepsOldBytes, "read"),
        (Fault::PadsShortReads, "read of"),
        (Fault::ReadIntoIsShort, "read_into"),
        (Fault::SearchIsUnsorted, "search"),
        (Fault::SearchShowsWhatIsDeeper, "search"),
        (Fault::NamesMissOne, "names"),
        (Fault::NamesTellTwice, "names"),
        (Fault::ListMissesOne, "list"),
        (Fault::DeleteIsAlwaysTrue, "delete"),
        (Fault::WritesInTwoSteps, "whole object"),
        (Fault::ReplaceAppends, "the written bytes"),
        (Fault::VersionsAreAllEqual, "outdated"),
        (Fault::CreationReplaces, "creation"),
        (Fault::UpdateReadsOnce, "lost between threads"),
        (Fault::UpdateHasNoLimit, "longer than the limit"),
        (Fault::RenameReplaces, "rename"),
        (Fault::RenameForgetsTheOld, "rename"),
        (Fault::PromisesVersions, "creation"),
        (Fault::PromisesDeletion, "delete"),
        (Fault::RefusesWithAnotherError, "without the capability"),
        (Fault::BatchDropsATicket, "comes back once"),
        (Fault::BatchAnswersTwice, "comes back once"),
        (Fault::BatchCutsAtItsPlace, "the result of"),
        (Fault::BatchIgnoresLimits, "limit"),
        (Fault::BatchIgnoresExpectations, "conditional"),
        (Fault::BatchStopsAtAnError, "tickets back"),
    ];
    for (fault, about) in faults {
        // Faults that depend on thread timing may need several tries.
        let failure =
            (0..50).find_map(|_| check(fault).err()).unwrap_or_else(|| panic!("{fault:?} was not found"));
        let message = failure.to_string();
        assert!(message.contains(about), "{fault:?}: {message}");
    }
}

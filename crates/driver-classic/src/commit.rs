//! Writing the header, and moving data when it says that they lie elsewhere.
//!
//! A header is replaced in place only if what differs lies within one sector, which storage writes whole or not at all.
//! Else the file is written anew beside the old one and takes its place in one step: whoever looks, at any moment,
//! finds the one or the other. Data come before the number that counts them.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, MutexGuard, PoisonError};

use nczarr_chunkio::ByteStore as _;
use nczarr_dispatch::single_file::{self, TempFile};
use nczarr_dispatch::{Durability, HeaderPadding};
use nczarr_model::{Error, ErrorKind, Model, Result};

use crate::copy;
use crate::current::{Current, Ready};
use crate::dataset::ClassicDataset;
use crate::layout::{self, Layout};
use crate::store::Store;
use crate::var::is_filling;
use crate::write::{self, RECORDS_AT};

/// As a number of records: it is not told. Of either width all bits are set.
const UNTOLD: u64 = u64::MAX;

/// What storage writes whole or not at all.
const SECTOR: usize = 512;

/// The size to which netCDF-C makes a file without any content; files are compared.
const EMPTY: u64 = 4096;

/// What is known to be stored.
#[derive(Debug, Default)]
pub(crate) struct Committed {
    /// The header; its number of records is [`Committed::records`]. `None`: nothing was written yet.
    pub(crate) header: Option<Vec<u8>>,
    /// The number of records that the header tells; `None`: it does not tell.
    pub(crate) records: Option<u64>,
    /// The edition of the model all of which is in the header.
    pub(crate) edition: Option<u64>,
    /// That model: who aborts definitions comes back to it.
    pub(crate) model: Option<Arc<Model>>,
    /// The file of a new dataset.
    pub(crate) unfinished: Option<TempFile>,
}

impl ClassicDataset {
    pub(crate) fn lock_committed(&self) -> MutexGuard<'_, Committed> {
        self.committed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_durable(&self) -> bool {
        self.shared.options.durability == Durability::Fsync
    }

    /// Writes the header if the model says something else than it.
    ///
    /// # Errors
    /// `NC_EVARSIZE` for variables that are too large; `NC_EINDEFINE` if data are being written and would have to be
    /// moved; what the storage says. The file is as it was then.
    pub(crate) fn write_header(&self, spacing: HeaderPadding, committed: &mut Committed) -> Result<()> {
        let edition = self.shared.model.edition();
        if committed.edition == Some(edition) && spacing == HeaderPadding::default() {
            return Ok(());
        }
        let model = self.shared.model.snapshot();
        let is_stored = committed.model.as_ref().is_some_and(|stored| Arc::ptr_eq(stored, &model));
        if !is_stored || spacing != HeaderPadding::default() {
            self.write_model(&model, spacing, committed)?;
        }
        // Not before all of it is there; edits that came after the snapshot make another edition.
        committed.edition = Some(edition);
        committed.model = Some(model);
        Ok(())
    }

    fn write_model(&self, model: &Model, spacing: HeaderPadding, committed: &mut Committed) -> Result<()> {
        let current = self.shared.numbered().1;
        let kind = self.shared.kind;
        let Some(stored) = &committed.header else {
            let layout = layout::decide(kind, model, spacing, None)?;
            return self.write_first(model, layout, &current, committed);
        };
        let layout = layout::decide(kind, model, spacing, Some(&current.layout))?;
        let header = |records| {
            let mut header = write::header(kind, model, &layout, records)?;
            // What a shorter header leaves means nothing, but need not stay.
            header.resize(header.len().max(stored.len()), 0);
            Ok::<_, Error>(header)
        };
        let mut new = header(committed.records.unwrap_or(UNTOLD))?;
        let mut range = difference(stored, &new);
        if layout.slots != current.layout.slots || !is_atomic(&range) {
            return self.write_anew(model, layout, &current, committed);
        }
        let alone = self.shared.gate.lock_exclusive()?;
        let mut told = committed.records;
        if !range.is_empty() {
            if told.is_none() {
                // Where the number of records is not told, it is once something is written; what it counts comes before.
                let records = self.records(model);
                new = header(records)?;
                range = difference(stored, &new);
                if !is_atomic(&range) {
                    drop(alone);
                    return self.write_anew(model, layout, &current, committed);
                }
                current.ensure_all(records, is_filling(model))?;
                if self.is_durable() {
                    current.store.persist()?;
                }
                told = Some(records);
            }
            current.store.write_at(range.start as u64, &new[range])?;
            committed.records = told;
            if self.is_durable() {
                current.store.persist()?;
            }
        }
        let renewed = current.renewed(model, layout)?;
        self.shared.replace(renewed);
        committed.header = Some(new);
        drop(alone);
        Ok(())
    }

    /// The number of records there are now.
    pub(crate) fn records(&self, model: &Model) -> u64 {
        model.dims().find(|(_, dim)| dim.unlimited).map_or(0, |(_, dim)| dim.len())
    }

    fn write_first(&self, model: &Model, layout: Layout, current: &Current, committed: &mut Committed) -> Result<()> {
        let store = &current.store;
        let header = write::header(self.shared.kind, model, &layout, 0)?;
        store.write_at(0, &header)?;
        if model.dims().len() + model.vars().len() + model.root().atts.len() == 0 {
            store.write_at(EMPTY - 1, &[0])?;
        }
        if self.is_durable() {
            store.persist()?;
        }
        let new = Current::new(model, layout, Arc::clone(store), Ready::Nothing, &self.shared.options)?;
        let kept = match &mut committed.unfinished {
            Some(unfinished) => Some(unfinished.persist()?),
            None => None,
        };
        committed.unfinished = None;
        self.shared.replace(new);
        committed.header = Some(header);
        committed.records = Some(0);
        self.settle(kept)
    }

    /// Writes a file of another layout and puts it in the place of this one.
    fn write_anew(&self, model: &Model, layout: Layout, current: &Current, committed: &mut Committed) -> Result<()> {
        let alone = self.shared.gate.lock_exclusive()?;
        let (records, filling) = (self.records(model), is_filling(model));
        current.ensure_all(records, filling)?;
        let header = write::header(self.shared.kind, model, &layout, records)?;
        if layout.size(records).is_none() {
            let what = format!("{records} records of {} bytes: no file is so long", layout.recsize);
            return Err(ErrorKind::VarSize.context(what));
        }
        let (store, unfinished) = match current.store.as_file() {
            Some((_, path)) => {
                let (opened, unfinished) = single_file::create_temp_file(path)?;
                (Store::file(opened.file, opened.path), Some(unfinished))
            }
            None => (Store::memory(Vec::new()), None),
        };
        let new = Current::new(model, layout, Arc::new(store), Ready::Records(records), &self.shared.options)?;
        new.store.write_at(0, &header)?;
        copy::all(current, &new, records, filling)?;
        if records == 0 {
            reach(&new)?;
        }
        let kept = match unfinished {
            Some(mut unfinished) => {
                // Before the old file goes: what was readable never depends on what storage has not written yet.
                new.store.persist()?;
                Some(unfinished.persist()?)
            }
            None => None,
        };
        // From here on the new file is the one that is there, whatever comes of the rest.
        self.shared.replace(new);
        committed.header = Some(header);
        committed.records = Some(records);
        drop(alone);
        self.settle(kept)
    }

    /// Sees to it that a file that was put in its place is found there after a failure of power, if that is wanted.
    fn settle(&self, place: Option<PathBuf>) -> Result<()> {
        match place {
            Some(place) if self.is_durable() => single_file::sync_directory(&place),
            _ => Ok(()),
        }
    }

    /// Fills what was not written, and lets the header tell how many records there are.
    ///
    /// # Errors
    /// What the storage says.
    pub(crate) fn write_records(&self, committed: &mut Committed) -> Result<()> {
        if committed.header.is_none() {
            return Ok(());
        }
        let model = self.shared.model.snapshot();
        let current = self.shared.numbered().1;
        let records = self.records(&model);
        let writing = self.shared.gate.lock_shared();
        current.ensure_all(records, is_filling(&model))?;
        if records == 0 {
            reach(&current)?;
        }
        drop(writing);
        if self.is_durable() {
            current.store.persist()?;
        }
        // A number that is not told stays so until there are more records.
        if committed.records.unwrap_or(self.counted) == records {
            return Ok(());
        }
        let bytes = write::records(self.shared.kind, records);
        current.store.write_at(RECORDS_AT, &bytes)?;
        committed.records = Some(records);
        if let Some(place) = committed.header.as_mut().and_then(|header| header.get_mut(RECORDS_AT as usize..)) {
            let len = bytes.len().min(place.len());
            place[..len].copy_from_slice(&bytes[..len]);
        }
        if self.is_durable() { current.store.persist() } else { Ok(()) }
    }
}

/// Lets a file without records reach to where they begin. What is missing is room that nobody uses.
fn reach(current: &Current) -> Result<()> {
    let store = &current.store;
    match current.layout.begin_rec.checked_sub(1) {
        Some(last) if current.layout.recsize > 0 && store.size()? <= last => store.write_at(last, &[0]),
        _ => Ok(()),
    }
}

/// The bytes of the second that differ from the first, from the first to the last such byte.
fn difference(old: &[u8], new: &[u8]) -> Range<usize> {
    let differs = |at: &usize| old.get(*at) != new.get(*at);
    let places = 0..new.len();
    match (places.clone().find(differs), places.rev().find(differs)) {
        (Some(first), Some(last)) => first..last + 1,
        _ => 0..0,
    }
}

/// Whether bytes lie within one sector.
fn is_atomic(range: &Range<usize>) -> bool {
    range.is_empty() || range.start / SECTOR == (range.end - 1) / SECTOR
}

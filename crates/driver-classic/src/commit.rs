//! Writes the header, and moves data when the layout changes.
//!
//! A header is replaced in place only if the difference is within one sector, which storage writes
//! atomically. Otherwise a new file is written beside the old one and replaces it in one step. Data are
//! written before the count of records.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, MutexGuard, PoisonError};

use nczarr_chunkio::ByteStore as _;
use nczarr_dispatch::single_file;
use nczarr_dispatch::{Durability, HeaderPadding};
use nczarr_model::{Error, ErrorKind, Model, Result};

use crate::committed::CommittedHeader;
use crate::copy;
use crate::dataset::ClassicDataset;
use crate::file_state::{FileState, ReadyData};
use crate::layout::FileLayout;
use crate::offsets;
use crate::store::FileStore;
use crate::write::{self, RECORDS_AT};

/// The number of records if it is unknown, as in a streaming file: all bits are set, in 32 or 64 bits.
const UNTOLD: u64 = u64::MAX;

/// The unit that storage writes atomically.
const SECTOR: usize = 512;

/// The size of an empty file of netCDF-C, since files are compared.
const EMPTY: u64 = 4096;

impl ClassicDataset {
    pub(crate) fn lock_committed(&self) -> MutexGuard<'_, CommittedHeader> {
        self.committed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_durable(&self) -> bool {
        self.shared.options.durability == Durability::Fsync
    }

    /// Writes the header if the model differs from it.
    ///
    /// # Errors
    /// `NC_EVARSIZE` for too large variables; `NC_EINDEFINE` if data that must move are being written;
    /// otherwise the storage's error. The file is unchanged then.
    pub(crate) fn write_header(&self, spacing: HeaderPadding, committed: &mut CommittedHeader) -> Result<()> {
        let edition = self.shared.model.edition();
        if committed.edition == Some(edition) && spacing == HeaderPadding::default() {
            return Ok(());
        }
        let model = self.shared.model.snapshot();
        let is_stored = committed.model.as_ref().is_some_and(|stored| Arc::ptr_eq(stored, &model));
        if !is_stored || spacing != HeaderPadding::default() {
            self.write_model(&model, spacing, committed)?;
        }
        // Set after the write; later edits have another edition.
        committed.edition = Some(edition);
        committed.model = Some(model);
        Ok(())
    }

    fn write_model(
        &self,
        model: &Model,
        spacing: HeaderPadding,
        committed: &mut CommittedHeader,
    ) -> Result<()> {
        let current = self.shared.numbered().1;
        let (kind, rooms) = (self.shared.kind, self.shared.name_rooms());
        let Some(stored) = &committed.header else {
            let layout = offsets::decide(kind, model, &rooms, spacing, None)?;
            return self.write_first(model, layout, &current, committed);
        };
        let layout = offsets::decide(kind, model, &rooms, spacing, Some(&current.layout))?;
        let header = |records| {
            let mut header = write::header(kind, model, &rooms, &layout, records)?;
            // Zeros replace the rest of a longer old header.
            header.resize(header.len().max(stored.len()), 0);
            Ok::<_, Error>(header)
        };
        let mut new = header(committed.records.unwrap_or(UNTOLD))?;
        let mut range = difference(stored, &new);
        if layout.slots != current.layout.slots || !is_atomic(&range) {
            return self.write_replacement(model, layout, &current, committed);
        }
        let alone = self.shared.gate.lock_exclusive()?;
        let mut counted = committed.records;
        if !range.is_empty() {
            if counted.is_none() {
                // The first write sets an unknown number of records, after the data that it counts are
                // stored.
                let records = self.records(model);
                new = header(records)?;
                range = difference(stored, &new);
                if !is_atomic(&range) {
                    drop(alone);
                    return self.write_replacement(model, layout, &current, committed);
                }
                current.ensure_all(records)?;
                if self.is_durable() {
                    current.store.persist()?;
                }
                counted = Some(records);
            }
            current.store.write_at(range.start as u64, &new[range])?;
            committed.records = counted;
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

    /// Returns the current number of records.
    pub(crate) fn records(&self, model: &Model) -> u64 {
        model.dims().find(|(_, dim)| dim.unlimited).map_or(0, |(_, dim)| dim.len())
    }

    fn write_first(
        &self,
        model: &Model,
        layout: FileLayout,
        current: &FileState,
        committed: &mut CommittedHeader,
    ) -> Result<()> {
        let store = &current.store;
        let header = write::header(self.shared.kind, model, &self.shared.name_rooms(), &layout, 0)?;
        store.write_at(0, &header)?;
        if model.dims().len() + model.vars().len() + model.root().atts.len() == 0 {
            store.write_at(EMPTY - 1, &[0])?;
        }
        if self.is_durable() {
            store.persist()?;
        }
        let new = FileState::new(model, layout, Arc::clone(store), ReadyData::Nothing, &self.shared.options)?;
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

    /// Writes a file with another layout and replaces this one.
    fn write_replacement(
        &self,
        model: &Model,
        layout: FileLayout,
        current: &FileState,
        committed: &mut CommittedHeader,
    ) -> Result<()> {
        let alone = self.shared.gate.lock_exclusive()?;
        let records = self.records(model);
        current.ensure_all(records)?;
        let header = write::header(self.shared.kind, model, &self.shared.name_rooms(), &layout, records)?;
        if layout.size(records).is_none() {
            let what = format!("{records} records of {} bytes exceed the size of a file", layout.recsize);
            return Err(ErrorKind::VarSize.context(what));
        }
        let (store, unfinished) = match current.store.as_file() {
            Some((_, path)) => {
                let (opened, unfinished) = single_file::create_temp_file(path)?;
                (FileStore::file(opened.file, opened.path), Some(unfinished))
            }
            None => (FileStore::memory(Vec::new()), None),
        };
        let new = FileState::new(
            model,
            layout,
            Arc::new(store),
            ReadyData::Records(records),
            &self.shared.options,
        )?;
        new.store.write_at(0, &header)?;
        copy::all(current, &new, records)?;
        if records == 0 {
            reach(&new)?;
        }
        let kept = match unfinished {
            Some(mut unfinished) => {
                // Before the old file disappears, the new one must be on disk.
                new.store.persist()?;
                Some(unfinished.persist()?)
            }
            None => None,
        };
        // From here on the new file is in place, whatever happens next.
        self.shared.replace(new);
        committed.header = Some(header);
        committed.records = Some(records);
        drop(alone);
        self.settle(kept)
    }

    /// Makes the replacement durable, if that is wanted.
    fn settle(&self, place: Option<PathBuf>) -> Result<()> {
        match place {
            Some(place) if self.is_durable() => single_file::sync_directory(&place),
            _ => Ok(()),
        }
    }

    /// Fills unwritten records, and stores the number of records.
    ///
    /// # Errors
    /// The storage's error.
    pub(crate) fn write_records(&self, committed: &mut CommittedHeader) -> Result<()> {
        if committed.header.is_none() {
            return Ok(());
        }
        let model = self.shared.model.snapshot();
        let current = self.shared.numbered().1;
        let records = self.records(&model);
        let writing = self.shared.gate.lock_shared();
        current.ensure_all(records)?;
        if records == 0 {
            reach(&current)?;
        }
        drop(writing);
        if self.is_durable() {
            current.store.persist()?;
        }
        // An unknown number stays unknown until records are added.
        if committed.records.unwrap_or(self.counted) == records {
            return Ok(());
        }
        let bytes = write::records(self.shared.kind, records);
        current.store.write_at(RECORDS_AT, &bytes)?;
        committed.records = Some(records);
        if let Some(place) =
            committed.header.as_mut().and_then(|header| header.get_mut(RECORDS_AT as usize..))
        {
            let len = bytes.len().min(place.len());
            place[..len].copy_from_slice(&bytes[..len]);
        }
        if self.is_durable() { current.store.persist() } else { Ok(()) }
    }
}

/// Extends a file without records to the start of the records. The gap is unused.
fn reach(current: &FileState) -> Result<()> {
    let store = &current.store;
    match current.layout.begin_rec.checked_sub(1) {
        Some(last) if current.layout.recsize > 0 && store.size()? <= last => store.write_at(last, &[0]),
        _ => Ok(()),
    }
}

/// Returns the range of the second header that differs from the first.
fn difference(old: &[u8], new: &[u8]) -> Range<usize> {
    let differs = |at: &usize| old.get(*at) != new.get(*at);
    let places = 0..new.len();
    match (places.clone().find(differs), places.rev().find(differs)) {
        (Some(first), Some(last)) => first..last + 1,
        _ => 0..0,
    }
}

/// Whether a range is within one sector.
fn is_atomic(range: &Range<usize>) -> bool {
    range.is_empty() || range.start / SECTOR == (range.end - 1) / SECTOR
}

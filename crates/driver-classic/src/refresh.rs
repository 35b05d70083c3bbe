//! Updates a reader at `sync`: more records, or another file in place of the one it reads.
//!
//! The header is read again and must be unchanged. A rewritten file (after a redefinition) is used if its
//! definitions are equal. Otherwise the reader gets an error and continues with the old file. Data of one
//! file are never interpreted with the header of another.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use nczarr_chunkio::ByteStore as _;
use nczarr_dispatch::single_file;
use nczarr_model::{Error, ErrorKind, Model, Result};

use crate::dataset::ClassicDataset;
use crate::file_state::{FileState, ReadyData};
use crate::load::{self, LoadedHeader};
use crate::parse;
use crate::store::FileStore;

/// The maximum padding at the end of a file, which some writers omit.
const PADDING: u64 = 3;

impl ClassicDataset {
    /// Makes writes of other processes visible to a reader.
    ///
    /// # Errors
    /// `NC_EFILEMETA` that names the file if definitions changed or records disappeared; open it again then,
    /// while the old state remains usable. Otherwise the storage's error.
    pub(crate) fn refresh(&self) -> Result<()> {
        let current = self.shared.numbered().1;
        // Memory has no other writers.
        let Some(path) = current.store.path() else { return Ok(()) };
        let outdated = match fs::metadata(path) {
            Ok(found) => current.store.is_outdated(&found)?,
            // The open file remains readable.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
            Err(error) => return Err(Error::io(path.display().to_string(), error)),
        };
        if outdated { self.switch_file(&current, path) } else { self.check_for_records(&current, path) }
    }

    /// Checks for more records in the same file.
    fn check_for_records(&self, current: &FileState, path: &Path) -> Result<()> {
        let (loaded, size) = self.load(&current.store, path)?;
        self.check_same(&loaded, path)?;
        if loaded.layout != current.layout {
            return Err(changed(path, "its data moved"));
        }
        if loaded.whole.saturating_sub(size) <= PADDING {
            self.grow(loaded.records);
        }
        Ok(())
    }

    /// Switches to the file that is now at the path.
    fn switch_file(&self, current: &FileState, path: &Path) -> Result<()> {
        let store = current.store.of_same_kind(single_file::open(path, false)?)?;
        let (loaded, size) = self.load(&store, path)?;
        self.check_same(&loaded, path)?;
        if loaded.whole.saturating_sub(size) > PADDING {
            return Err(changed(path, "it is truncated"));
        }
        if let Some((_, var)) = loaded.model.vars().find(|(_, var)| var.problem.is_some()) {
            return Err(changed(path, &format!("variable {:?} is damaged", var.name)));
        }
        let model = self.shared.model.snapshot();
        let new =
            FileState::new(&model, loaded.layout, Arc::new(store), ReadyData::All, &self.shared.options)?;
        self.shared.replace(new);
        // Afterwards: readers of the new number use the new file.
        self.grow(loaded.records);
        Ok(())
    }

    fn load(&self, store: &FileStore, path: &Path) -> Result<(LoadedHeader, u64)> {
        let size = store.size()?;
        let header = parse::read(store, size, &self.shared.options.limits);
        match header.and_then(|header| load::load(header, size)) {
            Ok(loaded) => Ok((loaded, size)),
            Err(error) if error.kind() == ErrorKind::Io => Err(error.at(path.display())),
            Err(error) => Err(changed(path, "its header is invalid").caused_by(error)),
        }
    }

    /// Checks that the definitions of a file equal those of this dataset.
    fn check_same(&self, found: &LoadedHeader, path: &Path) -> Result<()> {
        let model = self.shared.model.snapshot();
        if found.kind != self.shared.kind {
            return Err(changed(path, "its format changed"));
        }
        if let Some(what) = difference(&model, &found.model) {
            return Err(changed(path, &what));
        }
        let seen = self.records(&model);
        if found.records < seen {
            return Err(changed(
                path,
                &format!("records disappeared (expected {seen}, found {})", found.records),
            ));
        }
        Ok(())
    }

    fn grow(&self, records: u64) {
        for (_, dim) in self.shared.model.snapshot().dims().filter(|(_, dim)| dim.unlimited) {
            dim.grow(records);
        }
    }
}

/// Returns the first different definition, except for the number of records.
fn difference(old: &Model, new: &Model) -> Option<String> {
    let counts = |of: &Model| (of.dims().len(), of.vars().len());
    if counts(old) != counts(new) {
        return Some("its dimensions or variables changed".to_owned());
    }
    for ((_, old), (_, new)) in old.dims().zip(new.dims()) {
        let same_len = old.unlimited || old.len() == new.len();
        if old.name != new.name || old.unlimited != new.unlimited || !same_len {
            return Some(format!("dimension {:?} changed", old.name));
        }
    }
    for ((_, old), (_, new)) in old.vars().zip(new.vars()) {
        if old.name != new.name || old.xtype != new.xtype || old.dims != new.dims || old.atts != new.atts {
            return Some(format!("variable {:?} changed", old.name));
        }
    }
    (old.root().atts != new.root().atts).then(|| "its attributes changed".to_owned())
}

fn changed(path: &Path, what: &str) -> Error {
    let path = path.display();
    ErrorKind::FileMeta.context(format!("{path}: {what} since it was opened; open it again"))
}

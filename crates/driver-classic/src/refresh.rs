//! What a reader learns when it syncs: more records, or that another file has taken the place of the one it reads.
//!
//! The header is read again and has to say the same as before. A file that was written anew (a redefinition does that)
//! is gone on with if it holds what this one did; if not, the reader is told so and goes on reading what it has: never
//! are data of one file taken for what the header of another one says.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use nczarr_chunkio::ByteStore as _;
use nczarr_dispatch::single_file;
use nczarr_model::{Error, ErrorKind, Model, Result};

use crate::current::{Current, Ready};
use crate::dataset::ClassicDataset;
use crate::load::{self, Loaded};
use crate::parse;
use crate::store::Store;

/// Padding at the end of a file, which some writers leave out.
const PADDING: u64 = 3;

impl ClassicDataset {
    /// Lets a reader see what others wrote since it looked last.
    ///
    /// # Errors
    /// `NC_EFILEMETA` naming the file if its definitions are others now, or records are gone; it is to be opened anew, and
    /// until then what was known of it is there. What the storage says.
    pub(crate) fn refresh(&self) -> Result<()> {
        let current = self.shared.numbered().1;
        // What is in memory is nobody else's.
        let Some(path) = current.store.path() else { return Ok(()) };
        let outdated = match fs::metadata(path) {
            Ok(found) => current.store.is_outdated(&found)?,
            // It can be read on.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
            Err(error) => return Err(Error::io(path.display().to_string(), error)),
        };
        match outdated {
            true => self.go_over(&current, path),
            false => self.look_again(&current, path),
        }
    }

    /// Looks for more records in the same file.
    fn look_again(&self, current: &Current, path: &Path) -> Result<()> {
        let (loaded, size) = self.load(&current.store, path)?;
        self.check_same(&loaded, path)?;
        if loaded.layout != current.layout {
            return Err(changed(path, "its data lie elsewhere"));
        }
        if loaded.whole.saturating_sub(size) <= PADDING {
            self.grow(loaded.records);
        }
        Ok(())
    }

    /// Goes on with the file that is there now.
    fn go_over(&self, current: &Current, path: &Path) -> Result<()> {
        let store = current.store.anew(single_file::open(&path.to_string_lossy(), false)?)?;
        let (loaded, size) = self.load(&store, path)?;
        self.check_same(&loaded, path)?;
        if loaded.whole.saturating_sub(size) > PADDING {
            return Err(changed(path, "it is cut short"));
        }
        if let Some((_, var)) = loaded.model.vars().find(|(_, var)| var.problem.is_some()) {
            return Err(changed(path, &format!("variable {:?} is damaged", var.name)));
        }
        let model = self.shared.model.snapshot();
        let new = Current::new(&model, loaded.layout, Arc::new(store), Ready::All, &self.shared.options)?;
        self.shared.replace(new);
        // Afterwards: who sees that there are more looks for them in the new file.
        self.grow(loaded.records);
        Ok(())
    }

    fn load(&self, store: &Store, path: &Path) -> Result<(Loaded, u64)> {
        let size = store.size()?;
        let header = parse::read(store, size, &self.shared.options.limits);
        match header.and_then(|header| load::load(header, size)) {
            Ok(loaded) => Ok((loaded, size)),
            Err(error) if error.kind() == ErrorKind::Io => Err(error.at(path.display())),
            Err(error) => Err(changed(path, "its header makes no sense any more").caused_by(error)),
        }
    }

    /// Whether a file is one of which all is true that was said of this dataset.
    fn check_same(&self, found: &Loaded, path: &Path) -> Result<()> {
        let model = self.shared.model.snapshot();
        if found.kind != self.shared.kind {
            return Err(changed(path, "it is of another kind"));
        }
        if let Some(what) = difference(&model, &found.model) {
            return Err(changed(path, &what));
        }
        let seen = self.records(&model);
        if found.records < seen {
            return Err(changed(path, &format!("it has {} records, and had {seen}", found.records)));
        }
        Ok(())
    }

    fn grow(&self, records: u64) {
        for (_, dim) in self.shared.model.snapshot().dims().filter(|(_, dim)| dim.unlimited) {
            dim.grow(records);
        }
    }
}

/// The first definition that is another one, but for the number of records.
fn difference(old: &Model, new: &Model) -> Option<String> {
    let counts = |of: &Model| (of.dims().len(), of.vars().len());
    if counts(old) != counts(new) {
        return Some("it has other dimensions or variables".to_owned());
    }
    for ((_, old), (_, new)) in old.dims().zip(new.dims()) {
        let same_len = old.unlimited || old.len() == new.len();
        if old.name != new.name || old.unlimited != new.unlimited || !same_len {
            return Some(format!("dimension {:?} is another one", old.name));
        }
    }
    for ((_, old), (_, new)) in old.vars().zip(new.vars()) {
        if old.name != new.name || old.xtype != new.xtype || old.dims != new.dims || old.atts != new.atts {
            return Some(format!("variable {:?} is another one", old.name));
        }
    }
    (old.root().atts != new.root().atts).then(|| "it has other attributes".to_owned())
}

fn changed(path: &Path, what: &str) -> Error {
    let path = path.display();
    ErrorKind::FileMeta.context(format!("{path}: {what}: somebody changed it since it was opened; open it anew"))
}

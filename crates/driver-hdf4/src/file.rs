//! [`Hdf4File`]: a file, its directory, and the bytes of its elements.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nczarr_dispatch::Limits;
use nczarr_model::{ErrorKind, Result};

use crate::directory::{Directory, ElementDescriptor, tag};
use crate::element::{self, Element};
use crate::linked_blocks::{ElementExtents, linked};
use crate::source::FileSource;

/// An open file.
#[derive(Debug)]
pub(crate) struct Hdf4File {
    pub(crate) store: Arc<FileSource>,
    pub(crate) directory: Directory,
    /// Bytes of metadata that may still be read. A sound file has each structure once. A damaged one might
    /// refer to the same megabyte a thousand times.
    left: AtomicU64,
}

impl Hdf4File {
    /// Reads the directory of a file.
    ///
    /// # Errors
    /// As [`Directory::read`].
    pub(crate) fn new(store: FileSource, limits: &Limits) -> Result<Self> {
        let directory = Directory::read(&store)?;
        store.prefetch(directory.descriptions());
        let left = AtomicU64::new(store.len().saturating_add(limits.metadata));
        Ok(Self { store: Arc::new(store), directory, left })
    }

    /// Announces reads of the descriptions of these elements.
    pub(crate) fn prefetch_descriptions(&self, elements: impl Iterator<Item = (u16, u16)>) {
        let entries = elements.filter_map(|(tag, number)| self.directory.get(tag, number));
        let described = entries.filter(|entry| entry.special);
        self.store.prefetch(described.map(|entry| (entry.offset.into(), entry.len.into())));
    }

    /// Returns the storage of an element; `None` if it was never written.
    ///
    /// # Errors
    /// `NC_EHDFERR` if it does not exist or its description is invalid.
    pub(crate) fn element(&self, tag: u16, number: u16) -> Result<Option<Element>> {
        let Some(entry) = self.entry(tag, number)? else { return Ok(None) };
        if !entry.special {
            return Ok(Some(Element::Pieces(ElementExtents::one(entry.offset.into(), entry.len.into()))));
        }
        element::read(&self.directory, &self.store, &self.raw(entry)?, &called(tag, number)).map(Some)
    }

    /// Returns the place of an element that is neither compressed nor chunked.
    ///
    /// # Errors
    /// As [`Hdf4File::element`]; `NC_EHDFERR` if it is compressed or chunked.
    pub(crate) fn pieces(&self, tag: u16, number: u16) -> Result<ElementExtents> {
        let what = || called(tag, number);
        let Some(entry) = self.entry(tag, number)? else { return Ok(ElementExtents::default()) };
        if !entry.special {
            return Ok(ElementExtents::one(entry.offset.into(), entry.len.into()));
        }
        match linked(&self.directory, &self.store, &self.raw(entry)?, &what())? {
            Some(pieces) => Ok(pieces),
            None => {
                Err(ErrorKind::HdfErr.context(format!("{}: neither contiguous nor in linked blocks", what())))
            }
        }
    }

    /// Reads such an element as metadata.
    ///
    /// # Errors
    /// As [`Hdf4File::pieces`]; `NC_EHDFERR` if more is read than a file of this size can have.
    pub(crate) fn bytes(&self, tag: u16, number: u16) -> Result<Vec<u8>> {
        let pieces = self.pieces(tag, number)?;
        self.spend(pieces.len())?;
        let mut bytes = Vec::new();
        pieces
            .append(&self.store, 0, pieces.len(), &mut bytes)
            .map_err(|error| error.at(called(tag, number)))?;
        Ok(bytes)
    }

    fn entry(&self, tag: u16, number: u16) -> Result<Option<ElementDescriptor>> {
        let what = || called(tag, number);
        let Some(entry) = self.directory.get(tag, number) else {
            return if self.directory.declares(tag, number) {
                Ok(None)
            } else {
                Err(ErrorKind::HdfErr.context(format!("{}: the file has no such element", what())))
            };
        };
        if entry.overlapping {
            let (offset, len) = (entry.offset, entry.len);
            let what = format!("{}: its {len} bytes at offset {offset} overlap another element", what());
            return Err(ErrorKind::HdfErr.context(what));
        }
        Ok(Some(entry))
    }

    fn raw(&self, entry: ElementDescriptor) -> Result<Vec<u8>> {
        self.spend(entry.len.into())?;
        let mut bytes = Vec::new();
        self.store.append(entry.offset.into(), entry.len.into(), &mut bytes)?;
        Ok(bytes)
    }

    fn spend(&self, bytes: u64) -> Result<()> {
        let spent =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        spent
            .map(drop)
            .map_err(|_| ErrorKind::HdfErr.context("more metadata than a file of this size can have"))
    }
}

/// Returns a name of an element for messages.
pub(crate) fn called(tag: u16, number: u16) -> String {
    format!("{} {tag}/{number}", tag::name(tag))
}

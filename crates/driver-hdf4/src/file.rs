//! [`HdfFile`]: a file and its directory; elements as bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nczarr_dispatch::Limits;
use nczarr_model::{ErrorKind, Result};

use crate::directory::{Directory, Entry, tag};
use crate::element::{self, Element};
use crate::linked::{Pieces, linked};
use crate::store::Store;

/// An open file.
#[derive(Debug)]
pub(crate) struct HdfFile {
    pub(crate) store: Arc<Store>,
    pub(crate) directory: Directory,
    /// Bytes of metadata that may still be read. Sound files have each once; a damaged one might name the same
    /// megabyte a thousand times.
    left: AtomicU64,
}

impl HdfFile {
    /// # Errors
    /// As [`Directory::read`].
    pub(crate) fn new(store: Store, limits: &Limits) -> Result<Self> {
        let directory = Directory::read(&store)?;
        store.expect(directory.descriptions());
        let left = AtomicU64::new(store.len().saturating_add(limits.metadata));
        Ok(Self { store: Arc::new(store), directory, left })
    }

    /// Says that what describes these elements will be read soon.
    pub(crate) fn expect_described(&self, elements: impl Iterator<Item = (u16, u16)>) {
        let entries = elements.filter_map(|(tag, number)| self.directory.get(tag, number));
        let described = entries.filter(|entry| entry.special);
        self.store.expect(described.map(|entry| (entry.offset.into(), entry.len.into())));
    }

    /// What an element is. `None`: nothing was written to it.
    ///
    /// # Errors
    /// `NC_EHDFERR` if it does not exist or what describes it makes no sense.
    pub(crate) fn element(&self, tag: u16, number: u16) -> Result<Option<Element>> {
        let Some(entry) = self.entry(tag, number)? else { return Ok(None) };
        if !entry.special {
            return Ok(Some(Element::Pieces(Pieces::one(entry.offset.into(), entry.len.into()))));
        }
        element::read(self, &self.raw(entry)?, &called(tag, number)).map(Some)
    }

    /// Where the bytes of an element lie that is neither compressed nor chunked.
    ///
    /// # Errors
    /// As [`HdfFile::element`], and if it is either.
    pub(crate) fn pieces(&self, tag: u16, number: u16) -> Result<Pieces> {
        let what = || called(tag, number);
        let Some(entry) = self.entry(tag, number)? else { return Ok(Pieces::default()) };
        if !entry.special {
            return Ok(Pieces::one(entry.offset.into(), entry.len.into()));
        }
        match linked(self, &self.raw(entry)?, &what())? {
            Some(pieces) => Ok(pieces),
            None => Err(ErrorKind::HdfErr.context(format!("{}: neither in one piece nor in linked blocks", what()))),
        }
    }

    /// All bytes of such an element, as metadata.
    ///
    /// # Errors
    /// As [`HdfFile::pieces`]; `NC_EHDFERR` if more is read than a file of this size can have.
    pub(crate) fn bytes(&self, tag: u16, number: u16) -> Result<Vec<u8>> {
        let pieces = self.pieces(tag, number)?;
        self.spend(pieces.len())?;
        let mut bytes = Vec::new();
        pieces.append(&self.store, 0, pieces.len(), &mut bytes).map_err(|error| error.at(called(tag, number)))?;
        Ok(bytes)
    }

    fn entry(&self, tag: u16, number: u16) -> Result<Option<Entry>> {
        let what = || called(tag, number);
        let Some(entry) = self.directory.get(tag, number) else {
            return match self.directory.declares(tag, number) {
                true => Ok(None),
                false => Err(ErrorKind::HdfErr.context(format!("{}: it is not in the file's list", what()))),
            };
        };
        if entry.doubtful {
            let (offset, len) = (entry.offset, entry.len);
            let what = format!("{}: its {len} bytes at {offset} are said to be something else's too", what());
            return Err(ErrorKind::HdfErr.context(what));
        }
        Ok(Some(entry))
    }

    fn raw(&self, entry: Entry) -> Result<Vec<u8>> {
        self.spend(entry.len.into())?;
        let mut bytes = Vec::new();
        self.store.append(entry.offset.into(), entry.len.into(), &mut bytes)?;
        Ok(bytes)
    }

    fn spend(&self, bytes: u64) -> Result<()> {
        let spent = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        spent.map(drop).map_err(|_| ErrorKind::HdfErr.context("more metadata than a file of this size can have"))
    }
}

/// An element in messages.
pub(crate) fn called(tag: u16, number: u16) -> String {
    format!("{} {tag}/{number}", tag::name(tag))
}

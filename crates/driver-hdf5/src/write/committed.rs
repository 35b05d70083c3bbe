//! [`CommittedFile`]: the state of the file as last written.

use nczarr_dispatch::single_file::TempFile;
use nczarr_model::{DimLengths, Model, Result};

use super::file::FileRange;

/// The state of the file as last written.
#[derive(Debug, Default)]
pub(super) struct CommittedFile {
    /// The inputs of the stored metadata: edition of the model, lengths of dimensions, counter of data
    /// changes.
    pub(super) made_of: Option<(u64, Vec<u64>, u64)>,
    /// The lengths that metadata may state. The data below them are stored.
    pub(super) counted: DimLengths,
    /// The place of the metadata.
    pub(super) metadata: Option<FileRange>,
    /// The address of the root group, and the end of the file, as the superblock states them.
    pub(super) superblock_state: Option<(u64, u64)>,
    /// The length of a file that was opened.
    pub(super) opened: Option<u64>,
    /// The file of a new dataset, before it has its name.
    pub(super) unfinished: Option<TempFile>,
}

impl CommittedFile {
    pub(super) fn new(unfinished: Option<TempFile>) -> Self {
        Self { unfinished, ..Self::default() }
    }

    /// Makes the state of an opened file.
    pub(super) fn of_opened(edition: u64, model: &Model, changes: u64, len: u64) -> Self {
        let counted = DimLengths::of(model);
        Self {
            made_of: Some((edition, lens(model, &counted), changes)),
            counted,
            opened: Some(len),
            ..Self::default()
        }
    }

    /// Whether nothing was written yet.
    pub(super) fn is_new(&self) -> bool {
        self.metadata.is_none() && self.opened.is_none()
    }

    /// Removes the unfinished file.
    pub(super) fn discard(&mut self) -> Result<()> {
        self.unfinished.take().map_or(Ok(()), TempFile::discard)
    }
}

/// Returns the lengths to be stored.
pub(super) fn lens(model: &Model, counted: &DimLengths) -> Vec<u64> {
    model.dims().map(|(id, dim)| if dim.unlimited { counted.get(id) } else { dim.len() }).collect()
}

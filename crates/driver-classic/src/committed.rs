//! [`CommittedHeader`]: the header that the file has.

use std::sync::Arc;

use nczarr_dispatch::single_file::TempFile;
use nczarr_model::Model;

/// The stored state.
#[derive(Debug, Default)]
pub(crate) struct CommittedHeader {
    /// The header; its number of records is [`CommittedHeader::records`]. `None`: nothing was written.
    pub(crate) header: Option<Vec<u8>>,
    /// The number of records in the header; `None`: unknown.
    pub(crate) records: Option<u64>,
    /// The edition of the model that the header contains.
    pub(crate) edition: Option<u64>,
    /// That model, which an abort restores.
    pub(crate) model: Option<Arc<Model>>,
    /// The file of a new dataset.
    pub(crate) unfinished: Option<TempFile>,
}

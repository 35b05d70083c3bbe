//! [`DocumentBatch`]: the batch that stores documents.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nczarr::storage::batch::{Payload, WriteJob, WriteTicket};
use nczarr::storage::{Key, Precondition, WriteOutcome};
use nczarr_model::{Error, ErrorKind, Result};

/// The number of documents stored at a time.
const AT_ONCE: usize = 64;

/// The documents on their way to the storage.
pub(super) struct DocumentBatch {
    documents: Vec<(Key, Arc<[u8]>)>,
    next: AtomicUsize,
    failed: Mutex<Option<Error>>,
}

impl DocumentBatch {
    pub(super) fn new(documents: Vec<(Key, Arc<[u8]>)>) -> Self {
        Self { documents, next: AtomicUsize::new(0), failed: Mutex::new(None) }
    }

    /// The first failure.
    pub(super) fn outcome(self) -> Result<()> {
        self.failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

impl WriteJob for DocumentBatch {
    fn threads(&self) -> usize {
        self.documents.len().clamp(1, AT_ONCE)
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        key.set(&self.documents.get(index)?.0);
        Some(WriteTicket { index, precondition: Precondition::Any })
    }

    fn value(&self, index: usize, _scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        let document = self.documents.get(index);
        document
            .map(|(_, bytes)| Payload::Borrowed(bytes))
            .ok_or_else(|| ErrorKind::Internal.context("no such document"))
    }

    fn done(&self, _ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        if let Err(error) = outcome {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
}

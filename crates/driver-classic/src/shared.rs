//! [`ClassicShared`]: the state shared by a dataset and the data of its variables.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, PoisonError, RwLock};

use nczarr_dispatch::Options;
use nczarr_model::{ErrorKind, ModelCell, Result};
use nczarr_runtime::RenameLock;

use crate::file_state::FileState;
use crate::kind::CdfVersion;
use crate::name_rooms::NameRooms;

/// The state shared by a dataset and the data of its variables.
#[derive(Debug)]
pub(crate) struct ClassicShared {
    pub(crate) model: ModelCell,
    pub(crate) kind: CdfVersion,
    pub(crate) options: Options,
    pub(crate) writable: bool,
    closed: AtomicBool,
    /// Whether it was closed without waiting for a writer.
    left: AtomicBool,
    pub(crate) gate: RenameLock,
    /// Changes with the names of the model.
    pub(crate) name_rooms: RwLock<NameRooms>,
    current: RwLock<Arc<FileState>>,
    /// Changes with every [`FileState`].
    number: AtomicU64,
}

impl ClassicShared {
    pub(crate) fn new(
        model: ModelCell,
        kind: CdfVersion,
        options: &Options,
        writable: bool,
        current: FileState,
    ) -> Self {
        Self {
            model,
            kind,
            options: options.clone(),
            writable,
            closed: AtomicBool::new(false),
            left: AtomicBool::new(false),
            gate: RenameLock::default(),
            name_rooms: RwLock::default(),
            current: RwLock::new(Arc::new(current)),
            number: AtomicU64::new(0),
        }
    }

    /// Sets the space that the header of an opened file has for names.
    pub(crate) fn with_name_rooms(self, rooms: NameRooms) -> Self {
        Self { name_rooms: RwLock::new(rooms), ..self }
    }

    /// Returns the space in the header for names.
    pub(crate) fn name_rooms(&self) -> NameRooms {
        self.name_rooms.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// # Errors
    /// `NC_EBADID` if it is closed.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_closed() { Err(ErrorKind::BadId.context("the dataset is closed")) } else { Ok(()) }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Whether the dataset was closed without waiting for writers. If not, a write that ends now is seen by
    /// the close.
    pub(crate) fn is_left(&self) -> bool {
        fence(Ordering::SeqCst);
        self.left.load(Ordering::Relaxed)
    }

    /// Closes it for new calls, and waits for writers. `false`: it was closed before.
    pub(crate) fn close_for_new_calls(&self) -> bool {
        if self.closed.swap(true, Ordering::AcqRel) {
            return false;
        }
        if self.writable && !self.gate.wait_until_free() {
            self.left.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        }
        true
    }

    /// Returns the number of the current state.
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Ordering::Acquire)
    }

    /// Returns the current state, and its number.
    pub(crate) fn numbered(&self) -> (u64, Arc<FileState>) {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        (self.number(), Arc::clone(&current))
    }

    /// Replaces the current state.
    pub(crate) fn replace(&self, new: FileState) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(new);
        // Under the lock: a reader of the number finds the new state.
        self.number.fetch_add(1, Ordering::Release);
    }
}

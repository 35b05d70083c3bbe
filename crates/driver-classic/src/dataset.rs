//! [`ClassicDataset`]: an open classic file.
//!
//! The model answers inquiries, [`Current`] has the data. What edits are legal is in `admit`, when the file is written
//! in `commit`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use nczarr_chunkio::ByteStore as _;
use nczarr_dispatch::{
    Dataset, DatasetInfo, HeaderPadding, Options, PersistTarget, Registry, RenameLock, VarData, single_file,
};
use nczarr_model::{Defined, Edit, ErrorKind, ModelCell, Result, VarId};

use crate::commit::Committed;
use crate::current::Current;
use crate::kind::Kind;
use crate::var::ClassicVar;

/// An open dataset.
#[derive(Debug)]
pub(crate) struct ClassicDataset {
    pub(crate) shared: Arc<Shared>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) info: DatasetInfo,
    /// The records there were when it was opened.
    pub(crate) counted: u64,
    /// Where the bytes in memory go when it is closed.
    pub(crate) persist: Option<PersistTarget>,
    /// Held by whoever writes the header.
    pub(crate) committed: Mutex<Committed>,
    /// Held while an edit is admitted and applied: one must not make another one illegal in between.
    pub(crate) edits: Mutex<()>,
    /// What was handed out, by variable.
    pub(crate) vars: RwLock<Vec<Option<Arc<ClassicVar>>>>,
}

/// What a dataset and the data of its variables have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) model: ModelCell,
    pub(crate) kind: Kind,
    pub(crate) options: Options,
    pub(crate) writable: bool,
    closed: AtomicBool,
    /// It was closed while somebody was writing who could not be waited for.
    left: AtomicBool,
    pub(crate) gate: RenameLock,
    current: RwLock<Arc<Current>>,
    /// Another one with every [`Current`].
    number: AtomicU64,
}

impl Shared {
    pub(crate) fn new(model: ModelCell, kind: Kind, options: &Options, writable: bool, current: Current) -> Self {
        Self {
            model,
            kind,
            options: options.clone(),
            writable,
            closed: AtomicBool::new(false),
            left: AtomicBool::new(false),
            gate: RenameLock::default(),
            current: RwLock::new(Arc::new(current)),
            number: AtomicU64::new(0),
        }
    }

    /// # Errors
    /// `NC_EBADID` once it is closed.
    pub(crate) fn check_open(&self) -> Result<()> {
        match self.is_closed() {
            true => Err(ErrorKind::BadId.context("the dataset is closed")),
            false => Ok(()),
        }
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Asked for by a write once all else is done: whether it was closed without waiting for it. If not, whoever closes it
    /// sees what the write did.
    pub(crate) fn is_left(&self) -> bool {
        fence(Ordering::SeqCst);
        self.left.load(Ordering::Relaxed)
    }

    /// Closes it for those who come, and waits for those who write. `false`: it was closed already.
    fn leave(&self) -> bool {
        if self.closed.swap(true, Ordering::AcqRel) {
            return false;
        }
        if self.writable && !self.gate.wait_until_free() {
            self.left.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        }
        true
    }

    /// The number of what is current.
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Ordering::Acquire)
    }

    /// What is current, and its number.
    pub(crate) fn numbered(&self) -> (u64, Arc<Current>) {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        (self.number(), Arc::clone(&current))
    }

    /// Something else is current from now on.
    pub(crate) fn replace(&self, new: Current) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(new);
        // Before the lock goes: who sees the number finds what has it.
        self.number.fetch_add(1, Ordering::Release);
    }
}

impl ClassicDataset {
    fn write_all(&self, committed: &mut Committed) -> Result<()> {
        self.write_header(HeaderPadding::default(), committed)?;
        self.shared.model.end();
        self.write_records(committed)
    }

    /// Closes it for those who come, once those who write or edit are done. `false`: it was closed already.
    fn leave(&self) -> bool {
        let first = self.shared.leave();
        drop(self.edits.lock().unwrap_or_else(PoisonError::into_inner));
        first
    }

    /// Gives up the lock of a file, for who opens it next.
    fn release(&self) {
        let current = self.shared.numbered().1;
        if let Some((file, path)) = current.store.as_file()
            && let Err(error) = file.unlock()
        {
            tracing::debug!(path = %path.display(), %error, "the file could not be unlocked");
        }
        self.persist.iter().for_each(PersistTarget::release);
    }

    fn write_image(&self) -> Result<()> {
        match &self.persist {
            Some(persist) => self.shared.numbered().1.store.with_bytes(|bytes| persist.write(bytes, &self.registry)),
            None => Ok(()),
        }
    }
}

impl Dataset for ClassicDataset {
    fn info(&self) -> DatasetInfo {
        self.info.clone()
    }

    fn model(&self) -> &ModelCell {
        &self.shared.model
    }

    fn registry(&self) -> Option<&Arc<Registry>> {
        Some(&self.registry)
    }

    fn data(&self, id: VarId) -> Result<Arc<dyn VarData>> {
        self.shared.check_open()?;
        let kept = self.vars.read().unwrap_or_else(PoisonError::into_inner).get(id.index()).cloned().flatten();
        if let Some(var) = kept.filter(|var| var.is_current()) {
            return Ok(var);
        }
        let model = self.shared.model.snapshot();
        if let Some(problem) = &model.var(id)?.problem {
            return Err(problem.clone());
        }
        let var = Arc::new(ClassicVar::new(Arc::clone(&self.shared), id));
        let mut vars = self.vars.write().unwrap_or_else(PoisonError::into_inner);
        if vars.len() <= id.index() {
            vars.resize(id.index() + 1, None);
        }
        vars[id.index()] = Some(Arc::clone(&var));
        Ok(var)
    }

    fn admit(&self, edit: &Edit<'_>) -> Result<()> {
        self.shared.check_open()?;
        self.check(edit)
    }

    fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
        let _editing = self.edits.lock().unwrap_or_else(PoisonError::into_inner);
        self.admit(edit)?;
        // In data mode only what takes no more room gets here, and data mode it stays.
        match self.shared.model.is_defining() {
            true => self.shared.model.define(edit),
            false => self.shared.model.apply(edit),
        }
    }

    fn commit(&self) -> Result<()> {
        self.commit_padded(HeaderPadding::default())
    }

    fn commit_padded(&self, spacing: HeaderPadding) -> Result<()> {
        if !self.shared.writable {
            return self.shared.check_open();
        }
        let mut committed = self.lock_committed();
        // Asked for with the lock: who closes it writes what is left then, and gives up the file.
        self.shared.check_open()?;
        self.write_header(spacing, &mut committed)
    }

    fn header_padding(&self) -> HeaderPadding {
        let current = self.shared.numbered().1;
        // Room beyond the end of the file is nobody's.
        current.store.size().map_or_else(|_| HeaderPadding::default(), |size| current.layout.spacing(size))
    }

    fn sync(&self) -> Result<()> {
        let mut committed = self.lock_committed();
        self.shared.check_open()?;
        if self.shared.writable { self.write_all(&mut committed) } else { self.refresh() }
    }

    fn close(&self) -> Result<()> {
        if !self.leave() || !self.shared.writable {
            return Ok(());
        }
        let written = self.write_all(&mut self.lock_committed()).and_then(|()| self.write_image());
        self.release();
        written
    }

    fn abort(&self) -> Result<()> {
        if !self.leave() || !self.shared.writable {
            return Ok(());
        }
        let mut committed = self.lock_committed();
        let outcome = if committed.header.is_none() {
            committed.unfinished.take().map_or(Ok(()), single_file::TempFile::discard)
        } else {
            // What was changed in data mode counts as written: only a define mode that did not end is undone.
            self.shared.model.roll_back();
            self.write_all(&mut committed).and_then(|()| self.write_image())
        };
        self.release();
        outcome
    }

    fn image(&self) -> Result<Vec<u8>> {
        if self.shared.writable {
            let mut committed = self.lock_committed();
            if !self.shared.is_closed() {
                self.write_all(&mut committed)?;
            }
        }
        let current = self.shared.numbered().1;
        match current.store.as_file() {
            Some((_, path)) => {
                Err(ErrorKind::InMemory.context(format!("{}: the dataset is not in memory", path.display())))
            }
            None => current.store.image(),
        }
    }
}

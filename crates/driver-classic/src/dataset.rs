//! [`ClassicDataset`]: an open classic file.
//!
//! The model answers inquiries, [`Current`] has the data. What edits are legal is in `admit`, when the file is written
//! in `commit`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use chunkio::ByteStore as _;
use dispatch::{Dataset, DatasetInfo, Options, Registry, Spacing, VarData};
use model::{Defined, Edit, ErrorKind, ModelCell, Result, VarId};

use crate::commit::Committed;
use crate::current::Current;
use crate::gate::Gate;
use crate::kind::Kind;
use crate::place;
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
    pub(crate) persist: Option<std::path::PathBuf>,
    /// Held by whoever writes the header.
    pub(crate) committed: Mutex<Committed>,
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
    pub(crate) closed: AtomicBool,
    pub(crate) gate: Gate,
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
            gate: Gate::default(),
            current: RwLock::new(Arc::new(current)),
            number: AtomicU64::new(0),
        }
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
    fn check_open(&self) -> Result<()> {
        match self.shared.closed.load(Ordering::Acquire) {
            true => Err(ErrorKind::BadId.context("the dataset is closed")),
            false => Ok(()),
        }
    }

    fn write_all(&self) -> Result<()> {
        let mut committed = self.lock_committed();
        self.write_header(Spacing::default(), &mut committed)?;
        self.shared.model.end();
        self.write_records(&mut committed)
    }

    /// Gives up the lock of a file, for who opens it next.
    fn release(&self) -> Result<()> {
        let current = self.shared.numbered().1;
        if let Some((file, path)) = current.store.as_file().filter(|_| self.shared.writable)
            && let Err(error) = file.unlock()
        {
            tracing::debug!(path = %path.display(), %error, "the file could not be unlocked");
        }
        Ok(())
    }

    fn write_image(&self) -> Result<()> {
        match &self.persist {
            Some(target) => place::replace(target, &self.shared.numbered().1.store.image()?),
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
        self.check_open()?;
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
        self.check_open()?;
        self.check(edit)
    }

    fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
        self.admit(edit)?;
        // In data mode only what takes no more room gets here, and data mode it stays.
        match self.shared.model.is_defining() {
            true => self.shared.model.define(edit),
            false => self.shared.model.apply(edit),
        }
    }

    fn commit(&self) -> Result<()> {
        self.commit_spaced(Spacing::default())
    }

    fn commit_spaced(&self, spacing: Spacing) -> Result<()> {
        self.check_open()?;
        if self.shared.writable { self.write_header(spacing, &mut self.lock_committed()) } else { Ok(()) }
    }

    fn spacing(&self) -> Spacing {
        let current = self.shared.numbered().1;
        // Room beyond the end of the file is nobody's.
        current.store.size().map_or_else(|_| Spacing::default(), |size| current.layout.spacing(size))
    }

    fn sync(&self) -> Result<()> {
        self.check_open()?;
        if self.shared.writable { self.write_all() } else { self.refresh() }
    }

    fn close(&self) -> Result<()> {
        if self.shared.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let written = if self.shared.writable { self.write_all().and_then(|()| self.write_image()) } else { Ok(()) };
        written.and(self.release())
    }

    fn abort(&self) -> Result<()> {
        if self.shared.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        if !self.shared.writable {
            return Ok(());
        }
        let mut committed = self.lock_committed();
        let outcome = if committed.header.is_none() {
            committed.unfinished.take().map_or(Ok(()), place::Unfinished::discard)
        } else {
            self.shared.model.roll_back();
            self.write_records(&mut committed).and_then(|()| self.write_image())
        };
        outcome.and(self.release())
    }

    fn image(&self) -> Result<Vec<u8>> {
        let current = self.shared.numbered().1;
        if self.shared.writable && !self.shared.closed.load(Ordering::Acquire) {
            self.write_all()?;
        }
        match current.store.as_file() {
            Some((_, path)) => {
                Err(ErrorKind::InMemory.context(format!("{}: the dataset is not in memory", path.display())))
            }
            None => self.shared.numbered().1.store.image(),
        }
    }
}

impl ClassicDataset {
    /// Lets the record dimension grow to what somebody else wrote since.
    fn refresh(&self) -> Result<()> {
        let current = self.shared.numbered().1;
        let kind = self.shared.kind;
        let bytes = current.store.read(crate::write::RECORDS_AT, kind.count_width() as u64)?;
        let records = bytes.iter().fold(0, |number: u64, &byte| number << 8 | u64::from(byte));
        let there =
            current.layout.size(records).is_some_and(|size| current.store.size().is_ok_and(|have| have + 3 >= size));
        if bytes.len() == kind.count_width() && records <= kind.most_records() && there {
            for (_, dim) in self.shared.model.snapshot().dims().filter(|(_, dim)| dim.unlimited) {
                dim.grow(records);
            }
        }
        Ok(())
    }
}

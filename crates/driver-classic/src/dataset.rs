//! [`ClassicDataset`]: an open classic file.
//!
//! The model answers inquiries; `file_state` has the data. `admit` has the rules of edits, `commit` writes
//! the file.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use nczarr_chunkio::ByteStore as _;
use nczarr_dispatch::{
    Dataset, DatasetInfo, Editor, HeaderPadding, PersistTarget, Registry, VarData, single_file,
};
use nczarr_model::{Defined, DimId, Edit, ErrorKind, FillMode, GroupId, ModelCell, Result, VarId, name};

use crate::committed::CommittedHeader;
use crate::kind::CdfVersion;
use crate::name_rooms::NameRooms;
use crate::shared::ClassicShared;
use crate::var::ClassicVar;

/// An open dataset.
#[derive(Debug)]
pub(crate) struct ClassicDataset {
    pub(crate) shared: Arc<ClassicShared>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) info: DatasetInfo,
    /// The number of records at opening.
    pub(crate) counted: u64,
    /// The file that receives a dataset in memory at closing.
    pub(crate) persist: Option<PersistTarget>,
    /// Held while the header is written.
    pub(crate) committed: Mutex<CommittedHeader>,
    /// Held while an edit is admitted and applied, so that edits do not interfere.
    pub(crate) edits: Mutex<()>,
    /// The data of variables that callers hold.
    pub(crate) vars: RwLock<Vec<Option<Arc<ClassicVar>>>>,
}

impl ClassicDataset {
    fn write_all(&self, committed: &mut CommittedHeader) -> Result<()> {
        self.write_header(HeaderPadding::default(), committed)?;
        self.shared.model.end();
        self.write_records(committed)
    }

    /// Closes it for new calls, after writers and edits are done. `false`: it was closed before.
    fn leave(&self) -> bool {
        let first = self.shared.close_for_new_calls();
        drop(self.edits.lock().unwrap_or_else(PoisonError::into_inner));
        first
    }

    /// Releases the lock of a file, for the next writer.
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
            Some(persist) => {
                self.shared.numbered().1.store.with_bytes(|bytes| persist.write(bytes, &self.registry))
            }
            None => Ok(()),
        }
    }
}

/// The longest dimension of CDF-5 in netCDF-C.
const LONGEST: u64 = u64::MAX - 3;

impl ClassicDataset {
    /// Whether a dimension is longer than the model allows, and the rules of netCDF-C allow it.
    fn is_longer_than_model(&self, len: u64) -> bool {
        let shared = &self.shared;
        shared.options.netcdf_c_rules
            && shared.writable
            && shared.kind == CdfVersion::Cdf5
            && len > shared.kind.largest()
            && len <= LONGEST
    }

    /// Defines such a dimension. No variable can have it.
    fn define_long_dim(&self, group: GroupId, name: &str, len: u64) -> Result<Defined> {
        self.shared.check_open()?;
        let name = name::normalize(name)?;
        self.shared
            .model
            .define_if(|_| Ok(()), |model, ()| Ok(Defined::Dim(model.add_dim(group, &*name, len, false)?)))
    }
}

impl ClassicDataset {
    /// Fills unwritten data before an edit turns filling off. They belong to the mode before it.
    fn finish_filling(&self, edit: &Edit<'_>) -> Result<()> {
        let turns_off =
            matches!(edit, Edit::SetFill { mode: FillMode::NoFill } | Edit::DefVarFill { no_fill: true, .. });
        if !turns_off {
            return Ok(());
        }
        let records = self.records(&self.shared.model.snapshot());
        let _writing = self.shared.gate.lock_shared();
        self.shared.numbered().1.ensure_all(records)
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
        let kept =
            self.vars.read().unwrap_or_else(PoisonError::into_inner).get(id.index()).cloned().flatten();
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

    fn editor(&self) -> Result<&dyn Editor> {
        Ok(self)
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
            // Changes in data mode count as written: only an unfinished define mode is undone.
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

impl Editor for ClassicDataset {
    fn admit(&self, edit: &Edit<'_>) -> Result<()> {
        self.shared.check_open()?;
        self.check(edit)?;
        self.finish_filling(edit)
    }

    fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
        let _editing = self.edits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Edit::DefDim { group, name, len: Some(len) } = *edit
            && self.is_longer_than_model(len)
        {
            return self.define_long_dim(group, name, len);
        }
        self.admit(edit)?;
        // In data mode only edits without more space arrive here, and data mode remains.
        let is_defining = self.shared.model.is_defining();
        // A snapshot makes the edit copy the model, so only renames take one.
        let before = (self.shared.options.netcdf_c_rules && NameRooms::concerns(edit))
            .then(|| self.shared.model.snapshot());
        let defined =
            if is_defining { self.shared.model.define(edit) } else { self.shared.model.apply(edit) }?;
        if let Some(model) = before {
            let mut rooms = self.shared.name_rooms.write().unwrap_or_else(PoisonError::into_inner);
            rooms.note(&model, edit, is_defining);
        }
        Ok(defined)
    }

    fn commit(&self, padding: HeaderPadding) -> Result<()> {
        if !self.shared.writable {
            return self.shared.check_open();
        }
        let mut committed = self.lock_committed();
        // Checked under the lock: closing writes the rest, and releases the file.
        self.shared.check_open()?;
        self.write_header(padding, &mut committed)
    }

    fn reserve(&self, dim: DimId, count: u64) -> Result<u64> {
        // Closing waits for it. The file is locked, so only threads of this process write it.
        let _writing = self.shared.gate.lock_shared();
        self.shared.check_open()?;
        if !self.shared.writable {
            return Err(ErrorKind::Perm.context("the dataset is read-only"));
        }
        let most = self.shared.kind.most_records().min(self.shared.numbered().1.layout.most_records());
        self.shared.model.snapshot().dim(dim)?.reserve(count, most)
    }

    fn header_padding(&self) -> HeaderPadding {
        let current = self.shared.numbered().1;
        // Free space beyond the end of the file does not count.
        current.store.size().map_or_else(|_| HeaderPadding::default(), |size| current.layout.spacing(size))
    }
}

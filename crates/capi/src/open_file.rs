//! An open dataset in the table ([`OpenFile`]), and one of its groups as the target of a call ([`Node`]).

use std::collections::HashMap;
use std::ffi::c_int;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nczarr::dispatch::{Dataset, Format};
use nczarr::model::{DimId, GroupId, Model, TypeId, VarId};
use nczarr::nc_table::{NcDispatch as _, VarAccess};
use nczarr::{CacheConfig, ErrorKind, NcType, Result};

use crate::table;

/// The id of a group's attributes, in place of a variable.
pub const NC_GLOBAL: c_int = -1;

/// The id of the first user-defined type of a dataset.
pub const FIRST_USER_TYPE: c_int = 32;

/// An open dataset.
pub struct OpenFile {
    pub dataset: Arc<dyn Dataset>,
    /// The path as the program gave it.
    pub path: Vec<u8>,
    pub format: Format,
    pub writable: bool,
    /// A call panicked, so its state is unknown. It can only be closed.
    broken: AtomicBool,
    /// The number of variables that exist in storage. Their layout and fill value are final.
    stored_vars: AtomicUsize,
    /// The chunk caches that the program set. An edit makes a variable's data anew, without its cache.
    caches: Mutex<HashMap<VarId, CacheConfig>>,
    /// Variables that are prepared for data calls, and the edition of the model at that time.
    accesses: Mutex<HashMap<VarId, (u64, Arc<VarAccess>)>>,
}

impl OpenFile {
    pub fn new(dataset: Arc<dyn Dataset>, path: Vec<u8>) -> Self {
        let info = dataset.info();
        let model = dataset.model();
        let stored_vars = if model.is_defining() { 0 } else { model.with(|model| model.vars().len()) };
        Self {
            dataset,
            path,
            format: info.format,
            writable: info.writable,
            broken: AtomicBool::new(false),
            stored_vars: AtomicUsize::new(stored_vars),
            caches: Mutex::default(),
            accesses: Mutex::default(),
        }
    }

    /// Checks that no call on it panicked.
    pub fn check_usable(&self) -> Result<()> {
        if self.broken.load(Ordering::Acquire) {
            return Err(ErrorKind::Internal.context("an earlier call on the dataset panicked; close it"));
        }
        Ok(())
    }

    /// Whether it is a CDF file, which has neither groups nor a layout of variables.
    pub fn is_cdf(&self) -> bool {
        matches!(self.format, Format::Classic | Format::Offset64 | Format::Cdf5)
    }

    /// Whether a byte of the file may be signed or unsigned: in formats without unsigned types.
    pub fn has_any_bytes(&self) -> bool {
        matches!(self.format, Format::Classic | Format::Offset64 | Format::NetCdf4Classic)
    }

    /// Whether only the program changes the mode.
    pub fn is_strict(&self) -> bool {
        self.format != Format::NetCdf4
    }

    /// Ends define mode before data are read or written. `NC_EINDEFINE` in the classic model.
    pub fn to_data_mode(&self) -> Result<()> {
        if !self.dataset.model().is_defining() {
            return Ok(());
        }
        if self.is_strict() {
            return Err(ErrorKind::InDefine.context("the dataset is in define mode"));
        }
        self.end_define_mode([0; 4])
    }

    /// Ends define mode with free space in the header of a classic file.
    pub fn end_define_mode(&self, [h_minfree, v_align, v_minfree, r_align]: [u64; 4]) -> Result<()> {
        self.forget_accesses();
        let vars = self.dataset.model().with(|model| model.vars().len());
        self.dataset._enddef(h_minfree, v_align, v_minfree, r_align)?;
        self.stored_vars.fetch_max(vars, Ordering::AcqRel);
        Ok(())
    }

    /// Makes an edit. In the classic model it does not change the mode: in data mode it is stored at once.
    pub fn edit<T>(&self, edit: impl FnOnce(&dyn Dataset) -> Result<T>) -> Result<T> {
        let was_defining = self.dataset.model().is_defining();
        let edited = edit(&*self.dataset)?;
        if self.is_strict() && !was_defining && self.dataset.model().is_defining() {
            self.end_define_mode([0; 4])?;
        }
        Ok(edited)
    }

    /// Whether a variable exists in storage, in a format other than the classic ones. Its layout and fill
    /// value are final.
    pub fn is_late(&self, var: VarId) -> bool {
        !self.is_cdf() && var.index() < self.stored_vars.load(Ordering::Acquire)
    }

    /// Sets the chunk cache of a variable, also for its data after an edit.
    pub fn set_cache(&self, var: VarId, cache: CacheConfig) -> Result<()> {
        self.dataset.set_var_chunk_cache(var, cache)?;
        self.caches.lock().unwrap_or_else(PoisonError::into_inner).insert(var, cache);
        Ok(())
    }

    /// Returns the chunk cache that the program set for a variable.
    pub fn cache(&self, var: VarId) -> Option<CacheConfig> {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner).get(&var).copied()
    }

    /// Forgets prepared variables, since the layout of the file may change.
    pub fn forget_accesses(&self) {
        self.accesses.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns a variable that is prepared for data calls.
    pub fn access(&self, var: VarId) -> Result<Arc<VarAccess>> {
        let edition = self.dataset.model().edition();
        let known = || self.accesses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, access)) = known().get(&var).filter(|(made, _)| *made == edition) {
            return Ok(Arc::clone(access));
        }
        let access = Arc::new(VarAccess::new(&*self.dataset, var)?);
        if let Some(cache) = self.cache(var) {
            access.data().set_chunk_cache(cache)?;
        }
        known().insert(var, (edition, Arc::clone(&access)));
        Ok(access)
    }
}

/// A group of an open dataset: the target of a call.
pub struct Node {
    slot: usize,
    pub group: GroupId,
    file: Arc<OpenFile>,
}

impl Deref for Node {
    type Target = OpenFile;

    fn deref(&self) -> &OpenFile {
        &self.file
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.file.broken.store(true, Ordering::Release);
        }
    }
}

impl Node {
    pub fn new(slot: usize, group: GroupId, file: Arc<OpenFile>) -> Self {
        Self { slot, group, file }
    }

    /// Returns the dataset, whose methods have the names of C.
    pub fn nc(&self) -> &dyn Dataset {
        &*self.file.dataset
    }

    /// Looks at the model.
    pub fn look<T>(&self, look: impl FnOnce(&Model) -> Result<T>) -> Result<T> {
        self.file.dataset.model().with(look)
    }

    /// Returns the id of a group.
    pub fn id_of(&self, group: GroupId) -> c_int {
        table::id_of(self.slot, group)
    }

    /// Finds a variable by its number in the group.
    pub fn var(&self, varid: c_int) -> Result<VarId> {
        self.look(|model| {
            let vars = &model.group(self.group)?.vars;
            let found = usize::try_from(varid).ok().and_then(|index| vars.get_index(index));
            found.map(|(_, &var)| var).ok_or_else(|| {
                ErrorKind::NotVar.context(format!("no variable {varid} (the group has {})", vars.len()))
            })
        })
    }

    /// Finds the owner of attributes: a variable, or the group.
    pub fn owner(&self, varid: c_int) -> Result<Option<VarId>> {
        if varid == NC_GLOBAL { Ok(None) } else { self.var(varid).map(Some) }
    }

    /// Finds a variable that a property of its layout is set for: `NC_ENOTNC4` in a classic file,
    /// `NC_ELATEDEF` if the variable exists in storage.
    pub fn var_of_layout(&self, varid: c_int) -> Result<VarId> {
        self.check_not_cdf()?;
        let var = self.var(varid)?;
        if self.is_late(var) {
            return Err(ErrorKind::LateDef.context("the layout of a stored variable is final"));
        }
        Ok(var)
    }

    /// Returns the number of a variable in its group.
    pub fn number_of(&self, var: VarId) -> Result<c_int> {
        self.look(|model| {
            let var = model.var(var)?;
            let place = model.group(var.group)?.vars.get_index_of(&var.name);
            place.map(|place| place as c_int).ok_or_else(|| {
                ErrorKind::Internal.context(format!("variable {:?} is not in its group", var.name))
            })
        })
    }

    /// Finds a dimension.
    pub fn dim(&self, dimid: c_int) -> Result<DimId> {
        let dim = u32::try_from(dimid).map(DimId);
        let dim = dim.map_err(|_| ErrorKind::BadDim.context(format!("no dimension {dimid}")))?;
        self.look(|model| model.dim(dim).map(|_| dim))
    }

    /// Finds a type: `NC_EBADTYPE` if there is none.
    pub fn xtype(&self, code: c_int) -> Result<NcType> {
        let unknown = || ErrorKind::BadType.context(format!("no type {code}"));
        match code.checked_sub(FIRST_USER_TYPE).and_then(|id| u32::try_from(id).ok()) {
            Some(id) => {
                let id = TypeId(id);
                self.look(|model| model.user_type(id).map(|_| NcType::User(id)).map_err(|_| unknown()))
            }
            None => NcType::from_code(code).ok_or_else(unknown),
        }
    }

    /// `NC_ENOTNC4` in a CDF file.
    pub fn check_not_cdf(&self) -> Result<()> {
        if self.is_cdf() {
            return Err(ErrorKind::NotNc4.context("the file is a classic one"));
        }
        Ok(())
    }
}

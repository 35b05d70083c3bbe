//! An open dataset in the table ([`OpenFile`]), and one of its groups as the target of a call ([`Node`]).

use std::collections::{HashMap, HashSet};
use std::ffi::c_int;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nczarr::dispatch::{Dataset, Format, FormatX};
use nczarr::model::{DimId, Edit, GroupId, Model, TypeClass, TypeId, VarId};
use nczarr::nc_table::{NcDispatch as _, VarAccess};
use nczarr::{CacheConfig, ErrorKind, NcType, Result};

use crate::boundary::lent_memory::LentMemory;
use crate::table;
use crate::type_space::{StructLayouts, TypeSpace, struct_layouts};

/// The id of a group's attributes, in place of a variable.
pub const NC_GLOBAL: c_int = -1;

const NC_WRITE: c_int = 0x1;

/// The id of the first user-defined type of a dataset.
pub const FIRST_USER_TYPE: c_int = 32;

/// An object whose name has space in the header of a classic file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NamedObject {
    Dim(DimId),
    Var(VarId),
}

/// The memory of a dataset that the program opened or created in memory.
pub enum MemoryFile {
    /// The dataset was created.
    Created,
    /// The dataset was opened from this memory.
    Opened(Arc<LentMemory>),
}

/// An open dataset.
pub struct OpenFile {
    pub dataset: Arc<dyn Dataset>,
    /// The path as the program gave it.
    pub path: Vec<u8>,
    pub format: Format,
    pub formatx: FormatX,
    pub writable: bool,
    /// The mode flags, with those of the format.
    pub mode: c_int,
    /// The memory that holds the dataset, if the program opened or created it there.
    pub memory: Option<MemoryFile>,
    /// Several processes write it (`nc_create_par`).
    pub is_parallel: bool,
    /// The layouts in C of the types that were read from the file.
    pub layouts: StructLayouts,
    /// All ids of one dataset have a clone. The last one that is closed closes the dataset.
    ids: Arc<()>,
    /// It is another id of a dataset that this process writes, and cannot write itself.
    is_reader: bool,
    /// The bytes that names had in the header before they became shorter.
    name_spaces: Mutex<HashMap<NamedObject, usize>>,
    /// A call panicked, so its state is unknown. It can only be closed.
    broken: AtomicBool,
    /// The number of variables that exist in storage. Their layout is final.
    stored_vars: AtomicUsize,
    /// The number of variables whose fill value is final, since the program ended their define mode.
    final_fills: AtomicUsize,
    /// Other variables whose fill value is final, since they have data.
    written: Mutex<HashSet<VarId>>,
    /// The end of define mode failed, because a type is not complete.
    pub has_unfinished_type: AtomicBool,
    /// The number of types that exist in storage.
    stored_types: AtomicUsize,
    /// The chunk caches that the program set. An edit makes a variable's data anew, without its cache.
    caches: Mutex<HashMap<VarId, CacheConfig>>,
    /// Variables that are prepared for data calls, and the edition of the model at that time.
    accesses: Mutex<HashMap<VarId, (u64, Arc<VarAccess>)>>,
}

impl OpenFile {
    pub fn new(dataset: Arc<dyn Dataset>, path: Vec<u8>, mode: c_int) -> Result<Self> {
        let info = dataset.info();
        let model = dataset.model();
        let stored = |model: &Model| (model.vars().len(), model.user_types().len());
        let (vars, types) = if model.is_defining() { (0, 0) } else { model.with(stored) };
        let is_read = info.formatx == FormatX::Hdf5 && !model.is_defining();
        let layouts = if is_read { model.with(struct_layouts)? } else { StructLayouts::new() };
        Ok(Self {
            dataset,
            path,
            format: info.format,
            formatx: info.formatx,
            writable: info.writable,
            mode,
            memory: None,
            is_parallel: false,
            layouts,
            ids: Arc::new(()),
            is_reader: false,
            name_spaces: Mutex::default(),
            broken: AtomicBool::new(false),
            stored_vars: AtomicUsize::new(vars),
            final_fills: AtomicUsize::new(vars),
            written: Mutex::default(),
            has_unfinished_type: AtomicBool::new(false),
            stored_types: AtomicUsize::new(types),
            caches: Mutex::default(),
            accesses: Mutex::default(),
        })
    }

    /// Makes another id of the dataset that cannot write, for a program that opens a file again to read it.
    pub fn reader(&self) -> Result<Self> {
        let reader = Self::new(Arc::clone(&self.dataset), self.path.clone(), self.mode & !NC_WRITE)?;
        Ok(Self { writable: false, is_reader: true, ids: Arc::clone(&self.ids), ..reader })
    }

    /// Refuses an edit through the id of a reader.
    fn check_writer(&self) -> Result<()> {
        if self.is_reader {
            return Err(ErrorKind::Perm.context("the dataset was opened for reading"));
        }
        Ok(())
    }

    /// Closes the dataset, or writes all changes if another id of it is open.
    pub fn close(&self) -> Result<()> {
        self.forget_accesses();
        self.check_types()?;
        match Arc::strong_count(&self.ids) {
            1 => self.dataset.close(),
            _ if self.writable => self.dataset.sync(),
            _ => Ok(()),
        }
    }

    /// Notes that the dataset is in memory.
    pub fn in_memory(self, memory: MemoryFile) -> Self {
        Self { memory: Some(memory), ..self }
    }

    /// Notes that several processes write the dataset.
    pub fn of_several_processes(self) -> Self {
        Self { is_parallel: true, ..self }
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
        self.check_types()?;
        let (vars, types) = self.dataset.model().with(|model| (model.vars().len(), model.user_types().len()));
        self.dataset._enddef(h_minfree, v_align, v_minfree, r_align)?;
        self.stored_vars.fetch_max(vars, Ordering::AcqRel);
        self.stored_types.fetch_max(types, Ordering::AcqRel);
        Ok(())
    }

    /// Makes an edit. In the classic model it does not change the mode: in data mode it is stored at once.
    pub fn edit<T>(&self, edit: impl FnOnce(&dyn Dataset) -> Result<T>) -> Result<T> {
        self.check_writer()?;
        let was_defining = self.dataset.model().is_defining();
        let edited = edit(&*self.dataset)?;
        if self.is_strict() && !was_defining && self.dataset.model().is_defining() {
            self.end_define_mode([0; 4])?;
        }
        Ok(edited)
    }

    /// As [`OpenFile::end_define_mode`], on request of the program: fill values are final from now on.
    pub fn end_define_mode_on_request(&self, padding: [u64; 4]) -> Result<()> {
        if self.is_reader {
            return Err(ErrorKind::NotInDefine.context("the dataset was opened for reading"));
        }
        self.end_define_mode(padding)?;
        self.final_fills.fetch_max(self.stored_vars.load(Ordering::Acquire), Ordering::AcqRel);
        Ok(())
    }

    /// Checks that new types are complete: `NC_EINVAL` for an enum without members.
    pub fn check_types(&self) -> Result<()> {
        if !self.dataset.model().is_defining() {
            return Ok(());
        }
        self.dataset.model().with(|model| {
            let stored = self.stored_types.load(Ordering::Acquire);
            for (_, ty) in model.user_types().skip(stored) {
                if matches!(&ty.class, TypeClass::Enum { members, .. } if members.is_empty()) {
                    self.has_unfinished_type.store(true, Ordering::Release);
                    return Err(ErrorKind::Inval.context(format!("enum {:?} has no members", ty.name)));
                }
            }
            Ok(())
        })
    }

    /// Whether a type exists in storage.
    pub fn is_stored_type(&self, ty: NcType) -> bool {
        match ty {
            NcType::User(id) => id.index() < self.stored_types.load(Ordering::Acquire),
            _ => true,
        }
    }

    /// Makes an edit that takes no more space in the header, which the classic model allows in data mode.
    pub fn edit_in_place<T>(&self, edit: impl FnOnce(&dyn Dataset) -> Result<T>) -> Result<T> {
        if !self.is_strict() || self.dataset.model().is_defining() {
            return self.edit(edit);
        }
        self.check_writer()?;
        self.forget_accesses();
        self.dataset.redef()?;
        match edit(&*self.dataset) {
            Ok(edited) => self.end_define_mode([0; 4]).map(|()| edited),
            Err(error) => {
                self.dataset.model().end();
                Err(error)
            }
        }
    }

    /// Renames a dimension or variable. Its present name is in use, as in netCDF-C.
    ///
    /// In data mode of a classic file a name keeps the space that it had, so a name that was made shorter can
    /// be restored. A netCDF-4 file has space for every name of a dimension.
    pub fn rename(&self, object: NamedObject, old: &str, new: &str) -> Result<()> {
        let rename = match object {
            NamedObject::Dim(dim) => Edit::RenameDim { dim, name: new },
            NamedObject::Var(var) => Edit::RenameVar { var, name: new },
        };
        let edit = |dataset: &dyn Dataset| dataset.edit(&rename).map(drop);
        if self.writable {
            if new == old {
                return Err(ErrorKind::NameInUse.context(format!("{new:?} is the present name")));
            }
            // A wrong name has precedence over a wrong mode.
            self.dataset.model().with(|model| model.check_rename(&rename))?;
        }
        if !self.is_strict() || self.dataset.model().is_defining() {
            return self.edit(edit);
        }
        let spaces = || self.name_spaces.lock().unwrap_or_else(PoisonError::into_inner);
        let space = spaces().get(&object).copied().unwrap_or(0).max(old.len());
        let fits = if self.is_cdf() { new.len() <= space } else { matches!(object, NamedObject::Dim(_)) };
        if !fits {
            return self.edit(edit);
        }
        self.edit_in_place(edit)?;
        spaces().insert(object, space);
        Ok(())
    }

    /// Whether a variable exists in storage, in a format other than the classic ones. Its layout is final.
    pub fn is_late(&self, var: VarId) -> bool {
        !self.is_cdf() && var.index() < self.stored_vars.load(Ordering::Acquire)
    }

    /// Whether the fill value of a variable is final, in a format other than the classic ones.
    pub fn is_late_fill(&self, var: VarId) -> bool {
        let written = || self.written.lock().unwrap_or_else(PoisonError::into_inner);
        !self.is_cdf() && (self.has_final_fill(var) || written().contains(&var))
    }

    fn has_final_fill(&self, var: VarId) -> bool {
        var.index() < self.final_fills.load(Ordering::Acquire)
    }

    /// Notes that a variable has data.
    pub fn note_write(&self, var: VarId) {
        if !self.has_final_fill(var) {
            self.written.lock().unwrap_or_else(PoisonError::into_inner).insert(var);
        }
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

    /// As [`Node::nc`], for an edit.
    pub fn nc_to_edit(&self) -> Result<&dyn Dataset> {
        self.file.check_writer()?;
        Ok(self.nc())
    }

    /// Looks at the model.
    pub fn look<T>(&self, look: impl FnOnce(&Model) -> Result<T>) -> Result<T> {
        self.file.dataset.model().with(look)
    }

    /// Returns the id of a group.
    pub fn id_of(&self, group: GroupId) -> c_int {
        table::id_of(self.slot, group)
    }

    /// Looks at the types.
    pub fn look_types<T>(&self, look: impl FnOnce(TypeSpace<'_>) -> Result<T>) -> Result<T> {
        self.look(|model| look(TypeSpace::new(model, &self.file.layouts)))
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
        self.file.check_writer()?;
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

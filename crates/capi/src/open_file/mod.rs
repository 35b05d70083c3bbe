//! An open dataset in the table ([`OpenFile`]): its modes and edits.
//!
//! * `node`: a group of it, as the target of a call.
//! * `final_state`: what can no longer change.
//! * `prepared_vars`: variables that are prepared for data calls.

mod final_state;
mod node;
mod prepared_vars;

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nczarr::dispatch::{Dataset, Format, FormatX, HeaderPadding};
use nczarr::model::{DimId, Edit, TypeClass, VarId};
use nczarr::nc_table::{NcDispatch as _, VarAccess, to_data_mode};
use nczarr::{CacheConfig, ErrorKind, NcType, Result, Values};

use self::final_state::FinalState;
pub use self::node::Node;
use self::prepared_vars::PreparedVars;
use crate::boundary::lent_memory::LentMemory;
use crate::type_space::{StructLayouts, struct_layouts};
use crate::user_format::UserDataset;

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
    /// The dataset, if a user-defined format opened it.
    pub user: Option<Arc<UserDataset>>,
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
    /// The fill values that variables had before the program turned filling off.
    fill_values: Mutex<HashMap<VarId, Values>>,
    /// A call panicked, so its state is unknown. It can only be closed.
    broken: AtomicBool,
    final_state: FinalState,
    /// The end of define mode failed, because a type is not complete.
    pub has_unfinished_type: AtomicBool,
    prepared: PreparedVars,
}

impl OpenFile {
    pub fn new(dataset: Arc<dyn Dataset>, path: Vec<u8>, mode: c_int) -> Result<Self> {
        let info = dataset.info();
        let model = dataset.model();
        let final_state =
            if model.is_defining() { FinalState::default() } else { model.with(FinalState::of_stored) };
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
            user: None,
            is_parallel: false,
            layouts,
            ids: Arc::new(()),
            is_reader: false,
            name_spaces: Mutex::default(),
            fill_values: Mutex::default(),
            broken: AtomicBool::new(false),
            final_state,
            has_unfinished_type: AtomicBool::new(false),
            prepared: PreparedVars::default(),
        })
    }

    /// Describes a dataset of a user-defined format.
    pub fn of_user_format(dataset: Arc<UserDataset>, path: Vec<u8>, mode: c_int) -> Result<Self> {
        let user = Some(Arc::clone(&dataset));
        Ok(Self { user, ..Self::new(dataset, path, mode)? })
    }

    /// Checks that its format described it.
    pub fn check_described(&self) -> Result<()> {
        self.user.as_ref().map_or(Ok(()), |user| user.check_described())
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
        self.end_define_mode_by(|dataset| to_data_mode(dataset))
    }

    /// Ends define mode with free space in the header of a classic file.
    pub fn end_define_mode(&self, [h_minfree, v_align, v_minfree, r_align]: [u64; 4]) -> Result<()> {
        self.end_define_mode_by(|dataset| dataset._enddef(h_minfree, v_align, v_minfree, r_align))
    }

    fn end_define_mode_by(&self, end: impl FnOnce(&dyn Dataset) -> Result<()>) -> Result<()> {
        self.forget_accesses();
        self.check_types()?;
        let (vars, types) = self.dataset.model().with(|model| (model.vars().len(), model.user_types().len()));
        end(&*self.dataset)?;
        self.final_state.note_stored(vars, types);
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
        self.final_state.note_fills();
        Ok(())
    }

    /// Checks that new types are complete: `NC_EINVAL` for an enum without members.
    pub fn check_types(&self) -> Result<()> {
        if !self.dataset.model().is_defining() {
            return Ok(());
        }
        self.dataset.model().with(|model| {
            for (_, ty) in model.user_types().skip(self.final_state.types()) {
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
        self.final_state.has_type(ty)
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
        if self.is_cdf() {
            // In data mode the driver keeps the space.
            self.check_writer()?;
            self.forget_accesses();
            let editor = self.dataset.editor()?;
            editor.apply(&rename)?;
            editor.commit(HeaderPadding::default())?;
        } else {
            self.edit_in_place(edit)?;
        }
        spaces().insert(object, space);
        Ok(())
    }

    /// Whether a variable exists in storage, in a format other than the classic ones. Its layout is final.
    pub fn is_late(&self, var: VarId) -> bool {
        !self.is_cdf() && self.final_state.has_var(var)
    }

    /// Whether the fill value of a variable is final, in a format other than the classic ones.
    pub fn is_late_fill(&self, var: VarId) -> bool {
        !self.is_cdf() && self.final_state.has_fill(var)
    }

    /// Keeps the fill value of a variable that is not filled any more, for inquiries.
    pub fn keep_fill_value(&self, var: VarId, value: Values) {
        self.fill_values.lock().unwrap_or_else(PoisonError::into_inner).insert(var, value);
    }

    /// Returns the fill value that a variable had before the program turned filling off.
    pub fn kept_fill_value(&self, var: VarId) -> Option<Values> {
        self.fill_values.lock().unwrap_or_else(PoisonError::into_inner).get(&var).cloned()
    }

    /// Notes that a variable has data.
    pub fn note_write(&self, var: VarId) {
        self.final_state.note_write(var);
    }

    /// Sets the chunk cache of a variable, also for its data after an edit.
    pub fn set_cache(&self, var: VarId, cache: CacheConfig) -> Result<()> {
        self.dataset.set_var_chunk_cache(var, cache)?;
        self.prepared.set_cache(var, cache);
        Ok(())
    }

    /// Returns the chunk cache that the program set for a variable.
    pub fn cache(&self, var: VarId) -> Option<CacheConfig> {
        self.prepared.cache(var)
    }

    /// Forgets prepared variables, since the layout of the file may change.
    pub fn forget_accesses(&self) {
        self.prepared.forget();
    }

    /// Returns a variable that is prepared for data calls.
    pub fn access(&self, var: VarId) -> Result<Arc<VarAccess>> {
        self.prepared.access(&*self.dataset, var)
    }

    /// Notes that a call on it panicked.
    fn note_panic(&self) {
        self.broken.store(true, Ordering::Release);
    }
}

//! [`Node`]: a group of an open dataset, as the target of a call.

use std::ffi::c_int;
use std::ops::Deref;
use std::sync::Arc;

use nczarr::dispatch::Dataset;
use nczarr::model::{DimId, GroupId, Model, TypeId, VarId};
use nczarr::{ErrorKind, NcType, Result};

use super::{FIRST_USER_TYPE, NC_GLOBAL, OpenFile};
use crate::table;
use crate::type_space::TypeSpace;

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
            self.file.note_panic();
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
        // A user-defined format decides itself.
        if self.user.is_none() && self.is_late(var) {
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

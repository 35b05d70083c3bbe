//! [`DataCall`]: the arguments of a call on data, found and checked in the order of netCDF-C.

use std::ffi::c_int;
use std::sync::Arc;

use nczarr::model::{VarId, convert};
use nczarr::nc_table::VarAccess;
use nczarr::{ErrorKind, NcType, Result, Slab};

use super::mapped;
use super::region::{Region, Selection, byte_count};
use crate::memory_type::MemoryType;
use crate::open_file::Node;
use crate::table;

/// The direction of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

/// A region of a variable, and the type of its elements in memory.
pub struct DataCall {
    pub node: Node,
    pub var: VarId,
    pub access: Arc<VarAccess>,
    pub memtype: NcType,
    pub selection: Selection,
}

impl DataCall {
    /// Finds the variable and the region. Ends define mode, as the enhanced model does.
    pub fn new(
        ncid: c_int,
        varid: c_int,
        region: &Region,
        memory: MemoryType,
        direction: Direction,
    ) -> Result<Self> {
        let node = table::find(ncid)?;
        let var = node.var(varid)?;
        if direction == Direction::Write && !node.writable {
            return Err(ErrorKind::Perm.context("the dataset is read-only"));
        }
        node.to_data_mode()?;
        let access = node.access(var)?;
        let memtype = memory.of(access.xtype(), &node);
        convert::check(access.xtype(), memtype).map_err(|error| access.with_path(error))?;
        if region.is_mapped() {
            mapped::check_type(access.xtype())?;
        }
        let selection = region.select(&access.shape())?;
        Ok(Self { node, var, access, memtype, selection })
    }

    /// Returns the hyperslab.
    pub fn slab(&self) -> Slab<'_> {
        self.selection.slab()
    }

    /// Returns the size of an element in memory.
    pub fn element(&self) -> Result<usize> {
        self.node.look_types(|types| types.size(self.memtype))
    }

    /// Returns the size of all elements in memory.
    pub fn bytes(&self) -> Result<usize> {
        byte_count(&self.selection, self.element()?)
    }
}

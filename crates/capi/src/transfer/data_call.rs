//! [`DataCall`]: the arguments of a call on data, found and checked in the order of netCDF-C.

use std::cmp::Ordering;
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
        check_text(access.xtype(), memtype)
            .and_then(|()| convert::check(access.xtype(), memtype))
            .map_err(|error| access.with_path(error))?;
        if region.is_mapped() {
            mapped::check_type(access.xtype())?;
        }
        let selection = region.select(&access.shape())?;
        let call = Self { node, var, access, memtype, selection };
        if call.node.is_cdf() && region.is_block() {
            call.check_classic_start(direction).map_err(|error| call.access.with_path(error))?;
        }
        Ok(call)
    }

    /// Checks the start as netCDF-C does for classic files: along all fixed dimensions before any end, and a
    /// read after the last record is `NC_EEDGE` if the dataset can be written.
    fn check_classic_start(&self, direction: Direction) -> Result<()> {
        let (shape, unlimited, slab) = (self.access.shape(), self.access.unlimited(), self.slab());
        let is_beyond = |dim: usize| match slab.start[dim].cmp(&shape[dim]) {
            Ordering::Less => false,
            Ordering::Equal => slab.count[dim] > 0,
            Ordering::Greater => true,
        };
        let place = |dim: usize| format!("dimension {dim}: start {}, length {}", slab.start[dim], shape[dim]);
        if let Some(dim) = (0..shape.len()).find(|&dim| !unlimited[dim] && is_beyond(dim)) {
            return Err(ErrorKind::InvalCoords.context(place(dim)));
        }
        let has_records = unlimited.first() == Some(&true);
        if direction == Direction::Read && self.node.writable && has_records && is_beyond(0) {
            return Err(ErrorKind::Edge.context(place(0)));
        }
        Ok(())
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

/// Refuses text of a user-defined type: `NC_ECHAR`, as that of a number.
pub fn check_text(stored: NcType, memory: NcType) -> Result<()> {
    if memory == NcType::Char && !stored.is_atomic() {
        return Err(ErrorKind::Char.context("a user-defined type does not convert to char"));
    }
    Ok(())
}

//! [`VariablePart`]: a part of a variable that is read.

use nczarr_dispatch::{MemMut, byte_len, empty_strings};
use nczarr_model::{ErrorKind, NcString, NcType, Result};
use nczarr_nc_table::SelectedSlab;
use nczarr_runtime::{Buffer, Element, OutBuf, fill_vec};

use super::expect;
use crate::variable::Access;
use crate::{Extents, Number, Selection};

/// A part of a variable that is read.
pub(crate) struct VariablePart<'v> {
    pub(crate) access: Access<'v>,
    pub(crate) selection: Selection,
}

impl<'v> VariablePart<'v> {
    /// Selects the part of a variable.
    pub(super) fn new(access: Access<'v>, extents: impl Extents) -> Result<Self> {
        let shape = access.shape();
        let selection = Selection::new(extents, &shape).map_err(|error| access.with_path(error))?;
        Ok(Self { access, selection })
    }
}

impl VariablePart<'_> {
    /// Returns the size of its elements, of `size` bytes each.
    pub(crate) fn bytes(&self, size: usize) -> Result<usize> {
        byte_len(self.selection.slab().len(), size).map_err(|error| self.access.with_path(error))
    }

    pub(super) fn expect(&self, elements: usize) -> Result<()> {
        // An error about the bounds has precedence.
        expect(&self.selection, elements)
            .or_else(|error| self.select().and(Err(self.access.with_path(error))))
    }

    /// Checks it against the variable's shape.
    pub(crate) fn select(&self) -> Result<SelectedSlab<'_>> {
        self.access.select(&self.selection.slab())
    }

    /// Allocates strings for its elements, if they are strings; `NC_ENOMEM` if memory is short.
    pub(super) fn empty_strings(&self) -> Result<Vec<NcString>> {
        self.check_type(NcType::String)?;
        let count = self.bytes(size_of::<NcString>())? / size_of::<NcString>();
        empty_strings(count).map_err(|error| self.access.with_path(error))
    }

    /// Reads into new memory.
    pub(super) fn fetch<T: Element>(&self, ty: NcType) -> Result<Buffer<T>> {
        self.fetch_selected(self.select()?, ty)
    }

    pub(super) fn fetch_selected<T: Element>(
        &self,
        selected: SelectedSlab<'_>,
        ty: NcType,
    ) -> Result<Buffer<T>> {
        let len = self.check_fetch(&selected, ty, size_of::<T>())?;
        Buffer::fill(len, |out| selected.get(MemMut::Fixed { ty, out }))
            .map_err(|error| self.access.with_path(error))
    }

    /// Reads into a new vector.
    pub(crate) fn fetch_vec<T: Number>(&self) -> Result<Vec<T>> {
        let (selected, ty) = (self.select()?, T::TYPE);
        let len = self.check_fetch(&selected, ty, size_of::<T>())?;
        fill_vec(len, |out| selected.get(MemMut::Fixed { ty, out }))
            .map_err(|error| self.access.with_path(error))
    }

    /// Checks everything that can be checked before memory is allocated. Returns the number of elements.
    fn check_fetch(&self, selected: &SelectedSlab<'_>, ty: NcType, size: usize) -> Result<usize> {
        self.check_type(ty)?;
        selected.check_readable()?;
        Ok(self.bytes(size)? / size)
    }

    /// Checks the memory type before memory is allocated.
    pub(super) fn check_type(&self, memtype: NcType) -> Result<()> {
        nczarr_model::convert::check(self.access.xtype(), memtype)
            .map_err(|error| self.access.with_path(error))
    }

    /// Reads into memory of exactly the right size.
    pub(super) fn fill(&self, ty: NcType, bytes: &mut [u8]) -> Result<()> {
        fill(self.select()?, ty, bytes)
    }
}

/// Reads into memory of exactly the right size.
pub(crate) fn fill(selected: SelectedSlab<'_>, ty: NcType, bytes: &mut [u8]) -> Result<()> {
    let mut out = OutBuf::from_slice(bytes);
    selected.get(MemMut::Fixed { ty, out: &mut out })?;
    match out.remaining() {
        0 => Ok(()),
        room => Err(ErrorKind::Internal
            .context(format!("{}: {room} bytes of the result were not filled", selected.path()))),
    }
}

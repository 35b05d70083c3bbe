//! [`DatasetSource`]: an open dataset as the source of printed data.

use std::sync::Arc;

use nczarr::dispatch::{Dataset, MemMut, OutBuf, byte_len};
use nczarr::nc_table::NcDispatch as _;
use nczarr_cdl::DataSource;
use nczarr_model::{ErrorKind, Model, NcString, NcType, Result, Slab, Values, VarId};

/// Reads a dataset's data, in the variables' own types.
pub struct DatasetSource<'a> {
    dataset: &'a dyn Dataset,
    model: Arc<Model>,
}

impl<'a> DatasetSource<'a> {
    /// Reads from `dataset`.
    pub fn new(dataset: &'a dyn Dataset) -> Self {
        Self { dataset, model: dataset.model().snapshot() }
    }

    /// Reads the elements of a hyperslab, in the variable's own type.
    ///
    /// # Errors
    ///
    /// Errors of reading.
    pub fn values(&self, var: VarId, slab: &Slab<'_>) -> Result<Values> {
        let ty = self.model.var(var)?.xtype;
        match ty {
            NcType::String => return self.strings(var, slab).map(Values::String),
            NcType::User(id) if !self.model.is_fixed(ty)? => {
                return self.strings(var, slab).map(|list| Values::Packed(id, list));
            }
            _ => {}
        }
        let bytes = self.bytes(var, slab)?;
        Values::from_native_bytes(ty, &bytes).ok_or_else(|| {
            ErrorKind::Internal.context(format!("{} bytes of type {}", bytes.len(), ty.name()))
        })
    }

    /// Reads elements of fixed size, in native byte order.
    ///
    /// # Errors
    ///
    /// Like [`DatasetSource::values`].
    pub fn bytes(&self, var: VarId, slab: &Slab<'_>) -> Result<Vec<u8>> {
        let ty = self.model.var(var)?.xtype;
        let mut bytes = memory(byte_len(slab.len(), self.item_size(ty)?)?)?;
        self.read(var, slab, MemMut::Fixed { ty, out: &mut OutBuf::from_slice(&mut bytes) })?;
        Ok(bytes)
    }

    /// Reads elements of a string variable, or packed ones.
    ///
    /// # Errors
    ///
    /// `NC_ECHAR`, `NC_EBADTYPE` for another type; errors of reading.
    pub fn strings(&self, var: VarId, slab: &Slab<'_>) -> Result<Vec<NcString>> {
        let mut strings = memory(byte_len(slab.len(), size_of::<NcString>())? / size_of::<NcString>())?;
        self.read(var, slab, MemMut::Strings(&mut strings))?;
        Ok(strings)
    }

    /// Returns the shape of the stored chunks, if there are any.
    ///
    /// # Errors
    ///
    /// The reason why the variable cannot be read.
    pub fn chunks(&self, var: VarId) -> Result<Option<Vec<u64>>> {
        Ok(self.dataset.data(var)?.chunk_shape())
    }

    /// Returns the size of one element in memory, in bytes.
    ///
    /// # Errors
    ///
    /// `NC_EBADTYPE` if the type has no fixed size.
    pub fn item_size(&self, ty: NcType) -> Result<usize> {
        let size = if self.model.is_fixed(ty)? { self.model.type_size(ty)? } else { None };
        size.ok_or_else(|| {
            ErrorKind::BadType.context(format!("elements of type {} have no fixed size in memory", ty.name()))
        })
    }

    fn read(&self, var: VarId, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        match slab.stride {
            Some(stride) => self.dataset.get_vars(var, slab.start, slab.count, stride, out),
            None => self.dataset.get_vara(var, slab.start, slab.count, out),
        }
    }
}

/// Returns `count` default values, or `NC_ENOMEM`: the file determines the count.
fn memory<T: Clone + Default>(count: usize) -> Result<Vec<T>> {
    let mut memory = Vec::new();
    memory
        .try_reserve_exact(count)
        .map_err(|error| ErrorKind::NoMem.context(format!("{count} elements")).caused_by(error))?;
    memory.resize(count, T::default());
    Ok(memory)
}

impl DataSource for DatasetSource<'_> {
    fn read(&mut self, var: VarId, start: &[u64], count: &[u64]) -> Result<Values> {
        self.values(var, &Slab::new(start, count))
    }

    fn chunk_shape(&mut self, var: VarId) -> Option<Vec<u64>> {
        self.chunks(var).ok()?
    }

    fn is_nil_where_empty(&mut self, var: VarId, start: &[u64], count: &[u64]) -> Result<bool> {
        let data = self.dataset.data(var)?;
        let slab = Slab::new(start, count).check(&self.model.shape(var)?, |_| false)?;
        Ok(data.is_fixed_text() && !data.is_absent(&slab)?)
    }
}

//! [`DatasetSource`]: an open dataset as the source of the data that is printed.

use std::sync::Arc;

use cdl::{Block, DataSource, Item};
use model::{ErrorKind, Model, NcString, NcType, Result, Scalar, Slab, TypeClass, Values, VarId};
use nczarr::dispatch::{Dataset, MemMut, NcDispatch as _, OutBuf, byte_len};

/// The data of a dataset, in the variables' own types.
pub struct DatasetSource<'a> {
    dataset: &'a dyn Dataset,
    model: Arc<Model>,
}

impl<'a> DatasetSource<'a> {
    /// The data of `dataset`.
    pub fn new(dataset: &'a dyn Dataset) -> Self {
        Self { dataset, model: dataset.model().snapshot() }
    }

    /// Elements of a hyperslab, in the variable's own type.
    ///
    /// # Errors
    /// `NC_EBADTYPE` if they have no fixed size in memory; what reading says.
    pub fn values(&self, var: VarId, slab: &Slab<'_>) -> Result<Values> {
        let ty = self.model.var(var)?.xtype;
        if ty == NcType::String {
            return self.strings(var, slab).map(Values::String);
        }
        let bytes = self.bytes(var, slab)?;
        Values::from_native_bytes(ty, &bytes)
            .ok_or_else(|| ErrorKind::Internal.context(format!("{} bytes of type {}", bytes.len(), ty.name())))
    }

    /// Elements of fixed size, one after another, in native byte order.
    ///
    /// # Errors
    /// As [`DatasetSource::values`].
    pub fn bytes(&self, var: VarId, slab: &Slab<'_>) -> Result<Vec<u8>> {
        let ty = self.model.var(var)?.xtype;
        let mut bytes = memory(byte_len(slab.len(), self.item_size(ty)?)?)?;
        self.read(var, slab, MemMut::Fixed { ty, out: &mut OutBuf::over(&mut bytes) })?;
        Ok(bytes)
    }

    /// Elements of a string variable.
    ///
    /// # Errors
    /// `NC_ECHAR` if it is of another type; what reading says.
    pub fn strings(&self, var: VarId, slab: &Slab<'_>) -> Result<Vec<NcString>> {
        let mut strings = memory(byte_len(slab.len(), size_of::<NcString>())? / size_of::<NcString>())?;
        self.read(var, slab, MemMut::Strings(&mut strings))?;
        Ok(strings)
    }

    /// Bytes of one element in memory.
    ///
    /// # Errors
    /// `NC_EBADTYPE` if the type has no fixed size.
    pub fn item_size(&self, ty: NcType) -> Result<usize> {
        self.model.type_size(ty)?.ok_or_else(|| {
            ErrorKind::BadType.context(format!("elements of type {} have no fixed size in memory", ty.name()))
        })
    }

    /// What elements are lists of, if they are lists.
    fn list_base(&self, var: VarId) -> Result<Option<NcType>> {
        let NcType::User(id) = self.model.var(var)?.xtype else { return Ok(None) };
        Ok(match self.model.user_type(id)?.class {
            TypeClass::Vlen { base } => Some(base),
            _ => None,
        })
    }

    fn read(&self, var: VarId, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        match slab.stride {
            Some(stride) => self.dataset.get_vars(var, slab.start, slab.count, stride, out),
            None => self.dataset.get_vara(var, slab.start, slab.count, out),
        }
    }
}

/// A list taken apart.
fn items(base: NcType, bytes: &[u8]) -> Result<Item> {
    let wrong = || ErrorKind::BadType.context(format!("a list of {} bytes of type {}", bytes.len(), base.name()));
    let values = Values::from_native_bytes(base, bytes).ok_or_else(wrong)?;
    let item = |index| match (&values, values.scalar(index)) {
        (Values::Float(v), _) => v.get(index).map(|value| Item::Float(*value)),
        (_, Some(Scalar::Int(value))) => Some(Item::Int(value)),
        (_, Some(Scalar::Float(value))) => Some(Item::Double(value)),
        _ => None,
    };
    (0..values.len()).map(|index| item(index).ok_or_else(wrong)).collect::<Result<_>>().map(Item::Vlen)
}

/// So many default values, or `NC_ENOMEM`: how many is what a file says.
fn memory<T: Clone + Default>(count: usize) -> Result<Vec<T>> {
    let mut memory = Vec::new();
    memory
        .try_reserve_exact(count)
        .map_err(|error| ErrorKind::NoMem.context(format!("{count} elements")).caused_by(error))?;
    memory.resize(count, T::default());
    Ok(memory)
}

impl DataSource for DatasetSource<'_> {
    fn read(&mut self, var: VarId, start: &[u64], count: &[u64]) -> Result<Block> {
        let slab = Slab::new(start, count);
        match self.list_base(var)? {
            None => self.values(var, &slab).map(Block::Values),
            Some(base) => {
                let lists = self.strings(var, &slab)?.into_iter().map(|list| items(base, list.as_bytes()));
                lists.collect::<Result<_>>().map(Block::Items)
            }
        }
    }

    fn chunk_shape(&mut self, var: VarId) -> Option<Vec<u64>> {
        self.dataset.data(var).ok()?.chunk_shape()
    }
}

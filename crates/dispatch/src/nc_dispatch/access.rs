//! [`VarAccess`]: a variable ready for data calls, without a look at the model per call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nczarr_model::{Dim, Error, ErrorKind, Model, NcType, Result, Slab, VarId, convert};

use crate::{Dataset, Linear, MemMut, MemRef, Small, VarData, byte_len, trace};

/// What the checks of a data call need to know of a variable.
///
/// Lengths are shared with the model and stay right; after an edit of the variable it is to be made anew.
#[derive(Debug, Clone)]
pub(super) struct VarShape {
    path: Arc<str>,
    xtype: NcType,
    /// Of a user-defined type without a fixed size, whose elements are packed in the memory of strings: the types.
    packed: Option<Arc<Model>>,
    /// Bytes of one element of the variable's own type, if they are always as many.
    own: Option<usize>,
    dims: Vec<Length>,
}

/// The length of a dimension, shared with the model.
#[derive(Debug, Clone)]
struct Length {
    now: Arc<AtomicU64>,
    unlimited: bool,
}

impl Length {
    fn of(dim: &Dim) -> Self {
        Self { now: Arc::clone(dim.shared_len()), unlimited: dim.unlimited }
    }

    fn now(&self) -> u64 {
        self.now.load(Ordering::Acquire)
    }
}

impl VarShape {
    pub fn new(model: &Model, id: VarId) -> Result<Self> {
        let var = model.var(id)?;
        let fixed = model.is_fixed(var.xtype)?;
        Ok(Self {
            path: model.var_path(id)?.into(),
            xtype: var.xtype,
            packed: (!fixed && !var.xtype.is_atomic()).then(|| Arc::new(model.types_only())),
            own: model.type_size(var.xtype)?.filter(|_| fixed),
            dims: var.dims.iter().map(|&dim| model.dim(dim).map(Length::of)).collect::<Result<_>>()?,
        })
    }

    /// The error with the variable's path before it, once: a driver, or its engine, may have put it there.
    pub fn at(&self, error: Error) -> Error {
        let named = error.what().strip_prefix(&*self.path).is_some_and(|rest| rest.starts_with([':', '[']));
        if named { error } else { error.at(&self.path) }
    }

    pub fn path(&self) -> String {
        self.path.as_ref().to_owned()
    }

    /// Checks slab, types and the size of the memory: `len` bytes, or strings.
    pub fn check(&self, slab: &Slab<'_>, memtype: NcType, len: usize, write: bool) -> Result<()> {
        if self.is_plain(slab, memtype, len, write) {
            return Ok(());
        }
        let item = self.check_slab(slab, memtype, write)?;
        let wanted = byte_len(slab.len(), item).map_err(|error| self.at(error))?;
        if wanted != len {
            let (elements, ty) = (slab.len(), memtype.name());
            return Err(self.at(ErrorKind::Inval
                .context(format!("{elements} elements of type {ty} take {wanted}, the memory has {len}"))));
        }
        Ok(())
    }

    /// Whether all is as it mostly is, so that nothing need be told apart: a slab without strides, and memory of the variable's type.
    fn is_plain(&self, slab: &Slab<'_>, memtype: NcType, len: usize, write: bool) -> bool {
        let fits = |item: usize| slab.len().checked_mul(item as u64) == Some(len as u64);
        memtype == self.xtype
            && self.own.is_some_and(fits)
            && slab.is_plain(self.dims.iter().map(|dim| (dim.now(), write && dim.unlimited)))
    }

    /// Checks slab and types; answers the bytes of one element in memory, for strings 1, since those are counted.
    pub fn check_slab(&self, slab: &Slab<'_>, memtype: NcType, write: bool) -> Result<usize> {
        let may_grow = |dim: usize| write && self.dims[dim].unlimited;
        slab.check(&self.shape(), may_grow)
            .and_then(|()| match self.packed.is_some() && memtype == NcType::String {
                true => Ok(()),
                false => convert::check(self.xtype, memtype),
            })
            .map_err(|error| self.at(error))?;
        match memtype {
            NcType::String => Ok(1),
            NcType::User(_) => self.own.ok_or_else(|| {
                self.at(ErrorKind::BadType.context("elements of its type have no fixed size in memory"))
            }),
            ty => ty.size().ok_or_else(|| self.at(ErrorKind::BadType.context(format!("memory of type {}", ty.name())))),
        }
    }

    pub fn shape(&self) -> Small<u64> {
        self.dims.iter().map(Length::now).collect()
    }

    pub fn get(&self, data: &dyn VarData, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.check(slab, out.ty(), room_of(&out), false)?;
        trace::timed("get", &|| self.path(), || data.get(slab, out).map_err(|error| self.at(error)))
    }

    fn get_linear(&self, data: &dyn VarData, slab: &Slab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        Linear::check(self.xtype, out.ty()).map_err(|error| self.at(error))?;
        self.check(slab, out.ty(), room_of(&out), false)?;
        trace::timed("get", &|| self.path(), || data.get_linear(slab, out, linear).map_err(|error| self.at(error)))
    }

    pub fn put(&self, data: &dyn VarData, slab: &Slab<'_>, values: MemRef<'_>) -> Result<()> {
        if let (Some(types), MemRef::Strings(elements)) = (&self.packed, &values) {
            for (flat, element) in elements.iter().enumerate() {
                types
                    .check_packed(self.xtype, element.as_bytes())
                    .map_err(|error| error.at(format_args!("{}{:?}", self.path, place(slab, flat as u64))))?;
            }
        }
        trace::timed("put", &|| self.path(), || data.put(slab, values).map_err(|error| self.at(error)))
    }
}

/// The index of an element of a slab that is not empty, counted in C order.
fn place(slab: &Slab<'_>, mut flat: u64) -> Vec<u64> {
    let mut index = slab.start.to_vec();
    for dim in (0..index.len()).rev() {
        let count = slab.count[dim].max(1);
        index[dim] += flat % count * slab.stride.map_or(1, |stride| stride[dim]);
        flat /= count;
    }
    index
}

/// Bytes, or strings, that a read has room for.
fn room_of(out: &MemMut<'_, '_>) -> usize {
    match out {
        MemMut::Fixed { out, .. } => out.capacity(),
        MemMut::Strings(strings) => strings.len(),
    }
}

/// Bytes, or strings, of what a write takes its elements from.
pub(super) fn len_of(values: &MemRef<'_>) -> usize {
    match values {
        MemRef::Fixed { bytes, .. } => bytes.len(),
        MemRef::Strings(strings) => strings.len(),
    }
}

/// A variable ready for data calls: what whoever reads or writes it often keeps.
///
/// Calls are checked as [`NcDispatch`](crate::NcDispatch)'s are, but look up nothing. Lengths of unlimited dimensions stay
/// right by themselves; after any other edit of the variable, and after `redef`, it is to be made anew. A dataset in
/// define mode has to leave it before [`VarAccess::put`].
#[derive(Debug, Clone)]
pub struct VarAccess {
    shape: VarShape,
    data: Arc<dyn VarData>,
}

impl VarAccess {
    /// Looks up the variable.
    ///
    /// # Errors
    /// `NC_ENOTVAR`; why its data cannot be read, if so.
    pub fn new<D: Dataset + ?Sized>(dataset: &D, var: VarId) -> Result<Self> {
        let shape = VarShape::new(&dataset.model().snapshot(), var)?;
        let data = dataset.data(var).map_err(|error| shape.at(error))?;
        Ok(Self { shape, data })
    }

    /// The variable's type.
    pub fn xtype(&self) -> NcType {
        self.shape.xtype
    }

    /// The number of the variable's dimensions.
    pub fn rank(&self) -> usize {
        self.shape.dims.len()
    }

    /// Which of its dimensions may grow.
    pub fn unlimited(&self) -> Small<bool> {
        self.shape.dims.iter().map(|dim| dim.unlimited).collect()
    }

    /// The current lengths of the variable's dimensions, slowest first.
    pub fn shape(&self) -> Small<u64> {
        self.shape.shape()
    }

    /// Whether what a hyperslab is read from is there, as far as a look tells: asked before memory is taken for it.
    ///
    /// # Errors
    /// As [`VarData::look`].
    pub fn look(&self, slab: &Slab<'_>) -> Result<()> {
        self.data.look(slab).map_err(|error| self.shape.at(error))
    }

    /// The variable's path, for errors.
    pub fn path(&self) -> &str {
        &self.shape.path
    }

    /// The error with the variable's path before it, once.
    #[must_use]
    pub fn named(&self, error: Error) -> Error {
        self.shape.at(error)
    }

    /// The data behind it.
    pub fn data(&self) -> &Arc<dyn VarData> {
        &self.data
    }

    /// Reads a hyperslab. As [`NcDispatch::get_vara`](crate::NcDispatch::get_vara) and
    /// [`get_vars`](crate::NcDispatch::get_vars).
    ///
    /// # Errors
    /// As those.
    pub fn get(&self, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.shape.get(&*self.data, slab, out)
    }

    /// Copies one element of the variable's own type, if it is in memory already ([`VarData::peek`]) or had by a look at storage
    /// ([`VarData::pick`]). `false`: what is in `out` means nothing, and [`VarAccess::get`] is to be asked; also where a log is
    /// told of every call.
    pub fn peek(&self, at: &[u64], memtype: NcType, out: &mut [u8]) -> bool {
        memtype == self.shape.xtype
            && !trace::tells_calls()
            && (self.data.peek(at, memtype, out) || self.data.pick(at, memtype, out))
    }

    /// Reads a hyperslab as floats or doubles, each element transformed on the way ([`VarData::get_linear`]).
    ///
    /// # Errors
    /// As [`VarAccess::get`]; `NC_EBADTYPE` for memory of another type.
    pub fn get_linear(&self, slab: &Slab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        self.shape.get_linear(&*self.data, slab, out, linear)
    }

    /// Writes a hyperslab. As [`NcDispatch::put_vara`](crate::NcDispatch::put_vara) and
    /// [`put_vars`](crate::NcDispatch::put_vars), but never leaves define mode.
    ///
    /// # Errors
    /// As those.
    pub fn put(&self, slab: &Slab<'_>, values: MemRef<'_>) -> Result<()> {
        self.shape.check(slab, values.ty(), len_of(&values), true)?;
        self.shape.put(&*self.data, slab, values)
    }
}

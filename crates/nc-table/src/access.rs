//! [`VarAccess`]: a variable that is prepared for data calls, so that a call does not search the model.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nczarr_model::{CheckedSlab, Dim, Error, ErrorKind, Model, NcType, Result, Slab, VarId, convert};

use nczarr_dispatch::{Dataset, Linear, MemMut, MemRef, Place, VarData, byte_len};
use nczarr_runtime::{DimVec, trace};

/// The properties of a variable that the checks of a data call need.
///
/// Lengths are shared with the model and stay current. After an edit of the variable it must be created
/// again.
#[derive(Debug, Clone)]
pub(crate) struct VarShape {
    path: Arc<str>,
    /// The dataset, for errors.
    place: Option<Arc<Place>>,
    xtype: NcType,
    /// The types, if elements are packed in string memory: for user-defined types without a fixed size.
    packed: Option<Arc<Model>>,
    /// The size of one element of the variable's type, if it is fixed.
    element_size: Option<usize>,
    dims: Vec<DimLength>,
}

/// A dimension's length, shared with the model.
#[derive(Debug, Clone)]
struct DimLength {
    now: Arc<AtomicU64>,
    unlimited: bool,
}

impl DimLength {
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
            place: None,
            xtype: var.xtype,
            packed: (!fixed && !var.xtype.is_atomic()).then(|| Arc::new(model.types_only())),
            element_size: model.type_size(var.xtype)?.filter(|_| fixed),
            dims: var.dims.iter().map(|&dim| model.dim(dim).map(DimLength::of)).collect::<Result<_>>()?,
        })
    }

    /// The error with the variable's path before it, once: a driver, or its engine, may have put it there.
    pub fn at(&self, error: Error) -> Error {
        let error = match &self.place {
            Some(place) => error.in_path(place),
            None => error,
        };
        let error = error.in_variable(&self.path);
        let named = error.what().strip_prefix(&*self.path).is_some_and(|rest| rest.starts_with([':', '[']));
        if named { error } else { error.at(&self.path) }
    }

    pub fn path(&self) -> String {
        self.path.as_ref().to_owned()
    }

    /// Checks that a hyperslab lies inside the variable. A write may extend unlimited dimensions.
    pub fn check<'s>(&self, slab: &Slab<'s>, write: bool) -> Result<CheckedSlab<'s>> {
        let may_grow = |dim: usize| write && self.dims[dim].unlimited;
        slab.check(&self.shape(), may_grow).map_err(|error| self.at(error))
    }

    /// Checks the types and the size of the memory for `elements`: `len` bytes or strings.
    pub fn check_memory(&self, elements: u64, memtype: NcType, len: usize) -> Result<()> {
        let fits = |item: usize| elements.checked_mul(item as u64) == Some(len as u64);
        if memtype == self.xtype && self.element_size.is_some_and(fits) {
            return Ok(());
        }
        let item = self.check_type(memtype)?;
        let wanted = byte_len(elements, item).map_err(|error| self.at(error))?;
        if wanted != len {
            let ty = memtype.name();
            return Err(self.at(ErrorKind::Inval.context(format!(
                "wrong size of memory for {elements} elements of type {ty} (expected {wanted}, found {len})"
            ))));
        }
        Ok(())
    }

    /// Checks that the types convert. Returns the size of an element in memory; 1 for strings, which are
    /// counted.
    pub fn check_type(&self, memtype: NcType) -> Result<usize> {
        if self.packed.is_none() || memtype != NcType::String {
            convert::check(self.xtype, memtype).map_err(|error| self.at(error))?;
        }
        match memtype {
            NcType::String => Ok(1),
            NcType::User(_) => self.element_size.ok_or_else(|| {
                self.at(ErrorKind::BadType.context("elements of its type have no fixed size in memory"))
            }),
            ty => ty
                .size()
                .ok_or_else(|| self.at(ErrorKind::BadType.context(format!("memory of type {}", ty.name())))),
        }
    }

    pub fn shape(&self) -> DimVec<u64> {
        self.dims.iter().map(DimLength::now).collect()
    }

    pub fn get(&self, data: &dyn VarData, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.check_memory(slab.len(), out.ty(), out.room())?;
        trace::timed("get", &|| self.path(), || data.get(slab, out).map_err(|error| self.at(error)))
    }

    fn get_linear(
        &self,
        data: &dyn VarData,
        slab: &CheckedSlab<'_>,
        out: MemMut<'_, '_>,
        linear: &Linear,
    ) -> Result<()> {
        Linear::check(self.xtype, out.ty()).map_err(|error| self.at(error))?;
        self.check_memory(slab.len(), out.ty(), out.room())?;
        trace::timed("get", &|| self.path(), || {
            data.get_linear(slab, out, linear).map_err(|error| self.at(error))
        })
    }

    /// Writes from memory that was checked.
    pub fn put(&self, data: &dyn VarData, slab: &CheckedSlab<'_>, values: MemRef<'_>) -> Result<()> {
        if let (Some(types), MemRef::Strings(elements)) = (&self.packed, &values) {
            for (flat, element) in elements.iter().enumerate() {
                types.check_packed(self.xtype, element.as_bytes()).map_err(|error| {
                    error.at(format_args!("{}{:?}", self.path, element_index(slab, flat as u64)))
                })?;
            }
        }
        trace::timed("put", &|| self.path(), || data.put(slab, values).map_err(|error| self.at(error)))
    }
}

/// Returns the index of element `flat` of a non-empty slab, counted in C order.
fn element_index(slab: &Slab<'_>, mut flat: u64) -> Vec<u64> {
    let mut index = slab.start.to_vec();
    for dim in (0..index.len()).rev() {
        let count = slab.count[dim].max(1);
        index[dim] += flat % count * slab.stride.map_or(1, |stride| stride[dim]);
        flat /= count;
    }
    index
}

/// A variable that is prepared for data calls. Frequent callers keep it.
///
/// Calls are checked as those of [`NcDispatch`](crate::NcDispatch), without a search. Lengths of unlimited
/// dimensions stay current. After any other edit of the variable, and after `redef`, it must be created
/// again. A dataset must leave define mode before [`VarAccess::put`].
#[derive(Debug, Clone)]
pub struct VarAccess {
    shape: VarShape,
    data: Arc<dyn VarData>,
}

impl VarAccess {
    /// Prepares a variable.
    ///
    /// # Errors
    /// `NC_ENOTVAR`, or the reason why the data cannot be read.
    pub fn new<D: Dataset + ?Sized>(dataset: &D, var: VarId) -> Result<Self> {
        Self::of(VarShape::new(&dataset.model().snapshot(), var)?, dataset, var)
    }

    /// As [`VarAccess::new`], of the dataset at `place`: its errors have this path.
    ///
    /// # Errors
    /// As [`VarAccess::new`].
    pub fn at<D: Dataset + ?Sized>(place: Arc<Place>, dataset: &D, var: VarId) -> Result<Self> {
        let shape = VarShape::new(&dataset.model().snapshot(), var)?;
        Self::of(VarShape { place: Some(place), ..shape }, dataset, var)
    }

    fn of<D: Dataset + ?Sized>(shape: VarShape, dataset: &D, var: VarId) -> Result<Self> {
        let data = dataset.data(var).map_err(|error| shape.at(error))?;
        Ok(Self { shape, data })
    }

    /// Returns the variable's type.
    pub fn xtype(&self) -> NcType {
        self.shape.xtype
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.dims.len()
    }

    /// Returns for each dimension whether it is unlimited.
    pub fn unlimited(&self) -> DimVec<bool> {
        self.shape.dims.iter().map(|dim| dim.unlimited).collect()
    }

    /// Returns the current lengths of the dimensions, slowest first.
    pub fn shape(&self) -> DimVec<u64> {
        self.shape.shape()
    }

    /// Checks that a hyperslab lies inside the variable.
    ///
    /// # Errors
    /// As [`Slab::check`].
    pub fn select<'a>(&'a self, slab: &Slab<'a>) -> Result<SelectedSlab<'a>> {
        Ok(SelectedSlab { access: self, slab: self.shape.check(slab, false)? })
    }

    /// Returns the variable's path, for errors.
    pub fn path(&self) -> &str {
        &self.shape.path
    }

    /// The error with the variable's path before it, once.
    #[must_use]
    pub fn with_path(&self, error: Error) -> Error {
        self.shape.at(error)
    }

    /// Returns the variable's data.
    pub fn data(&self) -> &Arc<dyn VarData> {
        &self.data
    }

    /// Reads a hyperslab. As [`NcDispatch::get_vara`](crate::NcDispatch::get_vara) and
    /// [`get_vars`](crate::NcDispatch::get_vars).
    ///
    /// # Errors
    /// As those.
    pub fn get(&self, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.select(slab)?.get(out)
    }

    /// Copies one element of the variable's type without conversion, from memory
    /// ([`VarData::try_get_cached_element`]) or by one small read ([`VarData::try_get_stored_element`]).
    /// Returns `false` if neither applies, or if every call is logged: `out` is then undefined, and the
    /// caller uses [`VarAccess::get`].
    pub fn try_get_element(&self, at: &[u64], memtype: NcType, out: &mut [u8]) -> bool {
        memtype == self.shape.xtype
            && !trace::logs_calls()
            && (self.data.try_get_cached_element(at, memtype, out)
                || self.data.try_get_stored_element(at, memtype, out))
    }

    /// Writes a hyperslab. As [`NcDispatch::put_vara`](crate::NcDispatch::put_vara) and
    /// [`put_vars`](crate::NcDispatch::put_vars), but it never ends define mode.
    ///
    /// # Errors
    /// As those.
    pub fn put(&self, slab: &Slab<'_>, values: MemRef<'_>) -> Result<()> {
        let slab = self.shape.check(slab, true)?;
        self.shape.check_memory(slab.len(), values.ty(), values.size())?;
        self.shape.put(&*self.data, &slab, values)
    }
}

/// A part of a variable to read: a hyperslab that lies inside it. [`VarAccess::select`] makes it.
#[derive(Debug, Clone, Copy)]
pub struct SelectedSlab<'a> {
    access: &'a VarAccess,
    slab: CheckedSlab<'a>,
}

impl SelectedSlab<'_> {
    /// Returns the variable's path, for errors.
    pub fn path(&self) -> &str {
        self.access.path()
    }

    /// Checks cheaply whether the storage of the hyperslab exists, before memory is allocated.
    ///
    /// # Errors
    /// As [`VarData::check_readable`].
    pub fn check_readable(&self) -> Result<()> {
        self.access.data.check_readable(&self.slab).map_err(|error| self.access.shape.at(error))
    }

    /// Reads the hyperslab. As [`VarAccess::get`].
    ///
    /// # Errors
    /// As [`VarAccess::get`].
    pub fn get(&self, out: MemMut<'_, '_>) -> Result<()> {
        self.access.shape.get(&*self.access.data, &self.slab, out)
    }

    /// Reads the hyperslab as floats or doubles and transforms each element ([`VarData::get_linear`]).
    ///
    /// # Errors
    /// As [`VarAccess::get`]; `NC_EBADTYPE` for memory of another type.
    pub fn get_linear(&self, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        self.access.shape.get_linear(&*self.access.data, &self.slab, out, linear)
    }
}

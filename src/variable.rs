//! [`Variable`]: a variable's metadata: definition, attributes and layout. `transfer` has its data.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use nczarr_dispatch::{CacheConfig, NcDispatch, VarAccess};
use nczarr_model::{Chunking, Edit, Endian, FilterSpec, GroupId, NcType, Result, Values, Var, VarId};

use crate::file::OpenDataset;
use crate::{Attribute, Dimension, Group, IntoValues};

/// A variable of an open dataset.
pub struct Variable {
    pub(crate) open: Arc<OpenDataset>,
    pub(crate) id: VarId,
    kept: AccessCache,
}

/// The prepared variable for data calls, with the edition of the metadata.
///
/// Each handle has its own, so threads with separate handles share nothing. Without edits the first lookup is
/// found without a lock.
#[derive(Default)]
struct AccessCache {
    first: OnceLock<(u64, VarAccess)>,
    /// The last lookup, after an edit.
    later: RwLock<Option<(u64, Arc<VarAccess>)>>,
}

/// A prepared variable in use.
pub(crate) enum Access<'v> {
    First(&'v VarAccess),
    Later(Arc<VarAccess>),
}

impl Deref for Access<'_> {
    type Target = VarAccess;

    fn deref(&self) -> &VarAccess {
        match self {
            Self::First(access) => access,
            Self::Later(access) => access,
        }
    }
}

impl Clone for Variable {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.open), self.id)
    }
}

impl Variable {
    pub(crate) fn new(open: Arc<OpenDataset>, id: VarId) -> Self {
        Self { open, id, kept: AccessCache::default() }
    }

    /// Returns the prepared variable, looked up again after edits.
    pub(crate) fn access(&self) -> Result<Access<'_>> {
        let dataset = self.open.dataset()?;
        // Read first: the lookup may be newer, but never older.
        let edition = dataset.model().edition();
        let first = match self.kept.first.get() {
            Some(first) => first,
            None => {
                let access = VarAccess::new(&**dataset, self.id)?;
                self.kept.first.get_or_init(|| (edition, access))
            }
        };
        if first.0 == edition {
            return Ok(Access::First(&first.1));
        }
        if let Some((of, later)) = &*self.kept.later.read().unwrap_or_else(PoisonError::into_inner)
            && *of == edition
        {
            return Ok(Access::Later(Arc::clone(later)));
        }
        let later = Arc::new(VarAccess::new(&**dataset, self.id)?);
        let mut kept = self.kept.later.write().unwrap_or_else(PoisonError::into_inner);
        *kept = Some((edition, Arc::clone(&later)));
        Ok(Access::Later(later))
    }

    /// Returns the complete variable, if it was opened for its data alone
    /// ([`OpenOptions::open_data`](crate::OpenOptions::open_data)); the rest is read at the first call.
    /// Otherwise returns this variable.
    ///
    /// # Errors
    /// As [`OpenOptions::open_variable`](crate::OpenOptions::open_variable).
    pub fn complete(&self) -> Result<Self> {
        Ok(self.open.whole()?.unwrap_or(self).clone())
    }

    /// Its identifier in the [`Model`](nczarr_model::Model).
    pub fn id(&self) -> VarId {
        self.id
    }

    /// The name.
    pub fn name(&self) -> String {
        self.ask(|var| var.name.clone())
    }

    /// The path from the root, escaped.
    pub fn full_name(&self) -> String {
        self.open.model().var_path(self.id).unwrap_or_default()
    }

    /// The group it is defined in.
    pub fn group(&self) -> Group {
        Group::new(Arc::clone(&self.open), self.ask(|var| var.group))
    }

    /// The type.
    pub fn nc_type(&self) -> NcType {
        self.ask(|var| var.xtype)
    }

    /// The dimensions, slowest first.
    pub fn dimensions(&self) -> Vec<Dimension> {
        self.ask(|var| var.dims.iter().map(|&id| Dimension::new(Arc::clone(&self.open), id)).collect())
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.ask(|var| var.dims.len())
    }

    /// The current shape.
    ///
    /// # Errors
    /// `NC_ENOTVAR` if its definition was rolled back.
    pub fn shape(&self) -> Result<Vec<u64>> {
        self.open.model().shape(self.id)
    }

    /// The current number of elements; saturates.
    ///
    /// # Errors
    /// As [`Variable::shape`].
    pub fn len(&self) -> Result<u64> {
        Ok(self.shape()?.iter().fold(1, |product: u64, &len| product.saturating_mul(len)))
    }

    /// Whether there are no elements.
    ///
    /// # Errors
    /// As [`Variable::shape`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The attributes, in the order of definition.
    pub fn attributes(&self) -> Vec<Attribute> {
        self.ask(|var| var.atts.iter().map(|(name, values)| Attribute::new(name, values.clone())).collect())
    }

    /// The attribute of this name, if there is one.
    pub fn attribute(&self, name: &str) -> Option<Attribute> {
        let (group, var) = self.place();
        self.open.attribute(group, var, name)
    }

    /// Sets an attribute.
    ///
    /// # Errors
    /// `NC_EPERM` if the dataset is read-only, `NC_EBADNAME`, `NC_ENAMEINUSE` for a reserved name.
    pub fn put_attribute(&self, name: &str, values: impl IntoValues) -> Result<()> {
        let (group, var) = self.place();
        self.open.put_att(group, var, name, values.into_values())
    }

    /// Renames an attribute.
    ///
    /// # Errors
    /// `NC_ENOTATT` if there is none, `NC_ENAMEINUSE`, `NC_EPERM`.
    pub fn rename_attribute(&self, name: &str, to: &str) -> Result<()> {
        let (group, var) = self.place();
        self.open.edit(&Edit::RenameAtt { group, var, name, to }).map(drop)
    }

    /// Deletes an attribute.
    ///
    /// # Errors
    /// `NC_ENOTATT` if there is none, `NC_EPERM`.
    pub fn delete_attribute(&self, name: &str) -> Result<()> {
        let (group, var) = self.place();
        self.open.edit(&Edit::DelAtt { group, var, name }).map(drop)
    }

    /// Renames the variable.
    ///
    /// # Errors
    /// `NC_ENAMEINUSE`, `NC_EBADNAME`, `NC_EPERM`.
    pub fn rename(&self, name: &str) -> Result<()> {
        self.open.edit(&Edit::RenameVar { var: self.id, name }).map(drop)
    }

    /// Returns the value of unwritten elements; `None` if it is undefined (no-fill).
    pub fn fill_value(&self) -> Option<Values> {
        self.ask(Var::fill_value)
    }

    /// The filters, in the order of encoding.
    pub fn filters(&self) -> Vec<FilterSpec> {
        self.ask(|var| var.filters.clone())
    }

    /// Returns the stored byte order.
    pub fn endian(&self) -> Endian {
        self.ask(|var| var.endian)
    }

    /// Returns the chunk shape; `None` if the variable is contiguous.
    ///
    /// # Errors
    /// The reason why the data cannot be read, if so.
    pub fn chunk_shape(&self) -> Result<Option<Vec<u64>>> {
        Ok(self.access()?.data().chunk_shape())
    }

    /// Sets the chunk shape, in elements.
    ///
    /// # Errors
    /// `NC_ELATEDEF` after data were written; `NC_EBADCHUNK` for an invalid shape; `NC_EINVAL` for a scalar.
    pub fn set_chunking(&self, shape: &[u64]) -> Result<()> {
        let chunking = Chunking::Chunked(shape.to_vec());
        self.open.edit(&Edit::DefVarChunking { var: self.id, chunking: &chunking }).map(drop)
    }

    /// Returns the shape of its shards in elements: objects of several chunks. `None` if each chunk is an
    /// object.
    pub fn shard_shape(&self) -> Option<Vec<u64>> {
        self.ask(|var| var.shards.clone())
    }

    /// Stores its chunks in shards of this shape, in elements: one object has a whole number of chunks along
    /// each dimension, and an index for single chunks. Only Zarr V3 has shards. If no chunk shape was set,
    /// the shape is rounded up to whole chunks of the default shape.
    ///
    /// # Errors
    /// `NC_ELATEDEF` after data were written; `NC_EBADCHUNK` if the shape is not a whole number of chunks;
    /// `NC_EINVAL` for scalars and contiguous variables; `NC_ENOTNC4` in other formats.
    pub fn set_shards(&self, shape: &[u64]) -> Result<()> {
        self.open.edit(&Edit::DefVarShards { var: self.id, shards: Some(shape) }).map(drop)
    }

    /// Adds the deflate filter with a level of 0 to 9, after the shuffle filter if `shuffle`.
    ///
    /// # Errors
    /// `NC_ELATEDEF` once data was written, `NC_ENOFILTER` if a filter is not in this build, `NC_EINVAL` for the level.
    pub fn set_deflate(&self, level: u32, shuffle: bool) -> Result<()> {
        if shuffle {
            self.set_filter("shuffle", &[])?;
        }
        self.set_filter("deflate", &[level])
    }

    /// Adds a filter by name (or HDF5 id, in digits) and parameters, or replaces it.
    ///
    /// # Errors
    /// As [`Variable::set_deflate`].
    pub fn set_filter(&self, name: &str, params: &[u32]) -> Result<()> {
        let registry = self.open.registry();
        let class = match name.parse() {
            Ok(id) => registry.filter_by_id(id)?,
            Err(_) => registry.filter(name)?,
        };
        let info = class.info();
        let filter = FilterSpec {
            hdf5_id: info.hdf5_id,
            name: info.name.to_owned(),
            params: params.to_vec(),
            ..FilterSpec::default()
        };
        self.open.edit(&Edit::DefVarFilter { var: self.id, filter: &filter }).map(drop)
    }

    /// Sets the fill value: one value of the variable's type.
    ///
    /// # Errors
    /// `NC_ELATEFILL` once data was written, `NC_EBADTYPE` for a value of another type.
    pub fn set_fill(&self, value: impl IntoValues) -> Result<()> {
        let value = value.into_values();
        self.open.edit(&Edit::DefVarFill { var: self.id, no_fill: false, value: Some(&value) }).map(drop)
    }

    /// Leaves unwritten elements undefined.
    ///
    /// # Errors
    /// `NC_ELATEFILL` once data was written.
    pub fn set_no_fill(&self) -> Result<()> {
        self.open.edit(&Edit::DefVarFill { var: self.id, no_fill: true, value: None }).map(drop)
    }

    /// Sets the stored byte order.
    ///
    /// # Errors
    /// `NC_ELATEDEF` once data was written.
    pub fn set_endian(&self, endian: Endian) -> Result<()> {
        self.open.edit(&Edit::DefVarEndian { var: self.id, endian }).map(drop)
    }

    /// Sets the chunk cache.
    ///
    /// # Errors
    /// `NC_EINVAL` for invalid values; the reason why the data cannot be read, if so.
    pub fn set_chunk_cache(&self, cache: CacheConfig) -> Result<()> {
        self.open.dataset()?.set_var_chunk_cache(self.id, cache)
    }

    /// Returns the owner of its attributes; the group is ignored for a variable.
    fn place(&self) -> (GroupId, Option<VarId>) {
        (GroupId::ROOT, Some(self.id))
    }

    /// A variable whose definition was rolled back behaves as an empty one.
    fn ask<T: Default>(&self, ask: impl FnOnce(&Var) -> T) -> T {
        self.open.look(|model| model.var(self.id).map(ask).unwrap_or_default())
    }
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variable")
            .field("name", &self.full_name())
            .field("type", &self.nc_type())
            .field("shape", &self.shape().unwrap_or_default())
            .finish()
    }
}

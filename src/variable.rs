//! [`Variable`]: a variable's metadata: definition, attributes and layout. `transfer` has its data.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use nczarr_dispatch::CacheConfig;
use nczarr_model::{
    Chunking, Defined, Edit, Endian, Error, FilterSpec, GroupId, NcType, Result, Values, Var, VarId,
};
use nczarr_nc_table::{NcDispatch, VarAccess};

use crate::codecs::as_missing_filter;
use crate::file::OpenDataset;
use crate::{Attribute, Dimension, FromValues, Group, IntoValues};

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

    /// Adds the paths of the dataset and the variable to an error.
    pub(crate) fn located(&self, error: Error) -> Error {
        let name = self.full_name();
        self.open.located(error.in_variable(&name).at(name))
    }

    /// Makes an edit of this variable.
    pub(crate) fn edit(&self, edit: &Edit<'_>) -> Result<Defined> {
        self.open.edit(edit).map_err(|error| error.in_variable(self.full_name()))
    }

    /// Returns the prepared variable, looked up again after edits.
    pub(crate) fn access(&self) -> Result<Access<'_>> {
        let dataset = self.open.dataset()?;
        // Read first: the lookup may be newer, but never older.
        let edition = dataset.model().edition();
        let first = match self.kept.first.get() {
            Some(first) => first,
            None => {
                let access = VarAccess::at(self.open.shared_place(), &**dataset, self.id)?;
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
        let later = Arc::new(VarAccess::at(self.open.shared_place(), &**dataset, self.id)?);
        let mut kept = self.kept.later.write().unwrap_or_else(PoisonError::into_inner);
        *kept = Some((edition, Arc::clone(&later)));
        Ok(Access::Later(later))
    }

    /// Returns the complete variable, if it was opened for its data alone
    /// ([`OpenOptions::open_data`](crate::OpenOptions::open_data)); the rest is read at the first call.
    /// Otherwise returns this variable.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-complete")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// # file.sync()?;
    /// let data = nczarr::OpenOptions::new().open_data(file.path(), "v")?;
    /// let units = data.complete()?.attribute("units");
    /// assert_eq!(units.as_ref().and_then(|units| units.text()), Some("K"));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`OpenOptions::open_variable`](crate::OpenOptions::open_variable).
    pub fn complete(&self) -> Result<Self> {
        Ok(self.open.whole()?.unwrap_or(self).clone())
    }

    /// Its identifier in the [`Model`](nczarr_model::Model).
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-id")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(file.variable_by_id(v.id())?.name(), "v");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn id(&self) -> VarId {
        self.id
    }

    /// The name.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-name")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.name(), "v");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn name(&self) -> String {
        self.ask(|var| var.name.clone())
    }

    /// The path from the root, escaped.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-full-name")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let t = file.add_group("g")?.add_variable::<f32>("t", &["x"])?;
    /// assert_eq!(t.full_name(), "/g/t");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn full_name(&self) -> String {
        self.open.model().var_path(self.id).unwrap_or_default()
    }

    /// The group it is defined in.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-group")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.group().name(), "/");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn group(&self) -> Group {
        Group::new(Arc::clone(&self.open), self.ask(|var| var.group))
    }

    /// The type.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-nc-type")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.nc_type(), nczarr::NcType::Float);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn nc_type(&self) -> NcType {
        self.ask(|var| var.xtype)
    }

    /// The dimensions, slowest first.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-dimensions")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.dimensions()[0].name(), "x");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn dimensions(&self) -> Vec<Dimension> {
        self.ask(|var| var.dims.iter().map(|&id| Dimension::new(Arc::clone(&self.open), id)).collect())
    }

    /// The number of dimensions.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-rank")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.rank(), 1);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn rank(&self) -> usize {
        self.ask(|var| var.dims.len())
    }

    /// The current shape.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-shape")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.shape()?, [3]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ENOTVAR` if its definition was rolled back.
    pub fn shape(&self) -> Result<Vec<u64>> {
        self.open.model().shape(self.id)
    }

    /// The current number of elements; saturates.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-len")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.len()?, 3);                  // the product of all lengths
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::shape`].
    pub fn len(&self) -> Result<u64> {
        Ok(self.shape()?.iter().fold(1, |product: u64, &len| product.saturating_mul(len)))
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-is-empty")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// file.add_unlimited_dimension("time")?;
    /// assert!(file.add_variable::<f32>("t", &["time"])?.is_empty()?);
    /// assert!(!v.is_empty()?);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::shape`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The attributes, in the order of definition.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-attributes")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.attributes()[0].name(), "units");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn attributes(&self) -> Vec<Attribute> {
        self.ask(|var| var.atts.iter().map(|(name, values)| Attribute::new(name, values.clone())).collect())
    }

    /// The attribute of this name, if there is one.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-attribute")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.attribute("units").as_ref().and_then(|units| units.text()), Some("K"));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn attribute(&self, name: &str) -> Option<Attribute> {
        let (group, var) = self.place();
        self.open.attribute(group, var, name)
    }

    /// Sets an attribute.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-put-attribute")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// v.put_attribute("valid_range", vec![0.0f32, 400.0])?;
    /// v.put_attribute("long_name", "temperature")?;
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_EPERM` if the dataset is read-only, `NC_EBADNAME`, `NC_ENAMEINUSE` for a reserved name.
    pub fn put_attribute(&self, name: &str, values: impl IntoValues) -> Result<()> {
        let (group, var) = self.place();
        let put = self.open.put_att(group, var, name, values.into_values());
        put.map_err(|error| error.in_variable(self.full_name()))
    }

    /// Renames an attribute.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-rename-attribute")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// v.rename_attribute("units", "unit")?;
    /// assert!(v.attribute("unit").is_some());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ENOTATT` if there is none, `NC_ENAMEINUSE`, `NC_EPERM`.
    pub fn rename_attribute(&self, name: &str, to: &str) -> Result<()> {
        let (group, var) = self.place();
        self.edit(&Edit::RenameAtt { group, var, name, to }).map(drop)
    }

    /// Deletes an attribute.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-delete-attribute")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// v.delete_attribute("units")?;
    /// assert!(v.attribute("units").is_none());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ENOTATT` if there is none, `NC_EPERM`.
    pub fn delete_attribute(&self, name: &str) -> Result<()> {
        let (group, var) = self.place();
        self.edit(&Edit::DelAtt { group, var, name }).map(drop)
    }

    /// Renames the variable.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-rename")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// v.rename("temperature")?;
    /// assert_eq!(file.variable("temperature")?.get_value::<f32>(0)?, 1.0);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ENAMEINUSE`, `NC_EBADNAME`, `NC_EPERM`.
    pub fn rename(&self, name: &str) -> Result<()> {
        self.edit(&Edit::RenameVar { var: self.id, name }).map(drop)
    }

    /// Returns the value of unwritten elements; `None` if it is undefined (no-fill).
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-fill-value")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let w = file.add_variable::<i32>("w", &["x"])?;
    /// w.set_fill(-1)?;
    /// assert_eq!(w.fill_value(), Some(nczarr::Values::Int(vec![-1])));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn fill_value(&self) -> Option<Values> {
        self.ask(Var::fill_value)
    }

    /// Returns the value of unwritten elements as a type of Rust; `None` if it is undefined (no-fill).
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-get-fill")?;
    /// # file.add_dimension("x", 3)?;
    /// let v = file.add_variable::<i32>("v", &["x"])?;
    /// v.set_fill(-1)?;
    /// assert_eq!(v.get_fill::<f64>()?, Some(-1.0));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`FromValues::from_values`].
    pub fn get_fill<T: FromValues>(&self) -> Result<Option<T>> {
        let value = self.fill_value().map(|value| T::from_values(&value)).transpose();
        value.map_err(|error| self.located(error.at("fill value")))
    }

    /// The filters, in the order of encoding.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "deflate", feature = "shuffle"))] {
    /// # let file = nczarr::create("memory://doc-variable-filters")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let w = file.add_variable::<i32>("w", &["x"])?;
    /// w.set_deflate(5, true)?;
    /// let names: Vec<String> = w.filters().iter().map(|filter| filter.name.clone()).collect();
    /// assert_eq!(names, ["shuffle", "deflate"]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn filters(&self) -> Vec<FilterSpec> {
        self.ask(|var| var.filters.clone())
    }

    /// Returns the stored byte order.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-endian")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let w = file.add_variable::<i32>("w", &["x"])?;
    /// w.set_endian(nczarr::Endian::Big)?;
    /// assert_eq!(w.endian(), nczarr::Endian::Big);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn endian(&self) -> Endian {
        self.ask(|var| var.endian)
    }

    /// Returns the chunk shape; `None` if the variable is contiguous.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-chunk-shape")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let w = file.add_variable::<i32>("w", &["x"])?;
    /// w.set_chunking(&[2])?;
    /// assert_eq!(w.chunk_shape()?, Some(vec![2]));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// The reason why the data cannot be read, if so.
    pub fn chunk_shape(&self) -> Result<Option<Vec<u64>>> {
        Ok(self.access()?.data().chunk_shape())
    }

    /// Sets the chunk shape, in elements.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-set-chunking")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let w = file.add_variable::<i32>("w", &["x"])?;
    /// w.set_chunking(&[2])?;                    // before the first value is written
    /// w.put(&[1, 2, 3], ..)?;
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ELATEDEF` after data were written; `NC_EBADCHUNK` for an invalid shape; `NC_EINVAL` for the chunk
    /// shape of a scalar. An empty shape changes nothing in a scalar.
    pub fn set_chunking(&self, shape: &[u64]) -> Result<()> {
        if shape.is_empty() && self.rank() == 0 {
            return Ok(());
        }
        let chunking = Chunking::Chunked(shape.to_vec());
        self.edit(&Edit::DefVarChunking { var: self.id, chunking: &chunking }).map(drop)
    }

    /// Returns the shape of its shards in elements: objects of several chunks. `None` if each chunk is an
    /// object.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-shard-shape")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.shard_shape(), None);       // Zarr V3 only
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn shard_shape(&self) -> Option<Vec<u64>> {
        self.ask(|var| var.shards.clone())
    }

    /// Stores its chunks in shards of this shape, in elements: one object has a whole number of chunks along
    /// each dimension, and an index for single chunks. Only Zarr V3 has shards. If no chunk shape was set,
    /// the shape is rounded up to whole chunks of the default shape.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// let file = nczarr::create("memory://doc-shards#mode=zarr,v3")?;
    /// file.add_dimension("x", 8)?;
    /// let w = file.add_variable::<i32>("w", &["x"])?;
    /// w.set_chunking(&[2])?;
    /// w.set_shards(&[4])?;                      // two chunks in one object
    /// assert_eq!(w.shard_shape(), Some(vec![4]));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ELATEDEF` after data were written; `NC_EBADCHUNK` if the shape is not a whole number of chunks;
    /// `NC_EINVAL` for scalars and contiguous variables; `NC_ENOTNC4` in other formats.
    pub fn set_shards(&self, shape: &[u64]) -> Result<()> {
        self.edit(&Edit::DefVarShards { var: self.id, shards: Some(shape) }).map(drop)
    }

    /// Adds the deflate filter with a level of 0 to 9, after the shuffle filter if `shuffle`.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "deflate", feature = "shuffle"))] {
    /// # let file = nczarr::create("memory://doc-variable-set-deflate")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let w = file.add_variable::<i32>("w", &["x"])?;
    /// w.set_deflate(5, true)?;                  // level 5, with shuffle
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ELATEDEF` once data was written, `NC_ENOFILTER` if a filter is not in this build, `NC_EINVAL` for
    /// the level.
    pub fn set_deflate(&self, level: u32, shuffle: bool) -> Result<()> {
        if shuffle {
            self.set_filter("shuffle", &[])?;
        }
        self.set_filter("deflate", &[level])
    }

    /// Adds a filter by name (or HDF5 id, in digits) and parameters, or replaces it.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "deflate", feature = "shuffle"))] {
    /// # let file = nczarr::create("memory://doc-variable-set-filter")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let w = file.add_variable::<i32>("w", &["x"])?;
    /// w.set_filter("shuffle", &[])?;
    /// w.set_filter("deflate", &[5])?;           // filters apply in this order when writing
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::set_deflate`].
    pub fn set_filter(&self, name: &str, params: &[u32]) -> Result<()> {
        let registry = self.open.registry();
        let class = match name.parse() {
            Ok(id) => registry.filter_by_id(id),
            Err(_) => registry.filter(name),
        };
        let class = class.map_err(|error| self.located(as_missing_filter(error)))?;
        let info = class.info();
        let filter = FilterSpec {
            hdf5_id: info.hdf5_id,
            name: info.name.to_owned(),
            params: params.to_vec(),
            ..FilterSpec::default()
        };
        self.edit(&Edit::DefVarFilter { var: self.id, filter: &filter }).map(drop)
    }

    /// Sets the fill value: one value of the variable's type.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-set-fill")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let w = file.add_variable::<i32>("w", &["x"])?;
    /// w.set_fill(-999)?;
    /// assert_eq!(w.get_value::<i32>(0)?, -999);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ELATEFILL` once data was written, `NC_EBADTYPE` for a value of another type.
    pub fn set_fill(&self, value: impl IntoValues) -> Result<()> {
        let value = value.into_values();
        self.edit(&Edit::DefVarFill { var: self.id, no_fill: false, value: Some(&value) }).map(drop)
    }

    /// Leaves unwritten elements undefined.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-set-no-fill")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let w = file.add_variable::<i32>("w", &["x"])?;
    /// w.set_no_fill()?;                         // every element will be written
    /// w.put(&[1, 2, 3], ..)?;
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ELATEFILL` once data was written.
    pub fn set_no_fill(&self) -> Result<()> {
        self.edit(&Edit::DefVarFill { var: self.id, no_fill: true, value: None }).map(drop)
    }

    /// Sets the stored byte order.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-set-endian")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let w = file.add_variable::<i32>("w", &["x"])?;
    /// w.set_endian(nczarr::Endian::Big)?;       // how values are stored; reading and writing do not change
    /// w.put(&[1, 2, 3], ..)?;
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ELATEDEF` once data was written.
    pub fn set_endian(&self, endian: Endian) -> Result<()> {
        self.edit(&Edit::DefVarEndian { var: self.id, endian }).map(drop)
    }

    /// Sets the chunk cache.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-set-chunk-cache")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// use nczarr::CacheConfig;
    /// v.set_chunk_cache(CacheConfig::default().bytes(16 << 20))?;
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_EINVAL` for invalid values; the reason why the data cannot be read, if so.
    pub fn set_chunk_cache(&self, cache: CacheConfig) -> Result<()> {
        self.open.dataset()?.set_var_chunk_cache(self.id, cache)
    }

    /// Returns the owner of its attributes; the group is ignored for a variable.
    pub(crate) fn place(&self) -> (GroupId, Option<VarId>) {
        (GroupId::ROOT, Some(self.id))
    }

    /// A variable whose definition was rolled back behaves as an empty one.
    pub(crate) fn ask<T: Default>(&self, ask: impl FnOnce(&Var) -> T) -> T {
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

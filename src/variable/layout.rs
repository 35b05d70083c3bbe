//! The storage of a [`Variable`]: filters, byte order, chunks, shards and the cache.

use nczarr_dispatch::CacheConfig;
use nczarr_model::{Chunking, Edit, Endian, FilterSpec, Result};
use nczarr_nc_table::NcDispatch;

use crate::codecs::as_missing_filter;
use crate::{IntoValues, Variable};

impl Variable {
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
    /// The variable's own error if its data are unreadable.
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

    /// Returns the shape of the shards, in elements; `None` if each chunk is an object of its own. A shard is
    /// one object with several chunks.
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

    /// Stores the chunks in shards of this shape, in elements. A shard is one object with a whole number of
    /// chunks along each dimension, and an index of them. Only Zarr V3 has shards. If you set no chunk shape,
    /// the call rounds the shard shape up to whole chunks of the default shape.
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

    /// Adds the deflate filter with a level of 0 to 9, after the shuffle filter if `shuffle` is true.
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

    /// Sets the value of unwritten elements, and leaves the attribute `_FillValue` alone. Programs take
    /// values that equal the attribute for missing ones.
    ///
    /// Plain Zarr V3 keeps both. Other formats keep this value if there is no attribute.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-set-unwritten#mode=zarr,v3")?;
    /// # file.add_dimension("x", 3)?;
    /// let w = file.add_variable::<i32>("w", &["x"])?;
    /// w.set_fill(-999)?;
    /// w.set_unwritten(7)?;
    /// assert_eq!((w.get_value::<i32>(0)?, w.attribute("_FillValue").unwrap().get::<i32>()?), (7, -999));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::set_fill`]; `NC_EINVAL` beside an attribute `_FillValue`, except in plain Zarr V3;
    /// `NC_ENOTNC4` in classic files.
    pub fn set_unwritten(&self, value: impl IntoValues) -> Result<()> {
        let value = value.into_values();
        self.edit(&Edit::DefVarUnwritten { var: self.id, value: &value }).map(drop)
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
    /// `NC_EINVAL` for invalid values; the variable's own error if its data are unreadable.
    pub fn set_chunk_cache(&self, cache: CacheConfig) -> Result<()> {
        self.open.dataset()?.set_var_chunk_cache(self.id, cache)
    }
}

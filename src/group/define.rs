//! Definitions in a [`Group`]: dimensions, groups and variables.

use nczarr_dispatch::StoredType;
use nczarr_model::{Defined, DimId, Edit, Error, ErrorKind, NcType, Result};

use crate::{Dimension, Group, NcValue, Variable};

impl Group {
    /// Adds a dimension of fixed length.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-add-dimension")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let y = file.add_dimension("y", 180)?;
    /// assert_eq!((y.len(), y.is_unlimited()), (180, false));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ENAMEINUSE`, `NC_EBADNAME`, `NC_EPERM`.
    pub fn add_dimension(&self, name: &str, len: u64) -> Result<Dimension> {
        self.define_dimension(name, Some(len))
    }

    /// Adds a dimension that writes may extend.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-add-unlimited-dimension")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let time = file.add_unlimited_dimension("time")?;
    /// assert_eq!((time.len(), time.is_unlimited()), (0, true));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Group::add_dimension`].
    pub fn add_unlimited_dimension(&self, name: &str) -> Result<Dimension> {
        self.define_dimension(name, None)
    }

    fn define_dimension(&self, name: &str, len: Option<u64>) -> Result<Dimension> {
        match self.open.edit(&Edit::DefDim { group: self.id, name, len })? {
            Defined::Dim(id) => Ok(self.dimension_of(id)),
            other => Err(unexpected(other)),
        }
    }

    /// Adds a group.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-add-group")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let group = file.add_group("forecast")?;
    /// group.add_variable::<f32>("t", &["x"])?;      // dimensions of outer groups are visible
    /// assert_eq!(file.variable("forecast/t")?.full_name(), "/forecast/t");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ENAMEINUSE`, `NC_EBADNAME`, `NC_EPERM`.
    pub fn add_group(&self, name: &str) -> Result<Self> {
        match self.open.edit(&Edit::DefGroup { parent: self.id, name })? {
            Defined::Group(id) => Ok(self.at(id)),
            other => Err(unexpected(other)),
        }
    }

    /// Adds a variable with elements of a Rust type, such as a number or a struct. A name means the dimension
    /// in this group or in the nearest ancestor. Without dimensions, the variable is a scalar.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-add-variable")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let t = file.add_variable::<f64>("t", &["x"])?;
    /// let scalar = file.add_variable::<i32>("n", &[])?;
    /// assert_eq!((t.rank(), scalar.rank()), (1, 0));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_EBADDIM` for an unknown dimension, `NC_ENAMEINUSE`, `NC_EBADNAME`, `NC_EPERM`; as
    /// [`Group::add_type_of`] for a user-defined type.
    pub fn add_variable<T: NcValue>(&self, name: &str, dims: &[&str]) -> Result<Variable> {
        let ty = self.single_type::<T>().map_err(|error| error.at(name))?;
        self.add_variable_with_type(name, ty, dims)
    }

    /// Adds a variable along these dimensions. If an inner group has a dimension of the same name, a name
    /// cannot select the dimension of an outer group. A [`Dimension`] selects any dimension of the dataset.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-add-variable-along")?;
    /// let outer = file.add_dimension("x", 3)?;
    /// let group = file.add_group("forecast")?;
    /// group.add_dimension("x", 5)?;
    /// let t = group.add_variable_along::<f32>("t", &[&outer])?;
    /// assert_eq!(t.shape()?, [3]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Group::add_variable`]; `NC_EBADDIM` for a dimension of another open dataset.
    pub fn add_variable_along<T: NcValue>(&self, name: &str, dims: &[&Dimension]) -> Result<Variable> {
        if let Some(other) = dims.iter().find(|dim| !dim.is_of(&self.open)) {
            let what = format!("{name}: dimension {:?} belongs to another open dataset", other.name());
            return Err(self.open.located(ErrorKind::BadDim.context(what)));
        }
        let ty = self.single_type::<T>().map_err(|error| error.at(name))?;
        self.define_variable(name, ty, &dims.iter().map(|dim| dim.id()).collect::<Vec<_>>())
    }

    /// Adds a variable of strings.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-add-string-variable")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let names = file.add_string_variable("names", &["x"])?;
    /// names.put_strings(&["a", "b", "c"], ..)?;
    /// assert_eq!(names.get_string(1)?, "b");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Group::add_variable`].
    pub fn add_string_variable(&self, name: &str, dims: &[&str]) -> Result<Variable> {
        self.add_variable_with_type(name, NcType::String, dims)
    }

    /// Adds a variable of any type.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-add-variable-with-type")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let flags = file.add_variable_with_type("flags", nczarr::NcType::UByte, &["x"])?;
    /// flags.put(&[1u8, 0, 1], ..)?;
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Group::add_variable`].
    pub fn add_variable_with_type(&self, name: &str, xtype: NcType, dims: &[&str]) -> Result<Variable> {
        self.define_variable(name, xtype, &self.dimension_ids(name, dims)?)
    }

    fn define_variable(&self, name: &str, xtype: NcType, dims: &[DimId]) -> Result<Variable> {
        match self.open.edit(&Edit::DefVar { group: self.id, name, xtype, dims })? {
            Defined::Var(id) => Ok(self.variable_of(id)),
            other => Err(unexpected(other)),
        }
    }

    /// Adds a variable with a stored data type that differs from its netCDF type, such as a data type of a
    /// plugin. Plain Zarr V3 has such types. `stored` contains the JSON of the member `data_type`.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// use nczarr::NcType;
    /// use nczarr::dispatch::StoredType;
    /// use nczarr::model::Endian;
    ///
    /// let file = nczarr::create("memory://doc-group-add-variable-as-stored#mode=zarr,v3")?;
    /// file.add_dimension("x", 3)?;
    /// let stored = StoredType { data_type: "\"bfloat16\"".to_owned(), endian: Endian::Little };
    /// let v = file.add_variable_as_stored("v", NcType::Float, &["x"], &stored)?;
    /// v.put(&[1.0f32, 2.5, -3.0], ..)?;         // two bytes each
    /// assert_eq!(v.get_value::<f32>(1)?, 2.5);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Group::add_variable`]; `NC_EBADTYPE` if the format has no such type, or if the stored type does
    /// not read as `xtype`.
    pub fn add_variable_as_stored(
        &self,
        name: &str,
        xtype: NcType,
        dims: &[&str],
        stored: &StoredType,
    ) -> Result<Variable> {
        let dims = self.dimension_ids(name, dims)?;
        let made = self.open.change(|dataset| match dataset.json_metadata() {
            Some(json) => json.def_var(self.id, name, xtype, &dims, stored),
            None => Ok(None),
        })?;
        let refused = || {
            let (ty, stored) = (xtype.name(), &stored.data_type);
            ErrorKind::BadType
                .context(format!("{name}: type {ty} cannot be stored as {stored} in this format"))
        };
        made.map(|id| self.variable_of(id)).ok_or_else(refused)
    }

    /// Returns the ids of the dimensions of a new variable.
    pub(crate) fn dimension_ids(&self, name: &str, dims: &[&str]) -> Result<Vec<DimId>> {
        dims.iter().map(|dim| self.find_dimension(dim).map_err(|error| error.at(name))).collect()
    }

    /// Copies a variable of this or another dataset to this group: definition, layout, attributes and data. A
    /// name means the dimension in this group or in the nearest ancestor. The copy needs bounded memory for
    /// any size of data.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-copy-variable")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let copy = file.add_group("copy")?.copy_variable(&v)?;
    /// assert_eq!(copy.get_values::<f32>(..)?, [1.0, 2.0, 3.0]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_EBADDIM` or `NC_EDIMSIZE` if a dimension is missing or has another length; `NC_ENAMEINUSE`; errors
    /// of reading and writing.
    pub fn copy_variable(&self, from: &Variable) -> Result<Variable> {
        let (source, target) = (from.open.dataset()?, self.open.dataset()?);
        Ok(self.variable_of(nczarr_nc_table::copy_var(&**source, from.id, &**target, self.id)?))
    }

    /// Renames the group; the root cannot be renamed.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-rename")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// file.add_group("old")?.rename("new")?;
    /// assert!(file.group("new").is_ok());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_EBADGRPID` for the root, `NC_ENAMEINUSE`, `NC_EBADNAME`, `NC_EPERM`.
    pub fn rename(&self, name: &str) -> Result<()> {
        self.open.edit(&Edit::RenameGroup { group: self.id, name }).map(drop)
    }

    pub(super) fn find_dimension(&self, name: &str) -> Result<DimId> {
        self.open.look(|model| model.find_dim(self.id, name)).ok_or_else(|| {
            ErrorKind::BadDim
                .context(format!("no dimension {name:?} in {} or its ancestors", self.full_name()))
        })
    }
}

fn unexpected(defined: Defined) -> Error {
    ErrorKind::Internal.context(format!("unexpected result of a definition: {defined:?}"))
}

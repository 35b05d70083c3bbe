//! [`Group`]: lookups, definitions and attributes of one group.
//!
//! Paths (`g1/t`, `/g1/t`) are relative to the group unless they start with `/`. In them `\/`, `\\` and `\ `
//! stand for the escaped character.

use std::fmt;
use std::sync::Arc;

use nczarr_dispatch::StoredType;
use nczarr_model::{Defined, DimId, Edit, Error, ErrorKind, GroupId, NcType, Result, VarId, name};

use crate::file::OpenDataset;
use crate::{Attribute, Dimension, IntoValues, NcValue, Variable};

/// A group of an open dataset.
#[derive(Clone)]
pub struct Group {
    open: Arc<OpenDataset>,
    id: GroupId,
}

impl Group {
    pub(crate) fn new(open: Arc<OpenDataset>, id: GroupId) -> Self {
        Self { open, id }
    }

    pub(crate) fn opened(&self) -> &Arc<OpenDataset> {
        &self.open
    }

    /// Its identifier in the [`Model`](nczarr_model::Model).
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-id")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(file.id(), nczarr::model::GroupId::ROOT);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn id(&self) -> GroupId {
        self.id
    }

    /// The name; `/` for the root.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-name")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(file.add_group("forecast")?.name(), "forecast");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn name(&self) -> String {
        self.ask(|group| group.name.clone())
    }

    /// The path from the root, escaped.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-full-name")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let inner = file.add_group("a")?.add_group("b")?;
    /// assert_eq!(inner.full_name(), "/a/b");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn full_name(&self) -> String {
        let model = self.open.model();
        let names = model.group_names(self.id).unwrap_or_default();
        if names.is_empty() {
            "/".to_owned()
        } else {
            names.iter().map(|segment| format!("/{}", name::escape(segment))).collect()
        }
    }

    /// Returns the parent; `None` for the root.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-parent")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let group = file.add_group("a")?;
    /// assert_eq!(group.parent().map(|parent| parent.name()).as_deref(), Some("/"));
    /// assert!(file.root().parent().is_none());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn parent(&self) -> Option<Self> {
        self.ask(|group| group.parent).map(|id| self.at(id))
    }

    /// Returns the child groups, in the order of definition.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-groups")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// file.add_group("a")?;
    /// file.add_group("b")?;
    /// assert_eq!(file.groups().len(), 2);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn groups(&self) -> Vec<Self> {
        self.ask(|group| group.groups.values().map(|&id| self.at(id)).collect())
    }

    /// Returns the group at a path.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-group")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// file.add_group("a")?.add_group("b")?;
    /// assert_eq!(file.group("a/b")?.name(), "b");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NoGrp`] that names the missing segment.
    pub fn group(&self, path: &str) -> Result<Self> {
        let group = self.open.model().group_at(self.id, path);
        Ok(self.at(group.map_err(|error| self.open.located(error))?))
    }

    /// Returns the variables, in the order of definition.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-variables")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let names: Vec<String> = file.variables().iter().map(|variable| variable.name()).collect();
    /// assert_eq!(names, ["v"]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn variables(&self) -> Vec<Variable> {
        self.ask(|group| group.vars.values().map(|&id| self.variable_of(id)).collect())
    }

    /// Returns the variable at a path.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-variable")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(file.variable("v")?.rank(), 1);
    /// assert!(file.variable("w").is_err());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotVar`] with the existing variables, or [`ErrorKind::NoGrp`].
    pub fn variable(&self, path: &str) -> Result<Variable> {
        let variable = self.open.model().var_at(self.id, path);
        Ok(self.variable_of(variable.map_err(|error| self.open.located(error))?))
    }

    /// Returns the dimensions of this group, in the order of definition.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-dimensions")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(file.dimensions()[0].name(), "x");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn dimensions(&self) -> Vec<Dimension> {
        self.ask(|group| group.dims.values().map(|&id| self.dimension_of(id)).collect())
    }

    /// Returns the dimension of this name, in this group or the nearest ancestor.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-dimension")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(file.dimension("x")?.len(), 3);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::BadDim`] if there is none.
    pub fn dimension(&self, name: &str) -> Result<Dimension> {
        let dimension = self.find_dimension(name);
        Ok(self.dimension_of(dimension.map_err(|error| self.open.located(error))?))
    }

    /// Returns the attributes, in the order of definition.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-attributes")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(file.attributes()[0].name(), "title");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn attributes(&self) -> Vec<Attribute> {
        self.ask(|group| {
            group.atts.iter().map(|(name, values)| Attribute::new(name, values.clone())).collect()
        })
    }

    /// Returns the attribute of this name, if there is one. The root also has unlisted attributes, such as
    /// `_NCProperties`.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-attribute")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let title = file.attribute("title");
    /// assert_eq!(title.as_ref().and_then(|title| title.text()), Some("A field"));
    /// assert!(file.attribute("history").is_none());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn attribute(&self, name: &str) -> Option<Attribute> {
        self.open.attribute(self.id, None, name)
    }

    /// Sets an attribute.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-put-attribute")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// file.put_attribute("Conventions", "CF-1.10")?;           // text
    /// file.put_attribute("levels", vec![10i32, 20, 30])?;      // numbers of one type
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_EPERM` if the dataset is read-only, `NC_EBADNAME`, `NC_ENAMEINUSE` for a reserved name.
    pub fn put_attribute(&self, name: &str, values: impl IntoValues) -> Result<()> {
        self.open.put_att(self.id, None, name, values.into_values())
    }

    /// Renames an attribute.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-rename-attribute")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// file.rename_attribute("title", "name")?;
    /// assert!(file.attribute("title").is_none());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ENOTATT` if there is none, `NC_ENAMEINUSE`, `NC_EPERM`.
    pub fn rename_attribute(&self, name: &str, to: &str) -> Result<()> {
        self.open.edit(&Edit::RenameAtt { group: self.id, var: None, name, to }).map(drop)
    }

    /// Deletes an attribute.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-delete-attribute")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// file.delete_attribute("title")?;
    /// assert!(file.attributes().is_empty());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ENOTATT` if there is none, `NC_EPERM`.
    pub fn delete_attribute(&self, name: &str) -> Result<()> {
        self.open.edit(&Edit::DelAtt { group: self.id, var: None, name }).map(drop)
    }

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

    /// Adds a variable whose elements are of a Rust type, such as a number or a struct. Dimensions are found
    /// from this group by name; without dimensions it is a scalar.
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

    /// Adds a variable along these dimensions. Names cannot select a dimension of an outer group if an inner
    /// group has one of the same name; a [`Dimension`] selects any dimension of the dataset.
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

    /// Adds a variable whose elements are stored as another type than the netCDF type, such as a data type of
    /// a plugin. Plain Zarr V3 has such types. `stored` has the JSON of its member `data_type`.
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
    /// As [`Group::add_variable`]; `NC_EBADTYPE` if the format has no such type, or if users see the type as
    /// another one than `xtype`.
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

    /// Copies a variable of this or another dataset to this group: definition, layout, attributes and data.
    /// Dimensions are found from this group by name. Memory is bounded for any size of data.
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

    fn find_dimension(&self, name: &str) -> Result<DimId> {
        self.open.look(|model| model.find_dim(self.id, name)).ok_or_else(|| {
            ErrorKind::BadDim
                .context(format!("no dimension {name:?} in {} or its ancestors", self.full_name()))
        })
    }

    /// A group whose definition was rolled back behaves as an empty one.
    fn ask<T: Default>(&self, ask: impl FnOnce(&nczarr_model::Group) -> T) -> T {
        self.open.look(|model| model.group(self.id).map(ask).unwrap_or_default())
    }

    fn at(&self, id: GroupId) -> Self {
        Self::new(Arc::clone(&self.open), id)
    }

    fn variable_of(&self, id: VarId) -> Variable {
        Variable::new(Arc::clone(&self.open), id)
    }

    fn dimension_of(&self, id: DimId) -> Dimension {
        Dimension::new(Arc::clone(&self.open), id)
    }
}

fn unexpected(defined: Defined) -> Error {
    ErrorKind::Internal.context(format!("unexpected result of a definition: {defined:?}"))
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Group").field(&self.full_name()).finish()
    }
}

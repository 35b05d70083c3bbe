//! The attributes, the name and the fill value of a [`Variable`].

use nczarr_model::{Edit, GroupId, Result, Values, Var, VarId};

use crate::{Attribute, FromValues, IntoValues, Variable};

impl Variable {
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

    /// Returns the owner of its attributes; the group is ignored for a variable.
    pub(crate) fn place(&self) -> (GroupId, Option<VarId>) {
        (GroupId::ROOT, Some(self.id))
    }
}

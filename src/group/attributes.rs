//! The attributes of a [`Group`].

use nczarr_model::{Edit, Result};

use crate::{Attribute, Group, IntoValues};

impl Group {
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
}

//! Attributes as JSON, in the formats that store JSON.

use nczarr_codec::Json;
use nczarr_model::{ErrorKind, GroupId, Result, VarId};

use crate::file::OpenDataset;
use crate::{Group, Variable};

impl OpenDataset {
    /// Sets an attribute of a group or variable to JSON.
    fn put_json(&self, group: GroupId, var: Option<VarId>, name: &str, text: &str) -> Result<()> {
        let about = |kind: ErrorKind, what: &str| kind.context(format!("attribute {name}: {what}"));
        if let Err(error) = text.parse::<Json>() {
            return Err(about(ErrorKind::Inval, "the text is not JSON").caused_by(error));
        }
        let put = self.change(|dataset| match dataset.json_metadata() {
            Some(json) => json.put_attribute(group, var, name, text),
            None => Err(about(
                ErrorKind::NotNc4,
                "the format stores no JSON; use put_attribute, or a Zarr dataset",
            )),
        })?;
        if put {
            Ok(())
        } else {
            Err(about(
                ErrorKind::BadType,
                "the format cannot store this JSON; create the dataset as plain Zarr",
            ))
        }
    }

    fn json(&self, group: GroupId, var: Option<VarId>, name: &str) -> Result<Option<String>> {
        match self.dataset()?.json_metadata() {
            Some(json) => json.attribute(group, var, name),
            None => Ok(None),
        }
    }
}

impl Group {
    /// Sets an attribute to JSON: as text, or as a [`Json`](crate::codec::Json) value. Zarr stores it
    /// unchanged, apart from blanks.
    ///
    /// [`Group::attribute`] shows numbers, text and lists of them as typed values, and any other JSON as
    /// text. NCZarr records the types of attributes, so it stores only JSON that equals such a typed value.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// let file = nczarr::create("memory://doc-group-put-attribute-json#mode=zarr,v3")?;
    /// file.put_attribute_json("multiscales", r#"[{"axes": ["y", "x"], "version": "0.4"}]"#)?;
    /// file.put_attribute_json("crs", r#"{"epsg": 4326}"#)?;
    /// assert_eq!(file.attribute_json("crs")?.as_deref(), Some(r#"{"epsg": 4326}"#));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Group::put_attribute`]; `NC_EINVAL` for text that is not JSON, `NC_EBADTYPE` for JSON that NCZarr
    /// cannot store, `NC_ENOTNC4` in formats without JSON.
    pub fn put_attribute_json(&self, name: &str, json: impl ToString) -> Result<()> {
        self.opened().put_json(self.id(), None, name, &json.to_string())
    }

    /// Returns an attribute as the JSON that the format stores; `None` if it does not exist, and in formats
    /// without JSON.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// let file = nczarr::create("memory://doc-group-attribute-json#mode=zarr,v3")?;
    /// file.put_attribute_json("calibrated", true)?;
    /// assert_eq!(file.attribute_json("calibrated")?.as_deref(), Some("true"));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn attribute_json(&self, name: &str) -> Result<Option<String>> {
        self.opened().json(self.id(), None, name)
    }
}

impl Variable {
    /// Sets an attribute to JSON, as [`Group::put_attribute_json`].
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-put-attribute-json#mode=zarr,v3")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// v.put_attribute_json("encoding", r#"{"scale": 0.1, "valid": null}"#)?;
    /// assert_eq!(v.attribute("encoding").unwrap().text(), Some(r#"{"scale": 0.1, "valid": null}"#));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Group::put_attribute_json`]; `NC_EINVAL` for `_FillValue`, which has the type of the variable.
    pub fn put_attribute_json(&self, name: &str, json: impl ToString) -> Result<()> {
        let (group, var) = self.place();
        self.open.put_json(group, var, name, &json.to_string())
    }

    /// Returns an attribute as the JSON that the format stores, as [`Group::attribute_json`].
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-attribute-json#mode=zarr,v3")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// v.put_attribute("units", "K")?;
    /// assert_eq!(v.attribute_json("units")?.as_deref(), Some("\"K\""));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn attribute_json(&self, name: &str) -> Result<Option<String>> {
        let (group, var) = self.place();
        self.open.json(group, var, name)
    }
}

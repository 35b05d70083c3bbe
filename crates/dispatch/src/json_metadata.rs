//! Metadata as stored JSON, for copies between formats that store JSON.

use std::fmt;

use nczarr_model::{DimId, Endian, GroupId, NcType, Result, VarId};

/// The stored form of a variable's elements, if it has more information than the netCDF type: units, text,
/// byte order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredType {
    /// The type as JSON, as in the member `data_type` of Zarr V3.
    pub data_type: String,
    /// The byte order of its numbers.
    pub endian: Endian,
}

/// The metadata of a dataset as JSON. [`Dataset::json_metadata`](crate::Dataset::json_metadata) returns it.
///
/// The netCDF model cannot represent all JSON. A copy uses these methods to keep JSON that the model loses.
pub trait JsonMetadata: Send + Sync + fmt::Debug {
    /// Returns the attributes of a group or variable, each with its name and JSON. `None`: its document
    /// cannot be read, or has no attributes.
    ///
    /// It reads the storage: an open dataset does not keep the JSON.
    ///
    /// # Errors
    /// Errors of the storage.
    fn attributes(&self, group: GroupId, var: Option<VarId>) -> Result<Option<Vec<(String, String)>>>;

    /// Returns the JSON of one attribute, also if it is not stored yet. `None`: there is no such attribute.
    ///
    /// The default finds only stored attributes.
    ///
    /// # Errors
    /// As [`JsonMetadata::attributes`].
    fn attribute(&self, group: GroupId, var: Option<VarId>, name: &str) -> Result<Option<String>> {
        let all = self.attributes(group, var)?.unwrap_or_default();
        Ok(all.into_iter().find(|(known, _)| known == name).map(|(_, json)| json))
    }

    /// Defines an attribute by its JSON, or replaces it. The attribute gets the values that a reader derives
    /// from the JSON. Returns false, and changes nothing, if the format cannot store this JSON.
    ///
    /// The default stores no JSON.
    ///
    /// # Errors
    /// As [`Editor::apply`](crate::Editor::apply); `NC_EINVAL` for text that is not JSON.
    fn put_attribute(&self, _group: GroupId, _var: Option<VarId>, _name: &str, _json: &str) -> Result<bool> {
        Ok(false)
    }

    /// Sets the JSON of a defined attribute. The JSON is used while the attribute keeps its current value,
    /// and only if the JSON means this value.
    ///
    /// # Errors
    /// `NC_ENOTATT` if the attribute does not exist.
    fn set_attribute(&self, group: GroupId, var: Option<VarId>, name: &str, json: &str) -> Result<()>;

    /// Returns the stored form of a variable's elements, for [`JsonMetadata::def_var`] of another dataset.
    /// `None`: the netCDF type describes the stored form completely.
    ///
    /// It reads the storage, like [`JsonMetadata::attributes`].
    ///
    /// # Errors
    /// Errors of the storage.
    fn stored_type(&self, var: VarId) -> Result<Option<StoredType>>;

    /// Returns the type that a variable of the group with this stored form presents, for
    /// [`JsonMetadata::def_var`]. Defines a user-defined type if no atomic type has the values. `None`: the
    /// format cannot store this form.
    ///
    /// The default knows no form.
    ///
    /// # Errors
    /// As [`Editor::apply`](crate::Editor::apply).
    fn presented_type(&self, _group: GroupId, _name: &str, _stored: &StoredType) -> Result<Option<NcType>> {
        Ok(None)
    }

    /// Defines a variable with the stored form `stored`. `None`: the format cannot store this type in that
    /// form, and nothing was defined.
    ///
    /// # Errors
    /// As [`Editor::apply`](crate::Editor::apply).
    fn def_var(
        &self,
        group: GroupId,
        name: &str,
        xtype: NcType,
        dims: &[DimId],
        stored: &StoredType,
    ) -> Result<Option<VarId>>;
}

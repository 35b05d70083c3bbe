//! The exact JSON of attributes, taken over from another dataset: [`PreservedJson`].
//!
//! A copy passes the JSON of its source. One model value has several JSON forms: `7` and `[7]`, `true` and
//! `1`, a list and a text that looks like it. This module keeps the source's form beside the model.

use nczarr_model::Values;

use crate::metadata::json::Json;

/// The JSON of some attributes of one node.
#[derive(Debug, Default)]
pub(crate) struct PreservedJson(Vec<(String, Values, Json)>);

impl PreservedJson {
    /// Returns the JSON of an attribute, if its values are unchanged.
    pub(super) fn get(&self, name: &str, values: &Values) -> Option<&Json> {
        let (.., json) = self.0.iter().find(|(known, stored, _)| known == name && stored == values)?;
        Some(json)
    }

    /// Records the JSON of an attribute.
    pub(super) fn put(&mut self, name: &str, values: Values, json: Json) {
        self.0.retain(|(known, ..)| known != name);
        self.0.push((name.to_owned(), values, json));
    }
}

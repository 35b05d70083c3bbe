//! Exact attribute values that JSON cannot hold, stored beside the attributes by name.

use nczarr_model::Values;

use super::{nan_bits, raw_text};
use crate::metadata::json::{ObjectMembers, Value, write_name, write_strict};

/// The members of `_nczarr_attr` or of an annotation that hold exact values. An attribute has a value in at
/// most one of them.
pub(crate) const EXACT_MEMBERS: [&str; 2] = ["nan", "bytes"];

/// The members under construction.
#[derive(Debug, Default)]
pub(crate) struct ExactValues([String; 2]);

impl ExactValues {
    /// Adds an attribute if JSON cannot hold its exact value.
    pub(crate) fn put(&mut self, name: &str, values: &Values) {
        for (kept, text) in [nan_bits::bits(values), raw_text::bytes(values)].into_iter().zip(&mut self.0) {
            if let Some(kept) = kept {
                text.push_str(if text.is_empty() { "{" } else { "" });
                write_name(name, text);
                write_strict(&kept, text);
            }
        }
    }

    /// Appends the members that are not empty.
    pub(crate) fn write(&self, out: &mut String) {
        for (member, text) in EXACT_MEMBERS.iter().zip(&self.0).filter(|(_, text)| !text.is_empty()) {
            write_name(member, out);
            out.push_str(text);
            out.push('}');
        }
    }
}

/// Restores the exact value of an attribute from the objects of [`EXACT_MEMBERS`].
pub(crate) fn restore(values: Values, name: &str, kept: [Option<&ObjectMembers<'_>>; 2]) -> Values {
    let [bits, bytes]: [Option<&Value<'_>>; 2] = kept.map(|kept| kept?.get(name));
    raw_text::restore(nan_bits::restore(values, bits), bytes)
}

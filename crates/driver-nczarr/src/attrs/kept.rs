//! What is kept of attributes beside them, by their names: what JSON has no word for.

use nczarr_model::Values;

use super::{nan, text};
use crate::json::{Members, Value, write_name, write_strict};

/// The members of `_nczarr_attr`, or of an annotation, that hold it; of one attribute at most one holds something.
pub(crate) const KEPT: [&str; 2] = ["nan", "bytes"];

/// The members in the making.
#[derive(Debug, Default)]
pub(crate) struct Kept([String; 2]);

impl Kept {
    /// Takes notice of an attribute.
    pub(crate) fn put(&mut self, name: &str, values: &Values) {
        for (kept, text) in [nan::bits(values), text::bytes(values)].into_iter().zip(&mut self.0) {
            if let Some(kept) = kept {
                text.push_str(if text.is_empty() { "{" } else { "" });
                write_name(name, text);
                write_strict(&kept, text);
            }
        }
    }

    /// Appends the members that hold something.
    pub(crate) fn write(&self, out: &mut String) {
        for (member, text) in KEPT.iter().zip(&self.0).filter(|(_, text)| !text.is_empty()) {
            write_name(member, out);
            out.push_str(text);
            out.push('}');
        }
    }
}

/// An attribute with what was kept of it in the objects of [`KEPT`].
pub(crate) fn restore(values: Values, name: &str, kept: [Option<&Members<'_>>; 2]) -> Values {
    let [bits, bytes]: [Option<&Value<'_>>; 2] = kept.map(|kept| kept?.get(name));
    text::restore(nan::restore(values, bits), bytes)
}

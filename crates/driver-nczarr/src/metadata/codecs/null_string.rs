//! Null strings (`NIL` in CDL) in NCZarr, for variable-length text and attributes: stored as [`NULL_STRING`].
//!
//! Text of a fixed size cannot distinguish them from empty strings.

use nczarr_codec::{ElementChunk, ElementCodec, ItemType, Json};
use nczarr_model::{ErrorKind, NcString, Result, Values};

/// The stored form of a null string: one NUL, which C reads as an empty string.
pub(crate) const NULL_STRING: &str = "\0";

/// Returns the string that a stored text represents.
pub(crate) fn from_stored(text: &str) -> NcString {
    if text == NULL_STRING { NcString::nil() } else { text.into() }
}

/// Checks that a string differs from the stored form of a null string.
///
/// # Errors
/// [`ErrorKind::Char`] if it does not.
pub(crate) fn check(string: &NcString) -> Result<()> {
    if string.as_bytes() == NULL_STRING.as_bytes() {
        Err(ErrorKind::Char.context("text of a single NUL cannot be stored; NCZarr uses it for null strings"))
    } else {
        Ok(())
    }
}

/// Whether both are equal, with null strings distinct from empty ones.
pub(crate) fn is_same(a: &Values, b: &Values) -> bool {
    let nil = |values: &Values| match values {
        Values::String(strings) => strings.iter().map(NcString::is_nil).collect(),
        _ => Vec::new(),
    };
    a == b && nil(a) == nil(b)
}

/// A codec of text that adds null strings to another codec.
#[derive(Debug, Clone)]
pub(crate) struct NullStringCodec(pub(crate) Box<dyn ElementCodec>);

#[deny(clippy::missing_trait_methods)]
impl ElementCodec for NullStringCodec {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn to_json(&self) -> Json {
        self.0.to_json()
    }

    fn item(&self) -> Option<ItemType> {
        self.0.item()
    }

    fn bind(&mut self, chunk: &ElementChunk<'_>) -> Result<()> {
        self.0.bind(chunk)
    }

    fn check(&self, element: &NcString) -> Result<()> {
        check(element)?;
        self.0.check(element)
    }

    fn encode(&self, elements: &[NcString], out: &mut Vec<u8>) -> Result<()> {
        if !elements.iter().any(NcString::is_nil) {
            return self.0.encode(elements, out);
        }
        let stored = |string: &NcString| if string.is_nil() { NULL_STRING.into() } else { string.clone() };
        self.0.encode(&elements.iter().map(stored).collect::<Vec<_>>(), out)
    }

    fn decode(&self, src: &[u8], count: usize, limit: usize) -> Result<Vec<NcString>> {
        let mut elements = self.0.decode(src, count, limit)?;
        elements
            .iter_mut()
            .filter(|element| **element == NULL_STRING)
            .for_each(|element| *element = NcString::nil());
        Ok(elements)
    }
}

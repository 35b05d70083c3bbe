//! Strings that are no string at all (`NIL` in CDL), where NCZarr stores text of any length and in attributes: [`STORED`].
//!
//! Text of a fixed size has no room for the difference: what is stored and empty there may be either.

use nczarr_dispatch::{ElementChunk, ElementCodec, ItemType, Json};
use nczarr_model::{ErrorKind, NcString, Result, Values};

/// What is stored for no string at all: one NUL, which C takes for an empty string.
pub(crate) const STORED: &str = "\0";

/// The string that a text stands for.
pub(crate) fn loaded(text: &str) -> NcString {
    if text == STORED { NcString::nil() } else { text.into() }
}

/// Whether a string can be told from none at all.
///
/// # Errors
/// [`ErrorKind::Char`] if it cannot.
pub(crate) fn check(string: &NcString) -> Result<()> {
    match string.as_bytes() == STORED.as_bytes() {
        true => Err(ErrorKind::Char.context("text of a single NUL, which NCZarr has for no string at all")),
        false => Ok(()),
    }
}

/// Whether both are the same to the last string: to others no string at all is an empty one.
pub(crate) fn same(a: &Values, b: &Values) -> bool {
    let nil = |values: &Values| match values {
        Values::String(strings) => strings.iter().map(NcString::is_nil).collect(),
        _ => Vec::new(),
    };
    a == b && nil(a) == nil(b)
}

/// A codec of text, around one that knows nothing of such strings.
#[derive(Debug, Clone)]
pub(crate) struct Nil(pub(crate) Box<dyn ElementCodec>);

#[deny(clippy::missing_trait_methods)]
impl ElementCodec for Nil {
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
        let stored = |string: &NcString| if string.is_nil() { STORED.into() } else { string.clone() };
        self.0.encode(&elements.iter().map(stored).collect::<Vec<_>>(), out)
    }

    fn decode(&self, src: &[u8], count: usize, limit: usize) -> Result<Vec<NcString>> {
        let mut elements = self.0.decode(src, count, limit)?;
        elements.iter_mut().filter(|element| **element == STORED).for_each(|element| *element = NcString::nil());
        Ok(elements)
    }
}

//! [`ElementCodec`]: the first codec of a chunk, which turns elements into bytes.
//!
//! Elements of fixed size need no element codec: their bytes are the array. Elements of variable length
//! (`vlen-utf8` and similar) need one. Filters follow the element codec.

use std::fmt;

use dyn_clone::DynClone;
use nczarr_model::{NcString, Result};

use crate::{ItemType, Json};

/// The properties of chunks that an element codec may use.
#[derive(Debug, Clone, Copy)]
pub struct ElementChunk<'a> {
    /// The shape of every chunk.
    pub shape: &'a [u64],
    /// Whether the first dimension varies fastest.
    pub first_fastest: bool,
}

/// Turns the elements of one chunk into bytes and back.
pub trait ElementCodec: DynClone + Send + Sync + fmt::Debug {
    /// Returns the codec's name (`vlen-utf8` …).
    fn name(&self) -> &str;

    /// Returns the codec description.
    fn to_json(&self) -> Json;

    /// Returns the item type if each element is a list; `None`: elements are text. The bytes of an element
    /// are the stored items.
    fn item(&self) -> Option<ItemType> {
        None
    }

    /// Adapts the codec to the chunks of a variable; called once per variable, before any data.
    ///
    /// # Errors
    /// `NC_EFILTER` if it cannot work on such chunks.
    fn bind(&mut self, _chunk: &ElementChunk<'_>) -> Result<()> {
        Ok(())
    }

    /// Checks that an element can be encoded. It is called when the element is written, long before its chunk
    /// is encoded.
    ///
    /// # Errors
    /// As [`ElementCodec::encode`].
    fn check(&self, element: &NcString) -> Result<()> {
        self.encode(std::slice::from_ref(element), &mut Vec::new())
    }

    /// Replaces `out` by the encoded bytes of `elements`.
    ///
    /// # Errors
    /// `NC_EFILTER` with the index of an element that cannot be encoded.
    fn encode(&self, elements: &[NcString], out: &mut Vec<u8>) -> Result<()>;

    /// Decodes exactly `count` elements from `src`. They may take at most `limit` bytes of memory.
    ///
    /// # Errors
    /// `NC_EFILTER` if there are more, fewer or larger elements than declared.
    fn decode(&self, src: &[u8], count: usize, limit: usize) -> Result<Vec<NcString>>;
}

dyn_clone::clone_trait_object!(ElementCodec);

/// Makes [`ElementCodec`]s from codec descriptions.
pub trait ElementClass: Send + Sync + 'static {
    /// Returns the names of the codec.
    fn names(&self) -> &'static [&'static str];

    /// Returns one line about the elements and their encoding.
    fn about(&self) -> &'static str {
        ""
    }

    /// Returns a codec for a codec description.
    ///
    /// # Errors
    /// `NC_EFILTER` that names the wrong member and the expected value.
    fn parse(&self, codec: &Json) -> Result<Box<dyn ElementCodec>>;
}

//! [`ElementCodec`]: the array end of a chunk's codec chain, where elements become bytes.
//!
//! Elements of fixed size need none: their bytes are the array. Elements of variable length (`vlen-utf8` and
//! kin) do, so that they never pretend to be fixed bytes. Filters come after it.

use std::fmt;

use dyn_clone::DynClone;
use nczarr_model::{NcString, Result};

use crate::{ItemType, Json};

/// What an element codec may want to know of the chunks it will work on.
#[derive(Debug, Clone, Copy)]
pub struct ElementChunk<'a> {
    /// The shape of every chunk.
    pub shape: &'a [u64],
    /// Whether elements come with the first dimension fastest, not the last.
    pub first_fastest: bool,
}

/// Turns the elements of one chunk into bytes and back.
pub trait ElementCodec: DynClone + Send + Sync + fmt::Debug {
    /// The codec's name (`vlen-utf8` …).
    fn name(&self) -> &str;

    /// The codec description.
    fn to_json(&self) -> Json;

    /// What each element is a list of; `None`: it is text. Bytes of an element are the list's items as stored.
    fn item(&self) -> Option<ItemType> {
        None
    }

    /// Learns what it will work on; called once per variable, before any data.
    ///
    /// # Errors
    /// `NC_EFILTER` if it cannot work on such chunks.
    fn bind(&mut self, _chunk: &ElementChunk<'_>) -> Result<()> {
        Ok(())
    }

    /// Whether an element can be held: asked when it is written, long before its chunk is encoded.
    ///
    /// # Errors
    /// As [`ElementCodec::encode`].
    fn check(&self, element: &NcString) -> Result<()> {
        self.encode(std::slice::from_ref(element), &mut Vec::new())
    }

    /// Replaces `out` by the bytes of `elements`.
    ///
    /// # Errors
    /// `NC_EFILTER` if an element cannot be held, naming its index.
    fn encode(&self, elements: &[NcString], out: &mut Vec<u8>) -> Result<()>;

    /// Makes exactly `count` elements of `src`. `limit` bounds the memory they may take, in bytes.
    ///
    /// # Errors
    /// `NC_EFILTER` if there are more, fewer or larger elements than declared.
    fn decode(&self, src: &[u8], count: usize, limit: usize) -> Result<Vec<NcString>>;
}

dyn_clone::clone_trait_object!(ElementCodec);

/// Makes [`ElementCodec`]s from codec descriptions.
pub trait ElementClass: Send + Sync + 'static {
    /// The names it answers to.
    fn names(&self) -> &'static [&'static str];

    /// One line for people: which elements, and how they are written.
    fn about(&self) -> &'static str {
        ""
    }

    /// An instance from a codec description.
    ///
    /// # Errors
    /// `NC_EFILTER`, saying which member and what was expected.
    fn parse(&self, codec: &Json) -> Result<Box<dyn ElementCodec>>;
}

//! [`TextElements`]: text elements, in memory and as stored, and their transfers.
//!
//! A chunk of fixed-size text keeps its stored bytes, and only accessed elements become strings. A chunk of
//! variable-length text becomes a list of strings ([`TextChunk`]). All writes go through the cache: text is
//! rarely large enough for a faster path.

mod cell;
mod get;
mod put;

pub(crate) use cell::FixedText;
pub(crate) use get::get;
pub(crate) use put::put;

use nczarr_codec::ElementCodec;
use nczarr_model::{ErrorKind, NcString, Result, Values};
use nczarr_runtime::OutBuf;

use crate::engine::ElementKind;
use crate::mask::ElementMask;
use crate::memory::{ChunkBuffer, HasByteView, with_scratch};
use crate::odometer::Odometer;
use crate::plan::{EncodeInput, FilterPlan};
use crate::project::ChunkPart;

/// The encoding of text.
#[derive(Debug)]
pub(crate) enum TextEncoding {
    /// In a fixed size.
    Fixed(FixedText),
    /// In variable length.
    Codec(Box<dyn ElementCodec>),
}

/// The stored form of an array's text, and its fill value.
#[derive(Debug)]
pub(crate) struct TextElements {
    pub(crate) text: TextEncoding,
    pub(crate) plan: FilterPlan,
    pub(crate) fill: NcString,
    pub(crate) elems: usize,
    /// The maximum size of a chunk in memory.
    pub(crate) most: usize,
}

/// The elements of a chunk.
#[derive(Debug)]
pub(crate) enum TextChunk {
    /// The stored bytes of fixed-size elements.
    Cells(FixedText, ChunkBuffer),
    /// Strings of variable length.
    List(Vec<NcString>),
}

/// Returns the fill value as a string.
pub(crate) fn fill_string(fill: Option<&Values>) -> Result<NcString> {
    match fill {
        None => Ok(NcString::new()),
        Some(Values::String(list) | Values::Packed(_, list)) if list.len() == 1 => Ok(list[0].clone()),
        Some(Values::Char(bytes)) => Ok(NcString::from(&**bytes)),
        Some(other) => Err(ErrorKind::Inval.context(format!(
            "wrong fill value (expected one value of type string, found {} of type {})",
            other.len(),
            other.nc_type().name()
        ))),
    }
}

impl TextChunk {
    /// Copies a part to memory.
    pub(crate) fn load(&self, part: &ChunkPart, out: &mut [NcString]) -> Result<()> {
        let mut result = Ok(());
        Odometer::each(&part.dims, part.chunk_start, part.mem_start, |from, to| match self {
            Self::List(list) => out[to].clone_from(&list[from]),
            Self::Cells(cell, bytes) => {
                let size = cell.size();
                match cell.load(&bytes[from * size..(from + 1) * size]) {
                    Ok(text) => out[to] = text,
                    Err(error) => result = Err(error),
                }
            }
        });
        result
    }

    /// Copies a part from memory; `element` returns the element at a position.
    fn save<'v>(&mut self, part: &ChunkPart, element: impl Fn(usize) -> &'v NcString) -> Result<()> {
        let mut result = Ok(());
        Odometer::each(&part.dims, part.chunk_start, part.mem_start, |to, from| match self {
            Self::List(list) => list[to].clone_from(element(from)),
            Self::Cells(cell, bytes) => {
                let size = cell.size();
                if let Err(error) = cell.store(element(from), &mut bytes[to * size..(to + 1) * size]) {
                    result = Err(error);
                }
            }
        });
        result
    }
}

impl TextElements {
    /// Checks whether an element can be stored: as a whole, or cut at a character if `truncate`.
    fn fit(&self, value: &NcString, truncate: bool) -> Result<TextFit> {
        match &self.text {
            TextEncoding::Codec(codec) => codec.check(value).map(|()| TextFit::Whole),
            TextEncoding::Fixed(cell) => cell.fit(value, truncate),
        }
    }

    /// Creates a chunk of fixed-size elements that `fill` writes.
    fn cells(&self, cell: FixedText, fill: impl FnOnce(&mut OutBuf<'_>) -> Result<()>) -> Result<TextChunk> {
        let block = ChunkBuffer::new(cell.size() * self.elems, fill, |found| self.plan.wrong_size(found))?;
        Ok(TextChunk::Cells(cell, block))
    }
}

/// Whether an element can be stored.
enum TextFit {
    Whole,
    /// Only this number of its bytes.
    Cut(usize),
    /// Found, allowed, and the unit.
    TooLong(usize, usize, &'static str),
}

impl HasByteView for TextChunk {}

impl ElementKind for TextElements {
    type Data = TextChunk;

    fn cost(&self, data: &TextChunk) -> usize {
        match data {
            TextChunk::Cells(_, bytes) => bytes.len(),
            TextChunk::List(list) => {
                list.iter().map(|text| size_of::<NcString>() + text.as_bytes().len()).sum()
            }
        }
    }

    fn limit(&self) -> usize {
        self.plan.limit
    }

    fn copy(&self, data: &TextChunk) -> Result<TextChunk> {
        Ok(match data {
            TextChunk::Cells(cell, bytes) => TextChunk::Cells(*cell, bytes.try_clone()?),
            TextChunk::List(list) => TextChunk::List(list.clone()),
        })
    }

    fn fill_values(&self) -> Result<TextChunk> {
        let TextEncoding::Fixed(cell) = self.text else {
            return Ok(TextChunk::List(vec![self.fill.clone(); self.elems]));
        };
        let mut fill = vec![0; cell.size()];
        cell.store(&self.fill, &mut fill).map_err(|error| error.at("the fill value"))?;
        self.cells(cell, |out| (0..self.elems).try_for_each(|_| out.put(&fill)))
    }

    fn uninitialised_values(&self) -> Result<TextChunk> {
        match self.text {
            TextEncoding::Fixed(cell) => self.cells(cell, |out| out.put_zeros(out.capacity()).map(drop)),
            TextEncoding::Codec(_) => self.fill_values(),
        }
    }

    fn as_stored<'d>(&self, data: &'d TextChunk) -> Option<&'d [u8]> {
        match data {
            TextChunk::Cells(_, bytes) if !self.plan.has_filters() => Some(bytes),
            _ => None,
        }
    }

    fn expected_size(&self) -> usize {
        self.plan.bytes.unwrap_or(self.elems).min(self.plan.limit)
    }

    fn stored_size(&self) -> Option<usize> {
        match self.text {
            TextEncoding::Fixed(cell) if !self.plan.has_filters() => Some(cell.size() * self.elems),
            _ => None,
        }
    }

    fn decode(&self, stored: &[u8]) -> Result<TextChunk> {
        with_scratch(|pair| match &self.text {
            TextEncoding::Fixed(cell) => {
                let held = self.cells(*cell, |out| self.plan.decode_into(stored, pair, out))?;
                if let TextChunk::Cells(cell, bytes) = &held {
                    cell.check(bytes)?;
                }
                Ok(held)
            }
            TextEncoding::Codec(codec) => {
                let list = codec.decode(self.plan.decode(stored, pair)?, self.elems, self.most)?;
                match list.len() {
                    found if found == self.elems => Ok(TextChunk::List(list)),
                    found => Err(ErrorKind::Filter.context(format!(
                        "wrong number of elements (expected {}, found {found})",
                        self.elems
                    ))),
                }
            }
        })
    }

    fn encode(&self, data: &TextChunk, stored: &mut Vec<u8>) -> Result<()> {
        let mut encoded = Vec::new();
        let bytes = match (data, &self.text) {
            (TextChunk::Cells(_, bytes), _) => &**bytes,
            (TextChunk::List(list), TextEncoding::Codec(codec)) => {
                codec.encode(list, &mut encoded)?;
                &encoded
            }
            (TextChunk::List(_), TextEncoding::Fixed(_)) => {
                return Err(ErrorKind::Internal.context("a list where cells are"));
            }
        };
        let given = EncodeInput::Bytes::<fn(&mut OutBuf<'_>) -> Result<()>>(bytes);
        with_scratch(|pair| self.plan.encode(given, pair, stored))
    }

    fn overlay(&self, base: &mut TextChunk, over: &TextChunk, mask: &ElementMask) {
        mask.runs(true, |start, n| match (&mut *base, over) {
            (TextChunk::Cells(cell, base), TextChunk::Cells(_, over)) => {
                let range = start * cell.size()..(start + n) * cell.size();
                base[range.clone()].copy_from_slice(&over[range]);
            }
            (TextChunk::List(base), TextChunk::List(over)) => {
                base[start..start + n].clone_from_slice(&over[start..start + n])
            }
            _ => unreachable!("the chunks of an array are held alike"),
        });
    }
}

fn too_long(found: usize, allowed: usize, unit: &str) -> nczarr_model::Error {
    ErrorKind::Inval.context(format!("text too long (expected at most {allowed} {unit}, found {found})"))
}

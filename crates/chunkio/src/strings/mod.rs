//! [`Strings`]: elements that are text, as they are in memory and as they are stored; and their transfers.
//!
//! A chunk becomes a list of strings. Written ones all go through the cache, in part or whole: text is never so
//! much that it would pay to be cleverer.

mod get;
mod put;

pub(crate) use get::get;
pub(crate) use put::put;

use dispatch::ElementCodec;
use model::{ErrorKind, NcString, Result, Values};

use crate::keeper::Form;
use crate::mask::Mask;
use crate::memory::with_scratch;
use crate::plan::{Given, Plan};

/// How text is stored.
#[derive(Debug)]
pub(crate) enum Text {
    /// In so many bytes, padded with zeros.
    Bytes(usize),
    /// In so many code points of 4 bytes, padded with zeros.
    Points { chars: usize, big_endian: bool },
    /// In any length.
    Codec(Box<dyn ElementCodec>),
}

/// How an array's text is stored, and what unwritten elements are.
#[derive(Debug)]
pub(crate) struct Strings {
    pub(crate) text: Text,
    pub(crate) plan: Plan,
    pub(crate) fill: NcString,
    pub(crate) elems: usize,
    /// The most bytes a chunk may take in memory.
    pub(crate) most: usize,
}

/// The fill value as one string.
pub(crate) fn fill_string(fill: Option<&Values>) -> Result<NcString> {
    match fill {
        None => Ok(NcString::new()),
        Some(Values::String(list)) if list.len() == 1 => Ok(list[0].clone()),
        Some(Values::Char(bytes)) => Ok(NcString::from(&**bytes)),
        Some(other) => Err(ErrorKind::Inval.context(format!(
            "one fill value of type string expected, {} of type {} found",
            other.len(),
            other.nc_type().name()
        ))),
    }
}

impl Strings {
    /// The element as it can be stored: itself, or cut at a character if `truncate` allows it. `None`: too long.
    fn fit(&self, value: &NcString, truncate: bool) -> Result<Fit> {
        match self.text {
            Text::Codec(_) => Ok(Fit::Whole),
            Text::Bytes(width) => {
                let bytes = value.as_bytes();
                if bytes.len() <= width {
                    return Ok(Fit::Whole);
                }
                Ok(if truncate { Fit::Cut(cut_bytes(bytes, width)) } else { Fit::TooLong(bytes.len(), width, "bytes") })
            }
            Text::Points { chars, .. } => {
                let text = value.to_str()?;
                let found = text.chars().count();
                if found <= chars {
                    return Ok(Fit::Whole);
                }
                let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
                Ok(if truncate { Fit::Cut(end) } else { Fit::TooLong(found, chars, "characters") })
            }
        }
    }
}

/// Whether an element can be stored.
enum Fit {
    Whole,
    /// So many of its bytes can.
    Cut(usize),
    /// Found, allowed, of what.
    TooLong(usize, usize, &'static str),
}

/// The end of the last whole character within `width` bytes; of bytes that are no text, `width`.
fn cut_bytes(bytes: &[u8], width: usize) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.floor_char_boundary(width),
        Err(_) => width,
    }
}

impl Form for Strings {
    type Data = Vec<NcString>;

    fn cost(&self, data: &Vec<NcString>) -> usize {
        data.iter().map(|text| size_of::<NcString>() + text.as_bytes().len()).sum()
    }

    fn limit(&self) -> usize {
        self.plan.limit
    }

    fn copy(&self, data: &Vec<NcString>) -> Result<Vec<NcString>> {
        Ok(data.clone())
    }

    fn blank(&self) -> Result<Vec<NcString>> {
        Ok(vec![self.fill.clone(); self.elems])
    }

    fn decode(&self, stored: &[u8]) -> Result<Vec<NcString>> {
        with_scratch(|pair| {
            let bytes = self.plan.decode(stored, pair)?;
            match &self.text {
                Text::Codec(codec) => {
                    let list = codec.decode(bytes, self.elems, self.most)?;
                    match list.len() {
                        found if found == self.elems => Ok(list),
                        found => {
                            Err(ErrorKind::Filter.context(format!("{} elements expected, {found} found", self.elems)))
                        }
                    }
                }
                Text::Bytes(0) => Ok(vec![NcString::new(); self.elems]),
                Text::Bytes(width) => Ok(bytes.chunks_exact(*width).map(unpad).collect()),
                Text::Points { chars: 0, .. } => Ok(vec![NcString::new(); self.elems]),
                Text::Points { chars, big_endian } => {
                    let decode = |(at, element): (usize, &[u8])| {
                        from_points(element, *big_endian).map_err(|error| error.at(format_args!("element {at}")))
                    };
                    bytes.chunks_exact(chars * 4).enumerate().map(decode).collect()
                }
            }
        })
    }

    fn encode(&self, data: &Vec<NcString>, stored: &mut Vec<u8>) -> Result<()> {
        let mut bytes = Vec::new();
        match &self.text {
            Text::Codec(codec) => codec.encode(data, &mut bytes)?,
            Text::Bytes(width) => {
                bytes.reserve_exact(width * data.len());
                for (at, text) in data.iter().enumerate() {
                    let end = (at + 1) * width;
                    bytes.extend_from_slice(text.as_bytes());
                    if bytes.len() > end {
                        return Err(too_long(text.as_bytes().len(), *width, "bytes").at(format_args!("element {at}")));
                    }
                    bytes.resize(end, 0);
                }
            }
            Text::Points { chars, big_endian } => {
                let width = chars * 4;
                bytes.reserve_exact(width * data.len());
                for (at, text) in data.iter().enumerate() {
                    let text = text.to_str().map_err(|error| error.at(format_args!("element {at}")))?;
                    for point in text.chars().map(u32::from) {
                        let point = if *big_endian { point.to_be_bytes() } else { point.to_le_bytes() };
                        bytes.extend_from_slice(&point);
                    }
                    let end = (at + 1) * width;
                    if bytes.len() > end {
                        return Err(
                            too_long(text.chars().count(), *chars, "characters").at(format_args!("element {at}"))
                        );
                    }
                    bytes.resize(end, 0);
                }
            }
        }
        let given = Given::Bytes::<fn(&mut dispatch::OutBuf<'_>) -> Result<()>>(&bytes);
        with_scratch(|pair| self.plan.encode(given, pair, stored))
    }

    fn overlay(&self, base: &mut Vec<NcString>, over: &Vec<NcString>, mask: &Mask) {
        mask.runs(true, |start, n| base[start..start + n].clone_from_slice(&over[start..start + n]));
    }
}

fn too_long(found: usize, allowed: usize, unit: &str) -> model::Error {
    ErrorKind::Inval.context(format!("text of {found} {unit} where {allowed} are stored"))
}

fn unpad(element: &[u8]) -> NcString {
    let end = element.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    NcString::from(&element[..end])
}

fn from_points(element: &[u8], big_endian: bool) -> Result<NcString> {
    let point = |bytes: &[u8; 4]| if big_endian { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) };
    let points = element.as_chunks::<4>().0;
    let end = points.iter().rposition(|bytes| point(bytes) != 0).map_or(0, |last| last + 1);
    let mut text = String::with_capacity(end);
    for bytes in &points[..end] {
        let value = point(bytes);
        let character = char::from_u32(value)
            .ok_or_else(|| ErrorKind::Char.context(format!("{value:#x} is no Unicode character")))?;
        text.push(character);
    }
    Ok(NcString::from(text))
}

//! [`FixedText`]: text of a fixed size, padded with zeros.

use nczarr_model::{ErrorKind, NcString, Result, TimeUnit};

use super::{TextFit, too_long};

/// The stored form of text of a fixed size.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FixedText {
    /// In this number of bytes.
    Bytes(usize),
    /// In 4-byte code points.
    Points { chars: usize, big_endian: bool },
    /// As a count of a unit of time.
    Time { unit: TimeUnit, big_endian: bool },
}

impl FixedText {
    /// Returns the size of an element in bytes.
    pub(super) fn size(&self) -> usize {
        match *self {
            Self::Bytes(width) => width,
            Self::Points { chars, .. } => chars * 4,
            Self::Time { .. } => 8,
        }
    }

    /// Checks whether a text fits: as a whole, or cut at a character if `truncate`.
    pub(super) fn fit(&self, value: &NcString, truncate: bool) -> Result<TextFit> {
        match *self {
            Self::Bytes(width) => {
                let bytes = value.as_bytes();
                if bytes.len() <= width {
                    return whole(bytes.last() == Some(&0));
                }
                Ok(if truncate {
                    TextFit::Cut(cut_bytes(bytes, width))
                } else {
                    TextFit::TooLong(bytes.len(), width, "bytes")
                })
            }
            Self::Points { chars, .. } => {
                let text = value.to_str()?;
                let found = text.chars().count();
                if found <= chars {
                    return whole(text.ends_with('\0'));
                }
                let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
                Ok(if truncate { TextFit::Cut(end) } else { TextFit::TooLong(found, chars, "characters") })
            }
            Self::Time { unit, .. } => unit.parse(value.to_str()?).map(|_| TextFit::Whole),
        }
    }

    /// Checks the elements of a chunk, so that invalid text is reported when the chunk is decoded.
    pub(super) fn check(&self, bytes: &[u8]) -> Result<()> {
        let Self::Points { chars, big_endian } = *self else { return Ok(()) };
        let wrong = |bytes: &[u8; 4]| char::from_u32(point(bytes, big_endian)).is_none();
        match bytes.as_chunks::<4>().0.iter().position(wrong) {
            None => Ok(()),
            Some(at) => {
                let value = point(&bytes.as_chunks::<4>().0[at], big_endian);
                Err(no_character(value).at(format_args!("element {}", at / chars)))
            }
        }
    }

    /// Returns the text of an element.
    pub(super) fn load(&self, element: &[u8]) -> Result<NcString> {
        match *self {
            Self::Bytes(_) => {
                // An empty text and a missing one are stored alike; both read as empty.
                let end = element.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                Ok(NcString::from(&element[..end]))
            }
            Self::Points { big_endian, .. } => {
                let points = element.as_chunks::<4>().0;
                let end =
                    points.iter().rposition(|bytes| point(bytes, big_endian) != 0).map_or(0, |last| last + 1);
                let mut text = String::with_capacity(end);
                for bytes in &points[..end] {
                    let value = point(bytes, big_endian);
                    text.push(char::from_u32(value).ok_or_else(|| no_character(value))?);
                }
                Ok(NcString::from(text))
            }
            Self::Time { unit, big_endian } => {
                let bytes =
                    element.try_into().map_err(|_| ErrorKind::Internal.context("a count of 8 bytes"))?;
                let count = if big_endian { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) };
                Ok(NcString::from(unit.format(count)))
            }
        }
    }

    /// Stores a text in an element.
    ///
    /// # Errors
    /// If it does not fit ([`FixedText::fit`]); the element is unchanged then.
    pub(super) fn store(&self, text: &NcString, element: &mut [u8]) -> Result<()> {
        if let TextFit::TooLong(found, allowed, unit) = self.fit(text, false)? {
            return Err(too_long(found, allowed, unit));
        }
        match *self {
            Self::Bytes(_) => {
                let (place, rest) = element.split_at_mut(text.as_bytes().len());
                place.copy_from_slice(text.as_bytes());
                rest.fill(0);
            }
            Self::Points { big_endian, .. } => {
                let points = text.to_str()?.chars().map(u32::from).chain(std::iter::repeat(0));
                for (place, point) in element.as_chunks_mut::<4>().0.iter_mut().zip(points) {
                    *place = if big_endian { point.to_be_bytes() } else { point.to_le_bytes() };
                }
            }
            Self::Time { unit, big_endian } => {
                let count = unit.parse(text.to_str()?)?;
                element.copy_from_slice(&if big_endian { count.to_be_bytes() } else { count.to_le_bytes() });
            }
        }
        Ok(())
    }
}

fn point(bytes: &[u8; 4], big_endian: bool) -> u32 {
    if big_endian { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) }
}

fn no_character(value: u32) -> nczarr_model::Error {
    ErrorKind::Char.context(format!("{value:#x} is not a Unicode character"))
}

/// Accepts a text unless it ends with NUL, which is the padding and would be lost.
fn whole(ends_with_nul: bool) -> Result<TextFit> {
    if ends_with_nul {
        Err(ErrorKind::Char
            .context("text that ends with NUL cannot be stored in a fixed size, where NUL is padding"))
    } else {
        Ok(TextFit::Whole)
    }
}

/// Returns the end of the last whole character within `width` bytes; `width` for invalid UTF-8.
fn cut_bytes(bytes: &[u8], width: usize) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.floor_char_boundary(width),
        Err(_) => width,
    }
}

//! [`Cell`]: text of a fixed size, as it is stored, in one place per element, padded with zeros.

use nczarr_model::{ErrorKind, NcString, Result, TimeUnit};

use super::{Fit, too_long};

/// How text of a fixed size is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cell {
    /// In so many bytes.
    Bytes(usize),
    /// In so many code points of 4 bytes.
    Points { chars: usize, big_endian: bool },
    /// As a count of a unit of time.
    Time { unit: TimeUnit, big_endian: bool },
}

impl Cell {
    /// Bytes of an element.
    pub(super) fn size(&self) -> usize {
        match *self {
            Self::Bytes(width) => width,
            Self::Points { chars, .. } => chars * 4,
            Self::Time { .. } => 8,
        }
    }

    /// Whether a text fits: all of it, or cut at a character if `truncate` allows that.
    pub(super) fn fit(&self, value: &NcString, truncate: bool) -> Result<Fit> {
        match *self {
            Self::Bytes(width) => {
                let bytes = value.as_bytes();
                if bytes.len() <= width {
                    return whole(bytes.last() == Some(&0));
                }
                Ok(if truncate { Fit::Cut(cut_bytes(bytes, width)) } else { Fit::TooLong(bytes.len(), width, "bytes") })
            }
            Self::Points { chars, .. } => {
                let text = value.to_str()?;
                let found = text.chars().count();
                if found <= chars {
                    return whole(text.ends_with('\0'));
                }
                let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
                Ok(if truncate { Fit::Cut(end) } else { Fit::TooLong(found, chars, "characters") })
            }
            Self::Time { unit, .. } => unit.parse(value.to_str()?).map(|_| Fit::Whole),
        }
    }

    /// Checks the elements of a chunk: what is no text is told when the chunk is decoded, not when it is used.
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

    /// The text of an element.
    pub(super) fn load(&self, element: &[u8]) -> Result<NcString> {
        match *self {
            Self::Bytes(_) => {
                // Empty, or no text at all: nothing tells, and who reads it can do without a null pointer.
                let end = element.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                Ok(NcString::from(&element[..end]))
            }
            Self::Points { big_endian, .. } => {
                let points = element.as_chunks::<4>().0;
                let end = points.iter().rposition(|bytes| point(bytes, big_endian) != 0).map_or(0, |last| last + 1);
                let mut text = String::with_capacity(end);
                for bytes in &points[..end] {
                    let value = point(bytes, big_endian);
                    text.push(char::from_u32(value).ok_or_else(|| no_character(value))?);
                }
                Ok(NcString::from(text))
            }
            Self::Time { unit, big_endian } => {
                let bytes = element.try_into().map_err(|_| ErrorKind::Internal.context("a count of 8 bytes"))?;
                let count = if big_endian { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) };
                Ok(NcString::from(unit.format(count)))
            }
        }
    }

    /// Makes a text an element.
    ///
    /// # Errors
    /// If it does not fit ([`Cell::fit`]); the element is not changed then.
    pub(super) fn store(&self, text: &NcString, element: &mut [u8]) -> Result<()> {
        if let Fit::TooLong(found, allowed, unit) = self.fit(text, false)? {
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
    ErrorKind::Char.context(format!("{value:#x} is no Unicode character"))
}

/// A text that fits, unless it ends with NUL, which is what fills up: it would come back without.
fn whole(ends_with_nul: bool) -> Result<Fit> {
    match ends_with_nul {
        true => Err(ErrorKind::Char
            .context("text that ends with NUL cannot be told from shorter text where it is of a fixed size")),
        false => Ok(Fit::Whole),
    }
}

/// The end of the last whole character within `width` bytes; of bytes that are no text, `width`.
fn cut_bytes(bytes: &[u8], width: usize) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.floor_char_boundary(width),
        Err(_) => width,
    }
}

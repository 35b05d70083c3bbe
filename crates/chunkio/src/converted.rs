//! [`ConvertedElements`]: elements of a data type whose items a plugin converts ([`ExtensionType`]).
//!
//! Like [`PackedElements`](crate::elements) it is the first stage of a filter plan. It also checks the sizes
//! that the plugin produces.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use nczarr_codec::{ExtensionType, Filter, FilterInfo, Json, OutBuf, ZarrFormat};
use nczarr_model::{Error, ErrorKind, Result};

use crate::elements::count;

/// The number of stored bytes that are reversed at a time.
const REVERSED: usize = 4 << 10;

static INFO: FilterInfo = FilterInfo::new("data type", "");

/// A stage between the stored items of a data type and the elements of its netCDF type.
#[derive(Debug, Clone)]
pub(crate) struct ConvertedElements {
    data_type: Arc<dyn ExtensionType>,
    /// The size of an element as stored, and in memory.
    stored: usize,
    held: usize,
    /// The size of the units that are stored with their bytes reversed; 1: no bytes are reversed.
    reversed: usize,
}

impl ConvertedElements {
    /// # Errors
    /// `NC_EBADTYPE` if the data type states impossible sizes.
    pub(crate) fn new(data_type: Arc<dyn ExtensionType>, big_endian: bool) -> Result<Self> {
        let (stored, word) = (data_type.item().size, data_type.word_size());
        let held = data_type.shown().size().filter(|_| stored > 0 && word > 0 && stored.is_multiple_of(word));
        let held = held.ok_or_else(|| {
            ErrorKind::BadType.context(format!("{data_type:?}: impossible sizes of its elements"))
        })?;
        Ok(Self { data_type, stored, held, reversed: if big_endian { word } else { 1 } })
    }

    /// Returns the sizes of an element as stored and in memory.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        (self.stored, self.held)
    }

    /// Loads items of the other byte order, a few at a time, so that no copy of a chunk is needed.
    fn load_reversed(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let mut scratch = Vec::with_capacity(src.len().min(REVERSED.max(self.stored)));
        for items in src.chunks((REVERSED / self.stored).max(1) * self.stored) {
            scratch.clear();
            scratch.extend_from_slice(items);
            scratch.chunks_exact_mut(self.reversed).for_each(<[u8]>::reverse);
            let expected = items.len() / self.stored * self.held;
            let found = dst.fill_limited(expected, |out| self.data_type.load(&scratch, out))?;
            if found != expected {
                return Err(wrong_size(expected, found));
            }
        }
        Ok(())
    }

    /// Returns elements as they will read after they were stored. An error of kind `NC_ERANGE` beside the
    /// result concerns single elements.
    ///
    /// # Errors
    /// An error of the data type.
    pub(crate) fn as_stored(&self, elements: &[u8]) -> Result<(Vec<u8>, Result<()>)> {
        let count = count(elements, self.held, "these")?;
        let size = count.checked_mul(self.stored).ok_or(ErrorKind::NoMem)?;
        let (mut items, mut again) = (vec![0; size], vec![0; elements.len()]);
        let mut out = OutBuf::from_slice(&mut items);
        let range = match self.data_type.save(elements, &mut out) {
            Err(error) if error.kind() == ErrorKind::Range && out.filled().len() == size => Err(error),
            outcome => {
                outcome?;
                check(&out, size)?;
                Ok(())
            }
        };
        let mut back = OutBuf::from_slice(&mut again);
        self.data_type.load(&items, &mut back)?;
        check(&back, elements.len())?;
        Ok((again, range))
    }

    /// As [`ConvertedElements::as_stored`] of doubles, for elements that are singles.
    ///
    /// A double lies between two singles. The nearer one may round to the farther stored value, so both are
    /// tried.
    pub(crate) fn doubles_as_stored(&self, doubles: &[u8]) -> Result<(Vec<u8>, Result<()>)> {
        let values = || doubles.as_chunks::<8>().0.iter().map(|bytes| f64::from_ne_bytes(*bytes));
        let other = |value: f64| {
            let near = value as f32;
            match f64::from(near).partial_cmp(&value) {
                Some(Ordering::Less) => near.next_up(),
                Some(Ordering::Greater) => near.next_down(),
                _ => near,
            }
        };
        let near: Vec<u8> = values().flat_map(|value| (value as f32).to_ne_bytes()).collect();
        let far: Vec<u8> = values().flat_map(|value| other(value).to_ne_bytes()).collect();
        let (mut stored, mut range) = self.as_stored(&near)?;
        let (others, _) = self.as_stored(&far)?;
        for ((value, one), other) in
            values().zip(stored.as_chunks_mut::<4>().0).zip(others.as_chunks::<4>().0)
        {
            let distance = |bytes: [u8; 4]| (f64::from(f32::from_ne_bytes(bytes)) - value).abs();
            if distance(*other) < distance(*one) {
                *one = *other;
            }
        }
        if values().any(|value| value.is_finite() && (value as f32).is_infinite()) {
            range = range.and(Err(ErrorKind::Range.into()));
        }
        Ok((stored, range))
    }
}

/// Converts one stored item, little-endian, to its element.
///
/// # Errors
/// An error of the data type, or of its sizes.
pub fn load_item(data_type: &Arc<dyn ExtensionType>, item: &[u8]) -> Result<Vec<u8>> {
    let stage = ConvertedElements::new(Arc::clone(data_type), false)?;
    if item.len() != stage.stored {
        return Err(wrong_size(stage.stored, item.len()));
    }
    let mut element = vec![0; stage.held];
    stage.decode(item, &mut OutBuf::from_slice(&mut element))?;
    Ok(element)
}

/// Converts one element to its stored item, little-endian.
///
/// # Errors
/// As [`load_item`]; `NC_ERANGE` if no item has this value.
pub fn save_item(data_type: &Arc<dyn ExtensionType>, element: &[u8]) -> Result<Vec<u8>> {
    let stage = ConvertedElements::new(Arc::clone(data_type), false)?;
    if element.len() != stage.held {
        return Err(wrong_size(stage.held, element.len()));
    }
    let mut item = vec![0; stage.stored];
    stage.encode(element, &mut OutBuf::from_slice(&mut item))?;
    Ok(item)
}

fn check(out: &OutBuf<'_>, expected: usize) -> Result<()> {
    match out.filled().len() {
        found if found == expected => Ok(()),
        found => Err(wrong_size(expected, found)),
    }
}

fn wrong_size(expected: usize, found: usize) -> Error {
    ErrorKind::Filter.context(format!("wrong size (expected {expected} bytes, found {found})"))
}

impl Filter for ConvertedElements {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&[])
    }

    fn to_json(&self, _: ZarrFormat) -> Json {
        Json::Null
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        (decoded / self.held).checked_mul(self.stored)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let count = count(src, self.held, "these")?;
        self.data_type.save(src, dst)?;
        check(dst, count.saturating_mul(self.stored))?;
        if self.reversed > 1 {
            dst.filled_mut().chunks_exact_mut(self.reversed).for_each(<[u8]>::reverse);
        }
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let expected = count(src, self.stored, "stored")?.saturating_mul(self.held);
        if self.reversed > 1 {
            self.load_reversed(src, dst)?;
        } else {
            self.data_type.load(src, dst)?;
        }
        check(dst, expected)
    }
}

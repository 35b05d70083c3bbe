//! [`PackedElements`]: converts elements whose stored form differs from memory in more than one byte order:
//! records with fields of both orders, and half floats.
//!
//! It is the first stage of a filter plan and converts all elements of a chunk at once. The pieces of an
//! element ([`ElementPiece`]) are known when the array is created. It does not know the meaning of fields.

use std::borrow::Cow;

use nczarr_codec::{Filter, FilterInfo, Json, ZarrFormat};
use nczarr_model::convert::Half;
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;

use crate::ElementPiece;
use crate::kernel::half_floats::{narrow, widen};

static INFO: FilterInfo = FilterInfo::new("elements", "");

/// A stage between stored elements and elements in memory.
#[derive(Debug, Clone)]
pub(crate) struct PackedElements {
    pieces: Vec<ElementPiece>,
    /// The size of an element as stored, and in memory.
    stored: usize,
    held: usize,
}

impl ElementPiece {
    /// Returns the sizes as stored and in memory; `None` on overflow.
    fn sizes(&self) -> Option<(usize, usize)> {
        Some(match *self {
            Self::Bytes(len) => (len, len),
            Self::Numbers { size, count, .. } => (size.checked_mul(count)?, size.checked_mul(count)?),
            Self::Halves { count, .. } => (count.checked_mul(2)?, count.checked_mul(4)?),
        })
    }

    /// Whether memory and storage have the same form.
    fn is_same(&self) -> bool {
        match *self {
            Self::Bytes(_) => true,
            Self::Numbers { size, big_endian, .. } => size <= 1 || big_endian == cfg!(target_endian = "big"),
            Self::Halves { .. } => false,
        }
    }

    /// Returns this piece for `times` elements that consist of it alone.
    fn times(&self, times: usize) -> Self {
        match *self {
            Self::Bytes(len) => Self::Bytes(len * times),
            Self::Numbers { size, count, big_endian } => {
                Self::Numbers { size, count: count * times, big_endian }
            }
            Self::Halves { half, count, big_endian } => {
                Self::Halves { half, count: count * times, big_endian }
            }
        }
    }

    fn load(&self, stored: &[u8], held: &mut [u8]) {
        match *self {
            Self::Halves { half, big_endian, .. } => widen(half, big_endian, stored, held),
            Self::Numbers { size, .. } if !self.is_same() => swap(size, stored, held),
            Self::Bytes(_) | Self::Numbers { .. } => held.copy_from_slice(stored),
        }
    }

    fn save(&self, held: &[u8], stored: &mut [u8]) {
        match *self {
            Self::Halves { half, big_endian, .. } => narrow(half, big_endian, held, stored),
            Self::Numbers { size, .. } if !self.is_same() => swap(size, held, stored),
            Self::Bytes(_) | Self::Numbers { .. } => stored.copy_from_slice(held),
        }
    }
}

fn swap(size: usize, from: &[u8], to: &mut [u8]) {
    fn all<const N: usize>(from: &[u8], to: &mut [u8]) {
        for (from, to) in from.as_chunks::<N>().0.iter().zip(to.as_chunks_mut::<N>().0) {
            *to = *from;
            to.reverse();
        }
    }
    match size {
        2 => all::<2>(from, to),
        4 => all::<4>(from, to),
        8 => all::<8>(from, to),
        _ => {
            to.copy_from_slice(from);
            to.chunks_exact_mut(size.max(1)).for_each(<[u8]>::reverse);
        }
    }
}

impl PackedElements {
    /// Returns the stage for elements of these pieces, if one is needed, and their sizes as stored and in
    /// memory.
    ///
    /// # Errors
    /// `NC_EBADTYPE` if an element has no bytes, or too many.
    pub(crate) fn new(pieces: &[ElementPiece]) -> Result<(Option<Self>, usize, usize)> {
        let sizes = pieces.iter().try_fold((0_usize, 0_usize), |(stored, held), piece| {
            let (more_stored, more_held) = piece.sizes()?;
            Some((stored.checked_add(more_stored)?, held.checked_add(more_held)?))
        });
        let Some((stored, held)) = sizes.filter(|&(stored, held)| stored > 0 && held > 0) else {
            return Err(ErrorKind::BadType.context("elements of no size"));
        };
        let stage = (!pieces.iter().all(ElementPiece::is_same)).then(|| Self {
            pieces: pieces.to_vec(),
            stored,
            held,
        });
        Ok((stage, stored, held))
    }

    /// Returns the kind of half float, if elements are half floats.
    pub(crate) fn half(&self) -> Option<Half> {
        match self.pieces[..] {
            [ElementPiece::Halves { half, count: 1, .. }] => Some(half),
            _ => None,
        }
    }

    /// Runs `work` on every piece of `count` elements, with its ranges as stored and in memory.
    fn each(
        &self,
        count: usize,
        mut work: impl FnMut(&ElementPiece, std::ops::Range<usize>, std::ops::Range<usize>),
    ) {
        if let [piece] = &self.pieces[..] {
            // Elements of a single piece are one run.
            return work(&piece.times(count), 0..self.stored * count, 0..self.held * count);
        }
        let (mut stored, mut held) = (0, 0);
        for _ in 0..count {
            for piece in &self.pieces {
                let (more_stored, more_held) = piece.sizes().unwrap_or_default();
                work(piece, stored..stored + more_stored, held..held + more_held);
                (stored, held) = (stored + more_stored, held + more_held);
            }
        }
    }
}

/// Returns the number of elements of `size` bytes.
pub(crate) fn count(bytes: &[u8], size: usize, what: &str) -> Result<usize> {
    match bytes.len() {
        len if len.is_multiple_of(size) => Ok(len / size),
        len => Err(ErrorKind::Filter
            .context(format!("{len} bytes are not a whole number of {what} elements of {size} bytes"))),
    }
}

impl Filter for PackedElements {
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
        let out = dst.put_zeros(count.saturating_mul(self.stored))?;
        self.each(count, |piece, stored, held| piece.save(&src[held], &mut out[stored]));
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let count = count(src, self.stored, "stored")?;
        let out = dst.put_zeros(count.saturating_mul(self.held))?;
        self.each(count, |piece, stored, held| piece.load(&src[stored], &mut out[held]));
        Ok(())
    }
}

/// Converts a stored element to its form in memory, for example a fill value.
///
/// # Errors
/// `NC_EBADTYPE` for pieces without bytes, `NC_EINVAL` for a wrong size of the element.
pub fn unpack_element(pieces: &[ElementPiece], element: &[u8]) -> Result<Vec<u8>> {
    let (stage, stored, held) = PackedElements::new(pieces)?;
    one(element, stored, held, |out| match stage {
        Some(stage) => stage.decode(element, out),
        None => out.put(element),
    })
}

/// Converts an element in memory to its stored form.
///
/// # Errors
/// As [`unpack_element`].
pub fn pack_element(pieces: &[ElementPiece], element: &[u8]) -> Result<Vec<u8>> {
    let (stage, stored, held) = PackedElements::new(pieces)?;
    one(element, held, stored, |out| match stage {
        Some(stage) => stage.encode(element, out),
        None => out.put(element),
    })
}

fn one(
    element: &[u8],
    from: usize,
    to: usize,
    convert: impl FnOnce(&mut OutBuf<'_>) -> Result<()>,
) -> Result<Vec<u8>> {
    if element.len() != from {
        return Err(ErrorKind::Inval
            .context(format!("wrong size of an element (expected {from} bytes, found {})", element.len())));
    }
    let mut out = vec![0; to];
    convert(&mut OutBuf::from_slice(&mut out))?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(pieces: &[ElementPiece], stored: &[u8], held: &[u8]) {
        let (stage, stored_size, held_size) = PackedElements::new(pieces).unwrap();
        let stage = stage.unwrap();
        assert!(stored.len().is_multiple_of(stored_size) && held.len().is_multiple_of(held_size));
        let mut out = vec![1; held.len()];
        stage.decode(stored, &mut OutBuf::from_slice(&mut out)).unwrap();
        assert_eq!(out, held);
        assert_eq!(stage.encode_bound(held.len()), Some(stored.len()));
        let mut out = vec![1; stored.len()];
        stage.encode(held, &mut OutBuf::from_slice(&mut out)).unwrap();
        assert_eq!(out, stored);
        assert!(stage.decode(&stored[1..], &mut OutBuf::from_slice(&mut out)).is_err());
    }

    #[test]
    fn each_piece_round_trips() {
        let other = !cfg!(target_endian = "big");
        let foreign = |size, count| ElementPiece::Numbers { size, count, big_endian: other };
        both(&[foreign(2, 1)], &[1, 2, 3, 4], &[2, 1, 4, 3]);
        both(
            &[ElementPiece::Bytes(1), foreign(4, 1), foreign(2, 2)],
            &[9, 1, 2, 3, 4, 5, 6, 7, 8, 8, 4, 3, 2, 1, 1, 2, 3, 4],
            &[9, 4, 3, 2, 1, 6, 5, 8, 7, 8, 1, 2, 3, 4, 2, 1, 4, 3],
        );
        both(&[foreign(8, 1)], &[1, 2, 3, 4, 5, 6, 7, 8], &[8, 7, 6, 5, 4, 3, 2, 1]);
        for (half, big_endian, one) in [
            (Half::Binary16, false, [0, 0x3c]),
            (Half::Binary16, true, [0x3c, 0]),
            (Half::BFloat16, false, [0x80, 0x3f]),
            (Half::BFloat16, true, [0x3f, 0x80]),
        ] {
            let (times, single) = (515, 1.0_f32.to_ne_bytes());
            both(
                &[ElementPiece::Halves { half, count: 1, big_endian }],
                &one.repeat(times),
                &single.repeat(times),
            );
        }
    }

    #[test]
    fn native_elements_need_no_conversion() {
        let native = ElementPiece::Numbers { size: 4, count: 3, big_endian: cfg!(target_endian = "big") };
        let (stage, stored, held) = PackedElements::new(&[native, ElementPiece::Bytes(3)]).unwrap();
        assert!(stage.is_none() && (stored, held) == (15, 15));
        for none in [&[][..], &[ElementPiece::Bytes(usize::MAX), ElementPiece::Bytes(1)]] {
            assert_eq!(PackedElements::new(none).map(drop).unwrap_err().kind(), ErrorKind::BadType);
        }
    }

    #[test]
    fn half_floats_round_trip() {
        for half in [Half::Binary16, Half::BFloat16] {
            let stage = PackedElements::new(&[ElementPiece::Halves { half, count: 1, big_endian: false }])
                .unwrap()
                .0
                .unwrap();
            let stored: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
            let (mut held, mut again) = (vec![0; stored.len() * 2], vec![0; stored.len()]);
            stage.decode(&stored, &mut OutBuf::from_slice(&mut held)).unwrap();
            stage.encode(&held, &mut OutBuf::from_slice(&mut again)).unwrap();
            let singles = held.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes));
            let pairs = stored.as_chunks::<2>().0.iter().zip(again.as_chunks::<2>().0);
            for ((before, after), single) in pairs.zip(singles) {
                let (before, after) = (u16::from_le_bytes(*before), u16::from_le_bytes(*after));
                // A signalling NaN becomes a quiet one.
                let quiet = if half == Half::Binary16 { 0x200 } else { 0x40 };
                let expected = if single.is_nan() { before | quiet } else { before };
                assert_eq!(after | if single.is_nan() { quiet } else { 0 }, expected, "{half:?} {before:#x}");
            }
        }
    }
}

//! Compound types: the list form of a `dtype` member, and the layout of one element in storage and in memory.
//!
//! Compounds are packed on both sides. Fields of 16-bit floats are singles in memory, and each number has the
//! byte order of its own type string. `foreign` converts them to netCDF types.
//!
//! Source: NumPy's array interface description, in the format notes.

use std::collections::HashSet;

use nczarr_chunkio::ElementPiece;
use nczarr_model::NcType;

use crate::metadata::json::Value;
use crate::metadata::types::dtype::{CompoundDType, CompoundField, DType, DTypeKind, MAX_WIDTH};

/// The most fields or parts of a compound; larger ones would be slow, and are unknown in practice.
const MAX_PIECES: usize = 1 << 12;

impl CompoundDType {
    /// Parses a `dtype` list; `None` if a field is not supported.
    pub(crate) fn parse(items: &[Value<'_>]) -> Option<Self> {
        if items.len() > MAX_PIECES {
            return None;
        }
        let (mut fields, mut names) = (Vec::with_capacity(items.len()), HashSet::new());
        for item in items {
            let (name, dtype, shape) = match item.as_array()? {
                [name, dtype] => (name, dtype, Vec::new()),
                [name, dtype, shape] => (name, dtype, shape_lens(shape)?),
                _ => return None,
            };
            let name = name.as_str()?;
            let mut dtype = DType::parse(dtype).ok()?;
            if dtype.compound.is_some() {
                // Only the text of the outermost compound is used; this avoids quadratic memory.
                dtype.text = String::new();
            }
            let known = if name.is_empty() {
                matches!(dtype.kind, DTypeKind::Opaque(_))
            } else {
                !matches!(dtype.kind, DTypeKind::Object | DTypeKind::Extension(_) | DTypeKind::Other)
            };
            if !known || (!name.is_empty() && !names.insert(name)) {
                return None;
            }
            fields.push(CompoundField { name: name.to_owned(), dtype, shape });
        }
        let record = Self { fields };
        let named = record.fields.iter().any(|field| !field.name.is_empty());
        (named && record.pieces().is_some() && record.size().is_some_and(|size| size <= MAX_WIDTH))
            .then_some(record)
    }

    /// Returns the consecutive parts of an element; `None` if they are too many.
    pub(crate) fn pieces(&self) -> Option<Vec<ElementPiece>> {
        let mut pieces = Vec::new();
        for field in &self.fields {
            let count =
                field.shape.iter().try_fold(1_usize, |count, &len| count.checked_mul(len as usize))?;
            repeat(&field.dtype.pieces()?, count, &mut pieces)?;
        }
        Some(pieces)
    }

    /// Returns the bytes of a stored element; `None` on overflow.
    pub(crate) fn size(&self) -> Option<usize> {
        self.fields.iter().try_fold(0_usize, |sum, field| {
            let one = field.dtype.item_size()?;
            sum.checked_add(field.shape.iter().try_fold(one, |size, &len| size.checked_mul(len as usize))?)
        })
    }
}

/// Parses the shape of a subarray: a list of positive numbers, or one number.
fn shape_lens(shape: &Value<'_>) -> Option<Vec<u32>> {
    let len =
        |value: &Value<'_>| value.as_u64().and_then(|len| u32::try_from(len).ok()).filter(|&len| len > 0);
    match shape {
        Value::Array(items) => items.iter().map(len).collect(),
        one => Some(vec![len(one)?]),
    }
}

/// Appends the parts of a field `count` times.
fn repeat(one: &[ElementPiece], count: usize, pieces: &mut Vec<ElementPiece>) -> Option<()> {
    match *one {
        [ElementPiece::Bytes(len)] => push(ElementPiece::Bytes(len.checked_mul(count)?), pieces),
        [ElementPiece::Numbers { size, count: each, big_endian }] => {
            push(ElementPiece::Numbers { size, count: each.checked_mul(count)?, big_endian }, pieces);
        }
        [ElementPiece::Halves { half, count: each, big_endian }] => {
            push(ElementPiece::Halves { half, count: each.checked_mul(count)?, big_endian }, pieces);
        }
        _ => {
            if one.len().checked_mul(count)? > MAX_PIECES {
                return None;
            }
            (0..count).for_each(|_| one.iter().for_each(|piece| push(*piece, pieces)));
        }
    }
    (pieces.len() <= MAX_PIECES).then_some(())
}

/// Appends a part, or extends the last one.
fn push(piece: ElementPiece, pieces: &mut Vec<ElementPiece>) {
    match (pieces.last_mut(), piece) {
        (Some(ElementPiece::Bytes(last)), ElementPiece::Bytes(more)) => match last.checked_add(more) {
            Some(sum) => *last = sum,
            None => pieces.push(piece),
        },
        _ => pieces.push(piece),
    }
}

impl DType {
    /// Returns the parts of an element; `None` if its size varies or it has too many.
    pub(crate) fn pieces(&self) -> Option<Vec<ElementPiece>> {
        let big_endian = self.big_endian;
        Some(match self.kind {
            DTypeKind::Bool | DTypeKind::Char => vec![ElementPiece::Bytes(1)],
            DTypeKind::Number(ty) => match ty.size()? {
                1 => vec![ElementPiece::Bytes(1)],
                size => vec![ElementPiece::Numbers { size, count: 1, big_endian }],
            },
            DTypeKind::Half(half) => vec![ElementPiece::Halves { half, count: 1, big_endian }],
            DTypeKind::Complex(part) => {
                vec![ElementPiece::Numbers { size: part.size()?, count: 2, big_endian }]
            }
            DTypeKind::Time { .. } => {
                vec![ElementPiece::Numbers { size: NcType::Int64.size()?, count: 1, big_endian }]
            }
            DTypeKind::Text(width) | DTypeKind::Opaque(width) => vec![ElementPiece::Bytes(width)],
            DTypeKind::Utf32(count) => vec![ElementPiece::Numbers { size: 4, count, big_endian }],
            DTypeKind::Compound => self.compound.as_ref()?.pieces()?,
            DTypeKind::Object | DTypeKind::Extension(_) | DTypeKind::Other => return None,
        })
    }
}

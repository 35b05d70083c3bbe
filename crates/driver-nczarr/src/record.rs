//! Records: the list form of a `dtype` member, and how one element lies in bytes, stored and in memory.
//!
//! A record is packed on both sides; fields of 16-bit floats are singles in memory, and each number has the byte order of its
//! own type string. What it is as a netCDF type, `types` says.
//!
//! Source: NumPy's array interface description, as the formats notes have it.

use std::collections::HashSet;

use nczarr_chunkio::Piece;
use nczarr_model::NcType;

use crate::dtype::{DType, Kind, MAX_WIDTH};
use crate::json::Value;

/// A record with more fields or parts than this is left unread: it would be slow, and nobody writes such.
const MAX_PIECES: usize = 1 << 12;

/// An element with fields.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub(crate) fields: Vec<Field>,
}

/// A field: its name, its type, and its shape. One without a name is bytes between others.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<u32>,
}

impl Record {
    /// The record of a `dtype` list; `None` if it holds what no field can be.
    pub(crate) fn parse(items: &[Value<'_>]) -> Option<Self> {
        if items.len() > MAX_PIECES {
            return None;
        }
        let (mut fields, mut names) = (Vec::with_capacity(items.len()), HashSet::new());
        for item in items {
            let (name, dtype, shape) = match item.as_array()? {
                [name, dtype] => (name, dtype, Vec::new()),
                [name, dtype, shape] => (name, dtype, lens(shape)?),
                _ => return None,
            };
            let name = name.as_str()?;
            let mut dtype = DType::parse(dtype).ok()?;
            if dtype.record.is_some() {
                // It is part of the text of the whole, which alone is looked at: not once more at each level.
                dtype.text = String::new();
            }
            let known = match name.is_empty() {
                true => matches!(dtype.kind, Kind::Opaque(_)),
                false => !matches!(dtype.kind, Kind::Object | Kind::Other),
            };
            if !known || (!name.is_empty() && !names.insert(name)) {
                return None;
            }
            fields.push(Field { name: name.to_owned(), dtype, shape });
        }
        let record = Self { fields };
        let named = record.fields.iter().any(|field| !field.name.is_empty());
        (named && record.pieces().is_some() && record.size().is_some_and(|size| size <= MAX_WIDTH)).then_some(record)
    }

    /// What an element consists of, one part after another; `None` if that is too much.
    pub(crate) fn pieces(&self) -> Option<Vec<Piece>> {
        let mut pieces = Vec::new();
        for field in &self.fields {
            let count = field.shape.iter().try_fold(1_usize, |count, &len| count.checked_mul(len as usize))?;
            repeat(&field.dtype.pieces()?, count, &mut pieces)?;
        }
        Some(pieces)
    }

    /// Bytes of a stored element; `None` if that is too much.
    pub(crate) fn size(&self) -> Option<usize> {
        self.fields.iter().try_fold(0_usize, |sum, field| {
            let one = field.dtype.item_size()?;
            sum.checked_add(field.shape.iter().try_fold(one, |size, &len| size.checked_mul(len as usize))?)
        })
    }
}

/// The lengths of a subarray: a list of positive numbers, or one.
fn lens(shape: &Value<'_>) -> Option<Vec<u32>> {
    let len = |value: &Value<'_>| value.as_u64().and_then(|len| u32::try_from(len).ok()).filter(|&len| len > 0);
    match shape {
        Value::Array(items) => items.iter().map(len).collect(),
        one => Some(vec![len(one)?]),
    }
}

/// Appends `count` times what a field consists of.
fn repeat(one: &[Piece], count: usize, pieces: &mut Vec<Piece>) -> Option<()> {
    match *one {
        [Piece::Bytes(len)] => push(Piece::Bytes(len.checked_mul(count)?), pieces),
        [Piece::Numbers { size, count: each, big_endian }] => {
            push(Piece::Numbers { size, count: each.checked_mul(count)?, big_endian }, pieces);
        }
        [Piece::Halves { half, count: each, big_endian }] => {
            push(Piece::Halves { half, count: each.checked_mul(count)?, big_endian }, pieces);
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

/// Appends a part, or makes the last one longer.
fn push(piece: Piece, pieces: &mut Vec<Piece>) {
    match (pieces.last_mut(), piece) {
        (Some(Piece::Bytes(last)), Piece::Bytes(more)) => match last.checked_add(more) {
            Some(sum) => *last = sum,
            None => pieces.push(piece),
        },
        _ => pieces.push(piece),
    }
}

impl DType {
    /// What an element consists of; `None` if it is nothing of a fixed size, or too much.
    pub(crate) fn pieces(&self) -> Option<Vec<Piece>> {
        let big_endian = self.big_endian;
        Some(match self.kind {
            Kind::Bool | Kind::Char => vec![Piece::Bytes(1)],
            Kind::Number(ty) => match ty.size()? {
                1 => vec![Piece::Bytes(1)],
                size => vec![Piece::Numbers { size, count: 1, big_endian }],
            },
            Kind::Half(half) => vec![Piece::Halves { half, count: 1, big_endian }],
            Kind::Complex(part) => vec![Piece::Numbers { size: part.size()?, count: 2, big_endian }],
            Kind::Time { .. } => vec![Piece::Numbers { size: NcType::Int64.size()?, count: 1, big_endian }],
            Kind::Text(width) | Kind::Opaque(width) => vec![Piece::Bytes(width)],
            Kind::Utf32(count) => vec![Piece::Numbers { size: 4, count, big_endian }],
            Kind::Record => self.record.as_ref()?.pieces()?,
            Kind::Object | Kind::Other => return None,
        })
    }
}

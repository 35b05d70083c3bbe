//! Selects the bytes that a ticket wants from a value in memory: [`Ranges::cut`] and [`ByteRange::cut`].

use std::borrow::Cow;

use nczarr_model::{ErrorKind, Result};

use super::Ranges;
use crate::{ByteRange, Key};

impl Ranges {
    /// Returns the wanted bytes of the object `value`, borrowed if they are adjacent.
    ///
    /// A single range is truncated at the end of the object. One of several ranges must exist as a whole.
    ///
    /// # Errors
    /// `NC_EIO` for more than `limit` bytes, and if one of several ranges is incomplete; `NC_EINVAL` for
    /// ranges beyond 64 bits. Each error names `key`.
    pub fn cut<'v>(&self, key: &Key, value: &'v [u8], limit: usize) -> Result<Cow<'v, [u8]>> {
        let mut bytes = Vec::new();
        let mut take = |piece: ByteRange| -> Result<()> {
            let part = piece.cut(value);
            if piece.len != Some(part.len() as u64) {
                return Err(
                    ErrorKind::Io.context(format!("key {key}: {piece:?} wanted of {} bytes", value.len()))
                );
            }
            bytes.extend_from_slice(within(key, part, limit.saturating_sub(bytes.len()))?);
            Ok(())
        };
        match self {
            Self::All => return within(key, value, limit).map(Cow::Borrowed),
            Self::One(range) => return within(key, range.cut(value), limit).map(Cow::Borrowed),
            Self::Suffix(len) => {
                let from = value.len().saturating_sub(usize::try_from(*len).unwrap_or(usize::MAX));
                return within(key, &value[from..], limit).map(Cow::Borrowed);
            }
            Self::Strided { first: ByteRange { len: Some(0), .. }, .. } => {}
            Self::Strided { first, step, count } => {
                for i in 0..u64::from(*count) {
                    let offset = i.checked_mul(*step).and_then(|skip| first.offset.checked_add(skip));
                    let beyond =
                        || ErrorKind::Inval.context(format!("key {key}: a range without an end in 64 bits"));
                    take(ByteRange { offset: offset.ok_or_else(beyond)?, len: first.len })?;
                }
            }
            Self::List(list) => {
                list.iter().filter(|piece| piece.len != Some(0)).copied().try_for_each(take)?
            }
        }
        Ok(Cow::Owned(bytes))
    }
}

impl ByteRange {
    /// Returns this range of the object `value`, truncated at its end.
    pub fn cut(self, value: &[u8]) -> &[u8] {
        let from = usize::try_from(self.offset).unwrap_or(usize::MAX).min(value.len());
        let rest = &value[from..];
        &rest[..usize::try_from(self.len.unwrap_or(u64::MAX)).unwrap_or(usize::MAX).min(rest.len())]
    }
}

fn within<'v>(key: &Key, bytes: &'v [u8], limit: usize) -> Result<&'v [u8]> {
    if bytes.len() > limit {
        return Err(ErrorKind::Io.context(format!("key {key} holds more than the {limit} bytes allowed")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_single_range_is_cut_at_the_end() {
        let value: Vec<u8> = (0..10).collect();
        let every =
            |offset, len, step, count| Ranges::Strided { first: ByteRange::new(offset, len), step, count };
        let list = |list: &[ByteRange]| Ranges::List(list.into());
        let table = [
            (Ranges::All, Some(vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9])),
            (Ranges::One(ByteRange::new(8, 5)), Some(vec![8, 9])),
            (Ranges::One(ByteRange { offset: u64::MAX, len: None }), Some(vec![])),
            (Ranges::Suffix(3), Some(vec![7, 8, 9])),
            (Ranges::Suffix(u64::MAX), Some((0..10).collect())),
            (every(1, 2, 4, 2), Some(vec![1, 2, 5, 6])),
            (every(1, 2, 4, 3), None),
            (every(1, 0, u64::MAX, u32::MAX), Some(vec![])),
            (every(0, 1, 0, u32::MAX), None),
            (list(&[ByteRange::new(9, 1), ByteRange::new(20, 0), ByteRange::new(0, 1)]), Some(vec![9, 0])),
            (list(&[ByteRange::new(9, 1), ByteRange::new(20, 1)]), None),
            (list(&[ByteRange::ALL]), None),
        ];
        for (ranges, expected) in table {
            let found = ranges.cut(&Key::root(), &value, 10);
            assert_eq!(found.ok().as_deref(), expected.as_deref(), "{ranges:?}");
            let limited = ranges.cut(&Key::root(), &value, 0);
            assert_eq!(limited.is_ok(), expected.is_some_and(|bytes| bytes.is_empty()), "{ranges:?}");
        }
    }
}

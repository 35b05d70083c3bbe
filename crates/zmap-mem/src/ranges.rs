//! Which bytes of a value a ticket wants.

use std::borrow::Cow;

use dispatch::{ByteRange, Key, Ranges};
use model::{ErrorKind, Result};

/// The wanted bytes of `value`, borrowed where they lie together.
///
/// What lies beyond its end is left out of one range and an error in one of several.
pub(crate) fn wanted<'v>(key: &Key, value: &'v [u8], ranges: &Ranges, limit: usize) -> Result<Cow<'v, [u8]>> {
    let mut bytes = Vec::new();
    let mut take = |piece: ByteRange| -> Result<()> {
        let part = cut(value, piece);
        if piece.len != Some(part.len() as u64) {
            return Err(ErrorKind::Io.context(format!("key {key}: {piece:?} wanted of {} bytes", value.len())));
        }
        bytes.extend_from_slice(within(key, part, limit.saturating_sub(bytes.len()))?);
        Ok(())
    };
    match ranges {
        Ranges::All => return within(key, value, limit).map(Cow::Borrowed),
        Ranges::One(range) => return within(key, cut(value, *range), limit).map(Cow::Borrowed),
        Ranges::Last(len) => {
            let from = value.len().saturating_sub(usize::try_from(*len).unwrap_or(usize::MAX));
            return within(key, &value[from..], limit).map(Cow::Borrowed);
        }
        Ranges::Every { first: ByteRange { len: Some(0), .. }, .. } => {}
        Ranges::Every { first, step, count } => {
            for i in 0..u64::from(*count) {
                let offset = i.checked_mul(*step).and_then(|skip| first.offset.checked_add(skip));
                let offset = offset
                    .ok_or_else(|| ErrorKind::Inval.context(format!("key {key}: a range without an end in 64 bits")))?;
                take(ByteRange { offset, len: first.len })?;
            }
        }
        Ranges::List(list) => list.iter().filter(|piece| piece.len != Some(0)).copied().try_for_each(take)?,
        _ => return Err(ErrorKind::Inval.context(format!("key {key}: {ranges:?} are not known here"))),
    }
    Ok(Cow::Owned(bytes))
}

/// A range of a value, as far as there is one.
pub(crate) fn cut(value: &[u8], range: ByteRange) -> &[u8] {
    let from = usize::try_from(range.offset).unwrap_or(usize::MAX).min(value.len());
    let rest = &value[from..];
    &rest[..usize::try_from(range.len.unwrap_or(u64::MAX)).unwrap_or(usize::MAX).min(rest.len())]
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
    fn what_is_beyond_the_end_is_left_out_of_one_range_only() {
        let value: Vec<u8> = (0..10).collect();
        let every = |offset, len, step, count| Ranges::Every { first: ByteRange::new(offset, len), step, count };
        let list = |list: &[ByteRange]| Ranges::List(list.into());
        let table = [
            (Ranges::All, Some(vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9])),
            (Ranges::One(ByteRange::new(8, 5)), Some(vec![8, 9])),
            (Ranges::One(ByteRange { offset: u64::MAX, len: None }), Some(vec![])),
            (Ranges::Last(3), Some(vec![7, 8, 9])),
            (Ranges::Last(u64::MAX), Some((0..10).collect())),
            (every(1, 2, 4, 2), Some(vec![1, 2, 5, 6])),
            (every(1, 2, 4, 3), None),
            (every(1, 0, u64::MAX, u32::MAX), Some(vec![])),
            (every(0, 1, 0, u32::MAX), None),
            (list(&[ByteRange::new(9, 1), ByteRange::new(20, 0), ByteRange::new(0, 1)]), Some(vec![9, 0])),
            (list(&[ByteRange::new(9, 1), ByteRange::new(20, 1)]), None),
            (list(&[ByteRange::ALL]), None),
        ];
        for (ranges, expected) in table {
            let found = wanted(&Key::root(), &value, &ranges, 10);
            assert_eq!(found.ok().as_deref(), expected.as_deref(), "{ranges:?}");
            let limited = wanted(&Key::root(), &value, &ranges, 0);
            assert_eq!(limited.is_ok(), expected.is_some_and(|bytes| bytes.is_empty()), "{ranges:?}");
        }
    }
}

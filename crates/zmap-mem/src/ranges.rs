//! Which bytes of a value a ticket wants.

use std::borrow::Cow;

use dispatch::{ByteRange, Key, Ranges};
use model::{ErrorKind, Result};

/// The wanted bytes of `value`, what lies beyond its end left out; borrowed where they lie together.
pub(crate) fn wanted<'v>(key: &Key, value: &'v [u8], ranges: &Ranges, limit: usize) -> Result<Cow<'v, [u8]>> {
    let mut bytes = Vec::new();
    let mut take = |piece| -> Result<()> {
        bytes.extend_from_slice(within(key, cut(value, piece), limit.saturating_sub(bytes.len()))?);
        Ok(())
    };
    match ranges {
        Ranges::All => return within(key, value, limit).map(Cow::Borrowed),
        Ranges::One(range) => return within(key, cut(value, *range), limit).map(Cow::Borrowed),
        Ranges::Last(len) => {
            let from = value.len().saturating_sub(usize::try_from(*len).unwrap_or(usize::MAX));
            return within(key, &value[from..], limit).map(Cow::Borrowed);
        }
        Ranges::Every { first, step, count } => {
            let mut offset = first.offset;
            for _ in 0..*count {
                // Beyond the end of the value there is nothing more to find.
                if offset >= value.len() as u64 || first.len == Some(0) {
                    break;
                }
                take(ByteRange { offset, len: first.len })?;
                offset = offset.saturating_add(*step);
            }
        }
        Ranges::List(list) => list.iter().copied().try_for_each(take)?,
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
    fn what_is_beyond_the_end_is_left_out() {
        let value: Vec<u8> = (0..10).collect();
        let table = [
            (Ranges::All, vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
            (Ranges::One(ByteRange::new(8, 5)), vec![8, 9]),
            (Ranges::One(ByteRange { offset: u64::MAX, len: None }), vec![]),
            (Ranges::Last(3), vec![7, 8, 9]),
            (Ranges::Last(u64::MAX), (0..10).collect()),
            (Ranges::Every { first: ByteRange::new(1, 2), step: 4, count: 4 }, vec![1, 2, 5, 6, 9]),
            (Ranges::Every { first: ByteRange::new(1, 1), step: u64::MAX, count: u32::MAX }, vec![1]),
            (Ranges::List([ByteRange::new(9, 1), ByteRange::new(0, 1), ByteRange::new(20, 1)].into()), vec![9, 0]),
        ];
        for (ranges, expected) in table {
            let found = wanted(&Key::root(), &value, &ranges, 10).unwrap();
            assert_eq!(found, expected, "{ranges:?}");
            assert_eq!(wanted(&Key::root(), &value, &ranges, 0).is_err(), !expected.is_empty(), "{ranges:?}");
        }
    }
}

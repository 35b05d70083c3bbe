//! [`ObjectPart`]: the part of an object that is cached; [`CachedAnswer`]: its bytes.

use std::fmt;
use std::sync::Arc;

use nczarr_storage::ByteRange;
use nczarr_storage::batch::Ranges;

/// An answer: the bytes, or `None` for an absent object.
pub(super) type CachedAnswer = Option<Arc<[u8]>>;

/// A contiguous part of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum ObjectPart {
    /// The whole object.
    All,
    /// From this byte on.
    From(u64),
    /// The last bytes.
    Last(u64),
    /// Offset and length.
    Range(u64, u64),
}

impl ObjectPart {
    pub(super) fn of(range: ByteRange) -> Self {
        match range {
            ByteRange { offset: 0, len: None } => Self::All,
            ByteRange { offset, len: None } => Self::From(offset),
            ByteRange { offset, len: Some(len) } => Self::Range(offset, len),
        }
    }

    /// Converts ranges; `None` if they are not one contiguous part.
    pub(super) fn of_ranges(ranges: &Ranges) -> Option<Self> {
        match ranges {
            Ranges::All => Some(Self::All),
            Ranges::One(range) => Some(Self::of(*range)),
            Ranges::Suffix(count) => Some(Self::Last(*count)),
            _ => None,
        }
    }

    /// Returns the part that the answer contains: the whole object, if it was read from start to end.
    pub(super) fn answered(self, bytes: usize) -> Self {
        match self {
            Self::Range(0, len) | Self::Last(len) if (bytes as u64) < len => Self::All,
            other => other,
        }
    }

    /// Cuts this part out of a whole object.
    pub(super) fn cut(self, whole: &[u8]) -> &[u8] {
        match self {
            Self::All => whole,
            Self::From(offset) => ByteRange { offset, len: None }.cut(whole),
            Self::Range(offset, len) => ByteRange::new(offset, len).cut(whole),
            Self::Last(count) => {
                let from = whole.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
                &whole[from..]
            }
        }
    }
}

impl fmt::Display for ObjectPart {
    /// The file name of the part.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::From(offset) => write!(f, "from-{offset}"),
            Self::Last(count) => write!(f, "last-{count}"),
            Self::Range(offset, len) => write!(f, "{offset}-{len}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_answer_from_the_start_is_the_whole() {
        for (part, bytes, expected) in [
            (ObjectPart::Range(0, 10), 9, ObjectPart::All),
            (ObjectPart::Range(0, 10), 10, ObjectPart::Range(0, 10)),
            (ObjectPart::Range(1, 10), 9, ObjectPart::Range(1, 10)),
            (ObjectPart::Last(10), 9, ObjectPart::All),
            (ObjectPart::Last(10), 10, ObjectPart::Last(10)),
            (ObjectPart::From(3), 0, ObjectPart::From(3)),
            (ObjectPart::All, 0, ObjectPart::All),
        ] {
            assert_eq!(part.answered(bytes), expected, "{part:?}, {bytes}");
        }
    }

    #[test]
    fn parts_are_cut_out_of_the_whole() {
        for (part, expected) in [
            (ObjectPart::All, "abcdef"),
            (ObjectPart::From(4), "ef"),
            (ObjectPart::From(9), ""),
            (ObjectPart::Last(2), "ef"),
            (ObjectPart::Last(20), "abcdef"),
            (ObjectPart::Range(1, 2), "bc"),
            (ObjectPart::Range(5, 2), "f"),
            (ObjectPart::Range(u64::MAX, u64::MAX), ""),
        ] {
            assert_eq!(part.cut(b"abcdef"), expected.as_bytes(), "{part:?}");
        }
    }
}

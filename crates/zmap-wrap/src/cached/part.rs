//! [`Part`]: what of an object is kept, and what an answer tells of the whole.

use std::fmt;

use nczarr_dispatch::{ByteRange, Ranges};

/// What of an object was asked for in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Part {
    /// All of it.
    All,
    /// From this byte on.
    From(u64),
    /// The last bytes.
    Last(u64),
    /// A place and a length.
    Range(u64, u64),
}

impl Part {
    pub(super) fn of(range: ByteRange) -> Self {
        match range {
            ByteRange { offset: 0, len: None } => Self::All,
            ByteRange { offset, len: None } => Self::From(offset),
            ByteRange { offset, len: Some(len) } => Self::Range(offset, len),
        }
    }

    /// `None` for what is not one piece.
    pub(super) fn of_ranges(ranges: &Ranges) -> Option<Self> {
        match ranges {
            Ranges::All => Some(Self::All),
            Ranges::One(range) => Some(Self::of(*range)),
            Ranges::Suffix(count) => Some(Self::Last(*count)),
            _ => None,
        }
    }

    /// What the answer to this question is: all of the object, if it came to its end from its start.
    pub(super) fn answered(self, bytes: usize) -> Self {
        match self {
            Self::Range(0, len) | Self::Last(len) if (bytes as u64) < len => Self::All,
            other => other,
        }
    }

    /// These bytes of an object that is there as a whole.
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

impl fmt::Display for Part {
    /// A name for a file.
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
            (Part::Range(0, 10), 9, Part::All),
            (Part::Range(0, 10), 10, Part::Range(0, 10)),
            (Part::Range(1, 10), 9, Part::Range(1, 10)),
            (Part::Last(10), 9, Part::All),
            (Part::Last(10), 10, Part::Last(10)),
            (Part::From(3), 0, Part::From(3)),
            (Part::All, 0, Part::All),
        ] {
            assert_eq!(part.answered(bytes), expected, "{part:?}, {bytes}");
        }
    }

    #[test]
    fn parts_are_cut_out_of_the_whole() {
        for (part, expected) in [
            (Part::All, "abcdef"),
            (Part::From(4), "ef"),
            (Part::From(9), ""),
            (Part::Last(2), "ef"),
            (Part::Last(20), "abcdef"),
            (Part::Range(1, 2), "bc"),
            (Part::Range(5, 2), "f"),
            (Part::Range(u64::MAX, u64::MAX), ""),
        ] {
            assert_eq!(part.cut(b"abcdef"), expected.as_bytes(), "{part:?}");
        }
    }
}

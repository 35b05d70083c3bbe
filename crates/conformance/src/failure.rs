//! [`BrokenGuarantee`]: a guarantee that does not hold, and the helpers that suites state expectations with.

use std::fmt;

use nczarr_model::{ErrorKind, Result};

/// A guarantee that does not hold.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokenGuarantee {
    /// The guarantee.
    pub guarantee: String,
    /// The expected value.
    pub expected: String,
    /// The actual value.
    pub found: String,
}

impl fmt::Display for BrokenGuarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, found {}", self.guarantee, self.expected, self.found)
    }
}

impl fmt::Debug for BrokenGuarantee {
    /// Readable in `unwrap` messages of tests.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BrokenGuarantee {}

/// The result of a suite.
pub type Outcome<T = ()> = std::result::Result<T, BrokenGuarantee>;

/// Makes a failure, with long values shortened.
pub(crate) fn broken(
    guarantee: impl fmt::Display,
    expected: impl fmt::Debug,
    found: impl fmt::Debug,
) -> BrokenGuarantee {
    let short = |value: String| match value.char_indices().nth(400) {
        Some((end, _)) => format!("{}… ({} bytes)", &value[..end], value.len()),
        None => value,
    };
    BrokenGuarantee {
        guarantee: guarantee.to_string(),
        expected: short(format!("{expected:?}")),
        found: short(format!("{found:?}")),
    }
}

/// Checks that two values are equal.
pub(crate) fn same<T: fmt::Debug + PartialEq>(
    guarantee: impl fmt::Display,
    expected: T,
    found: T,
) -> Outcome {
    if expected == found { Ok(()) } else { Err(broken(guarantee, expected, found)) }
}

/// Checks that two runs of bytes are equal; the failure names the first difference.
pub(crate) fn same_bytes(guarantee: impl fmt::Display, expected: &[u8], found: &[u8]) -> Outcome {
    if expected == found {
        return Ok(());
    }
    let at = expected.iter().zip(found).position(|(one, other)| one != other);
    let at = at.unwrap_or(expected.len().min(found.len()));
    let tell = |bytes: &[u8]| {
        let near: Vec<_> = bytes.iter().skip(at).take(16).collect();
        format!("{} bytes, {near:?} from byte {at} on", bytes.len())
    };
    Err(BrokenGuarantee { guarantee: guarantee.to_string(), expected: tell(expected), found: tell(found) })
}

/// Checks that a condition holds.
pub(crate) fn holds(guarantee: impl fmt::Display, holds: bool) -> Outcome {
    if holds { Ok(()) } else { Err(broken(guarantee, true, false)) }
}

/// Checks that a call succeeds.
pub(crate) fn ok<T>(guarantee: impl fmt::Display, result: Result<T>) -> Outcome<T> {
    result.map_err(|error| BrokenGuarantee {
        guarantee: guarantee.to_string(),
        expected: "success".to_owned(),
        found: format!("{error:#}"),
    })
}

/// Checks that a call fails with one of some kinds.
pub(crate) fn fails<T>(guarantee: impl fmt::Display, kinds: &[ErrorKind], result: Result<T>) -> Outcome {
    match result {
        Err(error) if kinds.is_empty() || kinds.contains(&error.kind()) => Ok(()),
        found => Err(BrokenGuarantee {
            guarantee: guarantee.to_string(),
            expected: match kinds {
                [] => "an error".to_owned(),
                kinds => kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" or "),
            },
            found: match found {
                Ok(_) => "success".to_owned(),
                Err(error) => format!("{error:#}"),
            },
        }),
    }
}

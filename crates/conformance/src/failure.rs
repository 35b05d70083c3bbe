//! [`Failure`]: a guarantee that does not hold, and the helpers the suites state expectations with.

use std::fmt;

use nczarr_model::{ErrorKind, Result};

/// A guarantee that does not hold.
#[derive(Clone, PartialEq, Eq)]
pub struct Failure {
    /// What is guaranteed.
    pub guarantee: String,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, found {}", self.guarantee, self.expected, self.found)
    }
}

impl fmt::Debug for Failure {
    /// For people too: tests unwrap it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Failure {}

/// What a suite answers.
pub type Outcome<T = ()> = std::result::Result<T, Failure>;

/// A failure, shortened where it would not be read anyway.
pub(crate) fn broken(guarantee: impl fmt::Display, expected: impl fmt::Debug, found: impl fmt::Debug) -> Failure {
    let short = |value: String| match value.char_indices().nth(400) {
        Some((end, _)) => format!("{}… ({} bytes)", &value[..end], value.len()),
        None => value,
    };
    Failure {
        guarantee: guarantee.to_string(),
        expected: short(format!("{expected:?}")),
        found: short(format!("{found:?}")),
    }
}

/// Two values that must be equal.
pub(crate) fn same<T: fmt::Debug + PartialEq>(guarantee: impl fmt::Display, expected: T, found: T) -> Outcome {
    if expected == found { Ok(()) } else { Err(broken(guarantee, expected, found)) }
}

/// Two runs of bytes that must be equal; says where they part.
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
    Err(Failure { guarantee: guarantee.to_string(), expected: tell(expected), found: tell(found) })
}

/// A thing that must hold.
pub(crate) fn holds(guarantee: impl fmt::Display, holds: bool) -> Outcome {
    if holds { Ok(()) } else { Err(broken(guarantee, true, false)) }
}

/// A call that must succeed.
pub(crate) fn ok<T>(guarantee: impl fmt::Display, result: Result<T>) -> Outcome<T> {
    result.map_err(|error| Failure {
        guarantee: guarantee.to_string(),
        expected: "success".to_owned(),
        found: format!("{error:#}"),
    })
}

/// A call that must fail in one of some ways.
pub(crate) fn fails<T>(guarantee: impl fmt::Display, kinds: &[ErrorKind], result: Result<T>) -> Outcome {
    match result {
        Err(error) if kinds.is_empty() || kinds.contains(&error.kind()) => Ok(()),
        found => Err(Failure {
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

//! [`Fault`]: a defect that does not stop the opening of a dataset.

use std::fmt;

/// A defect of an open dataset.
///
/// `ncz info` prints it, `ncz validate` counts it, and `ncz copy` reports the loss.
///
/// ```
/// use nczarr_dispatch::{Fault, FaultKind};
///
/// let fault = Fault::left_out("/g/far", "its link leads to another file");
/// assert_eq!(fault.kind, FaultKind::LeftOut);
/// assert_eq!(fault.to_string(), "/g/far is left out: its link leads to another file");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The kind of defect.
    pub kind: FaultKind,
    /// The path or the key of the object, with every character that cannot be printed escaped.
    pub path: String,
    /// The reason, with the expected and found values if there are any.
    pub text: String,
}

/// The kinds of [`Fault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// The storage holds an object that the model does not show.
    LeftOut,
    /// The model shows an object, and a part of the object is unreadable.
    Damaged,
    /// Two parts of the dataset contradict each other; the model shows both.
    Inconsistent,
    /// This library reads the object; other programs may fail to read it.
    Unusual,
}

impl Fault {
    /// The storage holds an object at `path` that the model does not show.
    pub fn left_out(path: impl fmt::Display, text: impl fmt::Display) -> Self {
        Self::new(FaultKind::LeftOut, path, text)
    }

    /// A part of the object at `path` cannot be read.
    pub fn damaged(path: impl fmt::Display, text: impl fmt::Display) -> Self {
        Self::new(FaultKind::Damaged, path, text)
    }

    /// The object at `path` contradicts another part of the dataset.
    pub fn inconsistent(path: impl fmt::Display, text: impl fmt::Display) -> Self {
        Self::new(FaultKind::Inconsistent, path, text)
    }

    /// Other programs may fail to read the object at `path`.
    pub fn unusual(path: impl fmt::Display, text: impl fmt::Display) -> Self {
        Self::new(FaultKind::Unusual, path, text)
    }

    fn new(kind: FaultKind, path: impl fmt::Display, text: impl fmt::Display) -> Self {
        let printable = |text: String| {
            if text.contains(char::is_control) { text.chars().flat_map(printable).collect() } else { text }
        };
        Self { kind, path: printable(path.to_string()), text: printable(text.to_string()) }
    }

    /// Whether some of the stored content is missing from the model, so that a copy of the model lacks it
    /// too.
    pub fn is_loss(&self) -> bool {
        matches!(self.kind, FaultKind::LeftOut | FaultKind::Damaged)
    }
}

/// Escapes a control character.
fn printable(c: char) -> Vec<char> {
    if c.is_control() { c.escape_default().collect() } else { vec![c] }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, path, text } = self;
        match kind {
            FaultKind::LeftOut => write!(f, "{path} is left out: {text}"),
            FaultKind::Damaged => write!(f, "{path} is damaged: {text}"),
            FaultKind::Inconsistent => write!(f, "{path} is inconsistent: {text}"),
            FaultKind::Unusual => write!(f, "{path}: {text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_cannot_be_printed_are_escaped() {
        let fault = Fault::left_out("/sea\ttemp", "a name\nof two lines");
        assert_eq!(fault.to_string(), "/sea\\ttemp is left out: a name\\nof two lines");
        assert!(fault.is_loss() && !Fault::unusual("/", "odd").is_loss());
    }
}

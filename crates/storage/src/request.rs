//! The arguments and results of a map's reads, listings and writes.

use nczarr_model::Result;

use crate::zmap::unsupported;
use crate::{Key, Version};

/// A range of an object, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    /// The offset of the first byte.
    pub offset: u64,
    /// The maximum length; `None`: up to the end.
    pub len: Option<u64>,
}

impl ByteRange {
    /// The whole object.
    pub const ALL: Self = Self { offset: 0, len: None };

    /// The first `len` bytes.
    pub const fn first(len: u64) -> Self {
        Self { offset: 0, len: Some(len) }
    }

    /// `len` bytes from `offset` on.
    pub const fn new(offset: u64, len: u64) -> Self {
        Self { offset, len: Some(len) }
    }
}

/// The options of [`ZMap::read_with`](crate::ZMap::read_with).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The bytes wanted.
    pub range: ByteRange,
    /// Whether the object's version is wanted.
    pub versioned: bool,
}

impl ReadOptions {
    /// The whole object, without its version.
    pub const fn new() -> Self {
        Self { range: ByteRange::ALL, versioned: false }
    }

    nczarr_runtime::setters! {
        const
        range: ByteRange,
        versioned: bool,
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// A description of the object that a read found.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ObjectInfo {
    /// The version of the object at the time of the read, if it was wanted and the map has versions.
    pub version: Option<Version>,
}

impl ObjectInfo {
    /// The description of an object with this version.
    pub const fn new(version: Option<Version>) -> Self {
        Self { version }
    }
}

/// The names or keys that [`ZMap::list`](crate::ZMap::list) returns.
///
/// A map returns `None` for a mode that it does not implement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ListMode {
    /// The next segments below the prefix that lead to an object.
    Children,
    /// The next segments below the prefix that may lead to an object.
    ///
    /// They include all children, and perhaps more: names are not checked, which saves opening and listing
    /// directories. For callers that request objects below each name anyway.
    PossibleChildren,
    /// The next segments below the prefix that are not valid in a key, as printable text ([`Key::escaped`]).
    /// A directory ends with `/`.
    ///
    /// No method reaches such objects. Object storage has none.
    InvalidNames,
    /// The keys of all objects at or below the prefix.
    Keys,
    /// The keys of all objects below the prefix, if a single request suffices.
    ///
    /// For remote maps ([`MapCaps::remote`](crate::MapCaps::remote)), where each step waits. The key of the
    /// prefix itself is left out.
    KeysInOneRequest,
}

/// The expected state of the object that a write replaces.
#[derive(Debug, Clone, Default)]
pub enum Precondition {
    /// Any: the write replaces or creates the object.
    #[default]
    Any,
    /// No object.
    Absent,
    /// The object as it was when this version was read.
    Unchanged(Version),
}

impl Precondition {
    /// Checks that any state is accepted, for maps without conditional writes.
    ///
    /// # Errors
    /// `NC_EPERM` that names the key.
    pub fn require_any(&self, key: &Key) -> Result<()> {
        match self {
            Self::Any => Ok(()),
            Self::Absent | Self::Unchanged(_) => Err(unsupported("write conditionally", key)),
        }
    }

    /// The precondition that no other writer changed the object after a read: the same version, or absence.
    pub fn unchanged(read: Option<Version>) -> Self {
        read.map_or(Self::Absent, Self::Unchanged)
    }
}

/// The result of a write.
#[derive(Debug, Clone)]
pub enum WriteOutcome {
    /// The object is written; with its new version if the map supplies one.
    Done(Option<Version>),
    /// Nothing was written: the object is not in the expected state.
    Conflict,
}

//! [`Op`]: the methods of a map by name.

use std::fmt;

#[cfg(doc)]
use nczarr_storage::ZMapExt;
use nczarr_storage::{ListMode, Precondition, ReadOptions};

/// A method of [`ZMap`](nczarr_storage::ZMap) or [`ZMapExt`] that is a request to the storage: all except
/// `caps`, `image`, and `exists`, which is `len`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
#[expect(missing_docs, reason = "each is the method of its name")]
pub enum Op {
    Len,
    Read,
    ReadInto,
    ReadVersioned,
    ReadBatch,
    Search,
    Names,
    List,
    ListOnce,
    Write,
    WriteIf,
    Update,
    WriteBatch,
    Delete,
    Rename,
    Sync,
    Close,
}

impl Op {
    /// All methods, reads first.
    pub const ALL: [Self; 17] = [
        Self::Len,
        Self::Read,
        Self::ReadInto,
        Self::ReadVersioned,
        Self::ReadBatch,
        Self::Search,
        Self::Names,
        Self::List,
        Self::ListOnce,
        Self::Write,
        Self::WriteIf,
        Self::Update,
        Self::WriteBatch,
        Self::Delete,
        Self::Rename,
        Self::Sync,
        Self::Close,
    ];

    /// The methods that read objects or names and change nothing.
    pub const READS: &[Self] = Self::ALL.split_at(Self::Write as usize).0;
    /// The methods that change objects.
    pub const WRITES: &[Self] = Self::ALL.split_at(Self::Sync as usize).0.split_at(Self::Write as usize).1;

    /// The method of [`ZMapExt`] that reads with these options.
    pub const fn of_read(options: ReadOptions) -> Self {
        if options.versioned { Self::ReadVersioned } else { Self::Read }
    }

    /// The method of [`ZMapExt`] that lists in this mode.
    pub const fn of_list(mode: ListMode) -> Self {
        match mode {
            ListMode::Children => Self::Search,
            ListMode::Keys => Self::List,
            ListMode::KeysInOneRequest => Self::ListOnce,
            _ => Self::Names,
        }
    }

    /// The method of [`ZMapExt`] that writes with this precondition.
    pub const fn of_write(expect: &Precondition) -> Self {
        match expect {
            Precondition::Any => Self::Write,
            Precondition::Absent | Precondition::Unchanged(_) => Self::WriteIf,
        }
    }

    /// Returns the method's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Len => "len",
            Self::Read => "read",
            Self::ReadInto => "read_into",
            Self::ReadVersioned => "read_versioned",
            Self::ReadBatch => "read_batch",
            Self::Search => "search",
            Self::Names => "names",
            Self::List => "list",
            Self::ListOnce => "list_once",
            Self::Write => "write",
            Self::WriteIf => "write_if",
            Self::Update => "update",
            Self::WriteBatch => "write_batch",
            Self::Delete => "delete",
            Self::Rename => "rename",
            Self::Sync => "sync",
            Self::Close => "close",
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

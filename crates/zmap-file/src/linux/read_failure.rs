//! [`ReadFailure`]: why an object could not be read.

use rustix::io::Errno;

/// The reason why an object could not be read.
pub(super) enum ReadFailure {
    /// An error of the system.
    System(Errno),
    /// The key is a directory.
    Directory,
    /// The object exceeds the limit.
    TooLong(usize),
    /// The ranges are invalid.
    Ranges,
    /// The file ends at `end`, before the end of one of several ranges.
    Short { offset: u64, len: u64, end: u64 },
    /// Not enough memory for this many bytes.
    Memory(u64),
}

impl From<Errno> for ReadFailure {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::ISDIR => Self::Directory,
            errno => Self::System(errno),
        }
    }
}

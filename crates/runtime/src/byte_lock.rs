//! [`ByteLock`]: a lock on one byte of a file, against other processes. (Linux; `unsafe`.)
//!
//! The lock belongs to the open file description, so closing another descriptor of the file keeps it. Threads
//! that share the description do not exclude one another. Source: `fcntl(2)`, `F_OFD_SETLK`.

use std::os::fd::{AsRawFd as _, BorrowedFd};

use rustix::io::Errno;

/// The state of a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteLock {
    /// No other holds it alone.
    Shared,
    /// No other holds it.
    Exclusive,
    /// Not locked.
    Released,
}

impl ByteLock {
    /// Puts byte `byte` of `file` into this state. `wait`: until the others release it.
    ///
    /// # Errors
    /// Those of the system: [`Errno::AGAIN`] or [`Errno::ACCESS`] if another holds it and `wait` is false.
    pub fn set(self, file: BorrowedFd<'_>, byte: i64, wait: bool) -> Result<(), Errno> {
        let kind = match self {
            Self::Shared => libc::F_RDLCK,
            Self::Exclusive => libc::F_WRLCK,
            Self::Released => libc::F_UNLCK,
        };
        let lock = libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: byte as libc::off_t,
            l_len: 1,
            l_pid: 0,
        };
        let command = if wait { libc::F_OFD_SETLKW } else { libc::F_OFD_SETLK };
        rustix::io::retry_on_intr(|| {
            // SAFETY: the descriptor is open, and the call only reads the lock.
            match unsafe { libc::fcntl(file.as_raw_fd(), command, &raw const lock) } {
                -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
                _ => Ok(()),
            }
        })
    }
}

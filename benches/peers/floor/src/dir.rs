//! A directory that is opened once. Files in it are created, opened and looked up by name.

use std::ffi::CString;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// An open directory.
pub struct Dir(File);

impl Dir {
    pub fn open(path: &str) -> Self {
        Self(File::open(path).expect("a directory"))
    }

    fn openat(&self, name: &CString, flags: i32) -> File {
        // SAFETY: the name ends with NUL.
        let file = unsafe { libc::openat(self.0.as_raw_fd(), name.as_ptr(), flags | libc::O_CLOEXEC, 0o666) };
        assert!(file >= 0, "{name:?} opened");
        // SAFETY: it was just opened, and has no other owner.
        File::from(unsafe { OwnedFd::from_raw_fd(file) })
    }

    /// Opens a file for reading.
    pub fn file(&self, name: &CString) -> File {
        self.openat(name, libc::O_RDONLY)
    }

    /// Returns the inode of a name.
    pub fn inode(&self, name: &CString) -> u64 {
        let mut stat = std::mem::MaybeUninit::<libc::stat>::zeroed();
        // SAFETY: the name ends with NUL, and there is room for the answer.
        let done =
            unsafe { libc::fstatat(self.0.as_raw_fd(), name.as_ptr(), stat.as_mut_ptr(), libc::AT_SYMLINK_NOFOLLOW) };
        assert_eq!(done, 0, "{name:?} looked up");
        // SAFETY: it was zero before, and the system has filled it.
        unsafe { stat.assume_init() }.st_ino
    }

    /// Creates a file that is complete when its name appears.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let mut file = self.openat(&CString::from(c"."), libc::O_WRONLY | libc::O_TMPFILE);
        file.write_all(bytes).expect("written");
        let (name, fd) = (CString::new(name).expect("a name"), file.as_raw_fd());
        // SAFETY: both paths end with NUL.
        let linked = unsafe { libc::linkat(fd, c"".as_ptr(), self.0.as_raw_fd(), name.as_ptr(), libc::AT_EMPTY_PATH) };
        assert_eq!(linked, 0, "{name:?} linked");
    }
}

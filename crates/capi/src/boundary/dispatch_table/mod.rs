//! The dispatch table of a user-defined format in the memory of a C program (`NC_Dispatch`).
//!
//! A method calls one entry. Its arguments are slices and values, so a caller cannot pass a wrong length. The
//! entries of all tables run one at a time, because a table of C need not bear several threads.
//!
//! * `layout`: the members of the table.
//! * `library`: tables in shared libraries.
//! * `inquiries`, `definitions`, `groups`, `storage`, `types`, `values`: the calls, by their subject.
#![allow(unsafe_code)]

mod layout;
mod library;

use std::ffi::{CStr, c_int};
use std::ptr::{null, null_mut};

use nczarr::{ErrorKind, Result};

use self::layout::RawTable;
use super::pointer::OutPtr;
use crate::user_format::{Turn, outcome};

/// The version of the table, `NC_DISPATCH_VERSION`.
pub const VERSION: c_int = 5;

/// A table; may be null before [`TablePtr::check`]. A registered one stays valid until the process ends.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct TablePtr(*const RawTable);

// SAFETY: `nc_def_user_format` demands a table that stays valid and does not change. `Turn` orders the calls.
unsafe impl Send for TablePtr {}
// SAFETY: as above.
unsafe impl Sync for TablePtr {}

/// Calls an entry, in the turn of this thread. An absent entry is `NC_ENOTBUILT`.
macro_rules! call {
    ($table:ident.$entry:ident($($arg:expr),* $(,)?)) => {{
        let _turn = Turn::take();
        // SAFETY: a registered table is valid, and its entries keep the contract of their function in C.
        match unsafe { (*$table.0).$entry } {
            // SAFETY: the arguments are values, and pointers to memory that outlives the call.
            Some(entry) => outcome(stringify!($entry), unsafe { entry($($arg),*) }),
            None => Err(ErrorKind::NotBuilt.context(concat!("the table has no entry ", stringify!($entry)))),
        }
    }};
}

mod definitions;
mod groups;
mod inquiries;
mod storage;
mod types;
mod values;

pub use groups::is_lacking;
pub use inquiries::UserVar;
pub use types::UserClass;
pub use values::{TextPointers, UserSlab};

impl TablePtr {
    pub const NULL: Self = Self(null());

    /// Whether there is no table.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Checks a table that a program registers: `NC_EINVAL` for a null pointer or another version.
    pub fn check(self) -> Result<()> {
        if self.is_null() {
            return Err(ErrorKind::Inval.context("the dispatch table is null"));
        }
        // SAFETY: the program passes a table, whose first two members are the same in all versions.
        let found = unsafe { (*self.0).version };
        if found != VERSION {
            let what = format!("wrong version of the dispatch table (expected {VERSION}, found {found})");
            return Err(ErrorKind::Inval.context(what));
        }
        Ok(())
    }

    pub fn create(self, path: &CStr, cmode: c_int, initial: usize, ncid: c_int) -> Result<()> {
        call!(self.create(path.as_ptr(), cmode, initial, 0, null_mut(), null_mut(), self.0, ncid))
    }

    pub fn open(self, path: &CStr, mode: c_int, ncid: c_int) -> Result<()> {
        call!(self.open(path.as_ptr(), mode, 0, null_mut(), null_mut(), self.0, ncid))
    }

    pub fn redef(self, ncid: c_int) -> Result<()> {
        call!(self.redef(ncid))
    }

    pub fn enddef(self, ncid: c_int, [h_minfree, v_align, v_minfree, r_align]: [usize; 4]) -> Result<()> {
        call!(self._enddef(ncid, h_minfree, v_align, v_minfree, r_align))
    }

    pub fn sync(self, ncid: c_int) -> Result<()> {
        call!(self.sync(ncid))
    }

    pub fn abort(self, ncid: c_int) -> Result<()> {
        call!(self.abort(ncid))
    }

    pub fn close(self, ncid: c_int) -> Result<()> {
        call!(self.close(ncid, null_mut()))
    }
    pub fn inq_format(self, ncid: c_int, format: OutPtr<c_int>) -> Result<()> {
        call!(self.inq_format(ncid, format.address()))
    }

    pub fn inq_format_extended(self, ncid: c_int, format: OutPtr<c_int>, mode: OutPtr<c_int>) -> Result<()> {
        call!(self.inq_format_extended(ncid, format.address(), mode.address()))
    }
}

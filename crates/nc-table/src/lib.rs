//! The entries of netCDF's dispatch table by their C names, for any [`Dataset`](nczarr_dispatch::Dataset).
//!
//! * [`NcDispatch`]: all entries of the table. [`VarAccess`] checks the calls of one variable once.
//! * [`copy_att`], [`copy_var`]: copies between datasets.
//! * [`to_data_mode`]: the end of define mode that a write implies.
//!
//! A C library with netCDF's interface needs this crate. A plugin does not.
#![forbid(unsafe_code)]

mod access;
mod atts;
mod copy;
mod data;
mod define;
mod inquire;
mod layout;
mod nc_dispatch;
mod types;

pub use access::{SelectedSlab, VarAccess};
pub use copy::{AttOwner, copy_att, copy_var};
pub use data::{MappedMut, MappedRef};
pub use define::to_data_mode;
pub use inquire::{AttInquiry, DimInquiry, GroupInquiry, VarInquiry};
pub use nc_dispatch::NcDispatch;

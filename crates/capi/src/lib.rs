//! `libnetcdf.so`: netCDF's C interface on the engine of this project.
//!
//! The functions of `netcdf.h` call the layer [`nczarr::nc_table`], which has the entries of netCDF's
//! dispatch table with their codes. The facade is not used for calls: it leaves and enters define mode by
//! itself, and C programs rely on the codes of a strict define mode. Only the registry of the facade is used.
//!
//! * `boundary`: the way from C and back. Pointers, `malloc`, panics and exports, and all `unsafe` code.
//! * `table`, `open_file`: ids and open datasets. The lock of the table is held for a look-up only.
//! * `collective`: datasets that several processes define together.
//! * `error`: codes, `nc_strerror`, and the message of the last error (`ncz_last_error`).
//! * `file`, `dim`, `group`, `var`, `att`: one function of C each, without logic of a format.
//! * `types`, `type_space`, `memory_form`: user-defined types, and their elements in the layout of C.
//! * `transfer`: all functions that move data of variables.
//! * `auxiliary`: the helpers of `netcdf_aux.h`.
//! * `user_format`: formats of C programs, by their dispatch tables.
//! * `v2`: the interface of netCDF 2, on the functions above.
//!
//! A function that is not built is not exported.
#![deny(unsafe_code)]

#[macro_use]
mod boundary;
#[macro_use]
mod memory_type;

mod att;
mod auxiliary;
mod collective;
mod dim;
mod error;
mod extras;
mod file;
mod group;
mod memory_form;
mod open_file;
mod range;
mod rc;
mod table;
mod transfer;
mod type_space;
mod types;
mod user_format;
mod v2;
mod var;

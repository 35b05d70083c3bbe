//! Objects in S3, and in what speaks its protocol, as a key → bytes map.
//!
//! [`S3Maps`] is its factory; [`S3Map`] one dataset's objects below a prefix of a bucket; [`S3Source`] one object that is a
//! whole dataset (an archive, a classic file); [`Access`] what URL, rc files, profiles and environment say of place and credentials. Everything is synchronous outside: requests run on a small
//! runtime of the process's own, whose threads move bytes and never decode. Credentials never print.
//!
//! It knows no Zarr, chunks or JSON. Source of its rules: Amazon S3's REST reference, netCDF-C for URLs and rc files.
#![forbid(unsafe_code)]

mod access;
mod ask;
mod batch;
mod body;
mod chunks;
mod conditions;
mod deadline;
mod factory;
mod failure;
mod get;
mod head;
mod keyring;
mod lasting;
mod line;
mod list;
mod load;
mod low;
mod map;
mod pace;
mod parts;
mod payer;
mod place;
mod profiles;
mod providers;
mod proxies;
mod put;
mod remote;
mod route;
mod runtime;
mod secret;
mod source;
mod sources;
mod spare;
mod trust;
mod wire;

pub use access::{Access, Patience};
pub use factory::{INFO, S3Maps};
pub use map::S3Map;
pub use source::S3Source;

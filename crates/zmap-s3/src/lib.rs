//! A storage map for S3 and compatible servers.
//!
//! [`S3Maps`] is the factory. [`S3Map`] has the objects below a prefix of a bucket. [`S3Source`] is one
//! object that is a whole dataset (an archive or a classic file). [`Access`] collects location and
//! credentials from URL, rc files, profiles and environment. The interface is synchronous: requests run on a
//! small runtime, whose threads move bytes and never decode. Credentials never appear in output.
//!
//! This crate knows no Zarr, chunks or JSON. Sources: Amazon S3's REST reference; netCDF-C for URLs and rc
//! files.
#![forbid(unsafe_code)]

mod access;
mod batch;
mod body;
mod buffer_pool;
mod chunked;
mod conditions;
mod connect_throttle;
mod connection;
mod connection_pool;
mod credential_cache;
mod credential_sources;
mod deadline;
mod environment;
mod factory;
mod failure;
mod get;
mod in_flight;
mod list;
mod location;
mod map;
mod parts;
mod payer;
mod permanent;
mod profiles;
mod providers;
mod proxies;
mod put;
mod remote;
mod response_head;
mod route;
mod runtime;
mod secret;
mod signed_request;
mod socket_options;
mod source;
mod trust;

pub use access::{Access, RetryPolicy};
pub use factory::{INFO, S3Maps};
pub use map::S3Map;
pub use source::S3Source;

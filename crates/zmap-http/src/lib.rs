//! Files on a web server: as a storage map, [`HttpMap`], or single files read by ranges, [`HttpSource`].
//!
//! The map is read-only and cannot be listed. Plain Zarr needs consolidated metadata there; NCZarr has its
//! own lists. Only 404 and 410 mean absence. Requests are retried where that may help, until
//! [`Config::deadline`]. A response must be complete, and from the same state of the file as earlier ones.
//!
//! This crate does not interpret the bytes. Responses with content coding are refused. Read `response` for
//! valid responses, and `fetch` for retries.
//!
//! Source: RFC 9110 (HTTP semantics), RFC 3986 (URLs).
#![forbid(unsafe_code)]

mod client;
mod client_certificate;
mod config;
mod cookies;
mod deadline;
mod factory;
mod fetch;
mod map;
mod netrc;
mod permanent;
mod proxies;
mod resolver;
mod response;
mod server_credentials;
mod server_url;
mod settings;
mod source;

pub use config::Config;
pub use factory::{HttpMaps, INFO, MAPS};
pub use map::HttpMap;
pub use settings::Settings;
pub use source::HttpSource;

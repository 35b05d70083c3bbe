//! Files of a plain web server: as a key → bytes map, [`HttpMap`], and single ones read by ranges, [`HttpSource`].
//!
//! Everything is for reading, and nothing can be listed: a Zarr dataset is found by its consolidated metadata, NCZarr by
//! what its groups list. Only 404 and 410 mean that something is absent. Requests are repeated where that may help, never
//! beyond [`Config::deadline`]; an answer counts only if it is seen to be whole and from the state of the file that was
//! read before.
//!
//! What it does not know: what the bytes mean; proxies; compression on the way, which is refused. Read `judge` for what
//! counts as an answer, `fetch` for what is repeated.
//!
//! Source: RFC 9110 (HTTP semantics), RFC 3986 (URLs).
#![forbid(unsafe_code)]

mod client;
mod clock;
mod config;
mod factory;
mod fetch;
mod identity;
mod jar;
mod judge;
mod lasting;
mod map;
mod netrc;
mod place;
mod proxies;
mod settings;
mod source;
mod wallet;

pub use config::Config;
pub use factory::{HttpMaps, INFO, MAPS};
pub use map::HttpMap;
pub use settings::Settings;
pub use source::HttpSource;

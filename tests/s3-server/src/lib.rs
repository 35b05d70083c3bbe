//! An S3 server inside the test process: objects in memory, plain HTTP, faults on demand.
//!
//! [`Server::start`] listens on a port of its own and serves until it is dropped; [`Config`] says what it
//! has. It checks signatures (version 4), so that a wrong secret is refused, and knows what the maps use: GET
//! with ranges, HEAD, PUT and conditional PUT, DELETE, copies, listings in pages, uploads in parts. A bucket
//! that is [`Config::web`] is a plain web server: no signatures, no listings. Every request is in a log
//! ([`Server::log`], [`Server::counts`]), and [`Rule`]s make requests go wrong in all the ways of [`Fault`].
//!
//! What it is not: fast, or a model of anybody's consistency; each request is one step under one lock.
//!
//! Source: Amazon S3's REST reference; RFC 9110 and 9112.
#![forbid(unsafe_code)]

mod answer;
mod connection;
mod fault;
mod list;
mod log;
mod message;
mod mock;
mod server;
mod sign;
mod store;
#[cfg(test)]
mod tests;

pub use fault::{Fault, Rule};
pub use log::{Counts, Entry, Op};
pub use mock::{Asked, Mock, Proxy, Reply};
pub use server::{Config, Server};
pub use store::content;

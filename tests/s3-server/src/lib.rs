//! An S3 server inside the test process: objects in memory, plain HTTP, faults on demand.
//!
//! [`Server::start`] listens on its own port and serves until the server is dropped. [`Config`] configures
//! it. The server checks signatures (version 4), so it refuses a wrong secret. It supports the requests that
//! the maps use: GET with ranges, HEAD, PUT and conditional PUT, DELETE, copies, listings in pages, and
//! uploads in parts. A bucket with [`Config::web`] is a plain web server without signatures and listings.
//! [`Server::log`] and [`Server::counts`] record every request. A [`Rule`] makes requests fail with a
//! [`Fault`].
//!
//! The server is not fast and does not model the consistency of a real service. One lock guards each request
//! as one step.
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

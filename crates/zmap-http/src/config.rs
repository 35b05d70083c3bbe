//! [`Config`]: timeouts, retries and limits of requests.

use std::time::Duration;

/// Timeouts, retries and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Time for a read with retries and pauses. [`Config::slowest`] extends it.
    pub deadline: Duration,
    /// Time to connect.
    pub connect: Duration,
    /// After this time without a byte a response is abandoned and requested again.
    pub idle: Duration,
    /// Received bytes extend the deadline by a second for each this many. `None`, as when an rc file sets the
    /// deadline: nothing extends it.
    pub slowest: Option<u64>,
    /// Attempts for one request.
    pub tries: u32,
    /// Longest pause before the first retry. It doubles with each retry. A random part of it is used.
    pub pause: Duration,
    /// Most redirects of one request.
    pub redirects: u32,
    /// Most concurrent requests of one batch.
    pub requests: usize,
    /// Most bytes of a batch in flight or not used yet.
    pub bytes: u64,
    /// Parts of a file at most this many bytes apart are read together.
    pub gap: u64,
    /// Whether link-local addresses are allowed. Clouds have services there that provide credentials.
    pub link_local: bool,
}

impl Config {
    /// Defaults for most servers.
    pub const DEFAULT: Self = Self {
        deadline: Duration::from_secs(60),
        connect: Duration::from_secs(10),
        idle: Duration::from_secs(15),
        slowest: Some(64 << 10),
        tries: 6,
        pause: Duration::from_millis(100),
        redirects: 10,
        requests: 64,
        bytes: 256 << 20,
        gap: 64 << 10,
        link_local: false,
    };
}

impl Default for Config {
    fn default() -> Self {
        Self::DEFAULT
    }
}

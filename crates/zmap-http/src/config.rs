//! [`Config`]: how long to wait, how often to try, how much at a time.

use std::time::Duration;

/// How requests are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// A read has failed after so long, repetitions and pauses included; [`Config::slowest`] extends it.
    pub deadline: Duration,
    /// A connection must be there after so long.
    pub connect: Duration,
    /// After so long without a byte an answer is given up, and asked for again.
    pub idle: Duration,
    /// Bytes that came extend the deadline: by a second for each so many. `None`, as where rc files set the deadline:
    /// nothing extends it.
    pub slowest: Option<u64>,
    /// How often something is asked for in all.
    pub tries: u32,
    /// The longest pause before the first repetition; it doubles with each, and a random part of it is waited.
    pub pause: Duration,
    /// How often an answer may send elsewhere.
    pub redirects: u32,
    /// Requests under way at one time, of one batch.
    pub requests: usize,
    /// Bytes of a batch that are under way or not used up yet.
    pub bytes: u64,
    /// Parts of a file that are less than so many bytes apart are read together.
    pub gap: u64,
    /// Whether addresses that only machines beside this one have (link-local ones) may be asked. There, clouds keep
    /// services that hand out credentials.
    pub link_local: bool,
}

impl Config {
    /// What is right for most servers.
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

//! [`Settings`]: what rc files say of web servers.
//!
//! `HTTP.TIMEOUT`, `HTTP.CONNECTTIMEOUT` (seconds), `HTTP.USERAGENT`, `HTTP.CREDENTIALS.USERPASSWORD` or `….USER` and
//! `….PASSWORD`, `HTTP.SSL.CAINFO` (a file) and `HTTP.SSL.CAPATH` (a folder) of certificates to trust in place of the
//! system's. What would be unsafe to leave aside is an error: a proxy, certificates of one's own, and trusting anybody.
//!
//! Source: netCDF-C's file on the run-time configuration, for the names.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use dispatch::Rc;
use hyper::header::HeaderValue;
use model::{ErrorKind, Result};
use url_infer::Target;

use crate::Config;
use crate::place::basic;

/// Whose certificates are trusted; nothing: the system's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Trust {
    pub(crate) file: Option<PathBuf>,
    pub(crate) folder: Option<PathBuf>,
}

/// What rc files say of the place of a dataset.
#[derive(Clone, Default)]
pub struct Settings {
    timeout: Option<Duration>,
    connect: Option<Duration>,
    pub(crate) agent: Option<HeaderValue>,
    pub(crate) credentials: Option<HeaderValue>,
    pub(crate) trust: Trust,
}

/// What is not to be left aside, and what it would take.
const REFUSED: &[(&str, &str)] = &[
    ("HTTP.PROXY.SERVER", "requests go to the server itself; proxies are not spoken to"),
    ("HTTP.SSL.CERTIFICATE", "certificates of one's own are not sent"),
    ("HTTP.SSL.KEY", "certificates of one's own are not sent"),
];

/// What is only wanted, if it says yes: it is what is done anyway.
const CHECKED: &[&str] = &["HTTP.SSL.VALIDATE", "HTTP.SSL.VERIFYPEER", "HTTP.SSL.VERIFYHOST"];

impl Settings {
    /// What the rc files of the process say.
    ///
    /// # Errors
    /// `NC_ERCFILE` for a file that cannot be read, and for what cannot be done, naming the key.
    pub fn of(target: &Target) -> Result<Self> {
        Self::with_variables(target, &|name| std::env::var(name).ok())
    }

    /// As [`Settings::of`], in another environment.
    ///
    /// # Errors
    /// As [`Settings::of`].
    pub fn with_variables(target: &Target, variables: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let rc = Rc::load(variables)?;
        let at = format!("{}{}", target.host.as_deref().unwrap_or_default(), target.path);
        let said = |key: &str| rc.get(key, &at).filter(|value| !value.is_empty());
        // Values may be secrets: messages have the key.
        let bad = |key: &str, what: &str| ErrorKind::RcFile.context(format!("{target}: {key}: {what}"));
        for (key, what) in REFUSED {
            if said(key).is_some() {
                return Err(bad(key, what));
            }
        }
        for key in CHECKED {
            if said(key).is_some_and(|value| matches!(&*value.to_ascii_lowercase(), "0" | "false" | "no" | "off")) {
                return Err(bad(key, "who a server is, is always checked; HTTP.SSL.CAINFO names whom to trust"));
            }
        }
        let seconds = |key: &str| match said(key).map(str::parse::<u32>) {
            // Zero is curl's word for no limit of its own.
            None | Some(Ok(0)) => Ok(None),
            Some(Ok(seconds)) => Ok(Some(Duration::from_secs(seconds.into()))),
            Some(Err(_)) => Err(bad(key, "not a number of seconds")),
        };
        let header =
            |key: &str| said(key).map(HeaderValue::from_str).transpose().map_err(|_| bad(key, "it fits in no request"));
        let path = |key: &str| match said(key).map(PathBuf::from) {
            Some(path) if !path.exists() => Err(bad(key, "nothing is there")),
            path => Ok(path),
        };
        let both = "HTTP.CREDENTIALS.USERPASSWORD";
        let pair = match (said(both), said("HTTP.CREDENTIALS.USER"), said("HTTP.CREDENTIALS.PASSWORD")) {
            (Some(pair), ..) => Some(pair.to_owned()),
            (None, Some(user), password) => Some(format!("{user}:{}", password.unwrap_or_default())),
            (None, None, Some(_)) => return Err(bad("HTTP.CREDENTIALS.USER", "a password stands without it")),
            (None, None, None) => None,
        };
        Ok(Self {
            timeout: seconds("HTTP.TIMEOUT")?,
            connect: seconds("HTTP.CONNECTTIMEOUT")?,
            agent: header("HTTP.USERAGENT")?,
            credentials: pair.map(|pair| basic(&pair).map_err(|_| bad(both, "it makes no header"))).transpose()?,
            trust: Trust { file: path("HTTP.SSL.CAINFO")?, folder: path("HTTP.SSL.CAPATH")? },
        })
    }

    /// A configuration with the times that the rc files say.
    pub fn over(&self, config: &Config) -> Config {
        let mut config = *config;
        if let Some(timeout) = self.timeout {
            config.deadline = timeout;
            config.slowest = None;
            config.idle = config.idle.min(timeout);
            config.connect = config.connect.min(timeout);
        }
        config.connect = self.connect.unwrap_or(config.connect);
        config
    }
}

/// Without credentials.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("timeout", &self.timeout)
            .field("connect", &self.connect)
            .field("trust", &self.trust)
            .finish_non_exhaustive()
    }
}

//! [`Settings`]: settings for web servers in rc files, netrc and environment.
//!
//! Keys are those of netCDF-C's run-time configuration; docs/cloud.md lists them. A setting that would be
//! unsafe to ignore is an error: to trust any server, and a proxy with another protocol. Credentials:
//! `server_credentials`.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::RcFile;
use nczarr_storage::Target;

use crate::Config;
use crate::client_certificate::ClientCertificate;
use crate::cookies::CookieJar;
use crate::proxies::Proxies;
use crate::server_credentials::{RcLines, ServerCredentials};
use crate::server_url::ServerUrl;

/// The trusted certificates; none: the system's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TrustedCertificates {
    pub(crate) file: Option<PathBuf>,
    pub(crate) folder: Option<PathBuf>,
}

/// The settings for the location of a dataset.
#[derive(Clone, Default)]
pub struct Settings {
    timeout: Option<Duration>,
    connect: Option<Duration>,
    pub(crate) agent: Option<HeaderValue>,
    /// For the dataset's own server.
    pub(crate) credentials: Option<HeaderValue>,
    /// As `credentials`.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) identity: Option<ClientCertificate>,
    pub(crate) trust: TrustedCertificates,
    pub(crate) proxies: Proxies,
    pub(crate) wallet: ServerCredentials,
    pub(crate) jar: CookieJar,
}

/// Settings that must be on if present, because checks cannot be disabled.
const CHECKED: &[&str] = &["HTTP.SSL.VALIDATE", "HTTP.SSL.VERIFYPEER", "HTTP.SSL.VERIFYHOST"];

impl Settings {
    /// Reads the settings of rc files, netrc file and process environment.
    ///
    /// # Errors
    /// `NC_ERCFILE` if a file is unreadable or a setting is unsupported; it names the key.
    pub fn of(target: &Target) -> Result<Self> {
        Self::with_variables(target, &|name| std::env::var(name).ok())
    }

    /// As [`Settings::of`], with another environment.
    ///
    /// # Errors
    /// As [`Settings::of`].
    pub fn with_variables(target: &Target, variables: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let rc = RcFile::load(variables)?;
        let at = format!("{}{}", target.host.as_deref().unwrap_or_default(), target.path_text());
        let said = |key: &str| rc.get(key, &at).filter(|value| !value.is_empty()).map(str::to_owned);
        // Values may be secret, so messages have only the key.
        let bad = |key: &str, what: &str| ErrorKind::RcFile.context(format!("{target}: {key}: {what}"));
        for key in CHECKED {
            if said(key)
                .is_some_and(|value| matches!(&*value.to_ascii_lowercase(), "0" | "false" | "no" | "off"))
            {
                return Err(bad(
                    key,
                    "certificates are always checked; set HTTP.SSL.CAINFO to trust another",
                ));
            }
        }
        let seconds = |key: &str| match said(key).map(|value| value.parse::<u32>()) {
            // For curl, zero means no limit.
            None | Some(Ok(0)) => Ok(None),
            Some(Ok(seconds)) => Ok(Some(Duration::from_secs(seconds.into()))),
            Some(Err(_)) => Err(bad(key, "not a number of seconds")),
        };
        let header = |key: &str| {
            said(key)
                .map(HeaderValue::try_from)
                .transpose()
                .map_err(|_| bad(key, "the value is not valid in a header"))
        };
        let path = |key: &str| match said(key).map(PathBuf::from) {
            Some(path) if !path.exists() => Err(bad(key, "the file does not exist")),
            path => Ok(path),
        };
        let proxies = Proxies::of(&said, variables)
            .map_err(|key| bad(&key, "unsupported proxy (expected an HTTP proxy)"))?;
        let jar = CookieJar::shared(said("HTTP.COOKIEJAR").map(PathBuf::from).as_deref())?;
        let wallet =
            ServerCredentials::new(rc.clone(), &said, variables).map_err(|error| error.at(target))?;
        let context = |error: Error| error.at(target);
        let own = RcLines::new(&said, rc.keys("HTTP.HEADER."));
        let credentials = match own.authorization().map_err(context)? {
            Some(value) => Some(value),
            None => {
                ServerUrl::of(target).ok().map_or(Ok(None), |place| wallet.of_own(&place)).map_err(context)?
            }
        };
        Ok(Self {
            timeout: seconds("HTTP.TIMEOUT")?,
            connect: seconds("HTTP.CONNECTTIMEOUT")?,
            agent: header("HTTP.USERAGENT")?,
            credentials,
            headers: own.headers().map_err(context)?,
            identity: own.identity().map_err(context)?,
            trust: TrustedCertificates { file: path("HTTP.SSL.CAINFO")?, folder: path("HTTP.SSL.CAPATH")? },
            proxies,
            wallet,
            jar,
        })
    }

    /// Returns a configuration with the times of the rc files.
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

/// Hides credentials.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("timeout", &self.timeout)
            .field("connect", &self.connect)
            .field("trust", &self.trust)
            .finish_non_exhaustive()
    }
}

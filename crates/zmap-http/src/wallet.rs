//! [`Wallet`]: credentials by server; [`Lines`]: the lines of rc files for one place.
//!
//! Lines of rc files without a place, and netrc's `default`, are for the server of the dataset. A redirect target gets only
//! credentials that name it: a place in rc files with the same scheme, host and port, a `machine`, or an entry of
//! `NCZARR_BEARER`.

use std::path::PathBuf;

use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, COOKIE, HOST, HeaderName, HeaderValue, IF_RANGE, PROXY_AUTHORIZATION,
    RANGE, TRANSFER_ENCODING,
};
use nczarr_dispatch::RcFile;
use nczarr_model::{ErrorKind, Result};

use crate::identity::Identity;
use crate::netrc::Netrc;
use crate::place::{Place, basic, pair};

/// Tokens by hosts, `host=token` with commas or blanks between.
const TOKENS: &str = "NCZARR_BEARER";
/// Fields that only this program sets.
const OWN: &[HeaderName] = &[
    ACCEPT_ENCODING,
    CONNECTION,
    CONTENT_LENGTH,
    COOKIE,
    HOST,
    IF_RANGE,
    PROXY_AUTHORIZATION,
    RANGE,
    TRANSFER_ENCODING,
];

/// Credentials, by hosts.
#[derive(Clone, Default)]
pub(crate) struct Wallet {
    rc: RcFile,
    netrc: Netrc,
    /// By host, perhaps with a port.
    tokens: Vec<(String, HeaderValue)>,
}

impl Wallet {
    /// # Errors
    /// `NC_ERCFILE` for a netrc file that is named and not there, or cannot be read, and for what is no list of tokens.
    pub(crate) fn new(
        rc: RcFile,
        said: &dyn Fn(&str) -> Option<String>,
        variables: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let variable = |name: &str| variables(name).filter(|value| !value.is_empty());
        let home = variable("HOME").map(PathBuf::from);
        let netrc = match (said("HTTP.NETRC"), variable("NETRC"), &home) {
            (Some(path), _, home) => {
                let path = match (path.strip_prefix("~/"), home) {
                    (Some(rest), Some(home)) => home.join(rest),
                    _ => PathBuf::from(path),
                };
                let missing = || ErrorKind::RcFile.context(format!("HTTP.NETRC: {}: nothing is there", path.display()));
                Netrc::read(&path)?.ok_or_else(missing)?
            }
            (None, Some(path), _) => Netrc::read(&PathBuf::from(path))?.unwrap_or_default(),
            (None, None, Some(home)) => Netrc::read(&home.join(".netrc"))?.unwrap_or_default(),
            (None, None, None) => Netrc::default(),
        };
        let listed = variable(TOKENS).unwrap_or_default();
        let listed = listed.split([',', ' ', '\t', '\n']).filter(|entry| !entry.is_empty());
        let bad = || ErrorKind::RcFile.context(format!("{TOKENS}: it is no list of host=token"));
        let token = |entry: &str| {
            let (host, token) = entry.split_once('=').filter(|(host, _)| !host.is_empty()).ok_or_else(bad)?;
            Ok((host.to_ascii_lowercase(), bearer(token).ok_or_else(bad)?))
        };
        Ok(Self { rc, netrc, tokens: listed.map(token).collect::<Result<_>>()? })
    }

    /// The authorization for the server of the dataset, where rc files have none.
    pub(crate) fn of_own(&self, place: &Place) -> Result<Option<HeaderValue>> {
        match self.by_name(place)? {
            None => self.netrc.of_any().map(login).transpose(),
            found => Ok(found),
        }
    }

    /// The authorization for a redirect target.
    pub(crate) fn of_other(&self, place: &Place) -> Result<Option<HeaderValue>> {
        match self.lines(place).authorization()? {
            None => self.by_name(place),
            found => Ok(found),
        }
    }

    /// More fields for a redirect target.
    pub(crate) fn headers_of_other(&self, place: &Place) -> Result<Vec<(HeaderName, HeaderValue)>> {
        self.lines(place).headers()
    }

    /// The client certificate for a redirect target.
    pub(crate) fn identity_of_other(&self, place: &Place) -> Result<Option<Identity>> {
        self.lines(place).identity()
    }

    fn lines(&self, place: &Place) -> Lines {
        let url = place.to_string();
        let said = |key: &str| self.rc.get_strictly(key, &url).filter(|value| !value.is_empty()).map(str::to_owned);
        Lines::new(&said, self.rc.keys("HTTP.HEADER."))
    }

    /// A token or a password of a host that is listed by its name.
    fn by_name(&self, place: &Place) -> Result<Option<HeaderValue>> {
        let (host, port) = place.host_and_port();
        let with_port = format!("{host}:{port}");
        let usual = port == place.usual_port();
        let token = self.tokens.iter().find(|(listed, _)| *listed == with_port || usual && *listed == host);
        match token {
            Some((_, token)) => Ok(Some(token.clone())),
            None => self.netrc.of(&with_port).map(login).transpose(),
        }
    }
}

fn login((name, password): (&str, &str)) -> Result<HeaderValue> {
    pair(name, password)
}

fn bearer(token: &str) -> Option<HeaderValue> {
    let fits = |c: u8| c.is_ascii_alphanumeric() || b"-._~+/=".contains(&c);
    let mut value = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    (!token.is_empty() && token.bytes().all(fits)).then_some(value)
}

/// The lines of rc files for one place.
pub(crate) struct Lines(Vec<(String, String)>);

impl Lines {
    /// The lines that `said` finds; `more`: keys of fields.
    pub(crate) fn new(said: &dyn Fn(&str) -> Option<String>, more: Vec<&str>) -> Self {
        let keys = [
            "HTTP.CREDENTIALS.BEARER",
            "HTTP.CREDENTIALS.USERPASSWORD",
            "HTTP.CREDENTIALS.USER",
            "HTTP.CREDENTIALS.PASSWORD",
            "HTTP.SSL.CERTIFICATE",
            "HTTP.SSL.KEY",
            "HTTP.SSL.KEYPASSWORD",
            "SSL.KEYPASSWORD",
        ];
        let keys = keys.into_iter().chain(more);
        Self(keys.filter_map(|key| Some((key.to_owned(), said(key)?))).collect())
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// A token, else name and password.
    ///
    /// # Errors
    /// `NC_ERCFILE` for a line that makes no header, naming the key.
    pub(crate) fn authorization(&self) -> Result<Option<HeaderValue>> {
        if let Some(token) = self.get("HTTP.CREDENTIALS.BEARER") {
            return bearer(token).map(Some).ok_or_else(|| bad("HTTP.CREDENTIALS.BEARER", "it is no token"));
        }
        let both = "HTTP.CREDENTIALS.USERPASSWORD";
        let [user, password] = ["HTTP.CREDENTIALS.USER", "HTTP.CREDENTIALS.PASSWORD"].map(|key| self.get(key));
        let pair = match (self.get(both), user, password) {
            (Some(pair), ..) => pair.to_owned(),
            (None, Some(user), password) => format!("{user}:{}", password.unwrap_or_default()),
            (None, None, Some(_)) => return Err(bad("HTTP.CREDENTIALS.USER", "a password stands without it")),
            (None, None, None) => return Ok(None),
        };
        basic(&pair).map(Some).map_err(|_| bad(both, "it makes no header"))
    }

    /// More fields of requests: `HTTP.HEADER.<name>`.
    ///
    /// # Errors
    /// `NC_ERCFILE` for a line that makes no field, and for a field of the program's own, naming the key.
    pub(crate) fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>> {
        let mut headers = Vec::new();
        for (key, value) in &self.0 {
            let Some(name) = key.strip_prefix("HTTP.HEADER.") else { continue };
            let name = HeaderName::try_from(name).map_err(|_| bad(key, "it is no name of a field"))?;
            if OWN.contains(&name) {
                return Err(bad(key, "this field is the program's own"));
            }
            let mut value = HeaderValue::try_from(value).map_err(|_| bad(key, "it fits in no request"))?;
            value.set_sensitive(true);
            headers.push((name, value));
        }
        Ok(headers)
    }

    /// A certificate of one's own.
    ///
    /// # Errors
    /// `NC_ERCFILE` for a key without a certificate, and for files that are not there.
    pub(crate) fn identity(&self) -> Result<Option<Identity>> {
        let path = |name: &str| match self.get(name).map(PathBuf::from) {
            Some(path) if !path.exists() => Err(bad(name, "nothing is there")),
            path => Ok(path),
        };
        let (certificate, key) = (path("HTTP.SSL.CERTIFICATE")?, path("HTTP.SSL.KEY")?);
        let Some(certificate) = certificate else {
            return match key {
                Some(_) => Err(bad("HTTP.SSL.CERTIFICATE", "a key stands without it")),
                None => Ok(None),
            };
        };
        let password = self.get("HTTP.SSL.KEYPASSWORD").or_else(|| self.get("SSL.KEYPASSWORD")).map(str::to_owned);
        Ok(Some(Identity { key: key.unwrap_or_else(|| certificate.clone()), certificate, password }))
    }
}

/// Values may be secrets: messages have the key.
fn bad(key: &str, what: &str) -> nczarr_model::Error {
    ErrorKind::RcFile.context(format!("{key}: {what}"))
}

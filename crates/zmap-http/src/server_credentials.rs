//! [`ServerCredentials`]: credentials by server. [`RcLines`]: the rc file lines for one URL.
//!
//! Rc file lines without a URL, and netrc's `default`, are for the server of the dataset. A redirect target
//! gets only credentials that name it: an rc file URL with the same scheme, host and port, a `machine`, or an
//! entry of `NCZARR_BEARER`.

use std::path::PathBuf;

use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, COOKIE, HOST, HeaderName, HeaderValue, IF_RANGE,
    PROXY_AUTHORIZATION, RANGE, TRANSFER_ENCODING,
};
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::RcFile;

use crate::client_certificate::ClientCertificate;
use crate::netrc::Netrc;
use crate::server_url::{ServerUrl, basic, pair};

/// The variable with tokens by host: `host=token`, separated by commas or blanks.
const TOKENS: &str = "NCZARR_BEARER";
/// Header fields that only this program sets.
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

/// Credentials by host.
#[derive(Clone, Default)]
pub(crate) struct ServerCredentials {
    rc: RcFile,
    netrc: Netrc,
    /// By host, perhaps with a port.
    tokens: Vec<(String, HeaderValue)>,
}

impl ServerCredentials {
    /// Reads the credentials.
    ///
    /// # Errors
    /// `NC_ERCFILE` if a configured netrc file is missing or unreadable, or if the list of tokens is invalid.
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
                let missing = || {
                    ErrorKind::RcFile
                        .context(format!("HTTP.NETRC: {}: the file does not exist", path.display()))
                };
                Netrc::read(&path)?.ok_or_else(missing)?
            }
            (None, Some(path), _) => Netrc::read(&PathBuf::from(path))?.unwrap_or_default(),
            (None, None, Some(home)) => Netrc::read(&home.join(".netrc"))?.unwrap_or_default(),
            (None, None, None) => Netrc::default(),
        };
        let listed = variable(TOKENS).unwrap_or_default();
        let listed = listed.split([',', ' ', '\t', '\n']).filter(|entry| !entry.is_empty());
        let bad = || ErrorKind::RcFile.context(format!("{TOKENS}: invalid list (expected host=token pairs)"));
        let token = |entry: &str| {
            let (host, token) = entry.split_once('=').filter(|(host, _)| !host.is_empty()).ok_or_else(bad)?;
            Ok((host.to_ascii_lowercase(), bearer(token).ok_or_else(bad)?))
        };
        Ok(Self { rc, netrc, tokens: listed.map(token).collect::<Result<_>>()? })
    }

    /// Returns the authorization for the dataset's server, if rc files have none.
    pub(crate) fn of_own(&self, place: &ServerUrl) -> Result<Option<HeaderValue>> {
        match self.by_name(place)? {
            None => self.netrc.of_any().map(|(name, password)| login(name, password)).transpose(),
            found => Ok(found),
        }
    }

    /// Returns the authorization for a redirect target.
    pub(crate) fn of_other(&self, place: &ServerUrl) -> Result<Option<HeaderValue>> {
        match self.lines(place).authorization()? {
            None => self.by_name(place),
            found => Ok(found),
        }
    }

    /// Returns more header fields for a redirect target.
    pub(crate) fn headers_of_other(&self, place: &ServerUrl) -> Result<Vec<(HeaderName, HeaderValue)>> {
        self.lines(place).headers()
    }

    /// Returns the client certificate for a redirect target.
    pub(crate) fn identity_of_other(&self, place: &ServerUrl) -> Result<Option<ClientCertificate>> {
        self.lines(place).identity()
    }

    fn lines(&self, place: &ServerUrl) -> RcLines {
        let url = place.to_string();
        let said =
            |key: &str| self.rc.get_strictly(key, &url).filter(|value| !value.is_empty()).map(str::to_owned);
        RcLines::new(&said, self.rc.keys("HTTP.HEADER."))
    }

    /// Returns the token or password of a host listed by name.
    fn by_name(&self, place: &ServerUrl) -> Result<Option<HeaderValue>> {
        let (host, port) = place.host_and_port();
        let with_port = format!("{host}:{port}");
        let usual = port == place.usual_port();
        let token = self.tokens.iter().find(|(listed, _)| *listed == with_port || usual && *listed == host);
        match token {
            Some((_, token)) => Ok(Some(token.clone())),
            None => self.netrc.of(&with_port).map(|(name, password)| login(name, password)).transpose(),
        }
    }
}

fn login(name: &str, password: &str) -> Result<HeaderValue> {
    pair(name, password)
}

fn bearer(token: &str) -> Option<HeaderValue> {
    let fits = |c: u8| c.is_ascii_alphanumeric() || b"-._~+/=".contains(&c);
    let mut value = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    (!token.is_empty() && token.bytes().all(fits)).then_some(value)
}

/// The rc file lines for one URL.
pub(crate) struct RcLines(Vec<(String, String)>);

impl RcLines {
    /// Collects the lines that `said` finds. `more`: keys of header fields.
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

    /// Returns a token, else name and password.
    ///
    /// # Errors
    /// `NC_ERCFILE` with the key, if a line makes no valid header.
    pub(crate) fn authorization(&self) -> Result<Option<HeaderValue>> {
        if let Some(token) = self.get("HTTP.CREDENTIALS.BEARER") {
            return bearer(token).map(Some).ok_or_else(|| bad("HTTP.CREDENTIALS.BEARER", "invalid token"));
        }
        let both = "HTTP.CREDENTIALS.USERPASSWORD";
        let [user, password] =
            ["HTTP.CREDENTIALS.USER", "HTTP.CREDENTIALS.PASSWORD"].map(|key| self.get(key));
        let pair = match (self.get(both), user, password) {
            (Some(pair), ..) => pair.to_owned(),
            (None, Some(user), password) => format!("{user}:{}", password.unwrap_or_default()),
            (None, None, Some(_)) => {
                return Err(bad("HTTP.CREDENTIALS.USER", "a password is set without a name"));
            }
            (None, None, None) => return Ok(None),
        };
        basic(&pair).map(Some).map_err(|_| bad(both, "the value is not valid in a header"))
    }

    /// Returns more header fields: `HTTP.HEADER.<name>`.
    ///
    /// # Errors
    /// `NC_ERCFILE` with the key, if a line makes no valid field, or names one of [`OWN`].
    pub(crate) fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>> {
        let mut headers = Vec::new();
        for (key, value) in &self.0 {
            let Some(name) = key.strip_prefix("HTTP.HEADER.") else { continue };
            let name = HeaderName::try_from(name).map_err(|_| bad(key, "invalid header field name"))?;
            if OWN.contains(&name) {
                return Err(bad(key, "only the program sets this header field"));
            }
            let mut value =
                HeaderValue::try_from(value).map_err(|_| bad(key, "the value is not valid in a header"))?;
            value.set_sensitive(true);
            headers.push((name, value));
        }
        Ok(headers)
    }

    /// Returns the client certificate.
    ///
    /// # Errors
    /// `NC_ERCFILE` for a key without a certificate, and for missing files.
    pub(crate) fn identity(&self) -> Result<Option<ClientCertificate>> {
        let path = |name: &str| match self.get(name).map(PathBuf::from) {
            Some(path) if !path.exists() => Err(bad(name, "the file does not exist")),
            path => Ok(path),
        };
        let (certificate, key) = (path("HTTP.SSL.CERTIFICATE")?, path("HTTP.SSL.KEY")?);
        let Some(certificate) = certificate else {
            return match key {
                Some(_) => Err(bad("HTTP.SSL.CERTIFICATE", "a key is set without a certificate")),
                None => Ok(None),
            };
        };
        let password =
            self.get("HTTP.SSL.KEYPASSWORD").or_else(|| self.get("SSL.KEYPASSWORD")).map(str::to_owned);
        Ok(Some(ClientCertificate { key: key.unwrap_or_else(|| certificate.clone()), certificate, password }))
    }
}

/// Makes an error with the key only, because values may be secret.
fn bad(key: &str, what: &str) -> nczarr_model::Error {
    ErrorKind::RcFile.context(format!("{key}: {what}"))
}

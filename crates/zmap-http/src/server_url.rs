//! [`ServerUrl`]: a URL to request, and its printable form.

use std::fmt;

use hyper::Uri;
use hyper::header::HeaderValue;
use nczarr_model::{ErrorKind, Result};
use nczarr_url_infer::{Scheme, Target};

use crate::Settings;

/// A URL and its credentials. The printed form has neither query nor credentials.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ServerUrl {
    pub(crate) scheme: &'static str,
    /// With its port, if present.
    pub(crate) host: String,
    /// Percent-encoded.
    pub(crate) path: String,
    query: Option<String>,
    /// `Basic …`, never printed.
    pub(crate) credentials: Option<HeaderValue>,
}

impl ServerUrl {
    pub(crate) fn of(target: &Target) -> Result<Self> {
        let scheme = match target.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
            _ => return Err(ErrorKind::Url.context(format!("{target}: not the URL of a web server"))),
        };
        let host = target
            .host
            .clone()
            .ok_or_else(|| ErrorKind::Url.context(format!("{target}: the URL has no host")))?;
        let credentials = target.user_info.as_deref().map(basic).transpose()?;
        let path = match escape(&target.path_text(), true).as_str() {
            "" => "/".to_owned(),
            path => path.to_owned(),
        };
        let query = target.query.as_deref().map(|query| escape(query, true));
        Ok(Self { scheme, host, path, query, credentials })
    }

    /// Adds the credentials of the rc files if the URL has none.
    pub(crate) fn or_credentials(mut self, settings: &Settings) -> Self {
        self.credentials = self.credentials.or_else(|| settings.credentials.clone());
        if let Some(value) = &mut self.credentials {
            value.set_sensitive(true);
        }
        self
    }

    /// Returns the URL of a key below this one. The query stays, because it may authorize the request.
    pub(crate) fn below(&self, key: &str) -> Self {
        let path = self.path.trim_end_matches('/');
        Self { path: format!("{path}/{}", escape(key, false)), ..self.clone() }
    }

    /// Returns the target of a redirect. Credentials go only to the same host and protocol.
    ///
    /// # Errors
    /// The reason for not following it.
    pub(crate) fn follow(&self, location: &str) -> Result<Self, &'static str> {
        const BAD: &str = "the redirect target is not a URL";
        let (scheme, rest) = match location.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => ("http", rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => ("https", rest),
            Some((scheme, _)) if !scheme.contains(['/', '?', '#']) => {
                return Err("the redirect target has another protocol");
            }
            _ => match location.strip_prefix("//") {
                Some(rest) => (self.scheme, rest),
                None => return self.beside(location),
            },
        };
        if self.scheme == "https" && scheme == "http" {
            return Err("the redirect target is not encrypted");
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        // Credentials chosen by a server are not sent.
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        if host.is_empty() {
            return Err(BAD);
        }
        let mut place =
            Self { scheme, host: host.to_owned(), path: "/".to_owned(), query: None, credentials: None };
        if place.is_beside(self) {
            place.credentials = self.credentials.clone();
        }
        place.at(rest)
    }

    /// Whether another URL has the same scheme, host and port.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.host_and_port() == other.host_and_port()
    }

    /// Returns the host in lower case, and the port.
    pub(crate) fn host_and_port(&self) -> (String, u16) {
        let (host, port) = match self.host.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()),
            _ => (self.host.as_str(), None),
        };
        (host.to_ascii_lowercase(), port.unwrap_or(self.usual_port()))
    }

    /// Returns the default port of the scheme.
    pub(crate) fn usual_port(&self) -> u16 {
        if self.scheme == "https" { 443 } else { 80 }
    }

    /// Returns another URL on the same host.
    fn beside(&self, location: &str) -> Result<Self, &'static str> {
        if location.starts_with('/') || location.starts_with('?') || location.is_empty() {
            return self.clone().at(location);
        }
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.clone().at(&format!("{folder}/{location}"))
    }

    fn at(mut self, rest: &str) -> Result<Self, &'static str> {
        let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
        let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
        if !path.is_empty() {
            self.path = escape(path, true);
        }
        self.query = query.map(|query| escape(query, true));
        Ok(self)
    }

    /// Returns the URL for a request.
    pub(crate) fn uri(&self) -> Result<Uri> {
        let query = self.query.as_deref().map(|query| format!("?{query}")).unwrap_or_default();
        let text = format!("{}://{}{}{query}", self.scheme, self.host, self.path);
        text.parse().map_err(|_| ErrorKind::Url.context(format!("{self}: invalid URL")))
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.host, self.path)
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}

/// Makes the header for user and password.
pub(crate) fn basic(user_info: &str) -> Result<HeaderValue> {
    header_of(&unescape(
        if user_info.contains(':') { user_info.to_owned() } else { format!("{user_info}:") }.as_bytes(),
    ))
}

/// Makes the header for a name and a password as they are.
pub(crate) fn pair(name: &str, password: &str) -> Result<HeaderValue> {
    header_of(format!("{name}:{password}").as_bytes())
}

fn header_of(text: &[u8]) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Basic {}", base64(text)))
        .map_err(|_| ErrorKind::Url.context("user and password of the URL are not valid in a header"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word = (0..3).fold(0u32, |word, i| word << 8 | u32::from(three.get(i).copied().unwrap_or(0)));
        for digit in 0..4 {
            let there = digit <= three.len();
            let value = word >> (18 - 6 * digit) & 63;
            out.push(if there { DIGITS[value as usize] as char } else { '=' });
        }
    }
    out
}

/// Percent-encodes invalid characters. `written`: the text is part of a URL, so existing escapes stay.
fn escape(text: &str, written: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for &byte in text.as_bytes() {
        let fine = match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => true,
            b'%' | b'?' | b'[' | b']' => written,
            _ => b"-._~/!$&'()*+,;=:@".contains(&byte),
        };
        if fine { out.push(byte as char) } else { out.push_str(&format!("%{byte:02X}")) }
    }
    out
}

fn unescape(text: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.filter(|_| first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(url: &str) -> ServerUrl {
        ServerUrl::of(&nczarr_url_infer::parse(url).unwrap()).unwrap()
    }

    #[test]
    fn keys_lie_below() {
        for (url, key, uri) in [
            ("http://h/d/x.zarr", "a/0.0", "http://h/d/x.zarr/a/0.0"),
            ("http://h/d/x.zarr/", ".zgroup", "http://h/d/x.zarr/.zgroup"),
            ("http://h:8080", "a", "http://h:8080/a"),
            ("https://h/a b/%20?k=v%2F&x", "é %?#", "https://h/a%20b/%20/%C3%A9%20%25%3F%23?k=v%2F&x"),
        ] {
            assert_eq!(place(url).below(key).uri().unwrap().to_string(), uri);
        }
    }

    #[test]
    fn credentials_go_nowhere_else() {
        let from = place("https://me:pa%3Ass@h.example/d/x?sig=hush");
        assert_eq!(from.credentials.as_ref().unwrap().to_str().unwrap(), "Basic bWU6cGE6c3M=");
        for (location, uri, credentials) in [
            ("/e?q", "https://h.example/e?q", true),
            ("y", "https://h.example/d/y", true),
            ("?z", "https://h.example/d/x?z", true),
            ("https://H.example/e", "https://H.example/e", true),
            ("//h.example/e", "https://h.example/e", true),
            ("https://h.example:444/e", "https://h.example:444/e", false),
            ("https://other.example/e#f", "https://other.example/e", false),
            ("//other.example/e", "https://other.example/e", false),
            ("https://me:hush@h.example.org/", "https://h.example.org/", false),
        ] {
            let to = from.follow(location).unwrap();
            assert_eq!(to.uri().unwrap().to_string(), uri, "{location}");
            assert_eq!(to.credentials.is_some(), credentials, "{location}");
            assert!(!format!("{to} {to:?}").contains("hush"));
        }
        for location in ["http://h.example/e", "file:///etc/passwd", "ftp://h/", "https:///x"] {
            from.follow(location).unwrap_err();
        }
        assert!(place("http://h/x").follow("https://h/x").is_ok());
    }

    #[test]
    fn digits_of_64() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}

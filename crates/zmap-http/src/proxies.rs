//! [`Proxies`]: the requests that use a proxy, from rc files and environment. [`ProxyConnector`]: the
//! connections.
//!
//! `HTTP.PROXY.SERVER` (or `HTTP.PROXY_SERVER`), else `http_proxy` for `http:`, `https_proxy` for `https:`,
//! `all_proxy` for both; never for hosts in `no_proxy`. `HTTP_PROXY` is ignored, as in curl, because programs
//! run by web servers get it from clients. The crate `hyper-util` interprets the values.

use std::fmt;
use std::io::IoSlice;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::resolver::FilteredResolver;

/// The requests that use a proxy.
#[derive(Clone, Default)]
pub(crate) struct Proxies {
    /// The proxies for all, `http:` and `https:`, and the excluded hosts.
    said: [String; 4],
    matcher: Option<Arc<Matcher>>,
}

impl Proxies {
    /// Reads the proxies of rc files and environment.
    ///
    /// # Errors
    /// The name of a setting whose value is not a supported proxy. The value may contain a password.
    pub(crate) fn of(
        said: &dyn Fn(&str) -> Option<String>,
        variables: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let first = |names: &[&'static str], from: &dyn Fn(&str) -> Option<String>| {
            names.iter().find_map(|name| Some((*name, from(name).filter(|value| !value.is_empty())?)))
        };
        let no = first(&["no_proxy", "NO_PROXY"], variables).map_or_else(String::new, |(_, value)| value);
        let mut found = match first(&["HTTP.PROXY.SERVER", "HTTP.PROXY_SERVER"], said) {
            Some(server) => [Some(server), None, None],
            None => [&["all_proxy", "ALL_PROXY"][..], &["http_proxy"], &["https_proxy", "HTTPS_PROXY"]]
                .map(|names| first(names, variables)),
        };
        if found[1].is_some() && found[2].is_some() {
            // Nothing is left for it.
            found[0] = None;
        }
        for (name, value) in found.iter().flatten() {
            let only = Matcher::builder().all(value.as_str()).build();
            let proxy = only.intercept(&Uri::from_static("http://host.invalid/"));
            if proxy.is_none_or(|proxy| proxy.uri().scheme_str() != Some("http")) {
                return Err((*name).to_owned());
            }
        }
        let [all, http, https] = found.map(|found| found.map_or_else(String::new, |(_, value)| value));
        // One star means every host. The crate would not accept it for addresses.
        if no.trim() == "*" || [&all, &http, &https].iter().all(|value| value.is_empty()) {
            return Ok(Self::default());
        }
        let builder = Matcher::builder().all(all.as_str()).http(http.as_str()).https(https.as_str());
        let matcher = Some(Arc::new(builder.no(no.as_str()).build()));
        Ok(Self { said: [all, http, https, no], matcher })
    }

    fn intercept(&self, uri: &Uri) -> Option<Intercept> {
        self.matcher.as_ref()?.intercept(uri)
    }

    /// Returns the authorization for a proxy that reads the request.
    pub(crate) fn authorization(&self, uri: &Uri) -> Option<HeaderValue> {
        let proxy = self.intercept(uri).filter(|_| uri.scheme_str() == Some("http"))?;
        proxy.basic_auth().cloned()
    }
}

impl PartialEq for Proxies {
    fn eq(&self, other: &Self) -> bool {
        self.said == other.said
    }
}

/// Hides passwords.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies").field("used", &self.matcher.is_some()).finish_non_exhaustive()
    }
}

/// Connects to servers, through a proxy where configured.
#[derive(Clone)]
pub(crate) struct ProxyConnector {
    pub(crate) http: HttpConnector<FilteredResolver>,
    pub(crate) proxies: Proxies,
}

type ConnectError = Box<dyn std::error::Error + Send + Sync>;

impl Service<Uri> for ProxyConnector {
    type Response = ProxiedStream;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<ProxiedStream, ConnectError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        self.http.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let Some(proxy) = self.proxies.intercept(&uri) else {
            let connecting = self.http.call(uri);
            return Box::pin(async move { Ok(ProxiedStream { io: connecting.await?, proxied: false }) });
        };
        if uri.scheme_str() == Some("http") {
            let connecting = self.http.call(proxy.uri().clone());
            return Box::pin(async move { Ok(ProxiedStream { io: connecting.await?, proxied: true }) });
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.http.clone());
        if let Some(authorization) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        Box::pin(async move { Ok(ProxiedStream { io: tunnel.call(uri).await?, proxied: false }) })
    }
}

/// A connection, and whether a proxy reads its requests.
pub(crate) struct ProxiedStream {
    io: TokioIo<TcpStream>,
    proxied: bool,
}

impl Connection for ProxiedStream {
    fn connected(&self) -> Connected {
        self.io.connected().proxy(self.proxied)
    }
}

impl Read for ProxiedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, into)
    }
}

impl Write for ProxiedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(said: &[(&str, &str)], variables: &[(&str, &str)], uri: &str) -> Option<String> {
        let of = |table: &[(&str, &str)], name: &str| {
            table.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let proxies = Proxies::of(&|name| of(said, name), &|name| of(variables, name)).unwrap();
        proxies.intercept(&uri.parse().unwrap()).map(|proxy| proxy.uri().authority().unwrap().to_string())
    }

    #[test]
    fn proxies_follow_the_url_and_no_proxy() {
        let all = [
            ("all_proxy", "all:1"),
            ("http_proxy", "http://u:p@plain:2"),
            ("HTTPS_PROXY", "http://secret:3"),
        ];
        let no = [all[0], ("NO_PROXY", "a.example,127.0.0.0/8")];
        let rc = [("HTTP.PROXY.SERVER", "http://u:p@rc:4")];
        for (said, variables, uri, proxy) in [
            (&[][..], &[][..], "http://h/", None),
            (&[], &all, "http://h/", Some("plain:2")),
            (&[], &all, "https://h/", Some("secret:3")),
            (&[], &all[..1], "https://h/", Some("all:1")),
            (&[], &[("HTTP_PROXY", "no:5")], "http://h/", None),
            (&[], &no, "http://a.example/", None),
            (&[], &no, "http://x.a.example/", None),
            (&[], &no, "http://127.0.0.1:8080/", None),
            (&[], &no, "http://b.example/", Some("all:1")),
            (&rc, &all, "https://h/", Some("rc:4")),
            (&rc, &no, "https://a.example/", None),
            (&[("HTTP.PROXY_SERVER", "rc:6")], &[], "http://h/", Some("rc:6")),
        ] {
            assert_eq!(through(said, variables, uri).as_deref(), proxy, "{said:?} {variables:?} {uri}");
        }
    }

    #[test]
    fn unsupported_proxies_are_refused() {
        for value in ["socks5://hush:1", "https://hush:1", "ftp://hush", "://hush"] {
            let of = |name: &str| (name == "https_proxy").then(|| value.to_owned());
            let error = Proxies::of(&|_| None, &of).err();
            assert_eq!(error.as_deref(), Some("https_proxy"), "{value}");
        }
    }
}

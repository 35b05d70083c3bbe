//! [`Proxies`]: which requests go through a proxy, as rc files and the environment say; [`Way`]: the connections there.
//!
//! `HTTP.PROXY.SERVER` (or `HTTP.PROXY_SERVER`), else `http_proxy` for `http:`, `https_proxy` for `https:`, `all_proxy` for
//! both; never for hosts that `no_proxy` lists. As for curl, of `HTTP_PROXY` nothing is taken: programs that web servers run
//! get what a client sends by that name. The crate `hyper-util` knows what the values mean.

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

use crate::client::Resolver;

/// Which requests go through a proxy.
#[derive(Clone, Default)]
pub(crate) struct Proxies {
    /// For all, for `http:`, for `https:`, and hosts for which none is used.
    said: [String; 4],
    matcher: Option<Arc<Matcher>>,
}

impl Proxies {
    /// The proxies of rc files and the environment.
    ///
    /// # Errors
    /// The name of a setting whose value is no proxy that is spoken to. The value may have a password in it.
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
        // One star means every host; the crate would not take it for addresses.
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

    /// The authorization for a proxy that reads the request.
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

/// Without passwords.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies").field("used", &self.matcher.is_some()).finish_non_exhaustive()
    }
}

/// Connects to servers, through a proxy where one is to be used.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) http: HttpConnector<Resolver>,
    pub(crate) proxies: Proxies,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Service<Uri> for Way {
    type Response = Stream;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, Failure>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.http.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let Some(proxy) = self.proxies.intercept(&uri) else {
            let connecting = self.http.call(uri);
            return Box::pin(async move { Ok(Stream { io: connecting.await?, proxied: false }) });
        };
        if uri.scheme_str() == Some("http") {
            let connecting = self.http.call(proxy.uri().clone());
            return Box::pin(async move { Ok(Stream { io: connecting.await?, proxied: true }) });
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.http.clone());
        if let Some(authorization) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        Box::pin(async move { Ok(Stream { io: tunnel.call(uri).await?, proxied: false }) })
    }
}

/// A connection, and whether a proxy reads what is sent.
pub(crate) struct Stream {
    io: TokioIo<TcpStream>,
    proxied: bool,
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        self.io.connected().proxy(self.proxied)
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, into)
    }
}

impl Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
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
    fn which_requests_go_through_a_proxy() {
        let all = [("all_proxy", "all:1"), ("http_proxy", "http://u:p@plain:2"), ("HTTPS_PROXY", "http://secret:3")];
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
    fn what_is_no_proxy_is_refused() {
        for value in ["socks5://hush:1", "https://hush:1", "ftp://hush", "://hush"] {
            let of = |name: &str| (name == "https_proxy").then(|| value.to_owned());
            let error = Proxies::of(&|_| None, &of).err();
            assert_eq!(error.as_deref(), Some("https_proxy"), "{value}");
        }
    }
}

//! [`Proxies`]: the requests that use a proxy. [`ProxyConnector`]: connections of
//! [`ConnectionPool`](crate::connection_pool::ConnectionPool) through one.
//!
//! Names as for web servers (docs/cloud.md): `HTTP.PROXY.SERVER`, else `http_proxy`, `https_proxy`,
//! `all_proxy` and `no_proxy`; `HTTP_PROXY` is ignored, as in curl. The crate `hyper-util` interprets the
//! values.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use aws_smithy_http_client::proxy::ProxyConfig;
use hyper::Uri;
use hyper::header::HeaderValue;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use nczarr_model::{ErrorKind, Result};
use tokio::net::TcpStream;
use tower_service::Service;

use crate::environment::Variables;

/// The requests that use a proxy.
#[derive(Clone, Default)]
pub(crate) struct Proxies {
    /// The proxies for `http:` and `https:`, and the excluded hosts.
    said: [String; 3],
    matcher: Option<Arc<Matcher>>,
}

impl Proxies {
    /// Reads the proxies of rc files and environment.
    ///
    /// # Errors
    /// `NC_ERCFILE` if one is not an HTTP proxy. The error names the setting only, because the value may have
    /// a password.
    pub(crate) fn of(said: &dyn Fn(&str) -> Option<String>, variables: &Variables<'_>) -> Result<Self> {
        let first = |names: &[&'static str], from: &dyn Fn(&str) -> Option<String>| {
            names.iter().find_map(|name| Some((*name, from(name)?)))
        };
        let server = first(&["HTTP.PROXY.SERVER", "HTTP.PROXY_SERVER"], said);
        let found = [
            &["http_proxy", "all_proxy", "ALL_PROXY"][..],
            &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
        ]
        .map(|names| server.clone().or_else(|| first(names, variables)));
        let no = first(&["no_proxy", "NO_PROXY"], variables).map_or_else(String::new, |(_, value)| value);
        // One star means every host. The crate would not accept it for addresses.
        if no.trim() == "*" || found.iter().all(Option::is_none) {
            return Ok(Self::default());
        }
        for (name, value) in found.iter().flatten() {
            let only = Matcher::builder().all(value.as_str()).build();
            let proxy = only.intercept(&Uri::from_static("http://host.invalid/"));
            if proxy.is_none_or(|proxy| proxy.uri().scheme_str() != Some("http")) {
                return Err(
                    ErrorKind::RcFile.context(format!("{name}: unsupported proxy (expected an HTTP proxy)"))
                );
            }
        }
        let [http, https] = found.map(|found| found.map_or_else(String::new, |(_, value)| value));
        let matcher = Matcher::builder().http(http.as_str()).https(https.as_str()).no(no.as_str()).build();
        Ok(Self { said: [http, https, no], matcher: Some(Arc::new(matcher)) })
    }

    fn intercept(&self, uri: &Uri) -> Option<Intercept> {
        self.matcher.as_ref()?.intercept(uri)
    }

    /// Whether a proxy reads the request for a URL, and its authorization header.
    pub(crate) fn reads(&self, uri: &Uri) -> Option<Option<HeaderValue>> {
        let proxy = self.intercept(uri).filter(|_| uri.scheme_str() == Some("http"))?;
        Some(proxy.basic_auth().cloned())
    }

    /// Returns the proxy for the SDK, whose clients use only one. It is the proxy of encrypted connections,
    /// if there are any.
    ///
    /// # Errors
    /// `NC_ERCFILE` if the SDK refuses it.
    pub(crate) fn of_sdk(&self, encrypted: bool) -> Result<ProxyConfig> {
        let [http, https, no] = &self.said;
        let value = if encrypted { https } else { http };
        if value.is_empty() {
            return Ok(ProxyConfig::disabled());
        }
        let url = if value.contains("://") { value.clone() } else { format!("http://{value}") };
        let config =
            if encrypted { ProxyConfig::https(url.as_str()) } else { ProxyConfig::http(url.as_str()) };
        // The SDK's error may contain a password.
        let config = config
            .map_err(|_| ErrorKind::RcFile.context("the proxy setting is not the URL of an HTTP proxy"))?;
        Ok(config.no_proxy(no))
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
    pub(crate) http: HttpConnector,
    pub(crate) proxies: Proxies,
}

type ConnectError = Box<dyn std::error::Error + Send + Sync>;

impl Service<Uri> for ProxyConnector {
    type Response = TokioIo<TcpStream>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = std::result::Result<TokioIo<TcpStream>, ConnectError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<std::result::Result<(), ConnectError>> {
        self.http.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (proxy, is_plain) = (self.proxies.intercept(&uri), uri.scheme_str() == Some("http"));
        match proxy {
            None => {
                let connecting = self.http.call(uri);
                Box::pin(async move { Ok(connecting.await?) })
            }
            Some(proxy) if is_plain => {
                let connecting = self.http.call(proxy.uri().clone());
                Box::pin(async move { Ok(connecting.await?) })
            }
            Some(proxy) => {
                let mut tunnel = Tunnel::new(proxy.uri().clone(), self.http.clone());
                if let Some(authorization) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(authorization.clone());
                }
                Box::pin(async move { Ok(tunnel.call(uri).await?) })
            }
        }
    }
}

//! [`SharedClient`]: the connections of the process and their runtime.
//!
//! Both are made on demand and shared by all maps, so open connections are reused. Callers never run in the
//! runtime. They hand work over and wait for a message.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::threads::{StopSignal, stoppable};
use rustls::{ClientConfig, RootCertStore};
use tokio::runtime::Runtime;
use tracing::Instrument as _;
use tracing::instrument::WithSubscriber as _;

use crate::Config;
use crate::client_certificate::ClientCertificate;
use crate::proxies::{Proxies, ProxyConnector};
use crate::resolver::FilteredResolver;
use crate::settings::TrustedCertificates;

type Connector = HttpsConnector<ProxyConnector>;

/// Sends requests to servers.
#[derive(Clone)]
pub(crate) struct SharedClient {
    runtime: Arc<Runtime>,
    inner: legacy::Client<Connector, Empty<Bytes>>,
}

/// Trusted certificates and the client certificate for encrypted connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TlsSettings {
    pub(crate) trust: TrustedCertificates,
    pub(crate) identity: Option<ClientCertificate>,
}

/// Properties that distinguish clients.
type ClientKey = (Duration, bool, Option<TlsSettings>, Proxies);

impl SharedClient {
    /// Returns the process's client for a configuration, with certificates if anything is encrypted.
    ///
    /// # Errors
    /// System errors if threads cannot be made; `NC_ERCFILE` if no configured certificate is readable.
    pub(crate) fn shared(config: &Config, secure: Option<&TlsSettings>, proxies: &Proxies) -> Result<Self> {
        static CLIENTS: Mutex<Vec<(ClientKey, SharedClient)>> = Mutex::new(Vec::new());
        let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = (config.connect, config.link_local, secure.cloned(), proxies.clone());
        if let Some((_, client)) = clients.iter().find(|(known, _)| *known == kind) {
            return Ok(client.clone());
        }
        let runtime = match clients.first() {
            Some((_, client)) => Arc::clone(&client.runtime),
            None => Arc::new(runtime()?),
        };
        let mut http = HttpConnector::new_with_resolver(FilteredResolver::new(config.link_local));
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(config.connect));
        let https = HttpsConnectorBuilder::new().with_tls_config(tls(secure)?).https_or_http().enable_http1();
        let https = https.wrap_connector(ProxyConnector { http, proxies: proxies.clone() });
        let _inside = runtime.enter();
        let inner = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .build(https);
        let client = Self { runtime: Arc::clone(&runtime), inner };
        clients.push((kind, client.clone()));
        Ok(client)
    }

    /// Runs a task in the background, in the span of the caller.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(work.in_current_span().with_current_subscriber());
    }

    /// Runs a task, unless the call is stopped, and waits for its result.
    ///
    /// # Errors
    /// Errors of the task; `NC_EINTERNAL` if it ends without a result.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        StopSignal::check_current()?;
        let (send, receive) = std::sync::mpsc::sync_channel(1);
        let work = stoppable(work);
        self.spawn(async move {
            // The receiver waits for the result.
            let _ = send.send(work.await.and_then(|done| done));
        });
        receive
            .recv()
            .unwrap_or_else(|_| Err(ErrorKind::Internal.context("a request ended without an outcome")))
    }

    pub(crate) async fn ask(
        &self,
        request: Request<Empty<Bytes>>,
    ) -> Result<Response<Incoming>, legacy::Error> {
        self.inner.request(request).await
    }
}

fn runtime() -> Result<Runtime> {
    let built = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("nczarr-http")
        .enable_io()
        .enable_time()
        .build();
    built.map_err(|error| Error::io("threads for requests", error))
}

/// Makes the TLS configuration with the configured certificates, else the system's. Without any, only
/// encrypted connections fail.
fn tls(secure: Option<&TlsSettings>) -> Result<ClientConfig> {
    let mut trusted = RootCertStore::empty();
    if let Some(TlsSettings { trust, .. }) = secure {
        let named = *trust != TrustedCertificates::default();
        let found = if named {
            rustls_native_certs::load_certs_from_paths(trust.file.as_deref(), trust.folder.as_deref())
        } else {
            rustls_native_certs::load_native_certs()
        };
        let (added, _) = trusted.add_parsable_certificates(found.certs);
        if added == 0 && named {
            let what = "HTTP.SSL.CAINFO and HTTP.SSL.CAPATH: the files have no certificate";
            return Err(ErrorKind::RcFile.context(what));
        }
        if added == 0 {
            tracing::warn!(errors = found.errors.len(), "the system has no trusted certificates");
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| ErrorKind::Curl.context("encryption").caused_by(error))?;
    let builder = builder.with_root_certificates(trusted);
    match secure.and_then(|secure| secure.identity.as_ref()) {
        None => Ok(builder.with_no_client_auth()),
        Some(identity) => {
            let (chain, key) = identity.read()?;
            let bad = "HTTP.SSL.CERTIFICATE and HTTP.SSL.KEY: certificate and key do not match";
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| ErrorKind::RcFile.context(bad).caused_by(error))
        }
    }
}

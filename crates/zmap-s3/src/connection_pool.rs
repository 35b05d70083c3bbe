//! [`ConnectionPool`]: the connections for reading objects, shared by all maps of the process's runtime.
//!
//! HTTP/1.1, optionally encrypted. It knows nothing of S3. Other requests use the SDK's connections. A
//! connection is kept for the next request to the same server. If the server closed it meanwhile, the request
//! is repeated once over a new one.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use hyper::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use nczarr_model::{ErrorKind, Result};
use rustls::ClientConfig;
use tokio::runtime::Handle;
use tower_service::Service as _;
use tracing::Dispatch;
use tracing::instrument::WithSubscriber as _;

use crate::connect_throttle::ConnectThrottle;
use crate::connection::Connection;
use crate::failure::RequestFailure;
use crate::proxies::{Proxies, ProxyConnector};
use crate::response_head::ResponseHead;
use crate::runtime;
use crate::trust::Trust;

/// Unused connections are closed after this time. Servers close them only slightly later.
const IDLE: Duration = Duration::from_secs(20);
/// Most unused connections kept for one server.
const MOST: usize = 512;

/// Properties that distinguish pools: trust, time to connect, proxies.
type PoolKey = (Trust, Duration, Proxies);

/// Unused connections by server, with the time of their last use.
#[derive(Default)]
struct IdleConnections {
    lines: HashMap<Arc<str>, Vec<(Instant, Connection)>>,
    /// A task that closes unused connections is running.
    watched: bool,
}

struct PoolState {
    connector: HttpsConnector<ProxyConnector>,
    idle: Mutex<IdleConnections>,
    pace: ConnectThrottle,
    handle: Handle,
}

/// Makes and keeps connections.
#[derive(Clone)]
pub(crate) struct ConnectionPool(Arc<PoolState>);

/// Returns the pool of the shared runtime, or makes one for an embedder's.
///
/// # Errors
/// `NC_ES3` if there is no encryption, or if the system provides no threads.
pub(crate) fn wire(
    of: Option<&Handle>,
    trust: &Trust,
    connect: Duration,
    proxies: &Proxies,
) -> Result<ConnectionPool> {
    static OWN: Mutex<Vec<(PoolKey, ConnectionPool)>> = Mutex::new(Vec::new());
    if of.is_some() {
        // Connections end with their runtime.
        return ConnectionPool::new(of, trust, connect, proxies);
    }
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    let kind = (trust.clone(), connect, proxies.clone());
    if let Some((_, wire)) = own.iter().find(|(known, _)| *known == kind) {
        return Ok(wire.clone());
    }
    let wire = ConnectionPool::new(None, trust, connect, proxies)?;
    own.push((kind, wire.clone()));
    Ok(wire)
}

impl ConnectionPool {
    fn new(of: Option<&Handle>, trust: &Trust, connect: Duration, proxies: &Proxies) -> Result<Self> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(connect));
        let https = HttpsConnectorBuilder::new().with_tls_config(tls(trust)?).https_or_http().enable_http1();
        let connector = https.wrap_connector(ProxyConnector { http, proxies: proxies.clone() });
        Ok(Self(Arc::new(PoolState {
            connector,
            idle: Mutex::default(),
            pace: ConnectThrottle::default(),
            handle: runtime::handle(of)?,
        })))
    }

    /// Sends a request to the server of `uri`, and reads the response head. The request has no body and may
    /// be sent twice.
    ///
    /// # Errors
    /// The failure, and whether a retry may help.
    pub(crate) async fn get(
        &self,
        uri: &Uri,
        request: &[u8],
    ) -> Result<(ResponseHead, Connection), RequestFailure> {
        let host = uri.authority().map_or("", |authority| authority.as_str());
        let to: Arc<str> = format!("{}://{host}", uri.scheme_str().unwrap_or_default()).into();
        if let Some(mut line) = self.take(&to) {
            match line.ask(request).await {
                Ok(head) => return Ok((head, line)),
                Err(silent) if !silent.wholly => return Err(RequestFailure::unsent(silent.text)),
                Err(_) => {}
            }
        }
        self.0.pace.turn().await;
        let mut connector = self.0.connector.clone();
        let ready = poll_fn(|context| connector.poll_ready(context)).await;
        ready.map_err(|error| RequestFailure::unconnected(&*error))?;
        let stream =
            connector.call(uri.clone()).await.map_err(|error| RequestFailure::unconnected(&*error))?;
        let mut line = Connection::new(stream, to);
        match line.ask(request).await {
            Ok(head) => Ok((head, line)),
            Err(silent) => Err(RequestFailure::unsent(silent.text)),
        }
    }

    /// Returns an unused connection.
    fn take(&self, to: &str) -> Option<Connection> {
        loop {
            // The connection used last stays open longest.
            let (since, mut line) = self.0.idle().lines.get_mut(to)?.pop()?;
            if since.elapsed() < IDLE && line.is_quiet() {
                return Some(line);
            }
        }
    }

    /// Keeps a connection whose response was read completely.
    pub(crate) fn keep(&self, line: Connection) {
        let mut idle = self.0.idle();
        let lines = idle.lines.entry(Arc::clone(&line.to)).or_default();
        if lines.len() < MOST {
            lines.push((Instant::now(), line));
        }
        if !std::mem::replace(&mut idle.watched, true) {
            drop(self.0.handle.spawn(watch(Arc::downgrade(&self.0)).with_subscriber(Dispatch::none())));
        }
    }
}

impl PoolState {
    fn idle(&self) -> MutexGuard<'_, IdleConnections> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes connections that are unused for long, until there are none.
async fn watch(wire: Weak<PoolState>) {
    loop {
        tokio::time::sleep(IDLE / 2).await;
        let Some(wire) = wire.upgrade() else { return };
        let mut idle = wire.idle();
        idle.lines.retain(|_, lines| {
            lines.retain(|(since, _)| since.elapsed() < IDLE);
            !lines.is_empty()
        });
        if idle.lines.is_empty() {
            idle.watched = false;
            return;
        }
    }
}

fn tls(trust: &Trust) -> Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| ErrorKind::S3.context("encryption").caused_by(error))?;
    Ok(builder.with_root_certificates(trust.roots()).with_no_client_auth())
}

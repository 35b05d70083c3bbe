//! [`Wire`]: the connections objects are read over, shared by all maps of the process's own runtime.
//!
//! HTTP/1.1, with the system's certificates where it is encrypted. Nothing is known here of S3; what else is asked of it
//! goes through the SDK and its own connections. A connection is kept for the next request to the same place; one that was
//! closed meanwhile is noticed, at the latest when nothing answers, and the request sent once more over a new one.

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

use crate::failure::Failure;
use crate::head::Head;
use crate::line::Line;
use crate::pace::Pace;
use crate::proxies::{Proxies, Way};
use crate::runtime;
use crate::trust::Trust;

/// Connections that nobody uses are closed after so long: servers do so too, and not much later.
const IDLE: Duration = Duration::from_secs(20);
/// So many that nobody uses are kept for one place.
const MOST: usize = 512;

/// Properties that tell connections apart: trust, time to connect, and proxies.
type Kind = (Trust, Duration, Proxies);

/// Connections that nobody uses, by where they lead, with when they were used last.
#[derive(Default)]
struct Idle {
    lines: HashMap<Arc<str>, Vec<(Instant, Line)>>,
    /// Somebody closes those that are idle for long.
    watched: bool,
}

struct Shared {
    connector: HttpsConnector<Way>,
    idle: Mutex<Idle>,
    pace: Pace,
    handle: Handle,
}

/// Who makes connections, and keeps them.
#[derive(Clone)]
pub(crate) struct Wire(Arc<Shared>);

/// Connections of the process's own runtime, or of that of an embedder.
///
/// # Errors
/// `NC_ES3` if there is no encryption, or the system gives no threads.
pub(crate) fn wire(of: Option<&Handle>, trust: &Trust, connect: Duration, proxies: &Proxies) -> Result<Wire> {
    static OWN: Mutex<Vec<(Kind, Wire)>> = Mutex::new(Vec::new());
    if of.is_some() {
        // Connections end with the runtime they were made in.
        return Wire::new(of, trust, connect, proxies);
    }
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    let kind = (trust.clone(), connect, proxies.clone());
    if let Some((_, wire)) = own.iter().find(|(known, _)| *known == kind) {
        return Ok(wire.clone());
    }
    let wire = Wire::new(None, trust, connect, proxies)?;
    own.push((kind, wire.clone()));
    Ok(wire)
}

impl Wire {
    fn new(of: Option<&Handle>, trust: &Trust, connect: Duration, proxies: &Proxies) -> Result<Self> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(connect));
        let https = HttpsConnectorBuilder::new().with_tls_config(tls(trust)?).https_or_http().enable_http1();
        let connector = https.wrap_connector(Way { http, proxies: proxies.clone() });
        Ok(Self(Arc::new(Shared {
            connector,
            idle: Mutex::default(),
            pace: Pace::default(),
            handle: runtime::handle(of)?,
        })))
    }

    /// Sends a request to the server of `uri`, and reads the head of its answer. The request has no body and may be sent
    /// twice.
    ///
    /// # Errors
    /// The problem, and whether another try may help.
    pub(crate) async fn get(&self, uri: &Uri, request: &[u8]) -> Result<(Head, Line), Failure> {
        let host = uri.authority().map_or("", |authority| authority.as_str());
        let to: Arc<str> = format!("{}://{host}", uri.scheme_str().unwrap_or_default()).into();
        if let Some(mut line) = self.take(&to) {
            match line.ask(request).await {
                Ok(head) => return Ok((head, line)),
                Err(silent) if !silent.wholly => return Err(Failure::unsent(silent.text)),
                Err(_) => {}
            }
        }
        self.0.pace.turn().await;
        let mut connector = self.0.connector.clone();
        let ready = poll_fn(|context| connector.poll_ready(context)).await;
        ready.map_err(|error| Failure::unconnected(&*error))?;
        let stream = connector.call(uri.clone()).await.map_err(|error| Failure::unconnected(&*error))?;
        let mut line = Line::new(stream, to);
        match line.ask(request).await {
            Ok(head) => Ok((head, line)),
            Err(silent) => Err(Failure::unsent(silent.text)),
        }
    }

    /// A connection that nobody uses.
    fn take(&self, to: &str) -> Option<Line> {
        loop {
            // What was used last stays open longest.
            let (since, mut line) = self.0.idle().lines.get_mut(to)?.pop()?;
            if since.elapsed() < IDLE && line.is_quiet() {
                return Some(line);
            }
        }
    }

    /// Keeps a connection whose answer was read to its end.
    pub(crate) fn keep(&self, line: Line) {
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

impl Shared {
    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes what is idle for long, as long as there is something.
async fn watch(wire: Weak<Shared>) {
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

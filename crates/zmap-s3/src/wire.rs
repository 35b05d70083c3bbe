//! [`client`]: the connections objects are read over, shared by all maps of the process's own runtime.
//!
//! HTTP/1.1, with the system's certificates where it is encrypted. Nothing is known here of S3; what else is asked of it
//! goes through the SDK and its own connections.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use model::{ErrorKind, Result};
use rustls::{ClientConfig, RootCertStore};
use tokio::runtime::Handle;

/// Who sends requests without a body.
pub(crate) type Client = legacy::Client<HttpsConnector<HttpConnector>, Empty<Bytes>>;

/// Bytes that are read at once: large bodies come in few pieces, and memory of this size is used again and again.
const READ: usize = 64 << 10;
/// Connections that nobody uses are closed after so long: servers do so too, and not much later.
const IDLE: Duration = Duration::from_secs(20);

/// What makes connections different: whether they are encrypted, and how long making one may take.
type Kind = (bool, Duration);

/// Who sends requests in the process's own runtime, or for that of an embedder. Where nothing is `encrypted`, the system's
/// certificates are not read.
///
/// # Errors
/// `NC_ES3` if there is no encryption.
pub(crate) fn client(of: Option<&Handle>, encrypted: bool, connect: Duration) -> Result<Client> {
    static OWN: Mutex<Vec<(Kind, Client)>> = Mutex::new(Vec::new());
    if of.is_some() {
        // Connections end with the runtime they were made in.
        return new(encrypted, connect);
    }
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, client)) = own.iter().find(|(kind, _)| *kind == (encrypted, connect)) {
        return Ok(client.clone());
    }
    let client = new(encrypted, connect)?;
    own.push(((encrypted, connect), client.clone()));
    Ok(client)
}

fn new(encrypted: bool, connect: Duration) -> Result<Client> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(connect));
    let https = HttpsConnectorBuilder::new().with_tls_config(tls(encrypted)?).https_or_http().enable_http1();
    let mut builder = legacy::Client::builder(TokioExecutor::new());
    builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE).http1_read_buf_exact_size(READ);
    Ok(builder.build(https.wrap_connector(http)))
}

fn tls(encrypted: bool) -> Result<ClientConfig> {
    let mut trusted = RootCertStore::empty();
    if encrypted {
        // Who is not vouched for by any of them is refused when the connection is made, and that is told.
        trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| ErrorKind::S3.context("encryption").caused_by(error))?;
    Ok(builder.with_root_certificates(trusted).with_no_client_auth())
}

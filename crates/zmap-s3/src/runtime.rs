//! The runtime of requests: a small one shared by the process, or an embedder's.
//!
//! Its threads move bytes and wait; they decode nothing. They log nothing, because their data include
//! signatures and tokens.

use std::future::Future;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

use crate::proxies::Proxies;
use crate::trust::Trust;
use aws_sdk_s3::config::{RuntimeComponents, SharedHttpClient};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_http_client::{Builder, Connector};
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::{carrying_signal, trace};
use tokio::runtime::{Handle, Runtime};
use tracing::instrument::WithSubscriber as _;
use tracing::{Dispatch, Span};

/// Threads that move bytes. Each is enough for a fast network.
const THREADS: usize = 2;

/// Returns the embedder's runtime or the shared one.
///
/// # Errors
/// `NC_ES3` if the system provides no threads.
pub(crate) fn handle(of: Option<&Handle>) -> Result<Handle> {
    static OWN: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    if let Some(handle) = of {
        return Ok(handle.clone());
    }
    let own = OWN.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("nczarr-s3")
            .on_thread_start(|| {
                // For the lifetime of the thread.
                std::mem::forget(tracing::dispatcher::set_default(&Dispatch::none()));
            })
            .enable_all()
            .build()
    });
    match own {
        Ok(runtime) => Ok(runtime.handle().clone()),
        Err(error) => Err(ErrorKind::S3.context(format!("no threads for requests: {error}"))),
    }
}

/// Returns the HTTP client. All maps of the shared runtime use one, so connections are reused.
///
/// # Errors
/// `NC_ES3` if the SDK refuses the certificates.
pub(crate) fn http(of: Option<&Handle>, trust: &Trust, proxies: &Proxies) -> Result<SharedHttpClient> {
    static OWN: Mutex<Vec<((Trust, Proxies), SharedHttpClient)>> = Mutex::new(Vec::new());
    let new = || {
        let encrypted = *trust != Trust::Plain;
        let (proxy, context) = (proxies.of_sdk(encrypted)?, trust.context()?);
        Ok(Builder::new().build_with_connector_fn(move |settings, components| {
            let mut builder = Connector::builder().proxy_config(proxy.clone());
            builder.set_connector_settings(settings.cloned());
            builder.set_sleep_impl(components.and_then(RuntimeComponents::sleep_impl));
            if encrypted {
                builder.tls_provider(Provider::Rustls(CryptoMode::Ring)).tls_context(context.clone()).build()
            } else {
                builder.build_http()
            }
        }))
    };
    if of.is_some() {
        // Connections end with their runtime.
        return new();
    }
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    let kind = (trust.clone(), proxies.clone());
    if let Some((_, http)) = own.iter().find(|(known, _)| *known == kind) {
        return Ok(http.clone());
    }
    let http = new()?;
    own.push((kind, http.clone()));
    Ok(http)
}

/// Returns the span of a request, for as long as it lasts. It is made on the thread that sends the request,
/// because the runtime logs nothing.
pub(crate) fn request_span(verb: &str, object: &str) -> Span {
    tracing::debug_span!(target: trace::MAPS, "request", verb, object)
}

/// Runs `work` and waits on this thread, which may belong to another runtime.
///
/// # Errors
/// `NC_ES3` if the runtime ends before the work.
pub(crate) fn wait<T: Send + 'static>(
    handle: &Handle,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    let answer = nczarr_runtime::wait_for(carrying_signal(work), |task| {
        drop(handle.spawn(task.with_subscriber(Dispatch::none())))
    });
    answer.map_err(|_| ErrorKind::S3.context("the runtime ended before the request did"))
}

/// Runs `work` and puts its result into the queue; `None` if it never ends.
pub(crate) fn spawn<T: Send + 'static>(
    handle: &Handle,
    queue: &Arc<EventQueue<Option<T>>>,
    work: impl Future<Output = T> + Send + 'static,
) {
    let answer = ReplyGuard { queue: Arc::clone(queue), sent: false };
    let work = carrying_signal(work);
    drop(
        handle.spawn(
            async move {
                let mut answer = answer;
                let done = work.await;
                answer.sent = true;
                answer.queue.push(Some(done));
            }
            .with_subscriber(Dispatch::none()),
        ),
    );
}

/// Puts `None` into the queue if no result was put.
struct ReplyGuard<T> {
    queue: Arc<EventQueue<Option<T>>>,
    sent: bool,
}

impl<T> Drop for ReplyGuard<T> {
    fn drop(&mut self) {
        if !self.sent {
            self.queue.push(None);
        }
    }
}

/// A queue of events.
#[derive(Debug)]
pub(crate) struct EventQueue<T> {
    events: Mutex<std::collections::VecDeque<T>>,
    came: Condvar,
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        Self { events: Mutex::default(), came: Condvar::new() }
    }
}

impl<T> EventQueue<T> {
    pub(crate) fn push(&self, event: T) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push_back(event);
        self.came.notify_one();
    }

    /// Waits for the next event.
    pub(crate) fn pop(&self) -> T {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(event) = events.pop_front() {
                return event;
            }
            events = self.came.wait(events).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

//! Futures of the facade: equal results, and no request after the end of a call.

mod gate;
mod gated_server;
mod over_http;
mod reads;
mod stopped;
mod streams;
mod writes;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

/// Runs a future on a runtime with one thread.
fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Polls once a future that cannot be ready.
fn begin<F: Future + Unpin>(future: &mut F) {
    assert!(Pin::new(future).poll(&mut Context::from_waker(Waker::noop())).is_pending());
}

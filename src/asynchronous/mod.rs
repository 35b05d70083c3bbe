//! Async reads and writes, on any runtime.
//!
//! [`Workers`] are threads of this library. They wait for storage and decode, so that no thread of the
//! runtime waits. [`open`] returns a [`Call`], a future that opens an [`AsyncFile`]. Its [`AsyncVariable`]s
//! read and write.
//!
//! * If you drop a [`Call`], it stops. It starts no further request, and abandons its reads in flight.
//! * [`Call::timeout`] sets a deadline, and a [`Canceller`] stops a call from elsewhere.
//! * [`ChunkStream`] reads the chunks of a variable as a [`Stream`](futures_core::Stream).
//! * If a call panics, it returns an error.
//!
//! ```
//! # #[cfg(all(feature = "nczarr", feature = "mem"))] {
//! # let file = nczarr::create("memory://doc-async")?;
//! # file.add_dimension("x", 3)?;
//! # file.add_variable::<f32>("t", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
//! # file.close()?;
//! use std::time::Duration;
//!
//! async fn mean(path: &str) -> nczarr::Result<f32> {
//!     let file = nczarr::asynchronous::open(path).await?;
//!     let t = file.variable("t")?;
//!     let values = t.get::<f32>(..).timeout(Duration::from_secs(10)).await?;
//!     Ok(values.iter().sum::<f32>() / values.len() as f32)
//! }
//! # fn run<F: Future>(future: F) -> F::Output {
//! #     struct Unpark(std::thread::Thread);
//! #     impl std::task::Wake for Unpark {
//! #         fn wake(self: std::sync::Arc<Self>) {
//! #             self.0.unpark();
//! #         }
//! #     }
//! #     let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
//! #     let (mut future, mut context) = (std::pin::pin!(future), std::task::Context::from_waker(&waker));
//! #     loop {
//! #         if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
//! #             return output;
//! #         }
//! #         std::thread::park();
//! #     }
//! # }
//! # assert_eq!(run(mean("memory://doc-async"))?, 2.0);
//! # }
//! # Ok::<(), nczarr::Error>(())
//! ```

mod call;
mod chunk_stream;
mod deadlines;
mod file;
mod variable;
mod workers;

use nczarr_dispatch::Place;

pub use call::{Call, Canceller};
pub use chunk_stream::{AsyncChunk, ChunkStream};
pub use file::AsyncFile;
pub use variable::AsyncVariable;
pub use workers::Workers;

/// Opens a dataset for reading, with [`Workers`] of its own.
///
/// # Errors
/// As [`nczarr::open`](crate::open).
pub fn open(place: impl Into<Place>) -> Call<AsyncFile> {
    Workers::default().open(place)
}

//! [`Workers`]: the threads that run calls.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use nczarr_dispatch::Place;
use nczarr_model::{Error, Result};

use super::deadlines::Deadlines;
use super::{AsyncFile, Call};
use crate::File;

/// The number of threads of [`Workers::default`]: the number of requests that one batch sends to a web
/// server.
const THREADS: usize = 64;

/// Threads that run calls. Clones share the threads.
///
/// A call occupies one thread while it waits for storage, so the number of threads limits the calls that run
/// at once. Further calls wait in a queue, in the order of their first poll. The threads start when they are
/// needed, and end with the last clone and the last call.
///
/// Inside a call, a transfer of many chunks has many requests in flight and decodes on the pool, as without
/// futures.
#[derive(Clone)]
pub struct Workers(Arc<WorkersHandle>);

struct WorkersHandle {
    queue: Arc<CallQueue>,
    deadlines: Arc<Deadlines>,
}

/// The calls that wait for a thread.
struct CallQueue {
    state: Mutex<QueueState>,
    came: Condvar,
    threads: usize,
}

#[derive(Default)]
struct QueueState {
    waiting: BTreeMap<u64, QueuedCall>,
    next: u64,
    threads: usize,
    idle: usize,
    closed: bool,
}

type QueuedCall = Box<dyn FnOnce() + Send>;

impl Workers {
    /// Makes workers of up to this many threads; at least one. No thread starts yet.
    pub fn new(threads: usize) -> Self {
        let queue = CallQueue { state: Mutex::default(), came: Condvar::new(), threads: threads.max(1) };
        Self(Arc::new(WorkersHandle { queue: Arc::new(queue), deadlines: Arc::default() }))
    }

    /// Opens a dataset for reading.
    ///
    /// # Errors
    /// As [`nczarr::open`](crate::open).
    pub fn open(&self, place: impl Into<Place>) -> Call<AsyncFile> {
        let (place, workers) = (place.into(), self.clone());
        let shown = place.to_string().into();
        Call::new(self.clone(), shown, move || Ok(workers.attach(crate::open(place)?)))
    }

    /// Makes calls of these workers possible on an open dataset.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// use nczarr::asynchronous::Workers;
    ///
    /// async fn create(path: &'static str) -> nczarr::Result<()> {
    ///     let workers = Workers::new(16);
    ///     let file = workers.attach(workers.run(move || nczarr::create(path)).await?);
    ///     file.call(|file| file.add_dimension("x", 3).map(drop)).await?;
    ///     file.close().await
    /// }
    /// # }
    /// ```
    pub fn attach(&self, file: File) -> AsyncFile {
        AsyncFile::new(file, self.clone())
    }

    /// Runs any call of this library on a thread of the workers.
    ///
    /// A stopped call ends at its next request or chunk. Work without either runs to its end, and its result
    /// is dropped.
    ///
    /// # Errors
    /// Errors of `work`; `NC_EINTERNAL` if it panics.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Call<T> {
        Call::new(self.clone(), "the call".into(), work)
    }

    pub(super) fn deadlines(&self) -> &Arc<Deadlines> {
        &self.0.deadlines
    }

    /// Queues a call. Returns its number, for [`Workers::withdraw`].
    ///
    /// # Errors
    /// The system's error if it provides no thread at all. The call is dropped.
    pub(super) fn submit(&self, call: QueuedCall) -> Result<u64> {
        let queue = &self.0.queue;
        let mut state = queue.lock();
        let number = state.next;
        state.next += 1;
        state.waiting.insert(number, call);
        if state.idle >= state.waiting.len() || state.threads >= queue.threads {
            drop(state);
            queue.came.notify_one();
            return Ok(number);
        }
        let theirs = Arc::clone(queue);
        match std::thread::Builder::new().name("nczarr-async".into()).spawn(move || theirs.serve()) {
            Ok(_) => state.threads += 1,
            // The threads that run will do it.
            Err(_) if state.threads > 0 => {}
            Err(error) => {
                let call = state.waiting.remove(&number);
                drop(state);
                drop(call);
                return Err(Error::io("a thread for a call", error));
            }
        }
        Ok(number)
    }

    /// Removes a call that no thread has begun.
    pub(super) fn withdraw(&self, number: u64) {
        let call = self.0.queue.lock().waiting.remove(&number);
        drop(call);
    }
}

impl CallQueue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs calls until the workers are dropped.
    fn serve(&self) {
        let mut state = self.lock();
        loop {
            if let Some((_, call)) = state.waiting.pop_first() {
                drop(state);
                call();
                state = self.lock();
            } else if state.closed {
                return;
            } else {
                state.idle += 1;
                state = self.came.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }
}

impl Default for Workers {
    /// 64 threads.
    fn default() -> Self {
        Self::new(THREADS)
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").field("threads", &self.0.queue.threads).finish_non_exhaustive()
    }
}

impl Drop for WorkersHandle {
    fn drop(&mut self) {
        self.queue.lock().closed = true;
        self.queue.came.notify_all();
        self.deadlines.close();
    }
}

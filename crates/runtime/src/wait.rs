//! [`wait_for`]: waits for a future on a thread that may belong to a runtime.
//!
//! Maps may be called from a task of the program's runtime, where `block_on` panics. A map over an
//! asynchronous client spawns its work on its own runtime and waits here. This module knows no runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::sync_channel;

use nczarr_model::{ErrorKind, Result};

/// A task for a runtime.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Passes `work` to `spawn`, which runs it on a runtime, and waits on this thread for the result.
///
/// The calling thread may run a task: nothing is polled on it. The runtime must have another thread, or both
/// wait for each other. A runtime of the map's own has one.
///
/// ```
/// # fn spawn_on_my_runtime(task: nczarr_runtime::Task) { std::thread::spawn(move || pollster(task)); }
/// # fn pollster(mut task: nczarr_runtime::Task) {
/// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// #     while task.as_mut().poll(&mut context).is_pending() {}
/// # }
/// // With tokio: `|task| drop(handle.spawn(task))`.
/// let answer = nczarr_runtime::wait_for(async { 6 * 7 }, |task| spawn_on_my_runtime(task))?;
/// assert_eq!(answer, 42);
/// # Ok::<(), nczarr_model::Error>(())
/// ```
///
/// # Errors
/// `NC_EIO` if the runtime drops `work` before it is done, also because of a panic.
pub fn wait_for<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
    spawn: impl FnOnce(Task),
) -> Result<T> {
    let (answer, answered) = sync_channel(1);
    spawn(Box::pin(async move {
        // The receiver exists until this is sent or dropped.
        let _ = answer.send(work.await);
    }));
    answered.recv().map_err(|_| ErrorKind::Io.context("the runtime ended before the work was done"))
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    fn run(mut task: Task) {
        while task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {}
    }

    #[test]
    fn a_dropped_or_panicking_task_is_an_error() {
        let spawn = |task| drop(std::thread::spawn(move || run(task)));
        assert_eq!(wait_for(async { "it" }, spawn).unwrap(), "it");
        assert_eq!(wait_for(async { 1 }, drop).unwrap_err().kind(), ErrorKind::Io);
        let panics = |task: Task| {
            let run = std::thread::Builder::new().name("panics on purpose".into()).spawn(move || run(task));
            assert!(run.unwrap().join().is_err());
        };
        assert!(wait_for(async { std::panic::panic_any("on purpose") }, panics).map(|(): ()| ()).is_err());
    }
}

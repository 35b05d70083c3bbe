//! [`ScratchDir`]: the temporary directory of the stores. It is removed after success, failure and a signal.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use nczarr_bench::Cleanup;
use nczarr_model::{Error, Result};
use nix::sys::signal::{SigSet, Signal};
use tempfile::TempDir;

/// The number of times that the cleaner of a signal tries again while transfers still write.
const TRIES: usize = 1000;
/// The time that the cleaner of a signal waits for the present operation to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// A temporary directory.
pub struct ScratchDir {
    // Goes first: once a signal came, failures because of the removed directory are not reported.
    signal: SignalFlag,
    dir: TempDir,
    cleanup: Arc<OnceLock<Cleanup>>,
}

/// Whether a signal ends the process. If so, only its cleaner continues after the directory is dropped.
struct SignalFlag(Arc<AtomicBool>);

impl Drop for SignalFlag {
    fn drop(&mut self) {
        while self.0.load(Ordering::Acquire) {
            thread::park();
        }
    }
}

impl ScratchDir {
    /// Creates a directory in `parent`, or in the system's temporary directory.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn new(parent: Option<&Path>) -> Result<Self> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        let mut signals = SigSet::empty();
        [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().for_each(|signal| signals.add(signal));
        signals.thread_block().map_err(|errno| Error::io("signals", errno.into()))?;
        let dir = tempfile::Builder::new().prefix("ncz-bench-").tempdir_in(&parent);
        let dir = dir.map_err(|error| Error::io(parent.display().to_string(), error))?;
        let (path, came) = (dir.path().to_owned(), Arc::new(AtomicBool::new(false)));
        let (signal, cleanup) = (SignalFlag(Arc::clone(&came)), Arc::new(OnceLock::<Cleanup>::new()));
        let datasets = Arc::clone(&cleanup);
        thread::spawn(move || {
            let Ok(signal) = signals.wait() else { return };
            came.store(true, Ordering::Release);
            // The dataset may be elsewhere, such as in a bucket. The run deletes it.
            datasets.get().map(|cleanup| cleanup.stop(PATIENCE));
            // While a transfer still writes, a directory may have become full again.
            let _ = (0..TRIES).find(|_| std::fs::remove_dir_all(&path).is_ok());
            std::process::exit(128 + signal as i32);
        });
        Ok(Self { signal, dir, cleanup })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Lets a signal end this run.
    pub fn clean_on_signal(&self, run: Cleanup) {
        self.cleanup.get_or_init(|| run);
    }

    /// Removes it.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn close(self) -> Result<()> {
        let Self { signal, dir, .. } = self;
        drop(signal);
        let path = dir.path().display().to_string();
        dir.close().map_err(|error| Error::io(path, error))
    }
}

//! [`ScratchDir`]: the temporary directory of the stores. It is removed after success, failure and a signal.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nczarr_model::{Error, ErrorKind, Result};
use nix::sys::signal::{SigSet, Signal};
use tempfile::TempDir;

/// The number of times that the cleaner of a signal tries again while transfers still write.
const TRIES: usize = 1000;

/// A temporary directory.
pub struct ScratchDir {
    // Goes first: once a signal came, the failures of what misses the directory are no news.
    signal: Came,
    dir: TempDir,
}

/// Whether a signal ends the process. If so, only its cleaner continues after the directory is dropped.
struct Came(Arc<AtomicBool>);

impl Drop for Came {
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
        let signal = Came(Arc::clone(&came));
        thread::spawn(move || {
            let Ok(signal) = signals.wait() else { return };
            came.store(true, Ordering::Release);
            // While a transfer still writes, a directory may have become full again.
            let _ = (0..TRIES).find(|_| std::fs::remove_dir_all(&path).is_ok());
            std::process::exit(128 + signal as i32);
        });
        Ok(Self { signal, dir })
    }

    /// The path of a store in it.
    ///
    /// # Errors
    /// `NC_EINVAL` if the path is not UTF-8.
    pub fn store(&self) -> Result<String> {
        let path = self.dir.path().join("store");
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| ErrorKind::Inval.context(format!("--dir: {} is not UTF-8", path.display())))
    }

    /// Removes it.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn close(self) -> Result<()> {
        let Self { signal, dir } = self;
        drop(signal);
        let path = dir.path().display().to_string();
        dir.close().map_err(|error| Error::io(path, error))
    }
}

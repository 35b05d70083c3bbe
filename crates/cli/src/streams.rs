//! The standard streams: results go to standard output, messages to standard error.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Prints a line to standard error; write errors are ignored.
pub fn say(what: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "ncz: {what}");
}

/// The name of standard output in errors.
pub const STANDARD: &str = "standard output";
/// Whether the reader of standard output has gone.
static UNHEARD: AtomicBool = AtomicBool::new(false);

/// Returns whether the reader of standard output has gone, as after `head`. That is not a failure.
pub fn is_unheard() -> bool {
    UNHEARD.load(Ordering::Relaxed)
}

/// Standard output that notes when its reader has gone.
pub struct StandardOutput(io::StdoutLock<'static>);

impl StandardOutput {
    /// Locks standard output.
    pub fn lock() -> Self {
        Self(io::stdout().lock())
    }

    fn noted<T>(outcome: io::Result<T>) -> io::Result<T> {
        outcome.inspect_err(|error| {
            if error.kind() == io::ErrorKind::BrokenPipe {
                UNHEARD.store(true, Ordering::Relaxed);
            }
        })
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::noted(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Self::noted(self.0.flush())
    }
}

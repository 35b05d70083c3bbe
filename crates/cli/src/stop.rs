//! Ctrl-C while something is made that should not be left half done: the first one asks to stop, which is done between two
//! steps; the second one, or [`GRACE`] without such a step, ends the process, but not while it cleans up ([`patient`]). Where nobody listens Ctrl-C ends the process at once, as ever.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::failure::say;

/// The exit code of a command that was interrupted, as shells give it.
pub const CODE: u8 = 130;
/// How long a step may go on.
const GRACE: Duration = Duration::from_secs(10);

/// The thread that waits meanwhile.
const THREAD: &str = "interrupted";

static ASKED: AtomicBool = AtomicBool::new(false);
/// Whether a step may take as long as it takes.
static PATIENT: AtomicBool = AtomicBool::new(false);

/// Listens from now on. `told`: what is said where the process ends in the middle of a step.
pub fn listen(told: String) {
    let asked = move || {
        let end = |told: &str| -> ! {
            say(told);
            process::exit(CODE.into())
        };
        if ASKED.swap(true, Ordering::Relaxed) {
            end(&told);
        }
        let told = told.clone();
        // Whoever is still at work after that waits for something that may never come.
        let late = std::thread::Builder::new().name(THREAD.to_owned()).spawn(move || {
            loop {
                std::thread::sleep(GRACE);
                if !PATIENT.load(Ordering::Relaxed) {
                    end(&told)
                }
            }
        });
        drop(late);
    };
    // Who cannot listen is ended by the system, at once.
    let _ = ctrlc::set_handler(asked);
}

/// Whether to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// From here on a step may take as long as it takes: it takes away what should not stay. A second Ctrl-C ends that, too.
pub fn patient() {
    PATIENT.store(true, Ordering::Relaxed);
}

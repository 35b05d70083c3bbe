//! Ctrl-C handling for commands that should not stop in the middle of a step.
//!
//! The first Ctrl-C requests a stop, which the command honours between two steps. The second one, or
//! [`GRACE`] without such a step, ends the process, except while it cleans up ([`patient`]). Other commands
//! end at once.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::streams::say;

/// The exit code of an interrupted command, by the shells' convention.
pub const CODE: u8 = 130;
/// The time limit of a step after the first Ctrl-C.
const GRACE: Duration = Duration::from_secs(10);

/// The thread that waits for the limit.
const THREAD: &str = "interrupted";

static ASKED: AtomicBool = AtomicBool::new(false);
/// Whether a step has no time limit.
static PATIENT: AtomicBool = AtomicBool::new(false);

/// Starts listening. `message`: the message if the process ends in the middle of a step.
pub fn listen(message: String) {
    let asked = move || {
        let end = |message: &str| -> ! {
            say(message);
            process::exit(CODE.into())
        };
        if ASKED.swap(true, Ordering::Relaxed) {
            end(&message);
        }
        let message = message.clone();
        // A step still running after that may be stuck.
        let late = std::thread::Builder::new().name(THREAD.to_owned()).spawn(move || {
            loop {
                std::thread::sleep(GRACE);
                if !PATIENT.load(Ordering::Relaxed) {
                    end(&message)
                }
            }
        });
        drop(late);
    };
    // Without a handler the system ends the process at once.
    let _ = ctrlc::set_handler(asked);
}

/// Returns whether to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Removes the time limit of steps: cleaning up may take long. A second Ctrl-C still ends the process.
pub fn patient() {
    PATIENT.store(true, Ordering::Relaxed);
}

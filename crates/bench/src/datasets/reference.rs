//! [`reference_time`]: a fixed computation, whose time tells how busy the machine is.

use std::convert::Infallible;
use std::hint::black_box;
use std::thread;

use crate::timed;

/// The bytes that each thread goes through, and how often.
const BYTES: usize = 1 << 20;
const PASSES: usize = 4;

/// Returns the seconds of a fixed computation on all processors.
pub(crate) fn reference_time() -> f64 {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let compute = || {
        thread::scope(|scope| {
            for seed in 0..threads {
                scope.spawn(move || black_box(mixed(seed as u8)));
            }
        });
        Ok::<_, Infallible>(())
    };
    let Ok(done) = timed(compute);
    done.seconds
}

/// Computes a number from a buffer of bytes.
fn mixed(seed: u8) -> u64 {
    let bytes = black_box(vec![seed; BYTES]);
    let mut state = 0u64;
    for _ in 0..PASSES {
        for &byte in &bytes {
            state = state.rotate_left(5) ^ u64::from(byte);
        }
    }
    state
}

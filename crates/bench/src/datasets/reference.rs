//! [`reference`]: a fixed computation. Its time and its waiting show how busy the machine is.

use std::convert::Infallible;
use std::hint::black_box;
use std::thread;

use crate::timed;

/// The bytes that each thread goes through, and how often.
const BYTES: usize = 1 << 20;
const PASSES: usize = 4;

/// One run of the fixed computation.
pub(crate) struct Reference {
    /// The time in seconds.
    pub(crate) seconds: f64,
    /// The share of the time in which its threads waited for a processor; 0 if the system does not say.
    pub(crate) wait: f64,
}

/// Runs the fixed computation on all processors.
pub(crate) fn reference() -> Reference {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let compute = || {
        let waits = thread::scope(|scope| {
            let spawn = |seed| scope.spawn(move || waited_for(|| black_box(mixed(seed as u8))));
            let all: Vec<_> = (0..threads).map(spawn).collect();
            all.into_iter().map(|thread| thread.join().unwrap_or_default()).sum::<f64>()
        });
        Ok::<_, Infallible>(waits)
    };
    let Ok(done) = timed(compute);
    Reference { seconds: done.seconds, wait: done.value / threads as f64 / done.seconds }
}

/// Returns the seconds in which this thread waited for a processor during `run`.
fn waited_for<T>(run: impl FnOnce() -> T) -> f64 {
    let before = waited();
    run();
    match (before, waited()) {
        (Some(before), Some(now)) => now.saturating_sub(before) as f64 * 1e-9,
        _ => 0.0,
    }
}

/// Returns the nanoseconds in which this thread waited for a processor. `None`: the system does not say.
fn waited() -> Option<u64> {
    // Linux: the time on a processor, the time of waiting for one, and the number of time slices.
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_threads_than_processors_wait() {
        let threads = 4 * thread::available_parallelism().map_or(1, usize::from);
        let Ok(busy) = timed(|| {
            Ok::<_, Infallible>(thread::scope(|scope| {
                let compute = || black_box((0..20).map(mixed).fold(0, u64::wrapping_add));
                let spawn = |_| scope.spawn(move || waited_for(compute));
                let all: Vec<_> = (0..threads).map(spawn).collect();
                all.into_iter().map(|thread| thread.join().unwrap()).sum::<f64>()
            }))
        });
        if waited().is_some() {
            // Three of four threads wait at any time.
            let share = busy.value / threads as f64 / busy.seconds;
            assert!((0.1..1.0).contains(&share), "{share}");
        }
    }
}

//! [`Reference`]: fixed work that needs no dataset. Its times show how fast and how busy the machine is.

use std::convert::Infallible;
use std::fs;
use std::hint::black_box;
use std::io;
use std::path::Path;
use std::thread;

use crate::timed;

/// The bytes that each thread goes through, and how often.
const BYTES: usize = 1 << 20;
const PASSES: usize = 4;
/// The bytes of fresh memory that are filled.
const FRESH: usize = 8 << 20;
/// How often a small file is opened and read, and its size in bytes.
const READS: usize = 128;
const FILE_SIZE: usize = 4096;

/// One run of the fixed work. Times are in seconds.
pub(crate) struct Reference {
    /// The time of a computation on all processors.
    pub(crate) computation: f64,
    /// The time of the same computation on the calling thread alone. Processors can differ in speed.
    pub(crate) one_thread: f64,
    /// The time to fill fresh memory.
    pub(crate) memory: f64,
    /// The time to open and read a small file, many times.
    pub(crate) files: f64,
    /// The share of the computation in which its threads waited for a processor; 0 if unknown.
    pub(crate) wait: f64,
}

impl Reference {
    /// Runs the fixed work. Its files are in `dir`.
    ///
    /// # Errors
    /// The error of a file.
    pub(crate) fn measure(dir: &Path) -> io::Result<Self> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let Ok(computed) = timed(|| Ok::<_, Infallible>(compute(threads)));
        let Ok(filled) = timed(|| Ok::<_, Infallible>(black_box(vec![black_box(1u8); FRESH]).len()));
        let Ok(alone) = timed(|| Ok::<_, Infallible>(black_box(mixed(1))));
        let read = read_files(dir)?;
        Ok(Self {
            computation: computed.seconds,
            one_thread: alone.seconds,
            memory: filled.seconds,
            files: read,
            wait: computed.value / threads as f64 / computed.seconds,
        })
    }
}

/// Computes on some threads, and returns the seconds in which they waited for a processor.
fn compute(threads: usize) -> f64 {
    thread::scope(|scope| {
        let spawn = |seed| scope.spawn(move || waited_for(|| black_box(mixed(seed as u8))));
        let all: Vec<_> = (0..threads).map(spawn).collect();
        all.into_iter().map(|thread| thread.join().unwrap_or_default()).sum()
    })
}

/// Returns the seconds to open and read a small file many times.
fn read_files(dir: &Path) -> io::Result<f64> {
    let path = dir.join("reference");
    fs::write(&path, [1; FILE_SIZE])?;
    let read = timed(|| {
        for _ in 0..READS {
            black_box(fs::read(&path)?);
        }
        Ok::<_, io::Error>(())
    });
    fs::remove_file(&path)?;
    Ok(read?.seconds)
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
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
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

    #[test]
    fn files_are_deleted_and_need_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let reference = Reference::measure(dir.path()).unwrap();
        assert!(reference.files > 0.0 && reference.memory > 0.0 && reference.computation > 0.0);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(Reference::measure(&dir.path().join("absent")).is_err());
    }
}

//! A worker: runs cases one after another, on one thread, and counts the memory of each.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use nczarr_tests::fuzz;

use crate::{Args, alloc};

/// Memory allowed beyond the input size: 32 MiB, and 1 MiB for a chunk.
const SPARE: usize = 33 << 20;

/// Failures after which a worker gives up.
const ENOUGH: usize = 10;

/// The record that a worker keeps in its file: the number of the present case, and the counts of accepted and
/// refused inputs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place {
    pub number: u64,
    pub taken: u64,
    pub refused: u64,
}

impl Place {
    const SIZE: usize = 24;

    fn write(self, mut file: &File) -> io::Result<()> {
        let mut bytes = [0; Self::SIZE];
        for (place, number) in
            bytes.as_chunks_mut::<8>().0.iter_mut().zip([self.number, self.taken, self.refused])
        {
            *place = number.to_le_bytes();
        }
        file.rewind()?;
        file.write_all(&bytes)
    }

    /// Reads the record. A shorter file means that no case began.
    pub fn read(mut file: &File) -> Self {
        let mut bytes = [0; Self::SIZE];
        if file.rewind().and_then(|()| file.read_exact(&mut bytes)).is_err() {
            return Self::default();
        }
        let [number, taken, refused] = [0, 8, 16].map(|at| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        });
        Self { number, taken, refused }
    }
}

/// Runs the cases of one target. Prints a line for each failure with its number and description.
///
/// # Errors
/// Returns the system's error for the file, or an error if no target has this name.
pub fn work(args: &Args, place: &Path) -> io::Result<bool> {
    let entry = fuzz::entries().into_iter().find(|entry| entry.name == args.target);
    let entry = entry.ok_or_else(|| io::Error::other(format!("{:?} is no target", args.target)))?;
    let target = entry.target();
    let file = File::options().read(true).write(true).open(place)?;
    // Panics are reported as failures of their case, so the default message is not needed.
    std::panic::set_hook(Box::new(|_| {}));
    let _alone = alloc::alone();
    let (started, mut at, mut failures, mut most) = (Instant::now(), Place::default(), 0, 0);
    let end = args.from.saturating_add(args.runs);
    for number in args.from..end {
        at.number = number;
        at.write(&file)?;
        if args.seconds.is_some_and(|seconds| started.elapsed() >= Duration::from_secs(seconds)) {
            return Ok(summed(most));
        }
        let case = target.case(&mut entry.rng(args.seed, number));
        let given: usize = case.files.iter().map(|(_, bytes)| bytes.len()).sum();
        let (outcome, peak) = alloc::peak(|| case.run());
        most = most.max(peak);
        let outcome = match outcome {
            Ok(_) if peak > given.saturating_add(SPARE) => {
                Err(format!("{peak} bytes of memory for {given} of input"))
            }
            outcome => outcome,
        };
        match outcome {
            Ok(true) => at.taken += 1,
            Ok(false) => at.refused += 1,
            Err(what) => {
                println!("failed {number} {}", what.replace('\n', " "));
                failures += 1;
            }
        }
        if failures == ENOUGH {
            return Ok(summed(most));
        }
    }
    at.number = end;
    at.write(&file)?;
    Ok(summed(most))
}

/// Prints the peak memory of a case and the peak memory of the whole process with its C code.
fn summed(most: usize) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    println!("memory {} {}", most >> 10, resident.unwrap_or("0"));
    true
}

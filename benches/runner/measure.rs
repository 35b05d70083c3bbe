//! Clocks, peak memory and the checksum of one operation.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

/// Measures wall time and CPU time of the process from its start.
pub struct Clock {
    wall: Instant,
    start: f64,
    cpu: f64,
    base_kb: u64,
}

/// The measurements of one operation.
pub struct Outcome {
    start: f64,
    seconds: f64,
    cpu: f64,
    base_kb: u64,
    peak_kb: u64,
    /// Bytes moved, as the caller counts them.
    pub bytes: usize,
    /// The checksum of the elements in reading order, or a count.
    pub checksum: String,
    /// Number of operations.
    pub n: u64,
}

impl Clock {
    /// Starts the clock.
    pub fn start() -> Self {
        let base_kb = peak_kb();
        let start = seconds_of(ClockId::Monotonic);
        Self { cpu: seconds_of(ClockId::ProcessCPUTime), wall: Instant::now(), start, base_kb }
    }

    /// Stops the clock. The caller fills in the other fields later, outside the measured span.
    pub fn stop(self) -> Outcome {
        let seconds = self.wall.elapsed().as_secs_f64();
        let cpu = seconds_of(ClockId::ProcessCPUTime) - self.cpu;
        let (start, base_kb) = (self.start, self.base_kb);
        Outcome { start, seconds, cpu, base_kb, peak_kb: peak_kb(), bytes: 0, checksum: String::new(), n: 1 }
    }
}

impl Outcome {
    /// Sets the number of moved bytes and their checksum.
    pub fn saw<'a>(mut self, parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut sum = Sum::default();
        for part in parts {
            self.bytes += part.len();
            sum.add(part);
        }
        self.checksum = sum.hex();
        self
    }

    /// Sets the number of operations.
    pub fn times(mut self, n: u64) -> Self {
        self.n = n;
        self
    }

    /// The line to print.
    pub fn to_json(&self, op: &str) -> Value {
        json!({
            "peer": "nczarr", "op": op, "start": self.start, "seconds": self.seconds, "cpu": self.cpu,
            "bytes": self.bytes, "base_rss_kb": self.base_kb, "rss_kb": self.peak_kb, "checksum": self.checksum,
            "n": self.n,
        })
    }
}

/// Sums `w_i * (2 i + 1)` over little-endian 64-bit words. Zeros pad the last word.
#[derive(Default)]
struct Sum {
    total: u64,
    words: u64,
    rest: Vec<u8>,
}

impl Sum {
    fn add(&mut self, mut bytes: &[u8]) {
        if !self.rest.is_empty() {
            let (head, tail) = bytes.split_at(bytes.len().min(8 - self.rest.len()));
            self.rest.extend_from_slice(head);
            bytes = tail;
            if self.rest.len() < 8 {
                return;
            }
            let rest = std::mem::take(&mut self.rest);
            self.words_of(&rest);
        }
        let whole = bytes.len() / 8 * 8;
        self.words_of(&bytes[..whole]);
        self.rest.extend_from_slice(&bytes[whole..]);
    }

    fn words_of(&mut self, bytes: &[u8]) {
        for word in bytes.as_chunks::<8>().0 {
            let factor = 2 * self.words + 1;
            self.total = self.total.wrapping_add(u64::from_le_bytes(*word).wrapping_mul(factor));
            self.words += 1;
        }
    }

    fn hex(mut self) -> String {
        if !self.rest.is_empty() {
            let mut last = std::mem::take(&mut self.rest);
            last.resize(8, 0);
            self.words_of(&last);
        }
        format!("{:016x}", self.total)
    }
}

fn seconds_of(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The peak memory of the process in KiB, or 0 if the system does not report it.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_does_not_depend_on_how_bytes_are_cut() {
        let bytes: Vec<u8> = (0..100).collect();
        let mut whole = Sum::default();
        whole.add(&bytes);
        let mut cut = Sum::default();
        for part in bytes.chunks(7) {
            cut.add(part);
        }
        assert_eq!(whole.hex(), cut.hex());
        let mut one = Sum::default();
        one.add(&[1]);
        assert_eq!(one.hex(), "0000000000000001");
    }
}

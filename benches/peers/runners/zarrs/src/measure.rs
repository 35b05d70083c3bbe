//! Clocks, peak memory and the checksum of one operation.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

/// Measures wall time and process CPU time from its creation on.
pub struct Clock {
    base_kb: u64,
    cpu: f64,
    wall: Instant,
}

/// Time and memory of one operation.
pub struct Taken {
    base_kb: u64,
    peak_kb: u64,
    cpu: f64,
    seconds: f64,
}

impl Clock {
    pub fn start() -> Self {
        let base_kb = peak_kb();
        Self { base_kb, cpu: cpu_seconds(), wall: Instant::now() }
    }

    pub fn stop(self) -> Taken {
        let seconds = self.wall.elapsed().as_secs_f64();
        Taken { base_kb: self.base_kb, peak_kb: peak_kb(), cpu: cpu_seconds() - self.cpu, seconds }
    }
}

impl Taken {
    /// Returns the output line for data in parts.
    pub fn data<'a>(self, n: u64, parts: impl IntoIterator<Item = &'a [u8]>) -> Value {
        let (mut sum, mut bytes) = (Sum::default(), 0);
        for part in parts {
            bytes += part.len();
            sum.add(part);
        }
        self.line(n, bytes, &sum.hex())
    }

    /// Returns the output line for an operation without data.
    pub fn count(self, n: u64, checksum: &str) -> Value {
        self.line(n, 0, checksum)
    }

    fn line(self, n: u64, bytes: usize, checksum: &str) -> Value {
        json!({
            "seconds": self.seconds, "cpu": self.cpu, "bytes": bytes, "base_rss_kb": self.base_kb,
            "rss_kb": self.peak_kb, "checksum": checksum, "n": n,
        })
    }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The sum over little-endian 64-bit words `w_i * (2 i + 1)`; the last word is padded with zeros.
#[derive(Default)]
struct Sum {
    total: u64,
    words: u64,
    rest: Vec<u8>,
}

impl Sum {
    fn word(&mut self, word: [u8; 8]) {
        self.total = self.total.wrapping_add(u64::from_le_bytes(word).wrapping_mul(2 * self.words + 1));
        self.words += 1;
    }

    fn add(&mut self, mut bytes: &[u8]) {
        while let [first, others @ ..] = bytes
            && !self.rest.is_empty()
        {
            self.rest.push(*first);
            bytes = others;
            if let Ok(word) = self.rest.as_slice().try_into() {
                self.rest.clear();
                self.word(word);
            }
        }
        let (words, rest) = bytes.as_chunks();
        words.iter().for_each(|word| self.word(*word));
        self.rest.extend(rest);
    }

    fn hex(mut self) -> String {
        if !self.rest.is_empty() {
            let mut word = [0; 8];
            word[..self.rest.len()].copy_from_slice(&self.rest);
            self.word(word);
        }
        format!("{:016x}", self.total)
    }
}

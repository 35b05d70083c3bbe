//! [`ReadAhead`]: reads a remote file in parts of any size, from any number of threads.
//!
//! A request takes far longer than its bytes. So callers announce reads ([`ReadAhead::prefetch`]): all ranges
//! are requested at once, near ones together. A reader that follows references runs in rounds
//! ([`ReadAhead::run_in_rounds`]): each round requests everything that the previous one missed. Other reads
//! request a little more than they want, and ever more while reads are sequential.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::StopSignal;

use super::ByteSource;
use super::range_cache::{RangeCache, RangeState};
use crate::{ByteRange, OutBuf};

/// The smallest size of a request without a hint, in bytes.
const LEAST: u64 = 64 << 10;

/// The largest size of a request, in bytes. Longer ranges become several parallel requests.
const PIECE: u64 = 1 << 20;

/// The largest read-ahead, in bytes.
const AHEAD: u64 = 8 << 20;

/// The capacity of the cache, in bytes.
const KEPT: u64 = 64 << 20;

/// Ranges at most this many bytes apart are always joined.
const GAP: u64 = 8 << 10;

/// Ranges more than this many bytes apart are never joined.
const WIDE: u64 = 64 << 10;

/// The total size of gaps that are read between structures of a file.
const SPARE: u64 = 256 << 10;

/// The smallest read of a structure: most are hardly longer.
const STRUCTURE: u64 = 4 << 10;

/// A round that misses at most this many ranges also reads bytes around each, since related structures are
/// often near.
const FEW: usize = 4;
const AROUND: u64 = 16 << 10;

/// The limits of rounds and of bytes read in them. Beyond them reads run one by one.
const ROUNDS: (usize, u64) = (64, KEPT / 2);

/// A remote file with read-ahead and a cache, for any number of threads.
pub struct ReadAhead {
    source: Arc<dyn ByteSource>,
    shared: Arc<ReadAheadShared>,
}

#[derive(Default)]
struct ReadAheadShared {
    known: Mutex<ReadAheadState>,
    came: Condvar,
}

#[derive(Default)]
struct ReadAheadState {
    stretches: RangeCache,
    /// The ranges that this round missed.
    missed: Option<Vec<Range<u64>>>,
}

impl ReadAheadShared {
    fn lock(&self) -> MutexGuard<'_, ReadAheadState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadAhead {
    /// Creates a reader of this file.
    pub fn new(source: Arc<dyn ByteSource>) -> Self {
        Self { source, shared: Arc::default() }
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> u64 {
        self.source.len()
    }

    /// Whether the file is empty.
    pub fn is_empty(&self) -> bool {
        self.source.is_empty()
    }

    /// Appends bytes from `offset` on to `out`, until `out` is full or the file ends.
    ///
    /// # Errors
    /// As [`ByteSource::read`].
    pub fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let mut at = offset;
        let end = offset.saturating_add(out.remaining() as u64).min(self.len());
        while at < end {
            let until = end.min(at.saturating_add(AHEAD));
            // The next bytes arrive while this thread waits.
            self.want(at..end.min(until.saturating_add(AHEAD)))?;
            while at < until {
                let (start, bytes) = self.wait(at)?;
                let from = usize::try_from(at - start).unwrap_or(usize::MAX);
                let take = (until - at).min(bytes.len().saturating_sub(from) as u64) as usize;
                if take == 0 {
                    let what = format!("{} bytes came from {start} on, where byte {at} is", bytes.len());
                    return Err(ErrorKind::Internal.context(what));
                }
                out.put(&bytes[from..from + take])?;
                at += take as u64;
            }
        }
        Ok(())
    }

    /// Requests ranges that will be read soon, all at once and near ones together, without waiting. Joined
    /// gaps may total `spare` bytes, or 8 KiB each. The ranges should total at most some megabytes, since the
    /// cache is small.
    pub fn prefetch(&self, ranges: impl IntoIterator<Item = Range<u64>>, spare: u64) {
        let mut known = self.shared.lock();
        let ranges = ranges.into_iter().filter(|range| range.start < range.end);
        if let ReadAheadState { stretches, missed: Some(missed) } = &mut *known {
            missed.extend(ranges.flat_map(|range| stretches.missing(range)));
            return;
        }
        let joined = join(ranges.collect(), spare, self.len());
        let missing = joined.into_iter().flat_map(|range| known.stretches.missing(range)).collect();
        self.begin(known, missing);
    }

    /// Whether a range is present or requested.
    pub fn is_requested(&self, range: Range<u64>) -> bool {
        self.shared.lock().stretches.missing(range.start..range.end.min(self.len())).is_empty()
    }

    /// Runs `work` repeatedly until all bytes that it reads are present. A read of missing bytes fails at
    /// once, and the result of that run is discarded. Then all missed ranges are requested together. Work
    /// that continues after a failure takes as many round trips as its longest chain of references.
    ///
    /// No other thread may read meanwhile, and `work` must start again each time.
    ///
    /// # Errors
    /// As [`ByteSource::read`].
    pub fn run_in_rounds<T>(&self, work: impl Fn() -> T) -> Result<T> {
        let (rounds, mut left) = ROUNDS;
        for _ in 0..rounds {
            self.shared.lock().missed = Some(Vec::new());
            let found = work();
            let missed = self.shared.lock().missed.take().unwrap_or_default();
            if missed.is_empty() {
                return Ok(found);
            }
            let mut missed = join(missed, SPARE, self.len());
            if missed.len() <= FEW {
                let around =
                    |range: Range<u64>| range.start.saturating_sub(AROUND)..range.end.saturating_add(AROUND);
                missed = join(missed.into_iter().map(around).collect(), SPARE, self.len());
            }
            let bytes = missed.iter().map(|range| range.end - range.start).sum();
            let Some(rest) = left.checked_sub(bytes) else { break };
            left = rest;
            self.prefetch(missed.iter().cloned(), 0);
            for range in missed {
                let mut at = range.start;
                while at < range.end {
                    let (start, bytes) = self.wait(at)?;
                    at = at.max(start + bytes.len().max(1) as u64);
                }
            }
        }
        Ok(work())
    }

    /// Requests a range, and the bytes that are probably read next, unless they are present or requested.
    fn want(&self, range: Range<u64>) -> Result<()> {
        let mut known = self.shared.lock();
        let missing = known.stretches.missing(range.clone());
        let Some(first) = missing.first() else { return Ok(()) };
        if let Some(missed) = &mut known.missed {
            let end = range.end.max(range.start.saturating_add(STRUCTURE)).min(self.source.len());
            missed.push(first.start..end);
            return Err(ErrorKind::Internal.context("bytes that are read in the next round"));
        }
        if missing.last().is_some_and(|last| last.end < range.end) {
            self.begin(known, missing);
            return Ok(());
        }
        // A sequential reader probably continues.
        let more = known.stretches.before(first.start, AHEAD).max(LEAST);
        let end = range.end.max(first.start.saturating_add(more)).min(self.len());
        let missing = known.stretches.missing(first.start..end);
        self.begin(known, missing);
        Ok(())
    }

    /// Requests missing ranges.
    fn begin(&self, mut known: MutexGuard<'_, ReadAheadState>, missing: Vec<Range<u64>>) {
        let kept = self.source.prefetched_range();
        let mut asked = Vec::new();
        for range in missing {
            let mut at = range.start;
            while at < range.end {
                let mut end = range.end.min(at.saturating_add(PIECE));
                // Bytes that the source holds need no request of their own.
                for border in [kept.start, kept.end] {
                    if at < border {
                        end = end.min(border);
                    }
                }
                known.stretches.coming(&(at..end));
                asked.push(at..end);
                at = end;
            }
        }
        // A source that answers at once takes the lock in its callback.
        drop(known);
        for range in asked {
            let shared = Arc::clone(&self.shared);
            let (start, len) = (range.start, range.end - range.start);
            self.source.start_read(
                ByteRange::new(start, len),
                Box::new(move |read| {
                    shared.lock().stretches.came(start, read, KEPT);
                    shared.came.notify_all();
                }),
            );
        }
    }

    /// Waits for the range that contains a byte. Returns its start and its bytes.
    fn wait(&self, at: u64) -> Result<(u64, Arc<Vec<u8>>)> {
        let mut known = self.shared.lock();
        loop {
            let failed = match known.stretches.holding(at) {
                Some((start, RangeState::Here(bytes))) => return Ok((start, Arc::clone(bytes))),
                Some((_, RangeState::Coming)) => None,
                Some((start, RangeState::Failed(error))) => Some((start, error.clone())),
                // The range was evicted before this thread woke up, or another thread took its error.
                None => {
                    let missing = known.stretches.missing(at..at.saturating_add(LEAST).min(self.len()));
                    self.begin(known, missing);
                    known = self.shared.lock();
                    continue;
                }
            };
            // The next reader requests it again.
            if let Some((start, error)) = failed {
                known.stretches.forget(start);
                if error.kind() != ErrorKind::Cancelled {
                    return Err(error);
                }
                // The call that requested it was stopped. That may be another one.
                StopSignal::check_current()?;
                continue;
            }
            known = self.shared.came.wait(known).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Sorts ranges, cuts them at `end` and joins near ones: those at most [`GAP`] bytes apart, then the nearest
/// others while the joined gaps total at most `spare` bytes.
fn join(mut ranges: Vec<Range<u64>>, spare: u64, end: u64) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut apart: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        let range = range.start..range.end.min(end);
        match apart.last_mut() {
            _ if range.is_empty() => {}
            Some(last) if range.start <= last.end.saturating_add(GAP) => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    let mut gaps: Vec<u64> = apart.windows(2).map(|pair| pair[1].start - pair[0].end).collect();
    gaps.sort_unstable();
    let (mut left, mut widest) = (spare, 0);
    for gap in gaps {
        let Some(rest) = left.checked_sub(gap).filter(|_| gap <= WIDE) else { break };
        (left, widest) = (rest, gap);
    }
    let mut left = spare;
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in apart {
        match joined.last_mut() {
            // Several gaps of that width may not all fit.
            Some(last) if range.start - last.end <= widest.min(left) => {
                left -= range.start - last.end;
                last.end = range.end;
            }
            _ => joined.push(range),
        }
    }
    joined
}

impl fmt::Debug for ReadAhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadAhead").field("source", &self.source).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::source::ReadCallback;

    /// Bytes that encode their position, some of them in memory. The source records requests, and the next
    /// one may fail.
    #[derive(Debug)]
    struct Numbered {
        len: u64,
        hand: u64,
        asked: Mutex<Vec<(u64, u64)>>,
        fails: AtomicBool,
    }

    impl Numbered {
        fn new(len: u64) -> Self {
            Self { len, hand: 0, asked: Mutex::default(), fails: AtomicBool::new(false) }
        }

        fn asked(&self) -> Vec<(u64, u64)> {
            std::mem::take(&mut *self.asked.lock().unwrap())
        }
    }

    fn byte(at: u64) -> u8 {
        (at ^ at >> 8 ^ at >> 16) as u8
    }

    impl ByteSource for Numbered {
        fn len(&self) -> u64 {
            self.len
        }

        fn prefetched_range(&self) -> Range<u64> {
            0..self.hand
        }

        fn start_read(&self, range: ByteRange, then: ReadCallback) {
            let end = range.offset.saturating_add(range.len.unwrap_or(0)).min(self.len);
            let bytes = (range.offset..end).map(byte).collect();
            if end <= self.hand {
                return then(Ok(bytes));
            }
            self.asked.lock().unwrap().push((range.offset, end));
            if self.fails.swap(false, Ordering::Relaxed) {
                return then(Err(ErrorKind::Io.into()));
            }
            std::thread::spawn(move || then(Ok(bytes)));
        }
    }

    fn read(ahead: &ReadAhead, at: u64, len: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        let mut out = OutBuf::from_slice(&mut bytes);
        ahead.read_at(at, &mut out)?;
        let filled = out.filled().len();
        bytes.truncate(filled);
        Ok(bytes)
    }

    #[test]
    fn reads_return_the_bytes_of_the_source() {
        let len = 50 * PIECE + 77;
        let ahead = ReadAhead::new(Arc::new(Numbered { hand: 1000, ..Numbered::new(len) }));
        for (at, size) in [
            (0, 10),
            (990, 20),
            (PIECE - 3, 7),
            (5, PIECE as usize * 12),
            (len - 5, 20),
            (len + 9, 4),
            (len / 2, 9),
        ] {
            let expected: Vec<u8> = (at..len.min(at + size as u64)).map(byte).collect();
            assert!(read(&ahead, at, size).unwrap() == expected, "{at} {size}");
        }
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let ahead = &ahead;
                scope.spawn(move || {
                    for piece in 0..200 {
                        let at = (thread * 50 + piece) * PIECE / 4;
                        ahead.prefetch([at + PIECE..at + PIECE + 500, at..at + 50], 0);
                        let expected: Vec<u8> = (at..len.min(at + 99)).map(byte).collect();
                        assert_eq!(read(ahead, at, 99).unwrap(), expected);
                    }
                });
            }
        });
        assert!(ahead.shared.lock().stretches.counted().1 <= KEPT);
    }

    #[test]
    fn prefetched_ranges_are_requested_once() {
        let source = Arc::new(Numbered { hand: 100, ..Numbered::new(1 << 30) });
        let ahead = ReadAhead::new(source.clone());
        let far = 1 << 20;
        ahead.prefetch([far..far + 1000, 50..200, far + 2000..far + 3000, 3 * far..3 * far + 5], 0);
        assert_eq!(source.asked(), [(100, 200), (far, far + 3000), (3 * far, 3 * far + 5)]);
        for (at, len) in [(50, 150), (far, 3000), (3 * far, 5), (10, 60)] {
            read(&ahead, at, len).unwrap();
        }
        ahead.prefetch([far + 10..far + 20, far + 2000..far + 2500], 0);
        assert!(ahead.is_requested(far..far + 3000) && !ahead.is_requested(far..far + 3001));
        assert_eq!(source.asked(), []);
    }

    #[test]
    fn the_nearest_are_joined_as_long_as_little_lies_between() {
        let kib = |at: u64| at << 10;
        // The gaps are 9, 30, 9, 50 and 2 KiB.
        let ranges =
            [0..10, 19..20, 50..51, 60..70, 120..121, 123..125].map(|range| kib(range.start)..kib(range.end));
        for (spare, expected) in [
            (0, &[(0, 10), (19, 20), (50, 51), (60, 70), (120, 125)][..]),
            (9, &[(0, 20), (50, 51), (60, 70), (120, 125)]),
            (18, &[(0, 20), (50, 70), (120, 125)]),
            (47, &[(0, 20), (50, 70), (120, 125)]),
            (48, &[(0, 70), (120, 125)]),
            (98, &[(0, 125)]),
        ] {
            let joined = join(ranges.to_vec(), kib(spare), kib(200));
            let joined: Vec<_> = joined.iter().map(|range| (range.start >> 10, range.end >> 10)).collect();
            assert_eq!(joined, expected, "{spare}");
        }
        assert_eq!(join(vec![5..9, 0..7, 3..3, 8..100_000], 0, 20), [Range { start: 0, end: 20 }]);
    }

    #[test]
    fn more_and_more_is_read_where_reads_follow_one_another() {
        let source = Arc::new(Numbered::new(1 << 30));
        let ahead = ReadAhead::new(source.clone());
        for at in 0..1024u64 {
            read(&ahead, at * 4096, 4096).unwrap();
        }
        let asked = source.asked();
        assert!(asked.len() < 15 && asked.iter().all(|(from, to)| to - from <= PIECE), "{asked:?}");
        read(&ahead, 1 << 29, 5).unwrap();
        assert_eq!(source.asked(), [(1 << 29, (1 << 29) + LEAST)]);
    }

    #[test]
    fn a_round_asks_for_all_that_one_missed() {
        let source = Arc::new(Numbered::new(1 << 30));
        let ahead = ReadAhead::new(source.clone());
        // There are three places. Each one leads to another.
        let far = 1 << 20;
        let chain = |from: u64| read(&ahead, from, 10).and_then(|_| read(&ahead, from + 10 * far, 10));
        let sum = |bytes: &Result<Vec<u8>>| bytes.as_ref().map_or(0, |bytes| u64::from(bytes[0]));
        let found =
            ahead.run_in_rounds(|| [chain(far), chain(2 * far), chain(3 * far)].iter().map(sum).sum::<u64>());
        assert_eq!(found.unwrap(), (11..14).map(|at| u64::from(byte(at * far))).sum::<u64>());
        let places: Vec<u64> = source.asked().iter().map(|(from, _)| (from + AROUND) / far).collect();
        assert_eq!(places, [1, 2, 3, 11, 12, 13]);
        // Endless work continues without rounds.
        let end = ahead.run_in_rounds(|| (0..200).try_for_each(|at| read(&ahead, at * far, 1).map(drop)));
        end.unwrap().unwrap();
    }

    #[test]
    fn a_failure_is_reported_once() {
        let source = Arc::new(Numbered::new(10));
        let ahead = ReadAhead::new(source.clone());
        for rounds in [false, true] {
            source.fails.store(true, Ordering::Relaxed);
            let failed = if rounds {
                ahead.run_in_rounds(|| drop(read(&ahead, 0, 3)))
            } else {
                read(&ahead, 2, 3).map(drop)
            };
            assert_eq!(failed.unwrap_err().kind(), ErrorKind::Io);
        }
        assert_eq!(read(&ahead, 2, 3).unwrap(), [2, 3, 4]);
        assert_eq!(ahead.run_in_rounds(|| read(&ahead, 0, 3)).unwrap().unwrap(), [0, 1, 2]);
    }
}

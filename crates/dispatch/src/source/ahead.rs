//! [`ReadAhead`]: a file elsewhere, read in pieces of any size by any number of threads.
//!
//! A request takes far longer than its bytes do. So those who know what they will read say it before
//! ([`ReadAhead::expect`]): all of it is asked for at once, near ranges together. A reader that follows references through
//! a file runs in rounds ([`ReadAhead::in_rounds`]): each round asks at once for everything that the one before missed.
//! Other reads ask for a little more than they want, and for more and more where reads follow one another.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use nczarr_model::{ErrorKind, Result};

use super::ByteSource;
use super::stretches::{State, Stretches};
use crate::{ByteRange, OutBuf};

/// Bytes of a request, at least, where nothing else is known.
const LEAST: u64 = 64 << 10;

/// Bytes of a request, at most; more are asked for at once in several.
const PIECE: u64 = 1 << 20;

/// Bytes that are asked for before they are wanted, at most.
const AHEAD: u64 = 8 << 20;

/// Bytes that are kept.
const KEPT: u64 = 64 << 20;

/// Bytes between two ranges that are rather read than asked for apart, however many there are.
const GAP: u64 = 8 << 10;

/// Bytes between two ranges that are never worth it.
const WIDE: u64 = 64 << 10;

/// Bytes between structures of a file that are rather read than asked for apart, all together.
const SPARE: u64 = 256 << 10;

/// Bytes of such a structure that are read at least: most are not much longer.
const STRUCTURE: u64 = 4 << 10;

/// In a round that misses no more than so many ranges, so many bytes before and behind each are read too: what comes next
/// is often near.
const FEW: usize = 4;
const AROUND: u64 = 16 << 10;

/// Rounds, and bytes read in them, beyond which reading goes on one by one.
const ROUNDS: (usize, u64) = (64, KEPT / 2);

/// A file elsewhere that is read in small pieces, by any number of threads.
pub struct ReadAhead {
    source: Arc<dyn ByteSource>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    known: Mutex<Known>,
    came: Condvar,
}

#[derive(Default)]
struct Known {
    stretches: Stretches,
    /// The ranges that this round missed.
    missed: Option<Vec<Range<u64>>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadAhead {
    /// Reads this file so.
    pub fn new(source: Arc<dyn ByteSource>) -> Self {
        Self { source, shared: Arc::default() }
    }

    /// How many bytes there are.
    pub fn len(&self) -> u64 {
        self.source.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.source.is_empty()
    }

    /// Appends bytes from `offset` on to `out`, at most [`OutBuf::room`]; fewer only where the file ends.
    ///
    /// # Errors
    /// As [`ByteSource::read`].
    pub fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let mut at = offset;
        let end = offset.saturating_add(out.room() as u64).min(self.len());
        while at < end {
            let until = end.min(at.saturating_add(AHEAD));
            // The next bytes arrive while this waits.
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

    /// Says which ranges will be read soon: those that are not here yet are asked for, all at once, and near ones together.
    /// Of what lies between them no more than `spare` bytes are read, or 8 KiB for each. It does not wait for them. They
    /// should be no more than some megabytes, since few are kept.
    pub fn expect(&self, ranges: impl IntoIterator<Item = Range<u64>>, spare: u64) {
        let mut known = self.shared.lock();
        let ranges = ranges.into_iter().filter(|range| range.start < range.end);
        if let Known { stretches, missed: Some(missed) } = &mut *known {
            missed.extend(ranges.flat_map(|range| stretches.missing(range)));
            return;
        }
        let joined = join(ranges.collect(), spare, self.len());
        let missing = joined.into_iter().flat_map(|range| known.stretches.missing(range)).collect();
        self.begin(known, missing);
    }

    /// Whether a range is here or on its way.
    pub fn has(&self, range: Range<u64>) -> bool {
        self.shared.lock().stretches.missing(range.start..range.end.min(self.len())).is_empty()
    }

    /// Runs `work`, and again until all it reads is here. A read of what is not here fails at once, whatever it fails with
    /// is not the answer; what was missed is then asked for, all at once. So work that goes on after a failure, with what
    /// does not depend on it, takes as many round trips as its longest chain of references.
    ///
    /// Nothing else may read meanwhile, and `work` must begin anew each time.
    ///
    /// # Errors
    /// As [`ByteSource::read`].
    pub fn in_rounds<T>(&self, work: impl Fn() -> T) -> Result<T> {
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
                let around = |range: Range<u64>| range.start.saturating_sub(AROUND)..range.end.saturating_add(AROUND);
                missed = join(missed.into_iter().map(around).collect(), SPARE, self.len());
            }
            let bytes = missed.iter().map(|range| range.end - range.start).sum();
            let Some(rest) = left.checked_sub(bytes) else { break };
            left = rest;
            self.expect(missed.iter().cloned(), 0);
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

    /// Sees to it that a range is here or on its way, and what is probably read next.
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
        // A reader that read all bytes before it probably reads on.
        let more = known.stretches.before(first.start, AHEAD).max(LEAST);
        let end = range.end.max(first.start.saturating_add(more)).min(self.len());
        let missing = known.stretches.missing(first.start..end);
        self.begin(known, missing);
        Ok(())
    }

    /// Asks for ranges that are missing.
    fn begin(&self, mut known: MutexGuard<'_, Known>, missing: Vec<Range<u64>>) {
        let kept = self.source.at_hand();
        let mut asked = Vec::new();
        for range in missing {
            let mut at = range.start;
            while at < range.end {
                let mut end = range.end.min(at.saturating_add(PIECE));
                // Bytes that the source holds are not requested again.
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
        // A source that answers at once takes the lock.
        drop(known);
        for range in asked {
            let shared = Arc::clone(&self.shared);
            let (start, len) = (range.start, range.end - range.start);
            self.source.start(
                ByteRange::new(start, len),
                Box::new(move |read| {
                    shared.lock().stretches.came(start, read, KEPT);
                    shared.came.notify_all();
                }),
            );
        }
    }

    /// The stretch that holds a byte, with where it begins.
    fn wait(&self, at: u64) -> Result<(u64, Arc<Vec<u8>>)> {
        let mut known = self.shared.lock();
        loop {
            let failed = match known.stretches.holding(at) {
                Some((start, State::Here(bytes))) => return Ok((start, Arc::clone(bytes))),
                Some((_, State::Coming)) => None,
                Some((start, State::Failed(error))) => Some((start, error.clone())),
                // It was given back before this thread woke up, or another one took its failure.
                None => {
                    let missing = known.stretches.missing(at..at.saturating_add(LEAST).min(self.len()));
                    self.begin(known, missing);
                    known = self.shared.lock();
                    continue;
                }
            };
            // The next who wants it asks again.
            if let Some((start, error)) = failed {
                known.stretches.forget(start);
                return Err(error);
            }
            known = self.shared.came.wait(known).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Ranges in order, as far as they lie before `end`, near ones joined: those that are no more than [`GAP`] apart, and the
/// nearest of the others as long as no more than `spare` bytes lie between them in all.
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
            // Of several that are as wide not all may fit.
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
    use crate::WhenRead;

    /// Bytes that encode their position. Some are at hand. It records requests, and the next one may fail.
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

        fn at_hand(&self) -> Range<u64> {
            0..self.hand
        }

        fn start(&self, range: ByteRange, then: WhenRead) {
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
        let mut out = OutBuf::over(&mut bytes);
        ahead.read_at(at, &mut out)?;
        let filled = out.filled().len();
        bytes.truncate(filled);
        Ok(bytes)
    }

    #[test]
    fn whatever_is_read_is_what_is_there() {
        let len = 50 * PIECE + 77;
        let ahead = ReadAhead::new(Arc::new(Numbered { hand: 1000, ..Numbered::new(len) }));
        for (at, size) in
            [(0, 10), (990, 20), (PIECE - 3, 7), (5, PIECE as usize * 12), (len - 5, 20), (len + 9, 4), (len / 2, 9)]
        {
            let expected: Vec<u8> = (at..len.min(at + size as u64)).map(byte).collect();
            assert!(read(&ahead, at, size).unwrap() == expected, "{at} {size}");
        }
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let ahead = &ahead;
                scope.spawn(move || {
                    for piece in 0..200 {
                        let at = (thread * 50 + piece) * PIECE / 4;
                        ahead.expect([at + PIECE..at + PIECE + 500, at..at + 50], 0);
                        let expected: Vec<u8> = (at..len.min(at + 99)).map(byte).collect();
                        assert_eq!(read(ahead, at, 99).unwrap(), expected);
                    }
                });
            }
        });
        assert!(ahead.shared.lock().stretches.counted().1 <= KEPT);
    }

    #[test]
    fn what_is_expected_is_asked_for_once_and_no_more() {
        let source = Arc::new(Numbered { hand: 100, ..Numbered::new(1 << 30) });
        let ahead = ReadAhead::new(source.clone());
        let far = 1 << 20;
        ahead.expect([far..far + 1000, 50..200, far + 2000..far + 3000, 3 * far..3 * far + 5], 0);
        assert_eq!(source.asked(), [(100, 200), (far, far + 3000), (3 * far, 3 * far + 5)]);
        for (at, len) in [(50, 150), (far, 3000), (3 * far, 5), (10, 60)] {
            read(&ahead, at, len).unwrap();
        }
        ahead.expect([far + 10..far + 20, far + 2000..far + 2500], 0);
        assert!(ahead.has(far..far + 3000) && !ahead.has(far..far + 3001));
        assert_eq!(source.asked(), []);
    }

    #[test]
    fn the_nearest_are_joined_as_long_as_little_lies_between() {
        let kib = |at: u64| at << 10;
        // Gaps of 9, 30, 9, 50 and 2 KiB.
        let ranges = [0..10, 19..20, 50..51, 60..70, 120..121, 123..125].map(|range| kib(range.start)..kib(range.end));
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
        // Three places; each leads to another one.
        let far = 1 << 20;
        let chain = |from: u64| read(&ahead, from, 10).and_then(|_| read(&ahead, from + 10 * far, 10));
        let sum = |bytes: &Result<Vec<u8>>| bytes.as_ref().map_or(0, |bytes| u64::from(bytes[0]));
        let found = ahead.in_rounds(|| [chain(far), chain(2 * far), chain(3 * far)].iter().map(sum).sum::<u64>());
        assert_eq!(found.unwrap(), (11..14).map(|at| u64::from(byte(at * far))).sum::<u64>());
        let places: Vec<u64> = source.asked().iter().map(|(from, _)| (from + AROUND) / far).collect();
        assert_eq!(places, [1, 2, 3, 11, 12, 13]);
        // Work without an end goes on without rounds.
        let end = ahead.in_rounds(|| (0..200).try_for_each(|at| read(&ahead, at * far, 1).map(drop)));
        end.unwrap().unwrap();
    }

    #[test]
    fn a_failure_is_told_once() {
        let source = Arc::new(Numbered::new(10));
        let ahead = ReadAhead::new(source.clone());
        for rounds in [false, true] {
            source.fails.store(true, Ordering::Relaxed);
            let failed = match rounds {
                false => read(&ahead, 2, 3).map(drop),
                true => ahead.in_rounds(|| drop(read(&ahead, 0, 3))),
            };
            assert_eq!(failed.unwrap_err().kind(), ErrorKind::Io);
        }
        assert_eq!(read(&ahead, 2, 3).unwrap(), [2, 3, 4]);
        assert_eq!(ahead.in_rounds(|| read(&ahead, 0, 3)).unwrap().unwrap(), [0, 1, 2]);
    }
}

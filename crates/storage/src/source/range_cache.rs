//! [`RangeCache`]: the ranges of a remote file that are present or requested.
//!
//! It requests nothing and does not wait; `read_ahead` does.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use nczarr_model::Error;

/// The state of a range.
#[derive(Debug)]
pub(super) enum RangeState {
    Coming,
    Here(Arc<Vec<u8>>),
    Failed(Error),
}

#[derive(Debug)]
struct CachedRange {
    end: u64,
    state: RangeState,
    /// The time of the last use, counted.
    wanted: u64,
}

/// The known ranges of a file. They do not overlap.
#[derive(Debug, Default)]
pub(super) struct RangeCache {
    /// By their first byte.
    found: BTreeMap<u64, CachedRange>,
    now: u64,
    /// The bytes that are present.
    kept: u64,
}

impl RangeCache {
    /// Returns the parts of a range that are neither present nor requested.
    pub(super) fn missing(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut missing = Vec::new();
        let mut at = range.start;
        let before = self.found.range(..=at).next_back();
        let within = self.found.range(at.saturating_add(1)..range.end.max(at.saturating_add(1)));
        for (&start, stretch) in before.into_iter().chain(within) {
            if start > at {
                missing.push(at..start);
            }
            at = at.max(stretch.end);
        }
        if at < range.end {
            missing.push(at..range.end);
        }
        missing
    }

    /// Records a request. The whole range was missing.
    pub(super) fn coming(&mut self, range: &Range<u64>) {
        let stretch = CachedRange { end: range.end, state: RangeState::Coming, wanted: self.now };
        self.found.insert(range.start, stretch);
    }

    /// Records the result of a request. Beyond `most` bytes the least recently used ranges are evicted.
    pub(super) fn came(&mut self, start: u64, read: Result<Vec<u8>, Error>, most: u64) {
        let now = self.now;
        let Some(stretch) = self.found.get_mut(&start) else { return };
        stretch.wanted = now;
        stretch.state = match read {
            Ok(bytes) => {
                self.kept += bytes.len() as u64;
                RangeState::Here(Arc::new(bytes))
            }
            Err(error) => RangeState::Failed(error),
        };
        if self.kept > most {
            self.shrink(most - most / 4);
        }
    }

    fn shrink(&mut self, most: u64) {
        let here = |(&start, stretch): (&u64, &CachedRange)| match stretch.state {
            RangeState::Here(_) => Some((stretch.wanted, start)),
            _ => None,
        };
        let mut oldest: Vec<(u64, u64)> = self.found.iter().filter_map(here).collect();
        oldest.sort_unstable();
        for (_, start) in oldest {
            if self.kept <= most {
                break;
            }
            self.forget(start);
        }
    }

    /// Removes a range.
    pub(super) fn forget(&mut self, start: u64) {
        if let Some(CachedRange { state: RangeState::Here(bytes), .. }) = self.found.remove(&start) {
            self.kept -= bytes.len() as u64;
        }
    }

    /// Returns the range that contains a byte, with its start.
    pub(super) fn holding(&mut self, at: u64) -> Option<(u64, &RangeState)> {
        self.now += 1;
        let now = self.now;
        let (&start, stretch) = self.found.range_mut(..=at).next_back()?;
        if stretch.end <= at {
            return None;
        }
        stretch.wanted = now;
        Some((start, &stretch.state))
    }

    /// Returns the number of known bytes directly before an offset, up to `most`.
    pub(super) fn before(&self, at: u64, most: u64) -> u64 {
        let mut from = at;
        for (&start, stretch) in self.found.range(..at).rev() {
            if stretch.end != from || at - from >= most {
                break;
            }
            from = start;
        }
        (at - from).min(most)
    }

    /// Returns the number of ranges, and the bytes that are present.
    #[cfg(test)]
    pub(super) fn counted(&self) -> (usize, u64) {
        (self.found.len(), self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_ranges_are_the_gaps_between_known_ranges() {
        let mut known = RangeCache::default();
        for range in [10..20, 20..25, 40..50] {
            known.coming(&range);
        }
        for (asked, missing) in [
            (0..60, &[(0, 10), (25, 40), (50, 60)][..]),
            (12..18, &[]),
            (10..25, &[]),
            (24..41, &[(25, 40)]),
            (0..10, &[(0, 10)]),
            (25..40, &[(25, 40)]),
            (50..51, &[(50, 51)]),
            (5..5, &[]),
        ] {
            let found: Vec<(u64, u64)> =
                known.missing(asked.clone()).into_iter().map(|range| (range.start, range.end)).collect();
            assert_eq!(found, missing, "{asked:?}");
        }
        assert_eq!((known.before(25, 99), known.before(25, 3), known.before(30, 99)), (15, 3, 0));
        assert!(known.holding(9).is_none() && known.holding(25).is_none());
        assert_eq!(known.holding(24).map(|(start, _)| start), Some(20));
    }

    #[test]
    fn the_least_recently_used_range_is_evicted_first() {
        let mut known = RangeCache::default();
        for start in 0..10u64 {
            known.coming(&(start * 10..start * 10 + 10));
            known.came(start * 10, Ok(vec![0; 10]), 100);
            known.holding(5);
        }
        known.coming(&(100..110));
        known.came(100, Ok(vec![0; 10]), 100);
        assert_eq!(known.counted(), (7, 70));
        assert!(known.holding(5).is_some() && known.holding(15).is_none() && known.holding(100).is_some());
    }
}

//! [`Stretches`]: which bytes of a file elsewhere are here, which are on their way, and which are missing.
//!
//! It asks for nothing and waits for nothing: that is done in `ahead`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use nczarr_model::Error;

/// One stretch: its bytes, or what became of the request for them.
#[derive(Debug)]
pub(super) enum State {
    Coming,
    Here(Arc<Vec<u8>>),
    Failed(Error),
}

#[derive(Debug)]
struct Stretch {
    end: u64,
    state: State,
    /// When it was wanted last, counted.
    wanted: u64,
}

/// The known stretches of a file. They do not overlap.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    /// By their first byte.
    found: BTreeMap<u64, Stretch>,
    now: u64,
    /// Bytes that are here.
    kept: u64,
}

impl Stretches {
    /// The parts of a range that are neither here nor on their way.
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

    /// Records that a range is on its way. All of it was missing.
    pub(super) fn coming(&mut self, range: &Range<u64>) {
        let stretch = Stretch { end: range.end, state: State::Coming, wanted: self.now };
        self.found.insert(range.start, stretch);
    }

    /// Notes what became of a request. Bytes beyond `most` are dropped, the least recently used first.
    pub(super) fn came(&mut self, start: u64, read: Result<Vec<u8>, Error>, most: u64) {
        let now = self.now;
        let Some(stretch) = self.found.get_mut(&start) else { return };
        stretch.wanted = now;
        stretch.state = match read {
            Ok(bytes) => {
                self.kept += bytes.len() as u64;
                State::Here(Arc::new(bytes))
            }
            Err(error) => State::Failed(error),
        };
        if self.kept > most {
            self.shrink(most - most / 4);
        }
    }

    fn shrink(&mut self, most: u64) {
        let here = |(&start, stretch): (&u64, &Stretch)| match stretch.state {
            State::Here(_) => Some((stretch.wanted, start)),
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

    /// Forgets a stretch.
    pub(super) fn forget(&mut self, start: u64) {
        if let Some(Stretch { state: State::Here(bytes), .. }) = self.found.remove(&start) {
            self.kept -= bytes.len() as u64;
        }
    }

    /// The stretch that holds a byte, with where it begins.
    pub(super) fn holding(&mut self, at: u64) -> Option<(u64, &State)> {
        self.now += 1;
        let now = self.now;
        let (&start, stretch) = self.found.range_mut(..=at).next_back()?;
        if stretch.end <= at {
            return None;
        }
        stretch.wanted = now;
        Some((start, &stretch.state))
    }

    /// How many bytes are known without a gap before a place, counted up to `most`.
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

    /// How many stretches there are, and how many bytes of them are here.
    #[cfg(test)]
    pub(super) fn counted(&self) -> (usize, u64) {
        (self.found.len(), self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_lies_between_what_is_known() {
        let mut known = Stretches::default();
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
    fn what_nobody_wanted_for_longest_goes_first() {
        let mut known = Stretches::default();
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

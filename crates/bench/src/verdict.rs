//! [`verdict`]: the rule that compares two runs.

use crate::Summary;

/// The smallest number of rounds that can be compared.
const ROUNDS: usize = 5;
/// The smallest ratio of medians that counts as a difference on a machine of constant speed.
pub const MARGIN: f64 = 1.05;
/// The limit of the rank test, in standard deviations: equal runs exceed it in 1 % of all cases.
const DEVIATIONS: f64 = 2.58;

/// The result of a comparison with a baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It takes less time than before.
    Faster,
    /// It takes more time than before.
    Slower,
    /// The times show no difference, or there are too few.
    CannotTell,
}

impl Verdict {
    /// Returns the words for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// Compares the times of two runs, one value for each round.
///
/// The result is [`Verdict::CannotTell`] unless all of this holds:
/// * each run has at least 5 rounds;
/// * the ratio of the medians is above `margin`, such as [`MARGIN`] or the result of [`machine_margin`];
/// * the ranges between the quartiles do not overlap;
/// * the rank test of Mann and Whitney finds a difference at the level of 1 %.
///
/// The quartiles keep single slow rounds out. The rank test keeps chance out when there are few rounds. The
/// margin keeps the speed of the machine out.
///
/// ```
/// use nczarr_bench::{MARGIN, Verdict, verdict};
/// let before = [1.00, 1.02, 0.99, 1.01, 1.90];
/// assert_eq!(verdict(&before, &[0.80, 0.81, 0.79, 0.82, 0.80], MARGIN), Verdict::Faster);
/// assert_eq!(verdict(&before, &[1.01, 0.98, 1.03, 1.00, 1.70], MARGIN), Verdict::CannotTell);
/// ```
pub fn verdict(before: &[f64], now: &[f64], margin: f64) -> Verdict {
    if before.len() < ROUNDS || now.len() < ROUNDS {
        return Verdict::CannotTell;
    }
    let (old, new) = (Summary::of(before), Summary::of(now));
    let rank = rank_difference(before, now);
    if old.p50 > new.p50 * margin && new.p75 < old.p25 && rank > DEVIATIONS {
        Verdict::Faster
    } else if new.p50 > old.p50 * margin && old.p75 < new.p25 && -rank > DEVIATIONS {
        Verdict::Slower
    } else {
        Verdict::CannotTell
    }
}

/// Returns the margin for two runs: [`MARGIN`], multiplied by the square of the ratio of the machine's
/// speeds.
///
/// `before` and `now` are the times of the same fixed work during each run. The ratio is that of the longest
/// and the shortest time of both, so a machine that is slow at times gives a wide margin. The square is there
/// because other work can change more than the fixed one: it can take twice as long where a computation takes
/// 1.7 times as long. If one run has no times, the result is [`MARGIN`].
///
/// ```
/// use nczarr_bench::{MARGIN, machine_margin};
/// assert_eq!(machine_margin(&[2.0, 2.0], &[2.0, 2.0]), MARGIN);
/// assert_eq!(machine_margin(&[2.0, 2.0], &[3.0, 3.0]), MARGIN * 1.5 * 1.5);
/// ```
pub fn machine_margin(before: &[f64], now: &[f64]) -> f64 {
    if before.is_empty() || now.is_empty() {
        return MARGIN;
    }
    let all = || before.iter().chain(now).copied();
    let ratio = all().fold(f64::MIN, f64::max) / all().fold(f64::MAX, f64::min);
    MARGIN * ratio * ratio
}

/// Returns by how many standard deviations more pairs than half have the shorter time in `now`.
fn rank_difference(before: &[f64], now: &[f64]) -> f64 {
    let pairs = before.iter().flat_map(|old| now.iter().map(move |new| old.total_cmp(new)));
    let shorter: f64 = pairs.map(|order| (order as i8 as f64 + 1.0) / 2.0).sum();
    let (n, m) = (before.len() as f64, now.len() as f64);
    (shorter - n * m / 2.0) / (n * m * (n + m + 1.0) / 12.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudo-random times around `middle`: 10 % of noise, and every tenth one is up to three times longer.
    fn noisy(seed: u64, middle: f64, rounds: usize) -> Vec<f64> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..rounds)
            .map(|_| {
                let noise = 0.9 + 0.2 * random();
                let busy = if random() < 0.1 { 1.0 + 2.0 * random() } else { 1.0 };
                middle * noise * busy
            })
            .collect()
    }

    #[test]
    fn noisy_runs_of_equal_speed_have_no_verdict() {
        // Measured one after the other: reads of the same elements from memory.
        let before = [0.412, 0.398, 0.455, 0.401, 0.629, 0.407, 0.399, 0.431, 0.404];
        let now = [0.421, 0.409, 0.391, 0.502, 0.418, 0.396, 0.415, 0.433, 0.744];
        assert_eq!(verdict(&before, &now, MARGIN), Verdict::CannotTell);
        assert_eq!(verdict(&now, &before, MARGIN), Verdict::CannotTell);
        for rounds in [5, 9, 30] {
            let wrong = (0..1000)
                .filter(|seed| {
                    let runs = [2 * seed + 1, 2 * seed + 2].map(|seed| noisy(seed, 1.0, rounds));
                    verdict(&runs[0], &runs[1], MARGIN) != Verdict::CannotTell
                })
                .count();
            assert!(wrong <= 10, "{rounds} rounds: {wrong} of 1000 pairs of equal runs have a verdict");
        }
    }

    #[test]
    fn a_large_difference_is_found_in_noise() {
        for rounds in [9, 30] {
            let found = (0..1000)
                .filter(|seed| {
                    let (before, now) = (noisy(2 * seed + 1, 1.0, rounds), noisy(2 * seed + 2, 0.7, rounds));
                    assert_ne!(verdict(&before, &now, MARGIN), Verdict::Slower);
                    verdict(&before, &now, MARGIN) == Verdict::Faster
                        && verdict(&now, &before, MARGIN) == Verdict::Slower
                })
                .count();
            assert!(found >= 800, "{rounds} rounds: found {found} of 1000");
        }
    }

    #[test]
    fn few_rounds_or_small_differences_have_no_verdict() {
        let steady = [1.0, 1.001, 1.002, 1.003, 1.004];
        let by = |ratio: f64| steady.map(|time| time * ratio);
        assert_eq!(verdict(&steady, &by(1.2), MARGIN), Verdict::Slower);
        assert_eq!(verdict(&steady, &by(0.8), MARGIN), Verdict::Faster);
        assert_eq!(verdict(&steady, &by(1.04), MARGIN), Verdict::CannotTell);
        assert_eq!(verdict(&steady, &by(0.97), MARGIN), Verdict::CannotTell);
        assert_eq!(verdict(&steady[..4], &by(2.0), MARGIN), Verdict::CannotTell);
        assert_eq!(verdict(&steady, &by(2.0)[..4], MARGIN), Verdict::CannotTell);
        assert_eq!(verdict(&[], &[], MARGIN), Verdict::CannotTell);
    }

    #[test]
    fn a_busy_machine_widens_the_margin() {
        let (quiet, busy) = ([34.3, 33.1, 35.1, 33.4, 35.0], [44.7, 41.8, 44.0, 35.5, 39.1]);
        let margin = machine_margin(&quiet, &busy);
        assert!((1.9..2.0).contains(&margin) && margin == machine_margin(&busy, &quiet), "{margin}");
        assert_eq!(machine_margin(&[], &busy), MARGIN);
        let steady = [1.0, 1.001, 1.002, 1.003, 1.004];
        let by = |ratio: f64| steady.map(|time| time * ratio);
        assert_eq!(verdict(&steady, &by(1.2), margin), Verdict::CannotTell);
        assert_eq!(verdict(&steady, &by(2.1), margin), Verdict::Slower);
    }

    #[test]
    fn the_rank_difference_is_symmetric() {
        let (low, high) = ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]);
        assert_eq!(rank_difference(&low, &low), 0.0);
        assert_eq!(rank_difference(&high, &low), -rank_difference(&low, &high));
        assert!(rank_difference(&high, &low) > 1.9);
    }
}

//! [`Faults`]: a plan of faults. The same plan and seed make the same requests fail.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use nczarr_model::ErrorKind;

use crate::Op;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The request does not happen, and returns this error.
    Fail(ErrorKind),
    /// The request happens, but returns this error: its answer was lost.
    Late(ErrorKind),
    /// A write stores the first half of its bytes and returns this error. A map must never do that; a reader
    /// must survive storage that does. Other requests: as [`Fault::Fail`].
    Torn(ErrorKind),
    /// A read returns the first half of its bytes without an error. No effect on other requests.
    Short,
    /// The request does not happen, and the map panics.
    Panic,
    /// The request happens, and then the map panics.
    LatePanic,
}

/// Selects the failing requests of a rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// The request with this number; the first is 1.
    Nth(u64),
    /// This request and all that follow.
    From(u64),
    /// Every n-th request: for `Every(3)` the third, the sixth …
    Every(u64),
    /// Each request with this probability, 0 to 1, determined by the seed and its number.
    Chance(f64),
}

/// A plan of faults: rules, each with its own request counter. The first rule with a fault for a request
/// decides.
#[derive(Debug, Default)]
pub struct Faults {
    seed: u64,
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    ops: Vec<Op>,
    when: When,
    fault: Fault,
    count: AtomicU64,
}

impl Faults {
    /// Makes a plan without faults; `seed` is for [`When::Chance`].
    pub fn new(seed: u64) -> Self {
        Self { seed, rules: Vec::new() }
    }

    /// Adds a rule for requests of these methods, such as [`Op::WRITES`]. Each ticket of a batch is a
    /// request.
    #[must_use]
    pub fn with(mut self, ops: &[Op], when: When, fault: Fault) -> Self {
        self.rules.push(Rule { ops: ops.to_vec(), when, fault, count: AtomicU64::new(0) });
        self
    }

    /// Counts a request and returns its fault.
    pub(super) fn next(&self, op: Op) -> Option<Fault> {
        let mut found = None;
        for (i, rule) in self.rules.iter().enumerate().filter(|(_, rule)| rule.ops.contains(&op)) {
            let number = rule.count.fetch_add(1, Relaxed) + 1;
            let hit = match rule.when {
                When::Nth(nth) => number == nth,
                When::From(first) => number >= first,
                When::Every(step) => step > 0 && number % step == 0,
                When::Chance(chance) => chosen(self.seed, i as u64, number) < chance,
            };
            if hit {
                found = found.or(Some(rule.fault));
            }
        }
        found
    }
}

/// Returns a number in [0, 1) for a request: the output function of SplitMix64.
fn chosen(seed: u64, rule: u64, number: u64) -> f64 {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut mix =
        seed.wrapping_add(rule.wrapping_mul(0xD1B5_4A32_D192_ED03)).wrapping_add(number.wrapping_mul(STEP));
    mix = (mix ^ (mix >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mix = (mix ^ (mix >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mix ^ (mix >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_pick_requests_by_their_number() {
        let fault = Fault::Fail(ErrorKind::Io);
        for (when, expected) in [
            (When::Nth(3), vec![3]),
            (When::From(8), vec![8, 9, 10]),
            (When::Every(4), vec![4, 8]),
            (When::Every(0), vec![]),
            (When::Nth(0), vec![]),
            (When::Chance(0.0), vec![]),
            (When::Chance(1.0), (1..=10).collect()),
        ] {
            let plan = Faults::new(1).with(&[Op::Write, Op::Update], when, fault);
            let mut hit = Vec::new();
            for number in 1..=10 {
                assert_eq!(plan.next(Op::Read), None);
                if plan.next(if number % 2 == 0 { Op::Write } else { Op::Update }) == Some(fault) {
                    hit.push(number);
                }
            }
            assert_eq!(hit, expected, "{when:?}");
        }
    }

    #[test]
    fn a_seed_chooses_always_the_same() {
        let run = |seed| -> Vec<bool> {
            let plan = Faults::new(seed).with(Op::READS, When::Chance(0.25), Fault::Short);
            (0..4000).map(|_| plan.next(Op::Read).is_some()).collect()
        };
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
        let hit = run(7).into_iter().filter(|&hit| hit).count();
        assert!((900..1100).contains(&hit), "{hit} of 4000 at a quarter");
    }

    #[test]
    fn the_first_rule_decides_and_all_count() {
        let (first, second) = (Fault::Short, Fault::Torn(ErrorKind::NoMem));
        let plan =
            Faults::new(0).with(&[Op::Write], When::Nth(2), first).with(&[Op::Write], When::From(2), second);
        let seen: Vec<_> = (0..3).map(|_| plan.next(Op::Write)).collect();
        assert_eq!(seen, [None, Some(first), Some(second)]);
    }
}

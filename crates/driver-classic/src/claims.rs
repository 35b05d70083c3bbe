//! [`RecordClaims`]: the written records of a variable, and those that are being written.
//!
//! A writer claims whole records before it writes them, so they need no fill values. Another thread may need
//! them earlier, to count, read or partly write them. It fills them and marks the claim, and the writer then
//! writes again. So no thread waits for a writer that may wait for it.
//!
//! This module only keeps record numbers; `growth` fills and writes the records.

use std::ops::Range;

/// The claims of one variable. The records of the list follow [`RecordClaims::ready`] without gaps.
#[derive(Debug, Default)]
pub(crate) struct RecordClaims {
    ready: u64,
    list: Vec<RecordClaim>,
    /// The number of the next claim.
    number: u64,
}

/// Records that were claimed together, or a part of them.
#[derive(Debug, Clone)]
struct RecordClaim {
    units: Range<u64>,
    /// The writer; `None`: it has finished or given up.
    writer: Option<u64>,
    /// Whether they are filled or written.
    settled: bool,
    /// Whether another thread filled them, or began to, during the write.
    disturbed: bool,
}

impl RecordClaims {
    pub(crate) fn new(ready: u64) -> Self {
        Self { ready, ..Self::default() }
    }

    /// Returns the number of leading records that are filled or written.
    pub(crate) fn ready(&self) -> u64 {
        self.ready
    }

    /// Returns the number of leading records that are ready or claimed.
    pub(crate) fn end(&self) -> u64 {
        self.list.last().map_or(self.ready, |last| last.units.end.max(self.ready))
    }

    /// Claims the records from [`RecordClaims::end`] to `end`, which is greater.
    pub(crate) fn claim(&mut self, end: u64) -> u64 {
        self.number += 1;
        let writer = Some(self.number);
        self.list.push(RecordClaim { units: self.end()..end, writer, settled: false, disturbed: false });
        self.number
    }

    /// Marks the records from [`RecordClaims::end`] to `end` as filled.
    pub(crate) fn filled(&mut self, end: u64) {
        let units = self.end()..end;
        self.list.push(RecordClaim { units, writer: None, settled: true, disturbed: false });
        self.advance();
    }

    /// Whether unfilled records of `units` are being written.
    pub(crate) fn is_writing(&self, units: &Range<u64>) -> bool {
        self.list.iter().any(|claim| !claim.settled && claim.writer.is_some() && overlap(&claim.units, units))
    }

    /// Returns the first claimed records of `units` that must be filled, if there are any, and marks their
    /// claim.
    pub(crate) fn unfilled(&mut self, units: &Range<u64>) -> Option<Range<u64>> {
        self.split(units.start);
        self.split(units.end);
        let claim = self.list.iter_mut().find(|claim| !claim.settled && overlap(&claim.units, units))?;
        claim.disturbed = claim.writer.is_some();
        Some(claim.units.clone())
    }

    /// Marks the result of [`RecordClaims::unfilled`] as filled.
    pub(crate) fn settle(&mut self, units: &Range<u64>) {
        self.list.iter_mut().filter(|claim| claim.units == *units).for_each(|claim| claim.settled = true);
        self.advance();
    }

    /// Ends the write of a claim. `false`: some of its records were filled meanwhile, so the writer must
    /// write again.
    pub(crate) fn written(&mut self, number: u64) -> bool {
        let of_it = |claim: &&mut RecordClaim| claim.writer == Some(number);
        let disturbed = self.list.iter_mut().filter(of_it).fold(false, |any, claim| any | claim.disturbed);
        for claim in self.list.iter_mut().filter(of_it) {
            claim.disturbed = false;
            if !disturbed {
                (claim.settled, claim.writer) = (true, None);
            }
        }
        self.advance();
        !disturbed
    }

    /// Ends a failed write of a claim. Its unfilled records are filled on demand.
    pub(crate) fn lost(&mut self, number: u64) {
        for claim in self.list.iter_mut().filter(|claim| claim.writer == Some(number)) {
            (claim.writer, claim.disturbed) = (None, false);
        }
        while self.list.pop_if(|last| !last.settled && last.writer.is_none()).is_some() {}
        self.advance();
    }

    /// Splits the claim that has records on both sides of `at`.
    fn split(&mut self, at: u64) {
        if let Some(place) = self.list.iter().position(|claim| claim.units.start < at && at < claim.units.end)
        {
            let mut behind = self.list[place].clone();
            behind.units.start = at;
            self.list[place].units.end = at;
            self.list.insert(place + 1, behind);
        }
    }

    fn advance(&mut self) {
        for claim in &self.list {
            if !claim.settled {
                break;
            }
            self.ready = self.ready.max(claim.units.end);
        }
        // A claim stays until its writer has seen the mark.
        let ready = self.ready;
        self.list.retain(|claim| claim.units.end > ready || claim.writer.is_some());
        // Finished claims are joined while an earlier writer is active.
        let done = |claim: &RecordClaim| claim.settled && claim.writer.is_none();
        self.list.dedup_by(|next, kept| {
            let joined = done(kept) && done(next);
            if joined {
                kept.units.end = next.units.end;
            }
            joined
        });
    }
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The content of a record.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Content {
        Stale,
        Fill,
        Of(u64),
    }

    /// Keeps records in a list and follows the claims in the same way as `growth`.
    #[derive(Default)]
    struct Slow {
        claims: RecordClaims,
        records: Vec<Content>,
        writing: Vec<(u64, Range<u64>)>,
    }

    impl Slow {
        fn set(&mut self, units: Range<u64>, content: Content) {
            let end = self.records.len().max(units.end as usize);
            self.records.resize(end, Content::Stale);
            self.records[units.start as usize..units.end as usize].fill(content);
        }

        fn fill_to(&mut self, units: Range<u64>) {
            while let Some(part) = self.claims.unfilled(&units) {
                self.set(part.clone(), Content::Fill);
                self.claims.settle(&part);
            }
            let end = self.claims.end();
            if end < units.end {
                self.set(end..units.end, Content::Fill);
                self.claims.filled(units.end);
            }
        }

        fn start(&mut self, units: Range<u64>) {
            let end = self.claims.end();
            self.fill_to(units.start.min(end)..units.end.min(end).max(units.start));
            if self.claims.end() < units.end {
                let first = self.claims.end();
                let number = self.claims.claim(units.end);
                // The content is set at once. The check at the end of the write finds a later fill.
                self.set(first..units.end, Content::Of(number));
                self.writing.push((number, first..units.end));
            }
        }

        fn is_settled(&self, unit: u64) -> bool {
            unit < self.claims.ready()
                || self.claims.list.iter().any(|claim| claim.settled && claim.units.contains(&unit))
        }

        fn check(&self) -> std::result::Result<(), TestCaseError> {
            let there = &self.records[..self.claims.ready() as usize];
            prop_assert!(!there.contains(&Content::Stale), "{:?} {:?}", there, self.claims);
            Ok(())
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn ready_records_were_filled_or_written(
            steps in prop::collection::vec((0..5u8, 0..12u64, 1..6u64), 1..40)
        ) {
            let mut slow = Slow::default();
            for (step, start, len) in steps {
                let at = (start as usize).checked_rem(slow.writing.len());
                match (step, at) {
                    (0 | 1, _) => slow.start(start..start + len),
                    (2, _) => {
                        slow.fill_to(start..start + len);
                        let claims = &mut slow.claims;
                        prop_assert!(claims.end() >= start + len && claims.unfilled(&(start..start + len)).is_none());
                    }
                    (3, Some(at)) => {
                        let (number, units) = slow.writing.swap_remove(at);
                        if !slow.claims.written(number) {
                            slow.set(units.clone(), Content::Of(number));
                            prop_assert!(slow.claims.written(number), "no other writer came in between");
                        }
                        let there = &slow.records[units.start as usize..units.end as usize];
                        prop_assert!(there.iter().all(|&content| content == Content::Of(number)));
                    }
                    (_, Some(at)) => {
                        let (number, units) = slow.writing.swap_remove(at);
                        // A settled record may mix filled and written bytes. The claims do not track that.
                        for unit in units {
                            if !slow.is_settled(unit) {
                                slow.set(unit..unit + 1, Content::Stale);
                            }
                        }
                        slow.claims.lost(number);
                    }
                    _ => {}
                }
                slow.check()?;
            }
            for (number, units) in std::mem::take(&mut slow.writing) {
                while !slow.claims.written(number) {
                    slow.set(units.clone(), Content::Of(number));
                }
            }
            let end = slow.claims.end();
            slow.fill_to(0..end);
            prop_assert_eq!((slow.claims.ready(), slow.claims.list.len()), (end, 0));
            slow.check()?;
        }
    }

    #[test]
    fn a_disturbed_writer_writes_again() {
        let mut claims = RecordClaims::new(2);
        let (first, second) = (claims.claim(5), claims.claim(6));
        assert!(claims.is_writing(&(0..3)) && !claims.is_writing(&(6..9)));
        assert!(claims.written(second));
        assert_eq!((claims.ready(), claims.end()), (2, 6), "a record counts only after all earlier records");
        assert_eq!(claims.unfilled(&(0..3)), Some(2..3));
        claims.settle(&(2..3));
        assert_eq!((claims.ready(), claims.unfilled(&(0..3))), (3, None));
        assert!(!claims.written(first), "a part of it was filled over");
        assert!(claims.written(first));
        assert_eq!((claims.ready(), claims.end()), (6, 6));
    }

    #[test]
    fn many_writes_behind_a_slow_one_are_remembered_as_one() {
        let mut claims = RecordClaims::new(0);
        let slow = claims.claim(1);
        for end in 2..100 {
            let number = claims.claim(end);
            assert!(claims.written(number));
            assert!(claims.list.len() <= 2, "{:?}", claims.list);
        }
        assert_eq!((claims.ready(), claims.end()), (0, 99));
        assert!(claims.written(slow));
        assert_eq!(claims.ready(), 99);
    }

    #[test]
    fn lost_records_are_claimed_or_filled_again() {
        let mut claims = RecordClaims::new(0);
        let (first, second, third) = (claims.claim(1), claims.claim(2), claims.claim(3));
        claims.lost(third);
        assert_eq!(claims.end(), 2, "as if it had never been");
        claims.lost(first);
        assert!(claims.written(second));
        assert_eq!((claims.ready(), claims.end()), (0, 2));
        assert!(!claims.is_writing(&(0..2)));
        assert_eq!(claims.unfilled(&(0..2)), Some(0..1));
        // The fill failed, so it is due again.
        assert_eq!(claims.unfilled(&(0..2)), Some(0..1));
        claims.settle(&(0..1));
        assert_eq!((claims.ready(), claims.end()), (2, 2));
    }
}

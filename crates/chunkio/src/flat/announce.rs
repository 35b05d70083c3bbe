//! [`ReadAnnouncer`]: announces the ranges of a read to remote storage, some megabytes ahead.

use std::sync::{Mutex, PoisonError};

use nczarr_storage::source::ReadAhead;

use super::slab_layout::PieceSplit;

/// The bytes that are requested ahead.
const WINDOW: usize = 16 << 20;

/// The ranges that one read announces.
pub(super) struct ReadAnnouncer<'a> {
    ahead: &'a ReadAhead,
    cut: &'a PieceSplit<'a>,
    /// The number of pieces announced ahead.
    pieces: usize,
    /// The first piece that was not announced.
    next: Mutex<usize>,
}

impl<'a> ReadAnnouncer<'a> {
    pub(super) fn new(ahead: &'a ReadAhead, cut: &'a PieceSplit<'a>) -> Self {
        let piece = cut.piece(0);
        let pieces = WINDOW / piece.run().saturating_mul(piece.runs()).max(1);
        Self { ahead, cut, pieces: pieces.max(1), next: Mutex::new(0) }
    }

    /// Announces the pieces after the one that is read now.
    pub(super) fn reads(&self, number: usize) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let until = number.saturating_add(self.pieces).saturating_add(1).min(self.cut.total);
        // Many at a time, so that near ranges are requested together.
        if *next >= until || *next > number.saturating_add(self.pieces / 2) {
            return;
        }
        let mut runs = Vec::new();
        for number in *next..until {
            let piece = self.cut.piece(number);
            let len = piece.run() as u64;
            runs.extend(
                (0..piece.runs())
                    .map(|run| piece.run_start(run))
                    .map(|start| start..start.saturating_add(len)),
            );
        }
        *next = until;
        // Within a single run, `ReadAhead` itself reads ahead.
        if runs.len() > 1 {
            let wanted: u64 = runs.iter().map(|run| run.end - run.start).sum();
            self.ahead.prefetch(runs, wanted / 4);
        }
    }
}

//! [`Expected`]: tells a store that lies elsewhere which runs a read will want, some megabytes before it wants them.

use std::sync::{Mutex, PoisonError};

use nczarr_dispatch::ReadAhead;

use super::layout::Cut;

/// Bytes that are on their way before they are wanted.
const WINDOW: usize = 16 << 20;

/// The ranges that one read announces.
pub(super) struct Expected<'a> {
    ahead: &'a ReadAhead,
    cut: &'a Cut<'a>,
    /// Pieces that are announced before they are read.
    pieces: usize,
    /// The first piece that was not told yet.
    next: Mutex<usize>,
}

impl<'a> Expected<'a> {
    pub(super) fn new(ahead: &'a ReadAhead, cut: &'a Cut<'a>) -> Self {
        let piece = cut.piece(0);
        let pieces = WINDOW / piece.run().saturating_mul(piece.runs()).max(1);
        Self { ahead, cut, pieces: pieces.max(1), next: Mutex::new(0) }
    }

    /// A piece is read now.
    pub(super) fn reads(&self, number: usize) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let until = number.saturating_add(self.pieces).saturating_add(1).min(self.cut.total);
        // Many at a time, so that near ones are asked for together.
        if *next >= until || *next > number.saturating_add(self.pieces / 2) {
            return;
        }
        let mut runs = Vec::new();
        for number in *next..until {
            let piece = self.cut.piece(number);
            let len = piece.run() as u64;
            runs.extend(
                (0..piece.runs()).map(|run| piece.run_start(run)).map(|start| start..start.saturating_add(len)),
            );
        }
        *next = until;
        // A single run is read with what follows it.
        if runs.len() > 1 {
            let wanted: u64 = runs.iter().map(|run| run.end - run.start).sum();
            self.ahead.prefetch(runs, wanted / 4);
        }
    }
}

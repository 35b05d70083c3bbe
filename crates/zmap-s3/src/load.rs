//! [`Load`]: how much of a batch may be on its way at once.
//!
//! At most so many requests and bytes as [`Access`] says, and of reads no more than is decoded meanwhile: what came sooner
//! would only lie in memory. Whether that is enough shows when something comes and nobody has anything to decode.

use crate::access::Access;

/// What is counted for an object of which nothing is known.
pub(crate) const GUESS: usize = 4096;
/// What one thread decodes while an answer is on its way.
const AHEAD: usize = 16 << 20;

/// How much is on its way.
pub(crate) struct Load {
    /// Objects, and what they weigh.
    number: usize,
    bytes: usize,
    /// The most of both.
    in_flight: usize,
    memory: usize,
    /// How many bytes are asked for in advance.
    window: usize,
    /// Objects that came, and are not decoded yet.
    waiting: usize,
}

impl Load {
    /// Of objects to read, which so many threads decode; `left`: how many there are, if that is known.
    pub(crate) fn of_reads(access: &Access, threads: usize, left: Option<usize>) -> Self {
        let in_flight = even(access.in_flight, left);
        Self { in_flight, window: threads.max(1).saturating_mul(AHEAD), ..Self::of_writes(access) }
    }

    /// Of objects to write, which weigh what they do once they are encoded.
    pub(crate) fn of_writes(access: &Access) -> Self {
        Self { number: 0, bytes: 0, in_flight: access.in_flight, memory: access.memory, window: usize::MAX, waiting: 0 }
    }

    /// Whether one more may be sent: always, if it is the only one.
    pub(crate) fn has_room(&self) -> bool {
        self.number == 0 || self.number < self.in_flight && self.bytes < self.window.min(self.memory)
    }

    /// Nothing is on its way.
    pub(crate) fn is_none(&self) -> bool {
        self.number == 0
    }

    /// An object is sent for, or sent.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.number += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// An object is done with.
    pub(crate) fn take(&mut self, bytes: usize) {
        self.number = self.number.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// An object came. If nobody had anything to do, more shall be on its way from now on.
    pub(crate) fn came(&mut self, bytes: usize) {
        if self.waiting == 0 {
            self.window = self.window.saturating_add(bytes);
        }
        self.waiting += 1;
    }

    /// What came was decoded.
    pub(crate) fn decoded(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }
}

/// At most so many at once, and no more than it takes for as few rounds: to make connections for the first that the last do
/// not need costs more than it brings.
fn even(most: usize, left: Option<usize>) -> usize {
    match left {
        Some(left) if most > 0 && left > most => left.div_ceil(left.div_ceil(most)),
        _ => most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_asked_for_only_when_nobody_has_anything_to_decode() {
        let mut load = Load { number: 0, bytes: 0, in_flight: 256, memory: 1 << 30, window: 2 * AHEAD, waiting: 0 };
        let mut sent = 0;
        while load.has_room() {
            load.add(1 << 20);
            sent += 1;
        }
        assert_eq!(sent, 32);
        // Two come while the first is decoded: only that one found nothing to do.
        load.came(1 << 20);
        load.came(1 << 20);
        assert_eq!(load.window, 33 << 20);
        for _ in 0..2 {
            load.decoded();
            load.take(1 << 20);
        }
        sent = 0;
        while load.has_room() {
            load.add(1 << 20);
            sent += 1;
        }
        assert_eq!(sent, 3);
    }

    #[test]
    fn rounds_are_as_few_as_can_be_and_alike() {
        for (most, left, at_once) in
            [(256, 400, 200), (256, 256, 256), (256, 257, 129), (256, 1000, 250), (256, 12, 256), (1, 9, 1), (0, 9, 0)]
        {
            assert_eq!(even(most, Some(left)), at_once, "{left} by {most}");
        }
        assert_eq!(even(256, None), 256);
        assert_eq!(even(256, Some(usize::MAX)), 256);
    }

    #[test]
    fn one_object_always_has_room() {
        let load = Load { number: 0, bytes: 0, in_flight: 0, memory: 0, window: 0, waiting: 0 };
        assert!(load.has_room() && load.is_none());
    }
}

//! [`InFlightLoad`]: limits the objects in flight in a batch.
//!
//! [`Access`] limits requests and bytes. Reads are also limited to the amount decoded meanwhile, because
//! earlier arrivals would only occupy memory. If a response arrives while no thread has anything to decode,
//! the limit grows.

use crate::access::Access;

/// Assumed size in bytes of an object of unknown size.
pub(crate) const GUESS: usize = 4096;
/// Bytes that one thread decodes while a response is on its way.
const AHEAD: usize = 16 << 20;

/// The load of a batch.
pub(crate) struct InFlightLoad {
    /// Number of objects in flight, and their bytes.
    number: usize,
    bytes: usize,
    /// The limits of both.
    in_flight: usize,
    memory: usize,
    /// Bytes to request ahead.
    window: usize,
    /// Objects received and not decoded yet.
    waiting: usize,
}

impl InFlightLoad {
    /// Makes the load of a read batch with this many decoding threads. `left`: the number of objects, if
    /// known.
    pub(crate) fn of_reads(access: &Access, threads: usize, left: Option<usize>) -> Self {
        let in_flight = even(access.in_flight, left);
        Self { in_flight, window: threads.max(1).saturating_mul(AHEAD), ..Self::of_writes(access) }
    }

    /// Makes the load of a write batch. An object counts with its encoded size.
    pub(crate) fn of_writes(access: &Access) -> Self {
        Self {
            number: 0,
            bytes: 0,
            in_flight: access.in_flight,
            memory: access.memory,
            window: usize::MAX,
            waiting: 0,
        }
    }

    /// Whether another request may be sent. It always may if nothing is in flight.
    pub(crate) fn has_room(&self) -> bool {
        self.number == 0 || self.number < self.in_flight && self.bytes < self.window.min(self.memory)
    }

    /// Whether nothing is in flight.
    pub(crate) fn is_none(&self) -> bool {
        self.number == 0
    }

    /// Adds an object.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.number += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Removes a finished object.
    pub(crate) fn take(&mut self, bytes: usize) {
        self.number = self.number.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Records a received object. Raises the limit if the decoding threads were idle.
    pub(crate) fn received(&mut self, bytes: usize) {
        if self.waiting == 0 {
            self.window = self.window.saturating_add(bytes);
        }
        self.waiting += 1;
    }

    /// Records a decoded object.
    pub(crate) fn decoded(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }
}

/// Returns an even number of concurrent requests for the same number of rounds. Connections that only the
/// first round needs would cost more than they gain.
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
    fn more_is_requested_only_if_no_decoder_has_work() {
        let mut load = InFlightLoad {
            number: 0,
            bytes: 0,
            in_flight: 256,
            memory: 1 << 30,
            window: 2 * AHEAD,
            waiting: 0,
        };
        let mut sent = 0;
        while load.has_room() {
            load.add(1 << 20);
            sent += 1;
        }
        assert_eq!(sent, 32);
        // Two arrive while the first is decoded, so only the first found idle threads.
        load.received(1 << 20);
        load.received(1 << 20);
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
    fn rounds_are_few_and_of_equal_size() {
        for (most, left, at_once) in [
            (256, 400, 200),
            (256, 256, 256),
            (256, 257, 129),
            (256, 1000, 250),
            (256, 12, 256),
            (1, 9, 1),
            (0, 9, 0),
        ] {
            assert_eq!(even(most, Some(left)), at_once, "{left} by {most}");
        }
        assert_eq!(even(256, None), 256);
        assert_eq!(even(256, Some(usize::MAX)), 256);
    }

    #[test]
    fn one_object_always_has_room() {
        let load = InFlightLoad { number: 0, bytes: 0, in_flight: 0, memory: 0, window: 0, waiting: 0 };
        assert!(load.has_room() && load.is_none());
    }
}

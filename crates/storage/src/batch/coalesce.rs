//! [`CoalescedRanges`] and [`coalesce`]: join ranges that are close together into one read.
//!
//! Maps that read several ranges use it, and so do callers that decide which ranges to request.

use crate::ByteRange;

/// Ranges of bytes, added in the order of their first byte. Ranges at most `gap` bytes apart become one.
#[derive(Debug, Clone)]
pub struct CoalescedRanges {
    gap: u64,
    list: Vec<(u64, u64)>,
    bytes: u64,
}

impl CoalescedRanges {
    /// An empty list. Two ranges at most `gap` bytes apart are read as one.
    pub fn new(gap: u64) -> Self {
        Self { gap, list: Vec::new(), bytes: 0 }
    }

    /// Whether a range that begins at `from` joins the last range.
    pub fn is_near(&self, from: u64) -> bool {
        self.list.last().is_some_and(|&(_, end)| from <= end.saturating_add(self.gap))
    }

    /// Returns the total length after adding `from..to`, gaps included.
    pub fn bytes_with(&self, from: u64, to: u64) -> u64 {
        let more = match self.list.last() {
            Some(&(_, end)) if self.is_near(from) => to.saturating_sub(end),
            _ => to.saturating_sub(from),
        };
        self.bytes.saturating_add(more)
    }

    /// Adds the range `from..to`.
    pub fn add(&mut self, from: u64, to: u64) {
        self.bytes = self.bytes_with(from, to);
        let near = self.is_near(from);
        match self.list.last_mut() {
            Some((_, end)) if near => *end = to.max(*end),
            _ => self.list.push((from, to)),
        }
    }

    /// The first byte of each range, and the byte after its last.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.list
    }

    /// The total length in bytes, gaps included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Returns sorted ranges that cover all of `parts`. Ranges at most `gap` bytes apart are joined. Each part
/// has a `len`.
pub fn coalesce(parts: &[ByteRange], gap: u64) -> Vec<ByteRange> {
    let mut parts: Vec<(u64, u64)> =
        parts.iter().map(|part| (part.offset, part.offset.saturating_add(part.len.unwrap_or(0)))).collect();
    parts.sort_unstable();
    let mut stretches = CoalescedRanges::new(gap);
    parts.into_iter().for_each(|(from, to)| stretches.add(from, to));
    stretches.list.into_iter().map(|(from, to)| ByteRange::new(from, to - from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_ranges_are_coalesced() {
        let mut stretches = CoalescedRanges::new(4);
        for (from, to, near, bytes) in [
            (10, 20, false, 10),
            (15, 18, true, 10),
            (24, 30, true, 20),
            (35, 36, false, 21),
            (36, 50, true, 35),
        ] {
            assert_eq!((stretches.is_near(from), stretches.bytes_with(from, to)), (near, bytes));
            stretches.add(from, to);
            assert_eq!(stretches.bytes(), bytes);
        }
        assert_eq!(stretches.as_slice(), [(10, 30), (35, 50)]);
        let parts = [ByteRange::new(35, 1), ByteRange::new(10, 10), ByteRange::new(24, 6)];
        assert_eq!(coalesce(&parts, 4), [ByteRange::new(10, 20), ByteRange::new(35, 1)]);
        assert_eq!(coalesce(&parts, 3).len(), 3);
    }
}

//! [`Stretches`]: what is near is read as one.
//!
//! The one place that says what "near" is, for maps that are asked for several ranges and for who decides what to ask for.

use crate::ByteRange;

/// Ranges of bytes, added in the order of their first byte: those that meet, or are no more than a gap apart, are one.
#[derive(Debug, Clone)]
pub struct Stretches {
    gap: u64,
    list: Vec<(u64, u64)>,
    bytes: u64,
}

impl Stretches {
    /// None yet; `gap` bytes between two ranges are rather read than asked for twice.
    pub fn new(gap: u64) -> Self {
        Self { gap, list: Vec::new(), bytes: 0 }
    }

    /// Whether a range that begins at `from` would be one with the last.
    pub fn is_near(&self, from: u64) -> bool {
        self.list.last().is_some_and(|&(_, end)| from <= end.saturating_add(self.gap))
    }

    /// How many bytes there would be, those in gaps too, with the range up to `to`.
    pub fn bytes_with(&self, from: u64, to: u64) -> u64 {
        let more = match self.list.last() {
            Some(&(_, end)) if self.is_near(from) => to.saturating_sub(end),
            _ => to.saturating_sub(from),
        };
        self.bytes.saturating_add(more)
    }

    /// Adds the range up to `to`.
    pub fn add(&mut self, from: u64, to: u64) {
        self.bytes = self.bytes_with(from, to);
        let near = self.is_near(from);
        match self.list.last_mut() {
            Some((_, end)) if near => *end = to.max(*end),
            _ => self.list.push((from, to)),
        }
    }

    /// First byte of each, and the one behind its last.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.list
    }

    /// How many bytes they have together.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Ranges that together hold all of `parts`, sorted, those that meet or are no more than `gap` bytes apart made one. Parts
/// have their `len` set.
pub fn coalesce(parts: &[ByteRange], gap: u64) -> Vec<ByteRange> {
    let mut parts: Vec<(u64, u64)> =
        parts.iter().map(|part| (part.offset, part.offset.saturating_add(part.len.unwrap_or(0)))).collect();
    parts.sort_unstable();
    let mut stretches = Stretches::new(gap);
    parts.into_iter().for_each(|(from, to)| stretches.add(from, to));
    stretches.list.into_iter().map(|(from, to)| ByteRange::new(from, to - from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_is_one() {
        let mut stretches = Stretches::new(4);
        for (from, to, near, bytes) in
            [(10, 20, false, 10), (15, 18, true, 10), (24, 30, true, 20), (35, 36, false, 21), (36, 50, true, 35)]
        {
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

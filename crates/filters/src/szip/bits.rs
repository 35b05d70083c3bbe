//! Reads and writes bits, most significant first: [`SzipBitReader`] and [`SzipBitWriter`].

use nczarr_codec::OutBuf;
use nczarr_model::Result;

/// Reads bits of bytes. Returns `None` at the end.
pub(super) struct SzipBitReader<'a> {
    bytes: &'a [u8],
    /// The next bits at the top. Below the first `have` there may be some of the following bits.
    next: u64,
    have: u32,
}

impl<'a> SzipBitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, next: 0, have: 0 }
    }

    /// Returns the number of bits left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len().saturating_mul(8).saturating_add(self.have as usize)
    }

    /// Loads at least 56 bits, while there are enough.
    fn refill(&mut self) {
        if self.have < 56
            && let Some(word) = self.bytes.first_chunk::<8>()
        {
            self.next |= u64::from_be_bytes(*word) >> self.have;
            let taken = (63 - self.have) / 8;
            self.bytes = self.bytes.get(taken as usize..).unwrap_or_default();
            self.have += 8 * taken;
            return;
        }
        while self.have <= 56
            && let Some((&byte, rest)) = self.bytes.split_first()
        {
            self.next |= u64::from(byte) << (56 - self.have);
            self.bytes = rest;
            self.have += 8;
        }
    }

    /// Reads a number of `count` bits, at most 16.
    pub(super) fn number(&mut self, count: u32) -> Option<u16> {
        if count == 0 {
            return Some(0);
        }
        if self.have < count {
            self.refill();
        }
        if self.have < count {
            return None;
        }
        let number = self.next >> (64 - count);
        self.next <<= count;
        self.have -= count;
        u16::try_from(number).ok()
    }

    /// Counts the zeros before the next one, and reads them and the one.
    pub(super) fn zeros(&mut self) -> Option<usize> {
        let mut zeros = 0;
        loop {
            if self.have == 0 {
                self.refill();
            }
            if self.have == 0 {
                return None;
            }
            let found = self.next.leading_zeros();
            if found < self.have {
                // In two steps, because together they may be all 64 bits.
                self.next = self.next << found << 1;
                self.have -= found + 1;
                return Some(zeros + found as usize);
            }
            zeros += self.have as usize;
            (self.next, self.have) = (0, 0);
        }
    }
}

/// Writes bits to an output.
pub(super) struct SzipBitWriter<'a, 'o> {
    out: &'a mut OutBuf<'o>,
    /// The bits of the unfinished word, the first one at the top.
    pending: u64,
    have: u32,
}

impl<'a, 'o> SzipBitWriter<'a, 'o> {
    pub(super) fn new(out: &'a mut OutBuf<'o>) -> Self {
        Self { out, pending: 0, have: 0 }
    }

    /// Writes a number of `count` bits, at most 32. It must have no higher bits.
    pub(super) fn number(&mut self, number: u32, count: u32) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let number = u64::from(number) << (64 - count);
        self.pending |= number >> self.have;
        if self.have + count < 64 {
            self.have += count;
            return Ok(());
        }
        let taken = 64 - self.have;
        self.out.put(&self.pending.to_be_bytes())?;
        self.pending = number << taken;
        self.have = count - taken;
        Ok(())
    }

    /// Writes zeros and a one.
    pub(super) fn zeros(&mut self, mut zeros: usize) -> Result<()> {
        while zeros >= 31 {
            self.number(0, 31)?;
            zeros -= 31;
        }
        self.number(1, zeros as u32 + 1)
    }

    /// Writes the remaining bits, padded with zeros to a whole byte.
    pub(super) fn finish(self) -> Result<()> {
        let bytes = self.have.div_ceil(8) as usize;
        self.out.put(self.pending.to_be_bytes().get(..bytes).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Item {
        Number(u16, u32),
        Zeros(usize),
    }

    fn item() -> impl Strategy<Value = Item> {
        let number = (0..=16u32).prop_flat_map(|count| {
            let most = ((1u32 << count) - 1) as u16;
            (0..=most).prop_map(move |number| Item::Number(number, count))
        });
        prop_oneof![number, (0..200usize).prop_map(Item::Zeros)]
    }

    fn text(items: &[Item]) -> String {
        let one = |item: &Item| match *item {
            Item::Number(_, 0) => String::new(),
            Item::Number(number, count) => format!("{number:0width$b}", width = count as usize),
            Item::Zeros(zeros) => "0".repeat(zeros) + "1",
        };
        items.iter().map(one).collect()
    }

    proptest! {
        #[test]
        fn written_bits_equal_a_textual_oracle(items in prop::collection::vec(item(), 0..60)) {
            let mut memory = vec![0; 2000];
            let mut out = OutBuf::from_slice(&mut memory);
            let mut writer = SzipBitWriter::new(&mut out);
            for item in &items {
                match *item {
                    Item::Number(number, count) => writer.number(number.into(), count).unwrap(),
                    Item::Zeros(zeros) => writer.zeros(zeros).unwrap(),
                }
            }
            writer.finish().unwrap();
            let bytes = out.filled();
            let mut bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
            let expected = text(&items);
            prop_assert_eq!(bytes.len(), expected.len().div_ceil(8));
            prop_assert!(bits.split_off(expected.len()).bytes().all(|bit| bit == b'0'));
            prop_assert_eq!(&bits, &expected);

            let mut reader = SzipBitReader::new(bytes);
            for item in &items {
                match *item {
                    Item::Number(number, count) => prop_assert_eq!(reader.number(count), Some(number)),
                    Item::Zeros(zeros) => prop_assert_eq!(reader.zeros(), Some(zeros)),
                }
            }
            prop_assert!(reader.left() < 8);
            prop_assert_eq!(reader.zeros(), None);
            prop_assert_eq!(reader.number(1), None);
        }
    }
}

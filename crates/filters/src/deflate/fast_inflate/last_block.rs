//! Finds the last block of a stream, in bits, so that another stream can be joined. Nothing is decoded.

use super::bits::DeflateBits;
use super::tables::{InflateTables, LongSymbol};
use super::{FastInflate, stored_bytes};

/// The last block, as bit offsets in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastBlock {
    /// The bit that marks the block as the last one.
    pub(crate) last: usize,
    /// The end of the block.
    pub(crate) end: usize,
}

impl FastInflate {
    /// Finds the last block of the bare stream at the start of `src`; `None` if there is no such stream.
    pub(crate) fn last_block(&mut self, src: &[u8]) -> Option<LastBlock> {
        let mut bits = DeflateBits::new(src);
        loop {
            let last = bits.place();
            let is_last = bits.take(1)? == 1;
            match bits.take(2)? {
                0 => drop(stored_bytes(&mut bits)?),
                1 => {
                    self.fixed()?;
                    pass(&self.tables, &mut bits)?;
                }
                2 => {
                    self.dynamic(&mut bits, false)?;
                    pass(&self.tables, &mut bits)?;
                }
                _ => return None,
            }
            if is_last {
                return Some(LastBlock { last, end: bits.place() });
            }
        }
    }
}

/// Moves behind the end of a block.
fn pass(tables: &InflateTables, bits: &mut DeflateBits<'_>) -> Option<()> {
    loop {
        bits.refill();
        let entry = tables.entry(bits.buffer);
        if !entry.is_slow() {
            bits.skip(entry.bits())?;
            continue;
        }
        let (symbol, code) = tables.symbol(entry, bits.buffer)?;
        bits.skip(code)?;
        match symbol {
            LongSymbol::Literal(_) => {}
            LongSymbol::End => return Some(()),
            LongSymbol::Length(_, extra) => {
                bits.take(extra)?;
                bits.refill();
                let step = tables.step(bits.buffer)?;
                bits.skip(step.bits())?;
            }
        }
    }
}

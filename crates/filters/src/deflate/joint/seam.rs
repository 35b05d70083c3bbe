//! Where the last block of a stream begins and where it ends, in bits: so that more can be joined to it.
//!
//! Symbols are passed over, nothing is decoded.

use super::bits::Bits;
use super::tables::{Symbol, Tables};
use super::{Decoder, stored_bytes};

/// Places in a stream, in bits from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seam {
    /// Of the bit that says that the block is the last one.
    pub(crate) last: usize,
    /// Behind the last block.
    pub(crate) end: usize,
}

impl Decoder {
    /// The seam of the one stream without a wrapping that `src` begins with; `None` if it is none.
    pub(crate) fn seam(&mut self, src: &[u8]) -> Option<Seam> {
        let mut bits = Bits::new(src);
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
                return Some(Seam { last, end: bits.place() });
            }
        }
    }
}

/// Goes behind the end of a block.
fn pass(tables: &Tables, bits: &mut Bits<'_>) -> Option<()> {
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
            Symbol::Literal(_) => {}
            Symbol::End => return Some(()),
            Symbol::Length(_, extra) => {
                bits.take(extra)?;
                bits.refill();
                let step = tables.step(bits.buffer)?;
                bits.skip(step.bits())?;
            }
        }
    }
}

//! Rows of text: the elements along the last dimension on one line, with blanks between them.
//!
//! Numbers and strings are as in JSON, but `NaN` and infinities have no quotation marks. Text has none
//! either, and lacks the NULs at the end of a row.

use nczarr_model::{Model, Result, Values};

use super::json;
use crate::output::Output;

/// The position of the next element within its row.
pub struct RowWriter {
    width: u64,
    column: u64,
    nuls: u64,
}

impl RowWriter {
    /// Rows of an array.
    pub fn new(shape: &[u64]) -> Self {
        Self { width: shape.last().copied().unwrap_or(1), column: 0, nuls: 0 }
    }

    /// Writes the next elements.
    ///
    /// # Errors
    /// As for JSON.
    pub fn values(&mut self, model: &Model, values: &Values, out: &mut Output) -> Result<()> {
        if let Values::Char(text) = values {
            return text.iter().try_for_each(|&byte| self.char(byte, out));
        }
        let quoted = matches!(values, Values::String(_) | Values::User(..) | Values::Packed(..));
        json::each(model, values, |text| {
            let text = match text {
                [b'"', bare @ .., b'"'] if !quoted => bare,
                text => text,
            };
            if self.column > 0 {
                out.put(" ")?;
            }
            out.put(text)?;
            self.next(out)
        })
    }

    fn char(&mut self, byte: u8, out: &mut Output) -> Result<()> {
        if byte == 0 {
            self.nuls += 1;
        } else {
            for _ in 0..std::mem::take(&mut self.nuls) {
                out.put([0])?;
            }
            out.put([byte])?;
        }
        self.next(out)
    }

    fn next(&mut self, out: &mut Output) -> Result<()> {
        self.column += 1;
        if self.column < self.width {
            return Ok(());
        }
        self.column = 0;
        self.nuls = 0;
        out.put("\n")
    }
}

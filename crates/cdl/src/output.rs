//! [`Output`]: the output with the indentation of groups and folding of long lines.

use std::io::Write;

use nczarr_model::{Error, Result};

/// Width of a line in bytes; the last two columns stay free.
const WIDTH: usize = 80;
/// Indentation of a folded line, in addition to that of its group.
const FOLD: usize = 4;

/// The output.
///
/// [`Output::raw`] writes text unchanged. [`Output::fold`] writes lists of values piece by piece, and starts
/// a new line where one is full. Columns are bytes, counted from [`Output::set_column`].
pub(crate) struct Output<'a> {
    sink: &'a mut dyn Write,
    column: usize,
    indent: usize,
    width: usize,
}

impl<'a> Output<'a> {
    /// Makes an output to `sink` with lines of `width` bytes, or 80.
    pub(crate) fn new(sink: &'a mut dyn Write, width: Option<usize>) -> Self {
        Self { sink, column: 0, indent: 0, width: width.unwrap_or(WIDTH).saturating_sub(2) }
    }

    /// Writes text unchanged.
    pub(crate) fn raw(&mut self, text: impl AsRef<[u8]>) -> Result<()> {
        self.sink.write_all(text.as_ref()).map_err(|error| Error::io("writing CDL", error))
    }

    /// Writes the indentation of the current group.
    pub(crate) fn margin(&mut self) -> Result<()> {
        for _ in 0..self.indent {
            self.raw(" ")?;
        }
        Ok(())
    }

    /// Returns the current indentation.
    pub(crate) fn indent(&self) -> usize {
        self.indent
    }

    /// Increases the indentation by two blanks.
    pub(crate) fn more(&mut self) {
        self.indent += 2;
    }

    /// Decreases the indentation by two blanks.
    pub(crate) fn less(&mut self) {
        self.indent -= 2;
    }

    /// Sets the column of the next piece.
    pub(crate) fn set_column(&mut self, column: usize) {
        self.column = column;
    }

    /// Writes a piece of a list, on a new line if the current one is full. One or two bytes always fit.
    pub(crate) fn fold(&mut self, piece: &[u8]) -> Result<()> {
        if self.column + piece.len() > self.width && piece.len() > 2 {
            self.raw("\n")?;
            self.margin()?;
            self.raw([b' '; FOLD])?;
            self.column = self.indent + FOLD;
        }
        self.column += piece.len();
        self.raw(piece)
    }
}

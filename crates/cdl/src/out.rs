//! [`Out`]: the output, with the indentation of groups and the folding of long lines.

use std::io::Write;

use nczarr_model::{Error, Result};

/// How long a line gets; the last two columns are left free.
const WIDTH: usize = 80;
/// How much a folded line is indented, beside the indentation of its group.
const FOLD: usize = 4;

/// Where the text goes.
///
/// Most text is written as it is ([`Out::raw`]). Lists of values are written piece by piece with [`Out::fold`], which starts
/// a new line where one is full; columns are bytes, not characters, and are counted from [`Out::set_column`] on.
pub(crate) struct Out<'a> {
    sink: &'a mut dyn Write,
    column: usize,
    indent: usize,
    width: usize,
}

impl<'a> Out<'a> {
    /// Output that goes to `sink`, in lines of `width` bytes, or of 80.
    pub(crate) fn new(sink: &'a mut dyn Write, width: Option<usize>) -> Self {
        Self { sink, column: 0, indent: 0, width: width.unwrap_or(WIDTH).saturating_sub(2) }
    }

    /// Writes text as it is.
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

    /// The current indentation.
    pub(crate) fn indent(&self) -> usize {
        self.indent
    }

    /// Indents by two more blanks.
    pub(crate) fn more(&mut self) {
        self.indent += 2;
    }

    /// Indents by two blanks less.
    pub(crate) fn less(&mut self) {
        self.indent -= 2;
    }

    /// Says in which column the next piece stands.
    pub(crate) fn set_column(&mut self, column: usize) {
        self.column = column;
    }

    /// Writes a piece of a list, on a new line if this one is full. One or two bytes always fit.
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

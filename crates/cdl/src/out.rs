//! [`Out`]: the output, with the indentation of groups and the folding of long lines.

use std::io::Write;

use model::{Error, Result};

/// A line is folded before a piece that would end beyond this column.
const WIDTH: usize = 78;
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
}

impl<'a> Out<'a> {
    /// Output that goes to `sink`.
    pub(crate) fn new(sink: &'a mut dyn Write) -> Self {
        Self { sink, column: 0, indent: 0 }
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
        if self.column + piece.len() > WIDTH && piece.len() > 2 {
            self.raw("\n")?;
            self.margin()?;
            self.raw([b' '; FOLD])?;
            self.column = self.indent + FOLD;
        }
        self.column += piece.len();
        self.raw(piece)
    }
}

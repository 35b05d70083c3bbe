//! Comments in the data section that identify elements.

use nczarr_model::Result;

use crate::data::RowPrinter;
use crate::header::Printer;
use crate::text::push_name;
use crate::{Indices, Notes};

impl RowPrinter {
    /// Begins a row with its comment, if row comments are requested.
    pub(crate) fn row_note(&self, printer: &mut Printer<'_>) -> Result<()> {
        let Some((Notes::Rows, indices)) = self.notes else { return Ok(()) };
        let [rest @ .., 0] = self.index.as_slice() else { return Ok(()) };
        if rest.is_empty() {
            return Ok(());
        }
        let last = self.shape[rest.len()];
        let text = match indices {
            Indices::C if last == 1 => format!("{},0", join(rest.iter().copied())),
            Indices::C => format!("{}, 0-{}", join(rest.iter().copied()), last - 1),
            Indices::Fortran => {
                let first = if last == 1 { "1".to_owned() } else { format!("1-{last} ") };
                format!("{first},{}", join(rest.iter().rev().map(|index| index + 1)))
            }
        };
        printer.out.raw(self.note(&text))?;
        printer.out.raw("\n")?;
        printer.out.margin()?;
        printer.out.raw("    ")?;
        printer.out.set_column(printer.out.indent() + 4);
        Ok(())
    }

    /// Returns the comment behind the next element, if requested.
    pub(crate) fn element_note(&self) -> Option<Vec<u8>> {
        let (Notes::Elements, indices) = self.notes? else { return None };
        Some(self.note(&match indices {
            _ if self.index.is_empty() => "0".to_owned(),
            Indices::C => join(self.index.iter().copied()),
            Indices::Fortran => join(self.index.iter().rev().map(|index| index + 1)),
        }))
    }

    /// Writes `piece` and its comment. `closed`: the braces to close behind it at the end of a row.
    pub(crate) fn noted(
        &mut self,
        printer: &mut Printer<'_>,
        closed: Option<usize>,
        note: &[u8],
    ) -> Result<()> {
        let last = closed.is_some() && self.index.iter().all(|&index| index == 0);
        self.piece.resize(self.piece.len() + closed.unwrap_or(0), b'}');
        self.piece.extend_from_slice(if last { b";" } else { b"," });
        // One more blank within a row.
        self.piece.extend_from_slice(if closed.is_some() { b"  " } else { b"   " });
        self.piece.extend_from_slice(note);
        self.piece.push(b'\n');
        // As in the reference: also behind the last comment, and the same in groups.
        self.piece.extend_from_slice(b"    ");
        printer.out.raw(&self.piece)
    }

    /// `// name(indices)`
    fn note(&self, indices: &str) -> Vec<u8> {
        let mut note = b"// ".to_vec();
        push_name(&mut note, &self.name);
        note.extend_from_slice(format!("({indices})").as_bytes());
        note
    }
}

fn join(indices: impl Iterator<Item = u64>) -> String {
    indices.map(|index| index.to_string()).collect::<Vec<_>>().join(",")
}

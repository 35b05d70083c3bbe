//! Prints the data section: blocks of a variable, as rows of text.
//!
//! The last dimension is a row. With more than one dimension, each row has its own line. An unlimited
//! dimension other than the first is put in braces, because CDL states its length nowhere else.

use std::collections::HashMap;

use nczarr_model::{Item, NcString, NcType, Result, Values, Var, VarId};

use crate::cformat::{CFormat, FormatNumber};
use crate::header::Printer;
use crate::text::{Feed, push_char, push_name};
use crate::time::TimeAxis;
use crate::value::{push_item, push_value};
use crate::{Blocks, Indices, Notes, PrintedPart};

/// Approximate bytes read from the source at once.
const BLOCK_BYTES: u64 = 4 << 20;
/// Most bytes read at once, if that avoids reading a chunk twice.
const MOST_BYTES: u64 = 64 << 20;
/// Assumed size of a string in bytes.
const STRING_BYTES: u64 = 64;

impl Printer<'_> {
    /// Prints the data of a variable, if requested and present.
    pub(crate) fn var_data(&mut self, id: VarId) -> Result<()> {
        let var = self.model.var(id)?;
        let wanted = self.options.vars.is_empty() || self.options.vars.contains(&id);
        if !wanted || (self.options.part == PrintedPart::Coordinates && !self.is_coordinate(var)) {
            return Ok(());
        }
        let shape = self.model.shape(id)?;
        if shape.contains(&0) {
            return Ok(());
        }
        let place = |error: nczarr_model::Error| error.at(self.model.var_path(id).unwrap_or_default());
        let chunks = self.source.chunk_shape(id);
        let size = self.model.type_size(var.xtype)?.map_or(STRING_BYTES, |size| size.max(1) as u64);
        let mut blocks =
            Blocks::by_chunks(&shape, chunks.as_deref(), (BLOCK_BYTES / size).max(1), MOST_BYTES / size);
        let Some((start, count)) = blocks.next() else { return Ok(()) };
        let first = match self.strings(id, &shape, chunks.as_deref(), &start, &count) {
            Ok(block) => block,
            Err(error) => {
                self.failed.get_or_insert(error);
                return Ok(());
            }
        };
        let mut rows = RowPrinter::new(self, id, shape.clone())?;
        rows.begin(self)?;
        rows.block(self, first, &count).map_err(place)?;
        for (start, count) in blocks {
            let block = self.strings(id, &shape, chunks.as_deref(), &start, &count)?;
            rows.block(self, block, &count).map_err(place)?;
        }
        Ok(())
    }

    /// Reads a block of strings. Empty strings of chunks that the source reports as null become null strings.
    fn strings(
        &mut self,
        id: VarId,
        shape: &[u64],
        chunks: Option<&[u64]>,
        start: &[u64],
        count: &[u64],
    ) -> Result<Values> {
        let mut block = self.source.read(id, start, count)?;
        let Values::String(strings) = &mut block else { return Ok(block) };
        let chunk =
            chunks.filter(|chunks| chunks.len() == shape.len() && !chunks.contains(&0)).unwrap_or(shape);
        let mut known = HashMap::new();
        for (at, string) in strings.iter_mut().enumerate().filter(|(_, string)| string.as_bytes().is_empty())
        {
            let (mut rest, mut first) = (at as u64, vec![0; shape.len()]);
            for dim in (0..shape.len()).rev() {
                let index = start[dim] + rest % count[dim];
                first[dim] = index - index % chunk[dim];
                rest /= count[dim];
            }
            let nil = match known.get(&first) {
                Some(&nil) => nil,
                None => {
                    let count: Vec<u64> =
                        (0..shape.len()).map(|dim| chunk[dim].min(shape[dim] - first[dim])).collect();
                    let nil = self.source.is_nil_where_empty(id, &first, &count)?;
                    known.insert(first, nil);
                    nil
                }
            };
            if nil {
                *string = NcString::nil();
            }
        }
        Ok(block)
    }

    /// Whether the variable is a coordinate variable: one-dimensional, with the name of a dimension visible
    /// from its group.
    fn is_coordinate(&self, var: &Var) -> bool {
        var.dims.len() == 1 && self.model.find_dim(var.group, &var.name).is_some()
    }
}

/// The value printed as `_`.
enum PrintedFill {
    /// None.
    None,
    /// An element of an atomic type.
    Value(Values),
    /// An element of a user-defined type.
    Item(Item),
}

/// Prints the elements of one variable, and tracks their indices.
pub(crate) struct RowPrinter {
    ty: NcType,
    pub(crate) name: String,
    pub(crate) shape: Vec<u64>,
    unlimited: Vec<bool>,
    pub(crate) index: Vec<u64>,
    fill: PrintedFill,
    /// Whether the fill value is the variable's own.
    own_fill: bool,
    format: Option<CFormat>,
    /// The time axis of the numbers, if dates are requested, and the separator between date and time.
    times: Option<(TimeAxis, char)>,
    /// The kind of index comments, and the way indices are counted.
    pub(crate) notes: Option<(Notes, Indices)>,
    /// NULs of a character row that are printed only before another character.
    nuls: u64,
    pub(crate) piece: Vec<u8>,
}

impl RowPrinter {
    fn new(printer: &Printer<'_>, id: VarId, shape: Vec<u64>) -> Result<Self> {
        let model = printer.model;
        let var = model.var(id)?;
        let unlimited: Result<_> = var.dims.iter().map(|&dim| Ok(model.dim(dim)?.unlimited)).collect();
        Ok(Self {
            ty: var.xtype,
            name: var.name.clone(),
            unlimited: unlimited?,
            index: vec![0; shape.len()],
            shape,
            fill: fill_of(printer, var)?,
            own_fill: var.atts.contains_key("_FillValue"),
            format: format_of(printer, var),
            times: printer.options.times.and_then(|separator| Some((TimeAxis::of(model, var)?, separator))),
            notes: printer.options.notes.map(|notes| (notes, printer.options.indices)),
            nuls: 0,
            piece: Vec::new(),
        })
    }

    fn begin(&mut self, printer: &mut Printer<'_>) -> Result<()> {
        let out = &mut printer.out;
        let mut line = b" ".to_vec();
        push_name(&mut line, &self.name);
        line.extend_from_slice(if self.shape.len() < 2 { b" = " } else { b" =\n  " });
        out.raw("\n")?;
        out.margin()?;
        out.raw(&line)?;
        // The name counts without its escapes.
        out.set_column(out.indent() + if self.shape.len() < 2 { self.name.len() + 4 } else { 2 });
        Ok(())
    }

    fn block(&mut self, printer: &mut Printer<'_>, block: Values, count: &[u64]) -> Result<()> {
        let expected: u64 = count.iter().product();
        let (found, ty) = (printer.model.count(&block)? as u64, block.nc_type());
        if found != expected || ty != self.ty {
            return Err(nczarr_model::ErrorKind::Internal.context(format!(
                "wrong data from the source (expected {expected} elements of {:?}, found {found} of {ty:?})",
                self.ty
            )));
        }
        match &block {
            Values::Char(text) => text.iter().try_for_each(|&byte| self.char(printer, byte)),
            Values::User(..) | Values::Packed(..) => {
                printer.model.items(&block)?.iter().try_for_each(|item| {
                    self.piece.clear();
                    match &self.fill {
                        PrintedFill::Item(fill) if fill.same(item) => self.piece.push(b'_'),
                        _ => push_item(&mut self.piece, printer.model, self.ty, item, printer.digits),
                    }
                    self.element(printer)
                })
            }
            values => (0..values.len()).try_for_each(|at| {
                self.piece.clear();
                if self.is_fill(values, at) {
                    self.piece.push(b'_');
                } else {
                    self.value(printer, values, at);
                }
                self.element(printer)
            }),
        }
    }

    fn is_fill(&self, values: &Values, at: usize) -> bool {
        let PrintedFill::Value(fill) = &self.fill else { return false };
        match (fill, values) {
            // As the reference compares: a last bit lost in decimal text does not matter.
            (Values::Float(fill), Values::Float(v)) => {
                let (fill, v) = (fill[0], v[at]);
                fill == v
                    || (fill.is_nan() && v.is_nan())
                    || fill.is_finite() && (fill - v).abs() <= fill.abs() * f32::EPSILON
            }
            (Values::Double(fill), Values::Double(v)) => {
                let (fill, v) = (fill[0], v[at]);
                fill == v
                    || (fill.is_nan() && v.is_nan())
                    || fill.is_finite() && (fill - v).abs() <= fill.abs() * f64::EPSILON
            }
            // Only an explicit fill value also stands for a null string.
            (Values::String(fill), Values::String(v)) => {
                fill[0] == v[at] && (self.own_fill || !v[at].is_nil())
            }
            (fill, values) => fill.scalar(0) == values.scalar(at),
        }
    }

    fn value(&mut self, printer: &Printer<'_>, values: &Values, at: usize) {
        if let Some((axis, separator)) = &self.times
            && axis.push(&mut self.piece, values, at, *separator)
        {
            return;
        }
        let number = match (&self.format, values.scalar(at)) {
            (None, _) | (_, None) => None,
            (_, Some(nczarr_model::Scalar::Float(value))) => {
                value.is_finite().then_some(FormatNumber::Float(value))
            }
            (_, Some(nczarr_model::Scalar::Int(value))) => {
                Some(FormatNumber::Int { value, wide: matches!(self.ty, NcType::Int64 | NcType::UInt64) })
            }
        };
        match (&self.format, number) {
            (Some(format), Some(number)) => format.push(&mut self.piece, number),
            _ => match values {
                Values::String(v) if v[at].is_nil() && printer.facts.plain_text => {
                    self.piece.extend_from_slice(b"\"\"");
                }
                _ => push_value(&mut self.piece, values, at, printer.digits),
            },
        }
    }

    /// Writes `piece` as the next element.
    fn element(&mut self, printer: &mut Printer<'_>) -> Result<()> {
        for _ in 0..self.opened() {
            printer.out.fold(b"{")?;
        }
        self.row_note(printer)?;
        let note = self.element_note();
        let closed = self.advance();
        match closed {
            _ if note.is_some() => self.noted(printer, closed, &note.unwrap_or_default()),
            None => {
                self.piece.extend_from_slice(b", ");
                printer.out.fold(&self.piece)
            }
            Some(braces) => {
                // The line end of a row does not count for folding, but the braces do.
                self.piece.resize(self.piece.len() + braces, b'}');
                printer.out.fold(&self.piece)?;
                self.end_row(printer)
            }
        }
    }

    /// Writes one element of a character array; a row is one text.
    fn char(&mut self, printer: &mut Printer<'_>, byte: u8) -> Result<()> {
        self.piece.clear();
        if self.index.last().is_none_or(|&column| column == 0) {
            printer.out.raw(vec![b'{'; self.opened()])?;
            self.row_note(printer)?;
            self.piece.push(b'"');
        }
        if byte == 0 {
            self.nuls += 1;
        } else {
            for _ in 0..std::mem::take(&mut self.nuls) {
                self.piece.extend_from_slice(b"\\000");
            }
            push_char(&mut self.piece, byte, Feed::Break("    "));
        }
        let note = self.element_note();
        match self.advance() {
            None => printer.out.raw(&self.piece),
            Some(braces) => {
                self.nuls = 0;
                self.piece.push(b'"');
                if let Some(note) = note {
                    return self.noted(printer, Some(braces), &note);
                }
                self.piece.resize(self.piece.len() + braces, b'}');
                printer.out.raw(&self.piece)?;
                self.end_row(printer)
            }
        }
    }

    fn end_row(&mut self, printer: &mut Printer<'_>) -> Result<()> {
        let last = self.index.iter().all(|&index| index == 0);
        printer.out.raw(if last { " ;\n" } else { ",\n  " })?;
        printer.out.set_column(if last { 0 } else { printer.out.indent() + 2 });
        Ok(())
    }

    /// Returns the number of braces to open before the next element.
    fn opened(&self) -> usize {
        let zeros = self.index.iter().rev().take_while(|&&index| index == 0).count();
        let first = self.index.len() - zeros;
        (first.max(1)..self.index.len()).filter(|&dim| self.unlimited[dim]).count()
    }

    /// Moves to the next element. Returns the number of braces to close at the end of a row. After the last
    /// element the index is zero again.
    fn advance(&mut self) -> Option<usize> {
        let mut braces = 0;
        let mut row = self.index.is_empty();
        for dim in (0..self.index.len()).rev() {
            self.index[dim] += 1;
            if self.index[dim] < self.shape[dim] {
                break;
            }
            self.index[dim] = 0;
            row = true;
            if dim > 0 && self.unlimited[dim] {
                braces += 1;
            }
        }
        row.then_some(braces)
    }
}

/// Returns the value printed as `_`: the `_FillValue`, or the type's default. Bytes and characters have no
/// default here, because every value may be meant.
fn fill_of(printer: &Printer<'_>, var: &Var) -> Result<PrintedFill> {
    if let Some(values) = var.atts.get("_FillValue").filter(|values| values.nc_type() == var.xtype) {
        if !values.nc_type().is_atomic() {
            let mut items = printer.model.items(values)?;
            if items.len() == 1 {
                return Ok(items.pop().map_or(PrintedFill::None, PrintedFill::Item));
            }
        } else if values.len() == 1 {
            return Ok(PrintedFill::Value(values.clone()));
        }
    }
    Ok(match var.xtype {
        NcType::Byte | NcType::UByte | NcType::Char => PrintedFill::None,
        ty => nczarr_model::fill::default(ty).map_or(PrintedFill::None, PrintedFill::Value),
    })
}

/// Returns the variable's `C_format`, unless digits were requested.
fn format_of(printer: &Printer<'_>, var: &Var) -> Option<CFormat> {
    let float = match var.xtype {
        NcType::Float if printer.options.float_digits.is_some() => return None,
        NcType::Double if printer.options.double_digits.is_some() => return None,
        ty if !ty.is_numeric() => return None,
        ty => !ty.is_integer(),
    };
    match var.atts.get("C_format")? {
        Values::Char(text) => CFormat::parse(text, float),
        _ => None,
    }
}

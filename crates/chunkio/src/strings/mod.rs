//! [`Strings`]: elements that are text, as they are in memory and as they are stored; and their transfers.
//!
//! A chunk of text of a fixed size stays the bytes it is stored as, and only elements that are asked for become
//! strings; what has any length becomes a list of strings ([`Held`]). Written ones all go through the cache, in part
//! or whole: text is never so much that it would pay to be cleverer.

mod cell;
mod get;
mod put;

pub(crate) use cell::Cell;
pub(crate) use get::get;
pub(crate) use put::put;

use nczarr_dispatch::{ElementCodec, OutBuf};
use nczarr_model::{ErrorKind, NcString, Result, Values};

use crate::keeper::Form;
use crate::mask::Mask;
use crate::memory::{Block, Viewed, with_scratch};
use crate::odometer::Odometer;
use crate::plan::{Given, Plan};
use crate::project::Part;

/// How text is stored.
#[derive(Debug)]
pub(crate) enum Text {
    /// In a fixed size.
    Fixed(Cell),
    /// In any length.
    Codec(Box<dyn ElementCodec>),
}

/// How an array's text is stored, and what unwritten elements are.
#[derive(Debug)]
pub(crate) struct Strings {
    pub(crate) text: Text,
    pub(crate) plan: Plan,
    pub(crate) fill: NcString,
    pub(crate) elems: usize,
    /// The most bytes a chunk may take in memory.
    pub(crate) most: usize,
}

/// The elements of a chunk.
#[derive(Debug)]
pub(crate) enum Held {
    /// One cell after another, as they are stored.
    Cells(Cell, Block),
    /// Strings of any length.
    List(Vec<NcString>),
}

/// The fill value as one string.
pub(crate) fn fill_string(fill: Option<&Values>) -> Result<NcString> {
    match fill {
        None => Ok(NcString::new()),
        Some(Values::String(list) | Values::Packed(_, list)) if list.len() == 1 => Ok(list[0].clone()),
        Some(Values::Char(bytes)) => Ok(NcString::from(&**bytes)),
        Some(other) => Err(ErrorKind::Inval.context(format!(
            "one fill value of type string expected, {} of type {} found",
            other.len(),
            other.nc_type().name()
        ))),
    }
}

impl Held {
    /// Copies a part to memory.
    fn load(&self, part: &Part, out: &mut [NcString]) -> Result<()> {
        let mut result = Ok(());
        Odometer::each(&part.dims, part.chunk_start, part.mem_start, |from, to| match self {
            Self::List(list) => out[to].clone_from(&list[from]),
            Self::Cells(cell, bytes) => {
                let size = cell.size();
                match cell.load(&bytes[from * size..(from + 1) * size]) {
                    Ok(text) => out[to] = text,
                    Err(error) => result = Err(error),
                }
            }
        });
        result
    }

    /// Copies a part from memory, in which `element` finds what belongs to an element's place.
    fn save<'v>(&mut self, part: &Part, element: impl Fn(usize) -> &'v NcString) -> Result<()> {
        let mut result = Ok(());
        Odometer::each(&part.dims, part.chunk_start, part.mem_start, |to, from| match self {
            Self::List(list) => list[to].clone_from(element(from)),
            Self::Cells(cell, bytes) => {
                let size = cell.size();
                if let Err(error) = cell.store(element(from), &mut bytes[to * size..(to + 1) * size]) {
                    result = Err(error);
                }
            }
        });
        result
    }
}

impl Strings {
    /// The element as it can be stored: itself, or cut at a character if `truncate` allows it.
    fn fit(&self, value: &NcString, truncate: bool) -> Result<Fit> {
        match &self.text {
            Text::Codec(codec) => codec.check(value).map(|()| Fit::Whole),
            Text::Fixed(cell) => cell.fit(value, truncate),
        }
    }

    /// Cells of a chunk that `fill` writes.
    fn cells(&self, cell: Cell, fill: impl FnOnce(&mut OutBuf<'_>) -> Result<()>) -> Result<Held> {
        let block = Block::new(cell.size() * self.elems, fill, |found| self.plan.wrong_size(found))?;
        Ok(Held::Cells(cell, block))
    }
}

/// Whether an element can be stored.
enum Fit {
    Whole,
    /// So many of its bytes can.
    Cut(usize),
    /// Found, allowed, of what.
    TooLong(usize, usize, &'static str),
}

impl Viewed for Held {}

impl Form for Strings {
    type Data = Held;

    fn cost(&self, data: &Held) -> usize {
        match data {
            Held::Cells(_, bytes) => bytes.len(),
            Held::List(list) => list.iter().map(|text| size_of::<NcString>() + text.as_bytes().len()).sum(),
        }
    }

    fn limit(&self) -> usize {
        self.plan.limit
    }

    fn copy(&self, data: &Held) -> Result<Held> {
        Ok(match data {
            Held::Cells(cell, bytes) => Held::Cells(*cell, bytes.try_clone()?),
            Held::List(list) => Held::List(list.clone()),
        })
    }

    fn blank(&self) -> Result<Held> {
        let Text::Fixed(cell) = self.text else { return Ok(Held::List(vec![self.fill.clone(); self.elems])) };
        let mut fill = vec![0; cell.size()];
        cell.store(&self.fill, &mut fill).map_err(|error| error.at("the fill value"))?;
        self.cells(cell, |out| (0..self.elems).try_for_each(|_| out.put(&fill)))
    }

    fn fresh(&self) -> Result<Held> {
        match self.text {
            Text::Fixed(cell) => self.cells(cell, |out| out.put_zeros(out.capacity()).map(drop)),
            Text::Codec(_) => self.blank(),
        }
    }

    fn as_stored<'d>(&self, data: &'d Held) -> Option<&'d [u8]> {
        match data {
            Held::Cells(_, bytes) if !self.plan.has_filters() => Some(bytes),
            _ => None,
        }
    }

    fn decode(&self, stored: &[u8]) -> Result<Held> {
        with_scratch(|pair| match &self.text {
            Text::Fixed(cell) => {
                let held = self.cells(*cell, |out| self.plan.decode_into(stored, pair, out))?;
                if let Held::Cells(cell, bytes) = &held {
                    cell.check(bytes)?;
                }
                Ok(held)
            }
            Text::Codec(codec) => {
                let list = codec.decode(self.plan.decode(stored, pair)?, self.elems, self.most)?;
                match list.len() {
                    found if found == self.elems => Ok(Held::List(list)),
                    found => Err(ErrorKind::Filter.context(format!("{} elements expected, {found} found", self.elems))),
                }
            }
        })
    }

    fn encode(&self, data: &Held, stored: &mut Vec<u8>) -> Result<()> {
        let mut encoded = Vec::new();
        let bytes = match (data, &self.text) {
            (Held::Cells(_, bytes), _) => &**bytes,
            (Held::List(list), Text::Codec(codec)) => {
                codec.encode(list, &mut encoded)?;
                &encoded
            }
            (Held::List(_), Text::Fixed(_)) => return Err(ErrorKind::Internal.context("a list where cells are")),
        };
        let given = Given::Bytes::<fn(&mut OutBuf<'_>) -> Result<()>>(bytes);
        with_scratch(|pair| self.plan.encode(given, pair, stored))
    }

    fn overlay(&self, base: &mut Held, over: &Held, mask: &Mask) {
        mask.runs(true, |start, n| match (&mut *base, over) {
            (Held::Cells(cell, base), Held::Cells(_, over)) => {
                let range = start * cell.size()..(start + n) * cell.size();
                base[range.clone()].copy_from_slice(&over[range]);
            }
            (Held::List(base), Held::List(over)) => base[start..start + n].clone_from_slice(&over[start..start + n]),
            _ => unreachable!("the chunks of an array are held alike"),
        });
    }
}

fn too_long(found: usize, allowed: usize, unit: &str) -> nczarr_model::Error {
    ErrorKind::Inval.context(format!("text of {found} {unit} where {allowed} are stored"))
}

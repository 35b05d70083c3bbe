//! [`Vdata`]: a table of records with a name and a class; attributes, lengths of dimensions and lists of chunks are such.
//!
//! Source: HDF Specification, "Vdata".

use nczarr_model::{ErrorKind, Result};

use crate::cursor::Cursor;
use crate::directory::tag;
use crate::file::{HdfFile, called};

/// A table's description.
#[derive(Debug)]
pub(crate) struct Vdata {
    pub(crate) number: u16,
    pub(crate) name: String,
    pub(crate) class: String,
    pub(crate) records: usize,
    /// Bytes of a record.
    pub(crate) size: usize,
    pub(crate) fields: Vec<Field>,
}

/// A column.
#[derive(Debug)]
pub(crate) struct Field {
    /// The code of its number type.
    pub(crate) ty: u16,
    /// How many numbers in each record.
    pub(crate) order: usize,
}

impl Vdata {
    /// # Errors
    /// `NC_EHDFERR` if it is not there or damaged.
    pub(crate) fn read(file: &HdfFile, number: u16) -> Result<Self> {
        let what = called(tag::VH, number);
        let bytes = file.bytes(tag::VH, number)?;
        let mut cursor = Cursor::new(&bytes, &what);
        let _interlace = cursor.u16()?;
        let records = usize::try_from(cursor.count()?).unwrap_or(usize::MAX);
        let (size, count) = (usize::from(cursor.u16()?), usize::from(cursor.u16()?));
        let (types, _sizes, _offsets) = (cursor.u16s(count)?, cursor.u16s(count)?, cursor.u16s(count)?);
        let orders = cursor.u16s(count)?;
        for _ in 0..count {
            cursor.name()?;
        }
        let fields = types.into_iter().zip(orders).map(|(ty, order)| Field { ty, order: order.into() }).collect();
        Ok(Self { number, name: cursor.name()?, class: cursor.name()?, records, size, fields })
    }

    /// All records, one after another.
    ///
    /// # Errors
    /// `NC_EHDFERR` if there are others than so many bytes.
    pub(crate) fn data(&self, file: &HdfFile) -> Result<Vec<u8>> {
        let expected = self.records.saturating_mul(self.size);
        if expected == 0 {
            return Ok(Vec::new());
        }
        let mut bytes = file.bytes(tag::VS, self.number)?;
        if bytes.len() < expected {
            let (name, found) = (&self.name, bytes.len());
            let what = format!("table {name:?}: {} records of {} bytes, found {found} bytes", self.records, self.size);
            return Err(ErrorKind::HdfErr.context(what));
        }
        bytes.truncate(expected);
        Ok(bytes)
    }
}

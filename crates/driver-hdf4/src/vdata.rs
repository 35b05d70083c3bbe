//! [`Vdata`]: a table of records with a name and a class. Attributes, dimension lengths and chunk tables are
//! stored as such.
//!
//! Source: HDF Specification, "Vdata".

use nczarr_model::{ErrorKind, Result};

use crate::cursor::ElementCursor;
use crate::directory::tag;
use crate::file::{Hdf4File, called};

/// The description of a table.
#[derive(Debug)]
pub(crate) struct Vdata {
    pub(crate) number: u16,
    pub(crate) name: String,
    pub(crate) class: String,
    pub(crate) records: usize,
    /// Size of a record in bytes.
    pub(crate) size: usize,
    pub(crate) fields: Vec<VdataField>,
}

/// A column.
#[derive(Debug)]
pub(crate) struct VdataField {
    /// The code of its number type.
    pub(crate) ty: u16,
    /// Numbers in each record.
    pub(crate) order: usize,
}

impl Vdata {
    /// Reads the description.
    ///
    /// # Errors
    /// `NC_EHDFERR` if it is missing or damaged.
    pub(crate) fn read(file: &Hdf4File, number: u16) -> Result<Self> {
        let what = called(tag::VH, number);
        let bytes = file.bytes(tag::VH, number)?;
        let mut cursor = ElementCursor::new(&bytes, &what);
        let _interlace = cursor.u16()?;
        let records = usize::try_from(cursor.count()?).unwrap_or(usize::MAX);
        let (size, count) = (usize::from(cursor.u16()?), usize::from(cursor.u16()?));
        let (types, _sizes, _offsets) = (cursor.u16s(count)?, cursor.u16s(count)?, cursor.u16s(count)?);
        let orders = cursor.u16s(count)?;
        for _ in 0..count {
            cursor.name()?;
        }
        let fields =
            types.into_iter().zip(orders).map(|(ty, order)| VdataField { ty, order: order.into() }).collect();
        Ok(Self { number, name: cursor.name()?, class: cursor.name()?, records, size, fields })
    }

    /// Reads all records.
    ///
    /// # Errors
    /// `NC_EHDFERR` if their size does not match the description.
    pub(crate) fn data(&self, file: &Hdf4File) -> Result<Vec<u8>> {
        let expected = self.records.saturating_mul(self.size);
        if expected == 0 {
            return Ok(Vec::new());
        }
        let mut bytes = file.bytes(tag::VS, self.number)?;
        if bytes.len() < expected {
            let (name, found) = (&self.name, bytes.len());
            let what = format!(
                "table {name:?}: wrong size (expected {} records of {} bytes, found {found} bytes)",
                self.records, self.size
            );
            return Err(ErrorKind::HdfErr.context(what));
        }
        bytes.truncate(expected);
        Ok(bytes)
    }
}

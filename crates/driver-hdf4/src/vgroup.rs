//! [`Vgroup`]: a group of elements with a name and a class.
//!
//! Source: HDF Specification, "Vgroup".

use nczarr_model::Result;

use crate::cursor::ElementCursor;
use crate::directory::tag;
use crate::file::{Hdf4File, called};

/// A group of elements.
#[derive(Debug)]
pub(crate) struct Vgroup {
    pub(crate) name: String,
    pub(crate) class: String,
    /// Tag and number of each member.
    pub(crate) members: Vec<(u16, u16)>,
}

impl Vgroup {
    /// Reads the group.
    ///
    /// # Errors
    /// `NC_EHDFERR` if it is missing or damaged.
    pub(crate) fn read(file: &Hdf4File, number: u16) -> Result<Self> {
        let what = called(tag::VG, number);
        let bytes = file.bytes(tag::VG, number)?;
        let mut cursor = ElementCursor::new(&bytes, &what);
        let count = usize::from(cursor.u16()?);
        let (tags, numbers) = (cursor.u16s(count)?, cursor.u16s(count)?);
        let members = tags.into_iter().zip(numbers).collect();
        Ok(Self { name: cursor.name()?, class: cursor.name()?, members })
    }
}

//! The local heap: names of a group's links in older files.

use nczarr_model::Result;

use super::cursor::{Cursor, bad};
use super::file::Hdf;

/// The names.
#[derive(Debug)]
pub(crate) struct LocalHeap(Vec<u8>);

impl LocalHeap {
    pub(crate) fn read(file: &Hdf, address: u64) -> Result<Self> {
        let head = file.read(address, 8 + 2 * u64::from(file.lengths) + u64::from(file.offsets))?;
        let mut at = Cursor::new(&head, "local heap");
        at.expect(b"HEAP")?;
        at.skip(4)?;
        let len = at.uint(file.lengths)?;
        at.uint(file.lengths)?;
        Ok(Self(file.read(at.address(file.offsets)?, len)?))
    }

    /// The text at an offset.
    pub(crate) fn text(&self, file: &Hdf, offset: u64) -> Result<String> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.0.get(offset..));
        let rest = rest.ok_or_else(|| bad(format!("a name at {offset} of a local heap of {}", self.0.len())))?;
        let text = Cursor::new(rest, "local heap").until_zero()?;
        file.spend(text.len() as u64)?;
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}

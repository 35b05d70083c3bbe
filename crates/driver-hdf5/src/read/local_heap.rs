//! Reads local heaps, which hold the names of links in older files.

use nczarr_model::Result;

use super::cursor::{MetadataCursor, damaged};
use super::file::HdfFile;

/// The bytes of a heap.
#[derive(Debug)]
pub(crate) struct LocalHeap(Vec<u8>);

impl LocalHeap {
    pub(crate) fn read(file: &HdfFile, address: u64) -> Result<Self> {
        let head = file.read(address, 8 + 2 * u64::from(file.lengths) + u64::from(file.offsets))?;
        let mut at = MetadataCursor::new(&head, "local heap");
        at.expect(b"HEAP")?;
        at.skip(4)?;
        let len = at.uint(file.lengths)?;
        at.uint(file.lengths)?;
        Ok(Self(file.read(at.address(file.offsets)?, len)?))
    }

    /// Reads the text at an offset.
    pub(crate) fn text(&self, file: &HdfFile, offset: u64) -> Result<String> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.0.get(offset..));
        let rest = rest.ok_or_else(|| {
            damaged(format!(
                "local heap: a name at offset {offset} is outside the heap of {} bytes",
                self.0.len()
            ))
        })?;
        let text = MetadataCursor::new(rest, "local heap").until_zero()?;
        file.spend(text.len() as u64)?;
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}

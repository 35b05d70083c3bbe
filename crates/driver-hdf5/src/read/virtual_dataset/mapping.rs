//! [`VirtualMapping`]: maps elements of a source to elements of a virtual dataset, as stored in the global
//! heap.
//!
//! Source: HDF5 File Format Specification, "Global Heap Block for Virtual Datasets".

use std::collections::HashMap;
use std::sync::Arc;

use nczarr_model::Result;

use super::super::cursor::{MetadataCursor, UNDEFINED, damaged};
use super::super::file::HdfFile;
use super::selection::DataspaceSelection;
use crate::lookup3::lookup3;

/// File and dataset name of a source. They may contain a pattern for a block number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SourceName {
    pub(crate) file: Arc<str>,
    pub(crate) dataset: Arc<str>,
}

/// One mapping.
#[derive(Debug, Clone)]
pub(crate) struct VirtualMapping {
    pub(crate) names: SourceName,
    pub(crate) source: DataspaceSelection,
    pub(crate) target: DataspaceSelection,
}

/// The file name that means the virtual dataset's own file.
pub(crate) const HERE: &str = ".";

/// Flags of version 2: the file or dataset name is that of an earlier entry; the file is the virtual
/// dataset's own.
const FILE_AGAIN: u8 = 1;
const DATASET_AGAIN: u8 = 2;
const SAME_FILE: u8 = 4;

impl VirtualMapping {
    /// Reads all mappings from an object of a collection.
    ///
    /// # Errors
    /// `NC_EHDFERR` if something is damaged.
    pub(crate) fn list(file: &HdfFile, address: u64, index: u32) -> Result<Vec<Self>> {
        // The parsed mappings may be several times as large.
        Self::read(file, address, index, |bytes| file.spend(bytes))
    }

    /// As [`VirtualMapping::list`], for a temporary result. It does not count as read metadata.
    pub(super) fn list_again(file: &HdfFile, address: u64, index: u32) -> Result<Vec<Self>> {
        Self::read(file, address, index, |_| Ok(()))
    }

    fn read(
        file: &HdfFile,
        address: u64,
        index: u32,
        spend: impl FnOnce(u64) -> Result<()>,
    ) -> Result<Vec<Self>> {
        if address == UNDEFINED || index == 0 {
            return Ok(Vec::new());
        }
        let collection = file.collection(address)?;
        let missing = || {
            damaged(format!(
                "mappings of a virtual dataset: object {index} of the global heap at address {address} is missing"
            ))
        };
        let bytes = collection.object(index).ok_or_else(missing)?;
        let (body, stored) = bytes.split_last_chunk::<4>().ok_or_else(missing)?;
        let (found, stored) = (lookup3(body), u32::from_le_bytes(*stored));
        if found != stored {
            return Err(damaged(format!(
                "mappings of a virtual dataset: wrong checksum (expected {stored:08x}, found {found:08x})"
            )));
        }
        spend(body.len() as u64)?;
        let mut at = MetadataCursor::new(body, "mappings of a virtual dataset");
        let version = at.version(1)?;
        let count = at.uint(file.lengths)?;
        let (mut list, mut known) = (Vec::<Self>::new(), HashMap::new());
        let again = |list: &[Self], number: u64| -> Result<SourceName> {
            let entry = usize::try_from(number).ok().and_then(|number| list.get(number));
            let entry = entry.ok_or_else(|| {
                damaged(format!("mapping: it refers to the name of the unknown mapping {number}"))
            })?;
            Ok(entry.names.clone())
        };
        for _ in 0..count {
            let flags = if version == 0 { 0 } else { at.u8()? };
            let source_file = match flags {
                _ if flags & SAME_FILE != 0 => name(HERE.as_bytes(), &mut known),
                _ if flags & FILE_AGAIN != 0 => again(&list, at.uint(file.lengths)?)?.file,
                _ => name(at.until_zero()?, &mut known),
            };
            let dataset = match flags & DATASET_AGAIN {
                0 => name(at.until_zero()?, &mut known),
                _ => again(&list, at.uint(file.lengths)?)?.dataset,
            };
            let source = DataspaceSelection::parse(&mut at)?;
            let target = DataspaceSelection::parse(&mut at)?;
            list.push(Self { names: SourceName { file: source_file, dataset }, source, target });
        }
        Ok(list)
    }

    /// Whether each block of the virtual dataset has its own source, named by the block number.
    pub(crate) fn is_numbered(&self) -> bool {
        self.target.unlimited().is_some() && self.source.unlimited().is_none()
    }
}

/// Returns a shared copy of a name.
fn name(bytes: &[u8], known: &mut HashMap<Vec<u8>, Arc<str>>) -> Arc<str> {
    let fresh = || Arc::from(&*String::from_utf8_lossy(bytes));
    Arc::clone(known.entry(bytes.to_vec()).or_insert_with(fresh))
}

impl SourceName {
    /// Whether a name contains the pattern.
    pub(crate) fn has_number(&self) -> bool {
        self.of_block(0) != self.of_block(1)
    }

    /// Returns the names for a block. `%b` becomes its number, `%%` a percent sign.
    pub(crate) fn of_block(&self, number: u64) -> Self {
        Self { file: numbered(&self.file, number).into(), dataset: numbered(&self.dataset, number).into() }
    }
}

fn numbered(name: &str, number: u64) -> String {
    let (mut out, mut rest) = (String::new(), name);
    while let Some(at) = rest.find('%') {
        out += &rest[..at];
        let after = &rest[at + 1..];
        (out, rest) = match after.as_bytes().first() {
            Some(b'b') => (out + &number.to_string(), &after[1..]),
            Some(b'%') => (out + "%", &after[1..]),
            _ => (out + "%", after),
        };
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_number_of_a_block() {
        for (name, expected) in
            [("a", "a"), ("%b", "12"), ("f%b_%%b.h5", "f12_%b.h5"), ("%b%b%", "1212%"), ("%x", "%x")]
        {
            assert_eq!(numbered(name, 12), expected);
        }
    }
}

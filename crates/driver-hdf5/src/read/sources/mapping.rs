//! [`Mapping`]: which elements of a virtual dataset are which of another, as a block of the global heap lists them.
//!
//! Source: HDF5 File Format Specification, "Global Heap Block for Virtual Datasets".

use std::collections::HashMap;
use std::sync::Arc;

use nczarr_model::Result;

use super::super::cursor::{Cursor, UNDEFINED, bad};
use super::super::file::Hdf;
use super::selection::Selection;
use crate::lookup3::lookup3;

/// A dataset by the names that a mapping has for it, which may have places for the number of a block.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Names {
    pub(crate) file: Arc<str>,
    pub(crate) dataset: Arc<str>,
}

/// One mapping.
#[derive(Debug, Clone)]
pub(crate) struct Mapping {
    pub(crate) names: Names,
    pub(crate) source: Selection,
    pub(crate) target: Selection,
}

/// The file that a virtual dataset is in itself.
pub(crate) const HERE: &str = ".";

/// Flags of the second version: a name is that of an earlier entry; the file is the virtual dataset's own.
const FILE_AGAIN: u8 = 1;
const DATASET_AGAIN: u8 = 2;
const SAME_FILE: u8 = 4;

impl Mapping {
    /// Reads all of them, out of an object of a collection.
    ///
    /// # Errors
    /// `NC_EHDFERR` if something is damaged.
    pub(crate) fn list(file: &Hdf, address: u64, index: u32) -> Result<Vec<Self>> {
        // What is made of them is some times as large.
        Self::read(file, address, index, |bytes| file.spend(bytes))
    }

    /// As [`Mapping::list`], for what is not kept: it is not counted.
    pub(super) fn list_again(file: &Hdf, address: u64, index: u32) -> Result<Vec<Self>> {
        Self::read(file, address, index, |_| Ok(()))
    }

    fn read(file: &Hdf, address: u64, index: u32, spend: impl FnOnce(u64) -> Result<()>) -> Result<Vec<Self>> {
        if address == UNDEFINED || index == 0 {
            return Ok(Vec::new());
        }
        let collection = file.collection(address)?;
        let missing =
            || bad(format!("object {index} of the global heap at {address}, the mappings of a virtual dataset"));
        let bytes = collection.object(index).ok_or_else(missing)?;
        let (body, stored) = bytes.split_last_chunk::<4>().ok_or_else(missing)?;
        let (found, stored) = (lookup3(body), u32::from_le_bytes(*stored));
        if found != stored {
            return Err(bad(format!(
                "the mappings of a virtual dataset: their checksum is {stored:08x}, that of their bytes {found:08x}"
            )));
        }
        spend(body.len() as u64)?;
        let mut at = Cursor::new(body, "mappings of a virtual dataset");
        let version = at.version(1)?;
        let count = at.uint(file.lengths)?;
        let (mut list, mut known) = (Vec::<Self>::new(), HashMap::new());
        let again = |list: &[Self], number: u64| -> Result<Names> {
            let entry = usize::try_from(number).ok().and_then(|number| list.get(number));
            let entry = entry.ok_or_else(|| bad(format!("a mapping with a name of mapping {number}")))?;
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
            let source = Selection::parse(&mut at)?;
            let target = Selection::parse(&mut at)?;
            list.push(Self { names: Names { file: source_file, dataset }, source, target });
        }
        Ok(list)
    }

    /// Whether each block of the virtual dataset is a dataset of its own, named by its number.
    pub(crate) fn is_numbered(&self) -> bool {
        self.target.unlimited().is_some() && self.source.unlimited().is_none()
    }
}

/// Each name is kept once.
fn name(bytes: &[u8], known: &mut HashMap<Vec<u8>, Arc<str>>) -> Arc<str> {
    let fresh = || Arc::from(&*String::from_utf8_lossy(bytes));
    Arc::clone(known.entry(bytes.to_vec()).or_insert_with(fresh))
}

impl Names {
    /// Whether they have a place for a number.
    pub(crate) fn has_number(&self) -> bool {
        self.of_block(0) != self.of_block(1)
    }

    /// The names of block `number`: it stands where `%b` is; `%%` is one sign.
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

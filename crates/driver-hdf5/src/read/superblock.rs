//! Reads the superblock: the base address, the sizes of numbers, and the root group.

use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};

use super::cursor::{MetadataCursor, UNDEFINED, damaged};
use super::file::HdfFile;
use super::file_bytes::FileBytes;
use super::header::{ObjectHeader, message_type};
use super::shared_messages::SharedTable;

/// The first bytes of a superblock.
pub(crate) const SIGNATURE: &[u8; 8] = b"\x89HDF\r\n\x1a\n";

/// Facts of the superblock.
#[derive(Debug)]
pub(crate) struct Superblock {
    /// Its version: 0 to 3.
    pub(crate) version: u8,
}

/// Finds and reads the superblock.
///
/// # Errors
/// `NC_ENOTNC` if there is none; `NC_ETRUNC` if the file is shorter than it states; `NC_EHDFERR` if it is
/// damaged.
pub(crate) fn open(store: Arc<FileBytes>) -> Result<(HdfFile, Superblock)> {
    let mut file = HdfFile::new(store)?;
    let mut base = 0;
    while file.read_most(base, 8)? != SIGNATURE {
        base = if base == 0 { 512 } else { base * 2 };
        if base >= file.len {
            return Err(ErrorKind::NotNc.context("not an HDF5 file: the signature is missing"));
        }
    }
    let head = file.read_most(base, 256)?;
    let mut at = MetadataCursor::new(&head, "superblock");
    at.skip(8)?;
    let version = at.version(3)?;
    let old = version < 2;
    at.skip(if old { 4 } else { 0 })?;
    let (offsets, lengths) = (at.u8()?, at.u8()?);
    if ![2, 4, 8].contains(&offsets) || ![2, 4, 8].contains(&lengths) {
        return Err(damaged(format!(
            "superblock: invalid sizes (addresses of {offsets} bytes, lengths of {lengths} bytes)"
        )));
    }
    (file.offsets, file.lengths) = (offsets, lengths);
    let mut driver = UNDEFINED;
    let (stored_base, extension, end, root) = if old {
        at.skip(if version == 0 { 9 } else { 13 })?;
        let stored_base = at.address(offsets)?;
        let _free = at.address(offsets)?;
        let end = at.address(offsets)?;
        driver = at.address(offsets)?;
        let _name = at.address(offsets)?;
        (stored_base, UNDEFINED, end, at.address(offsets)?)
    } else {
        at.skip(1)?;
        let stored_base = at.address(offsets)?;
        let extension = at.address(offsets)?;
        let end = at.address(offsets)?;
        let root = at.address(offsets)?;
        file.checked(base, at.at() as u64 + 4, "superblock")?;
        (stored_base, extension, end, root)
    };
    (file.base, file.root) = (base, root);
    if end == UNDEFINED || root == UNDEFINED {
        return Err(damaged("superblock: the end of the file or the root group is undefined"));
    }
    let cut = end.saturating_sub(stored_base) > file.len.saturating_sub(base);
    check_driver(&file, driver, extension, cut)?;
    // The end address is relative to the base address at the time of writing.
    if cut {
        let what = format!(
            "the file is cut short (found {} bytes; the superblock states the end at {end})",
            file.len
        );
        return Err(ErrorKind::Trunc.context(what));
    }
    if extension != UNDEFINED {
        file.shared = SharedTable::read(&file, extension)?;
    }
    Ok((file, Superblock { version }))
}

/// Refuses parts of a file. HDF5's multi, split and family drivers make several.
///
/// # Errors
/// `NC_ESTORAGE` for a part, or if the metadata are in a cache image.
fn check_driver(file: &HdfFile, block: u64, extension: u64, cut: bool) -> Result<()> {
    let refuse = |what: &str| Err(ErrorKind::Storage.context(what));
    let named = |id: &[u8]| match id {
        b"NCSAmult" => refuse(
            "the file is one part of a file written with HDF5's multi or split driver, which is not supported",
        ),
        b"NCSAfami" if cut => {
            refuse("the file is one part of a file written with HDF5's family driver, which is not supported")
        }
        _ => Ok(()),
    };
    if block != UNDEFINED
        && let Ok(head) = file.read(block, 16)
        && head[0] == 0
    {
        named(&head[8..16])?;
    }
    if extension != UNDEFINED
        && let Ok(header) = ObjectHeader::read(file, extension)
    {
        if let Some(message) = header.find(message_type::DRIVER) {
            named(message.bytes.get(1..9).unwrap_or_default())?;
        }
        if header.find(message_type::CACHE_IMAGE).is_some() {
            return refuse(
                "the file has a metadata cache image, which is not supported; open and close it with HDF5 first",
            );
        }
    }
    Ok(())
}

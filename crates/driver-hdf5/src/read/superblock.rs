//! The superblock: where a file begins, how its numbers are written, and where its root group is.

use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};

use super::cursor::{Cursor, UNDEFINED, bad};
use super::file::Hdf;
use super::header::{Header, kind};
use super::shared::SharedTable;
use super::store::Store;

/// First bytes of a superblock.
pub(crate) const SIGNATURE: &[u8; 8] = b"\x89HDF\r\n\x1a\n";

/// What the superblock says.
#[derive(Debug)]
pub(crate) struct Superblock {
    /// Its version: 0 to 3.
    pub(crate) version: u8,
}

/// Finds and reads it.
///
/// # Errors
/// `NC_ENOTNC` if there is none; `NC_ETRUNC` if the file is shorter than it says; `NC_EHDFERR` if it is damaged.
pub(crate) fn open(store: Arc<Store>) -> Result<(Hdf, Superblock)> {
    let mut file = Hdf::new(store)?;
    let mut base = 0;
    while file.read_most(base, 8)? != SIGNATURE {
        base = if base == 0 { 512 } else { base * 2 };
        if base >= file.len {
            return Err(ErrorKind::NotNc.context("no HDF5 file: the signature is at none of its places"));
        }
    }
    let head = file.read_most(base, 256)?;
    let mut at = Cursor::new(&head, "superblock");
    at.skip(8)?;
    let version = at.version(3)?;
    let old = version < 2;
    at.skip(if old { 4 } else { 0 })?;
    let (offsets, lengths) = (at.u8()?, at.u8()?);
    if ![2, 4, 8].contains(&offsets) || ![2, 4, 8].contains(&lengths) {
        return Err(bad(format!("superblock: addresses of {offsets} bytes, lengths of {lengths}")));
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
        return Err(bad("superblock: no end, or no root group"));
    }
    let cut = end.saturating_sub(stored_base) > file.len.saturating_sub(base);
    check_driver(&file, (driver, extension), cut)?;
    // The end is one of the file; the base is where it was when it was written.
    if cut {
        let what = format!("the file has {} bytes, its superblock says {end}", file.len);
        return Err(ErrorKind::Trunc.context(what));
    }
    if extension != UNDEFINED {
        file.shared = SharedTable::read(&file, extension)?;
    }
    Ok((file, Superblock { version }))
}

/// Whether the file is a whole one: HDF5 has drivers that put parts of a file into several.
///
/// # Errors
/// `NC_ESTORAGE` for a part, and for a file whose metadata lie in an image of HDF5's cache.
fn check_driver(file: &Hdf, (block, extension): (u64, u64), cut: bool) -> Result<()> {
    let refuse = |what: &str| Err(ErrorKind::Storage.context(what));
    let named = |id: &[u8]| match id {
        b"NCSAmult" => refuse(
            "it is a part of a file written with HDF5's multi or split driver; files of several parts are not read",
        ),
        b"NCSAfami" if cut => {
            refuse("it is a part of a file written with HDF5's family driver; files of several parts are not read")
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
        && let Ok(header) = Header::read(file, extension)
    {
        if let Some(message) = header.find(kind::DRIVER) {
            named(message.bytes.get(1..9).unwrap_or_default())?;
        }
        if header.find(kind::CACHE_IMAGE).is_some() {
            return refuse("its metadata lie in an image of HDF5's metadata cache, which is not read");
        }
    }
    Ok(())
}

//! [`ZipMaps`]: the factory that opens, creates and deletes datasets in archives.

use std::path::Path;
use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::source::{Backing, ByteSource, InitialRead};
use nczarr_storage::{
    Clobber, CreateMap, Key, Magic, MapFactory, MapInfo, MapPlugin, OpenMap, Target, ZMap, ZMapExt,
};

use crate::ZipMap;
use crate::archive_file::{self, LockedArchive};
use crate::persist::Persist;
use crate::records::{END, END_LEN, u16_at, u32_at};

/// The factory's name, and the first bytes of an archive: a member, or its end record.
pub static INFO: MapInfo = MapInfo::new("zip", "a zip archive, one member per object")
    .magic(&[Magic { offset: 0, bytes: b"PK\x03\x04" }, Magic { offset: 0, bytes: b"PK\x05\x06" }])
    .in_memory(true);

/// The factory of [`ZipMap`]s. The fragment's `zipdir` names the folder of the keys in the archive.
#[derive(Debug, Clone, Copy, Default)]
pub struct ZipMaps;

impl MapFactory for ZipMaps {
    fn info(&self) -> &MapInfo {
        &INFO
    }

    fn recognises_tail(&self, tail: &[u8]) -> bool {
        ends(tail)
    }

    fn open(&self, request: &OpenMap<'_>) -> Result<Arc<dyn ZMap>> {
        let &OpenMap { markers, writable, options, .. } = request;
        match request.backing {
            Backing::Source(source) => {
                check_read_only(request)?;
                // An archive is read from its end.
                if source.prefetched_range() == (0..source.len()) {
                    return open_remote(request, Arc::clone(source));
                }
            }
            Backing::Bytes(bytes) => {
                let folder = folder_of(request.target)?;
                let bytes = bytes.clone();
                return Ok(Arc::new(ZipMap::in_memory(bytes, folder, markers, writable, options)?));
            }
            &Backing::Memory { persist } => {
                let (path, folder) = (path_of(request.target)?, folder_of(request.target)?);
                let map = ZipMap::open_in_memory(path, folder, markers, writable, persist, options)?;
                return Ok(Arc::new(map));
            }
            Backing::Place => {}
        }
        if !request.target.scheme.is_local() {
            check_read_only(request)?;
            return open_remote(request, request.open_source(InitialRead::Tail(TAIL))?);
        }
        let (path, folder) = (path_of(request.target)?, folder_of(request.target)?);
        Ok(Arc::new(ZipMap::open(path, folder, markers, writable, options)?))
    }

    fn create(&self, request: &CreateMap<'_>) -> Result<Arc<dyn ZMap>> {
        let target = request.target;
        let &Backing::Memory { persist } = request.backing else {
            let path = path_of(target)?;
            let old = replaced(request, path)?;
            let folder = folder_of(target)?.unwrap_or_default();
            return Ok(Arc::new(ZipMap::create_over(path, folder, old, request.options)?));
        };
        let folder = folder_of(target)?.unwrap_or_default();
        let persist = if persist {
            let path = path_of(target)?;
            Some(Persist::to_new(path, replaced(request, path)?, request.options)?)
        } else {
            None
        };
        Ok(Arc::new(ZipMap::create_in_memory(folder, persist, request.options)?))
    }

    fn delete(&self, request: &OpenMap<'_>) -> Result<()> {
        archive_file::remove(path_of(request.target)?)
    }
}

nczarr_storage::inventory::submit! { MapPlugin(&ZipMaps) }

/// Whether these bytes end with an end record and its comment.
fn ends(tail: &[u8]) -> bool {
    let is_end = |at: usize| {
        let record = &tail[at..];
        // It must be on one disk.
        let one_disk = u32_at(record, 4) == 0 && u16_at(record, 8) == u16_at(record, 10);
        record.starts_with(&END) && one_disk && END_LEN + usize::from(u16_at(record, 20)) == record.len()
    };
    tail.len().checked_sub(END_LEN).is_some_and(|last| (0..=last).rev().any(is_end))
}

/// Locks the archive that a new one replaces.
///
/// # Errors
/// `NC_EOBJECT` if it is not a dataset; it stays unchanged.
fn replaced(request: &CreateMap<'_>, path: &Path) -> Result<Option<LockedArchive>> {
    let old = if request.clobber == Clobber::Replace { archive_file::claim_old(path)? } else { None };
    if let Some(held) = &old {
        let old = ZipMap::look(held, request.markers, request.options)?;
        let is_dataset = |marker: &&str| Key::new(marker).and_then(|key| old.exists(&key)).unwrap_or(false);
        if !old.keys(&Key::root())?.is_empty() && !request.markers.iter().any(is_dataset) {
            let markers = request.markers.join(", ");
            return Err(ErrorKind::Object.context(format!(
                "{}: the archive is not a recognised dataset (expected one of {markers})",
                path.display()
            )));
        }
    }
    Ok(old)
}

/// Bytes at the end of a remote archive that are read first; they usually contain the whole directory.
const TAIL: u64 = 128 << 10;

fn read_only_archive(target: &Target) -> nczarr_model::Error {
    ErrorKind::Perm.context(format!("{target}: a remote archive cannot be written"))
}

fn check_read_only(request: &OpenMap<'_>) -> Result<()> {
    if request.writable { Err(read_only_archive(request.target)) } else { Ok(()) }
}

fn open_remote(request: &OpenMap<'_>, source: Arc<dyn ByteSource>) -> Result<Arc<dyn ZMap>> {
    let (name, folder) = (request.target.to_string(), folder_of(request.target)?);
    let map = ZipMap::open_remote(name, source, folder, request.markers, request.options)?;
    Ok(Arc::new(map))
}

fn path_of(target: &Target) -> Result<&Path> {
    if !target.scheme.is_local() {
        return Err(read_only_archive(target));
    }
    if target.path.as_os_str().is_empty() {
        return Err(ErrorKind::Inval.context("the path is empty; name an archive"));
    }
    Ok(&target.path)
}

fn folder_of(target: &Target) -> Result<Option<&str>> {
    let folder = target.get("zipdir").map(|folder| folder.trim_matches('/'));
    if let Some(folder) = folder {
        Key::new(folder).map_err(|error| error.at(format_args!("{target}: zipdir={folder}")))?;
    }
    Ok(folder)
}

//! Datasets in memory: `netcdf_mem.h`.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use nczarr::dispatch::{Clobber, SharedBytes};
use nczarr::{ErrorKind, Kind, Result};

use super::{flags, path, settings};
use crate::boundary::lent_memory::{LentBytes, LentMemory};
use crate::boundary::memory;
use crate::boundary::pointer::{InPtr, OutPtr, TargetPtr, TextPtr};
use crate::open_file::{MemoryFile, OpenFile};
use crate::table;

/// The caller keeps the memory.
const LOCKED: c_int = 1;

/// The memory of a dataset: `NC_memio`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemIo {
    size: usize,
    memory: *mut c_void,
    flags: c_int,
}

c_functions! {
    /// Opens a dataset in memory that the caller keeps, for reading.
    fn nc_open_mem(path: TextPtr, mode: c_int, size: usize, memory: TargetPtr, ncidp: OutPtr<c_int>) {
        if mode & flags::WRITE != 0 {
            return Err(ErrorKind::Inval.context("nc_open_mem is for reading; use nc_open_memio"));
        }
        open(&path, mode, MemIo { size, memory: memory.address(), flags: LOCKED }, ncidp)
    }

    /// Opens a dataset in memory. Unless it is locked, the library owns the memory until `nc_close_memio`.
    fn nc_open_memio(path: TextPtr, mode: c_int, info: InPtr<MemIo>, ncidp: OutPtr<c_int>) {
        let info = info.values(1, "info")?[0];
        if mode & flags::DISKLESS != 0 {
            return Err(ErrorKind::Diskless.context("NC_DISKLESS is for files"));
        }
        open(&path, mode, info, ncidp)
    }

    /// Creates a dataset in memory. `nc_close_memio` returns its bytes.
    fn nc_create_mem(path: TextPtr, mode: c_int, _initialsize: usize, ncidp: OutPtr<c_int>) {
        let bytes = path::bytes(&path)?;
        let kind = flags::kind(mode & !flags::INMEMORY, settings::default_kind())?;
        let place = kind.modes().iter().fold(path::place(bytes), |place, &word| place.mode(word));
        let classic_model = kind == Kind::NetCdf4Classic;
        let (registry, options) = (nczarr::registry()?, super::options());
        let dataset =
            registry.create_in_memory(&place, Clobber::Replace, classic_model, &options, false)?;
        let file = OpenFile::new(dataset, bytes.to_vec(), mode | flags::INMEMORY)?.in_memory(MemoryFile::Created);
        ncidp.set(table::insert(file)?);
        Ok(())
    }

    /// Closes a dataset in memory and returns its bytes, which the caller frees.
    fn nc_close_memio(ncid: c_int, info: OutPtr<MemIo>) {
        let (slot, file) = table::find_root(ncid)?;
        file.check_usable()?;
        let Some(memory) = &file.memory else {
            return Err(ErrorKind::Inval.context("the dataset is not in memory"));
        };
        file.dataset.close()?;
        let (address, size) = match memory {
            MemoryFile::Opened(lent) if !file.writable => lent.give_back(),
            _ => {
                let image = file.dataset.image()?;
                (memory::hand_out(&image)?, image.len())
            }
        };
        table::remove(slot, &file);
        info.set(MemIo { size, memory: address, flags: 0 });
        Ok(())
    }
}

fn open(path: &TextPtr, mode: c_int, info: MemIo, ncidp: OutPtr<c_int>) -> Result<()> {
    let bytes = path::bytes(path)?;
    if info.memory.is_null() || info.size == 0 {
        return Err(ErrorKind::Inval.context("the memory is empty"));
    }
    let writable = mode & flags::WRITE != 0;
    let lent = LentMemory::new(info.memory, info.size);
    let (registry, options) = (nczarr::registry()?, super::options());
    let content = SharedBytes::from(LentBytes(Arc::clone(&lent)));
    let dataset = registry.open_bytes(&path::place(bytes), content, writable, &options)?;
    // The library owns the memory only if it could be opened.
    if info.flags & LOCKED == 0 {
        lent.take();
    }
    let file =
        OpenFile::new(dataset, bytes.to_vec(), mode | flags::INMEMORY)?.in_memory(MemoryFile::Opened(lent));
    ncidp.set(table::insert(file)?);
    Ok(())
}

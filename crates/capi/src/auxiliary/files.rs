//! `ncaux_readfile` and `ncaux_writefile`.

use std::ffi::c_void;
use std::fs;

use nczarr::{Error, ErrorKind, Result};

use crate::boundary::memory;
use crate::boundary::pointer::{OutPtr, SourcePtr, TextPtr, path_from_bytes};

c_functions! {
    /// Reads a file. The caller frees the content, which a zero byte follows.
    fn ncaux_readfile(filename: TextPtr, sizep: OutPtr<usize>, content: OutPtr<*mut c_void>) {
        let path = path_from_bytes(name(&filename)?);
        let mut bytes = fs::read(&path).map_err(|error| Error::io_at(&path, error))?;
        sizep.set(bytes.len());
        if !content.is_null() {
            bytes.push(0);
            content.set(memory::hand_out(&bytes)?);
        }
        Ok(())
    }

    /// Writes a file.
    fn ncaux_writefile(filename: TextPtr, size: usize, content: SourcePtr) {
        let path = path_from_bytes(name(&filename)?);
        fs::write(&path, content.bytes(size)?).map_err(|error| Error::io_at(&path, error))
    }
}

fn name(name: &TextPtr) -> Result<&[u8]> {
    name.bytes()
        .filter(|name| !name.is_empty())
        .ok_or_else(|| ErrorKind::Inval.context("the file has no name"))
}

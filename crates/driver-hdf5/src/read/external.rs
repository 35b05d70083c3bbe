//! [`External`]: data that lie in files beside the one that describes them, one stretch after another.
//!
//! A file may name any other. So only those are read that are regular files in its own folder, named without a path; where
//! it is no local file there is no such folder. A file that is too short is an error, where HDF5 shows zeros.

use std::fs::File;
use std::path::{Path, PathBuf};

use chunkio::ByteStore;
use dispatch::{OutBuf, file_io};
use model::{Error, ErrorKind, Result};

use super::cursor::{Cursor, UNDEFINED, bad};
use super::file::Hdf;
use super::local_heap::LocalHeap;
use super::store::Store;

/// One stretch of the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// The file as it is named.
    name: String,
    offset: u64,
    /// [`UNDEFINED`]: all that is left.
    len: u64,
}

/// The stretches that a message lists.
///
/// # Errors
/// `NC_EHDFERR` if it is damaged.
pub(crate) fn list(file: &Hdf, bytes: &[u8]) -> Result<Vec<Stretch>> {
    let mut at = Cursor::new(bytes, "external files");
    if at.version(1)? == 0 {
        return Err(bad("external files: version 0, of which nothing is known"));
    }
    at.skip(5)?;
    let count = at.u16()?;
    let heap = LocalHeap::read(file, at.address(file.offsets)?)?;
    let mut stretches = Vec::new();
    for _ in 0..count {
        let name = at.uint(file.lengths)?;
        let (offset, len) = (at.uint(file.lengths)?, at.address(file.lengths)?);
        stretches.push(Stretch { name: heap.text(file, name)?, offset, len });
    }
    Ok(stretches)
}

/// The stretches as one.
#[derive(Debug)]
pub(crate) struct External {
    parts: Vec<Part>,
    len: u64,
}

#[derive(Debug)]
struct Part {
    file: File,
    path: PathBuf,
    /// Where it begins in the file, and in the data.
    offset: u64,
    start: u64,
    len: u64,
}

impl External {
    /// Opens the files that hold `wanted` bytes of data.
    ///
    /// # Errors
    /// `NC_ESTORAGE` for a file elsewhere; `NC_ETRUNC` if there is less; what the system says.
    pub(crate) fn open(file: &Hdf, stretches: &[Stretch], wanted: u64) -> Result<Self> {
        let folder = match &*file.store {
            Store::File(_, path) => path.parent().filter(|folder| !folder.as_os_str().is_empty()),
            _ => {
                let names: Vec<&str> = stretches.iter().map(|stretch| stretch.name.as_str()).collect();
                let what = format!(
                    "its data are in other files, {names:?}, which are read only beside a local file that is opened by \
                     its path"
                );
                return Err(ErrorKind::Storage.context(what));
            }
        };
        let (mut parts, mut start) = (Vec::new(), 0);
        for Stretch { name, offset, len } in stretches {
            let part = (wanted - start).min(if *len == UNDEFINED { u64::MAX } else { *len });
            if part == 0 {
                continue;
            }
            let path = beside(folder.unwrap_or(Path::new(".")), name)?;
            let io = |error| Error::io(path.display().to_string(), error);
            let opened = File::open(&path).map_err(io)?;
            let there = opened.metadata().map_err(io)?.len();
            if offset.checked_add(part).is_none_or(|end| end > there) {
                let what = format!("external file {name:?} has {there} bytes, {part} from {offset} on are needed");
                return Err(ErrorKind::Trunc.context(what));
            }
            parts.push(Part { file: opened, path, offset: *offset, start, len: part });
            start += part;
        }
        match start == wanted {
            true => Ok(Self { parts, len: wanted }),
            false => {
                let what = format!("external files: {start} bytes are listed, {wanted} are needed");
                Err(ErrorKind::Trunc.context(what))
            }
        }
    }
}

/// The path of a file in a folder.
fn beside(folder: &Path, name: &str) -> Result<PathBuf> {
    let plain = !name.is_empty() && !name.contains(['/', '\\', ':', '\0']) && name != "." && name != "..";
    let path = folder.join(name);
    let regular = |path: &Path| std::fs::symlink_metadata(path).map(|found| found.is_file());
    match plain {
        true if regular(&path).map_err(|error| Error::io(path.display().to_string(), error))? => Ok(path),
        _ => Err(ErrorKind::Storage.context(format!(
            "its data are in another file, {name:?}; only regular files in the same folder are read, named without a path"
        ))),
    }
}

impl ByteStore for External {
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let mut at = offset;
        while out.room() > 0 {
            let part = self.parts.partition_point(|part| part.start + part.len <= at);
            let Some(part) = self.parts.get(part) else { return Ok(()) };
            let inside = at - part.start;
            let room = (out.room() as u64).min(part.len - inside) as usize;
            let before = out.filled().len();
            let mut bytes = vec![0; room.min(1 << 20)];
            let mut buf = OutBuf::over(&mut bytes);
            file_io::read_at(&part.file, part.offset + inside, &mut buf)
                .map_err(|error| Error::io(part.path.display().to_string(), error))?;
            let read = buf.filled().len();
            out.put(&bytes[..read])?;
            at += (out.filled().len() - before) as u64;
            if read == 0 {
                return Err(ErrorKind::Trunc.context(format!("{}: shorter than before", part.path.display())));
            }
        }
        Ok(())
    }

    fn write_at(&self, _: u64, _: &[u8]) -> Result<()> {
        Err(ErrorKind::Perm.context("the file is only read"))
    }

    fn size(&self) -> Result<u64> {
        Ok(self.len)
    }
}

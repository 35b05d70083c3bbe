//! [`ExternalData`]: data stored in other files beside the HDF5 file, as consecutive ranges.
//!
//! A file may name any other file. So only regular files of its own folder are read, named without a path. A
//! remote file has no such folder. An external file that is too short is an error, where HDF5 shows zeros.
//! Few files are open at a time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use nczarr_chunkio::ByteStore;
use nczarr_dispatch::single_file;
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::{OutBuf, file_io};

use super::cursor::{MetadataCursor, UNDEFINED, damaged};
use super::file::HdfFile;
use super::file_bytes::FileBytes;
use super::local_heap::LocalHeap;

/// One range of the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExternalRange {
    /// The file name as stored.
    name: String,
    offset: u64,
    /// Length in bytes. [`UNDEFINED`]: up to the end of the file.
    len: u64,
}

/// Parses the ranges of an external-files message.
///
/// # Errors
/// `NC_EHDFERR` if it is damaged.
pub(crate) fn list(file: &HdfFile, bytes: &[u8]) -> Result<Vec<ExternalRange>> {
    let mut at = MetadataCursor::new(bytes, "external files");
    if at.version(1)? == 0 {
        return Err(damaged("external files: unknown version 0"));
    }
    at.skip(5)?;
    let count = at.u16()?;
    let heap = LocalHeap::read(file, at.address(file.offsets)?)?;
    let mut stretches = Vec::new();
    for _ in 0..count {
        let name = at.uint(file.lengths)?;
        let (offset, len) = (at.uint(file.lengths)?, at.address(file.lengths)?);
        stretches.push(ExternalRange { name: heap.text(file, name)?, offset, len });
    }
    Ok(stretches)
}

/// Most files open at a time.
const OPEN: usize = 64;

/// The open external files, each once. The least recently used is closed first.
#[derive(Debug, Default)]
pub(crate) struct ExternalFileCache(Mutex<Vec<(PathBuf, Arc<File>)>>);

impl ExternalFileCache {
    /// Returns an open file. It may close the least recently used one.
    fn file(&self, path: &Path) -> Result<Arc<File>> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = match files.iter().position(|(open, _)| open == path) {
            Some(place) => files.remove(place),
            None => {
                let opened = single_file::open_regular(path)
                    .map_err(|error| Error::io(path.display().to_string(), error))?;
                let opened = opened.ok_or_else(|| not_beside(path.display()))?;
                (path.to_owned(), Arc::new(opened))
            }
        };
        let file = Arc::clone(&entry.1);
        if files.len() >= OPEN {
            files.remove(0);
        }
        files.push(entry);
        Ok(file)
    }
}

/// All ranges as one sequence of bytes.
#[derive(Debug)]
pub(crate) struct ExternalData {
    /// The HDF5 file that lists the ranges.
    file: Arc<HdfFile>,
    paths: Vec<PathBuf>,
    parts: Vec<OpenedRange>,
    len: u64,
}

#[derive(Debug)]
struct OpenedRange {
    /// Index in `paths`.
    path: usize,
    /// Offset of the range in its file.
    offset: u64,
    start: u64,
    len: u64,
}

impl ExternalData {
    /// Opens the files that hold `wanted` bytes of data.
    ///
    /// # Errors
    /// `NC_ESTORAGE` if a file lies elsewhere; `NC_ETRUNC` if there are fewer bytes; I/O errors.
    pub(crate) fn open(file: &Arc<HdfFile>, stretches: &[ExternalRange], wanted: u64) -> Result<Self> {
        let FileBytes::File(_, place) = &*file.store else {
            let first = stretches.first().map_or("", |stretch| &stretch.name);
            let what = format!(
                "its data are in other files ({} ranges, the first in {first:?}); open the dataset by a local path to \
                 read them",
                stretches.len()
            );
            return Err(ErrorKind::Storage.context(what));
        };
        let folder = place.parent().unwrap_or(Path::new("."));
        let (mut known, mut paths) = (HashMap::new(), Vec::new());
        let (mut parts, mut start) = (Vec::new(), 0);
        for ExternalRange { name, offset, len } in stretches {
            let part = (wanted - start).min(if *len == UNDEFINED { u64::MAX } else { *len });
            if part == 0 {
                continue;
            }
            let (path, there) = match known.entry(name.as_str()) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    let path = path_beside(folder, name)?;
                    let found = file.external_files.file(&path)?.metadata();
                    let there = found.map_err(|error| Error::io(path.display().to_string(), error))?.len();
                    paths.push(path);
                    *new.insert((paths.len() - 1, there))
                }
            };
            if offset.checked_add(part).is_none_or(|end| end > there) {
                let what = format!(
                    "external file {name:?}: too short (expected {part} bytes from offset {offset} on, found {there} in all)"
                );
                return Err(ErrorKind::Trunc.context(what));
            }
            parts.push(OpenedRange { path, offset: *offset, start, len: part });
            start += part;
        }
        if start == wanted {
            Ok(Self { file: Arc::clone(file), paths, parts, len: wanted })
        } else {
            let what = format!("external files: too short (expected {wanted} bytes, found {start})");
            Err(ErrorKind::Trunc.context(what))
        }
    }
}

/// Makes the error for a file that this driver does not look for.
pub(super) fn not_beside(name: impl std::fmt::Display) -> Error {
    ErrorKind::Storage.context(format!(
        "its data are in another file, {name}; only regular files in the same folder are read, named without a path"
    ))
}

/// Returns the paths of the files of these ranges, each once, whether they exist or not.
pub(crate) fn files<'s>(file: &HdfFile, stretches: impl Iterator<Item = &'s ExternalRange>) -> Vec<PathBuf> {
    let FileBytes::File(_, place) = &*file.store else { return Vec::new() };
    let folder = place.parent().unwrap_or(Path::new("."));
    let mut files: Vec<PathBuf> =
        stretches.filter_map(|stretch| path_beside(folder, &stretch.name).ok()).collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// Joins a folder and a plain file name.
///
/// # Errors
/// `NC_ESTORAGE` if the name has a path.
pub(super) fn path_beside(folder: &Path, name: &str) -> Result<PathBuf> {
    if !name.is_empty() && !name.contains(['/', '\\', ':', '\0']) && name != "." && name != ".." {
        Ok(folder.join(name))
    } else {
        Err(not_beside(format_args!("{name:?}")))
    }
}

impl ByteStore for ExternalData {
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let mut at = offset;
        let mut last: Option<(usize, Arc<File>)> = None;
        while out.remaining() > 0 {
            let part = self.parts.partition_point(|part| part.start + part.len <= at);
            let Some(part) = self.parts.get(part) else { return Ok(()) };
            let inside = at - part.start;
            let room = (out.remaining() as u64).min(part.len - inside) as usize;
            let before = out.filled().len();
            let mut bytes = vec![0; room.min(1 << 20)];
            let mut buf = OutBuf::from_slice(&mut bytes);
            let path = &self.paths[part.path];
            let file = match last.take() {
                Some((open, file)) if open == part.path => file,
                _ => self.file.external_files.file(path)?,
            };
            file_io::read_at(&file, part.offset + inside, &mut buf)
                .map_err(|error| Error::io(path.display().to_string(), error))?;
            last = Some((part.path, file));
            let read = buf.filled().len();
            out.put(&bytes[..read])?;
            at += (out.filled().len() - before) as u64;
            if read == 0 {
                return Err(ErrorKind::Trunc.context(format!("{}: the file became shorter", path.display())));
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

//! [`External`]: data that lie in files beside the one that describes them, one stretch after another.
//!
//! A file may name any other. So only those are read that are regular files in its own folder, named without a path; where
//! it is no local file there is no such folder. A file that is too short is an error, where HDF5 shows zeros. However many
//! stretches there are, a few files only are open at a time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use nczarr_chunkio::ByteStore;
use nczarr_dispatch::{OutBuf, file_io, place};
use nczarr_model::{Error, ErrorKind, Result};

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

/// Files that are open at a time.
const OPEN: usize = 64;

/// The files beside one that hold some of its data: each is open once, and only so many are.
#[derive(Debug, Default)]
pub(crate) struct Beside(Mutex<Vec<(PathBuf, Arc<File>)>>);

impl Beside {
    /// A file, which is opened if it is not open: then the one that was not used for the longest time may be closed.
    fn file(&self, path: &Path) -> Result<Arc<File>> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = match files.iter().position(|(open, _)| open == path) {
            Some(place) => files.remove(place),
            None => {
                let opened = place::open_regular(path).map_err(|error| Error::io(path.display().to_string(), error))?;
                let opened = opened.ok_or_else(|| elsewhere(path.display()))?;
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

/// The stretches as one.
#[derive(Debug)]
pub(crate) struct External {
    /// The file whose data they are.
    file: Arc<Hdf>,
    paths: Vec<PathBuf>,
    parts: Vec<Part>,
    len: u64,
}

#[derive(Debug)]
struct Part {
    /// Which of the paths.
    path: usize,
    /// Where it begins in the file, and in the data.
    offset: u64,
    start: u64,
    len: u64,
}

impl External {
    /// Finds the files that hold `wanted` bytes of data.
    ///
    /// # Errors
    /// `NC_ESTORAGE` for a file elsewhere; `NC_ETRUNC` if there is less; what the system says.
    pub(crate) fn open(file: &Arc<Hdf>, stretches: &[Stretch], wanted: u64) -> Result<Self> {
        let Store::File(_, place) = &*file.store else {
            let first = stretches.first().map_or("", |stretch| &stretch.name);
            let what = format!(
                "its data are in other files, {} stretches of which the first is in {first:?}; they are read only beside a \
                 local file that is opened by its path",
                stretches.len()
            );
            return Err(ErrorKind::Storage.context(what));
        };
        let folder = place.parent().unwrap_or(Path::new("."));
        let (mut known, mut paths) = (HashMap::new(), Vec::new());
        let (mut parts, mut start) = (Vec::new(), 0);
        for Stretch { name, offset, len } in stretches {
            let part = (wanted - start).min(if *len == UNDEFINED { u64::MAX } else { *len });
            if part == 0 {
                continue;
            }
            let (path, there) = match known.entry(name.as_str()) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    let path = path_beside(folder, name)?;
                    let found = file.beside.file(&path)?.metadata();
                    let there = found.map_err(|error| Error::io(path.display().to_string(), error))?.len();
                    paths.push(path);
                    *new.insert((paths.len() - 1, there))
                }
            };
            if offset.checked_add(part).is_none_or(|end| end > there) {
                let what = format!("external file {name:?} has {there} bytes, {part} from {offset} on are needed");
                return Err(ErrorKind::Trunc.context(what));
            }
            parts.push(Part { path, offset: *offset, start, len: part });
            start += part;
        }
        match start == wanted {
            true => Ok(Self { file: Arc::clone(file), paths, parts, len: wanted }),
            false => {
                let what = format!("external files: {start} bytes are listed, {wanted} are needed");
                Err(ErrorKind::Trunc.context(what))
            }
        }
    }
}

/// What is said of a file that is not looked for.
pub(super) fn elsewhere(name: impl std::fmt::Display) -> Error {
    ErrorKind::Storage.context(format!(
        "its data are in another file, {name}; only regular files in the same folder are read, named without a path"
    ))
}

/// The files that these stretches lie in, each once, whether they are there or not.
pub(crate) fn files<'s>(file: &Hdf, stretches: impl Iterator<Item = &'s Stretch>) -> Vec<PathBuf> {
    let Store::File(_, place) = &*file.store else { return Vec::new() };
    let folder = place.parent().unwrap_or(Path::new("."));
    let mut files: Vec<PathBuf> = stretches.filter_map(|stretch| path_beside(folder, &stretch.name).ok()).collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// The path of a file in a folder.
///
/// # Errors
/// `NC_ESTORAGE` if it is no plain name.
pub(super) fn path_beside(folder: &Path, name: &str) -> Result<PathBuf> {
    match !name.is_empty() && !name.contains(['/', '\\', ':', '\0']) && name != "." && name != ".." {
        true => Ok(folder.join(name)),
        false => Err(elsewhere(format_args!("{name:?}"))),
    }
}

impl ByteStore for External {
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let mut at = offset;
        let mut last: Option<(usize, Arc<File>)> = None;
        while out.room() > 0 {
            let part = self.parts.partition_point(|part| part.start + part.len <= at);
            let Some(part) = self.parts.get(part) else { return Ok(()) };
            let inside = at - part.start;
            let room = (out.room() as u64).min(part.len - inside) as usize;
            let before = out.filled().len();
            let mut bytes = vec![0; room.min(1 << 20)];
            let mut buf = OutBuf::over(&mut bytes);
            let path = &self.paths[part.path];
            let file = match last.take() {
                Some((open, file)) if open == part.path => file,
                _ => self.file.beside.file(path)?,
            };
            file_io::read_at(&file, part.offset + inside, &mut buf)
                .map_err(|error| Error::io(path.display().to_string(), error))?;
            last = Some((part.path, file));
            let read = buf.filled().len();
            out.put(&bytes[..read])?;
            at += (out.filled().len() - before) as u64;
            if read == 0 {
                return Err(ErrorKind::Trunc.context(format!("{}: shorter than before", path.display())));
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

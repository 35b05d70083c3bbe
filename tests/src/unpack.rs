//! Unpacks the directory trees that the corpus keeps as archives.

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path};

/// Unpacks every member of `archive` below `into`.
///
/// # Errors
/// What the archive or the file system says; a member whose name would leave `into`.
pub fn unpack(archive: &Path, into: &Path) -> io::Result<()> {
    let mut archive = zip::ZipArchive::new(File::open(archive)?)?;
    for index in 0..archive.len() {
        let mut member = archive.by_index(index)?;
        // By hand: the crate's own way takes a backslash for a separator, and it is a legal character of a
        // name.
        let name = member.name()?.into_owned();
        let name = Path::new(&name);
        if !name.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(io::Error::other(format!("member {name:?} leaves the folder")));
        }
        let target = into.join(name);
        if member.is_dir() {
            fs::create_dir_all(&target)?;
            continue;
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        io::copy(&mut member, &mut File::create(&target)?)?;
    }
    Ok(())
}

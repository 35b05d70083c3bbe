//! Unpacks the directory trees that the corpus keeps as archives.

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path};

/// Unpacks every member of `archive` below `into`.
///
/// # Errors
/// Returns the error of the archive or file system, or an error if a member's name leaves `into`.
pub fn unpack(archive: &Path, into: &Path) -> io::Result<()> {
    let mut archive = zip::ZipArchive::new(File::open(archive)?)?;
    for index in 0..archive.len() {
        let mut member = archive.by_index(index)?;
        // The code splits the name itself, because the crate treats a backslash as a separator. A backslash
        // is a legal character of a name.
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

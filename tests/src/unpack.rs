//! Unpacks the directory trees that the corpus keeps as archives.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Unpacks every member of `archive` below `into`.
///
/// # Errors
/// What the archive or the file system says; a member whose name would leave `into`.
pub fn unpack(archive: &Path, into: &Path) -> io::Result<()> {
    let mut archive = zip::ZipArchive::new(File::open(archive)?)?;
    for index in 0..archive.len() {
        let mut member = archive.by_index(index)?;
        let name = member.enclosed_name().ok_or_else(|| io::Error::other(format!("member {:?}", member.name())))?;
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

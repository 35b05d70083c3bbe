//! Fingerprints of a dataset: a resumed copy compares them to see whether the source has changed.
//!
//! A fingerprint covers the text of all definitions and attributes. For local storage it adds every file's
//! name, length and modification time, including external files. For remote storage it adds only the names of
//! all objects, so a replaced chunk goes unnoticed. Where files or objects cannot be listed, only the text
//! counts.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use nczarr::storage::{Key, ZMapExt};
use nczarr::{File, OpenOptions, Place};
use nczarr_cdl::{Options, PrintedPart};
use nczarr_model::Result;
use serde_json::{Value, json};

use crate::dump::facts;
use crate::source::DatasetSource;

/// Prefixes of temporary files that appear even while a dataset is only read.
const PASSING: &str = ".nczarr-";

/// A hash that tells different texts apart: FNV-1a of 64 bits. It guards against change, not against malice.
#[derive(Debug, Clone, Copy)]
pub struct TextHash(u64);

impl Default for TextHash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl TextHash {
    pub fn of(parts: &[&[u8]]) -> u64 {
        let mut sum = Self::default();
        for part in parts {
            sum.add(&(part.len() as u64).to_le_bytes());
            sum.add(part);
        }
        sum.0
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl Write for TextHash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Hashes the definitions and attributes of a dataset, special ones included.
///
/// # Errors
///
/// Errors of the dataset.
pub fn header(file: &File) -> Result<String> {
    let options = Options { part: PrintedPart::Header, special: true, ..Options::default() };
    let mut sum = TextHash::default();
    let mut source = DatasetSource::new(file.dataset().as_ref());
    nczarr_cdl::print(&file.model(), &facts(file.info()), &options, &mut source, &mut sum)?;
    Ok(format!("{:016x}", sum.0))
}

/// The files or objects of a dataset.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Content {
    files: u64,
    bytes: u64,
    /// A hash over all of them, independent of their order.
    sum: u64,
}

impl Content {
    /// Scans the dataset at `url`; `None` if its objects cannot be listed.
    pub fn of(url: &str) -> Option<Self> {
        let mut content = Self::default();
        let target = nczarr_url_infer::parse(url).ok()?;
        if target.scheme.is_local() {
            let path = Path::new(&target.path);
            content.path(path, path).ok()?;
        } else {
            let map = OpenOptions::new().open_map(Place::url(url)).ok().filter(|map| map.caps().list)?;
            for key in map.keys(&Key::root()).ok()? {
                content.add(key.as_str(), 0, 0);
            }
        }
        Some(content)
    }

    fn add(&mut self, name: &str, bytes: u64, time: u128) {
        self.files += 1;
        self.bytes += bytes;
        self.sum = self.sum.wrapping_add(TextHash::of(&[
            name.as_bytes(),
            &bytes.to_le_bytes(),
            &time.to_le_bytes(),
        ]));
    }

    fn path(&mut self, root: &Path, path: &Path) -> io::Result<()> {
        let (mut open, mut seen) = (vec![path.to_owned()], HashSet::new());
        while let Some(path) = open.pop() {
            // A dangling link has no content, but may get some.
            let about = fs::metadata(&path).or_else(|_| fs::symlink_metadata(&path))?;
            if !about.is_dir() {
                let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
                self.file(&name, &about);
            } else if seen.insert(fs::canonicalize(&path)?) {
                // Links may form cycles: visit each directory once, always by the same name.
                let mut names = fs::read_dir(&path)?
                    .map(|entry| Ok(entry?.file_name()))
                    .collect::<io::Result<Vec<_>>>()?;
                names.retain(|name| !name.as_encoded_bytes().starts_with(PASSING.as_bytes()));
                names.sort_unstable();
                open.extend(names.into_iter().map(|name| path.join(name)));
            }
        }
        Ok(())
    }

    fn file(&mut self, name: &str, about: &fs::Metadata) {
        let time = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        self.add(name, about.len(), time.map_or(0, |time| time.as_nanos()));
    }

    /// Adds external data files. A missing one may appear later.
    pub fn further(&mut self, files: &[PathBuf]) {
        for path in files {
            let name = path.to_string_lossy();
            match fs::metadata(path) {
                Ok(about) => self.file(&name, &about),
                Err(_) => self.add(&name, 0, 0),
            }
        }
    }

    /// Returns the recorded form.
    pub fn to_json(&self) -> Value {
        json!({ "files": self.files, "bytes": self.bytes, "sum": format!("{:016x}", self.sum) })
    }

    /// Returns a description for messages.
    pub fn describe(content: &Value) -> String {
        if content.is_null() {
            return "files that could not be listed".to_owned();
        }
        format!("{} files of {} bytes", content["files"], content["bytes"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_elsewhere_are_part_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let [one, raw] = ["a.h5", "a.raw"].map(|name| folder.path().join(name));
        fs::write(&one, "x").unwrap();
        let content = || {
            let mut content = Content::of(one.to_str().unwrap()).unwrap();
            content.further(std::slice::from_ref(&raw));
            content
        };
        let absent = content();
        fs::write(&raw, "12").unwrap();
        let there = content();
        assert!(absent != there && content() == there);
        fs::write(&raw, "345").unwrap();
        assert_ne!(content(), there);
    }
}

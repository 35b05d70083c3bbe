//! [`DiskStore`]: cached answers in a directory, with a folder per map, a folder per key in it, and a file
//! per answer.
//!
//! A file appears by rename and contains map, key and part with a checksum. A damaged, truncated or foreign
//! file is not used. Folders are renamed before they are deleted, so that forgetting is one step. Only files
//! with such names are ever touched.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::SystemTime;

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::Key;
use tempfile::NamedTempFile;

use super::part::{CachedAnswer, ObjectPart};

/// The first bytes of each file.
const MAGIC: &[u8; 8] = b"nczcach1";

/// Prefixes of folders that are being deleted and of files that are being written.
const DELETED_PREFIX: &str = ".nczarr-gone-";
const PARTIAL_PREFIX: &str = ".nczarr-coming-";

#[derive(Debug)]
pub(super) struct DiskStore {
    folder: PathBuf,
    /// The folder of this map.
    own: PathBuf,
    identity: String,
    budget: u64,
    /// The most bytes of an answer.
    largest: usize,
    /// Bytes in the folder, as far as known.
    bytes: AtomicU64,
}

/// A complete file that is not in its place yet.
pub(super) struct PartialFile {
    file: NamedTempFile,
    folder: PathBuf,
    place: PathBuf,
    len: u64,
}

impl DiskStore {
    pub(super) fn open(folder: &Path, identity: &str, budget: u64, largest: usize) -> Result<Self> {
        let fail = |error| Error::io(folder.display().to_string(), error);
        if identity.len() > 1 << 16 {
            return Err(ErrorKind::Inval.context(format!(
                "the identity is too long (expected at most 65536 bytes, found {})",
                identity.len()
            )));
        }
        fs::create_dir_all(folder).map_err(fail)?;
        let folder = folder.canonicalize().map_err(fail)?;
        let own = folder.join(name_of(identity.as_bytes()));
        let disk =
            Self { folder, own, identity: identity.to_owned(), budget, largest, bytes: AtomicU64::new(0) };
        disk.sweep();
        disk.count();
        Ok(disk)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    fn folder_of(&self, key: &Key) -> PathBuf {
        self.own.join(name_of(key.as_str().as_bytes()))
    }

    pub(super) fn get(&self, key: &Key, part: ObjectPart) -> Option<CachedAnswer> {
        let place = self.folder_of(key).join(part.to_string());
        let head = self.head(key, part);
        let most = (MAGIC.len() + 4 + head.len() + 1).checked_add(self.largest)? as u64;
        let mut bytes = Vec::new();
        let file = fs::File::open(&place).ok()?;
        let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
        let found = read.ok().filter(|_| bytes.len() as u64 <= most).and_then(|_| answer(&bytes));
        let Some(answer) = found else {
            tracing::warn!(file = %place.display(), "a damaged file in the cache is dropped");
            let _ = fs::remove_file(&place);
            return None;
        };
        // File names are hashes; another map, key or part may collide.
        let rest = answer.strip_prefix(&head[..])?;
        match rest.split_first()? {
            (0, []) => Some(None),
            (1, bytes) => Some(Some(Arc::from(bytes))),
            _ => None,
        }
    }

    pub(super) fn stage(&self, key: &Key, part: ObjectPart, bytes: Option<&[u8]>) -> Option<PartialFile> {
        let (head, there) = (self.head(key, part), [u8::from(bytes.is_some())]);
        let bytes = bytes.unwrap_or_default();
        let mut sum = crc32fast::Hasher::new();
        [&head[..], &there, bytes].into_iter().for_each(|piece| sum.update(piece));
        let sum = sum.finalize().to_le_bytes();
        let len = (MAGIC.len() + sum.len() + head.len() + there.len() + bytes.len()) as u64;
        if len > self.budget {
            return None;
        }
        let write = || -> io::Result<NamedTempFile> {
            let mut file = tempfile::Builder::new().prefix(PARTIAL_PREFIX).tempfile_in(&self.folder)?;
            for piece in [&MAGIC[..], &sum, &head, &there, bytes] {
                file.write_all(piece)?;
            }
            Ok(file)
        };
        let folder = self.folder_of(key);
        match write() {
            Ok(file) => Some(PartialFile { file, place: folder.join(part.to_string()), folder, len }),
            Err(error) => {
                tracing::warn!(folder = %self.folder.display(), %error, "the answer cannot be cached");
                None
            }
        }
    }

    pub(super) fn settle(&self, staged: PartialFile) {
        let PartialFile { file, folder, place, len } = staged;
        if fs::create_dir_all(folder).is_ok() && file.persist(place).is_ok() {
            self.bytes.fetch_add(len, Relaxed);
        }
    }

    pub(super) fn forget(&self, key: &Key) -> Result<()> {
        self.take_away(&self.folder_of(key))
    }

    pub(super) fn clear(&self) -> Result<()> {
        self.take_away(&self.own)
    }

    /// Renames a folder away in one step, and then deletes it.
    fn take_away(&self, folder: &Path) -> Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("{DELETED_PREFIX}{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let gone = self.folder.join(name);
        match fs::rename(folder, &gone) {
            Ok(()) => {
                // Opening the cache deletes the rest.
                let _ = fs::remove_dir_all(&gone);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => {
                Err(Error::io(format!("{}: cannot remove from the cache", folder.display()), error))
            }
        }
    }

    /// Deletes leftovers of interrupted deletions and writes.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            if name.starts_with(DELETED_PREFIX) {
                let _ = fs::remove_dir_all(path);
            } else if name.starts_with(PARTIAL_PREFIX) && is_old(&entry) {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// Evicts files beyond the budget.
    pub(super) fn trim(&self) {
        if self.bytes() > self.budget {
            self.count();
        }
    }

    /// Counts the files; beyond the budget, deletes the oldest until a quarter is free.
    fn count(&self) {
        let mut files = Vec::new();
        for map in folders(&self.folder) {
            for key in folders(&map) {
                for entry in fs::read_dir(&key).into_iter().flatten().flatten() {
                    if let Ok(about) = entry.metadata()
                        && about.is_file()
                    {
                        files.push((
                            about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                            about.len(),
                            entry.path(),
                        ));
                    }
                }
            }
        }
        let mut bytes: u64 = files.iter().map(|(_, len, _)| len).sum();
        if bytes > self.budget {
            files.sort();
            for (_, len, path) in files {
                if bytes <= self.budget - self.budget / 4 {
                    break;
                }
                if fs::remove_file(&path).is_ok() {
                    bytes -= len;
                    // Removes the folder only if it is empty.
                    let _ = path.parent().map(fs::remove_dir);
                }
            }
        }
        self.bytes.store(bytes, Relaxed);
    }

    /// Returns the description at the start of a file.
    fn head(&self, key: &Key, part: ObjectPart) -> Vec<u8> {
        let mut head = Vec::new();
        for text in [&self.identity, key.as_str(), &part.to_string()] {
            head.extend_from_slice(&(text.len() as u64).to_le_bytes());
            head.extend_from_slice(text.as_bytes());
        }
        head
    }
}

/// Returns the bytes under the checksum of a file, if it is correct.
fn answer(file: &[u8]) -> Option<&[u8]> {
    let (sum, rest) = file.strip_prefix(MAGIC)?.split_first_chunk()?;
    (crc32fast::hash(rest) == u32::from_le_bytes(*sum)).then_some(rest)
}

/// Returns the folders that the cache may have made.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let named = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        name.len() == 32
            && name.iter().all(u8::is_ascii_hexdigit)
            && entry.file_type().is_ok_and(|ty| ty.is_dir())
    };
    fs::read_dir(folder).into_iter().flatten().flatten().filter(named).map(|entry| entry.path()).collect()
}

/// Whether a file is older than any write takes.
fn is_old(entry: &fs::DirEntry) -> bool {
    let age = entry.metadata().and_then(|about| about.modified()).ok().and_then(|then| then.elapsed().ok());
    age.is_some_and(|age| age.as_secs() > 3600)
}

/// Returns the name of a folder: FNV-1a of 128 bits, in hexadecimal.
fn name_of(bytes: &[u8]) -> String {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let sum = bytes.iter().fold(BASIS, |sum, &byte| (sum ^ u128::from(byte)).wrapping_mul(PRIME));
    format!("{sum:032x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(folder: &Path, identity: &str) -> DiskStore {
        DiskStore::open(folder, identity, 10_000, 5000).unwrap()
    }

    fn put(disk: &DiskStore, key: &str, part: ObjectPart, bytes: Option<&[u8]>) {
        disk.settle(disk.stage(&Key::new(key).unwrap(), part, bytes).unwrap());
    }

    fn get(disk: &DiskStore, key: &str, part: ObjectPart) -> Option<Option<Vec<u8>>> {
        disk.get(&Key::new(key).unwrap(), part).map(|kept| kept.map(|bytes| bytes.to_vec()))
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn names_do_not_change() {
        assert_eq!(name_of(b""), "6c62272e07bb014262b821756295c58d");
        assert_eq!(name_of(b"a"), "d228cb696f1a8caf78912b704e4a8964");
    }

    #[test]
    fn cached_objects_persist_for_the_same_map() {
        let dir = tempfile::tempdir().unwrap();
        let disk = open(dir.path(), "one");
        put(&disk, "a/b", ObjectPart::All, Some(b"abc"));
        put(&disk, "a/b", ObjectPart::Range(1, 2), Some(b""));
        put(&disk, "c", ObjectPart::All, None);
        drop(disk);
        let again = open(dir.path(), "one");
        assert!(again.bytes() > 0);
        assert_eq!(get(&again, "a/b", ObjectPart::All), Some(Some(b"abc".to_vec())));
        assert_eq!(get(&again, "a/b", ObjectPart::Range(1, 2)), Some(Some(vec![])));
        assert_eq!(get(&again, "a/b", ObjectPart::Range(1, 3)), None);
        assert_eq!(get(&again, "c", ObjectPart::All), Some(None));
        let other = open(dir.path(), "two");
        assert_eq!(get(&other, "a/b", ObjectPart::All), None);
        other.clear().unwrap();
        again.forget(&Key::new("a/b").unwrap()).unwrap();
        assert_eq!(
            (get(&again, "a/b", ObjectPart::All), get(&again, "c", ObjectPart::All)),
            (None, Some(None))
        );
        again.clear().unwrap();
        assert!(files(dir.path()).is_empty());
        again.clear().unwrap();
        again.forget(&Key::new("a/b").unwrap()).unwrap();
    }

    #[test]
    fn files_of_another_map_are_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (open(dir.path(), "one"), open(dir.path(), "two"));
        put(&one, "a", ObjectPart::All, Some(b"abc"));
        // Simulates two names with the same checksum.
        fs::rename(&one.own, &two.own).unwrap();
        assert_eq!(get(&two, "a", ObjectPart::All), None);
        assert_eq!(files(dir.path()).len(), 1, "it is not damaged");
    }

    #[test]
    fn damage_is_found_at_every_byte_and_every_length() {
        let dir = tempfile::tempdir().unwrap();
        let disk = open(dir.path(), "map");
        put(&disk, "key", ObjectPart::All, Some(b"some bytes"));
        let place = files(dir.path()).remove(0);
        let sound = fs::read(&place).unwrap();
        let mut damaged: Vec<Vec<u8>> = (0..sound.len()).map(|len| sound[..len].to_vec()).collect();
        for at in 0..sound.len() {
            for bit in [1, 0x80] {
                let mut bytes = sound.clone();
                bytes[at] ^= bit;
                damaged.push(bytes);
            }
        }
        damaged.push([&sound[..], b"x"].concat());
        damaged.push(vec![0; 20_000]);
        for bytes in damaged {
            fs::write(&place, &bytes).unwrap();
            assert_eq!(get(&disk, "key", ObjectPart::All), None, "{bytes:?}");
            assert!(!place.exists(), "{bytes:?}");
        }
        fs::write(&place, &sound).unwrap();
        assert_eq!(get(&disk, "key", ObjectPart::All), Some(Some(b"some bytes".to_vec())));
    }

    #[test]
    fn the_budget_holds_and_foreign_files_stay() {
        let dir = tempfile::tempdir().unwrap();
        let theirs = dir.path().join("notes/of/somebody");
        fs::create_dir_all(&theirs).unwrap();
        fs::write(theirs.join("big"), [0; 50_000]).unwrap();
        let disk = open(dir.path(), "map");
        for i in 0..100 {
            put(&disk, &format!("{i}"), ObjectPart::All, Some(&[7; 1000]));
            disk.trim();
            let there: u64 = folders(dir.path())
                .iter()
                .flat_map(|map| files(map))
                .map(|file| file.metadata().unwrap().len())
                .sum();
            assert!(there <= 10_000 && disk.bytes() == there, "{there} bytes, {} known", disk.bytes());
        }
        assert!(get(&disk, "99", ObjectPart::All).is_some());
        assert!(
            disk.stage(&Key::new("x").unwrap(), ObjectPart::All, Some(&[0; 10_000])).is_none(),
            "more than the budget"
        );
        assert!(theirs.join("big").exists());
    }

    #[test]
    fn leftovers_of_deletions_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let left = dir.path().join(format!("{DELETED_PREFIX}1-2"));
        fs::create_dir_all(left.join("x")).unwrap();
        let coming = dir.path().join(format!("{PARTIAL_PREFIX}x"));
        fs::write(&coming, "").unwrap();
        open(dir.path(), "map");
        assert!(!left.exists());
        assert!(coming.exists(), "somebody may be writing it");
    }
}

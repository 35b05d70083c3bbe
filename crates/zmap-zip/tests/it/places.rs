//! The file of an archive: concurrent writers that replace and remove it, links, permissions, and special
//! files.

use std::sync::atomic::{AtomicBool, Ordering};

use nczarr_model::ErrorKind;
use nczarr_storage::{MapOptions, ZMap, ZMapExt};
use nczarr_zmap_zip::{ZipMap, repack};

use crate::{MARKERS, Scratch, key, objects, open};

/// Repeats an attempt until no other writer is active.
fn insist<T>(mut attempt: impl FnMut() -> nczarr_model::Result<T>) -> T {
    loop {
        match attempt() {
            Err(error) if error.kind() == ErrorKind::Perm => std::thread::yield_now(),
            outcome => return outcome.unwrap(),
        }
    }
}

#[cfg(unix)]
#[test]
fn a_replaced_archive_is_not_written() {
    const ROUNDS: usize = 150;
    let scratch = Scratch::new();
    let path = scratch.path();
    ZipMap::create(&path, "", false, &MapOptions::default()).unwrap().write(&key(".zgroup"), b"{}").unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                insist(|| repack(&path, MARKERS, &MapOptions::default()));
            }
        });
        let writers: Vec<_> = ["a", "b"]
            .map(|name| {
                let path = &path;
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let map = insist(|| open(path, true));
                        map.write(&key(&format!("{name}/{round}")), b"x").unwrap();
                        map.close().unwrap();
                    }
                })
            })
            .into();
        let ended: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    assert_eq!(objects(&open(&path, false).unwrap()).len(), 2 * ROUNDS + 1);
}

#[test]
fn an_archive_that_became_empty_is_filled_again() {
    let scratch = Scratch::new();
    let path = scratch.path();
    let map = ZipMap::create(&path, "", false, &MapOptions::default()).unwrap();
    map.write(&key("v"), &[1; 1000]).unwrap();
    assert!(map.delete(&key("v")).unwrap());
    map.close().unwrap();
    let map = open(&path, true).unwrap();
    map.write(&key("w"), b"x").unwrap();
    map.sync().unwrap();
    // New readers see it, even if this writer is killed now.
    assert_eq!(objects(&open(&path, false).unwrap()), [("w".to_owned(), b"x".to_vec())]);
}

#[cfg(unix)]
#[test]
fn links_stay_and_lead_to_the_new_archive() {
    let scratch = Scratch::new();
    let (path, link) = (scratch.path(), scratch.path());
    std::os::unix::fs::symlink(&path, &link).unwrap();
    ZipMap::create(&path, "", false, &MapOptions::default()).unwrap().write(&key("v"), b"1").unwrap();
    ZipMap::create(&link, "", true, &MapOptions::default()).unwrap().write(&key("w"), b"2").unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    repack(&link, MARKERS, &MapOptions::default()).unwrap();
    open(&link, true).unwrap().write(&key("x"), b"3").unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(objects(&open(&path, false).unwrap()).len(), 2);
}

#[cfg(unix)]
#[test]
fn rights_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    let path = scratch.path();
    let rights = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    let plain = scratch.path();
    std::fs::write(&plain, b"").unwrap();
    drop(ZipMap::create(&path, "", false, &MapOptions::default()).unwrap());
    assert_eq!(rights(), std::fs::metadata(&plain).unwrap().permissions().mode() & 0o777, "as any new file");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    drop(ZipMap::create(&path, "", true, &MapOptions::default()).unwrap());
    assert_eq!(rights(), 0o640);
    repack(&path, MARKERS, &MapOptions::default()).unwrap();
    assert_eq!(rights(), 0o640);
}

#[test]
fn a_folder_is_no_archive() {
    let scratch = Scratch::new();
    let path = scratch.path();
    std::fs::create_dir(&path).unwrap();
    for writable in [false, true] {
        assert_eq!(open(&path, writable).unwrap_err().kind(), ErrorKind::NotNc);
    }
    assert_eq!(
        ZipMap::create(&path, "", false, &MapOptions::default()).unwrap_err().kind(),
        ErrorKind::Exist
    );
    assert!(ZipMap::create(&path, "", true, &MapOptions::default()).is_err() && path.is_dir());
}

/// A refused value leaves no bytes in the archive.
#[test]
fn refused_values_add_no_bytes() {
    let scratch = Scratch::new();
    let path = scratch.path();
    let map = ZipMap::create(&path, "", false, &MapOptions::default()).unwrap();
    map.write(&key("v"), b"1").unwrap();
    let before = std::fs::metadata(&path).unwrap().len();
    let lost = map.write_if(&key("v"), &[0; 1000], &nczarr_storage::Precondition::Absent).unwrap();
    assert!(matches!(lost, nczarr_storage::WriteOutcome::Conflict));
    assert_eq!(map.write(&key("v/0"), &[0; 1000]).unwrap_err().kind(), ErrorKind::Object);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), before);
}

/// Every write before a close is in the archive, even if another thread closes it.
#[test]
fn a_write_during_closing_is_stored_or_an_error() {
    let scratch = Scratch::new();
    for _ in 0..20 {
        let path = scratch.path();
        let map = ZipMap::create(&path, "", false, &MapOptions::default()).unwrap();
        let written = std::thread::scope(|scope| {
            let writer =
                scope.spawn(|| (0..).find(|i| map.write(&key(&format!("v/{i}")), b"x").is_err()).unwrap());
            while map.keys(&key("")).unwrap().len() < 5 {
                std::thread::yield_now();
            }
            map.close().unwrap();
            writer.join().unwrap()
        });
        assert_eq!(objects(&open(&path, false).unwrap()).len(), written);
    }
}

//! The temporary place of a copy and its move to the target; classic files copied byte for byte.

use nczarr::Place;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::chain::{classic_files, kind};
use crate::{failure, out, run, store, text};

/// Returns every file below a folder, hidden ones as well, with its bytes.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.to_path_buf()]);
    while let Some(here) = open.pop() {
        for entry in fs::read_dir(&here).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(text(path.strip_prefix(folder).unwrap()).to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Makes a dataset with an unlimited dimension, which plain Zarr cannot record, and an unreadable chunk if
/// `broken`.
fn source(folder: &Path, broken: bool) -> String {
    let path = folder.join(if broken { "broken.zarr" } else { "whole.zarr" });
    let file = nczarr::create(text(&path)).unwrap();
    file.add_unlimited_dimension("t").unwrap();
    for name in ["first", "second"] {
        let v = file.add_variable::<i32>(name, &["t"]).unwrap();
        v.set_chunking(&[2]).unwrap();
        v.put(&[1, 2, 3, 4], 0..4).unwrap();
    }
    file.close().unwrap();
    if broken {
        fs::write(path.join("second/1"), b"cut").unwrap();
    }
    text(&path).to_owned()
}

#[test]
fn a_failed_copy_keeps_the_existing_target() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, broken) = (source(folder.path(), false), source(folder.path(), true));
    for old in ["file", "directory", "nothing"] {
        let place = folder.path().join(old);
        fs::create_dir(&place).unwrap();
        let target = place.join("target");
        let kind = if old == "file" { "classic" } else { "nczarr" };
        if old != "nothing" {
            let url = format!("{}#mode={kind}", text(&target));
            let file = nczarr::create(Place::url(&url)).unwrap();
            file.put_attribute("title", "the old dataset").unwrap();
            file.close().unwrap();
        }
        let before = files(&place);
        for (args, part) in [
            (vec!["--strict", "-k", "zarr", "--plain", &whole], "--strict"),
            (vec!["-k", "nczarr", &broken], "second/1"),
            (vec!["-k", "classic", &broken], "second/1"),
            (vec!["-k", "nczarr", "--filter", "first,nosuch", &whole], "nosuch"),
        ] {
            let args = [&["copy", "--clobber"][..], &args, &[text(&target)]].concat();
            let (_, message) = failure(&args);
            assert!(message.contains(part), "{args:?}: {message}");
            assert!(files(&place) == before, "{args:?}: {:?}", files(&place).keys());
            assert_eq!(fs::read_dir(&place).unwrap().count(), before.len().min(1), "{args:?}");
        }
        // A successful copy replaces the target, of either kind, and leaves no other files.
        for kind in ["classic", "zarr", "nczarr", "cdf5"] {
            out(&["copy", "--clobber", "-k", kind, &whole, text(&target)]);
            assert_eq!(
                out(&["dump", "-n", "x", text(&target)]),
                out(&["dump", "-n", "x", &whole]),
                "{old}, {kind}"
            );
            assert_eq!(fs::read_dir(&place).unwrap().count(), 1, "{old}, {kind}");
        }
    }
}

#[test]
fn only_datasets_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let whole = source(folder.path(), false);
    let place = folder.path().join("place");
    fs::create_dir_all(place.join("photos")).unwrap();
    fs::write(place.join("photos/a.jpg"), b"x").unwrap();
    fs::write(place.join("letter"), b"Dear").unwrap();
    fs::write(place.join("empty"), b"").unwrap();
    fs::create_dir(place.join("nothing")).unwrap();
    store::one(&place);
    let before = files(&place);
    for (target, clobber) in [
        ("photos", true),
        ("letter", true),
        ("photos", false),
        ("letter", false),
        ("empty", false),
        ("one.zarr", false),
    ] {
        for kind in ["classic", "nczarr"] {
            let target = place.join(target);
            let args = ["copy", "-k", kind, &whole, text(&target), "--clobber"];
            let (code, message) = failure(&args[..if clobber { 6 } else { 5 }]);
            assert!(
                code == 1 && (message.contains("NC_EEXIST") || message.contains("NC_EOBJECT")),
                "{message}"
            );
            assert!(files(&place) == before, "{args:?}: {:?}", files(&place).keys());
        }
    }
    for (target, kind) in [("empty", "classic"), ("nothing", "nczarr"), ("one.zarr", "classic")] {
        let target = place.join(target);
        out(&["copy", "--clobber", "-k", kind, &whole, text(&target)]);
        assert_eq!(out(&["dump", "-n", "x", text(&target)]), out(&["dump", "-n", "x", &whole]));
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_rights_are_kept() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let whole = source(folder.path(), false);
    let [real, link] = ["real.nc", "link.nc"].map(|name| folder.path().join(name));
    out(&["copy", &whole, text(&real)]);
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    out(&["copy", "--clobber", "-k", "cdf5", &whole, text(&link)]);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(out(&["dump", "-k", text(&real)]), "cdf5\n");
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
}

/// A readable file becomes a directory that may be entered, and an executable directory does not become a
/// program.
#[cfg(unix)]
#[test]
fn replaced_targets_keep_suitable_permissions() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let whole = source(folder.path(), false);
    let cdl = folder.path().join("x.cdl");
    fs::write(&cdl, "netcdf x { variables: int i; data: i = 1; }").unwrap();
    let [file, store] = ["classic", "nczarr"];
    for command in [vec!["copy", "--clobber", &whole], vec!["gen", "--clobber", text(&cdl), "-o"]] {
        for (kinds, rights, want) in [
            ([file, store], 0o644, 0o755),
            ([file, store], 0o600, 0o700),
            ([file, store], 0o640, 0o750),
            ([store, file], 0o750, 0o640),
            ([store, store], 0o710, 0o710),
        ] {
            let target = folder.path().join("target");
            for (kind, rights) in [(kinds[0], Some(rights)), (kinds[1], None)] {
                out(&[&command[..], &[text(&target), "-k", kind]].concat());
                if let Some(rights) = rights {
                    fs::set_permissions(&target, fs::Permissions::from_mode(rights)).unwrap();
                }
            }
            let found = target.metadata().unwrap().permissions().mode() & 0o7777;
            assert_eq!(found, want, "{kinds:?} {rights:o}: {found:o}");
            out(&["dump", text(&target)]);
            out(&["rm", text(&target)]);
        }
    }
}

#[test]
fn no_copy_is_made_inside_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let whole = source(folder.path(), false);
    let before = files(Path::new(&whole));
    for (target, kind) in [("copy.nc", "classic"), ("copy.zarr", "nczarr"), ("first/copy.zarr", "zarr")] {
        for target in [format!("{whole}/{target}"), format!("file://{whole}/{target}")] {
            let (code, message) = failure(&["copy", "-k", kind, &whole, &target]);
            assert!(code == 1 && message.contains("overlap"), "{message}");
            assert!(files(Path::new(&whole)) == before, "{target}");
        }
    }
    // A sibling with the same prefix in its name is another place.
    out(&["copy", &whole, &format!("{whole}-2.zarr")]);
}

#[cfg(unix)]
#[test]
fn leftovers_of_killed_copies_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let whole = source(folder.path(), false);
    let place = folder.path().join("place");
    // The name of the directory, its contents, whether it is locked, whether it stays.
    let table = [
        (".ncz-aB3def.copy", vec!["target.nc"], false, false),
        (".ncz-held00.copy", vec!["target.nc"], true, true),
        (".ncz-other0.copy", vec!["other.nc"], false, true),
        (".ncz-nothin.copy", vec![], false, true),
        // The only copy of the target's former dataset.
        (".ncz-moved0.copy", vec!["target.nc", "replaced"], false, true),
        (".ncz-not our.copy", vec!["target.nc"], false, true),
        (".ncz-.copy", vec!["target.nc"], false, true),
        ("ncz-aB3def.copy", vec!["target.nc"], false, true),
    ];
    let mut held = Vec::new();
    for (name, content, locked, _) in &table {
        let made = place.join(name);
        fs::create_dir_all(&made).unwrap();
        for name in content {
            fs::write(made.join(name), b"x").unwrap();
        }
        if *locked {
            let lock = fs::File::open(&made).unwrap();
            lock.try_lock().unwrap();
            held.push(lock);
        }
    }
    // A link is not followed.
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("target.nc"), b"x").unwrap();
    std::os::unix::fs::symlink(&elsewhere, place.join(".ncz-linked.copy")).unwrap();
    out(&["copy", &whole, text(&place.join("target.nc"))]);
    for (name, _, _, stays) in &table {
        assert_eq!(place.join(name).exists(), *stays, "{name}");
    }
    assert!(elsewhere.join("target.nc").exists());
    drop(held);
    out(&["copy", "--clobber", &whole, text(&place.join("target.nc"))]);
    assert!(!place.join(".ncz-held00.copy").exists());
}

#[test]
fn a_file_that_is_being_written_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let whole = source(folder.path(), false);
    let target = folder.path().join("target.nc");
    let writer = nczarr::create(text(&target)).unwrap();
    writer.put_attribute("title", "being written").unwrap();
    writer.sync().unwrap();
    let (code, message) = failure(&["copy", "--clobber", &whole, text(&target)]);
    assert!(code == 1 && message.contains("NC_EACCESS"), "{message}");
    writer.close().unwrap();
    out(&["copy", "--clobber", &whole, text(&target)]);
}

#[test]
fn copies_of_classic_files_are_the_same_bytes() {
    let mut compared = 0;
    for (name, path) in classic_files() {
        // Truncated after writing; a file does not record unfilled gaps between values.
        if name.ends_with("_truncated") || name.ends_with("_nofill") {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("copy");
        let output = run(["copy", "--strict", "-k", kind(&path), text(&path), text(&target)]);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let (mut expected, found) = (fs::read(&path).unwrap(), fs::read(&target).unwrap());
        if name.ends_with("_streaming") {
            // Its number of records was overwritten afterwards.
            let width = if expected[3] == 5 { 8 } else { 4 };
            assert!(expected[4..4 + width].iter().all(|&byte| byte == 0xff), "{name}");
            expected[4..4 + width].copy_from_slice(&found[4..4 + width]);
        }
        let at = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert!(found == expected, "{name}: {} bytes of {}, first at {at:?}", found.len(), expected.len());
        compared += 1;
    }
    assert!(compared > 30, "{compared}");
}

/// Links to their own folder, with an exponential number of paths.
#[cfg(unix)]
#[test]
fn links_in_circles_are_followed_once() {
    let folder = tempfile::tempdir().unwrap();
    let whole = source(folder.path(), false);
    let photos = folder.path().join("photos");
    fs::create_dir(&photos).unwrap();
    for place in [Path::new(&whole), &photos] {
        for name in ["circle", "round"] {
            std::os::unix::fs::symlink(".", place.join(name)).unwrap();
        }
    }
    let (code, message) = failure(&["copy", text(&photos), text(&folder.path().join("photos.zarr"))]);
    assert!(code == 1 && message.contains("NC_ENOTNC"), "{message}");
    let target = folder.path().join("copy.zarr");
    out(&["copy", &whole, text(&target)]);
    assert_eq!(out(&["dump", "-n", "x", text(&target)]), out(&["dump", "-n", "x", &whole]));
}

/// A dry run creates no file in or beside the target, not even for a moment.
#[test]
fn a_dry_run_touches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let whole = source(folder.path(), false);
    let place = folder.path().join("place");
    fs::create_dir(&place).unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for name in ["a.nc", "c.zip", "d.zarr"] {
        let target = place.join(name);
        for made in [false, true] {
            if made {
                out(&["copy", &whole, text(&target)]);
            }
            fs::File::open(&place).unwrap().set_modified(long_ago).unwrap();
            let before = files(&place);
            let message = out(&["copy", "--dry-run", "--clobber", &whole, text(&target)]);
            assert!(message.contains("/first: 16 bytes") && message.contains("bytes in all"), "{message}");
            assert_eq!(fs::metadata(&place).unwrap().modified().unwrap(), long_ago, "{name}");
            assert!(files(&place) == before, "{name}");
        }
        let (code, message) = failure(&["copy", "--dry-run", &whole, text(&target)]);
        assert!(code == 1 && message.contains("NC_EEXIST"), "{message}");
    }
}

/// A dry run of an array with a very large declared size ends quickly.
#[test]
fn a_dry_run_of_a_very_long_array_ends() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("long.zarr");
    fs::create_dir_all(store.join("v")).unwrap();
    fs::write(store.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    let array = r#"{"zarr_format": 2, "shape": [4000000000000000000], "chunks": [1], "dtype": "|i1", "compressor": null,
        "fill_value": 0, "order": "C", "filters": null}"#;
    fs::write(store.join("v/.zarray"), array).unwrap();
    let message = out(&["copy", "--dry-run", text(&store), text(&folder.path().join("copy.zarr"))]);
    assert!(message.contains("4000000000000000000 chunks, each read 1.0 times"), "{message}");
}

/// No dataset of the corpus, by any writer, has files that are taken for foreign.
#[test]
fn every_kind_of_dataset_is_recognised() {
    let folder = tempfile::tempdir().unwrap();
    let whole = source(folder.path(), false);
    let mut count = 0;
    for name in ["nczarr-v3/fork", "nczarr-v3/appendix-e", "nczarr-v3/interop", "netcdf-c", "zarr"] {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus").join(name)];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            let entries: Vec<_> = entries.map(|entry| entry.unwrap()).collect();
            let is_one = |name: &str| [".zgroup", "zarr.json", ".nczarr"].contains(&name);
            if entries.iter().any(|entry| entry.file_name().to_str().is_some_and(is_one)) {
                let message = run(["copy", "--clobber", "--dry-run", &whole, text(&folder)]);
                let message = String::from_utf8(message.stderr).unwrap();
                // One has foreign files that a reader must ignore.
                let is_alone = !folder.ends_with("foreign-files.zarr");
                assert_eq!(message.contains("is not part of"), !is_alone, "{message}");
                count += 1;
            } else {
                folders.extend(entries.iter().map(fs::DirEntry::path).filter(|path| path.is_dir()));
            }
        }
    }
    assert!(count > 10, "{count}");
}

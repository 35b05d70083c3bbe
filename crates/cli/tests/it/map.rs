//! `map`: objects by their keys; `completions` and `man`.

use crate::store::ocean;
use crate::{failure, out, text};

#[test]
fn objects_are_listed_printed_written_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let store = ocean(folder.path());
    let url = text(&store);
    let names = out(&["map", "ls", url]);
    assert!(names.lines().any(|name| name == ".zgroup") && names.lines().any(|name| name == "t"), "{names}");
    assert_eq!(out(&["map", "ls", "-l", url, "time"]).lines().last(), Some("          16 0"));
    assert!(out(&["map", "ls", "-r", url]).lines().any(|key| key == "deep water/t/.zarray"));
    assert_eq!(out(&["map", "cat", url, ".zgroup"]), "{\"zarr_format\": 2}");
    let file = folder.path().join("bytes");
    std::fs::write(&file, "{}").unwrap();
    out(&["map", "put", url, "odd/extra", text(&file)]);
    assert_eq!(out(&["map", "cat", url, "odd/extra"]), "{}");
    out(&["map", "rm", url, "odd/extra"]);
    let (code, message) = failure(&["map", "cat", url, "odd/extra"]);
    assert!(code == 1 && message.contains("odd/extra: no such object"), "{message}");
    out(&["map", "rm", "-r", url, "deep water"]);
    assert_eq!(out(&["map", "ls", url, "deep water"]), "");
    assert!(failure(&["map", "cat", url, "../x"]).1.contains(".."));
}

/// For any contents: only `rm` deletes all of it, after checking that it is a dataset.
#[test]
fn rm_refuses_the_root_key() {
    let folder = tempfile::tempdir().unwrap();
    let photos = folder.path().join("photos");
    std::fs::create_dir(&photos).unwrap();
    std::fs::write(photos.join("a.jpg"), "x").unwrap();
    let store = ocean(folder.path());
    for (place, is_there) in [(&photos, photos.join("a.jpg")), (&store, store.join(".zgroup"))] {
        for args in [
            ["rm", "-r", text(place), "/"],
            ["rm", "-r", text(place), ""],
            ["rm", "--recursive", text(place), "//"],
        ] {
            let (code, message) = failure(&[&["map"][..], &args].concat());
            assert!(code == 1 && message.contains("use `ncz rm` to delete a dataset"), "{message}");
            assert!(is_there.exists(), "{args:?}");
        }
    }
}

#[test]
fn objects_of_an_archive() {
    let folder = tempfile::tempdir().unwrap();
    let (cdl, archive) = (folder.path().join("a.cdl"), folder.path().join("a.zip"));
    std::fs::write(&cdl, "netcdf a { variables: int t; data: t = 1; }").unwrap();
    let file = folder.path().join("bytes");
    std::fs::write(&file, "new").unwrap();
    out(&["gen", "-o", text(&archive), text(&cdl)]);
    out(&["map", "put", text(&archive), "t/extra", text(&file)]);
    assert_eq!(out(&["map", "cat", text(&archive), "t/extra"]), "new");
}

#[test]
fn shells_and_manuals() {
    assert!(out(&["completions", "bash"]).contains("_ncz()"));
    assert!(out(&["man"]).contains(".TH ncz 1"));
    let folder = tempfile::tempdir().unwrap();
    out(&["man", text(folder.path())]);
    assert!(
        std::fs::read_to_string(folder.path().join("ncz-dump.1")).unwrap().contains("C or Fortran order")
    );
}

//! Datasets in zip archives: copied there and back, found by their bytes, packed anew, deleted.

use crate::{failure, out, text};

#[test]
fn an_archive_is_a_dataset_like_any_other() {
    let dir = tempfile::tempdir().unwrap();
    let made = dir.path().join("vars.zarr");
    out(&["bench", "op", "--op", "meta_write", "--nvars", "3", "--path", text(&made)]);
    let (archive, back) = (dir.path().join("vars.zip"), dir.path().join("back").join("vars.zarr"));
    std::fs::create_dir(back.parent().unwrap()).unwrap();
    let good = |path: &std::path::Path| out(&["dump", "-s", text(path)]);
    out(&["copy", text(&made), text(&archive)]);
    assert_eq!(&std::fs::read(&archive).unwrap()[..4], b"PK\x03\x04");
    out(&["copy", text(&archive), text(&back)]);
    assert_eq!(good(&back), good(&archive));
    // Replacing it leaves the old one's bytes nowhere; what is not recognisably a dataset is left alone.
    let size = std::fs::metadata(&archive).unwrap().len();
    out(&["copy", "--clobber", text(&back), text(&archive)]);
    let repacked = out(&["repack", text(&archive)]);
    let now = std::fs::metadata(&archive).unwrap().len();
    assert!(now <= size && repacked.ends_with(&format!(" {now} now\n")), "{repacked}");
    assert_eq!(good(&back), good(&archive));
    let renamed = dir.path().join("no-ending");
    std::fs::rename(&archive, &renamed).unwrap();
    assert_eq!(out(&["dump", "-n", "vars", text(&renamed)]), out(&["dump", text(&back)]));
    out(&["rm", text(&renamed)]);
    assert!(!renamed.exists());
    let stranger = dir.path().join("other.zip");
    std::fs::write(&stranger, b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0").unwrap();
    let (code, _) = failure(&["rm", text(&stranger)]);
    assert!(code == 1 && stranger.exists());
    let (code, error) = failure(&["repack", text(&back)]);
    assert!(code == 1 && error.contains("back"), "{error}");
}

//! Datasets in zip archives: copied there and back, found by their bytes, packed anew, deleted.

use crate::{failure, out, text};

#[test]
fn an_archive_is_a_dataset_like_any_other() {
    let dir = tempfile::tempdir().unwrap();
    let made = dir.path().join("vars.zarr");
    let cdl = dir.path().join("vars.cdl");
    std::fs::write(
        &cdl,
        "netcdf vars { dimensions: x = 3; variables: float a(x), b(x); a:units = \"K\"; data: a = 1, 2, 3; }",
    )
    .unwrap();
    out(&["gen", "-o", &format!("{}#mode=zarr", text(&made)), text(&cdl)]);
    let (archive, back) = (dir.path().join("vars.zip"), dir.path().join("back").join("vars.zarr"));
    std::fs::create_dir(back.parent().unwrap()).unwrap();
    let good = |path: &std::path::Path| out(&["dump", "-s", text(path)]);
    out(&["copy", text(&made), text(&archive)]);
    assert_eq!(&std::fs::read(&archive).unwrap()[..4], b"PK\x03\x04");
    out(&["copy", text(&archive), text(&back)]);
    assert_eq!(good(&back), good(&archive));
    // Replacing a dataset removes the old one's bytes everywhere; a file that is not recognisably a dataset
    // stays.
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

/// An archive of stored members, with a comment: name, rights and bytes of each.
fn zip(members: &[(&str, u32, &[u8])], comment: &[u8]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, mode, value) in members {
        let at = bytes.len() as u32;
        let crc = crc(value);
        let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 33, 0];
        common.extend(crc.to_le_bytes());
        common.extend((value.len() as u32).to_le_bytes());
        common.extend((value.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&common);
        bytes.extend(name.as_bytes());
        bytes.extend(*value);
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&common);
        directory.extend([0; 6]);
        directory.extend((mode << 16).to_le_bytes());
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let at = bytes.len() as u32;
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([(members.len() as u16).to_le_bytes(); 2].concat());
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(at.to_le_bytes());
    bytes.extend((comment.len() as u16).to_le_bytes());
    bytes.extend(comment);
    bytes
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}

#[test]
fn repack_refuses_archives_without_a_dataset() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("letters.zip");
    let bytes = zip(
        &[("a.txt", 0o100_755, b"Dear"), ("b/", 0o040_755, b""), ("../c", 0o100_600, b"x")],
        b"to be kept",
    );
    std::fs::write(&path, &bytes).unwrap();
    let (code, message) = failure(&["repack", text(&path)]);
    assert!(code == 1 && message.contains("NC_ENOTNC"), "{message}");
    assert!(std::fs::read(&path).unwrap() == bytes);
}

#[test]
fn repack_keeps_foreign_members() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.zip");
    let array = br#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"|i1","compressor":null,"fill_value":0,"order":"C","filters":null}"#;
    let members: [(&str, u32, &[u8]); 6] = [
        (".zgroup", 0o100_644, br#"{"zarr_format":2}"#),
        ("v/.zarray", 0o100_644, array),
        ("v/0", 0o100_644, &[1, 2]),
        ("empty/", 0o040_700, b""),
        ("../aside", 0o100_600, b"not ours"),
        ("/link", 0o120_777, b"v/0"),
    ];
    std::fs::write(&path, zip(&members, b"to be kept")).unwrap();
    let before = out(&["dump", text(&path)]);
    out(&["repack", text(&path)]);
    assert_eq!(out(&["dump", text(&path)]), before);
    let bytes = std::fs::read(&path).unwrap();
    assert!(bytes.ends_with(b"\x0a\0to be kept"));
    for (name, mode, value) in &members[3..] {
        // The record in the directory: permissions, position, then the name.
        let at = bytes
            .windows(name.len())
            .rposition(|part| part == name.as_bytes())
            .unwrap_or_else(|| panic!("{name}"));
        assert_eq!(bytes[at - 8..at - 4], (mode << 16).to_le_bytes(), "{name}");
        let begin = u32::from_le_bytes(bytes[at - 4..at].try_into().unwrap()) as usize;
        assert!(bytes[begin + 30..].starts_with(&[name.as_bytes(), value].concat()), "{name}");
    }
    // Packing again changes nothing.
    out(&["repack", text(&path)]);
    assert!(std::fs::read(&path).unwrap() == bytes);
}

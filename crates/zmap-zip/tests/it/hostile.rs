//! Archives that attack a reader. Reads give errors or written values, and never bytes outside the archive.

use std::io::{Cursor, Write};

use nczarr_model::ErrorKind;
use nczarr_storage::{ByteRange, Key, Limits, ZMap, ZMapExt};
use nczarr_zmap_zip::ZipMap;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::{MARKERS, key};

fn of(bytes: &[u8]) -> nczarr_model::Result<ZipMap> {
    ZipMap::from_bytes(bytes.to_vec(), MARKERS, &Limits::default())
}

fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer
            .start_file(*name, SimpleFileOptions::default().compression_method(CompressionMethod::Stored))
            .unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn names_that_are_no_keys_are_out_of_reach() {
    let names = [
        "../up",
        "/etc/passwd",
        "a/../../b",
        "a//b",
        "./c",
        "nul\0byte",
        "line\nbreak",
        "dir/",
        "a/.",
        "..",
        "C:\\x",
    ];
    let mut members: Vec<_> = names.iter().map(|name| (*name, b"x".as_slice())).collect();
    members.push((".zgroup", b"{}"));
    let map = of(&archive(&members)).unwrap();
    let keys: Vec<String> = map.keys(&Key::root()).unwrap().iter().map(Key::to_string).collect();
    assert_eq!(keys, [".zgroup", "C:\\x"]);
    for segment in map.children(&Key::root()).unwrap() {
        assert!(Key::is_segment(&segment), "{segment:?}");
    }
}

#[test]
fn wrong_sizes_are_errors() {
    let bytes = archive(&[(".zgroup", b"{}"), ("v/0", &[5; 1000])]);
    let central = bytes.windows(7).rposition(|at| at == b"v/0PK\x05\x06").unwrap() - 46;
    // The stored length differs from the real one, exceeds the file, or the start is wrong or beyond the end.
    for (at, value) in [(20, 999u32), (24, 999), (24, 2_000_000_000), (42, 1), (42, 0x7fff_ffff)] {
        let mut lying = bytes.clone();
        lying[central + at..central + at + 4].copy_from_slice(&value.to_le_bytes());
        let map = of(&lying).unwrap();
        let mut out = Vec::new();
        let error = map.read(&key("v/0"), ByteRange::ALL, &mut out).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{at} {value}: {error}");
        assert!(error.to_string().contains("v/0"), "{error}");
        let other = map.read(&key(".zgroup"), ByteRange::ALL, &mut out);
        assert!(other.is_ok() || value == 1, "what it does not reach into is there");
    }
    // Both lengths are changed to the same value.
    for value in [999u32, 1001, 0x7000_0000] {
        let mut lying = bytes.clone();
        for at in [20, 24] {
            lying[central + at..central + at + 4].copy_from_slice(&value.to_le_bytes());
        }
        let map = of(&lying).unwrap();
        assert_eq!(
            map.read(&key("v/0"), ByteRange::ALL, &mut Vec::new()).unwrap_err().kind(),
            ErrorKind::Io,
            "{value}"
        );
    }
}

#[test]
fn damaged_members_are_errors() {
    let mut bytes = archive(&[(".zgroup", b"{}"), ("v/0", &[5; 1000])]);
    let at = bytes.windows(5).position(|five| five == [5; 5]).unwrap();
    bytes[at + 500] ^= 1;
    let map = of(&bytes).unwrap();
    let error = map.read(&key("v/0"), ByteRange::ALL, &mut Vec::new()).unwrap_err();
    assert!(error.kind() == ErrorKind::Io && error.to_string().contains("checksum"), "{error}");
    let mut memory = [0; 1000];
    assert!(map.read_into(&key("v/0"), 0, &mut nczarr_storage::OutBuf::from_slice(&mut memory)).is_err());
}

#[test]
fn a_bomb_is_not_unpacked() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    writer.start_file(".zgroup", options).unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..64 {
        writer.write_all(&zeros).unwrap();
    }
    let bytes = writer.finish().unwrap().into_inner();
    // The directory declares a few bytes, but the data are longer.
    let central = bytes.windows(11).rposition(|at| at == b".zgroupPK\x05\x06").unwrap() - 46;
    let mut lying = bytes;
    lying[central + 24..central + 28].copy_from_slice(&100u32.to_le_bytes());
    let map = of(&lying).unwrap();
    let mut out = Vec::new();
    let error = map.read(&key(".zgroup"), ByteRange::ALL, &mut out).unwrap_err();
    assert!(error.kind() == ErrorKind::Io && out.capacity() < 1 << 20, "{error}");
}

#[test]
fn links_and_encrypted_members_are_errors_of_their_own() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file(".zgroup", SimpleFileOptions::default()).unwrap();
    writer.add_symlink("v/0", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    let map = of(&writer.finish().unwrap().into_inner()).unwrap();
    let error = map.read(&key("v/0"), ByteRange::ALL, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("symbolic link"), "{error}");
    let mut locked = archive(&[(".zgroup", b"{}")]);
    let central = locked.windows(4).rposition(|at| at == b"PK\x01\x02").unwrap();
    locked[central + 8] |= 1;
    let error = of(&locked).unwrap().read(&key(".zgroup"), ByteRange::ALL, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("encrypted"), "{error}");
}

#[test]
fn members_that_overlap_are_errors() {
    let bytes = archive(&[(".zgroup", b"{}"), ("v/0", &[5; 100]), ("v/1", &[6; 100])]);
    let record = |name: &str| {
        let at = bytes.windows(name.len()).rposition(|at| at == name.as_bytes()).unwrap() - 46;
        (at, u32::from_le_bytes(bytes[at + 42..at + 46].try_into().unwrap()))
    };
    let ((at, _), (_, other)) = (record("v/0"), record("v/1"));
    let mut lying = bytes.clone();
    lying[at + 42..at + 46].copy_from_slice(&other.to_le_bytes());
    let map = of(&lying).unwrap();
    let read = |name| map.read(&key(name), ByteRange::ALL, &mut Vec::new());
    assert!(read("v/0").is_err() || read("v/1").is_err());
    assert!(read(".zgroup").is_ok());
}

#[test]
fn too_many_members_are_refused() {
    let bytes = nczarr_zmap_zip::archive((0..100).map(|i| (key(&format!("v/{i}")), b"x"))).unwrap();
    let mut limits = Limits::default();
    limits.entries = 99;
    let error = ZipMap::from_bytes(bytes, MARKERS, &limits).unwrap_err();
    assert!(error.to_string().contains("99"), "{error}");
}

#[test]
fn every_change_of_a_byte_is_survived() {
    let values: [(&str, &[u8]); 3] = [(".zgroup", b"{}"), ("v/0", &[5; 40]), ("v/1", b"abc")];
    let bytes = nczarr_zmap_zip::archive(values.iter().map(|(name, value)| (key(name), *value))).unwrap();
    for at in 0..bytes.len() {
        for flip in [1u8, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            let Ok(map) = of(&changed) else { continue };
            for found in map.keys(&Key::root()).unwrap() {
                let mut out = Vec::new();
                let Ok(true) = map.read(&found, ByteRange::ALL, &mut out) else { continue };
                // Every read returns a written value, perhaps under another name.
                assert!(
                    values.iter().any(|(_, value)| *value == out),
                    "byte {at} ^ {flip}: {found} reads {out:?}"
                );
            }
        }
        let _ = of(&bytes[..at]).map(|map| map.keys(&Key::root()).unwrap().len());
    }
}

#[test]
fn no_key_is_a_prefix_of_another() {
    // An empty member may be a folder. A member with bytes cannot also be a folder.
    let map = of(&archive(&[(".zgroup", b"{}"), ("v", b""), ("v-1", b"x"), ("v/w", b""), ("v/w/0", b"y")]))
        .unwrap();
    let keys: Vec<String> = map.keys(&Key::root()).unwrap().iter().map(Key::to_string).collect();
    assert_eq!(keys, [".zgroup", "v-1", "v/w/0"]);
    assert_eq!(map.children(&Key::root()).unwrap(), [".zgroup", "v", "v-1"]);
    assert_eq!(map.len(&key("v")).unwrap_err().kind(), ErrorKind::Empty);
    let error = of(&archive(&[(".zgroup", b"{}"), ("v", b"1"), ("v-1", b""), ("v/w/0", b"y")])).unwrap_err();
    assert!(error.kind() == ErrorKind::Io && error.to_string().contains("\"v\""), "{error}");
}

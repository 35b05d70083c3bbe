//! Read batches over archives. Every kind of range equals that part of the whole member, for stored and
//! compressed members, with and without versions.

use std::io::{Cursor, Write};
use std::iter::{repeat, zip};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::batch::{Ranges, ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::{ByteRange, Key, OutBuf, Version, ZMap};
use nczarr_zmap_zip::ZipMap;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::{MARKERS, key};

/// One ticket, and its result.
struct Reads<'m> {
    key: Key,
    ranges: Ranges,
    limit: usize,
    versioned: bool,
    into: Mutex<Option<&'m mut [u8]>>,
    next: AtomicUsize,
    back: Mutex<Option<Back>>,
}

type Back = Result<Option<(Vec<u8>, Option<Version>)>>;

impl ReadJob for Reads<'_> {
    fn threads(&self) -> usize {
        1
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        if self.next.fetch_add(1, Ordering::Relaxed) > 0 {
            return None;
        }
        key.set(&self.key);
        let into = self.into.lock().unwrap().take().map(OutBuf::from_slice);
        let ticket = ReadTicket::new(0, self.ranges.clone(), self.limit);
        Some(ticket.versioned(self.versioned).into(into))
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let back = found.map(|found| {
            found.map(|(bytes, version)| match bytes {
                ReadOutcome::Bytes(bytes) => (bytes.to_vec(), version),
                ReadOutcome::InPlace => (ticket.into.unwrap().filled().to_vec(), version),
            })
        });
        *self.back.lock().unwrap() = Some(back);
    }
}

fn read(
    map: &ZipMap,
    name: &str,
    ranges: &Ranges,
    limit: usize,
    versioned: bool,
    into: Option<&mut [u8]>,
) -> Back {
    let (ranges, into) = (ranges.clone(), Mutex::new(into));
    let job =
        Reads { key: key(name), ranges, limit, versioned, into, next: 0.into(), back: Mutex::default() };
    map.read_batch(&job);
    job.back.into_inner().unwrap().unwrap()
}

#[test]
fn every_form_of_range_is_cut_from_the_whole() {
    let values =
        [vec![], b"x".to_vec(), (0..5000u32).flat_map(|i| (i * i).to_le_bytes()).collect::<Vec<u8>>()];
    let list =
        |list: &[(u64, u64)]| Ranges::List(list.iter().map(|&(at, len)| ByteRange::new(at, len)).collect());
    let every = |at, len, step, count| Ranges::Strided { first: ByteRange::new(at, len), step, count };
    let ranges = [
        Ranges::All,
        Ranges::One(ByteRange { offset: 3, len: None }),
        Ranges::One(ByteRange::new(0, 1)),
        Ranges::One(ByteRange::new(19_000, u64::MAX)),
        Ranges::Suffix(0),
        Ranges::Suffix(7),
        list(&[(0, 1)]),
        list(&[(9000, 11), (4, 0), (0, 3), (19_999, 1)]),
        list(&[(19_999, 2)]),
        every(8, 4, 64, 100),
        every(0, 0, u64::MAX, u32::MAX),
        every(1, 1, u64::MAX, 3),
    ];
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (number, value) in values.iter().enumerate() {
            writer
                .start_file(format!("v/{number}"), SimpleFileOptions::default().compression_method(method))
                .unwrap();
            writer.write_all(value).unwrap();
        }
        let archive = writer.finish().unwrap().into_inner();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive.zip");
        std::fs::write(&path, &archive).unwrap();
        let maps = [
            ZipMap::from_bytes(archive, MARKERS, &Default::default()).unwrap(),
            ZipMap::open(&path, None, MARKERS, false, &Default::default()).unwrap(),
        ];
        for (map, (number, value)) in maps.iter().flat_map(|map| zip(repeat(map), values.iter().enumerate()))
        {
            let name = format!("v/{number}");
            let (_, one) = read(map, &name, &Ranges::All, usize::MAX, true, None).unwrap().unwrap();
            for (ranges, versioned) in ranges.iter().flat_map(|ranges| [(ranges, false), (ranges, true)]) {
                for limit in [usize::MAX, 20_000, 100] {
                    let what = format!("{ranges:?} of {name}, {method}, at most {limit}");
                    let expected = ranges.cut(&key(&name), value, limit).map(|bytes| bytes.into_owned());
                    match (read(map, &name, ranges, limit, versioned, None), expected) {
                        (Ok(Some((found, version))), Ok(expected)) => {
                            assert!(found == expected, "{what}");
                            assert_eq!(version.is_some(), versioned, "{what}");
                            assert!(
                                version.is_none_or(|version| version.same(one.as_ref().unwrap())),
                                "{what}"
                            );
                        }
                        (Err(_), Err(_)) => {}
                        (found, expected) => panic!("{what}: {expected:?} expected, found {found:?}"),
                    }
                }
            }
            // Reads into caller memory: a value longer than the memory is an error, and is never truncated.
            for room in [value.len(), value.len() + 1, value.len().saturating_sub(1)] {
                let mut memory = vec![7; room];
                match read(map, &name, &Ranges::All, usize::MAX, false, Some(&mut memory)) {
                    Ok(found) => assert!(found.unwrap().0 == *value && room >= value.len()),
                    Err(error) => assert!(room < value.len() && error.kind() == ErrorKind::Io, "{error}"),
                }
            }
        }
        for map in &maps {
            assert!(read(map, "v/9", &Ranges::All, 9, true, None).unwrap().is_none());
            assert_eq!(read(map, "v", &Ranges::All, 9, false, None).unwrap_err().kind(), ErrorKind::Empty);
        }
    }
}

/// Bytes that are lent from memory are checked as well as bytes that are read from a file.
#[test]
fn a_damaged_member_is_an_error_in_a_batch() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, value) in [("v/0", b"the value".as_slice()), ("v/1", b"another")] {
        writer.start_file(name, stored).unwrap();
        writer.write_all(value).unwrap();
    }
    let mut archive = writer.finish().unwrap().into_inner();
    let at = archive.windows(9).position(|bytes| bytes == b"the value").unwrap();
    archive[at + 2] ^= 1;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("archive.zip");
    std::fs::write(&path, &archive).unwrap();
    let maps = [
        ZipMap::from_bytes(archive, MARKERS, &Default::default()).unwrap(),
        ZipMap::open(&path, None, MARKERS, false, &Default::default()).unwrap(),
    ];
    for map in &maps {
        for ranges in [Ranges::All, Ranges::One(ByteRange::ALL), Ranges::Suffix(9)] {
            for versioned in [false, true] {
                let error = read(map, "v/0", &ranges, 100, versioned, None).unwrap_err();
                assert!(error.kind() == ErrorKind::Io && error.to_string().contains("checksum"), "{error}");
                let (found, _) = read(map, "v/1", &ranges, 100, versioned, None).unwrap().unwrap();
                assert_eq!(found, b"another");
            }
        }
        let mut memory = [0; 9];
        let error = read(map, "v/0", &Ranges::All, 100, false, Some(&mut memory)).unwrap_err();
        assert!(error.to_string().contains("checksum"), "{error}");
    }
}

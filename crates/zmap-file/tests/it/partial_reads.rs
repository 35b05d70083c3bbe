//! Repeated partial reads while other processes change the objects.
//!
//! The map keeps such objects open. After any change to a key, the next read gives the same result as a new
//! map.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::batch::{Ranges, ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::{ByteRange, Key, MapOptions, OutBuf, Version, ZMap, ZMapExt};
use nczarr_zmap_file::FileMap;

use crate::Scratch;

/// The bytes read from one object.
type Part = Result<Option<Vec<u8>>>;

/// A method to read four bytes from the third on.
type Way = fn(&FileMap, &str) -> Part;

/// Reads one range of several objects.
struct Parts<'p> {
    keys: &'p [Key],
    range: ByteRange,
    next: AtomicUsize,
    found: Mutex<Vec<Option<Part>>>,
}

impl ReadJob for Parts<'_> {
    fn threads(&self) -> usize {
        1
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        key.set(self.keys.get(index)?);
        let ranges = Ranges::One(self.range);
        Some(ReadTicket::new(index, ranges, 1 << 20).hint(8))
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let found = found.map(|found| {
            found.map(|(found, _)| match found {
                ReadOutcome::Bytes(bytes) => bytes.to_vec(),
                ReadOutcome::InPlace => unreachable!("there was no place"),
            })
        });
        self.found.lock().unwrap()[ticket.index] = Some(found);
    }
}

fn parts(map: &FileMap, keys: &[Key], range: ByteRange) -> Vec<Part> {
    let found = Mutex::new(keys.iter().map(|_| None).collect());
    let job = Parts { keys, range, next: AtomicUsize::new(0), found };
    map.read_batch(&job);
    job.found
        .into_inner()
        .unwrap()
        .into_iter()
        .map(|found| found.expect("every ticket is answered"))
        .collect()
}

/// Returns bytes 2 to 5 of an object, read in a batch.
fn part(map: &FileMap, text: &str) -> Part {
    parts(map, &[key(text)], ByteRange::new(2, 4)).remove(0)
}

/// Returns the same bytes, read by a single call.
fn alone(map: &FileMap, text: &str) -> Part {
    let mut memory = [0; 4];
    let mut out = OutBuf::from_slice(&mut memory);
    Ok(map.read_into(&key(text), 2, &mut out)?.then(|| out.filled().to_vec()))
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

/// Returns the number of files below a directory that this process has open.
fn open_below(dir: &Path) -> usize {
    let links =
        fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| fs::read_link(fd.unwrap().path()).ok());
    links.filter(|path| path != dir && path.starts_with(dir) && !path.ends_with(".nczarr-lock")).count()
}

/// Returns whether the map keeps files open in this directory. It does so on common local file systems.
fn keeps(dir: &Path) -> bool {
    let (tmpfs, ext) = (0x0102_1994, 0xef53);
    [tmpfs, ext].contains(&(rustix::fs::statfs(dir).unwrap().f_type as u64))
}

/// A change to the store at a root: its name, the change, and the result of the next read.
type Deed = (&'static str, fn(&Path), std::result::Result<Option<&'static [u8]>, ErrorKind>);

#[test]
fn partial_reads_see_the_current_object() {
    fn whole(root: &Path, name: &str, value: &[u8]) {
        fs::write(root.join(name), value).unwrap();
    }
    // The key is g/v/0 and holds "xxoldxx".
    let deeds: &[Deed] = &[
        ("nothing", |_| {}, Ok(Some(b"oldx"))),
        (
            "replaced by a rename",
            |root| {
                whole(root, "g/v/t", b"yynewyy");
                fs::rename(root.join("g/v/t"), root.join("g/v/0")).unwrap();
            },
            Ok(Some(b"newy")),
        ),
        (
            "removed and linked anew",
            |root| {
                whole(root, "g/v/t", b"yynewyy");
                fs::remove_file(root.join("g/v/0")).unwrap();
                fs::hard_link(root.join("g/v/t"), root.join("g/v/0")).unwrap();
            },
            Ok(Some(b"newy")),
        ),
        (
            "removed and written anew",
            |root| {
                fs::remove_file(root.join("g/v/0")).unwrap();
                whole(root, "g/v/0", b"yynewyy");
            },
            Ok(Some(b"newy")),
        ),
        ("removed", |root| fs::remove_file(root.join("g/v/0")).unwrap(), Ok(None)),
        ("written in place", |root| whole(root, "g/v/0", b"yynewyy"), Ok(Some(b"newy"))),
        ("cut in place", |root| whole(root, "g/v/0", b"yyn"), Ok(Some(b"n"))),
        (
            "given a second name",
            |root| fs::hard_link(root.join("g/v/0"), root.join("b")).unwrap(),
            Ok(Some(b"oldx")),
        ),
        (
            "given a second name and replaced",
            |root| {
                fs::hard_link(root.join("g/v/0"), root.join("b")).unwrap();
                whole(root, "g/v/t", b"yynewyy");
                fs::rename(root.join("g/v/t"), root.join("g/v/0")).unwrap();
            },
            Ok(Some(b"newy")),
        ),
        (
            "moved away and back",
            |root| {
                fs::rename(root.join("g/v/0"), root.join("t")).unwrap();
                fs::rename(root.join("t"), root.join("g/v/0")).unwrap();
            },
            Ok(Some(b"oldx")),
        ),
        (
            "its directory moved away",
            |root| fs::rename(root.join("g/v"), root.join("g/w")).unwrap(),
            Ok(None),
        ),
        (
            "its directory moved away, another put there",
            |root| {
                fs::rename(root.join("g/v"), root.join("g/w")).unwrap();
                fs::create_dir(root.join("g/v")).unwrap();
                whole(root, "g/v/0", b"yynewyy");
            },
            Ok(Some(b"newy")),
        ),
        (
            "a directory above exchanged",
            |root| {
                fs::create_dir_all(root.join("h/v")).unwrap();
                whole(root, "h/v/0", b"yynewyy");
                fs::rename(root.join("g"), root.join("old")).unwrap();
                fs::rename(root.join("h"), root.join("g")).unwrap();
            },
            Ok(Some(b"newy")),
        ),
        (
            "all removed and made anew",
            |root| {
                fs::remove_dir_all(root.join("g")).unwrap();
                fs::create_dir_all(root.join("g/v")).unwrap();
                whole(root, "g/v/0", b"yynewyy");
            },
            Ok(Some(b"newy")),
        ),
        (
            "a directory in its place",
            |root| {
                fs::remove_file(root.join("g/v/0")).unwrap();
                fs::create_dir(root.join("g/v/0")).unwrap();
                whole(root, "g/v/0/x", b"deeper");
            },
            Err(ErrorKind::Empty),
        ),
        (
            "a link to it in its place",
            |root| {
                fs::rename(root.join("g/v/0"), root.join("g/v/t")).unwrap();
                symlink("t", root.join("g/v/0")).unwrap();
            },
            Err(ErrorKind::Access),
        ),
        (
            "a link to another directory on the way",
            |root| {
                fs::rename(root.join("g"), root.join("h")).unwrap();
                fs::create_dir_all(root.join("i/v")).unwrap();
                whole(root, "i/v/0", b"yynewyy");
                symlink("i", root.join("g")).unwrap();
            },
            Err(ErrorKind::Access),
        ),
    ];
    let scratch = Scratch::new();
    let ways: [&[Way]; 3] = [&[part], &[alone], &[alone, part]];
    for (reads, ways) in [0, 1, 2, 4].into_iter().flat_map(|reads| ways.map(|ways| (reads, ways))) {
        for (deed, doing, expected) in deeds {
            let map = scratch.map(&MapOptions::default());
            map.write(&key("g/v/0"), b"xxoldxx").unwrap();
            for read in 0..reads {
                assert_eq!(ways[read % ways.len()](&map, "g/v/0").unwrap().unwrap(), b"oldx");
            }
            if keeps(map.path()) {
                assert_eq!(open_below(map.path()), usize::from(reads > 1), "it is kept open");
            }
            doing(map.path());
            for again in 0..3 {
                let found = ways[again % ways.len()](&map, "g/v/0").map_err(|error| error.kind());
                let expected = expected.map(|bytes| bytes.map(<[u8]>::to_vec));
                assert_eq!(found, expected, "{deed} after {reads} reads, then read {again}");
            }
        }
    }
}

#[test]
fn partial_reads_see_the_latest_write_of_any_map() {
    let scratch = Scratch::new();
    let map = scratch.map(&MapOptions::default());
    let other = FileMap::open(map.path(), true, &MapOptions::default()).unwrap();
    map.write(&key("v/0"), b"__0000").unwrap();
    for (writer, value) in [(&map, b"__1111"), (&other, b"__2222"), (&map, b"__3333")] {
        let _ = (part(&map, "v/0").unwrap(), part(&map, "v/0").unwrap());
        writer.write(&key("v/0"), value).unwrap();
        assert_eq!(part(&map, "v/0").unwrap().unwrap(), value[2..]);
        assert_eq!(part(&other, "v/0").unwrap().unwrap(), value[2..]);
    }
    other.rename(&key("v"), &key("w")).unwrap();
    assert_eq!(part(&map, "v/0").unwrap(), None);
    assert_eq!(part(&map, "w/0").unwrap().unwrap(), b"3333");
    assert!(map.delete(&key("w/0")).unwrap());
    assert_eq!(part(&other, "w/0").unwrap(), None);
    // A removed object is not cached.
    assert_eq!(open_below(map.path()), 0);
}

#[test]
fn a_batch_on_a_removed_map_is_an_error() {
    let scratch = Scratch::new();
    let map = scratch.map(&MapOptions::default());
    let keys: Vec<Key> = (0..200).map(|i| key(&format!("v/{i}"))).collect();
    for key in keys.iter().step_by(3) {
        map.write(key, key.as_str().as_bytes()).unwrap();
    }
    for (i, found) in parts(&map, &keys, ByteRange::first(100)).into_iter().enumerate() {
        let expected = (i % 3 == 0).then(|| keys[i].as_str().as_bytes().to_vec());
        assert_eq!(found.unwrap(), expected, "{}", keys[i]);
    }
    FileMap::remove(map.path()).unwrap();
    for found in parts(&map, &keys, ByteRange::first(100)) {
        let error = found.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
}

#[test]
fn open_files_are_bounded_and_closed_by_sync_and_drop() {
    let scratch = Scratch::new();
    let (one, two) = (scratch.map(&MapOptions::default()), scratch.map(&MapOptions::default()));
    let keys: Vec<Key> = (0..500).map(|i| key(&format!("v/{i}"))).collect();
    for map in [&one, &two] {
        for (i, key) in keys.iter().enumerate() {
            map.write(key, &(i as u64).to_le_bytes()).unwrap();
        }
    }
    let read = |map: &FileMap| {
        for (i, found) in parts(map, &keys, ByteRange::first(8)).into_iter().enumerate() {
            assert_eq!(found.unwrap().unwrap(), (i as u64).to_le_bytes());
        }
    };
    let open = || (open_below(one.path()), open_below(two.path()));
    for _ in 0..3 {
        read(&one);
        read(&two);
        // The limit is for the whole process, and other tests use a part of it. Each map also keeps its last
        // written directory open.
        assert!(open().0 + open().1 <= 128 + 2, "{:?}", open());
        assert!(open().0 > 0 || !keeps(one.path()), "{:?}", open());
    }
    one.sync().unwrap();
    assert_eq!(open().0, 0);
    for key in keys.iter().cycle().take(3 * keys.len()) {
        assert_eq!(alone(&one, key.as_str()).unwrap().unwrap(), [0; 4]);
        assert!(open().0 + open().1 <= 128 + 2, "{:?}", open());
    }
    assert!(open().0 > 0 || !keeps(one.path()), "{:?}", open());
    one.sync().unwrap();
    assert_eq!(open().0, 0);
    read(&two);
    read(&two);
    let path = two.path().to_owned();
    drop(two);
    assert_eq!(open_below(&path), 0);
    read(&one);
    one.close().unwrap();
    assert_eq!(open_below(one.path()), 0);
    // The map does not keep objects open after whole reads, or after reads from the start, which may be
    // whole.
    let mut memory = [0; 4];
    for key in &keys[..3] {
        assert!(one.read_into(key, 0, &mut OutBuf::from_slice(&mut memory)).unwrap());
    }
    assert_eq!(open_below(one.path()), 0);
    assert_eq!(parts(&one, &keys[..1], ByteRange::ALL).len(), 1);
    let mut out = Vec::new();
    assert!(one.read(&keys[1], ByteRange::ALL, &mut out).unwrap());
    assert!(open_below(one.path()) <= 1);
}

#[test]
fn no_read_returns_a_value_replaced_before_it_began() {
    let scratch = Scratch::new();
    let map = scratch.map(&MapOptions::default());
    let other = FileMap::open(map.path(), true, &MapOptions::default()).unwrap();
    let keys: Vec<Key> = (0..4).map(|i| key(&format!("g/v/{i}"))).collect();
    let written: Vec<AtomicU64> = keys.iter().map(|_| AtomicU64::new(0)).collect();
    let ended = AtomicBool::new(false);
    let write = |map: &FileMap, i: usize, value: u64| {
        map.write(&keys[i], &value.to_le_bytes()).unwrap();
        written[i].store(value, Ordering::Release);
    };
    (0..keys.len()).for_each(|i| write(&map, i, 0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !ended.load(Ordering::Acquire) {
                    for (i, key) in keys.iter().enumerate() {
                        let before = written[i].load(Ordering::Acquire);
                        let found = parts(&map, std::slice::from_ref(key), ByteRange::first(8))
                            .remove(0)
                            .unwrap()
                            .unwrap();
                        let found = u64::from_le_bytes(found.try_into().unwrap());
                        assert!(found >= before, "{found} was read of {key} after {before} was written");
                    }
                }
            });
        }
        for value in 1..200 {
            for i in 0..keys.len() {
                write(if value % 2 == 0 { &map } else { &other }, i, value);
            }
        }
        ended.store(true, Ordering::Release);
    });
}

//! Several processes use one dataset, and some of them are killed.
//!
//! The test binary starts itself again to run [`child`]. As an ordinary test, [`child`] does nothing.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nczarr_model::ErrorKind;
use nczarr_storage::{ByteRange, Key, MapOptions, Precondition, WriteOutcome, ZMap, ZMapExt};
use nczarr_zmap_file::FileMap;

use crate::Scratch;

const TASK: &str = "NCZARR_MAP_TEST_TASK";
const DATASET: &str = "NCZARR_MAP_TEST_DATASET";
const PROCESSES: u64 = 4;
const ROUNDS: u64 = 250;

fn start(task: &str, dataset: &Path) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "processes::child", "--nocapture"])
        .env(TASK, task)
        .env(DATASET, dataset)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Runs the task of a child process.
#[test]
fn child() {
    let (Ok(task), Some(dataset)) = (env::var(TASK), env::var_os(DATASET)) else { return };
    let map = FileMap::open(dataset, true, &MapOptions::default()).unwrap();
    match task.as_str() {
        "count" => count(&map),
        "count by hand" => count_by_hand(&map),
        "write" => write_on(&map),
        "come and go" => come_and_go(&map),
        task => panic!("no task {task:?}"),
    }
}

fn one_more(old: Option<&[u8]>) -> Vec<u8> {
    let count = old.map_or(0, |old| u64::from_le_bytes(old.try_into().unwrap()));
    (count + 1).to_le_bytes().to_vec()
}

fn count(map: &FileMap) {
    let key = Key::new("counters/one").unwrap();
    for _ in 0..ROUNDS {
        map.update(&key, usize::MAX, &mut |old, new| {
            new.extend(one_more(old));
            Ok(())
        })
        .unwrap();
    }
}

fn count_by_hand(map: &FileMap) {
    let key = Key::new("counters/one").unwrap();
    let (mut done, mut old) = (0, Vec::new());
    while done < ROUNDS {
        let version = map.read_versioned(&key, usize::MAX, &mut old).unwrap();
        let new = one_more(version.is_some().then_some(&old));
        let expect = Precondition::unchanged(version);
        if let WriteOutcome::Done(_) = map.write_if(&key, &new, &expect).unwrap() {
            done += 1;
        }
    }
}

fn read(map: &FileMap, key: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    map.read(&Key::new(key).unwrap(), ByteRange::ALL, &mut out).unwrap().then_some(out)
}

#[test]
fn no_update_of_any_process_is_lost() {
    let scratch = Scratch::new();
    let map = scratch.map(&MapOptions::default());
    let tasks = ["count", "count", "count", "count by hand"];
    let mut children: Vec<_> = tasks.iter().map(|task| start(task, map.path())).collect();
    count(&map);
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(read(&map, "counters/one").unwrap(), ((PROCESSES + 1) * ROUNDS).to_le_bytes());
}

/// Returns an object that shows whether it is complete. All its bytes are equal, and their value gives the
/// length.
fn whole(seed: u8) -> Vec<u8> {
    vec![seed; 1 + usize::from(seed) * 1000]
}

/// Writes new objects and replaces old ones without end. It reports each write.
fn write_on(map: &FileMap) {
    let mut said = std::io::stdout().lock();
    for i in 0..u64::MAX {
        let seed = (i % 251) as u8;
        map.write(&Key::new(&format!("old/{}", i % 3)).unwrap(), &whole(seed)).unwrap();
        map.write(&Key::new(&format!("new/{i}/0")).unwrap(), &whole(seed)).unwrap();
        map.update(&Key::new("old/changed").unwrap(), usize::MAX, &mut |_, new| {
            new.extend(whole(seed));
            Ok(())
        })
        .unwrap();
        if i % 4 == 3 {
            map.delete(&Key::new(&format!("new/{}/0", i - 3)).unwrap()).unwrap();
        }
        // The pipe breaks when the reader ends.
        if writeln!(said, "wrote {i}").is_err() {
            return;
        }
    }
}

#[test]
fn a_killed_process_leaves_whole_objects() {
    let scratch = Scratch::new();
    let map = scratch.map(&MapOptions::default());
    for lines in [1, 2, 3, 5, 8, 13, 21, 34, 55, 89] {
        let mut child = start("write", map.path());
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let wrote =
            said.by_ref().map(Result::unwrap).filter(|line| line.starts_with("wrote")).take(lines).last();
        assert_eq!(wrote.unwrap(), format!("wrote {}", lines - 1));
        // The kill comes while it writes.
        child.kill().unwrap();
        child.wait().unwrap();
        let keys = map.keys(&Key::root()).unwrap();
        for key in &keys {
            let object = read(&map, key.as_str()).unwrap();
            assert!(object == whole(object[0]), "{key} after {lines} lines: {} bytes", object.len());
        }
        // Every reported write exists.
        for i in (0..lines as u64).filter(|i| i % 4 != 0) {
            assert_eq!(read(&map, &format!("new/{i}/0")).unwrap(), whole((i % 251) as u8));
        }
        // Its locks end with the process.
        for key in ["old/0", "old/1", "old/2", "old/changed"] {
            map.write(&Key::new(key).unwrap(), &whole(1)).unwrap();
        }
    }
    // Its leftovers disturb no writer.
    for key in map.keys(&Key::root()).unwrap() {
        assert!(map.delete(&key).unwrap());
    }
    assert_eq!(map.children(&Key::root()).unwrap(), [""; 0]);
    map.write(&Key::new("old").unwrap(), b"").unwrap();
    map.write(&Key::new("new").unwrap(), b"").unwrap();
}

/// Makes and removes objects in nested directories. Some objects have the name of another object's directory.
fn come_and_go(map: &FileMap) {
    for i in 0..ROUNDS {
        for key in ["x/y/z/1", "x/y/2", "x/3", "x/y/z"] {
            let key = Key::new(key).unwrap();
            match map.write(&key, &whole((i % 200) as u8)) {
                Ok(()) => {}
                // Another process has an object in place of this one's directory, or a directory in place of
                // the object.
                Err(error) => assert_eq!(error.kind(), ErrorKind::Object, "{error}"),
            }
            let mut out = Vec::new();
            match map.read(&key, ByteRange::ALL, &mut out) {
                Ok(true) => assert!(out == whole(out[0])),
                Ok(false) => {}
                Err(error) => assert_eq!(error.kind(), ErrorKind::Empty, "{error}"),
            }
            map.delete(&key).unwrap();
        }
        map.children(&Key::root()).unwrap();
        map.keys(&Key::root()).unwrap();
    }
}

#[test]
fn directories_come_and_go_under_many_processes() {
    let scratch = Scratch::new();
    let map = scratch.map(&MapOptions::default());
    let mut children: Vec<_> = (0..PROCESSES).map(|_| start("come and go", map.path())).collect();
    come_and_go(&map);
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(map.keys(&Key::root()).unwrap(), []);
}

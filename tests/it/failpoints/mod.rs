//! Injects a fault at every file operation in the life of a store, from creation to removal. Synced data
//! always survive.
//!
//! A test starts itself as a child, once for each operation, and checks the remaining files. The tracer
//! counts the child's system calls and makes one fail, so no operation is missed. `NCZ_TEST_ROUNDS` sets the
//! number of operations for each kind of fault, evenly spread.

mod records;
mod trace;
mod work;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use nix::libc;
use trace::{Ended, Fault, run};
use work::{CLOSED, REMOVED};

const PLACE: &str = "NCZ_TEST_FAILPOINT";
const FROM: &str = "NCZ_TEST_FAILPOINT_FROM";

/// Default number of operations for each kind of fault.
const FEW: usize = 40;

fn rounds() -> usize {
    std::env::var("NCZ_TEST_ROUNDS").map_or(FEW, |rounds| rounds.parse().expect("a number of rounds"))
}

/// A folder in memory if possible, because syncing devices is slow and not tested here.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a temporary folder")
}

/// A part of the life of a store.
#[derive(Clone, Copy)]
enum Part {
    /// From creation to the last `close`.
    Used,
    /// Another dataset replaces the store, and is then removed.
    Ended,
}

/// Temporary files below a folder.
fn leftovers(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            found.extend(leftovers(&path));
        } else if name.starts_with(".nczarr-tmp-") || name.ends_with(".tmp") {
            found.push(path);
        }
    }
    found
}

/// Runs a part of the work with a fault at operation `at`. Returns an error if the remaining files are wrong.
fn attempt(test: &str, name: &str, part: Part, fault: Fault, at: usize) -> (Ended, Result<(), String>) {
    let folder = folder();
    let path = folder.path().join(name).display().to_string();
    let from = match part {
        Part::Used => 1,
        Part::Ended => {
            work::prepare(&path, CLOSED);
            CLOSED + 1
        }
    };
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["--nocapture", "--test-threads=1", "--exact"])
        .arg(format!("failpoints::{test}"))
        .env(PLACE, &path)
        .env(FROM, from.to_string());
    let ended = run(&mut command, folder.path(), fault, at);
    let number = |word: &str| {
        let lines = ended
            .lines
            .iter()
            .filter_map(|line| line.strip_prefix('@')?.strip_prefix(word)?.trim().parse().ok());
        lines.max()
    };
    let (done, begun) = (number("done").unwrap_or(from - 1), number("begun").unwrap_or(from - 1));
    let failures: Vec<&str> = ended.lines.iter().filter_map(|line| line.strip_prefix("@failed ")).collect();
    let last = if from == 1 { CLOSED } else { REMOVED };
    let outcome = (|| {
        let survives = !matches!(fault, Fault::Kill | Fault::Tear) || ended.hit.is_none();
        if survives && !(ended.good && ended.lines.iter().any(|line| line == "@end")) {
            return Err(format!("the child broke down: {}", ended.complaints));
        }
        if survives && done < last && failures.is_empty() {
            return Err("it did not say why it stopped".to_owned());
        }
        if matches!(fault, Fault::None | Fault::Short) && !failures.is_empty() {
            return Err(format!("it failed: {failures:?}"));
        }
        for error in &failures {
            let cause = match fault {
                Fault::Fail(errno) => errno,
                _ => libc::ENOSPC,
            };
            // The error must name the cause, the file and the store.
            let cause = format!("(os error {cause})");
            if error.starts_with("Internal") || !error.contains(name) || !error.contains(&cause) {
                return Err(format!("the error names no place or cause: {error:?}"));
            }
        }
        work::check(&path, done, begun)?;
        if survives || from > 1 || done < 2 {
            return Ok(());
        }
        // The next writer removes the temporary files of the dead writer, and loses no data.
        work::write_on(&path)?;
        let left = leftovers(folder.path());
        if !left.is_empty() {
            return Err(format!("left over: {left:?}"));
        }
        work::check(&path, done, begun)
    })();
    (ended, outcome)
}

/// Injects a fault at each operation of both parts.
fn everywhere(test: &str, name: &str, expected: &[&str]) {
    if let Some(path) = std::env::var_os(PLACE) {
        let from = std::env::var(FROM).expect("where it begins").parse().expect("a number");
        return work::steps(&path.to_string_lossy(), from, if from == 1 { CLOSED } else { REMOVED });
    }
    let mut failed = Vec::new();
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    let faults = [Fault::Kill, Fault::Tear, Fault::Short, Fault::Fail(libc::EIO), Fault::Full];
    let mut tried = faults.map(|_| 0);
    for part in [Part::Used, Part::Ended] {
        let (whole, outcome) = attempt(test, name, part, Fault::None, 0);
        outcome.unwrap_or_else(|why| panic!("without any fault: {why}"));
        for operation in &whole.operations {
            *calls.entry(operation.call).or_default() += 1;
        }
        for (fault, tried) in faults.into_iter().zip(&mut tried) {
            let counted =
                |operation: &&trace::Operation| operation.changes || matches!(fault, Fault::Fail(_));
            let count = whole.operations.iter().filter(counted).count();
            // The operations are evenly spread and include the first and the last. A few more are tried,
            // because a run can have more operations than the first run.
            let some = rounds().min(count + 2);
            for turn in 0..some {
                let at = turn * (count + 2) / some;
                let (ended, outcome) = attempt(test, name, part, fault, at);
                *tried += usize::from(ended.hit.is_some());
                if let Err(why) = outcome {
                    let hit = ended.hit.as_ref().map(|hit| format!("{} of {:?}", hit.call, hit.path));
                    failed.push(format!("{fault:?} at {at} of {count}, {hit:?}: {why}"));
                }
            }
        }
    }
    eprintln!(
        "{name}: operations {calls:?}; faults {:?}, {} failed",
        faults.iter().zip(tried).collect::<Vec<_>>(),
        failed.len()
    );
    for call in expected {
        assert!(calls.contains_key(call), "no {call} among {calls:?}");
    }
    assert!(tried.iter().all(|&tried| tried >= FEW.min(rounds())), "{tried:?}");
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn a_directory_loses_nothing() {
    let calls =
        ["openat", "openat2", "mkdirat", "write", "fsync", "linkat", "renameat", "unlinkat", "lock", "pread"];
    everywhere("a_directory_loses_nothing", "x.zarr", &calls);
}

#[test]
fn a_directory_of_version_3_loses_nothing() {
    let calls =
        ["openat", "openat2", "mkdirat", "write", "fsync", "linkat", "renameat", "unlinkat", "lock", "pread"];
    everywhere("a_directory_of_version_3_loses_nothing", "x.v3.zarr", &calls);
}

#[test]
fn an_archive_loses_nothing() {
    let calls = [
        "openat",
        "pwrite",
        "fdatasync",
        "fsync",
        "flock",
        "renameat",
        "renameat2",
        "unlink",
        "pread",
        "statx",
    ];
    everywhere("an_archive_loses_nothing", "x.zip", &calls);
}

/// The checks detect a store that lost data.
#[test]
fn the_check_detects_lost_data() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let text = |name: &str| path(name).display().to_string();
    work::prepare(&text("x.zarr"), 12);
    assert_eq!(work::check(&text("x.zarr"), 12, 12), Ok(()));
    // The values belong to a step that did not begin.
    assert!(work::check(&text("x.zarr"), 10, 10).unwrap_err().contains("not of"));
    // Each case loses one thing: a chunk, a part of a chunk, a chunk of records, or a document.
    type Spoil<'s> = (&'s str, &'s dyn Fn(&Path));
    let spoil: [Spoil<'_>; 5] = [
        ("renamed/1", &|file| std::fs::remove_file(file).expect("a chunk")),
        ("renamed/0", &|file| {
            let mut bytes = std::fs::read(file).expect("a chunk");
            bytes[4..].fill(0);
            std::fs::write(file, bytes).expect("a chunk");
        }),
        ("h/b/3.0", &|file| std::fs::remove_file(file).expect("a chunk")),
        ("h/b/.zarray", &|file| std::fs::remove_file(file).expect("a document")),
        ("renamed/.zattrs", &|file| std::fs::remove_file(file).expect("a document")),
    ];
    for (number, (key, spoil)) in spoil.into_iter().enumerate() {
        let name = format!("{number}.zarr");
        work::prepare(&text(&name), 12);
        spoil(&path(&name).join(key));
        assert!(work::check(&text(&name), 12, 12).is_err(), "{key}");
    }
}

//! Copies that are killed, interrupted or fail, and are resumed: `ncz copy --resume`.
//!
//! The program writes a record after each block (`--checkpoint 0`) and reports it on standard error
//! (`--progress`), through a pipe for few lines. A test reads some of them, so the copy cannot have finished
//! when the test acts. `NCZ_TEST_ROUNDS` is the number of killed copies (default 4).
#![cfg(target_os = "linux")]

mod far;
mod killed;
mod memory;
mod refused;
mod stopped;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::copy_place::files;
use crate::{ncz, run, text};

/// A page, the smallest capacity of a pipe: some 130 lines.
const PIPE: i32 = 4096;
/// Flags of every copy here: blocks of one row of chunks, and a record after each.
const FLAGS: [&str; 7] = ["--checkpoint", "0", "--progress", "--memory", "700", "-c", "y/3,x/7"];

/// A folder with fast syncs.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

fn rounds() -> u64 {
    std::env::var("NCZ_TEST_ROUNDS").map_or(4, |rounds| rounds.parse().expect("a number of rounds"))
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Makes a dataset with numbers, text, strings, an unlimited dimension, a group, filters and unwritten
/// chunks.
fn source(folder: &Path) -> String {
    source_of(folder, 120)
}

/// The same with `rows` rows. Two variables have values in all of them, the others in 120 at most.
fn source_of(folder: &Path, rows: u64) -> String {
    let path = folder.join("source.zarr");
    let file = nczarr::create(text(&path)).unwrap();
    file.put_attribute("title", "to be copied").unwrap();
    file.add_dimension("y", rows).unwrap();
    file.add_dimension("x", 10).unwrap();
    file.add_unlimited_dimension("t").unwrap();
    let mut random = Random(7);
    let mut values = |len: u64| (0..len).map(|_| random.below(1 << 30) as i32).collect::<Vec<_>>();
    let plain = file.add_variable::<i32>("plain", &["y", "x"]).unwrap();
    plain.set_chunking(&[5, 5]).unwrap();
    plain.put(&values(rows * 10), (0..rows, ..)).unwrap();
    let packed = file.add_variable::<i32>("packed", &["t", "x"]).unwrap();
    packed.set_chunking(&[4, 10]).unwrap();
    packed.set_filter("deflate", &[4]).unwrap();
    packed.put(&values(900), (0..90, ..)).unwrap();
    let holes = file.add_variable::<f64>("holes", &["y", "x"]).unwrap();
    holes.set_chunking(&[3, 7]).unwrap();
    holes.put(&[1.5f64; 60], (60..66, ..)).unwrap();
    let group = file.add_group("deep").unwrap();
    let names = group.add_string_variable("names", &["y"]).unwrap();
    names.set_chunking(&[10]).unwrap();
    let list: Vec<String> = (0..120).map(|at| "n".repeat(at % 9)).collect();
    names.put_strings(&list, 0..120).unwrap();
    file.close().unwrap();
    text(&path).to_owned()
}

/// A running copy.
struct Copy {
    child: Child,
    message: BufReader<io::PipeReader>,
}

impl Copy {
    fn start(args: &[&str]) -> Self {
        // Small from the start: with a larger pipe the copy might finish before the pipe shrinks.
        let (message, telling) = io::pipe().unwrap();
        fcntl(&telling, FcntlArg::F_SETPIPE_SZ(PIPE)).unwrap();
        let child = ncz().args(args).stdout(Stdio::null()).stderr(telling).spawn().unwrap();
        Self { child, message: BufReader::with_capacity(1, message) }
    }

    /// Reads this many progress lines, or fewer if the copy ends before.
    fn records(&mut self, most: u64) -> u64 {
        let mut line = String::new();
        (0..most).take_while(|_| self.message.read_line(&mut line).unwrap() > 0).count() as u64
    }

    /// Returns its exit code and the rest of its messages.
    fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.message.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }

    /// Sends Ctrl-C and waits for the thread that handles it; until then the copy cannot write its progress.
    fn interrupt(&self) {
        let id = self.child.id();
        kill(Pid::from_raw(id as i32), Signal::SIGINT).unwrap();
        let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        let heard = || {
            fs::read_dir(format!("/proc/{id}/task")).unwrap().flatten().any(|it| name(it) == "interrupted\n")
        };
        // A copy that was not writing may have ended already.
        let ended = || fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| stat.contains(") Z "));
        while !heard() && !ended() {
            std::thread::yield_now();
        }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Returns the files of a folder, except the source and the whole copy.
fn leftovers(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().as_encoded_bytes().starts_with(b".ncz-")).collect()
}

/// Returns the arguments of a copy.
fn args<'a>(more: &[&'a str], source: &'a str, target: &'a str) -> Vec<&'a str> {
    [&["copy"], &FLAGS[..], more, &[source, target]].concat()
}

/// Returns the progress lines of a whole copy, and its files.
fn whole(folder: &Path, source: &str, more: &[&str], mode: &str) -> (u64, BTreeMap<String, Vec<u8>>) {
    let path = folder.join("whole.zarr");
    let output = run(args(more, source, &format!("{}{mode}", text(&path))));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines =
        String::from_utf8(output.stderr).unwrap().lines().filter(|line| line.ends_with("left")).count();
    let mut files = files(&path);
    files.remove(".nczarr-lock");
    fs::remove_dir_all(&path).unwrap();
    (lines as u64, files)
}

/// Checks that a copy equals an uninterrupted one.
fn same(target: &Path, expected: &BTreeMap<String, Vec<u8>>, message: &str) {
    let mut found = files(target);
    // A lock file remains from replaced objects.
    found.remove(".nczarr-lock");
    let only = |some: &BTreeMap<String, Vec<u8>>, others: &BTreeMap<String, Vec<u8>>| -> Vec<String> {
        some.keys().filter(|name| !others.contains_key(*name)).cloned().collect()
    };
    let (more, fewer) = (only(&found, expected), only(expected, &found));
    assert!(more.is_empty() && fewer.is_empty(), "{message}: more: {more:?}, fewer: {fewer:?}");
    let other: Vec<_> =
        expected.iter().filter(|(name, bytes)| found[*name] != **bytes).map(|(name, _)| name).collect();
    assert!(other.is_empty(), "{message}: {other:?}");
}

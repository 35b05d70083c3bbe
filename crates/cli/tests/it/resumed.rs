//! Copies that are killed, interrupted or fail, and go on: `ncz copy --resume`.
//!
//! The program writes down what is complete after each block (`--checkpoint 0`) and tells so on standard error (`--progress`),
//! through a pipe that holds few lines: a test reads some, and the copy cannot have come to its end when it acts.
//! `NCZ_TEST_ROUNDS` says how many copies are killed (default 4).
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Stdio};

use s3_server::{Config, Fault, Rule, Server};

use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::copy_place::files;
use crate::{failure, ncz, out, run, text};

/// A page, which is the least a pipe can have: some 130 lines.
const PIPE: i32 = 4096;
/// Flags of every copy here: blocks of one row of chunks, and a record after each.
const FLAGS: [&str; 7] = ["--checkpoint", "0", "--progress", "--memory", "700", "-c", "y/3,x/7"];

/// A folder where waiting for the disk costs nothing.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

fn rounds() -> u64 {
    std::env::var("NCZ_TEST_ROUNDS").map_or(4, |rounds| rounds.parse().expect("a number of rounds"))
}

/// Numbers that look like none.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A dataset with numbers, text, strings, an unlimited dimension, a group, filters and chunks that were never written.
fn source(folder: &Path) -> String {
    let path = folder.join("source.zarr");
    let file = nczarr::create(text(&path)).unwrap();
    file.put_attribute("title", "to be copied").unwrap();
    file.add_dimension("y", 120).unwrap();
    file.add_dimension("x", 10).unwrap();
    file.add_unlimited_dimension("t").unwrap();
    let mut random = Random(7);
    let mut values = |len: u64| (0..len).map(|_| random.below(1 << 30) as i32).collect::<Vec<_>>();
    let plain = file.add_variable::<i32>("plain", &["y", "x"]).unwrap();
    plain.set_chunking(&[5, 5]).unwrap();
    plain.put(&values(1200), ..).unwrap();
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
    names.put_strings(&list, ..).unwrap();
    file.close().unwrap();
    text(&path).to_owned()
}

/// A copy under way.
struct Copy {
    child: Child,
    told: BufReader<ChildStderr>,
}

impl Copy {
    fn start(args: &[&str]) -> Self {
        let mut child = ncz().args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let told = child.stderr.take().unwrap();
        fcntl(&told, FcntlArg::F_SETPIPE_SZ(PIPE)).unwrap();
        Self { child, told: BufReader::with_capacity(1, told) }
    }

    /// So many records, or fewer, if it ends before.
    fn records(&mut self, most: u64) -> u64 {
        let mut line = String::new();
        (0..most).take_while(|_| self.told.read_line(&mut line).unwrap() > 0).count() as u64
    }

    /// Its exit code, and the rest of what it told.
    fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.told.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// What is in a folder beside the source and the whole copy.
fn leftovers(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().as_encoded_bytes().starts_with(b".ncz-")).collect()
}

/// Arguments of a copy.
fn args<'a>(more: &[&'a str], source: &'a str, target: &'a str) -> Vec<&'a str> {
    [&["copy"], &FLAGS[..], more, &[source, target]].concat()
}

/// The lines a whole copy tells, and its files.
fn whole(folder: &Path, source: &str, more: &[&str], mode: &str) -> (u64, BTreeMap<String, Vec<u8>>) {
    let path = folder.join("whole.zarr");
    let output = run(args(more, source, &format!("{}{mode}", text(&path))));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stderr).unwrap().lines().filter(|line| line.ends_with("left")).count();
    let mut files = files(&path);
    files.remove(".nczarr-lock");
    fs::remove_dir_all(&path).unwrap();
    (lines as u64, files)
}

/// That a copy is what it would be if nothing had stopped it.
fn same(target: &Path, expected: &BTreeMap<String, Vec<u8>>, told: &str) {
    let mut found = files(target);
    // Whoever replaces objects has it.
    found.remove(".nczarr-lock");
    let only = |some: &BTreeMap<String, Vec<u8>>, others: &BTreeMap<String, Vec<u8>>| -> Vec<String> {
        some.keys().filter(|name| !others.contains_key(*name)).cloned().collect()
    };
    let (more, fewer) = (only(&found, expected), only(expected, &found));
    assert!(more.is_empty() && fewer.is_empty(), "{told}: more: {more:?}, fewer: {fewer:?}");
    let other: Vec<_> = expected.iter().filter(|(name, bytes)| found[*name] != **bytes).map(|(name, _)| name).collect();
    assert!(other.is_empty(), "{told}: {other:?}");
}

#[test]
fn killed_copies_go_on_to_the_same_bytes() {
    let folder = folder();
    let source = source(folder.path());
    let mut random = Random(std::process::id().into());
    for (at, (mode, more)) in [
        ("", &["-s", "-d", "1"][..]),
        ("#mode=nczarr,v3", &["--shards", "y/9,x/7"]),
        ("#mode=zarr", &[]),
        ("#mode=zarr,v3", &[]),
    ]
    .into_iter()
    .enumerate()
    {
        let (blocks, expected) = whole(folder.path(), &source, more, mode);
        assert!(blocks > 100, "{blocks}");
        for round in 0..rounds().div_ceil(4) {
            let target = folder.path().join(format!("copy{at}-{round}.zarr"));
            let url = format!("{}{mode}", text(&target));
            let (mut told, mut kills) = (0, 0);
            loop {
                // Also where there is nothing to go on with.
                let mut copy = Copy::start(&args(&[more, &["--resume"]].concat(), &source, &url));
                let most = random.below(blocks / 3);
                let records = copy.records(most);
                told += records;
                for _ in 0..random.below(100_000) {
                    std::hint::spin_loop();
                }
                if records < most {
                    assert_eq!(copy.end().0, Some(0));
                    break;
                }
                copy.kill();
                kills += 1;
                if target.exists() {
                    // It was finished, perhaps but for the record.
                    let mut found = files(&target);
                    if found.remove(".ncz-copy").is_some() {
                        out(&["copy", "--resume", &source, &url, "-c", "y/3,x/7"]
                            .into_iter()
                            .chain(more.iter().copied())
                            .collect::<Vec<_>>());
                    }
                    found.remove(".nczarr-lock");
                    assert!(found == expected, "half of a copy has its name");
                    break;
                }
            }
            same(&target, &expected, &format!("{mode}, {kills} kills"));
            assert_eq!(leftovers(folder.path()), [] as [PathBuf; 0]);
            // None began from nothing: of what was written down only what came after the last line is done again, and what the
            // pipe held was not counted.
            assert!(told <= blocks + kills, "{told} of {blocks} blocks, {kills} kills");
        }
    }
}

#[test]
fn other_memory_and_other_threads_go_on_too() {
    let folder = folder();
    let source = source(folder.path());
    let (_, expected) = whole(folder.path(), &source, &[], "");
    for memory in ["300", "2000", "1M"] {
        let target = folder.path().join("copy.zarr");
        let mut copy = Copy::start(&args(&["--jobs", "3"], &source, text(&target)));
        assert_eq!(copy.records(40), 40);
        copy.kill();
        out(&["copy", "--memory", memory, "--jobs", "1", "-c", "y/3,x/7", "--resume", &source, text(&target)]);
        same(&target, &expected, memory);
        fs::remove_dir_all(&target).unwrap();
    }
}

#[test]
fn an_interrupted_copy_says_how_to_go_on() {
    let folder = folder();
    let source = source(folder.path());
    let (_, expected) = whole(folder.path(), &source, &[], "");
    let target = folder.path().join("copy.zarr");
    let mut copy = Copy::start(&args(&[], &source, text(&target)));
    assert_eq!(copy.records(20), 20);
    kill(Pid::from_raw(copy.child.id() as i32), Signal::SIGINT).unwrap();
    let (code, told) = copy.end();
    assert_eq!(code, Some(130), "{told}");
    let [kept] = &leftovers(folder.path())[..] else { panic!("{:?}", leftovers(folder.path())) };
    let last = told.lines().last().unwrap();
    let expected_line = format!(
        "ncz: {}: interrupted; what is complete stays in {}; the same command with --resume goes on from there",
        target.display(),
        kept.display()
    );
    assert_eq!(last, expected_line);
    assert!(!target.exists());
    // What lies there is no dataset, for whoever looks.
    assert!(failure(&["info", text(&kept.join("copy.zarr"))]).1.contains("NC_ENOTNC"));
    out(&["copy", "-c", "y/3,x/7", "--resume", &source, text(&target)]);
    same(&target, &expected, "");
    assert_eq!(leftovers(folder.path()), [] as [PathBuf; 0]);
    // Of one file nothing stays.
    let target = folder.path().join("copy.nc");
    let mut copy = Copy::start(&args(&["-k", "nc4"], &source, text(&target)));
    assert_eq!(copy.records(20), 20);
    kill(Pid::from_raw(copy.child.id() as i32), Signal::SIGINT).unwrap();
    let (code, told) = copy.end();
    assert_eq!(code, Some(130), "{told}");
    assert!(told.ends_with("copy.nc: interrupted; nothing of the copy stays\n"), "{told}");
    assert!(!target.exists());
    assert_eq!(leftovers(folder.path()), [] as [PathBuf; 0]);
}

/// A directory that is there already is where the copy is made.
#[test]
fn half_of_a_copy_in_its_place_is_no_dataset() {
    let folder = folder();
    let source = source(folder.path());
    let (blocks, expected) = whole(folder.path(), &source, &[], "");
    let target = folder.path().join("copy.zarr");
    fs::create_dir(&target).unwrap();
    let begin = |more: &[&str]| {
        let mut copy = Copy::start(&args(more, &source, text(&target)));
        assert_eq!(copy.records(blocks / 2), blocks / 2);
        copy.kill();
    };
    begin(&[]);
    assert!(failure(&["info", text(&target)]).1.contains("NC_ENOTNC"));
    let (code, told) = failure(&["copy", "-c", "y/3,x/7", &source, text(&target)]);
    assert!(
        code == 1 && told.contains("half of a copy is there; --resume goes on with it, --clobber begins anew"),
        "{told}"
    );
    out(&["copy", "-c", "y/3,x/7", "--resume", &source, text(&target)]);
    same(&target, &expected, "");
    fs::remove_dir_all(&target).unwrap();
    fs::create_dir(&target).unwrap();
    begin(&[]);
    out(&["copy", "-c", "y/3,x/7", "--clobber", &source, text(&target)]);
    same(&target, &expected, "");
}

#[test]
fn a_copy_that_replaces_goes_on_and_what_is_there_stays_until_then() {
    let folder = folder();
    let source = source(folder.path());
    let (_, expected) = whole(folder.path(), &source, &[], "");
    let target = folder.path().join("copy.zarr");
    let old = nczarr::create(text(&target)).unwrap();
    old.put_attribute("title", "what is there").unwrap();
    old.close().unwrap();
    let before = files(&target);
    let mut copy = Copy::start(&args(&["--clobber"], &source, text(&target)));
    assert_eq!(copy.records(30), 30);
    copy.kill();
    assert!(files(&target) == before);
    let (code, told) = failure(&args(&["--resume"], &source, text(&target)));
    assert!(code == 1 && told.contains("--clobber replaces a dataset"), "{told}");
    out(&["copy", "-c", "y/3,x/7", "--clobber", "--resume", &source, text(&target)]);
    same(&target, &expected, "");
    assert_eq!(leftovers(folder.path()), [] as [PathBuf; 0]);
}

#[test]
fn what_is_not_the_same_any_more_is_refused_and_stays() {
    let folder = folder();
    let source = source(folder.path());
    let (_, expected) = whole(folder.path(), &source, &[], "");
    let target = folder.path().join("copy.zarr");
    let chunk = Path::new(&source).join("packed/7.0");
    let (bytes, time) = (fs::read(&chunk).unwrap(), fs::metadata(&chunk).unwrap().modified().unwrap());
    // What cannot be read stops the copy, and it goes on once it can be.
    let spoil = |bytes: &[u8]| {
        fs::write(&chunk, bytes).unwrap();
        fs::File::options().write(true).open(&chunk).unwrap().set_modified(time).unwrap();
    };
    spoil(&vec![0xff; bytes.len()]);
    let (code, told) = failure(&args(&[], &source, text(&target)));
    assert!(code == 1 && told.contains("packed/7.0"), "{told}");
    assert!(told.contains("the same command with --resume goes on from there"), "{told}");
    let [kept] = &leftovers(folder.path())[..] else { panic!("{:?}", leftovers(folder.path())) };
    let before = files(kept);
    let stays = |told: &str| {
        let [kept] = &leftovers(folder.path())[..] else { panic!("{told}: {:?}", leftovers(folder.path())) };
        assert!(files(kept) == before, "{told}");
    };
    let refused = |more: &[&str], what: &str| {
        let (code, told) = failure(&[&["copy", "--resume"], more, &[&source, text(&target)]].concat());
        assert!(code == 1 && told.contains("NC_EINVAL: --resume: ") && told.contains(what), "{told}");
        stays(&told);
    };
    let flags = &["-c", "y/3,x/7"][..];
    refused(&[], "begun with `-c y/3,x/7`, and is to go on without flags");
    refused(&["-c", "y/3,x/7", "-V", "plain"], "and is to go on with `-c y/3,x/7 -V plain`");
    fs::write(&chunk, &bytes).unwrap();
    refused(flags, "the source changed since the copy was begun: ");
    fs::write(Path::new(&source).join("packed/0.0.old"), b"").unwrap();
    refused(flags, "files of");
    fs::remove_file(Path::new(&source).join("packed/0.0.old")).unwrap();
    spoil(&bytes);
    let record = leftovers(folder.path())[0].join("copy.zarr/.ncz-copy");
    let written = fs::read(&record).unwrap();
    fs::write(&record, &written[..written.len() / 2]).unwrap();
    let (_, told) = failure(&[&["copy", "--resume"], flags, &[&source, text(&target)]].concat());
    assert!(told.contains(".ncz-copy: no record of a copy"), "{told}");
    let record = leftovers(folder.path())[0].join("copy.zarr/.ncz-copy");
    fs::write(&record, &written).unwrap();
    // Somebody else goes on with it.
    let holder = fs::File::open(&leftovers(folder.path())[0]).unwrap();
    holder.try_lock().unwrap();
    let (_, told) = failure(&[&["copy", "--resume"], flags, &[&source, text(&target)]].concat());
    assert!(told.contains("NC_EACCESS") && told.contains("is under way"), "{told}");
    drop(holder);
    stays("nobody else");
    out(&[&["copy", "--resume"], flags, &[&source, text(&target)]].concat());
    same(&target, &expected, "");
    assert_eq!(leftovers(folder.path()), [] as [PathBuf; 0]);
    // There is nothing to go on with now.
    let (code, told) = failure(&[&["copy", "--resume"], flags, &[&source, text(&target)]].concat());
    assert!(code == 1 && told.contains("--clobber replaces a dataset"), "{told}");
    for target in ["one.nc", "one.zip", "one.zarr#mode=nczarr,zip", "one#mode=classic"] {
        let (code, told) = failure(&["copy", "--resume", &source, &format!("{}/{target}", text(folder.path()))]);
        assert!(code == 2 && told.contains("--resume: ") && told.contains("is one file"), "{told}");
    }
}

/// What is held at most is what `--memory` says, however many threads there are.
#[test]
fn memory_does_not_grow_with_threads() {
    let folder = folder();
    let path = folder.path().join("source.zarr");
    let file = nczarr::create(text(&path)).unwrap();
    file.add_dimension("t", 160).unwrap();
    file.add_dimension("x", 1 << 18).unwrap();
    let v = file.add_variable::<f32>("v", &["t", "x"]).unwrap();
    v.set_chunking(&[1, 1 << 18]).unwrap();
    v.set_filter("deflate", &[1]).unwrap();
    // A megabyte each, and nothing in it that would be quick to encode in one piece.
    let record: Vec<f32> = (0..1 << 18).map(|at| (at / 64 % 1000) as f32).collect();
    for t in 0..160 {
        v.put(&record, (t, ..)).unwrap();
    }
    file.close().unwrap();
    let peak = |flags: &[&str], target: &str| -> u64 {
        let target = folder.path().join(target);
        let flags = [&["copy", "--checkpoint", "0", "--progress"], flags, &[text(&path), text(&target)]].concat();
        let mut copy = Copy::start(&flags);
        let lines = copy.records(4);
        assert_eq!(lines, 4, "{flags:?}");
        let status = fs::read_to_string(format!("/proc/{}/status", copy.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak = line.trim().trim_end_matches(" kB").parse().unwrap();
        assert_eq!(copy.end().0, Some(0));
        assert!(files(&target) == files(&path), "{flags:?}");
        fs::remove_dir_all(&target).unwrap();
        peak
    };
    let one = peak(&["--memory", "16M", "--jobs", "1"], "one.zarr");
    let many = peak(&["--memory", "16M", "--jobs", "32"], "many.zarr");
    let free = peak(&["--memory", "64M", "--jobs", "32"], "free.zarr");
    assert!(many < one + (16 << 10), "{one} kB with one thread, {many} kB with many");
    assert!(many < free, "{many} kB where little is allowed, {free} kB where more is");
}

/// Nothing of a copy in a bucket is a dataset before all of it is there.
#[test]
fn a_copy_far_away_goes_on() {
    if !out(&["plugins"]).lines().any(|line| line.starts_with("map           s3")) {
        return;
    }
    let folder = folder();
    let source = source(folder.path());
    let server = Server::start(Config::default());
    for (name, mode) in [("v2", "nczarr"), ("v3", "zarr,v3")] {
        let (blocks, expected) = whole(folder.path(), &source, &[], &format!("#mode={mode}"));
        let url = format!("http://key:secret@{}/bucket/{name}#mode={mode},s3", server.host());
        let stored = || -> BTreeMap<String, Vec<u8>> {
            let ours = server.keys("bucket").into_iter().filter_map(|key| Some(key.strip_prefix(name)?.to_owned()));
            ours.map(|key| (key[1..].to_owned(), server.get("bucket", &format!("{name}{key}")).unwrap())).collect()
        };
        let mut copy = Copy::start(&args(&[], &source, &url));
        assert_eq!(copy.records(blocks / 3), blocks / 3);
        copy.kill();
        let documents = |files: &BTreeMap<String, Vec<u8>>| {
            files.keys().filter(|key| key.contains(".z") || key.ends_with("zarr.json")).count()
        };
        assert!(documents(&stored()) == 0 && stored().contains_key(".ncz-copy"), "{:?}", stored().keys());
        let told = failure(&["info", &url]).1;
        assert!(told.contains("NC_ENOT"), "{told}");
        // The network goes.
        let mut copy = Copy::start(&args(&["--resume"], &source, &url));
        assert_eq!(copy.records(10), 10);
        server.fault(Rule::new(Fault::Status(403, "AccessDenied")));
        let (code, told) = copy.end();
        server.no_faults();
        assert!(code == Some(1) && told.contains("the same command with --resume goes on from there"), "{told}");
        assert!(!told.contains("secret"), "{told}");
        let (code, told) = failure(&["copy", "-c", "y/3,x/7", &source, &url]);
        assert!(code == 1 && told.contains("half of a copy is there"), "{told}");
        out(&["copy", "-c", "y/3,x/7", "--resume", &source, &url]);
        let found = stored();
        assert!(found == expected, "{:?}", found.keys());
    }
}

/// As a full disk does it: the target takes no more, for a while.
#[test]
fn a_target_that_takes_no_more_is_gone_on_with() {
    let folder = folder();
    let source = source(folder.path());
    let (_, expected) = whole(folder.path(), &source, &[], "");
    let target = folder.path().join("copy.zarr");
    let mut copy = Copy::start(&args(&[], &source, text(&target)));
    assert_eq!(copy.records(5), 5);
    // Where an object is to be there is one below that name.
    let held = leftovers(folder.path())[0].join("copy.zarr/holes/20.1/x");
    fs::create_dir_all(held.parent().unwrap()).unwrap();
    fs::write(&held, b"x").unwrap();
    let (code, told) = copy.end();
    assert!(code == Some(1) && told.contains("holes/20.1"), "{told}");
    assert!(told.contains("the same command with --resume goes on from there"), "{told}");
    assert!(!target.exists());
    fs::remove_dir_all(leftovers(folder.path())[0].join("copy.zarr/holes/20.1")).unwrap();
    out(&["copy", "-c", "y/3,x/7", "--resume", &source, text(&target)]);
    same(&target, &expected, "");
}

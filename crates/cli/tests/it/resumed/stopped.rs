//! Copies that are interrupted, and copies to targets that refuse writes for a while.

use std::fs;
use std::path::PathBuf;

use super::{Copy, PIPE, args, folder, leftovers, same, source, source_of, whole};
use crate::copy_place::files;
use crate::{failure, out, text};

/// Rows of a source for a copy to one file. Such a copy reports less, but still overflows the pipe.
const LONG: u64 = 2400;

#[test]
fn an_interrupted_copy_says_how_to_resume() {
    let folder = folder();
    let source = source(folder.path());
    let (_, expected) = whole(folder.path(), &source, &[], "");
    let target = folder.path().join("copy.zarr");
    let mut copy = Copy::start(&args(&[], &source, text(&target)));
    assert_eq!(copy.records(20), 20);
    copy.interrupt();
    let (code, message) = copy.end();
    assert_eq!(code, Some(130), "{message}");
    let [kept] = &leftovers(folder.path())[..] else { panic!("{:?}", leftovers(folder.path())) };
    let last = message.lines().last().unwrap();
    let expected_line = format!(
        "ncz: {}: interrupted; the completed part stays in {}; run the same command with --resume to continue",
        target.display(),
        kept.display()
    );
    assert_eq!(last, expected_line);
    assert!(!target.exists());
    // Neither a dry run nor a copy without flags removes it.
    let there = files(kept);
    out(&["copy", "-c", "y/3,x/7", "--dry-run", &source, text(&target)]);
    let (code, message) = failure(&["copy", "-c", "y/3,x/7", &source, text(&target)]);
    assert!(
        code == 1 && message.contains("use --resume to continue it, --clobber to start over"),
        "{message}"
    );
    assert!(files(kept) == there);
    // No reader takes the partial copy for a dataset.
    assert!(failure(&["info", text(&kept.join("copy.zarr"))]).1.contains("NC_ENOTNC"));
    out(&["copy", "-c", "y/3,x/7", "--resume", &source, text(&target)]);
    same(&target, &expected, "");
    assert_eq!(leftovers(folder.path()), [] as [PathBuf; 0]);
    // A copy to one file leaves nothing.
    fs::remove_dir_all(&source).unwrap();
    let source = source_of(folder.path(), LONG);
    let target = folder.path().join("copy.nc");
    let mut copy = Copy::start(&args(&["-k", "nc4"], &source, text(&target)));
    assert_eq!(copy.records(20), 20);
    copy.interrupt();
    let (code, message) = copy.end();
    assert_eq!(code, Some(130), "{message}");
    assert!(message.ends_with("copy.nc: interrupted; the partial copy was removed\n"), "{message}");
    assert!(!target.exists());
    assert_eq!(leftovers(folder.path()), [] as [PathBuf; 0]);
}

/// A second Ctrl-C ends it at once; the message suggests resuming only if that is possible.
#[test]
fn a_copy_to_one_file_offers_no_resume() {
    let folder = folder();
    let source = source_of(folder.path(), LONG);
    let target = folder.path().join("copy.nc");
    let (code, message) = Copy::start(&args(&["-k", "nc4"], &source, text(&target))).end();
    assert!(
        code == Some(0) && message.len() > 2 * PIPE as usize,
        "the messages of a copy fit into the pipe: {}",
        message.len()
    );
    fs::remove_file(&target).unwrap();
    let mut copy = Copy::start(&args(&["-k", "nc4"], &source, text(&target)));
    assert_eq!(copy.records(20), 20);
    copy.interrupt();
    copy.interrupt();
    let (code, message) = copy.end();
    assert!(code == Some(130) && message.contains("copy.nc: interrupted; "), "{message}");
    assert!(!message.contains("--resume") && !target.exists(), "{message}");
}

/// A copy into an existing directory is made there.
#[test]
fn a_partial_copy_is_no_dataset() {
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
    let (code, message) = failure(&["copy", "-c", "y/3,x/7", &source, text(&target)]);
    assert!(
        code == 1
            && message.contains(
                "an unfinished copy is there; use --resume to continue it, --clobber to start over"
            ),
        "{message}"
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
fn a_resumed_replacement_keeps_the_old_target_until_its_end() {
    let folder = folder();
    let source = source(folder.path());
    let (_, expected) = whole(folder.path(), &source, &[], "");
    let target = folder.path().join("copy.zarr");
    let old = nczarr::create(text(&target)).unwrap();
    old.put_attribute("title", "the old dataset").unwrap();
    old.close().unwrap();
    let before = files(&target);
    let mut copy = Copy::start(&args(&["--clobber"], &source, text(&target)));
    assert_eq!(copy.records(30), 30);
    copy.kill();
    assert!(files(&target) == before);
    let (code, message) = failure(&args(&["--resume"], &source, text(&target)));
    assert!(code == 1 && message.contains("use --clobber to replace a dataset"), "{message}");
    out(&["copy", "-c", "y/3,x/7", "--clobber", "--resume", &source, text(&target)]);
    same(&target, &expected, "");
    assert_eq!(leftovers(folder.path()), [] as [PathBuf; 0]);
}

/// Like a full disk: the target refuses writes for a while.
#[test]
fn a_copy_resumes_after_its_target_was_full() {
    let folder = folder();
    let source = source(folder.path());
    let (_, expected) = whole(folder.path(), &source, &[], "");
    let target = folder.path().join("copy.zarr");
    let mut copy = Copy::start(&args(&[], &source, text(&target)));
    assert_eq!(copy.records(5), 5);
    // An object's key is the prefix of another object.
    let held = leftovers(folder.path())[0].join("copy.zarr/holes/20.1/x");
    fs::create_dir_all(held.parent().unwrap()).unwrap();
    fs::write(&held, b"x").unwrap();
    let (code, message) = copy.end();
    assert!(code == Some(1) && message.contains("holes/20.1"), "{message}");
    assert!(message.contains("run the same command with --resume to continue"), "{message}");
    assert!(!target.exists());
    fs::remove_dir_all(leftovers(folder.path())[0].join("copy.zarr/holes/20.1")).unwrap();
    out(&["copy", "-c", "y/3,x/7", "--resume", &source, text(&target)]);
    same(&target, &expected, "");
}

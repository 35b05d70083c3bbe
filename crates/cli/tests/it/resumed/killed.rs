//! Killed copies end with the same bytes after resuming.

use std::fs;
use std::path::PathBuf;

use super::{Copy, Random, args, folder, leftovers, rounds, same, source, whole};
use crate::copy_place::files;
use crate::{out, text};

#[test]
fn killed_copies_resume_to_the_same_bytes() {
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
        assert!(blocks > 60, "{blocks}");
        for round in 0..rounds().div_ceil(4) {
            let target = folder.path().join(format!("copy{at}-{round}.zarr"));
            let url = format!("{}{mode}", text(&target));
            let (mut message, mut kills) = (0, 0);
            loop {
                // Even without anything to resume.
                let mut copy = Copy::start(&args(&[more, &["--resume"]].concat(), &source, &url));
                let most = random.below(blocks / 3);
                let records = copy.records(most);
                message += records;
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
                    // It was finished, except perhaps for the record.
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
            // A resumed copy repeats only the blocks after the last record. The test may have missed records
            // that are still in the pipe.
            assert!(message <= blocks + kills, "{message} of {blocks} blocks, {kills} kills");
        }
    }
}

#[test]
fn a_copy_resumes_with_other_memory_and_threads() {
    let folder = folder();
    let source = source(folder.path());
    let (_, expected) = whole(folder.path(), &source, &[], "");
    // With the least memory, chunks are moved in parts, so some parts of a chunk may be missing.
    for (begun, memory) in [("700", "300"), ("700", "1M"), ("100", "2000"), ("100", "100"), ("100", "60")] {
        let target = folder.path().join("copy.zarr");
        let more = ["--jobs", "3", "--memory", begun, "--checkpoint", "0", "--progress"];
        let mut copy =
            Copy::start(&[&["copy", "-c", "y/3,x/7"], &more[..], &[&source, text(&target)]].concat());
        assert_eq!(copy.records(45), 45);
        copy.kill();
        out(&[
            "copy",
            "--memory",
            memory,
            "--jobs",
            "1",
            "-c",
            "y/3,x/7",
            "--resume",
            &source,
            text(&target),
        ]);
        same(&target, &expected, &format!("{begun}, {memory}"));
        fs::remove_dir_all(&target).unwrap();
    }
}

/// A copy may be killed while its directory is empty: at the beginning, and at the end.
#[test]
fn the_next_copy_clears_the_directory_that_a_killed_one_left_empty() {
    let folder = folder();
    let source = source(folder.path());
    let target = folder.path().join("copy.zarr");
    for again in [&["copy"][..], &["copy", "--resume"], &["copy", "--clobber"], &["copy", "--clobber"]] {
        // The last one is killed while the target exists.
        let more: &[&str] = if target.exists() { &["--clobber"] } else { &[] };
        let mut copy = Copy::start(&args(more, &source, text(&target)));
        assert_eq!(copy.records(5), 5);
        copy.kill();
        let left = leftovers(folder.path());
        let [left] = &left[..] else { panic!("{left:?}") };
        for entry in fs::read_dir(left).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        }
        // It belongs to a copy to another place.
        let other = folder.path().join(".ncz-0123456789abcdefaBcDeF.copy");
        fs::create_dir(&other).unwrap();
        out(&[again, &[&source, text(&target)]].concat());
        assert_eq!(leftovers(folder.path()), std::slice::from_ref(&other), "{again:?}");
        fs::remove_dir(&other).unwrap();
        if again[1..] == ["--resume"] || again.len() == 1 {
            fs::remove_dir_all(&target).unwrap();
        }
    }
}

//! Paths that are not plain files or directories: pipes, sockets, devices, links.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::{failure, ncz, out, run, text};

fn dataset(folder: &Path) -> PathBuf {
    let path = folder.join("dataset.zarr");
    let file = nczarr::create(text(&path)).unwrap();
    file.add_dimension("x", 3).unwrap();
    file.add_variable::<i32>("v", &["x"]).unwrap().put(&[1, 2, 3], ..).unwrap();
    file.close().unwrap();
    path
}

/// The result and output of a call; `None` if it blocked.
fn ended(args: &[&str]) -> Option<(Option<i32>, String)> {
    let mut child =
        ncz().args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::yield_now();
    }
    let output = child.wait_with_output().unwrap();
    Some((output.status.code(), String::from_utf8(output.stderr).unwrap()))
}

#[test]
fn pipes_sockets_and_devices_are_refused_at_once_by_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let (pipe, socket) = (folder.path().join("pipe.nc"), folder.path().join("socket.nc"));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|made| made.success()));
    let _listener = UnixListener::bind(&socket).unwrap();
    let link = folder.path().join("link.nc");
    symlink(&pipe, &link).unwrap();
    let good = dataset(folder.path());
    let target = folder.path().join("target.zarr");
    for path in [text(&pipe), text(&socket), text(&link), "/dev/zero", "/dev/null"] {
        for args in [
            vec!["dump", "-h", path],
            vec!["dump", path],
            vec!["info", path],
            vec!["explain", path],
            vec!["cat", path, "/v"],
            vec!["repack", path],
            vec!["validate", path],
            vec!["validate", "--deep", path],
            vec!["view", path],
            vec!["diff", path, text(&good)],
            vec!["diff", text(&good), path],
            vec!["copy", path, text(&target)],
            vec!["copy", text(&good), path],
            vec!["copy", "--clobber", text(&good), path],
            vec!["map", "ls", path],
            vec!["rm", path],
            vec!["rm", "--force", path],
        ] {
            let Some((code, message)) = ended(&args) else { panic!("{args:?} waits") };
            // `explain` reports the kind of file.
            let expected = if args[0] == "diff" { 2 } else { 1 };
            assert!(code == Some(expected) || args[0] == "explain", "{args:?}: {code:?} {message}");
            assert!(Path::new(path).symlink_metadata().is_ok(), "{args:?} removed it");
        }
    }
    let (_, message) = ended(&["dump", text(&pipe)]).unwrap();
    assert!(message.contains("named pipe"), "{message}");
}

#[test]
fn rm_of_a_link_keeps_the_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let directory = dataset(folder.path());
    let (file, archive) = (folder.path().join("x.nc"), folder.path().join("x.zip"));
    out(&["copy", "-k", "nc4", text(&directory), text(&file)]);
    out(&["copy", text(&directory), text(&archive)]);
    let before = [&directory, &file, &archive].map(|dataset| out(&["dump", text(dataset)]));
    for (dataset, before) in [&directory, &file, &archive].into_iter().zip(&before) {
        let (link, second) = (folder.path().join("link"), folder.path().join("second"));
        for force in [false, true] {
            symlink(dataset, &link).unwrap();
            symlink(&link, &second).unwrap();
            for (named, other) in [(format!("{}/", text(&second)), &link), (text(&link).to_owned(), dataset)]
            {
                let named = if dataset.is_dir() { named.as_str() } else { named.trim_end_matches('/') };
                let output = run(if force { vec!["rm", "--force", named] } else { vec!["rm", named] });
                let message = String::from_utf8(output.stderr).unwrap();
                assert!(output.status.success() && message.contains("the link was removed"), "{message}");
                assert!(message.contains(text(&dataset.canonicalize().unwrap())), "{message}");
                assert!(
                    Path::new(named.trim_end_matches('/')).symlink_metadata().is_err(),
                    "{named} is there still"
                );
                assert!(other.symlink_metadata().is_ok(), "{} is gone", other.display());
            }
            let mut after = out(&["dump", text(dataset)]);
            assert_eq!(std::mem::take(&mut after), *before);
        }
    }
    // A link to something else than a dataset stays.
    let (other, link) = (folder.path().join("photos"), folder.path().join("link"));
    fs::create_dir(&other).unwrap();
    fs::write(other.join("a.jpg"), "x").unwrap();
    symlink(&other, &link).unwrap();
    assert_eq!(failure(&["rm", text(&link)]).0, 1);
    assert!(link.symlink_metadata().is_ok() && other.join("a.jpg").exists());
}

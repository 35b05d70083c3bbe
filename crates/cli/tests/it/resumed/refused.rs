//! Conditions under which a copy refuses to resume.

use std::fs;
use std::path::{Path, PathBuf};

use s3_server::{Config, Server};

use super::{Copy, args, folder, leftovers, same, source, whole};
use crate::copy_place::files;
use crate::{failure, out, text};

#[test]
fn a_resume_with_changed_inputs_is_refused() {
    let folder = folder();
    let source = source(folder.path());
    let (_, expected) = whole(folder.path(), &source, &[], "");
    let target = folder.path().join("copy.zarr");
    let chunk = Path::new(&source).join("packed/7.0");
    let (bytes, time) = (fs::read(&chunk).unwrap(), fs::metadata(&chunk).unwrap().modified().unwrap());
    // Unreadable data stop the copy; after a repair it resumes.
    let spoil = |bytes: &[u8]| {
        fs::write(&chunk, bytes).unwrap();
        fs::File::options().write(true).open(&chunk).unwrap().set_modified(time).unwrap();
    };
    spoil(&vec![0xff; bytes.len()]);
    let (code, message) = failure(&args(&[], &source, text(&target)));
    assert!(code == 1 && message.contains("packed/7.0"), "{message}");
    assert!(message.contains("run the same command with --resume to continue"), "{message}");
    let [kept] = &leftovers(folder.path())[..] else { panic!("{:?}", leftovers(folder.path())) };
    let before = files(kept);
    let stays = |message: &str| {
        let [kept] = &leftovers(folder.path())[..] else {
            panic!("{message}: {:?}", leftovers(folder.path()))
        };
        assert!(files(kept) == before, "{message}");
    };
    let refused = |more: &[&str], what: &str| {
        let (code, message) = failure(&[&["copy", "--resume"], more, &[&source, text(&target)]].concat());
        assert!(
            code == 1 && message.contains("NC_EINVAL: --resume: ") && message.contains(what),
            "{message}"
        );
        stays(&message);
    };
    let flags = &["-c", "y/3,x/7"][..];
    refused(&[], "started with `-c y/3,x/7`, and is resumed without flags");
    refused(&["-c", "y/3,x/7", "-V", "plain"], "and is resumed with `-c y/3,x/7 -V plain`");
    fs::write(&chunk, &bytes).unwrap();
    refused(flags, "the source changed since the copy was started: ");
    fs::write(Path::new(&source).join("packed/0.0.old"), b"").unwrap();
    refused(flags, "files of");
    fs::remove_file(Path::new(&source).join("packed/0.0.old")).unwrap();
    spoil(&bytes);
    let record = leftovers(folder.path())[0].join("copy.zarr/.ncz-copy");
    let written = fs::read(&record).unwrap();
    fs::write(&record, &written[..written.len() / 2]).unwrap();
    let (_, message) = failure(&[&["copy", "--resume"], flags, &[&source, text(&target)]].concat());
    assert!(message.contains(".ncz-copy: not a copy record"), "{message}");
    let record = leftovers(folder.path())[0].join("copy.zarr/.ncz-copy");
    fs::write(&record, &written).unwrap();
    // Another process resumes it.
    let holder = fs::File::open(&leftovers(folder.path())[0]).unwrap();
    holder.try_lock().unwrap();
    let (_, message) = failure(&[&["copy", "--resume"], flags, &[&source, text(&target)]].concat());
    assert!(message.contains("NC_EACCESS") && message.contains("is running"), "{message}");
    drop(holder);
    stays("nobody else");
    out(&[&["copy", "--resume"], flags, &[&source, text(&target)]].concat());
    same(&target, &expected, "");
    assert_eq!(leftovers(folder.path()), [] as [PathBuf; 0]);
    // There is nothing left to resume.
    let (code, message) = failure(&[&["copy", "--resume"], flags, &[&source, text(&target)]].concat());
    assert!(code == 1 && message.contains("use --clobber to replace a dataset"), "{message}");
    for target in ["one.nc", "one.zip", "one.zarr#mode=nczarr,zip", "one#mode=classic"] {
        let (code, message) =
            failure(&["copy", "--resume", &source, &format!("{}/{target}", text(folder.path()))]);
        assert!(
            code == 2
                && message.contains("--resume: ")
                && message.contains("a copy to one file cannot be resumed"),
            "{message}"
        );
    }
}

/// A resumed strict copy reports one message: the partial copy stays, with advice on finishing it.
#[test]
fn a_failed_strict_resume_says_how_to_finish() {
    let folder = folder();
    let source = source(folder.path());
    let more = ["-k", "zarr", "--plain"];
    let target = folder.path().join("copy.zarr");
    let mut copy = Copy::start(&args(&more, &source, text(&target)));
    assert_eq!(copy.records(20), 20);
    copy.kill();
    let go_on = [&["copy", "-c", "y/3,x/7", "--resume"], &more[..]].concat();
    let (code, message) = failure(&[&go_on[..], &["--strict", &source, text(&target)]].concat());
    assert!(code == 1 && message.contains("loss: "), "{message}");
    assert!(
        message.contains("the copy is not finished (--strict)") && !message.contains("nothing was copied"),
        "{message}"
    );
    assert!(
        message.contains("run the same command with --resume and without --strict to continue"),
        "{message}"
    );
    let finished = crate::run([&go_on[..], &[&source, text(&target)]].concat());
    assert!(finished.status.success(), "{}", String::from_utf8_lossy(&finished.stderr));
    assert_eq!(leftovers(folder.path()), [] as [PathBuf; 0]);
}

/// A new copy keeps the files of a running one: beside the target, in it, and in a bucket. The error names
/// the owner.
#[test]
fn a_running_copy_is_not_replaced() {
    let folder = folder();
    let source = source(folder.path());
    let (_, expected) = whole(folder.path(), &source, &[], "");
    let (beside, inside) = (folder.path().join("beside.zarr"), folder.path().join("inside.zarr"));
    fs::create_dir(&inside).unwrap();
    let server = Server::start(Config::default());
    let mut targets =
        vec![(text(&beside).to_owned(), Some(&beside)), (text(&inside).to_owned(), Some(&inside))];
    if out(&["plugins"]).lines().any(|line| line.starts_with("map           s3")) {
        targets.push((format!("http://key:secret@{}/bucket/a#mode=nczarr,s3", server.host()), None));
    }
    for (url, path) in &targets {
        let mut first = Copy::start(&args(&[], &source, url));
        assert_eq!(first.records(5), 5);
        let anew = ["copy", "-c", "y/3,x/7", "--clobber", &source, url];
        let (code, message) = failure(&anew);
        let owner = format!("by process {}", first.child.id());
        assert!(
            code == 1 && message.contains("NC_EACCESS") && message.contains("is running"),
            "{url}: {message}"
        );
        assert!(message.contains(&owner) && !message.contains("secret"), "{url}: {message}");
        // The running copy is untouched. After its process has ended, it can be resumed or replaced.
        first.kill();
        out(&anew);
        if let Some(path) = path {
            same(path, &expected, url);
        }
        assert_eq!(leftovers(folder.path()), [] as [PathBuf; 0], "{url}");
    }
}

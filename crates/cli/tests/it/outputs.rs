//! Files that commands write, and readers that go away early.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::{failure, ncz, out, text};

const CDL: &str = "netcdf a { dimensions: x = 4; variables: int v(x); data: v = 1, 2, 3, 4; }";

fn sample(folder: &Path, name: &str) -> String {
    let (cdl, target) = (folder.join("a.cdl"), folder.join(name));
    fs::write(&cdl, CDL).unwrap();
    let kind = if name == "b.nc" { "nc4" } else { "" };
    let args = ["gen", "-o", text(&target), text(&cdl), "-k", kind];
    out(if kind.is_empty() { &args[..4] } else { &args });
    text(&target).to_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn an_output_never_overwrites_its_source() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.nc", "b.nc", "c.zip", "d.zarr"] {
        let source = sample(folder.path(), name);
        let link = folder.path().join("link");
        #[cfg(unix)]
        std::os::unix::fs::symlink(&source, &link).unwrap();
        let inside = format!("{source}/.zattrs");
        let (before, all) = (out(&["dump", &source]), names(folder.path()));
        let mut targets = vec![source.clone()];
        if cfg!(unix) {
            targets.push(text(&link).to_owned());
        }
        if name == "d.zarr" {
            targets.push(inside);
        }
        for target in &targets {
            for args in [
                ["cat", &source, "v", "-o", target],
                ["cat", &source, "v", "--output", target],
                ["view", &source, "v", "--html", target],
            ] {
                let (code, message) = failure(&args);
                assert!(code == 1 && message.contains("source and target overlap"), "{args:?}: {message}");
                assert_eq!(out(&["dump", &source]), before, "{args:?}");
                assert_eq!(names(folder.path()), all, "{args:?}");
            }
        }
        let _ = fs::remove_file(&link);
    }
    // The source may not be a text inside the dataset that it would replace.
    let store = sample(folder.path(), "e.zarr");
    let inside = format!("{store}/x.cdl");
    fs::write(&inside, CDL).unwrap();
    let (code, message) = failure(&["gen", "--clobber", &inside, "-o", &store]);
    assert!(code == 1 && message.contains("overlap") && Path::new(&inside).exists(), "{message}");
}

/// The data of a dataset may lie in external files, and these may refer to further ones.
#[test]
fn an_output_never_overwrites_files_of_virtual_sources() {
    let (folder, corpus) = (tempfile::tempdir().unwrap(), Path::new("../../tests/corpus/virtual"));
    let place = |name: &str| text(&folder.path().join(name)).to_owned();
    for name in ["top.h5", "mid.h5", "base.h5", "other.h5"] {
        fs::copy(corpus.join(name), place(name)).unwrap();
    }
    let (source, before) = (place("top.h5"), out(&["cat", &place("top.h5"), "y", "--format", "text"]));
    assert_eq!(before, "10 11 12 13 14\n");
    let all = names(folder.path());
    for name in ["mid.h5", "base.h5", "other.h5"] {
        let target = place(name);
        for args in [
            &["copy", &source, &target, "-k", "nc4", "--clobber"][..],
            &["copy", &source, &target, "-k", "nc4", "--clobber", "--dry-run"],
            &["copy", &source, &target, "-k", "nczarr", "--clobber"],
            &["copy", &source, &target, "-k", "nczarr", "--clobber", "--resume"],
            &["cat", &source, "y", "-o", &target],
            &["view", &source, "y", "--html", &target],
        ] {
            let (code, message) = failure(args);
            let named = format!("{name} is one of the files that {source} is read from");
            assert!(
                code == 1 && message.contains("NC_EINVAL") && message.contains(&named),
                "{args:?}: {message}"
            );
            assert_eq!(out(&["cat", &source, "y", "--format", "text"]), before, "{args:?}");
            assert_eq!(names(folder.path()), all, "{args:?}");
        }
    }
    // Files without references to them may be replaced.
    out(&["copy", &source, &place("copy.nc"), "-k", "nc4"]);
    out(&["copy", &place("copy.nc"), &place("mid.h5"), "-k", "nc4", "--clobber"]);
}

#[test]
fn an_old_file_stays_until_the_new_one_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let store = crate::store::ocean(folder.path());
    let file = folder.path().join("x.npy");
    fs::write(&file, "old").unwrap();
    let (code, message) = failure(&["cat", text(&store), "/odd", "-o", text(&file)]);
    assert!(code == 1 && message.contains("NC_ENOFILTER"), "{message}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    out(&["cat", text(&store), "/t", "-o", text(&file)]);
    assert!(fs::read(&file).unwrap().starts_with(b"\x93NUMPY"));
    assert_eq!(names(folder.path()), ["ocean.zarr", "x.npy"]);
    // Devices and pipes are written directly.
    out(&["cat", text(&store), "/t", "-o", "/dev/null"]);
}

/// Returns the exit code of a command without a reader for its output.
fn unheard(args: &[&str]) -> Option<i32> {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    ncz().args(args).stdout(writer).stderr(Stdio::null()).status().unwrap().code()
}

#[test]
fn exit_codes_do_not_depend_on_the_reader_of_the_output() {
    let folder = tempfile::tempdir().unwrap();
    let good = sample(folder.path(), "a.zarr");
    let bad = sample(folder.path(), "b.zarr");
    fs::write(format!("{bad}/v/0"), "x").unwrap();
    assert_eq!(unheard(&["validate", "--deep", &good]), Some(0));
    assert_eq!(unheard(&["validate", "--deep", &bad]), Some(1));
    assert_eq!(unheard(&["diff", &good, &good]), Some(0));
    assert_eq!(unheard(&["diff", &good, &bad]), Some(1));
    assert_eq!(unheard(&["dump", &good]), Some(0));
}

/// A pipe that breaks elsewhere is a failure.
#[cfg(target_os = "linux")]
#[test]
fn only_standard_output_may_have_no_reader() {
    let folder = tempfile::tempdir().unwrap();
    let store = sample(folder.path(), "a.zarr");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = ncz();
    command.args(["cat", &store, "v", "-o", "/dev/stderr"]).stderr(writer).stdout(Stdio::null());
    assert_eq!(command.status().unwrap().code(), Some(1));
}

#[test]
fn elements_of_varying_length_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let (cdl, target) = (folder.path().join("x.cdl"), folder.path().join("x.zarr"));
    let content = "netcdf x { types: int(*) list; compound pair { int i; string s; }; dimensions: n = 2; \
                   variables: list v(n); pair p(n); data: v = {1, 2}, {}; p = {3, \"a b\"}, {4, NIL}; }";
    fs::write(&cdl, content).unwrap();
    out(&["gen", "-o", text(&target), text(&cdl)]);
    let target = text(&target);
    for (args, want) in [
        (&["v"][..], "{\"shape\":[2],\"values\":[[1,2],[]]}\n"),
        (&["v", "--format", "text"], "[1,2] []\n"),
        (&["v", "--start", "1"], "{\"shape\":[1],\"values\":[[]]}\n"),
        (&["p"], "{\"shape\":[2],\"values\":[{\"i\":3,\"s\":\"a b\"},{\"i\":4,\"s\":\"\"}]}\n"),
        (&["p", "--format", "text", "--count", "1"], "{\"i\":3,\"s\":\"a b\"}\n"),
    ] {
        assert_eq!(out(&[&["cat", target], args].concat()), want, "{args:?}");
    }
    for format in ["npy", "raw"] {
        for var in ["v", "p"] {
            let (code, message) = failure(&["cat", target, var, "--format", format]);
            assert!(code == 1 && message.contains("NC_EBADTYPE"), "{message}");
        }
    }
}

/// Whenever the program ends while it writes, the file gets its name only when it is complete.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_writer_leaves_no_partial_file() {
    use std::os::unix::process::ExitStatusExt as _;

    let folder = tempfile::tempdir().unwrap();
    let (cdl, source) = (folder.path().join("x.cdl"), folder.path().join("x.zarr"));
    fs::write(&cdl, "netcdf x { dimensions: n = 4000000; variables: int v(n); }").unwrap();
    out(&["gen", "-o", text(&source), text(&cdl)]);
    let (target, old) = (folder.path().join("new.npy"), folder.path().join("old.npy"));
    fs::write(&old, "old").unwrap();
    let before = names(folder.path());
    for target in [&target, &old] {
        // With a file size limit, the system kills the writer.
        let limited = format!(
            "ulimit -c 0; ulimit -f 100; exec {} cat {} v -o {}",
            env!("CARGO_BIN_EXE_ncz"),
            text(&source),
            text(target)
        );
        let ended = std::process::Command::new("sh").args(["-c", &limited]).output().unwrap();
        assert!(ended.status.signal().is_some(), "{ended:?}");
        assert_eq!(names(folder.path()), before);
        assert_eq!(fs::read(&old).unwrap(), b"old");
        assert_eq!(out(&["cat", text(&source), "v", "-o", text(target)]), "");
        assert_eq!(fs::metadata(target).unwrap().len(), 16_000_000 + 128);
        fs::write(&old, "old").unwrap();
        let _ = fs::remove_file(folder.path().join("new.npy"));
    }
    assert_eq!(names(folder.path()), before);
}

#[cfg(unix)]
#[test]
fn a_dangling_link_creates_its_target() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().unwrap();
    let source = sample(folder.path(), "a.nc");
    fs::create_dir(folder.path().join("in")).unwrap();
    let [one, two, real] = ["one", "in/two", "in/real"].map(|name| folder.path().join(name));
    symlink("in/two", &one).unwrap();
    symlink("real", &two).unwrap();
    for _ in 0..2 {
        assert_eq!(out(&["cat", &source, "v", "--format", "text", "-o", text(&one)]), "");
        assert!([&one, &two].iter().all(|link| link.symlink_metadata().unwrap().is_symlink()));
        assert_eq!(fs::read(&real).unwrap(), b"1 2 3 4\n");
    }
    symlink("circle", folder.path().join("circle")).unwrap();
    let (code, message) = failure(&["cat", &source, "v", "-o", text(&folder.path().join("circle"))]);
    assert!(code == 1 && message.contains("circle"), "{message}");
}

//! Starts the two programs of `examples`, each an `ncz` with the plugins of this crate.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use nczarr::NcType;
use nczarr::dispatch::StoredType;
use nczarr::model::Endian;
use third_party as _;

/// The programs, with the origin that each states for its plugins.
const PROGRAMS: &[[&str; 2]] = &[["linked_ncz", "linked"], ["added_ncz", "added"]];

/// Returns the program of an example. `cargo test -p nczarr-example-third-party` builds it.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap().join("examples");
    folder.join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

fn run(program: &str, args: &[&str]) -> Output {
    let path = example(program);
    let output = Command::new(&path).args(args).env_remove("NCTRACING").output();
    output.unwrap_or_else(|error| panic!("{}: {error}; build the examples", path.display()))
}

/// Returns standard output of a successful call without messages.
fn out(program: &str, args: &[&str]) -> String {
    let output = run(program, args);
    assert!(output.status.success() && output.stderr.is_empty(), "{program} {args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns standard error of a failing call.
fn failure(program: &str, args: &[&str]) -> String {
    let output = run(program, args);
    assert_eq!(output.status.code(), Some(1), "{program} {args:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn the_programs_are_short() {
    for text in [include_str!("../examples/linked_ncz.rs"), include_str!("../examples/added_ncz.rs")] {
        let code = text.lines().filter(|line| !line.is_empty() && !line.starts_with("//"));
        assert!(code.count() <= 10, "{text}");
    }
}

#[test]
fn plugins_are_listed_with_their_origin() {
    for [program, origin] in PROGRAMS {
        let list = out(program, &["plugins"]);
        for (kind, name) in [("driver", "ramp"), ("map", "veil"), ("filter", "xor"), ("driver", "nczarr")] {
            let line: Vec<&str> = list
                .lines()
                .find(|line| line.split_whitespace().take(2).eq([kind, name]))
                .unwrap_or_else(|| panic!("{program}: no {kind} {name} in {list}"))
                .split_whitespace()
                .collect();
            let want = if name == "nczarr" { "built" } else { origin };
            assert!(line.contains(&want), "{program}: {line:?}");
        }
    }
}

#[test]
fn commands_read_with_the_driver() {
    for [program, _] in PROGRAMS {
        assert_eq!(out(program, &["cat", "5#mode=ramp", "--format", "text"]), "0 1 2 3 4\n");
        assert!(out(program, &["info", "5#mode=ramp"]).contains("driver     ramp\n"));
        assert!(out(program, &["dump", "-h", "5#mode=ramp"]).contains("int64 x(x) ;"));
    }
}

#[test]
fn a_copy_stores_data_through_the_filter() {
    for [program, _] in PROGRAMS {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("copy.zarr");
        let target = target.to_str().unwrap();
        out(program, &["copy", "-F", "xor,85", "5#mode=ramp", target]);
        assert!(out(program, &["dump", "-h", "-s", target]).contains("40001,85"), "{program}");
        assert_eq!(out(program, &["cat", target, "--format", "text"]), "0 1 2 3 4\n");
        assert_eq!(out(program, &["diff", "5#mode=ramp", target]), "");
    }
}

#[test]
fn a_copy_stores_data_through_the_array_codec() {
    for [program, _] in PROGRAMS {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("copy.zarr");
        let url = format!("{}#mode=zarr,v3", target.display());
        out(program, &["copy", "-F", "pcodec,8", "5#mode=ramp", &url]);
        let document = std::fs::read_to_string(target.join("x/zarr.json")).unwrap();
        assert!(document.contains("numcodecs.pcodec") && !document.contains("\"bytes\""), "{document}");
        assert_eq!(out(program, &["cat", &url, "--format", "text"]), "0 1 2 3 4\n");
        assert_eq!(out(program, &["diff", "5#mode=ramp", &url]), "");
    }
}

#[test]
fn commands_read_and_copy_the_data_type() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("small.zarr").display().to_string();
    let file = nczarr::CreateOptions::new().kind(nczarr::Kind::ZarrV3).create(&source).unwrap();
    file.add_dimension("x", 4).unwrap();
    let stored = StoredType { data_type: "\"int4\"".to_owned(), endian: Endian::Native };
    let small = file.add_variable_as_stored("v", NcType::Byte, &["x"], &stored).unwrap();
    small.set_fill(0i8).unwrap();
    small.put(&[-8i8, 7, 1], ..3).unwrap();
    file.close().unwrap();
    for [program, _] in PROGRAMS {
        assert_eq!(out(program, &["cat", &source, "--format", "text"]), "-8 7 1 0\n");
        let target = folder.path().join(program);
        let url = format!("{}#mode=zarr,v3", target.display());
        out(program, &["copy", &source, &url]);
        assert_eq!(out(program, &["diff", &source, &url]), "");
        // A copy to plain Zarr V3 keeps the type.
        let document = std::fs::read_to_string(target.join("v/zarr.json")).unwrap();
        assert!(document.contains("\"int4\""), "{document}");
    }
}

#[test]
fn commands_write_and_look_for_datasets_in_the_map() {
    for [program, _] in PROGRAMS {
        // Each process has maps of its own.
        out(program, &["copy", "5#mode=ramp", "veil://copy#mode=nczarr"]);
        let message = failure(program, &["map", "ls", "veil://copy"]);
        assert!(message.contains("NC_ENOTFOUND"), "{message}");
    }
}

#[test]
fn bench_measures_the_filter() {
    for [program, _] in PROGRAMS {
        let args = ["bench", "--shape", "4x4x4", "--maps", "mem", "-F", "xor,85", "--repeats", "1"];
        assert!(out(program, &args).contains("xor"), "{program}");
    }
}

#[test]
fn usage_has_the_name_of_the_program() {
    for [program, _] in PROGRAMS {
        assert!(out(program, &["--help"]).contains(&format!("Usage: {program}")));
        assert_eq!(run(program, &["cat"]).status.code(), Some(2));
    }
}

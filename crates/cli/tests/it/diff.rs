//! `diff`: differences between two datasets.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{failure, out, run, store, text};

const CDL: &str = "netcdf a { dimensions: x = 3; t = UNLIMITED; variables: double v(x); v:units = \"m\"; int n(t, x); string s; \
                   data: v = 1, 2, NaN; n = 1, 2, 3, 4, 5, 6; s = \"é\"; group: g { variables: float w(x); data: w = 1, 2, 3; } }";

fn make(folder: &Path, name: &str, cdl: &str) -> PathBuf {
    let (source, target) = (folder.join("x.cdl"), folder.join(name));
    fs::write(&source, cdl).unwrap();
    out(&["gen", "-o", text(&target), text(&source)]);
    target
}

/// Exit code and output.
fn diff(args: &[&str]) -> (i32, String) {
    let output = run([&["diff"], args].concat());
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_same_in_another_format_and_layout() {
    let folder = tempfile::tempdir().unwrap();
    let one = make(folder.path(), "a.zarr", CDL);
    let other = folder.path().join("b.zip");
    out(&["copy", "--chunks", "x/2", "--filter", "zstd,3", text(&one), text(&other)]);
    assert_eq!(diff(&[text(&one), text(&other)]), (0, String::new()));
    let (code, json) = diff(&["--json", text(&one), text(&other)]);
    assert_eq!((code, serde_json::from_str::<Value>(&json).unwrap()["same"].as_bool()), (0, Some(true)));
}

#[test]
fn everything_that_differs_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let one = make(folder.path(), "a.zarr", CDL);
    let changed = CDL
        .replace("units = \"m\"", "units = \"km\"; v:more = 1")
        .replace("v = 1, 2, NaN", "v = 1, 2.5, NaN")
        .replace("n = 1, 2, 3, 4, 5, 6", "n = 1, 2, 3, 4, 5, 7, 8, 9, 10")
        .replace("string s;", "char s;")
        .replace("s = \"é\"", "s = \"e\"")
        .replace("float w(x)", "float u(x)")
        .replace("w = 1", "u = 1");
    let other = make(folder.path(), "b.zarr", &changed);
    let (code, message) = diff(&[text(&one), text(&other)]);
    assert_eq!(code, 1);
    for line in [
        "attribute /v:units: \"m\" | \"km\"",
        "attribute /v:more: only in the second",
        "value /v(1): 2.0 | 2.5",
        "data of /v: 1 of 3 elements, at most 0.5 apart | differ",
        "dimension /t: 2 (unlimited) | 3 (unlimited)",
        "shape of /n: [2, 3] | [3, 3]",
        "type of /s: string | char",
        "variable /g/w: only in the first",
        "variable /g/u: only in the second",
    ] {
        assert!(message.lines().any(|found| found == line), "{line}\n{message}");
    }
    assert_eq!(diff(&["-v", "v", "--header", text(&one), text(&other)]).1.lines().count(), 2);
}

#[test]
fn numbers_may_be_apart_as_far_as_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name, values: &str| {
        make(
            folder.path(),
            name,
            &format!("netcdf a {{ dimensions: x = 3; variables: float v(x); data: v = {values}; }}"),
        )
    };
    let (one, other) = (of("a.nc", "1, 100, NaN"), of("b.nc", "1.25, 101, NaN"));
    let code = |flags: &[&str]| diff(&[flags, &[text(&one), text(&other)]].concat()).0;
    assert_eq!(code(&[]), 1);
    assert_eq!(code(&["--tolerance", "0.5"]), 1);
    assert_eq!(code(&["--tolerance", "1"]), 0);
    assert_eq!(code(&["--relative", "0.01"]), 1);
    assert_eq!(code(&["--relative", "0.2"]), 0);
    let nan = of("c.nc", "1, 100, 3");
    assert_eq!(diff(&["--tolerance", "1e30", text(&one), text(&nan)]).0, 1);
}

#[test]
fn a_failure_is_no_difference() {
    let folder = tempfile::tempdir().unwrap();
    let one = make(folder.path(), "a.zarr", CDL);
    assert_eq!(diff(&[text(&one), text(&folder.path().join("none"))]).0, 2);
}

#[test]
fn attributes_that_are_no_text_differ_by_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let of =
        |name, value: &str| make(folder.path(), name, &format!("netcdf a {{ variables: :t = {value}; }}"));
    let (one, other) = (of("a.nc", "\"a\\376\""), of("b.nc", "\"a\\377\""));
    assert_eq!(diff(&[text(&one), text(&one)]), (0, String::new()));
    assert_eq!(diff(&[text(&one), text(&other)]), (1, "attribute :t: \"a\\xfe\" | \"a\\xff\"\n".to_owned()));
    // Text that only looks like such a byte.
    let text_of_it = of("c.nc", "\"a\\\\xfe\"");
    assert_eq!(diff(&[text(&one), text(&text_of_it)]).0, 1);
}

#[test]
fn variables_that_are_nowhere_are_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let one = make(folder.path(), "a.zarr", CDL);
    let other = make(folder.path(), "b.zarr", &CDL.replace("group: g", "group: h"));
    let (code, message) = crate::failure(&["diff", "-v", "v,nosuch", text(&one), text(&one)]);
    assert!(code == 2 && message.contains("-v nosuch: no such variable in either dataset"), "{message}");
    assert_eq!(diff(&["-v", "v", text(&one), text(&other)]), (0, String::new()));
    // In a group that exists on one side only.
    assert_eq!(
        diff(&["-v", "/g/w", text(&one), text(&other)]),
        (1, "variable /g/w: only in the first\n".to_owned())
    );
}

#[test]
fn types_compare_by_their_members() {
    let folder = tempfile::tempdir().unwrap();
    let types = ["int(*) list;", "byte enum e { no = 0, yes = 1 };", "opaque(3) o;"];
    let of = |name, types: &[&str], last: &str| {
        let cdl = format!(
            "netcdf a {{ types: {} compound c {{ list l; e e(2, 3); double d; {last} }}; }}",
            types.concat()
        );
        make(folder.path(), name, &cdl)
    };
    let one = of("a#mode=nc4", &types, "");
    let turned: Vec<&str> = types.iter().rev().copied().collect();
    for name in ["b#mode=nc4", "b.zarr"] {
        assert_eq!(diff(&[text(&one), text(&of(name, &turned, ""))]), (0, String::new()), "{name}");
    }
    let (code, message) = diff(&[text(&one), text(&of("c#mode=nc4", &turned, "o more;"))]);
    let expected =
        "type /c: compound {list l; e e(2, 3); double d} | compound {list l; e e(2, 3); double d; o more}\n";
    assert_eq!((code, message.as_str()), (1, expected));
}

/// Elements of every kind, in a block with mostly equal ones.
#[test]
fn one_element_of_many_is_found() {
    let folder = tempfile::tempdir().unwrap();
    for (ty, value, other) in [
        ("byte", "1", "-1"),
        ("char", "'a'", "'b'"),
        ("string", "\"a\"", "\"b\""),
        ("c", "{1, {2}}", "{1, {3}}"),
    ] {
        let of = |name, last: &str| {
            let cdl = format!(
                "netcdf a {{ types: compound c {{ int i; int j(1); }}; dimensions: n = 1001; variables: {ty} v(n); data: v = {}{last}; }}",
                format!("{value}, ").repeat(1000)
            );
            make(folder.path(), &format!("{ty}-{name}#mode=nc4"), &cdl)
        };
        let (one, two) = (of("a", value), of("b", other));
        assert_eq!(diff(&[text(&one), text(&one)]).0, 0, "{ty}");
        let (code, message) = diff(&[text(&one), text(&two)]);
        assert!(
            code == 1
                && message.starts_with("value /v(1000): ")
                && message.contains("data of /v: 1 of 1001 elements"),
            "{message}"
        );
    }
}

#[test]
fn data_unreadable_in_both_files_are_not_equal() {
    let folder = tempfile::tempdir().unwrap();
    let one = store::ocean(folder.path());
    let other = folder.path().join("other.zarr");
    out(&[
        "gen",
        "-o",
        text(&other),
        text(&{
            let cdl = folder.path().join("x.cdl");
            fs::write(&cdl, "netcdf x { variables: int i; }").unwrap();
            cdl
        }),
    ]);
    // The command reports failures in the form of other commands.
    let (code, message) = failure(&["diff", text(&one), text(&one)]);
    assert!(code == 2 && message.contains("NC_ENOFILTER") && message.contains("/odd"), "{message}");
    let json = run(["diff", "--json", text(&one), text(&one)]);
    assert_eq!(serde_json::from_slice::<Value>(&json.stdout).unwrap()["same"], false);
    assert_eq!(diff(&["-v", "t", text(&one), text(&one)]), (0, String::new()));
    for list in ["", ","] {
        let (code, message) = failure(&["diff", "-v", list, text(&one), text(&other)]);
        assert!(code == 2 && message.contains("-v: no variable is named"), "{message}");
    }
}

//! The runner performs each operation that it times, and reports the operations that it lacks.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Returns the line that the runner prints.
fn line(args: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_nczarr-runner")).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn each_operation_sees_the_values_written() {
    let dir = tempfile::tempdir().unwrap();
    let (store, data) = (dir.path().join("b.zarr"), dir.path().join("data.raw"));
    let raw: Vec<u8> = (0..4000u32).flat_map(|i| (i as f32 / 8.0).to_le_bytes()).collect();
    std::fs::write(&data, &raw).unwrap();
    let array = |op: &'static str, codec: &'static str, dtype: &'static str| {
        let given =
            ["--op", op, "--path", text(&store), "--data", text(&data), "--codec", codec, "--dtype", dtype];
        [&given[..], &["--shape", "12,10,9", "--chunks", "5,4,9", "--count", "7", "--box", "3,4,5"]].concat()
    };
    for codec in ["none", "zlib5", "deflate5s", "zstd3", "zstd3s", "blosclz4", "blosczstdbit"] {
        for dtype in ["f4", "f8", "i2", ">f4"] {
            let written = line(&array("write", codec, dtype));
            let read = line(&array("read", codec, dtype));
            assert_eq!(written["checksum"], read["checksum"], "{codec} {dtype}: {written} {read}");
            assert_eq!(written["bytes"], read["bytes"]);
        }
    }
    for op in ["elem", "row", "box", "series"] {
        let parts = |mode: &'static str| line(&[&array(op, "none", "f4")[..], &["--mode", mode]].concat());
        let (cold, open, warm) = (parts("cold"), parts("open"), parts("warm"));
        assert!(cold["bytes"].as_u64().unwrap() > 0, "{cold}");
        assert_eq!((&cold["checksum"], &cold["n"]), (&open["checksum"], &open["n"]));
        assert_eq!(open["checksum"], warm["checksum"]);
    }
    let zip = dir.path().join("b.zip");
    let in_zip = |op| {
        let mut given = array(op, "zstd3", "f4");
        given[3] = text(&zip);
        line(&[&given[..], &["--store", "zip"]].concat())
    };
    assert_eq!(in_zip("write")["checksum"], line(&array("write", "zstd3", "f4"))["checksum"]);
    assert_eq!(in_zip("elem")["checksum"], line(&array("elem", "zstd3", "f4"))["checksum"]);
    assert_eq!(line(&array("vars", "none", "f4"))["bytes"], 6 * 5 * 5 * 4);
    assert_eq!(line(&array("conv", "none", "f4"))["bytes"], 12 * 10 * 9 * 8);
    assert_eq!(line(&array("list", "none", "f4"))["n"], 9);
    assert_eq!(line(&array("open", "none", "f4"))["n"], 7);
    let appended = line(&array("append", "zlib5", "f4"));
    assert_eq!(appended["bytes"], 7 * 10 * 9 * 4);
    assert_eq!(line(&[&array("read", "zlib5", "f4")[..]].concat())["checksum"], appended["checksum"]);
}

#[test]
fn all_formats_hold_the_same_values() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data.raw");
    let raw: Vec<u8> = (0..4000u32).flat_map(|i| (i as f32 / 8.0).to_le_bytes()).collect();
    std::fs::write(&data, &raw).unwrap();
    for codec in ["none", "zlib5", "deflate5s", "zstd3", "zstd3s", "blosclz4", "blosczstdbit"] {
        let run = |op: &'static str, format: &'static str| {
            let store = dir.path().join(format);
            let given = [
                "--op",
                op,
                "--path",
                text(&store),
                "--data",
                text(&data),
                "--codec",
                codec,
                "--format",
                format,
            ];
            let shape = [
                "--shape", "12,10,9", "--chunks", "3,4,5", "--shards", "6,8,5", "--box", "3,4,5", "--count",
                "6",
            ];
            line(&[&given[..], &shape].concat())
        };
        for op in ["write", "read", "elem", "row", "box", "series", "vars", "append"] {
            let [v2, v3, v3s] = ["v2", "v3", "v3s"].map(|format| run(op, format));
            assert!(v2["bytes"].as_u64().unwrap() > 0, "{op}: {v2}");
            assert_eq!((&v2["checksum"], &v2["n"]), (&v3["checksum"], &v3["n"]), "{op}: {v3}");
            assert_eq!((&v2["checksum"], &v2["n"]), (&v3s["checksum"], &v3s["n"]), "{op}: {v3s}");
            let h5 = run(op, "h5");
            assert_eq!((&v2["checksum"], &v2["n"]), (&h5["checksum"], &h5["n"]), "{op}: {h5}");
        }
        // The records lie in chunks of six, and in version 3 in shards too.
        assert_eq!(["v2", "v3", "v3s"].map(|format| run("list", format)["n"].as_u64().unwrap()), [12, 12, 4]);
    }
}

#[test]
fn metadata_is_written_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    for more in
        [&[][..], &["--consolidated"], &["--format", "v3"], &["--format", "h5"], &["--format", "cdf5"]]
    {
        let store = dir.path().join(format!("m{}", more.concat()));
        let op = |name: &'static str| {
            let given = ["--op", name, "--path", text(&store), "--nvars", "6"];
            line(&[&given[..], more].concat())
        };
        assert_eq!(op("meta_write")["n"], 6);
        // The dataset has six variables with five attributes and ten elements each.
        assert_eq!(op("meta_open")["checksum"], "30060");
    }
}

#[test]
fn missing_operations_print_a_skip_line() {
    for args in [["--format", "v9"], ["--store", "tape"], ["--op", "fly"], ["--format", "h4"]] {
        let given: Vec<&str> = match args[0] {
            "--op" => [&args[..], &["--path", "x"]].concat(),
            _ => [&args[..], &["--op", "read", "--path", "x"]].concat(),
        };
        assert!(line(&given)["skip"].is_string(), "{args:?}");
    }
}

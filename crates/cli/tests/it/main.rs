//! The program as a whole: output, refusals, and exit codes.

#[cfg(unix)]
mod as_tool;
mod bench;
mod buckets;
mod chain;
mod circle;
#[cfg(target_os = "linux")]
mod complete;
mod copy;
mod copy_place;
mod corpus;
mod credentials;
mod diff;
mod dumped;
mod errors;
mod generated;
mod hdf5_odd;
mod held;
mod json_attributes;
mod map;
mod netcdf4;
mod nil;
mod odd_names;
mod once;
mod outputs;
#[cfg(unix)]
mod pages;
#[cfg(unix)]
mod pass_through;
mod rectilinear;
mod resumed;
mod selected;
mod snapshots;
mod sparse;
#[cfg(unix)]
mod special;
mod store;
mod texts;
mod timeout;
mod unconditional;
mod unfilled;
mod validate;
mod view;
mod zarr_to_zarr;
mod zipped;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The program, without the caller's logging variables.
fn ncz() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ncz"));
    command.env_remove("NCTRACING");
    command
}

fn run<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Output {
    ncz().args(args).output().unwrap()
}

/// Returns standard output of a successful call without messages.
fn out(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns exit code and standard error of a failing call.
fn failure(args: &[&str]) -> (i32, String) {
    let output = run(args);
    assert!(!output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

const HEADER: &str = "\
netcdf ocean {
dimensions:
	time = UNLIMITED ; // (2 currently)
	x = 3 ;
	n = 4 ;
variables:
	double time(time) ;
	float t(time, x) ;
		t:units = \"K\" ;
		t:_FillValue = -999.f ;
	string name(x) ;
	char tag(x, n) ;
	short odd(x) ;

// global attributes:
		:title = \"a test\" ;
";

const GROUP: &str = "
group: deep\\ water {
  variables:
  	int t(x) ;
";

#[test]
fn dump_prints_cdl() {
    let folder = tempfile::tempdir().unwrap();
    let url = store::ocean(folder.path());
    let url = text(&url);
    assert_eq!(out(&["dump", "-h", url]), format!("{HEADER}{GROUP}  }} // group deep\\ water\n}}\n"));
    assert_eq!(
        out(&["dump", "-c", "-n", "other name", url]),
        format!("{HEADER}data:\n\n time = 0.5, 1.5 ;\n{GROUP}  data:\n  }} // group deep\\ water\n}}\n")
            .replace("netcdf ocean", "netcdf other\\ name")
    );
    assert_eq!(
        out(&["dump", "-v", "t,name,tag", "-p", "2", url]),
        format!(
            "{HEADER}data:\n\n t =\n  1.2, NaNf, 3e+30,\n  _, _, _ ;\n\n name = \"ab\", NIL, \"hé\\\"\" ;\n\n tag =\n  \
             \"abcd\",\n  \"x\",\n  \"\" ;\n{GROUP}  data:\n\n   t = 7, -8, 9 ;\n  }} // group deep\\ water\n}}\n"
        )
        .replace("-999.f", "-1.e+03f")
    );
    let special = out(&["dump", "-s", "-v", r"/deep\ water/t", url]);
    for line in [
        "t:_ChunkSizes = 1, 3 ;",
        "t:_Endianness = \"little\" ;",
        ":_Format = \"netCDF-4\" ;",
        " t = 7, -8, 9 ;",
    ] {
        assert!(special.contains(line), "{special}");
    }
    assert!(out(&["dump", "--help"]).contains("header only"));
}

#[test]
fn dump_prints_readable_variables_and_fails() {
    let folder = tempfile::tempdir().unwrap();
    let url = store::ocean(folder.path());
    let output = run(["dump", text(&url)]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        printed.contains(" tag =\n") && printed.contains(" t = 7, -8, 9 ;") && !printed.contains(" odd ="),
        "{printed}"
    );
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.starts_with(&format!("ncz: {}: NC_ENOFILTER: ", url.display())), "{message}");
    assert!(message.contains("/odd") && message.contains("nosuch"), "{message}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn cat_writes_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let (url, one) = (store::ocean(folder.path()), store::one(folder.path()));
    let (url, one) = (text(&url), text(&one));
    for (args, want) in [
        (vec!["/t", "--format", "text"], "1.25 NaN 3e30\n-999.0 -999.0 -999.0\n"),
        (
            vec!["/t", "--format", "json"],
            "{\"shape\":[2,3],\"values\":[1.25,\"NaN\",3e30,-999.0,-999.0,-999.0]}\n",
        ),
        (
            vec!["t", "--format", "json", "--start", "0,0", "--stride", "1,2"],
            "{\"shape\":[2,2],\"values\":[1.25,3e30,-999.0,-999.0]}\n",
        ),
        (vec!["/name"], "{\"shape\":[3],\"values\":[\"ab\",\"\",\"hé\\\"\"]}\n"),
        (vec!["/name", "--format", "text", "--start", "2"], "\"hé\\\"\"\n"),
        (vec!["/tag", "--format", "text"], "abcd\nx\n\n"),
        (vec!["/tag", "--format", "json", "--count", "1,2"], "{\"shape\":[1,2],\"values\":[\"a\",\"b\"]}\n"),
        (vec![r"/deep\ water/t", "--format", "text", "--start", "1", "--count", "2"], "-8 9\n"),
        (vec![r"/deep\ water/t", "--format", "json", "--count", "0"], "{\"shape\":[0],\"values\":[]}\n"),
    ] {
        let args = [&["cat", url], args.as_slice()].concat();
        assert_eq!(out(&args), want, "{args:?}");
    }
    assert_eq!(run(["cat", one, "--format", "raw"]).stdout, [1, 2, 7, 7]);
    assert_eq!(out(&["cat", one, "--format", "text"]), "1 2 7 7\n");
    let raw = run(["cat", url, "/t", "--format", "raw", "--count", "1,1"]).stdout;
    assert_eq!(raw, 1.25f32.to_le_bytes());
}

#[test]
fn cat_writes_npy() {
    let folder = tempfile::tempdir().unwrap();
    let url = store::ocean(folder.path());
    let file = folder.path().join("t.npy");
    assert_eq!(out(&["cat", text(&url), "/t", "-o", text(&file)]), "");
    let bytes = fs::read(&file).unwrap();
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let end = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    assert_eq!(end % 64, 0);
    let header = std::str::from_utf8(&bytes[10..end]).unwrap();
    assert_eq!(header.trim_end(), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
    let want = [1.25, f32::NAN, 3e30, -999.0, -999.0, -999.0].map(f32::to_le_bytes).concat();
    assert_eq!(&bytes[end..], want);
    let tag = run(["cat", text(&url), "/tag"]).stdout;
    assert!(String::from_utf8_lossy(&tag).contains("'|S1'") && tag.ends_with(b"abcdx\0\0\0\0\0\0\0"));
}

#[test]
fn a_failed_cat_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let url = store::ocean(folder.path());
    let file = folder.path().join("odd.npy");
    let (code, message) = failure(&["cat", text(&url), "/odd", "-o", text(&file)]);
    assert!(code == 1 && message.contains("NC_ENOFILTER"), "{message}");
    assert!(!file.exists());
}

#[test]
fn info_explain_and_plugins() {
    let folder = tempfile::tempdir().unwrap();
    let url = store::ocean(folder.path());
    let url = text(&url);
    let info = out(&["info", url]);
    for line in [
        "driver     nczarr",
        "dimension  /time = 2 (unlimited)",
        "variable   float /t(time=2, x=3) chunks 1x3",
        "variable   int /deep\\ water/t(x=3) chunks 3",
    ] {
        assert!(info.contains(line), "{info}");
    }
    assert!(
        info.lines().any(|line| line.contains("/odd") && line.contains("cannot be read: NC_ENOFILTER")),
        "{info}"
    );
    let json: serde_json::Value = serde_json::from_str(&out(&["info", "--json", url])).unwrap();
    assert_eq!(json["groups"], serde_json::json!(["/", r"/deep\ water"]));
    // Other commands accept every path in it.
    for var in json["variables"].as_array().unwrap().iter().filter(|var| var["problem"].is_null()) {
        out(&["dump", "-v", var["path"].as_str().unwrap(), url]);
    }
    assert_eq!(json["variables"][1]["shape"], serde_json::json!([2, 3]));
    let explained = out(&["explain", &format!("file://{url}#mode=nczarr")]);
    assert!(
        explained.contains("mode      nczarr") && explained.contains("driver    nczarr: "),
        "{explained}"
    );
    let list = out(&["plugins"]);
    // The table in the documentation.
    let documented =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/filters.md")).unwrap();
    let rows =
        documented.lines().filter(|line| line.starts_with("| ") && line.as_bytes()[2].is_ascii_digit());
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let documented: Vec<_> = rows.map(|row| words(&row.replace('|', " "))).collect();
    let (_, table) = list.split_once("HDF5 filters:").unwrap();
    let printed: Vec<_> =
        table.lines().skip(1).map(|line| words(&line.replace("from another project", ""))).collect();
    assert_eq!(documented, printed);
    assert!(list.contains("zstd        32015  built in") && !list.contains("hidden"), "{list}");
    assert!(list.lines().all(|line| line.trim_end() == line), "each says what it is about: {list}");
    let json: serde_json::Value = serde_json::from_str(&out(&["plugins", "--json"])).unwrap();
    assert!(
        json.as_array().unwrap().iter().any(|plugin| plugin["kind"] == "map" && plugin["name"] == "file")
    );
}

#[test]
fn rm_deletes_datasets_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let url = store::ocean(folder.path());
    let other = folder.path().join("photos");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("a.jpg"), b"x").unwrap();
    let (code, message) = failure(&["rm", text(&other)]);
    assert!(code == 1 && message.contains("NC_ENOTNC"), "{message}");
    assert!(other.join("a.jpg").exists());
    assert_eq!(out(&["rm", text(&url)]), "");
    assert!(!url.exists());
    let (code, message) = failure(&["rm", text(&url)]);
    assert!(code == 1 && message.contains("NC_ENOTFOUND"), "{message}");
}

/// Foreign files in the directory of a dataset stay, for every writer.
#[test]
fn foreign_files_in_a_dataset_stay() {
    let folder = tempfile::tempdir().unwrap();
    let cdl = folder.path().join("x.cdl");
    let content = "netcdf x { dimensions: n = 4; variables: int v(n, n); int s; v:_ChunkSizes = 2, 2; data: v = 1, 2, 3; s = 1; group: g { \
                   variables: int w(n); data: w = 1; } }";
    fs::write(&cdl, content).unwrap();
    let ds = folder.path().join("ds.zarr");
    let url = |kind: &str| format!("{}#{kind}", text(&ds));
    for kind in
        ["mode=nczarr,file", "mode=nczarr,file,v3", "mode=zarr,file", "mode=zarr,v3&dimension_separator=."]
    {
        let make = || out(&["gen", "-o", &url(kind), text(&cdl)]);
        let foreign = ["g/notes.txt", "v/0.0~", "notes.txt", ".DS_Store", "photos/1/a.jpg", "v/x/0"];
        for foreign in &foreign[..if kind == "mode=nczarr,file" { 6 } else { 2 }] {
            make();
            let place = ds.join(foreign);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(&place, "precious").unwrap();
            let before = out(&["dump", text(&ds)]);
            for args in [
                vec!["rm", text(&ds)],
                vec!["gen", "--clobber", "-o", text(&ds), text(&cdl)],
                vec!["copy", "--clobber", text(&cdl.with_extension("nc")), text(&ds)],
                vec!["copy", "--clobber", "--dry-run", text(&cdl.with_extension("nc")), text(&ds)],
            ] {
                if !cdl.with_extension("nc").exists() {
                    out(&["gen", "-k", "nc4", "-o", text(&cdl.with_extension("nc")), text(&cdl)]);
                }
                let (code, message) = failure(&args);
                assert!(
                    code == 1 && message.contains(foreign) && message.contains("not part of"),
                    "{kind} {args:?}: {message}"
                );
                assert_eq!(fs::read(&place).unwrap(), b"precious");
                assert_eq!(out(&["dump", text(&ds)]), before);
            }
            out(&["rm", "--force", text(&ds)]);
            assert!(!ds.exists());
        }
        make();
        // Leftovers of killed writers.
        let partial = format!("v/0.0.{}.partial", "0f".repeat(16));
        for left in [partial.as_str(), "v/.nczarr-tmp-1-2", ".nczarr-lock"] {
            fs::write(ds.join(left), "").unwrap();
        }
        assert_eq!(out(&["gen", "--clobber", "-o", &url(kind), text(&cdl)]), "");
        assert_eq!(out(&["rm", text(&ds)]), "");
        assert!(!ds.exists());
    }
}

#[test]
fn failures_name_the_place_and_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    let url = store::ocean(folder.path());
    let url = text(&url);
    let gone = folder.path().join("gone.zarr");
    for (args, code, part) in [
        (vec!["dump", text(&gone)], 1, "gone.zarr: NC_ENOTFOUND: "),
        (
            vec!["dump", "-v", "nosuch", url],
            1,
            "ocean.zarr: NC_ENOTVAR: -v nosuch: no such variable; there are: /time, /t, ",
        ),
        (vec!["dump", "-p", "0", url], 2, "'-p <F[,D]>'"),
        (vec!["dump", "-h", "-c", url], 2, "cannot be used with"),
        (vec!["cat", url], 1, "NC_ENOTVAR: which variable? There are: /time, /t, "),
        (vec!["cat", url, "/nosuch"], 1, "NC_ENOTVAR"),
        (vec!["cat", url, "/t", "--start", "1"], 2, "--start: 1 given, the variable has 2 dimensions"),
        (vec!["cat", url, "/t", "--start", "x,1"], 2, "'--start <I,…>'"),
        (vec!["cat", url, "/t", "--stride", "1,0"], 2, "--stride: 0 is not a valid step"),
        (vec!["cat", url, "/t", "--count", "9,1"], 1, "NC_EEDGE"),
        (vec!["cat", url, "/name", "--format", "raw"], 1, "NC_EBADTYPE: /name: "),
        (vec!["cat", url, "/name", "--format", "npy"], 1, "NC_EBADTYPE: /name: "),
        (vec!["cat", url, "/t", "--format", "xml"], 2, "'--format <FORMAT>'"),
        (vec!["nosuch"], 2, "nosuch"),
        (vec!["--trace=loud", "plugins"], 2, "'--trace[=<N>]'"),
    ] {
        let (found, message) = failure(&args);
        assert_eq!(found, code, "{args:?}: {message}");
        assert!(message.contains(part), "{args:?}: {message}");
    }
    let (_, message) = failure(&["dump", "https://me:hush@h.example/x?hush#mode=zarr"]);
    assert!(!message.contains("hush"), "{message}");
}

#[test]
fn the_log_goes_to_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let url = store::ocean(folder.path());
    let log = |command: &mut Command| String::from_utf8(command.output().unwrap().stderr).unwrap();
    let args = ["dump", "-h", text(&url)];
    assert_eq!(log(ncz().args(args)), "");
    let calls = log(ncz().arg("--trace").args(args));
    assert!(calls.contains("DEBUG") && calls.contains("open") && !calls.contains("TRACE"), "{calls}");
    let same = log(ncz().env("NCTRACING", "5").args(args));
    assert_eq!(same.lines().count(), calls.lines().count(), "{same}");
    let all = log(ncz().args(args).arg("--trace=9"));
    assert!(all.contains("TRACE") && all.contains(".zgroup"), "{all}");
    let by_url = log(ncz().args(["dump", "-h", &format!("file://{}#mode=nczarr&log", text(&url))]));
    assert!(by_url.contains("DEBUG"), "{by_url}");
    let output = ncz().env("NCTRACING", "loud").args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("NCTRACING=loud"));
}

#[test]
fn a_closed_output_pipe_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let url = store::one(folder.path());
    // Enough output to overflow a pipe without a reader.
    let meta =
        fs::read_to_string(url.join(".zarray")).unwrap().replace("\"shape\": [4]", "\"shape\": [400000]");
    fs::write(url.join(".zarray"), meta).unwrap();
    let mut child =
        ncz().args(["dump", text(&url)]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_closed_log_pipe_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let url = store::one(folder.path());
    let copy = folder.path().join("copy.zarr");
    for (args, code) in [
        (vec!["--trace=9", "copy", text(&url), text(&copy)], 0),
        (vec!["--trace=9", "dump", text(&copy)], 0),
        (vec!["dump", "/nothing/there"], 1),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = ncz().args(&args).stdout(Stdio::null()).stderr(writer).status().unwrap();
        assert_eq!(status.code(), Some(code), "{args:?}");
    }
    assert_eq!(out(&["cat", text(&copy), "--format", "text"]), "1 2 7 7\n");
}

//! `dump`: the forms of its text, and the program under the names of the old tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::{failure, out, run, text};

const CDL: &str = r#"netcdf a {
dimensions: x = 2; y = 3; t = UNLIMITED; s = 4; one = 1;
variables:
 int v(x,y); v:units="m"; v:_FillValue=-1;
 double sc; float z(y); char c(x,s); double time(t); time:units="hours since 2000-01-01"; time:bounds="tb";
 double tb(t,one); time:when = 1.5, 2.25 ; time:far = 0., 24., 48.5 ;
 short w(t,one,x);
 :title = "a & <b> \"q\"\n"; :num = 1.5, 2. ; :sh = 1s,2s;
data:
 v = 1,2,_,4,5,6; sc = 1.5; z = 1,2,3; c="abc","de"; time=0.5,36.5; tb=0,1; w = 1,2,3,4;
}"#;

fn sample() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (cdl, file) = (folder.path().join("a.cdl"), folder.path().join("a.nc"));
    fs::write(&cdl, CDL).unwrap();
    out(&["gen", "-3", "-o", text(&file), text(&cdl)]);
    (folder, file)
}

fn data(flags: &[&str], file: &Path) -> String {
    let printed = out(&[&["dump"], flags, &[text(file)]].concat());
    printed.split_once("data:\n").unwrap().1.to_owned()
}

#[test]
fn brief_comments_mark_rows() {
    let (_folder, file) = sample();
    let expected = "\n v =\n  // v(0, 0-2)\n    1, 2, _,\n  // v(1, 0-2)\n    4, 5, 6 ;\n\n c =\n  // c(0, 0-3)\n    \"abc\",\n  \
                    // c(1, 0-3)\n    \"de\" ;\n\n tb =\n  // tb(0,0)\n    0,\n  // tb(1,0)\n    1 ;\n}\n";
    assert_eq!(data(&["-b", "c", "-v", "v,c,tb"], &file), expected);
    let expected = "\n z = 1, 2, 3 ;\n\n w =\n  // w(1-2 ,1,1)\n    1, 2,\n  // w(1-2 ,1,2)\n    3, 4 ;\n}\n";
    assert_eq!(data(&["-bf", "-v", "w,z"], &file), expected);
}

#[test]
fn full_comments_mark_elements() {
    let (_folder, file) = sample();
    let expected = "\n v =\n  1,   // v(0,0)\n    2,   // v(0,1)\n    _,  // v(0,2)\n    4,   // v(1,0)\n    5,   // v(1,1)\n    \
                    6;  // v(1,2)\n    \n sc = 1.5;  // sc(0)\n    \n c =\n  \"abc\",  // c(0,3)\n    \"de\";  // c(1,3)\n    }\n";
    assert_eq!(data(&["-f", "c", "-v", "v,sc,c"], &file), expected);
    assert!(data(&["-f", "F", "-v", "v"], &file).contains("    4,   // v(1,2)\n    5,   // v(2,2)\n"));
}

#[test]
fn numbers_of_time_variables_are_dates() {
    let (_folder, file) = sample();
    let printed = out(&["dump", "-t", text(&file)]);
    for line in [
        "\t\ttime:when = 1.5, 2.25 ; // \"2000-01-01 01:30\", \"2000-01-01 02:15\"\n",
        "\t\ttime:far = 0., 24., 48.5 ;\n\t\t  // \"2000-01-01\", \"2000-01-02\", \"2000-01-03 00:30\"\n",
        "\n time = \"2000-01-01 00:30\", \"2000-01-02 12:30\" ;\n",
        "\n tb =\n  \"2000-01-01\",\n  \"2000-01-01 01\" ;\n",
        "\n sc = 1.5 ;\n",
    ] {
        assert!(printed.contains(line), "{line}\n{printed}");
    }
    assert!(data(&["-i"], &file).contains("\"2000-01-01T00:30\", \"2000-01-02T12:30\""));
}

/// The reference's output for its own calendars.
#[test]
fn times_of_the_reference() {
    let Some(root) = std::env::var_os("NCZ_CORPUS").map(PathBuf::from) else { return };
    let folder = root.join("netcdf-c/upstream/ncdump");
    let made = tempfile::tempdir().unwrap();
    for (source, name, expected) in [
        ("tst_calendars.cdl", "tst_times", "ref_times.cdl"),
        ("tst_mslp.cdl", "", ""),
        ("ref_test_360_day_1900.nc", "test_360_day_1900", "ref_test_360_day_1900.cdl"),
        ("ref_test_365_day_1900.nc", "test_365_day_1900", "ref_test_365_day_1900.cdl"),
        ("ref_test_366_day_1900.nc", "test_366_day_1900", "ref_test_366_day_1900.cdl"),
    ] {
        let (mut path, expected) = (folder.join(source), folder.join(expected));
        if expected == folder {
            continue;
        }
        if source.ends_with(".cdl") {
            let target = made.path().join("made.nc");
            out(&["gen", "-3", "-o", text(&target), text(&path)]);
            path = target;
        }
        let printed = run(["dump", "-t", "-n", name, text(&path)]);
        let message = String::from_utf8_lossy(&printed.stderr);
        assert_eq!(
            String::from_utf8_lossy(&printed.stdout),
            fs::read_to_string(expected).unwrap(),
            "{source} {message}"
        );
    }
}

#[test]
fn the_header_as_ncml() {
    let (_folder, file) = sample();
    let printed = out(&["dump", "-x", text(&file)]);
    for line in [
        "  <dimension name=\"t\" length=\"2\" isUnlimited=\"true\" />\n",
        "  <attribute name=\"title\" value=\"a &amp; &lt;b&gt; &quot;q&quot;&#xA;\" />\n",
        "  <attribute name=\"num\" type=\"double\" value=\"1.5 2.\" />\n",
        "  <variable name=\"w\" shape=\"t one x\" type=\"short\">\n  </variable>\n",
        "    <attribute name=\"_FillValue\" type=\"int\" value=\"-1\" />\n",
    ] {
        assert!(printed.contains(line), "{line}\n{printed}");
    }
    assert!(printed.ends_with("</netcdf>\n"));
}

#[test]
fn ncml_writes_nan_and_infinity_as_c_does() {
    let folder = tempfile::tempdir().unwrap();
    let (source, file) = (folder.path().join("a.cdl"), folder.path().join("a.nc"));
    fs::write(&source, "netcdf a { :d = NaN, 1.5, Infinity, -Infinity ; :f = NaNf, 1.f, -Infinityf ; }")
        .unwrap();
    out(&["gen", "-3", "-o", text(&file), text(&source)]);
    let printed = out(&["dump", "-x", text(&file)]);
    assert!(printed.contains("type=\"double\" value=\"nan 1.5 inf -inf\""), "{printed}");
    assert!(printed.contains("type=\"float\" value=\"nan 1. -inf\""), "{printed}");
}

#[test]
fn everything_as_json() {
    let (_folder, file) = sample();
    let json: Value = serde_json::from_str(&out(&["dump", "--json", "-t", text(&file)])).unwrap();
    let vars = &json["variables"];
    assert_eq!(vars["v"]["data"], json!([[1, 2, -1], [4, 5, 6]]));
    assert_eq!(vars["v"]["dimensions"], json!(["x", "y"]));
    assert_eq!(vars["sc"]["data"], json!(1.5));
    assert_eq!(vars["c"]["data"], json!(["abc", "de"]));
    assert_eq!(vars["w"]["data"], json!([[[1, 2]], [[3, 4]]]));
    assert_eq!(vars["time"]["data"], json!(["2000-01-01T00:30:00", "2000-01-02T12:30:00"]));
    assert_eq!(json["attributes"]["num"], json!({"type": "double", "value": [1.5, 2.0]}));
    assert_eq!(json["dimensions"]["t"], json!({"length": 2, "unlimited": true}));
    let json: Value = serde_json::from_str(&out(&["dump", "--json", "-v", "time", text(&file)])).unwrap();
    assert_eq!(json["variables"]["time"]["data"], json!([0.5, 36.5]));
    assert_eq!(json["variables"]["v"].get("data"), None);
}

#[test]
fn data_of_some_groups() {
    let folder = tempfile::tempdir().unwrap();
    let (cdl, target) = (folder.path().join("g.cdl"), folder.path().join("g.zarr"));
    fs::write(
        &cdl,
        "netcdf g { variables: int a; data: a = 1; group: h { variables: int b; data: b = 2; \
         group: i { variables: int c; data: c = 3; } } }",
    )
    .unwrap();
    out(&["gen", "-o", text(&target), text(&cdl)]);
    for (groups, shown) in
        [("h", "b = 2"), ("/h", "b = 2"), ("i", "c = 3"), ("/h/i", "c = 3"), ("/", "a = 1")]
    {
        let printed = out(&["dump", "-g", groups, text(&target)]);
        let values: Vec<&str> = printed.lines().filter(|line| line.contains(" = ")).map(str::trim).collect();
        assert_eq!(values, [format!("{shown} ;")], "{groups}");
    }
    assert!(failure(&["dump", "-g", "nix", text(&target)]).1.contains("no such group"));
}

#[test]
fn lines_as_long_as_asked_for() {
    let (_folder, file) = sample();
    assert_eq!(data(&["-l", "12", "-v", "z"], &file), "\n z = 1, \n    2, 3 ;\n}\n");
    assert!(failure(&["dump", "-l", "3", text(&file)]).1.contains("-l"));
}

#[cfg(unix)]
#[test]
fn the_names_of_the_old_tools() {
    let (folder, file) = sample();
    let tool = |name: &str, args: &[&str]| {
        let path = folder.path().join(name);
        if !path.exists() {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ncz"), &path).unwrap();
        }
        let output = Command::new(path)
            .args(args)
            .current_dir(folder.path())
            .env_remove("NCTRACING")
            .output()
            .unwrap();
        assert!(output.status.success(), "{name} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(tool("ncdump", &["-h", "a.nc"]), out(&["dump", "-h", text(&file)]));
    let cdl = text(&folder.path().join("a.cdl")).to_owned();
    tool("ncgen", &[&cdl]);
    assert!(!folder.path().join("b.nc").exists());
    let url = format!("file://{}#mode=nczarr,file", text(&folder.path().join("b.file")));
    for _ in 0..2 {
        tool("ncgen", &["-4", "-lb", "-o", &url, &cdl]);
    }
    let data = |printed: String| printed.split_once("data:").unwrap().1.to_owned();
    assert_eq!(data(tool("ncdump", &["-v", "v", &url])), data(tool("ncdump", &["-v", "v", "a.nc"])));
    tool("nccopy", &["a.nc", "c.nc"]);
    tool("nccopy", &["-k", "nc6", "a.nc", "c.nc"]);
    assert_eq!(tool("ncdump", &["-k", "c.nc"]), "64-bit offset\n");
}

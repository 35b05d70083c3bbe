//! Copies into formats with fewer types: objects in another form, objects left out, and the reports of both.

use std::path::{Path, PathBuf};

use super::{failure, out, run, text};

/// Makes a dataset from CDL text.
fn made(folder: &Path, name: &str, kind: &str, cdl: &str) -> PathBuf {
    let (written, path) = (folder.join("text.cdl"), folder.join(name));
    std::fs::write(&written, cdl).unwrap();
    out(&["gen", "-k", kind, "-o", text(&path), text(&written)]);
    path
}

/// Returns the report of a successful call.
fn report(args: &[&str]) -> String {
    let output = run(args);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{args:?}: {message}");
    message
}

const NULS: &str = r#"netcdf n {
types: compound pair { string name ; int i ; };
dimensions: n = 2 ;
variables:
    string s(n) ; string s:one = "a\000b" ; string s:list = "a", "c\000d" ; string s:plain = "p" ;
    pair p(n) ; pair q(n) ; pair q:deep = {"x\000y", 1} ;
    string :title = "t\000u" ;
data:
    s = "a\000b", "c" ;
    p = {"e\000f", 1}, {"g", 2} ;
    q = {"e", 1}, {"g", 2} ;
}"#;

/// Zarr V3 stores strings as UTF-8, and NCZarr stores other bytes as text of a fixed size.
#[test]
fn strings_of_other_encodings_reach_nczarr_v3() {
    let folder = tempfile::tempdir().unwrap();
    let cdl = "netcdf l { dimensions: n = 2 ; variables: string s(n) ; data: s = \"caf\\351\", \"tea\" ; }";
    for (name, kind) in [("s.nc", "nc4"), ("s.zarr", "nczarr")] {
        let source = made(folder.path(), name, kind, cdl);
        let target = folder.path().join(format!("{name}.v3.zarr"));
        let url = format!("file://{}#mode=nczarr,v3", text(&target));
        out(&["copy", text(&source), &url]);
        let dumped = run(["dump", text(&target)]).stdout;
        let holds = |wanted: &[u8]| dumped.windows(wanted.len()).any(|bytes| bytes == wanted);
        assert!(holds(b"s = \"caf\xe9\", \"tea\" ;"), "{name}: {}", String::from_utf8_lossy(&dumped));
    }
}

/// Readers of HDF5 end strings at the first NUL.
#[test]
fn strings_with_nul_inside_are_held_as_text_in_netcdf_4() {
    let folder = tempfile::tempdir().unwrap();
    let source = made(folder.path(), "s.zarr", "nczarr", NULS);
    let target = folder.path().join("t.nc");
    let (code, error) = failure(&["copy", "--strict", "-k", "nc4", text(&source), text(&target)]);
    assert!(code == 1 && error.contains("--strict") && !target.exists(), "{error}");
    let lost = report(&["copy", "-k", "nc4", text(&source), text(&target)]);
    for line in [
        "variables with type string, now char: /s\n",
        "attributes with type string, now char: /:title, /s:one, /s:list\n",
        "string lists of attributes, stored as lines of one text: /s:list\n",
        "attributes left out: /q:deep (NC_ECHAR",
    ] {
        assert!(lost.contains(&format!("loss: {line}")), "{line}{lost}");
    }
    let left = lost.lines().find(|line| line.contains("variables left out: ")).unwrap();
    assert!(left.contains("/p (NC_ECHAR") && !left.contains("/s ("), "{left}");
    let values = |url: &Path| out(&["dump", "-v", "q", text(url)]).split_once("data:").unwrap().1.to_owned();
    assert_eq!(values(&target), values(&source));
    assert_eq!(run(["cat", text(&target), "/s", "--format", "raw"]).stdout, b"a\0bc\0\0");
    let file = nczarr::open(text(&target)).unwrap();
    let (model, s) = (file.model(), file.variable("s").unwrap());
    let atts = &model.var(s.id()).unwrap().atts;
    assert_eq!(atts["one"], nczarr::Values::Char(b"a\0b".to_vec()));
    assert_eq!(atts["list"], nczarr::Values::Char(b"a\nc\0d".to_vec()));
    assert_eq!(atts["plain"], nczarr::Values::String(vec!["p".into()]));
    // Rows are filled with NULs.
    let source = format!("file://{}#mode=zarr,v3", folder.path().join("end.zarr").display());
    let cdl = folder.path().join("text.cdl");
    std::fs::write(
        &cdl,
        "netcdf e { dimensions: n = 2 ; variables: string end(n) ; data: end = \"c\", \"d\\000\" ; }",
    )
    .unwrap();
    out(&["gen", "-o", &source, text(&cdl)]);
    let message = report(&["copy", "-k", "nc4", &source, text(&folder.path().join("end.nc"))]);
    assert!(message.contains("loss: variables left out: /end (NC_ECHAR"), "{message}");
}

#[test]
fn netcdf_4_refuses_strings_with_nul_inside() {
    let folder = tempfile::tempdir().unwrap();
    for (variable, data, line, place) in [
        ("string v(n) ;", "v = \"a\",\n\"b\\000c\" ;", "text.cdl:", "/v[1]"),
        ("pair v(n) ;", "v = {\"a\", 1},\n{\"b\\000c\", 2} ;", "text.cdl:", "/v[1]"),
        ("many v(n) ;", "v = {\"a\", \"b\\000c\"}, {\"d\"} ;", "text.cdl:", "/v[0]"),
        ("int v(n) ;\nstring v:a = \"x\", \"b\\000c\" ;", "", "text.cdl:", "a[1]"),
        ("string v(n) ;\nstring v:_FillValue = \"b\\000c\" ;", "", "text.cdl:", "_FillValue"),
    ] {
        let types = "compound pair { string name ; int i ; }; string(*) many ;";
        let cdl = format!(
            "netcdf n {{ types: {types}\ndimensions: n = 2 ;\nvariables:\n{variable}\ndata:\n{data}\n}}"
        );
        let (written, target) = (folder.path().join("text.cdl"), folder.path().join("t.nc"));
        std::fs::write(&written, cdl).unwrap();
        let (code, error) = failure(&["gen", "-k", "nc4", "-o", text(&target), text(&written)]);
        assert!(
            code == 1 && error.contains("NC_ECHAR") && error.contains("NUL"),
            "{variable} {data}: {error}"
        );
        assert!(error.contains(place) && error.contains(line), "{variable} {data}: {error}");
        assert!(!target.exists(), "{variable} {data}");
    }
}

#[test]
fn a_dimension_made_fixed_limits_its_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let cdl = "netcdf m { dimensions: t = UNLIMITED ; u = UNLIMITED ; variables: int a(t) ; int b(u) ; \
               data: a = 1, 2 ; b = 1 ; }";
    let source = made(folder.path(), "m.nc", "nc4", cdl);
    let target = folder.path().join("m7.nc");
    let message = report(&["copy", "-7", text(&source), text(&target)]);
    assert!(message.contains("loss: dimensions no longer unlimited: /u"), "{message}");
    for var in ["/a", "/b"] {
        let values = |url: &Path| out(&["cat", text(url), var, "--format", "text"]);
        assert_eq!(values(&target), values(&source));
    }
}

/// Classic files have the most significant byte first, characters like any others.
#[test]
fn characters_have_no_byte_order() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/hdf4/types.hdf");
    let header = out(&["dump", text(&source)]);
    assert!(
        header.contains("char ") && !out(&["dump", "-s", text(&source)]).contains("char:_Endianness"),
        "{header}"
    );
    for kind in ["nc4", "nczarr", "zarr"] {
        let target = folder.path().join(kind);
        report(&["copy", "-k", kind, text(&source), text(&target)]);
        let data =
            |url: &Path| out(&["dump", "-n", "x", text(url)]).split_once("data:").unwrap().1.to_owned();
        assert_eq!(data(&target), data(&source), "{kind}");
    }
}

#[test]
fn shards_by_size_are_for_dimensions_without_length_too() {
    let folder = tempfile::tempdir().unwrap();
    let cdl = "netcdf e { dimensions: t = UNLIMITED ; x = 4 ; variables: int a(t, x) ; int b(x) ; data: b = 1, 2, 3, 4 ; }";
    let source = made(folder.path(), "e.zarr", "nczarr", cdl);
    let target = format!("file://{}#mode=nczarr,v3", folder.path().join("t.zarr").display());
    assert_eq!(out(&["copy", "--shards", "64M", text(&source), &target]), "");
    assert_eq!(out(&["dump", "-n", "x", &target]), out(&["dump", "-n", "x", text(&source)]));
    assert!(out(&["dump", "-h", "-s", &target]).contains("a:_ShardSizes"));
}

#[test]
fn an_unsupported_layout_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let source = made(
        folder.path(),
        "z.zarr",
        "nczarr",
        "netcdf z { dimensions: n = 4 ; variables: int v(n) ; int s ; \
                      data: v = 1, 2, 3, 4 ; s = 1 ; }",
    );
    for kind in ["classic", "64-bit offset", "cdf5"] {
        for (flags, part) in [
            (&["-d", "9"][..], "a filter"),
            (&["-F", "v,zstd,1"], "a filter"),
            (&["-c", "n/2"], "a chunk shape"),
            (&["-c", "v:2"], "a chunk shape"),
        ] {
            let target = folder.path().join("t.nc");
            let args = [&["copy", "-k", kind, text(&source), text(&target)], flags].concat();
            let (code, error) = failure(&args);
            assert!(
                code == 1 && error.contains("NC_ENOTNC4: /v: ") && error.contains(part),
                "{args:?}: {error}"
            );
            assert!(!target.exists(), "{args:?}");
        }
        // No request goes beyond the format.
        for flags in [&["-d", "0"][..], &["-F", "none"], &["-s"], &["-F", "s,zstd,1"]] {
            let target = folder.path().join("t.nc");
            assert_eq!(
                out(&[&["copy", "--clobber", "-k", kind, text(&source), text(&target)], flags].concat()),
                ""
            );
            std::fs::remove_file(target).unwrap();
        }
    }
}

/// Under the old tool's name it is only reported.
#[cfg(unix)]
#[test]
fn nccopy_reports_an_unsupported_layout() {
    let folder = tempfile::tempdir().unwrap();
    let source = made(
        folder.path(),
        "z.zarr",
        "nczarr",
        "netcdf z { dimensions: n = 4 ; variables: int v(n) ; \
                      data: v = 1, 2, 3, 4 ; }",
    );
    let (nccopy, target) = (folder.path().join("nccopy"), folder.path().join("t.nc"));
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ncz"), &nccopy).unwrap();
    let call = |flags: &[&str]| {
        let args = [flags, &["-k", "classic", "-d", "5", "-c", "n/2", text(&source), text(&target)]].concat();
        std::process::Command::new(&nccopy).args(args).env_remove("NCTRACING").output().unwrap()
    };
    let output = call(&[]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{message}");
    assert!(message.contains("loss: filters left out: /v (NC_ENOTNC4"), "{message}");
    assert!(message.contains("loss: chunks left out: /v (NC_ENOTNC4"), "{message}");
    assert_eq!(out(&["cat", text(&target), "--format", "text"]), "1 2 3 4\n");
    std::fs::remove_file(&target).unwrap();
    assert!(!call(&["--strict"]).status.success() && !target.exists());
}

/// Stored types with more meaning than the type of their elements.
#[test]
fn changed_stored_types_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    for (name, dtype, bytes, there) in [
        ("date", "<M8[s]", vec![1; 16], "string"),
        ("span", "<m8[ms]", vec![1; 16], "string"),
        ("truth", "|b1", vec![1, 0], "ubyte"),
        ("half", "<f2", vec![0, 0x3c, 0, 0], "float"),
        ("wide", "<U2", vec![65, 0, 0, 0, 66, 0, 0, 0, 67, 0, 0, 0, 0, 0, 0, 0], "string"),
        ("plain", "<i2", vec![1, 0, 2, 0], ""),
        ("text", "|S2", vec![65, 66, 67, 0], ""),
    ] {
        let source = folder.path().join(name);
        std::fs::create_dir_all(source.join("v")).unwrap();
        let array = format!(
            r#"{{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "{dtype}", "fill_value": null, "order": "C",
            "compressor": null, "filters": null}}"#
        );
        std::fs::write(source.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
        std::fs::write(source.join("v/.zarray"), array).unwrap();
        std::fs::write(source.join("v/.zattrs"), r#"{"_ARRAY_DIMENSIONS": ["x"]}"#).unwrap();
        std::fs::write(source.join("v/0"), bytes).unwrap();
        for kind in ["zarr", "zarr,v3", "nczarr", "nc4"] {
            let path = folder.path().join("target");
            let target = format!("file://{}#mode={kind}", path.display());
            let message = report(&["copy", "--clobber", text(&source), &target]);
            let line = format!("loss: variables with stored type {dtype}, now ");
            assert_eq!(message.contains(&line), !there.is_empty(), "{dtype} {kind}: {message}");
            if !there.is_empty() {
                assert!(
                    message.lines().any(|message| message.contains(&line) && message.ends_with(": /v")),
                    "{dtype} {kind}: {message}"
                );
                assert!(
                    failure(&["copy", "--clobber", "--strict", text(&source), &target])
                        .1
                        .contains("--strict")
                );
            }
            let values = |url: &str| out(&["cat", url, "--format", "json"]);
            if there.is_empty() || there == "string" {
                assert_eq!(values(&target), values(text(&source)), "{dtype} {kind}");
            }
        }
    }
}

/// A dimension or type that hides another of its name does not change the other's meaning.
#[test]
fn a_type_that_is_hidden_by_another_is_named_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let cdl = "netcdf ty {
types: byte enum eb { a = -128, b = 127 } ; int(*) list ; compound one { int i ; } ;
dimensions: n = 2 ;
group: g {
  types: int enum eb { a = 1, b = 2 } ; compound both { /eb far ; eb near ; } ; /eb(*) many ; eb(*) list ;
    compound one { /one o ; } ;
  variables: /eb r(n) ; eb s(n) ; both t ; /list w ; one x ;
    /eb r:there = b ; eb r:here = b ;
    /eb :far = a ;
  data: r = a, b ; s = a, b ; t = {a, b} ; w = {1, 2} ; x = {{5}} ;
  group: h { variables: /g/eb u ; /eb v ; data: u = b ; v = b ; }
}
}";
    for kind in ["nc4", "nczarr"] {
        let source = made(folder.path(), &format!("{kind}.ty"), kind, cdl);
        let printed = out(&["dump", "-n", "ty", text(&source)]);
        for line in [
            "/eb r(n) ;",
            "\teb s(n) ;",
            "/eb far ;",
            "  eb near ;",
            "/eb(*) many",
            "/eb v ;",
            "\teb u ;",
            "/eb r:there = b ;",
            "\teb r:here = b ;",
            "/eb :far = a ;",
            "/list w ;",
            "/one o ;",
            "\tone x ;",
        ] {
            assert!(printed.contains(line), "{line}\n{printed}");
        }
        let again = made(folder.path(), &format!("again.{kind}"), kind, &printed);
        assert_eq!(out(&["diff", text(&source), text(&again)]), "");
        assert_eq!(out(&["dump", "-n", "ty", text(&again)]), printed);
        let json: serde_json::Value = serde_json::from_str(&out(&["dump", "--json", text(&source)])).unwrap();
        let g = &json["groups"]["g"];
        for (place, want) in [
            ("/variables/r/type", "/eb"),
            ("/variables/s/type", "eb"),
            ("/variables/w/type", "/list"),
            ("/types/both/fields/0/type", "/eb"),
            ("/types/both/fields/1/type", "eb"),
            ("/types/many/base", "/eb"),
            ("/variables/r/attributes/there/type", "/eb"),
            ("/variables/r/attributes/here/type", "eb"),
            ("/attributes/far/type", "/eb"),
            ("/groups/h/variables/u/type", "eb"),
            ("/groups/h/variables/v/type", "/eb"),
        ] {
            assert_eq!(g.pointer(place).and_then(serde_json::Value::as_str), Some(want), "{place} {g}");
        }
    }
}

#[test]
fn text_of_a_fixed_size_that_ends_with_nul_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("text.cdl");
    std::fs::write(
        &written,
        "netcdf n { dimensions: n = 2 ; variables: string s(n) ; data: s = \"a\\000b\", \"d\\000\" ; }",
    )
    .unwrap();
    for kind in ["nczarr", "zarr"] {
        let target = folder.path().join(kind);
        let (code, error) = failure(&["gen", "-k", kind, "-o", text(&target), text(&written)]);
        assert!(code == 1 && error.contains("NC_ECHAR") && error.contains("/s[1]"), "{kind}: {error}");
    }
}

#[test]
fn the_classic_model_holds_strings_as_text_and_numbers_in_wider_types() {
    let folder = tempfile::tempdir().unwrap();
    let cdl = "netcdf m { dimensions: n = 2 ; variables: string s(n) ; uint u(n) ; u:top = 7u ; string s:a = \"x\" ; \
               data: s = \"a\", \"bc\" ; u = 1, 2 ; }";
    let (source, target) = (made(folder.path(), "m.nc", "nc4", cdl), folder.path().join("m7.nc"));
    assert!(
        report(&["copy", "-7", text(&source), text(&target)])
            .contains("variables with type uint, now int: /u")
    );
    let printed = out(&["dump", text(&target)]);
    for line in [
        "char s(n, string2) ;",
        "int u(n) ;",
        "\"a\",",
        "\"bc\" ;",
        "u:top = 7 ;",
        "s:a = \"x\" ;",
        "u = 1, 2 ;",
    ] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
}

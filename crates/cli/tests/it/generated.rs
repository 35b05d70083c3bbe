//! `gen`: CDL text becomes a dataset, and prints as it should.
//!
//! A part of the corpus lies in the repository; `NCZ_CORPUS` names the whole of it. The texts of netCDF-C's own tests and
//! what its tools print of them are in the whole one only.

use std::fs;
use std::path::{Path, PathBuf};

use crate::chain::{classic_files, kind};
use crate::{failure, out, run, text};

/// What netCDF-C prints of these is not what the text beside it says, or not what ours does.
const OTHERWISE: &[(&str, &str)] = &[
    ("ref_niltest", "an empty string prints as \"\", not as NIL"),
    ("ref_tst_h_scalar", "the same"),
    ("ref_tst_chardata", "printed of an earlier text with 4 records"),
    ("ref_tst_nul4", "the text itself, without the printer's indentation"),
    ("ref_tst_special_atts3", "printed with special attributes"),
    ("ref_tst_unlim2", "printed of another text"),
    ("ref_tst_econst", "the text itself, without the printer's blanks"),
    ("ref_tst_special_atts", "printed with special attributes"),
    ("ref_tst_vlen_data2", "ncgen defines types in another order than the text"),
    ("ref_typescope", "types that are equal but for their names are one to the reference"),
    ("unlimtest2", "ncgen writes fill values of fields where a text says nothing; here nothing is written"),
];

/// Makes a dataset of a text; what was told if that failed.
fn generate(cdl: &Path, kind: &str, target: &Path) -> Result<(), String> {
    let made = run(["gen", "-k", kind, "-o", text(target), text(cdl)]);
    let told = String::from_utf8_lossy(&made.stderr).into_owned();
    if made.status.success() && told.is_empty() { Ok(()) } else { Err(told) }
}

/// The text after its first line, which has the name.
fn body(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, body)| body)
}

#[test]
fn texts_of_the_reference_print_as_it_prints_them() {
    let Some(root) = std::env::var_os("NCZ_CORPUS").map(PathBuf::from) else { return };
    let folder = root.join("netcdf-c/upstream/ncdump");
    let (mut same, mut lacking) = (0, 0);
    let mut bad = Vec::new();
    for entry in fs::read_dir(folder.join("expected")).unwrap() {
        let expected = entry.unwrap().path();
        let name = expected.file_stem().unwrap().to_str().unwrap().to_owned();
        // Terabytes of fill values.
        if OTHERWISE.iter().any(|(known, _)| *known == name) || name.starts_with("big") {
            continue;
        }
        let cdl = folder.join("cdl").join(format!("{name}.cdl"));
        let made = tempfile::tempdir().unwrap();
        let target = made.path().join("x");
        // Formats without user-defined types, or with one unlimited dimension, cannot hold all of them.
        let told = match generate(&cdl, "nczarr", &target) {
            Err(told) if told.contains("UTF-8") => generate(&cdl, "cdf5", &target).err(),
            other => other.err(),
        };
        if let Some(told) = told {
            assert!(told.contains("user-defined types"), "{name}: {told}");
            lacking += 1;
            continue;
        }
        let printed = out(&["dump", text(&target)]);
        let expected = fs::read_to_string(&expected).unwrap();
        if body(&printed) == body(&expected) {
            same += 1;
        } else {
            let line = body(&expected).lines().zip(body(&printed).lines()).find(|(want, found)| want != found);
            bad.push(format!("{name}: {line:?}"));
        }
    }
    println!("{same} as the reference prints them, {lacking} with types no format here holds");
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    assert!(same >= 30, "{same}");
}

/// What netCDF-C printed of its own test files, and why that does not come back as it is.
const NOT_THE_SAME: &[(&str, &str)] = &[
    ("ref_niltest", "an empty string prints as \"\", not as NIL"),
    ("ref_tst_h_scalar", "the same"),
    ("ref_tst_nul4", "written by hand, without the printer's indentation"),
    ("ref_tst_econst", "written by hand, without the printer's blanks"),
    ("ref_tst_special_atts", "printed with special attributes, without data"),
    ("ref_tst_special_atts3", "the same"),
    ("ref_tst_unlim2", "text along an unlimited dimension without the braces that it needs"),
];

#[test]
fn what_the_reference_prints_comes_back_from_every_format() {
    let Some(root) = std::env::var_os("NCZ_CORPUS").map(PathBuf::from) else { return };
    let expected = root.join("netcdf-c/upstream/ncdump/expected");
    let made = tempfile::tempdir().unwrap();
    let mut bad = Vec::new();
    for (kind, fragment, classic, least) in [
        ("classic", "", true, 29),
        ("64bitoffset", "", true, 29),
        ("cdf5", "", true, 30),
        ("nczarr", "", false, 47),
        ("nczarr", "#mode=nczarr,v3", false, 47),
        ("nc4", "", false, 47),
    ] {
        let (mut same, mut lacking) = (0, 0);
        for entry in fs::read_dir(&expected).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            // Terabytes of fill values.
            if NOT_THE_SAME.iter().any(|(known, _)| *known == name) || name.starts_with("big") {
                continue;
            }
            let target = made.path().join(format!("{name}.{kind}{}", fragment.len()));
            let to = format!("{}{fragment}", text(&target));
            let told = if fragment.is_empty() {
                run(["gen", "-k", kind, "-o", &to, text(&path)])
            } else {
                run(["gen", "-o", &to, text(&path)])
            };
            let told = String::from_utf8_lossy(&told.stderr).into_owned();
            // Types, groups and dimensions that the classic formats have not; names and text that NCZarr cannot hold.
            if !told.is_empty() {
                assert!(classic || told.contains("UTF-8"), "{name}: {kind}: {told}");
                lacking += 1;
                continue;
            }
            let lines = |text: &str| match classic {
                // There, lines of text are printed as lines.
                true => body(text).replace("\\n\",\n\t\t\t\"", "\\n"),
                false => body(text).to_owned(),
            };
            let want = lines(&fs::read_to_string(&path).unwrap());
            let found = lines(&out(&["dump", text(&target)]));
            if found == want {
                same += 1;
            } else {
                let line = want.lines().zip(found.lines()).find(|(want, found)| want != found);
                bad.push(format!("{name}: {kind}{fragment}: {line:?}"));
            }
        }
        println!("{kind}{fragment}: {same} the same, {lacking} hold what the format has not");
        assert!(same >= least, "{kind}{fragment}: {same}");
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn every_text_of_the_reference_is_understood() {
    let Some(root) = std::env::var_os("NCZ_CORPUS").map(PathBuf::from) else { return };
    let upstream = root.join("netcdf-c/upstream");
    let mut count = 0;
    for folder in ["ncdump", "ncdump/cdl", "ncgen", "nczarr_test"] {
        for entry in fs::read_dir(upstream.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            // Listings and templates that only end like CDL.
            if !name.ends_with(".cdl") || name.starts_with("ref_ut_map") || name == "ref_any.cdl" {
                continue;
            }
            let checked = run(["gen", "--check", text(&path)]);
            assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn every_classic_file_comes_back_from_its_text() {
    let mut bad = Vec::new();
    let files = classic_files();
    for (name, path) in &files {
        let folder = tempfile::tempdir().unwrap();
        let dump = |path: &Path| out(&["dump", "-n", "x", "-p", "9,17", text(path)]);
        let (before, cdl) = (dump(path), folder.path().join("x.cdl"));
        fs::write(&cdl, &before).unwrap();
        for kind in [kind(path), "nczarr"] {
            let target = folder.path().join(kind);
            match generate(&cdl, kind, &target) {
                Err(told) if kind == "nczarr" && told.contains("UTF-8") => {}
                Err(told) => bad.push(format!("{name}: {kind}: {told}")),
                Ok(()) => {
                    let after = dump(&target);
                    // Texts of classic files are broken where their lines end.
                    let before = match kind {
                        "nczarr" => before.replace("\\n\",\n\t\t\t\"", "\\n"),
                        _ => before.clone(),
                    };
                    if let Some(line) = before.lines().zip(after.lines()).find(|(before, after)| before != after) {
                        bad.push(format!("{name}: {kind}: {line:?}"));
                    }
                }
            }
        }
    }
    assert!(bad.is_empty(), "{} of {}:\n{}", bad.len(), files.len(), bad.join("\n"));
    assert!(files.len() > 2);
}

#[test]
fn everything_that_atomic_types_can_say() {
    let folder = tempfile::tempdir().unwrap();
    let (cdl, target) = (folder.path().join("a.cdl"), folder.path().join("a.zarr"));
    fs::write(
        &cdl,
        r#"netcdf a\ b { // a comment
dimensions: x = 3, y = 2 ; u = UNLIMITED ; v = unlimited ;
variables:
  float f(x, y), g ; f:_FillValue = -1.f ; f:_ChunkSizes = 2, 2 ; f:_DeflateLevel = 3 ; f:_Shuffle = "true" ;
  int64 big(u) ; uint64 most ; ubyte b(x) ; char c(x, y), one ; string s(y) ; short nested(u, v) ;
  double dimensions ; dimensions:units = "m" ;
  :text = "a", "b" ; string :list = "a", "b" ; :mixed = 1, 2.5 ; :hex = 0x1F, 017 ; :tagged = 1b, 2s, 3us ; f:range = 1b, 2b ;
  group: in\-side { dimensions: z = 2 ; variables: int i(z, x) ; data: i = 1, 2, 3, 4 ; }
data:
  f = 1, _, -0, NaN, 1e3 ; g = infinityf ; big = 9223372036854775807, -1ll ; most = 18446744073709551615ull ;
  b = -2, 'A' ; c = "ab", "c" ; one = 'z' ; s = "x\ty\x41\101", NIL ; nested = {1, 2, 3}, {}, {4} ;
  dimensions = .5 ;
}
"#,
    )
    .unwrap();
    let kind = format!("{}#mode=nczarr,file", text(&target));
    assert_eq!(out(&["gen", "-o", &kind, text(&cdl)]), "");
    let printed = out(&["dump", "-n", "a", text(&target)]);
    let group = printed.find("group: in").unwrap();
    for (line, inside) in [
        ("\tfloat f(x, y) ;\n\t\tf:_FillValue = -1.f ;\n\t\tf:range = 1b, 2b ;\n", false),
        (":text = \"ab\" ;\n\t\tstring :list = \"a\", \"b\" ;\n\t\t:mixed = 1., 2.5 ;\n\t\t:hex = 31, 15 ;\n", false),
        (":tagged = 1US, 2US, 3US ;\n", false),
        (" f =\n  1, _,\n  -0, NaNf,\n  1000, _ ;\n", false),
        (" g = Infinityf ;\n", false),
        (" big = 9223372036854775807, -1, _ ;\n", false),
        (" most = 18446744073709551615 ;\n", false),
        (" b = 254, 65, 255 ;\n", false),
        (" c =\n  \"ab\",\n  \"c\",\n  \"\" ;\n\n one = \"z\" ;\n", false),
        (" s = \"x\\tyAA\", \"\" ;\n", false),
        (" nested =\n  {1, 2, 3},\n  {_, _, _},\n  {4, _, _} ;\n", false),
        (" dimensions = 0.5 ;\n", false),
        ("i =\n  1, 2, 3,\n  4, _, _ ;\n", true),
    ] {
        let part = if inside { &printed[group..] } else { &printed[..group] };
        assert!(part.contains(line), "{line:?} in\n{printed}");
    }
    let special = out(&["dump", "-hs", text(&target)]);
    for line in ["f:_ChunkSizes = 2, 2 ;", "f:_Shuffle = \"true\" ;", "f:_DeflateLevel = 3 ;"] {
        assert!(special.contains(line), "{special}");
    }
}

#[test]
fn a_mistake_is_told_with_its_place_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (cdl, target) = (folder.path().join("a.cdl"), folder.path().join("a.nc"));
    let head = "netcdf a {\ndimensions:\n x = 2 ;\nvariables:\n int i(x) ;\n";
    for (rest, place, told) in [
        ("data:\n i = 1, 2, 3 ;\n}", "7:14", "more than 2 values"),
        ("data:\n i = 1, 5000000000 ;\n}", "7:9", "5000000000 is no value of type int"),
        ("data:\n i = 1, \"a\" ;\n}", "7:9", "found text"),
        ("data:\n i = 1, 2.5 ;\n}", "7:9", "2.5 is no value of type int"),
        ("data:\n j = 1 ;\n}", "7:2", "no variable \"j\""),
        ("data:\n i = 1 2 ;\n}", "7:8", "';' or ',' after a value"),
        ("data:\n i = 1\n}", "7:2", "data without a ';'"),
        (" int k(y) ;\n}", "6:6", "no dimension \"y\""),
        (" blob k(x) ;\n}", "6:2", "no type \"blob\""),
        (" int i(x) ;\n}", "6:6", "NC_ENAMEINUSE"),
        (" i:a = 1e400 ;\n}", "6:8", "1e400 is no value of type double"),
        (" i:a = 12zz ;\n}", "6:12", "\"12zz\" is no number"),
        (" i:a = \"x ;\n}", "6:9", "a text without an end"),
        (" i:_ChunkSizes = 1, 2, 3 ;\n}", "6:2", "NC_E"),
        (" i:_Endianness = \"middle\" ;\n}", "6:2", "expected \"little\", \"big\" or \"native\""),
        ("", "6:1", "found the end of the text"),
        ("} }", "6:3", "expected the end of the text"),
    ] {
        fs::write(&cdl, format!("{head}{rest}")).unwrap();
        let (code, said) = failure(&["gen", "-k", "nczarr", "-o", text(&target), text(&cdl)]);
        assert!(code == 1 && said.contains(told), "{rest}: {said}");
        assert!(said.starts_with(&format!("ncz: {}:{place}: ", cdl.display())), "{rest} at {place}: {said}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{rest}");
    }
}

#[test]
fn the_kind_is_what_is_asked_for_else_what_the_text_says() {
    let folder = tempfile::tempdir().unwrap();
    let cdl = folder.path().join("a.cdl");
    let target = folder.path().join("t.nc");
    for (args, att, want) in [
        (&["-3"][..], "", "classic"),
        (&["-6"], "", "64-bit offset"),
        (&["-5"], "", "cdf5"),
        (&["-k", "nc5"], ":_Format = \"classic\" ;", "cdf5"),
        (&[], ":_Format = \"64-bit offset\" ;", "64-bit offset"),
        (&[], "", "classic"),
    ] {
        fs::write(&cdl, format!("netcdf a {{\n{att}\n}}\n")).unwrap();
        let args = [&["gen", "--clobber", "-o", text(&target)], args, &[text(&cdl)]].concat();
        assert_eq!(out(&args), "");
        assert_eq!(out(&["dump", "-k", text(&target)]).trim_end(), want, "{args:?}");
    }
    let (code, told) = failure(&["gen", "-o", text(&target), text(&cdl)]);
    assert!(code == 1 && told.contains("NC_EEXIST"), "{told}");
}

//! `gen`: CDL text becomes a dataset that prints as expected.
//!
//! The repository contains a part of the corpus. `NCZ_CORPUS` names the whole corpus. Only the whole corpus
//! has the texts of netCDF-C's tests, with the output of its tools.

use std::fs;
use std::path::{Path, PathBuf};

use crate::chain::{classic_files, kind};
use crate::{failure, out, run, text};

/// Makes a dataset from a text; returns the message of a failure.
fn generate(cdl: &Path, kind: &str, target: &Path) -> Result<(), String> {
    let made = run(["gen", "-k", kind, "-o", text(target), text(cdl)]);
    let message = String::from_utf8_lossy(&made.stderr).into_owned();
    if made.status.success() && message.is_empty() { Ok(()) } else { Err(message) }
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
                Err(message) if kind == "nczarr" && message.contains("UTF-8") => {}
                Err(message) => bad.push(format!("{name}: {kind}: {message}")),
                Ok(()) => {
                    let after = dump(&target);
                    // Texts of classic files are broken at line ends.
                    let before = match kind {
                        "nczarr" => before.replace("\\n\",\n\t\t\t\"", "\\n"),
                        _ => before.clone(),
                    };
                    if let Some(line) =
                        before.lines().zip(after.lines()).find(|(before, after)| before != after)
                    {
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
fn every_cdl_feature_of_atomic_types() {
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
        (
            ":text = \"ab\" ;\n\t\tstring :list = \"a\", \"b\" ;\n\t\t:mixed = 1., 2.5 ;\n\t\t:hex = 31, 15 ;\n",
            false,
        ),
        (":tagged = 1US, 2US, 3US ;\n", false),
        (" f =\n  1, _,\n  -0, NaNf,\n  1000, _ ;\n", false),
        (" g = Infinityf ;\n", false),
        (" big = 9223372036854775807, -1, _ ;\n", false),
        (" most = 18446744073709551615 ;\n", false),
        (" b = 254, 65, 255 ;\n", false),
        (" c =\n  \"ab\",\n  \"c\",\n  \"\" ;\n\n one = \"z\" ;\n", false),
        (" s = \"x\\tyAA\", NIL ;\n", false),
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
fn an_error_names_line_and_column_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (cdl, target) = (folder.path().join("a.cdl"), folder.path().join("a.nc"));
    let head = "netcdf a {\ndimensions:\n x = 2 ;\nvariables:\n int i(x) ;\n";
    for (rest, place, message) in [
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
        (" i:a = 12zz ;\n}", "6:12", "\"12zz\" is not a number"),
        (" i:a = \"x ;\n}", "6:9", "a text without an end"),
        (" i:_ChunkSizes = 1, 2, 3 ;\n}", "6:2", "NC_E"),
        (" i:_Endianness = \"middle\" ;\n}", "6:2", "expected \"little\", \"big\" or \"native\""),
        ("", "6:1", "found the end of the text"),
        ("} }", "6:3", "expected the end of the text"),
        ("data:\n i = 1, 2 ;", "7:12", "expected a type, found the end of the text"),
        ("data:\n i = {1, 2 ;\n}", "7:12", "expected '}', found \";\""),
        ("data:\n i = 0x1FFFFFFFFFFFFFFFFF ;\n}", "7:6", "expected a value of type int, found 9 bytes"),
        ("data:\n i = 1, _NAME ;\n}", "7:9", "expected a value of type int, found the name \"_NAME\""),
        ("data:\n i = 'ab' ;\n}", "7:10", "a character of 2 bytes"),
        ("data:\n i = NIL ;\n}", "7:6", "expected a value of type int, found text"),
        ("data:\n i = 1,, 2 ;\n}", "7:8", "expected a value, found \",\""),
        (" string s ;\ndata:\n s = 5 ;\n}", "8:6", "expected a value of type string, found 5"),
        (" char c(x) ;\ndata:\n c = \"abc\" ;\n}", "8:6", "more than 2 values"),
        (" byte b ;\ndata:\n b = 300 ;\n}", "8:6", "300 is no value of type byte"),
        (" int k(x ;\n}", "6:10", "expected ')' after the dimensions of a variable, found \";\""),
        (" int ;\n}", "6:6", "expected the name of a variable, found \";\""),
        (" i:a = ;;\n i: = 1 ;\n}", "7:5", "expected the name of an attribute, found \"=\""),
        (" i:_DeflateLevel = 12 ;\n}", "6:2", "deflate level 12: out of range (expected 0 to 9)"),
        (" i:_DeflateLevel = \"a\" ;\n}", "6:2", "_DeflateLevel: expected a number"),
        (" i:_Filter = \"99999,1\" ;\n}", "6:2", "no filter 99999 in this build"),
        (" i:_Filter = 5.5 ;\n}", "6:2", "_Filter: expected filters"),
        (
            " i:_Storage = \"heap\" ;\n}",
            "6:2",
            "_Storage: expected \"contiguous\", \"compact\" or \"chunked\"",
        ),
        (" i:_FillValue = \"x\" ;\n}", "6:17", "expected a value of type int, found text"),
        (" i:_FillValue = 1, 2 ;\n}", "6:2", "/i: fill value: 2 values"),
        (" i:_Shuffle = \"maybe\" ;\n}", "6:2", "_Shuffle: expected \"true\" or \"false\""),
        ("dimensions:\n y = -3 ;\n}", "7:8", "expected a length"),
        ("dimensions:\n x = 3 ;\n}", "7:2", "dimension \"x\""),
        ("dimensions:\n y = many ;\n}", "7:10", "expected a length or \"unlimited\", found \"many\""),
        ("types:\n int enum e {A = 1.5} ;\n}", "7:21", "member \"A\": expected an integer"),
        ("types:\n int enum e {A = 1, A = 2} ;\n}", "7:2", "e.A: 2: the enum has A = 1"),
        ("types:\n opaque(0) o ;\n}", "7:2", "type \"o\": 0 bytes"),
        ("types:\n float enum e {A = 1} ;\n}", "7:2", "enum \"e\": base type float"),
        (
            "types:\n int enum e {A = 1} ;\nvariables:\n e v ;\ndata:\n v = B ;\n}",
            "11:6",
            "expected a value of type e, found the name \"B\"",
        ),
        (
            "types:\n compound c { int a ; int b ; } ;\nvariables:\n c v ;\ndata:\n v = {1, 2, 3} ;\n}",
            "11:13",
            "c: more values than fields",
        ),
        (
            "types:\n compound c { int a(2) ; int b ; } ;\nvariables:\n c v ;\ndata:\n v = {{1, 2, 3}, 4} ;\n}",
            "11:14",
            "more than 2 values for a field",
        ),
        (
            "types:\n opaque(2) o ;\nvariables:\n o v ;\ndata:\n v = 0X010203 ;\n}",
            "11:6",
            "3 bytes for a value of 2",
        ),
        (
            "types:\n int(*) l ;\nvariables:\n l v ;\ndata:\n v = 5 ;\n}",
            "11:6",
            "expected a value of type l, found 5",
        ),
        (
            "dimensions:\n u = UNLIMITED ;\nvariables:\n int v(x, u) ;\ndata:\n v = 1, 2 ;\n}",
            "11:6",
            "expected '{' around the values along an unlimited dimension,",
        ),
        (" :_Format = 5 ;\n k:a = 1 ;\n}", "7:2", "no type \"k\""),
        (
            " group: g {\n int j ;\n}\n}",
            "7:2",
            "expected a section (types:, dimensions:, variables:, data:, ",
        ),
        (" \"text\" ;\n}", "6:2", "expected a type, found"),
        (" group: g { group: h { \n}", "7:2", "expected a type, found the end of the text"),
        ("variable:\n int k ;\n}", "7:6", "expected '=' after the name of an attribute, found \"k\""),
        (" i:a = \"a\\qb\" ;\n int i2(x,) ;\n}", "7:11", "expected the name of a dimension, found \")\""),
    ] {
        fs::write(&cdl, format!("{head}{rest}")).unwrap();
        let (code, said) = failure(&["gen", "-k", "nczarr", "-o", text(&target), text(&cdl)]);
        assert!(code == 1 && said.contains(message), "{rest}: {said}");
        assert!(said.starts_with(&format!("ncz: {}:{place}: ", cdl.display())), "{rest} at {place}: {said}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{rest}");
    }
}

#[test]
fn the_kind_comes_from_the_flag_or_from_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let cdl = folder.path().join("a.cdl");
    let target = folder.path().join("t.nc");
    for (args, att, want) in [
        (&["-3"][..], "", "classic"),
        (&["-6"], "", "64-bit offset"),
        (&["-5"], "", "cdf5"),
        (&["-k", "nc5"], ":_Format = \"classic\" ;", "cdf5"),
        (&[], ":_Format = \"64-bit offset\" ;", "64-bit offset"),
        (&[], "", "netCDF-4"),
    ] {
        fs::write(&cdl, format!("netcdf a {{\n{att}\n}}\n")).unwrap();
        let args = [&["gen", "--clobber", "-o", text(&target)], args, &[text(&cdl)]].concat();
        assert_eq!(out(&args), "");
        assert_eq!(out(&["dump", "-k", text(&target)]).trim_end(), want, "{args:?}");
    }
    let (code, message) = failure(&["gen", "-o", text(&target), text(&cdl)]);
    assert!(code == 1 && message.contains("NC_EEXIST"), "{message}");
}

/// A text with all special attributes.
const SPECIAL: &str = r#"netcdf x {
types:
  compound pair { int a ; float b ; } ;
dimensions:
  x = 12 ; y = 8 ;
variables:
  int chunked(x, y) ; chunked:_Storage = "chunked" ; chunked:_ChunkSizes = 5, 4 ; chunked:_Shuffle = "true" ;
    chunked:_DeflateLevel = 4 ; chunked:_Fletcher32 = "true" ; chunked:_Endianness = "big" ;
  double plain(x) ; plain:_FillValue = -1. ; plain:_Endianness = "little" ;
  short filtered(x, y) ; filtered:_ChunkSizes = 6, 8 ; filtered:_Filter = "2,2|307,9|32015,3" ; filtered:_NoFill = "true" ;
  float rounded(x) ; rounded:_QuantizeBitGroomNumberOfSignificantDigits = 3 ; rounded:_ChunkSizes = 12 ;
  float granular(x) ; granular:_QuantizeGranularBitRoundNumberOfSignificantDigits = 2 ; granular:_ChunkSizes = 12 ;
  double bits(x) ; bits:_QuantizeBitRoundNumberOfSignificantBits = 9 ; bits:_ChunkSizes = 12 ;
  pair both(x) ; both:_ChunkSizes = 3 ; both:_DeflateLevel = 1 ;
  :_Format = "netCDF-4" ; :_NCProperties = "version=2" ; :_IsNetcdf4 = 1 ; :_SuperblockVersion = 2 ;
data:
  plain = 1, 2, _ ; rounded = 1.23456, 2.34567 ;
}
"#;

#[test]
fn special_attributes_take_effect_and_print_again() {
    let folder = tempfile::tempdir().unwrap();
    let cdl = folder.path().join("x.cdl");
    fs::write(&cdl, SPECIAL).unwrap();
    for (at, fragment) in ["#mode=nczarr,file", "#mode=nczarr,v3", "#mode=nc4"].into_iter().enumerate() {
        let made = |name: &str, from: &Path| {
            let target = folder.path().join(format!("{name}{at}"));
            assert_eq!(
                out(&["gen", "-o", &format!("{}{fragment}", text(&target)), text(from)]),
                "",
                "{fragment}"
            );
            out(&["dump", "-s", "-n", "x", text(&target)])
        };
        let first = made("first", &cdl);
        for line in [
            "chunked:_Storage = \"chunked\" ;",
            "chunked:_ChunkSizes = 5, 4 ;",
            "chunked:_Shuffle = \"true\" ;",
            "chunked:_DeflateLevel = 4 ;",
            "chunked:_Fletcher32 = \"true\" ;",
            "chunked:_Endianness = \"big\" ;",
            "plain:_FillValue = -1. ;",
            "filtered:_NoFill = \"true\" ;",
            "rounded:_QuantizeBitGroomNumberOfSignificantDigits = 3 ;",
            "granular:_QuantizeGranularBitRoundNumberOfSignificantDigits = 2 ;",
            "bits:_QuantizeBitRoundNumberOfSignificantBits = 9 ;",
            "both:_ChunkSizes = 3 ;",
            "both:_DeflateLevel = 1 ;",
            ":_Format = \"netCDF-4\" ;",
            ":_IsNetcdf4 = 1 ;",
            ":_SuperblockVersion = ",
            ":_NCProperties = \"version=2,",
        ] {
            assert!(first.contains(line), "{fragment}: {line}\n{first}");
        }
        assert!(
            first.contains("filtered:_Shuffle") && first.contains("\"307,9|32015,3\""),
            "{fragment}: {first}"
        );
        assert_eq!(first.contains("_Codecs = "), fragment != "#mode=nc4", "{first}");
        let printed = folder.path().join(format!("{at}.cdl"));
        fs::write(&printed, &first).unwrap();
        assert_eq!(made("again", &printed), first, "{fragment}");
    }
}

#[test]
fn codecs_without_a_number_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let (cdl, target) = (folder.path().join("x.cdl"), folder.path().join("x.zarr"));
    let codecs =
        r#"x:_Codecs = "[{\"id\": \"delta\", \"dtype\": \"<i4\"},{\"id\": \"zlib\", \"level\": 7}]" ;"#;
    fs::write(
        &cdl,
        format!("netcdf x {{ dimensions: x = 4 ; variables: int x(x) ; {codecs} data: x = 3, 5, 7, 9 ; }}"),
    )
    .unwrap();
    out(&["gen", "-o", &format!("{}#mode=nczarr,file", text(&target)), text(&cdl)]);
    let printed = out(&["dump", "-s", text(&target)]);
    assert!(printed.contains("\\\"delta\\\"") && printed.contains("x:_DeflateLevel = 7 ;"), "{printed}");
    assert!(printed.contains(" x = 3, 5, 7, 9 ;"), "{printed}");
    fs::write(&cdl, "netcdf x { dimensions: x = 4 ; variables: int x(x) ; x:_Codecs = \"[{}]\" ; }").unwrap();
    let (_, message) =
        failure(&["gen", "--clobber", "-o", &format!("{}#mode=nczarr,file", text(&target)), text(&cdl)]);
    assert!(message.contains("x.cdl:1:54: NC_EINVAL: _Codecs") && message.contains("\"id\""), "{message}");
}

/// Constants of user-defined types in every form that the text allows.
#[test]
fn elements_of_user_defined_types_in_all_forms() {
    let folder = tempfile::tempdir().unwrap();
    let cdl = folder.path().join("x.cdl");
    fs::write(
        &cdl,
        r#"netcdf x {
types:
  ubyte enum level { low = 0, high = 1, very\ high = 7 } ;
  opaque(5) raw ;
  int(*) row ; string(*) words ; row(*) rows ; char(*) text ;
  compound inner { short a ; double b(2) ; } ;
  compound outer { inner one ; inner two(2) ; level l ; raw r ; row v ; row w(2) ; string s ; string t(2) ; char c ; char d(3) ; } ;
dimensions:
  x = 3 ; u = UNLIMITED ; n = UNLIMITED ;
variables:
  level l(x) ; raw r(x) ; row v(x) ; words w(x) ; rows vv ; text t(x) ; inner i(x) ; outer o, flat ; int a(u, n) ; row av(u, n) ;
  level :l = high, level.low ; raw :r = 0X0102030405 ; inner :i = {1, {2, 3}}, {4, 5, 6} ;
data:
  l = high, 7, level.very\ high ;
  r = 0X00, 0x0102030405, 0XAbCdEf ;
  v = {1, 2}, {}, {3} ;
  w = {"a", "b"}, {}, {""} ;
  vv = {{1}, {}, {2, 3}} ;
  t = {"ab"}, "cd", {'e', "f"} ;
  i = {1, {2, 3}}, {4, 5, 6}, {7} ;
  o = {{1, {2, 3}}, {{4, {5, 6}}, {7, {8, 9}}}, high, 0X01, {1, 2}, {{3}, {}}, "s", {"t", "u"}, "c", "def"} ;
  flat = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, high, 0X0100000000, {1, 2}, {3}, {}, "s", "t", "u", 'c', {'d', 'e', 'f'}} ;
  a = {1, 2, 3}, {}, {4} ;
  av = {{1}, {2, 3}}, {{4}} ;
}
"#,
    )
    .unwrap();
    for (at, fragment) in ["#mode=nczarr,file", "#mode=nczarr,v3", "#mode=nc4"].into_iter().enumerate() {
        let target = folder.path().join(format!("{at}"));
        assert_eq!(
            out(&["gen", "-o", &format!("{}{fragment}", text(&target)), text(&cdl)]),
            "",
            "{fragment}"
        );
        let printed = out(&["dump", text(&target)]);
        let spaced = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        let outer = "{{1, {2, 3}}, {{4, {5, 6}}, {7, {8, 9}}}, high, 0X0100000000, {1, 2}, {{3}, {}}, \"s\", {\"t\", \"u\"}, \"c\", \
                     {\"def\"}}";
        for line in [
            "level :l = high, low ;",
            "raw :r = 0X0102030405 ;",
            "inner :i = {1, {2, 3}}, {4, {5, 6}} ;",
            " l = high, very\\ high, very\\ high ;",
            " r = 0X0000000000, 0X0102030405, 0XABCDEF0000 ;",
            " v = {1, 2}, {}, {3} ;",
            " w = {\"a\", \"b\"}, {}, {\"\"} ;",
            " vv = {{1}, {}, {2, 3}} ;",
            " t = {\"ab\"}, {\"cd\"}, {\"ef\"} ;",
            " i = {1, {2, 3}}, {4, {5, 6}}, {7, {9.96920996838687e+36, 9.96920996838687e+36}} ;",
            &format!(" o = {outer} ;"),
            &format!(" flat = {outer} ;"),
            " a = {1, 2, 3}, {_, _, _}, {4, _, _} ;",
            " av = {{1}, {2, 3}, {}}, {{4}, {}, {}}, {{}, {}, {}} ;",
        ] {
            assert!(spaced.contains(line), "{fragment}: {line}\n{printed}");
        }
    }
}

#[test]
fn a_null_string_differs_from_an_empty_string() {
    let folder = tempfile::tempdir().unwrap();
    let cdl = folder.path().join("x.cdl");
    fs::write(
        &cdl,
        r#"netcdf x { dimensions: x = 3 ; variables: string s(x), t(x), none, left ; string t:_FillValue = "fv" ;
        string :att = NIL, "", "a" ; data: s = NIL, "", "a" ; t = _, "", NIL ; none = NIL ; left = _ ; }"#,
    )
    .unwrap();
    let data = |path: &str| {
        let printed = out(&["dump", path]);
        assert!(printed.contains("string :att = NIL, \"\", \"a\" ;"), "{printed}");
        printed.split_once("data:").unwrap().1.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let all = r#"s = NIL, _, "a" ; t = _, "", NIL ; none = NIL ; left = _ ; }"#;
    // Text of a fixed size has one form for both.
    let cells = r#"s = NIL, NIL, "a" ; t = _, NIL, NIL ; none = NIL ; left = _ ; }"#;
    for (fragment, expected) in [("#mode=nc4", all), ("#mode=nczarr,v3", all), ("#mode=nczarr,file", cells)] {
        let [made, copied, back] = ["made", "copied", "back"].map(|name| {
            let path = folder.path().join(name);
            std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path)).ok();
            text(&path).to_owned()
        });
        out(&["gen", "-o", &format!("{made}{fragment}"), text(&cdl)]);
        assert_eq!(data(&made), expected, "{fragment}");
        out(&["copy", &made, &format!("{copied}#mode=nc4")]);
        // Where a format has one form for both, a null string is stored as an empty one, and printed as null.
        let there = match fragment {
            "#mode=nc4" | "#mode=nczarr,v3" => all,
            _ => r#"s = _, _, "a" ; t = _, "", "" ; none = _ ; left = _ ; }"#,
        };
        assert_eq!(data(&copied), there, "{fragment}");
        out(&["copy", &copied, &format!("{back}#mode=nczarr,v3")]);
        assert_eq!(data(&back), there, "{fragment}");
    }
}

/// A variable may use dimensions of any group. A netCDF-4 file keeps them.
#[test]
fn dimensions_of_any_group() {
    let source = "netcdf x {\n\ndimensions:\n\tx = 2 ;\nvariables:\n\tint inner(/g/h/y, x) ;\ndata:\n\n inner =\n  1, 2,\n  3, 4,\n  5, \
                  6 ;\n\ngroup: f {\n  variables:\n  \tshort beside(/g/h/y, /g/t) ;\n  data:\n\n   beside =\n  {1, 2},\n  {3, 4},\n  {5, \
                  6} ;\n  } // group f\n\ngroup: g {\n  dimensions:\n  \tt = UNLIMITED ; // (2 currently)\n\n  group: h {\n    \
                  dimensions:\n    \ty = 3 ;\n    } // group h\n  } // group g\n}\n";
    let folder = tempfile::tempdir().unwrap();
    let cdl = folder.path().join("x.cdl");
    fs::write(&cdl, source).unwrap();
    let lines = |text: String| {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect::<Vec<_>>()
    };
    for (name, fragment) in [("a.nc", "#mode=netcdf-4"), ("b", "#mode=nczarr"), ("c", "#mode=nczarr,v3")] {
        let target = folder.path().join(name);
        out(&["gen", "-o", &format!("{}{fragment}", text(&target)), text(&cdl)]);
        let printed = out(&["dump", "-n", "x", text(&target)]);
        assert_eq!(lines(printed), lines(source.to_owned()), "{fragment}");
        // A copy has them too.
        let copy = folder.path().join(format!("{name}.copy"));
        out(&["copy", "--strict", "-k", "nc4", text(&target), text(&copy)]);
        assert_eq!(lines(out(&["dump", "-n", "x", text(&copy)])), lines(source.to_owned()), "{fragment}");
    }
}

/// A value without an enum member prints as its number. An unwritten value prints as fill.
#[test]
fn values_of_enums_without_a_member_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let (cdl, target, again) =
        (folder.path().join("x.cdl"), folder.path().join("x.nc"), folder.path().join("y.nc"));
    fs::write(
        &cdl,
        "netcdf x {\ntypes:\n  short enum e { one = 1, two = 2 } ;\n  compound c { e of ; } ;\ndimensions:\n  x = 5 ;\nvariables:\n  \
         e v(x) ;\n  c w ;\n  e :a = 3, one, -4 ;\ndata:\n  v = 5, one, 0, -32768, two ;\n  w = {7} ;\n}\n",
    )
    .unwrap();
    out(&["gen", "-4", "-o", text(&target), text(&cdl)]);
    let first = out(&["dump", "-n", "x", text(&target)]);
    for line in [" v = 5, one, _UNDEFINED, -32768, two ;", " w = {7} ;", ":a = 3, one, -4 ;"] {
        assert!(first.contains(line), "{line}: {first}");
    }
    fs::write(&cdl, &first).unwrap();
    out(&["gen", "-4", "-o", text(&again), text(&cdl)]);
    assert_eq!(out(&["dump", "-n", "x", text(&again)]), first);
    assert_eq!(run(["diff", text(&target), text(&again)]).status.code(), Some(0));
}

/// Doubles with many digits are printed without a point.
#[test]
fn long_whole_numbers_are_doubles() {
    let folder = tempfile::tempdir().unwrap();
    let (cdl, target, again) =
        (folder.path().join("x.cdl"), folder.path().join("x.nc"), folder.path().join("y.nc"));
    let values = "12345678901234567000, 36893488147419103232, -36893488147419103232, 1e+300, 0.5";
    let of = |ty: &str, values: &str| {
        format!("netcdf x {{ dimensions: x = UNLIMITED; variables: {ty} v(x); data: v = {values}; }}")
    };
    fs::write(&cdl, of("double", values)).unwrap();
    out(&["gen", "-o", text(&target), text(&cdl)]);
    let first = out(&["dump", "-p", "9,20", "-n", "x", text(&target)]);
    assert!(first.contains(" 36893488147419103232,") && first.contains(" -36893488147419103232,"), "{first}");
    fs::write(&cdl, &first).unwrap();
    out(&["gen", "-o", text(&again), text(&cdl)]);
    assert_eq!(run(["diff", text(&target), text(&again)]).status.code(), Some(0));
    for ty in ["int", "int64", "uint64", "byte"] {
        fs::write(&cdl, of(ty, "123456789012345683968")).unwrap();
        let message = failure(&["gen", "-o", text(&folder.path().join("z.nc")), "-k", "cdf5", text(&cdl)]).1;
        assert!(
            message.contains("NC_ERANGE") && message.contains("123456789012345683968"),
            "{ty}: {message}"
        );
    }
}

#[test]
fn comments_between_marks_are_passed() {
    let folder = tempfile::tempdir().unwrap();
    let (cdl, target) = (folder.path().join("x.cdl"), folder.path().join("x.nc"));
    let content = "/**/netcdf x /* { */ { dimensions: n/*;*/= 3 ; variables: float v(n)/* two\n ** lines; */; v:t = \"/* no */\" ;\n\
                   /* a /* b */ data: /* ; \" */ v = /* one */1/* */, NaN/* two */, 2. /* http://x */ ; // /* }\n }/* end */";
    fs::write(&cdl, content).unwrap();
    assert_eq!(out(&["gen", "-o", text(&target), text(&cdl)]), "");
    let printed = out(&["dump", text(&target)]);
    assert!(printed.contains("v:t = \"/* no */\"") && printed.contains(" v = 1, NaNf, 2 ;"), "{printed}");
    for content in [
        "netcdf x { /* dimensions: n = 3 ; }",
        "netcdf x { variables: int v ; data: v = 1 /* ; }",
        "netcdf x { }/*",
    ] {
        fs::write(&cdl, content).unwrap();
        let (code, message) = failure(&["gen", "--check", text(&cdl)]);
        assert!(code == 1 && message.contains("x.cdl:1:"), "{content}: {message}");
    }
}

/// Like ncgen: the positions of values follow from their order, and conflicting braces are refused.
#[test]
fn unbalanced_braces_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (cdl, target) = (folder.path().join("x.cdl"), folder.path().join("x.nc"));
    let text_of = |var: &str, values: &str| {
        format!(
            "netcdf x {{\ndimensions: u = UNLIMITED ; w = UNLIMITED ; n = 2 ; m = 3 ;\nvariables: {var} ;\ndata:\nv = {values} ;\n}}\n"
        )
    };
    for (var, values, column) in [
        ("int v(u, n, w)", "{{1, 2}, {3}}, {{4}, {5, 6}}", 12),
        ("int v(u, w)", "{{1, 2}, {3}}, {{4}, {5, 6}}", 12),
        ("float v(n, w)", "{{1, 2}, {3}}", 12),
        ("int v(u, w, n)", "{1, {2}, 3}", 9),
        ("int v(n, m)", "{1}, {4, 5, 6}", 8),
        ("int v(n, m)", "1, {4, 5, 6}", 8),
        ("char v(u, w)", "{\"ab\"}, {{\"c\"}, \"d\"}", 14),
        ("char v(n, m)", "{\"ab\"}, {\"c\"}", 5),
    ] {
        fs::write(&cdl, text_of(var, values)).unwrap();
        let message = generate(&cdl, "nc4", &target).unwrap_err();
        assert!(
            message.contains(&format!("x.cdl:5:{column}: NC_EINVAL: braces inside")),
            "{var} = {values}: {message}"
        );
        assert!(!target.exists());
    }
    for (var, values, want) in [
        ("int v(u, n, w)", "{1, 2}, {3}, {4}, {5, 6}", " v =\n  {1, 2},\n  {3, _},\n  {4, _},\n  {5, 6} ;"),
        ("int v(u, w, n)", "{1, 2, 3, 4}, {5, 6}", " v =\n  {1, 2,\n  3, 4},\n  {5, 6,\n  _, _} ;"),
        ("int v(n, m)", "{1, 2, 3, 4, 5, 6}", " v =\n  1, 2, 3,\n  4, 5, 6 ;"),
    ] {
        fs::write(&cdl, text_of(var, values)).unwrap();
        assert_eq!(generate(&cdl, "nc4", &target), Ok(()));
        let printed = out(&["dump", text(&target)]);
        assert!(printed.contains(want), "{printed}");
        fs::remove_file(&target).unwrap();
    }
}

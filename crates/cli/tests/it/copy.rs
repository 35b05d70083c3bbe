//! Copies: preserved properties, flags, and reports.

use std::fs;
use std::path::Path;

use nczarr::{NcString, Values};

use super::{failure, out, run, store, text};

/// Writes a dataset with most properties that a copy can preserve, through the library.
fn source(folder: &Path) -> String {
    let path = folder.join("source.zarr");
    let file = nczarr::create(text(&path)).unwrap();
    file.put_attribute("title", "a source").unwrap();
    file.put_attribute("numbers", vec![1.5f32, -2.5]).unwrap();
    file.add_unlimited_dimension("time").unwrap();
    file.add_unlimited_dimension("nothing").unwrap();
    file.add_dimension("x", 50).unwrap();
    let t = file.add_variable::<f64>("t", &["time", "x"]).unwrap();
    t.set_chunking(&[7, 20]).unwrap();
    t.set_deflate(4, true).unwrap();
    t.put_attribute("units", "1.10").unwrap();
    t.put_attribute("empty", "").unwrap();
    let values: Vec<f64> = (0..20 * 50).map(|i| f64::from(i) / 3.0).collect();
    t.put(&values, (0..20, 0..50)).unwrap();
    let group = file.add_group("g h").unwrap();
    let big = group.add_variable::<i16>("big", &["x"]).unwrap();
    big.set_endian(nczarr::Endian::Big).unwrap();
    big.set_fill(-7i16).unwrap();
    big.put(&[1i16, 2, 3], 10..13).unwrap();
    let scalar = group.add_variable::<u8>("scalar", &[]).unwrap();
    scalar.put(&[200u8], ()).unwrap();
    file.close().unwrap();
    text(&path).to_owned()
}

fn cdl(args: &[&str], url: &str) -> String {
    let text = out(&[&["dump", "-n", "x"], args, &[url]].concat());
    // This library is the writer of the copy, also if the source has another writer.
    text.lines().filter(|line| !line.contains("_NCProperties")).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_copy_equals_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (source(folder.path()), folder.path().join("target.zarr"));
    let target = text(&target);
    assert_eq!(out(&["copy", &source, target]), "");
    assert_eq!(cdl(&["-s", "-p", "9,17"], target), cdl(&["-s", "-p", "9,17"], &source));
    // An existing target is replaced only on request.
    let (code, message) = failure(&["copy", target, &source]);
    assert!(code == 1 && message.contains("NC_EOBJECT"), "{message}");
    assert_eq!(out(&["copy", "--clobber", target, &source]), "");
    assert_eq!(cdl(&["-s", "-p", "9,17"], &source), cdl(&["-s", "-p", "9,17"], target));
}

#[test]
fn a_copy_keeps_a_repeated_filter() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source"), folder.path().join("target"));
    std::fs::create_dir_all(source.join("v")).unwrap();
    let delta = r#"{"id": "delta", "dtype": "<i4"}"#;
    let array = format!(
        r#"{{"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i4", "compressor": null, "fill_value": 0,
        "order": "C", "filters": [{delta}, {{"id": "shuffle", "elementsize": 4}}, {delta}]}}"#
    );
    std::fs::write(source.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    std::fs::write(source.join("v/.zarray"), array).unwrap();
    std::fs::write(source.join("v/.zattrs"), r#"{"_ARRAY_DIMENSIONS": ["x"]}"#).unwrap();
    std::fs::write(source.join("v/0"), [1; 16]).unwrap();
    for kind in ["zarr", "nczarr"] {
        out(&["copy", "--clobber", "-k", kind, text(&source), text(&target)]);
        let array = std::fs::read_to_string(target.join("v/.zarray")).unwrap();
        assert_eq!(array.matches("\"delta\"").count(), 2, "{array}");
        assert_eq!(cdl(&["-v", "v"], text(&target)), cdl(&["-v", "v"], text(&source)));
    }
    // The flag may also request a filter twice.
    out(&["copy", "--clobber", "--filter", "zstd,3|zstd,1", text(&source), text(&target)]);
    let array = std::fs::read_to_string(target.join("v/.zarray")).unwrap();
    assert_eq!(array.matches("\"zstd\"").count(), 2, "{array}");
    assert_eq!(cdl(&["-v", "v"], text(&target)), cdl(&["-v", "v"], text(&source)));
}

#[test]
fn filters_that_would_change_values_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let half: Vec<u8> =
        [0x4c34u16, 0x497b, 0xd7ad, 0x3555].iter().flat_map(|bits| bits.to_le_bytes()).collect();
    let float: Vec<u8> = [0.1f32, 1e8, -1e8, 7.7].iter().flat_map(|value| value.to_le_bytes()).collect();
    // Each case: type, filter, order, bytes, and whether the copy has the filter, first with chunks of the
    // same shape and then of another.
    for (dtype, filter, order, bytes, kept) in [
        // The values of these elements differ in the target's type.
        ("<f2", r#"{"id": "delta", "dtype": "<f2"}"#, "C", half.clone(), [false, false]),
        ("<f2", r#"{"id": "bitround", "keepbits": 10}"#, "C", half, [false, false]),
        (
            "<U1",
            r#"{"id": "categorize", "labels": ["a"], "dtype": "<U1", "astype": "|u1"}"#,
            "C",
            vec![1, 0, 1, 1],
            [false, false],
        ),
        // In chunks of another shape, neighbours differ: roundings change, and a difference does not fit.
        ("<f4", r#"{"id": "delta", "dtype": "<f4"}"#, "F", float, [false, true]),
        (
            "<i4",
            r#"{"id": "delta", "dtype": "<i4", "astype": "|i1"}"#,
            "F",
            vec![100, 100, 100, 156],
            [false, false],
        ),
        (
            "<i4",
            r#"{"id": "delta", "dtype": "<i4", "astype": "|i1"}"#,
            "C",
            vec![100, 100, 100, 156],
            [true, false],
        ),
        ("<i4", r#"{"id": "delta", "dtype": "<i4"}"#, "C", vec![1; 16], [true, true]),
        (
            "<f8",
            r#"{"id": "quantize", "digits": 1, "dtype": "<f8", "astype": "<f4"}"#,
            "C",
            vec![0; 16],
            [true, true],
        ),
    ] {
        let source = folder.path().join("source");
        let _ = std::fs::remove_dir_all(&source);
        std::fs::create_dir_all(source.join("v")).unwrap();
        let array = format!(
            r#"{{"zarr_format": 2, "shape": [2, 2], "chunks": [2, 2], "dtype": "{dtype}", "compressor": {{"id": "crc32"}},
            "fill_value": null, "order": "{order}", "filters": [{filter}]}}"#
        );
        let stored = [&crc32(&bytes).to_le_bytes()[..], &bytes].concat();
        std::fs::write(source.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
        std::fs::write(source.join("v/.zarray"), array).unwrap();
        std::fs::write(source.join("v/.zattrs"), r#"{"_ARRAY_DIMENSIONS": ["y", "x"]}"#).unwrap();
        std::fs::write(source.join("v/0.0"), stored).unwrap();
        for (chunks, kept) in [("v:2,2", kept[0]), ("v:2,1", kept[1])] {
            let target = folder.path().join("target");
            let args = ["copy", "--clobber", "-k", "zarr", "--chunks", chunks, text(&source), text(&target)];
            let output = super::run(args);
            let message = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{filter} {chunks}: {message}");
            assert_eq!(message.contains("loss: filters left out: /v"), !kept, "{filter} {chunks}: {message}");
            // An attribute gives the maximum length of the strings there.
            let values = |url| {
                let printed = cdl(&["-v", "v", "-p", "9,17"], url);
                // An empty stored string of fixed size prints as an empty string.
                printed.split_once("data:").unwrap().1.replace("\"\"", "_")
            };
            assert_eq!(values(text(&target)), values(text(&source)), "{filter} {chunks}");
            let array = std::fs::read_to_string(target.join("v/.zarray")).unwrap();
            assert!(array.contains("crc32"), "{array}");
        }
    }
}

/// Computes the checksum bit by bit.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| sum >> 1 ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    })
}

#[test]
fn layout_can_be_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (source(folder.path()), folder.path().join("target.zarr"));
    let target = text(&target);
    let args = [
        "copy", &source, target, "--chunks", "x/5", "--chunks", "/t:3,9", "--filter", "zstd,3", "--filter",
        "t,none",
    ];
    assert_eq!(out(&args), "");
    let special = cdl(&["-s"], target);
    for line in ["t:_ChunkSizes = 3, 9 ;", "big:_ChunkSizes = 5 ;", "big:_Filter = \"32015,3\" ;"] {
        assert!(special.contains(line), "{special}");
    }
    assert!(!special.contains("_DeflateLevel"), "{special}");
    assert_eq!(cdl(&["-p", "9,17"], target), cdl(&["-p", "9,17"], &source));
}

#[test]
fn shards_can_be_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path());
    let at = |name: &str, mode: &str| format!("file://{}#mode={mode}", folder.path().join(name).display());
    let (sharded, again, plain) = (at("a", "nczarr,v3"), at("b", "nczarr,v3"), at("c", "nczarr"));
    let args = ["copy", &source, &sharded, "--chunks", "/t:1,2", "--shards", "x/5", "--shards", "/t:3,3"];
    assert_eq!(out(&args), "");
    let special = cdl(&["-s", "-p", "9,17"], &sharded);
    assert!(special.contains("t:_ChunkSizes = 1, 2 ;\n\t\tt:_ShardSizes = 3, 4 ;"), "{special}");
    assert!(out(&["info", &sharded]).contains("chunks 1x2 shards 3x4"));
    let message: serde_json::Value = serde_json::from_str(&out(&["info", "--json", &sharded])).unwrap();
    let vars = message["variables"].as_array().unwrap();
    assert!(
        vars.iter().any(|var| var["path"] == "/t" && var["shards"] == serde_json::json!([3, 4])),
        "{message}"
    );
    // A copy keeps the source's shards, and a text's shards are made.
    assert_eq!(out(&["copy", &sharded, &again]), "");
    let generated = folder.path().join("text.cdl");
    std::fs::write(&generated, &special).unwrap();
    let made = at("d", "nczarr,v3");
    assert_eq!(out(&["gen", text(&generated), "-o", &made]), "");
    for copy in [&again, &made] {
        assert!(cdl(&["-s"], copy).contains("t:_ShardSizes = 3, 4 ;"));
        assert_eq!(cdl(&["-p", "9,17"], copy), cdl(&["-p", "9,17"], &source));
    }
    // Other formats have no shards.
    let message = String::from_utf8(run(["copy", &sharded, &plain]).stderr).unwrap();
    assert!(message.contains("loss: shards left out: ") && message.contains("/t"), "{message}");
    assert_eq!(cdl(&["-p", "9,17"], &plain), cdl(&["-p", "9,17"], &source));
    for refusing in [at("e", "nczarr"), at("f", "zarr"), at("g.nc", "classic")] {
        let (_, message) = failure(&["copy", &source, &refusing, "--shards", "1M"]);
        assert!(message.contains("NC_ENOTNC4") && message.contains("shards"), "{message}");
    }
    let none = at("h", "nczarr,v3");
    assert_eq!(out(&["copy", &sharded, &none, "--shards", "none"]), "");
    assert!(!cdl(&["-s"], &none).contains("_ShardSizes"));
}

#[test]
fn a_plain_store_keeps_values_and_losses_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path());
    let target = format!("file://{}#mode=zarr", folder.path().join("target.zarr").display());
    let output = run(["copy", "--plain", &source, &target]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{message}");
    assert!(message.contains("target.zarr: loss: dimensions no longer unlimited: /time"), "{message}");
    assert!(message.contains("loss: attributes with type float, now double: /:numbers"), "{message}");
    assert!(
        !message.contains("type of variables") && !message.contains("variables with another shape"),
        "{message}"
    );
    for var in ["/t", r"/g\ h/big"] {
        assert_eq!(run(["cat", &target, var]).stdout, run(["cat", &source, var]).stdout, "{var}");
    }
}

#[test]
fn long_strings_are_kept_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("source.zarr");
    let file = nczarr::create(text(&path)).unwrap();
    file.add_dimension("x", 3).unwrap();
    let s = file.add_string_variable("s", &["x"]).unwrap();
    s.put_attribute("_nczarr_maxstrlen", 300i32).unwrap();
    s.put_strings(&["a", &"é".repeat(140), ""], ..).unwrap();
    file.close().unwrap();
    // Without the attribute the reader still knows their length; the copy has to store it again.
    let atts = path.join("s/.zattrs");
    let document = std::fs::read_to_string(&atts).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&document).unwrap();
    document.as_object_mut().unwrap().shift_remove("_nczarr_maxstrlen");
    std::fs::write(&atts, document.to_string()).unwrap();
    let target = folder.path().join("target.zarr");
    assert_eq!(out(&["copy", text(&path), text(&target)]), "");
    let copy = nczarr::open(text(&target)).unwrap();
    let s = copy.variable("s").unwrap();
    assert_eq!(s.get_nc_strings(..).unwrap().as_slice(), ["a", &"é".repeat(140), ""].map(NcString::from));
    assert_eq!(
        copy.model().var(s.id()).unwrap().atts.get("_nczarr_maxstrlen"),
        Some(&Values::Int(vec![280]))
    );
}

/// Standard Zarr stores 5 bytes, which must not become 128 for lack of an attribute.
#[test]
fn fixed_size_strings_keep_their_width() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("source.zarr");
    std::fs::create_dir_all(path.join("s")).unwrap();
    std::fs::write(path.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    let meta = r#"{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|S5", "fill_value": "", "order": "C",
        "compressor": null, "filters": null}"#;
    std::fs::write(path.join("s/.zarray"), meta).unwrap();
    std::fs::write(path.join("s/0"), b"ab\0\0\0cde\0\0").unwrap();
    for mode in ["nczarr", "zarr"] {
        let target = folder.path().join(format!("{mode}.zarr"));
        assert_eq!(out(&["copy", text(&path), &format!("file://{}#mode={mode}", text(&target))]), "");
        let meta: serde_json::Value =
            serde_json::from_slice(&std::fs::read(target.join("s/.zarray")).unwrap()).unwrap();
        assert_eq!(meta["dtype"], "|S3", "{mode}: as long as the longest");
        assert_eq!(out(&["cat", text(&target), "/s"]), "{\"shape\":[2],\"values\":[\"ab\",\"cde\"]}\n");
    }
}

#[test]
fn a_failed_copy_leaves_no_target() {
    let folder = tempfile::tempdir().unwrap();
    let broken = store::ocean(folder.path());
    let target = folder.path().join("target.zarr");
    for (args, code, part) in [
        (vec!["copy", text(&broken), text(&target)], 1, "NC_ENOFILTER"),
        (vec!["copy", text(&broken), text(&target), "--chunks", "q/3"], 2, "--chunks q/3: no dimension"),
        (vec!["copy", text(&broken), text(&target), "--filter", "q"], 2, "--filter q: NC_ENOFILTER"),
        (vec!["copy", "--clobber", text(&broken), text(&broken)], 1, "NC_EINVAL: source and target overlap"),
    ] {
        let (found, message) = failure(&args);
        assert!(found == code && message.contains(part), "{args:?}: {message}");
        assert!(!target.exists(), "{args:?}");
        assert!(broken.exists(), "{args:?}");
    }
    // A chunk of the wrong length is found when the data is read.
    std::fs::remove_dir_all(broken.join("odd")).unwrap();
    let atts = broken.join(".zattrs");
    let listed = std::fs::read_to_string(&atts).unwrap().replace(", \"odd\"", "");
    std::fs::write(&atts, listed).unwrap();
    std::fs::write(broken.join("tag/0.0"), b"short").unwrap();
    let (code, message) = failure(&["copy", text(&broken), text(&target)]);
    assert!(code == 1 && message.contains("tag/0.0"), "{message}");
    assert!(!target.exists());
}

#[test]
fn a_read_failure_names_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (source(folder.path()), folder.path().join("target.zarr"));
    std::fs::write(Path::new(&source).join("t/1.0"), b"no stream").unwrap();
    let (code, message) = failure(&["copy", &source, text(&target)]);
    assert!(
        code == 1 && message.starts_with(&format!("ncz: {source}: NC_EFILTER: /t: chunk t/1.0: ")),
        "{message}"
    );
    assert!(!target.exists(), "nothing of a copy that fails stays");
}

/// Returns the chunks of a variable of a dataset in a directory, by name.
fn chunks(path: &Path, var: &str) -> Vec<String> {
    let entries = std::fs::read_dir(path.join(var)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort_unstable();
    names
}

#[test]
fn chunks_that_are_absent_stay_absent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("source.zarr");
    let file = nczarr::create(text(&path)).unwrap();
    file.add_unlimited_dimension("t").unwrap();
    file.add_dimension("x", 10).unwrap();
    let v = file.add_variable::<i16>("v", &["t", "x"]).unwrap();
    v.set_chunking(&[2, 4]).unwrap();
    v.set_fill(-5i16).unwrap();
    v.put(&[1i16, 2, 3], (5, 0..3)).unwrap();
    // Stored, though it contains only fill values.
    v.put(&[-5i16; 8], (0..2, 4..8)).unwrap();
    let s = file.add_string_variable("s", &["x"]).unwrap();
    s.set_chunking(&[3]).unwrap();
    s.put_string("here", 4).unwrap();
    let none = file.add_variable::<f64>("none", &["t", "x"]).unwrap();
    none.set_no_fill().unwrap();
    none.set_chunking(&[3, 5]).unwrap();
    none.put(&[0.0], (0, 0)).unwrap();
    file.close().unwrap();
    assert_eq!(
        (chunks(&path, "v"), chunks(&path, "s")),
        (vec!["0.1".into(), "2.0".into()], vec!["1".into()])
    );

    for (name, args, v, s, none) in [
        ("same", &[][..], "0.1 2.0", "1", "0.0"),
        // A stored chunk becomes exactly these chunks.
        (
            "finer",
            &["--chunks", "t/1,x/2"],
            "0.2 0.3 1.2 1.3 4.0 4.1 5.0 5.1",
            "1 2",
            "0.0 0.1 0.2 1.0 1.1 1.2 2.0 2.1 2.2",
        ),
        ("whole", &["--chunks", "t/6,x/10"], "0.0", "0", "0.0"),
        ("odd", &["--chunks", "t/4,x/5"], "0.0 0.1 1.0", "0 1", "0.0"),
    ] {
        let target = folder.path().join(format!("{name}.zarr"));
        assert_eq!(out(&[&["copy", text(&path), text(&target)], args].concat()), "");
        let found = ["v", "s", "none"].map(|var| chunks(&target, var).join(" "));
        assert_eq!(found, [v, s, none], "{name}");
        // An empty stored string of fixed size is printed as a null string.
        let printed = |path| cdl(&[], text(path)).replace("NIL", "_");
        assert_eq!(printed(&target), printed(&path), "{name}");
    }
}

#[test]
fn the_kind_can_be_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let part = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/corpus/netcdf-c/classic/cdf1_atts/cdf1_atts.nc");
    for (kind, message) in [
        ("nc3", "classic"),
        ("64-bit offset", "64-bit offset"),
        ("5", "cdf5"),
        ("nczarr", "netCDF-4"),
        ("zarr", "netCDF-4"),
    ] {
        let target = folder.path().join(kind);
        assert_eq!(out(&["copy", "-k", kind, text(&part), text(&target)]), "", "{kind}");
        assert_eq!(out(&["dump", "-k", text(&target)]), format!("{message}\n"), "{kind}");
    }
    let (code, message) = failure(&["copy", "-k", "cdf5", text(&part), "x#mode=zarr"]);
    assert!(code == 2 && message.contains("the target has mode=zarr"), "{message}");
    assert_eq!(failure(&["copy", "-k", "grib", text(&part), "x"]).0, 2);
}

#[test]
fn a_strict_copy_keeps_everything_or_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path());
    for (args, is_kept) in [(&["-k", "nczarr"][..], true), (&["-k", "zarr", "--plain"], false)] {
        let target = folder.path().join("target");
        let output = run([&["copy", "--strict"], args, &[&source, text(&target)]].concat());
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.success(), target.exists()), (is_kept, is_kept), "{message}");
        let lost = "loss: dimensions no longer unlimited: /time";
        assert_eq!((message.contains(lost), message.contains("--strict")), (!is_kept, !is_kept), "{message}");
        let _ = std::fs::remove_dir_all(&target);
    }
}

/// Variables of every kind of numbers and strings, several unlimited dimensions, and groups.
fn rich(folder: &Path) -> String {
    let path = folder.join("rich.zarr");
    let file = nczarr::create(text(&path)).unwrap();
    for name in ["member", "time", "late"] {
        file.add_unlimited_dimension(name).unwrap();
    }
    file.add_dimension("n", 3).unwrap();
    file.put_attribute("big", i64::MAX).unwrap();
    file.put_attribute("small", 7i64).unwrap();
    file.put_attribute("words", Values::String(vec!["a b".into(), "c".into()])).unwrap();
    for (name, values) in [
        ("fits", Values::UInt(vec![1, 2, u32::MAX])),
        ("wide", Values::UInt(vec![1, 2, u32::MAX - 1])),
        ("exact", Values::Int64(vec![1 << 40, 2, 3])),
        ("inexact", Values::Int64(vec![i64::MAX, 2, 3])),
        ("bytes", Values::UByte(vec![0, 128, 255])),
    ] {
        let v = file.add_variable_with_type(name, values.nc_type(), &["n"]).unwrap();
        v.put_raw(&values.to_native_bytes().unwrap(), ..).unwrap();
    }
    file.add_variable::<i32>("v", &["time", "late"]).unwrap().put(&[1, 2, 3, 4, 5, 6], (0..2, 0..3)).unwrap();
    file.add_string_variable("s", &["n"]).unwrap().put_strings(&["one", "", "été"], ..).unwrap();
    let inner = file.add_group("g").unwrap().add_group("h").unwrap();
    inner.put_attribute("title", "deep").unwrap();
    inner.add_dimension("n", 2).unwrap();
    inner.add_variable::<f32>("fits", &["n"]).unwrap().put(&[0.5f32, 1.5], ..).unwrap();
    file.add_variable::<i8>("g_h_fits", &[]).unwrap();
    file.close().unwrap();
    text(&path).to_owned()
}

#[test]
fn features_without_a_counterpart_are_converted_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (rich(folder.path()), folder.path().join("target.nc"));
    let output = run(["copy", "-k", "1", &source, text(&target)]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{message}");
    for line in [
        "groups flattened, objects renamed to group_object: /g, /g/h\n",
        "names changed: /g/h/fits (g_h_fits_1)\n",
        "dimensions left out: /member (NC_EDIMSIZE",
        "dimensions no longer unlimited: /late\n",
        "string lists of attributes, stored as lines of one text: /:words\n",
        "attributes with type string, now char: /:words\n",
        "variables with type string, now char: /s\n",
        "dimensions added for the length of strings: /string5\n",
        "variables with type uint, now int: /fits\n",
        "variables with type uint, now double: /wide\n",
        "variables with type int64, now double: /exact\n",
        "variables with type ubyte, now short: /bytes\n",
        "attributes with type int64, now int: /:small\n",
        "variables left out: /inexact (NC_EBADTYPE",
        "attributes left out: /:big (NC_EBADTYPE",
    ] {
        assert!(message.contains(&format!("target.nc: loss: {line}")), "{line}{message}");
    }
    let copy = out(&["dump", text(&target)]);
    for line in [
        "time = UNLIMITED ; // (2 currently)",
        "late = 3 ;",
        "g_h_n = 2 ;",
        "float g_h_fits_1(g_h_n) ;",
        "byte g_h_fits ;",
        ":g_h_title = \"deep\" ;",
        ":words = \"a b\\n\",",
        " fits = 1, 2, _ ;",
        "wide = 1, 2, 4294967294 ;",
        "exact = 1099511627776, 2, 3 ;",
        "bytes = 0, 128, 255 ;",
        "\"one\",",
        "g_h_fits_1 = 0.5, 1.5 ;",
    ] {
        assert!(copy.contains(line), "{line}\n{copy}");
    }
    // The first loss is an error, and the copy makes no target.
    let strict = folder.path().join("strict.nc");
    let (code, message) = failure(&["copy", "--strict", "-k", "5", &source, text(&strict)]);
    assert!(code == 1 && message.contains("/g/h") && message.contains("--strict"), "{message}");
    assert!(!strict.exists());
}

#[test]
fn oversized_dimensions_and_variables_are_omitted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.zarr");
    let file = nczarr::create(text(&path)).unwrap();
    for (name, len) in [("x", 40_000), ("y", 60_000), ("z", 3 << 30)] {
        file.add_dimension(name, len).unwrap();
    }
    file.add_variable::<f64>("large", &["x", "y"]).unwrap();
    file.add_variable::<i8>("long", &["z"]).unwrap();
    file.add_variable::<i32>("small", &[]).unwrap().put(&[5], ()).unwrap();
    file.close().unwrap();
    let target = folder.path().join("target.nc");
    let output = run(["copy", "-k", "1", text(&path), text(&target)]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{message}");
    assert!(message.contains("dimensions left out: /z (NC_EDIMSIZE"), "{message}");
    assert!(message.contains("/large (NC_EVARSIZE") && message.contains("/long (NC_EBADDIM"), "{message}");
    assert_eq!(out(&["cat", text(&target), "--format", "text"]), "5\n");
}

#[test]
fn records_of_plain_stores_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source.zarr");
    let array = |name: &str, dtype: &str, chunk: &[u8]| {
        std::fs::create_dir_all(source.join(name)).unwrap();
        let document = format!(
            r#"{{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": {dtype}, "fill_value": null, "order": "C", "compressor": null, "filters": null}}"#
        );
        std::fs::write(source.join(name).join(".zarray"), document).unwrap();
        std::fs::write(source.join(name).join("0"), chunk).unwrap();
    };
    std::fs::create_dir_all(&source).unwrap();
    std::fs::write(source.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    array("b", r#""|V3""#, b"abcdef");
    array(
        "a",
        r#"[["n",">i2"],["c","<c8"]]"#,
        &[0, 1, 0, 0, 128, 63, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 64],
    );
    array("r", r#"[["t","|S2"],["x","<f4",[2]]]"#, &[b'a', b'b', 0, 0, 128, 63, 0, 0, 0, 64].repeat(2));
    let copy = folder.path().join("copy.zarr");
    assert_eq!(out(&["copy", "-k", "zarr", "--strict", text(&source), text(&copy)]), "");
    let (before, after) = (cdl(&[], text(&source)), cdl(&[], text(&copy)));
    assert_eq!(before, after);
    assert!(
        before.contains("{1, {1, 0}}") && before.contains("0X616263") && before.contains("{\"ab\"}"),
        "{before}"
    );
}

/// Copies to NCZarr V2, V3, netCDF-4 and back keep all types with all elements. Losses in the classic formats
/// are reported.
#[test]
fn user_defined_types_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str, mode: &str| format!("file://{}{mode}", folder.path().join(name).display());
    let cdl_file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cdl/tests/nested.cdl");
    let (v2, v3, back) = (of("2", "#mode=nczarr,v2"), of("3", "#mode=nczarr,v3"), of("4", "#mode=nczarr,v2"));
    let hdf5 = folder.path().join("h.nc");
    out(&["gen", "-o", &v2, text(&cdl_file)]);
    for steps in [vec![&*v3], vec![&*v3, &*back], vec![&*v3, text(&hdf5), &*back]] {
        let mut from = v2.as_str();
        for to in steps {
            let kind: &[&str] = if to == text(&hdf5) { &["-k", "nc4"] } else { &[] };
            assert_eq!(out(&[&["copy", "--clobber"], kind, &[from, to]].concat()), "");
            assert_eq!(cdl(&[], to), cdl(&[], &v2), "{from} {to}");
            from = to;
        }
    }
    // Text in compounds of any length.
    let (long, here) = (folder.path().join("l.cdl"), folder.path().join("l.nc"));
    let word = "x".repeat(300);
    let made = format!(
        "netcdf x {{types: compound c {{ int i; string s; }}; variables: c v; data: v = {{1, \"{word}\"}}; }}"
    );
    std::fs::write(&long, made).unwrap();
    out(&["gen", "-k", "nc4", "-o", text(&here), text(&long)]);
    out(&["copy", "--clobber", text(&here), &v3]);
    assert!(cdl(&[], &v3).contains(&word));
    let classic = folder.path().join("c.nc");
    let made = run(["copy", "-k", "classic", &v2, text(&classic)]);
    let message = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(made.status.success() && message.contains("/colour") && message.contains("/vbk"), "{message}");
    assert!(!cdl(&[], text(&classic)).contains("types:"));
}

/// A copy has the kind of its source where the target's ending allows it; a mode or `-k` takes precedence.
#[test]
fn a_copy_keeps_the_kind_of_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let cdl = path("a.cdl");
    fs::write(&cdl, "netcdf a { dimensions: x = 3; variables: int v(x); data: v = 1, 2, 3; }").unwrap();
    let kind = |url: &str| {
        let info: serde_json::Value = serde_json::from_str(&out(&["info", "--json", url])).unwrap();
        let word = |name: &str| info[name].as_str().unwrap().to_owned();
        [word("driver"), word("format"), word("flavour"), word("version")].join("/")
    };
    let kinds =
        ["classic", "64bitoffset", "cdf5", "nc4", "nc4-classic", "nczarr", "nczarr,v3", "zarr", "zarr,v3"];
    for mode in kinds {
        let source = path("in");
        out(&["gen", "-o", &format!("{source}#mode={mode}"), &cdl]);
        let is_zarr = mode.contains("zarr");
        for ending in ["nc", "zarr", "zip"] {
            let target = path(&format!("out.{ending}"));
            out(&["copy", &source, &target]);
            let (found, expected) = (kind(&target), kind(&source));
            match (ending, is_zarr) {
                ("nc", false) | ("zarr" | "zip", true) => assert_eq!(found, expected, "{mode} {ending}"),
                ("nc", true) => assert!(found.starts_with("hdf5/netCDF-4/"), "{mode}: {found}"),
                _ => assert!(found.starts_with("nczarr/") && found.contains("/nczarr/2"), "{mode}: {found}"),
            }
            out(&["rm", &target]);
            let target = path(&format!("out.{ending}#mode=cdf5"));
            out(&["copy", &source, &target]);
            assert!(kind(&path(&format!("out.{ending}"))).starts_with("classic/"), "{mode} {ending}");
            out(&["rm", &path(&format!("out.{ending}"))]);
        }
        out(&["rm", &source]);
    }
    // Filters need chunks, which classic files lack.
    let (source, target) = (path("in.nc"), path("out.nc"));
    out(&["gen", "-k", "classic", "-o", &source, &cdl]);
    out(&["copy", "-d", "5", &source, &target]);
    assert!(kind(&target).starts_with("hdf5/netCDF-4 classic model"), "{}", kind(&target));
    assert!(out(&["dump", "-hs", &target]).contains("v:_DeflateLevel = 5 ;"));
}

//! Variables without a fill value, or with one that HDF5 does not fill with: values and `_FillValue` stay in
//! every copy. No chunk is left out that other readers would see differently.

use std::path::Path;

use crate::{out, run, text};

/// An input of the corpus.
fn input(name: &str) -> String {
    format!("{}/../../tests/corpus/reports/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A copy as a kind.
fn copied(from: &str, folder: &Path, kind: &str) -> String {
    let to = text(&folder.join(kind)).to_owned();
    let output = run(["copy", from, &to, "-k", kind]);
    assert!(output.status.success(), "{kind}: {}", String::from_utf8_lossy(&output.stderr));
    to
}

const KINDS: [&str; 5] = ["nc4", "nc4-classic", "classic", "zarr", "nczarr"];

#[test]
fn the_fill_value_stays_an_attribute() {
    let folder = tempfile::tempdir().unwrap();
    let from = input("copy-h5-loses-fillvalue/in.h5");
    for kind in KINDS {
        let to = copied(&from, folder.path(), kind);
        assert_eq!(out(&["diff", &from, &to]), "", "{kind}");
        let header = out(&["dump", "-h", &to]);
        for line in ["a:_FillValue = -9.f ;", "b:_FillValue = -9s ;"] {
            assert!(header.contains(line), "{kind}: {header}");
        }
        // A copy of the copy too.
        let again = tempfile::tempdir().unwrap();
        assert_eq!(out(&["diff", &from, &copied(&to, again.path(), "nc4")]), "", "{kind}");
    }
}

#[test]
fn a_no_fill_variable_of_a_text_keeps_its_fill_value() {
    let folder = tempfile::tempdir().unwrap();
    let cdl = folder.path().join("n.cdl");
    let n = "netcdf n { dimensions: x = 3 ; variables: int v(x) ; v:_FillValue = -9 ; v:_NoFill = \"true\" ; \
             data: v = 1, _, -9 ; }";
    std::fs::write(&cdl, n).unwrap();
    for kind in KINDS {
        let made = folder.path().join(kind);
        out(&["gen", "-k", kind, "-o", text(&made), text(&cdl)]);
        let printed = out(&["dump", "-s", text(&made)]);
        assert!(
            printed.contains("v:_FillValue = -9 ;") && printed.contains("v = 1, _, _ ;"),
            "{kind}: {printed}"
        );
        assert_eq!(printed.contains("v:_NoFill = \"true\" ;"), kind != "classic", "{kind}: {printed}");
        // The text of the dataset keeps it too.
        let (again, made_again) =
            (folder.path().join("again.cdl"), folder.path().join(format!("{kind}.again")));
        std::fs::write(&again, &printed).unwrap();
        out(&["gen", "-k", kind, "-o", text(&made_again), text(&again)]);
        assert_eq!(out(&["diff", text(&made), text(&made_again)]), "", "{kind}");
        // In every target.
        for to in KINDS {
            let other = tempfile::tempdir().unwrap();
            let header = out(&["dump", "-h", &copied(text(&made), other.path(), to)]);
            assert!(header.contains("v:_FillValue = -9 ;"), "{kind} {to}: {header}");
        }
    }
}

/// netCDF-C reads them the same way.
#[test]
fn records_beyond_the_own_length_of_a_variable_read_as_the_default_fill_value() {
    let folder = tempfile::tempdir().unwrap();
    let from = input("copy-nofill-records-garbage/in.nc");
    let expected = "2.0 2.0 2.0\n9.96921e36 9.96921e36 9.96921e36\n";
    assert_eq!(out(&["cat", &from, "B", "--format", "text"]), expected);
    assert!(out(&["dump", &from]).contains("2, 2, 2,\n  _, _, _ ;"));
    for kind in KINDS {
        let to = copied(&from, folder.path(), kind);
        assert_eq!(out(&["cat", &to, "B", "--format", "text"]), expected, "{kind}");
        assert_eq!(out(&["diff", &from, &to]), "", "{kind}");
    }
    // Some of the elements exist, and some do not. A copy to another type gives the same.
    for (args, expected) in [
        (&["--start", "1,1", "--count", "1,2"][..], "9.96921e36 9.96921e36\n"),
        (&["--start", "0,2", "--count", "2,1"], "2.0\n9.96921e36\n"),
        (&["--start", "0,0", "--count", "2,2", "--stride", "1,2"], "2.0 2.0\n9.96921e36 9.96921e36\n"),
        (&["--count", "1,3"], "2.0 2.0 2.0\n"),
    ] {
        assert_eq!(out(&[&["cat", &from, "B", "--format", "text"], args].concat()), expected, "{args:?}");
    }
}

/// Zeros that HDF5 fills with are an ordinary fill value, and need no stored chunks.
#[test]
fn the_default_of_hdf5_is_a_fill_value() {
    let folder = tempfile::tempdir().unwrap();
    let from = input("copy-sparse-h5-garbage/in.h5");
    for kind in KINDS {
        let to = copied(&from, folder.path(), kind);
        assert_eq!(out(&["diff", &from, &to]), "", "{kind}");
        if kind == "nc4" {
            let special = out(&["dump", "-h", "-s", &to]);
            assert!(!special.contains("_NoFill"), "{special}");
            assert!(std::fs::metadata(&to).unwrap().len() < 16 << 10, "it is as sparse as its source");
        }
    }
}

/// In netCDF-4 such a dimension is an unlimited one.
#[test]
fn variables_without_elements_are_copied() {
    let folder = tempfile::tempdir().unwrap();
    let from = input("copy-zero-length-dim/in.h5");
    for kind in ["nc4", "zarr", "nczarr", "classic"] {
        let to = copied(&from, folder.path(), kind);
        let printed = out(&["dump", &to]);
        assert!(
            printed.contains("float events(phony_dim_0)") && printed.contains("ok = 0, 1, 2 ;"),
            "{kind}: {printed}"
        );
        assert_eq!(
            out(&["cat", &to, "events", "--format", "json"]),
            "{\"shape\":[0],\"values\":[]}\n",
            "{kind}"
        );
    }
}

/// A type's default fill value is an ordinary value where unwritten elements read differently.
#[test]
fn the_default_of_a_type_stays_a_value_in_classic_files() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("u.zarr");
    std::fs::create_dir(&from).unwrap();
    std::fs::write(from.join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group", "attributes": {}}"#)
        .unwrap();
    let array = |name: &str, ty: &str, bytes: &[u8]| {
        let codecs = r#"[{"name": "bytes", "configuration": {"endian": "little"}}]"#;
        let document = format!(
            r#"{{"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "{ty}", "fill_value": 0,
            "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [2]}}}}, "codecs": {codecs},
            "chunk_key_encoding": {{"name": "default"}}, "dimension_names": ["x"], "attributes": {{}}}}"#
        );
        std::fs::create_dir_all(from.join(name).join("c")).unwrap();
        std::fs::write(from.join(name).join("zarr.json"), document).unwrap();
        std::fs::write(from.join(name).join("c/0"), bytes).unwrap();
    };
    array("short", "uint16", &[1, 0, 255, 255]);
    array("int", "uint32", &[1, 0, 0, 0, 255, 255, 255, 255]);
    array("long", "int64", &[[1, 0, 0, 0, 0, 0, 0, 0], (-9223372036854775806_i64).to_le_bytes()].concat());
    array("ulong", "uint64", &[[1, 0, 0, 0, 0, 0, 0, 0], 18446744073709551614_u64.to_le_bytes()].concat());
    let (from, to) = (text(&from), folder.path().join("out.nc"));
    let output = run(["copy", from, text(&to), "-k", "classic"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{message}");
    for (var, expected) in [("short", "1 65535\n"), ("int", "1.0 4294967295.0\n")] {
        assert_eq!(out(&["cat", text(&to), var, "--format", "text"]), expected);
    }
    // No classic type holds them.
    let header = out(&["dump", "-h", text(&to)]);
    for var in ["/long", "/ulong"] {
        assert!(
            message.contains(&format!("{var} (")) && !header.contains(&format!(" {}(", &var[1..])),
            "{message} {header}"
        );
    }
    assert!(
        !run(["copy", "--strict", from, text(&folder.path().join("strict.nc")), "-k", "classic"])
            .status
            .success()
    );
}

//! Copies into a format that has less: what is held in another form there, what is left out, and that either is told.

use std::path::{Path, PathBuf};

use super::{out, run, text};

/// A dataset made of CDL text.
fn made(folder: &Path, name: &str, kind: &str, cdl: &str) -> PathBuf {
    let (written, path) = (folder.join("text.cdl"), folder.join(name));
    std::fs::write(&written, cdl).unwrap();
    out(&["gen", "-k", kind, "-o", text(&path), text(&written)]);
    path
}

/// What is told of a call that succeeds.
fn told(args: &[&str]) -> String {
    let output = run(args);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{args:?}: {told}");
    told
}

#[test]
fn a_dimension_that_is_unlimited_no_more_bounds_its_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let cdl = "netcdf m { dimensions: t = UNLIMITED ; u = UNLIMITED ; variables: int a(t) ; int b(u) ; \
               data: a = 1, 2 ; b = 1 ; }";
    let source = made(folder.path(), "m.nc", "nc4", cdl);
    let target = folder.path().join("m7.nc");
    let told = told(&["copy", "-7", text(&source), text(&target)]);
    assert!(told.contains("not kept: that dimensions are unlimited: /u"), "{told}");
    for var in ["/a", "/b"] {
        let values = |url: &Path| out(&["cat", text(url), var, "--format", "text"]);
        assert_eq!(values(&target), values(&source));
    }
}

/// Classic files are written with the most significant byte first, characters as any others.
#[test]
fn the_byte_order_of_characters_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/hdf4/types.hdf");
    let header = out(&["dump", text(&source)]);
    assert!(header.contains("char ") && !out(&["dump", "-s", text(&source)]).contains("char:_Endianness"), "{header}");
    for kind in ["nc4", "nczarr", "zarr"] {
        let target = folder.path().join(kind);
        told(&["copy", "-k", kind, text(&source), text(&target)]);
        let data = |url: &Path| out(&["dump", "-n", "x", text(url)]).split_once("data:").unwrap().1.to_owned();
        assert_eq!(data(&target), data(&source), "{kind}");
    }
}

#[test]
fn shards_by_size_are_for_dimensions_without_length_too() {
    let folder = tempfile::tempdir().unwrap();
    let cdl =
        "netcdf e { dimensions: t = UNLIMITED ; x = 4 ; variables: int a(t, x) ; int b(x) ; data: b = 1, 2, 3, 4 ; }";
    let source = made(folder.path(), "e.zarr", "nczarr", cdl);
    let target = format!("file://{}#mode=nczarr,v3", folder.path().join("t.zarr").display());
    assert_eq!(out(&["copy", "--shards", "64M", text(&source), &target]), "");
    assert_eq!(out(&["dump", "-n", "x", &target]), out(&["dump", "-n", "x", text(&source)]));
    assert!(out(&["dump", "-h", "-s", &target]).contains("a:_ShardSizes"));
}

//! Copies into a format that has less: what is held in another form there, what is left out, and that either is told.

use std::path::{Path, PathBuf};

use super::{failure, out, run, text};

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

#[test]
fn a_layout_that_the_target_has_not_is_refused() {
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
            assert!(code == 1 && error.contains("NC_ENOTNC4: /v: ") && error.contains(part), "{args:?}: {error}");
            assert!(!target.exists(), "{args:?}");
        }
        // Nothing is asked for that it has not.
        for flags in [&["-d", "0"][..], &["-F", "none"], &["-s"], &["-F", "s,zstd,1"]] {
            let target = folder.path().join("t.nc");
            assert_eq!(out(&[&["copy", "--clobber", "-k", kind, text(&source), text(&target)], flags].concat()), "");
            std::fs::remove_file(target).unwrap();
        }
    }
}

/// Under the name of the old tool it is told only.
#[cfg(unix)]
#[test]
fn nccopy_tells_of_a_layout_that_the_target_has_not() {
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
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    assert!(told.contains("not kept: filters that the target cannot hold: /v (NC_ENOTNC4"), "{told}");
    assert!(told.contains("not kept: chunks that the target cannot hold: /v (NC_ENOTNC4"), "{told}");
    assert_eq!(out(&["cat", text(&target), "--format", "text"]), "1 2 3 4\n");
    std::fs::remove_file(&target).unwrap();
    assert!(!call(&["--strict"]).status.success() && !target.exists());
}

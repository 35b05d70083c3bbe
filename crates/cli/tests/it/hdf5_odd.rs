//! HDF5 files by other programs: text of any length where netCDF writes fixed text, numbers that netCDF
//! lacks, and files that are only parts.

use crate::{failure, out, run, text};

fn input(name: &str) -> String {
    format!("{}/../../tests/corpus/reports/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn dimension_scales_are_recognised_by_strings_of_any_length() {
    let printed = out(&["dump", "-h", &input("scale-class-vlen-string/in.h5")]);
    for line in ["\tx = 3 ;", "\ty = 2 ;", "double d(y, x) ;", "double x(x) ;", "double y(y) ;"] {
        assert!(printed.contains(line), "{printed}");
    }
}

#[test]
fn numbers_of_sixteen_bits_are_floats() {
    for (name, var, expected) in [
        ("half-float-shown-as-byte/in.h5", "half", "1.5 -2.0 65504.0\n"),
        ("odd-numbers/in.h5", "big", "1.5 -2.0 65504.0\n"),
        ("odd-numbers/in.h5", "brain", "1.5 -2.0 3.0040553e38\n"),
        ("odd-numbers/in.h5", "some", "2.5 2.5 7.0 2.5 2.5 2.5\n"),
    ] {
        assert_eq!(out(&["cat", &input(name), var, "--format", "text"]), expected, "{name} {var}");
    }
    let printed = out(&["dump", "-v", "some,complex", &input("odd-numbers/in.h5")]);
    for line in [
        "float some(",
        "some:valid_max = 3.f ;",
        "_Complex64_t complex(",
        "complex = {1, 2}, {3, 4}, {5, 6} ;",
    ] {
        assert!(printed.contains(line), "{printed}");
    }
    let folder = tempfile::tempdir().unwrap();
    for kind in ["nc4", "zarr", "nczarr", "classic"] {
        let (from, to) =
            (input("half-float-shown-as-byte/in.h5"), text(&folder.path().join(kind)).to_owned());
        assert!(run(["copy", &from, &to, "-k", kind]).status.success(), "{kind}");
        assert_eq!(out(&["cat", &to, "half", "--format", "text"]), "1.5 -2.0 65504.0\n", "{kind}");
    }
}

#[test]
fn types_without_a_netcdf_counterpart_are_marked() {
    let from = input("odd-numbers/in.h5");
    let printed = out(&["dump", "-h", &from]);
    let line = printed.lines().find(|line| line.contains(" reference(")).unwrap();
    assert!(line.ends_with("; // stored as reference, which is not read"), "{line}");
    for format in ["npy", "json", "raw", "text"] {
        let output = run(["cat", &from, "reference", "--format", format]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{format}");
    }
}

#[test]
fn parts_of_a_file_are_refused_by_the_name_of_their_driver() {
    for (name, driver) in
        [("fam_0.h5", "HDF5's family driver"), ("two.h5-m.h5", "HDF5's multi or split driver")]
    {
        let (_, message) = failure(&["dump", &input(&format!("family-and-image-files/{name}"))]);
        assert!(message.contains(driver), "{message}");
    }
}

#[test]
fn datasets_behind_external_links_are_read_and_all_else_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("small.nc");
    let small = input("external-link-silently-left-out/in.h5");
    out(&["copy", "--strict", "-k", "nc4", &small, text(&to)]);
    assert_eq!(out(&["cat", text(&to), "far", "--format", "text"]), "0.0 1.0 2.0 3.0\n");

    let from = input("external-links/in.h5");
    let printed = out(&["dump", &from]);
    for line in [
        "far:units = \"metres\" ;",
        "string far:names = \"a\", \"b c\" ;",
        " far = 0, 1, 2, 3 ;",
        " here = 0, 1, 2 ;",
        " pairs = {1, 2.5} ;",
        " soft = 0, 1, 2, 3 ;",
        " through = 0, 1, 2, 3 ;",
        " words = \"one\", \"two\" ;",
    ] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
    let validated = run(["validate", &from]);
    let validated = String::from_utf8([validated.stdout, validated.stderr].concat()).unwrap();
    let copied = run(["copy", "--strict", "-k", "nc4", &from, text(&folder.path().join("out.nc"))]);
    assert!(!copied.status.success());
    let copied = String::from_utf8(copied.stderr).unwrap();
    for path in ["/group", "/missing", "/nothing", "/outside"] {
        assert!(validated.contains(path) && copied.contains(path), "{path}: {validated}\n{copied}");
    }
}

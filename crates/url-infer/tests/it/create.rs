//! The kind of a new dataset, for every way to specify it.

use nczarr_model::ErrorKind;
use nczarr_url_infer::{infer_create, names_a_file, parse};

#[test]
fn plans() {
    for (text, driver, map, reason) in [
        // An explicit mode comes first.
        ("x.nc#mode=nczarr", "nczarr", Some("file"), "mode nczarr"),
        ("x.foo#zarr", "nczarr", Some("file"), "mode zarr"),
        ("x#mode=xarray", "nczarr", Some("file"), "mode xarray"),
        ("x#mode=noxarray", "nczarr", Some("file"), "mode noxarray"),
        ("x.zip#mode=zarr", "nczarr", Some("zip"), "mode zarr"),
        ("x.zip#mode=zarr,file", "nczarr", Some("file"), "mode zarr"),
        ("x#mode=nczarr,zip", "nczarr", Some("zip"), "mode nczarr"),
        ("x#mode=zip,nczarr", "nczarr", Some("zip"), "mode nczarr"),
        ("x#mode=nczarr,memory", "nczarr", Some("mem"), "mode nczarr"),
        ("x#zip", "nczarr", Some("zip"), "mode zip"),
        ("x.nc#mem", "nczarr", Some("mem"), "mode mem"),
        ("x.zarr#classic", "classic", None, "mode classic"),
        ("x#mode=netcdf-3", "classic", None, "mode netcdf-3"),
        ("x#mode=64bitoffset", "classic", None, "mode 64bitoffset"),
        ("x#mode=64bitdata", "classic", None, "mode 64bitdata"),
        ("x#mode=cdf5", "classic", None, "mode cdf5"),
        ("x.nc#mode=netcdf-4", "hdf5", None, "mode netcdf-4"),
        ("x.nc#mode=enhanced", "hdf5", None, "mode enhanced"),
        ("x#cdl", "cdl", None, "mode cdl"),
        ("x#mode=classic,zarr", "classic", None, "mode classic"),
        ("https://h/b/k#mode=nczarr,s3", "nczarr", Some("s3"), "mode nczarr"),
        ("https://h/b/k#s3", "nczarr", Some("s3"), "mode s3"),
        ("https://h/b/k#mode=zarr", "nczarr", Some("http"), "mode zarr"),
        ("redis://h/k#mode=zarr", "nczarr", Some("redis"), "mode zarr"),
        ("s3://b/k.nc#mode=zarr", "nczarr", Some("s3"), "mode zarr"),
        // The scheme comes next.
        ("s3://b/k", "nczarr", Some("s3"), "mode s3"),
        ("s3://b/k.nc", "nczarr", Some("s3"), "mode s3"),
        ("gs3://b/k", "nczarr", Some("gs3"), "mode gs3"),
        ("https://b.s3.amazonaws.com/k", "nczarr", Some("s3"), "mode s3"),
        ("mem://x.nc", "nczarr", Some("mem"), "scheme mem:"),
        // The ending comes last.
        ("x.zarr", "nczarr", Some("file"), "ending .zarr"),
        ("x.ZARR", "nczarr", Some("file"), "ending .zarr"),
        ("file:///x.zarr", "nczarr", Some("file"), "ending .zarr"),
        ("x.zarr/", "nczarr", Some("file"), "no ending"),
        ("x.nc/", "nczarr", Some("file"), "no ending"),
        ("x.d/y", "nczarr", Some("file"), "no ending"),
        ("x", "nczarr", Some("file"), "no ending"),
        ("x.", "nczarr", Some("file"), "no ending"),
        (".hidden", "nczarr", Some("file"), "no ending"),
        ("..", "nczarr", Some("file"), "no ending"),
        ("x.zip", "nczarr", Some("zip"), "ending .zip"),
        ("x.nc", "hdf5", None, "ending .nc"),
        ("x.nc4", "hdf5", None, "ending .nc4"),
        ("x.cdl", "cdl", None, "ending .cdl"),
        ("x.zarr#mode=consolidated", "nczarr", Some("file"), "ending .zarr"),
        ("x.nc#mode=mine", "hdf5", None, "ending .nc"),
        // The word `file` names the place and not the format.
        ("x.nc#file", "hdf5", None, "ending .nc"),
        ("x.zarr#file", "nczarr", Some("file"), "ending .zarr"),
        ("x.zip#file", "nczarr", Some("file"), "ending .zip"),
        ("x.foo#file", "nczarr", Some("file"), "mode file"),
    ] {
        let plan = infer_create(&parse(text).unwrap()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((plan.driver, plan.map.as_deref()), (driver, map), "{text}: {}", plan.reason);
        assert!(plan.reason.contains(reason), "{text}: {}", plan.reason);
    }
}

#[test]
fn refusals_list_valid_choices() {
    for (text, words) in [
        ("x.foo", &[".foo", ".zarr", ".zip", ".nc", ".cdl", "#mode="][..]),
        ("x.2024", &[".2024", ".zarr"]),
        ("file:///a/x.nc5", &[".nc5", ".zarr"]),
        ("x.foo#mode=consolidated", &[".foo"]),
        ("https://h/x.zarr", &["#mode="]),
        ("https://h/x.zarr#file", &["#mode="]),
        ("x.nc#bytes", &["bytes"]),
    ] {
        let error = infer_create(&parse(text).unwrap()).expect_err(text);
        assert_eq!(error.kind(), ErrorKind::Inval, "{text}: {error}");
        for word in words {
            assert!(error.what().contains(word), "{text}: {error}");
        }
    }
}

#[test]
fn names_of_files() {
    for (text, expected) in [
        ("s3://b/case.nc", true),
        ("https://h/d/case.H5?token=x", true),
        ("gs3://b/case.zip#mode=zarr", true),
        ("case.hdf", true),
        ("s3://b/case.zarr", false),
        ("s3://b/case.nc/", false),
        ("s3://b/case", false),
        ("s3://b/nc", false),
        ("s3://b/.nc", false),
    ] {
        assert_eq!(names_a_file(&parse(text).unwrap()), expected, "{text}");
    }
}

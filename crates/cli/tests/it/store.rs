//! A small dataset, written by hand: two groups, a coordinate, numbers, text, strings, a compressed and a
//! broken variable.

use std::fs;
use std::path::{Path, PathBuf};

/// Writes the dataset `ocean.zarr` in `folder`.
pub fn ocean(folder: &Path) -> PathBuf {
    let root = folder.join("ocean.zarr");
    let write = |key: &str, value: &[u8]| {
        let path = root.join(key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value).unwrap();
    };
    let group = |path: &str, dims: &str, arrays: &str, groups: &str, more: &str| {
        write(&format!("{path}.zgroup"), br#"{"zarr_format": 2}"#);
        let atts = format!(
            r#"{{{more}"_nczarr_group": {{"dimensions": {{{dims}}}, "arrays": [{arrays}], "groups": [{groups}]}}}}"#
        );
        write(&format!("{path}.zattrs"), atts.as_bytes());
    };
    group(
        "",
        r#""time": {"size": 2, "unlimited": 1}, "x": 3, "n": 4"#,
        r#""time", "t", "name", "tag", "odd""#,
        r#""deep water""#,
        r#""title": "a test", "_nczarr_superblock": {"version": "2.0.0"},
            "_nczarr_attr": {"types": {"title": ">S1"}}, "#,
    );
    group("deep water/", "", r#""t""#, "", "");
    let array = |path: &str,
                 shape: &str,
                 chunks: &str,
                 dtype: &str,
                 fill: &str,
                 more: &str,
                 dims: &str,
                 atts: &str| {
        let meta = format!(
            r#"{{"zarr_format": 2, "shape": [{shape}], "chunks": [{chunks}], "dtype": "{dtype}", "fill_value": {fill},
                "order": "C", "filters": null, {more}}}"#
        );
        write(&format!("{path}/.zarray"), meta.as_bytes());
        let atts = format!(
            r#"{{{atts}"_nczarr_array": {{"dimension_references": [{dims}], "storage": "chunked"}}}}"#
        );
        write(&format!("{path}/.zattrs"), atts.as_bytes());
    };
    let plain = r#""compressor": null"#;
    array("time", "2", "2", "<f8", "9.96920996838687e+36", plain, r#""/time""#, "");
    write("time/0", &[0.5f64, 1.5].map(f64::to_le_bytes).concat());
    let units = r#""units": "K", "_FillValue": -999.0, "_nczarr_attr": {"types": {"units": ">S1", "_FillValue": "<f4"}}, "#;
    array("t", "2, 3", "1, 3", "<f4", "-999.0", plain, r#""/time", "/x""#, units);
    write("t/0.0", &[1.25f32, f32::NAN, 3e30].map(f32::to_le_bytes).concat());
    array("name", "3", "3", "|S5", "\"\"", plain, r#""/x""#, "");
    write("name/0", b"ab\0\0\0\0\0\0\0\0h\xc3\xa9\"\0");
    array("tag", "3, 4", "3, 4", ">S1", "\"\"", plain, r#""/x", "/n""#, "");
    write("tag/0.0", b"abcdx\0\0\0\0\0\0\0");
    array("odd", "3", "3", "<i2", "0", r#""compressor": {"id": "nosuch", "level": 3}"#, r#""/x""#, "");
    write("odd/0", b"whatever");
    array("deep water/t", "3", "3", "<i4", "-2147483647", plain, r#""/x""#, "");
    write("deep water/t/0", &[7i32, -8, 9].map(i32::to_le_bytes).concat());
    root
}

/// Writes the dataset `one.zarr`: an array at the root of a store.
pub fn one(folder: &Path) -> PathBuf {
    let root = folder.join("one.zarr");
    fs::create_dir_all(&root).unwrap();
    let meta = r#"{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|u1", "fill_value": 7, "order": "C",
        "filters": null, "compressor": null}"#;
    fs::write(root.join(".zarray"), meta).unwrap();
    fs::write(root.join("0"), [1, 2]).unwrap();
    root
}

//! Requests that the facade refuses before it allocates memory for them.

use std::fs;

use nczarr::{ErrorKind, NcType};

#[test]
fn reads_larger_than_memory_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr");
    fs::create_dir_all(path.join("v")).unwrap();
    fs::write(path.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    for (dtype, filters) in
        [("<f8", "null"), ("|S4", "null"), ("<U2", "null"), ("|O", r#"[{"id": "vlen-utf8"}]"#)]
    {
        let zarray = format!(
            r#"{{"zarr_format": 2, "shape": [35184372088832], "chunks": [4], "dtype": "{dtype}", "fill_value": null,
                "order": "C", "compressor": null, "filters": {filters}}}"#
        );
        fs::write(path.join("v/.zarray"), zarray).unwrap();
        let variable = nczarr::open(path.display().to_string()).unwrap().variable("v").unwrap();
        let numbers = variable.get::<f64>(..).map(drop).unwrap_err();
        let strings = variable.get_nc_strings(..).map(drop).unwrap_err();
        // The type is wrong, so the request fails before it asks for memory.
        let (own, other) = match variable.nc_type() {
            NcType::String => (strings, numbers),
            _ => (numbers, strings),
        };
        assert_eq!(
            (own.kind(), other.kind()),
            (ErrorKind::NoMem, ErrorKind::Char),
            "{dtype}: {own}; {other}"
        );
    }
}

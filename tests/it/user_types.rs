//! User-defined types through the facade: fields by name, and lists of numbers.

use std::fs;
use std::path::Path;

use nczarr::model::TypeClass;
use nczarr::{ErrorKind, File, NcType};

fn store(folder: &Path, name: &str, dtype: &str, filters: &str, chunk: &[u8]) -> File {
    let store = folder.join("x.zarr");
    fs::create_dir_all(store.join(name)).unwrap();
    fs::write(store.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    let document = format!(
        r#"{{"zarr_format": 2, "shape": [3], "chunks": [2], "dtype": {dtype}, "fill_value": 0, "order": "C", "compressor": null, "filters": {filters}}}"#
    );
    fs::write(store.join(name).join(".zarray"), document).unwrap();
    fs::write(store.join(name).join("0"), chunk).unwrap();
    nczarr::OpenOptions::new().writable(true).open(store.display().to_string()).unwrap()
}

#[test]
fn fields_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let dtype = r#"[["a",">i2"],["p",[["x","|u1"],["y","<i4",[2]]],[2]],["t","|S2"]]"#;
    let element = |n: u8| {
        let mut bytes = vec![0, n];
        for x in [n + 1, n + 2] {
            bytes.push(x);
            for y in [10 * x, 10 * x + 1] {
                bytes.extend([y, 0, 0, 0]);
            }
        }
        bytes.extend(*b"ab");
        bytes
    };
    let file = store(folder.path(), "v", dtype, "null", &[element(1), element(5)].concat());
    let v = file.variable("v").unwrap();
    assert!(matches!(v.user_type().unwrap().class, TypeClass::Compound { size: 22, .. }));
    assert_eq!(v.get_field::<f64>("a", ..).unwrap().as_slice(), [1.0, 5.0, 0.0]);
    let x = v.get_field::<i32>("p.x", 0..2).unwrap();
    assert_eq!((x.shape(), x.as_slice()), (&[2, 2][..], &[2, 3, 6, 7][..]));
    let y = v.get_field::<u8>("p.y", 1).unwrap();
    assert_eq!((y.shape(), y.as_slice()), (&[2, 2][..], &[60, 61, 70, 71][..]));
    for (field, kind) in [
        ("b", ErrorKind::BadField),
        ("p", ErrorKind::BadType),
        ("a.x", ErrorKind::BadType),
        ("t", ErrorKind::Char),
        ("", ErrorKind::BadField),
    ] {
        assert_eq!(v.get_field::<f64>(field, ..).unwrap_err().kind(), kind, "{field}");
    }
    assert_eq!(v.get_field::<f64>("a", 0..9).unwrap_err().kind(), ErrorKind::Edge);
    assert_eq!(v.get_lists::<u8>(..).unwrap_err().kind(), ErrorKind::BadType);
    // Field names can contain dots.
    let other = tempfile::tempdir().unwrap();
    let dtype = r#"[["a","|i1"],["a.b",[["c.d","|i1"],["c","|i1"]]],["e","|i1"]]"#;
    let dots = store(other.path(), "v", dtype, "null", &[1, 2, 3, 4, 5, 6, 7, 8]);
    for (field, found) in [("a", 1), ("a.b.c.d", 2), ("a.b.c", 3), ("e", 4)] {
        let values = dots.variable("v").unwrap().get_field::<i8>(field, ..2).unwrap();
        assert_eq!(values.as_slice(), [found, found + 4], "{field}");
    }
    // Whole elements have the layout of memory.
    let mut bytes = [0; 22];
    v.get_raw(&mut bytes, 1).unwrap();
    v.put_raw(&bytes, 2).unwrap();
    file.close().unwrap();
    let again = nczarr::open(folder.path().join("x.zarr").display().to_string()).unwrap();
    assert_eq!(again.variable("v").unwrap().get_field::<i16>("a", ..).unwrap().as_slice(), [1, 5, 5]);
}

#[test]
fn lists_of_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let chunk = [&[2, 0, 0, 0, 4, 0, 0, 0, 0, 1, 0, 2][..], &[0, 0, 0, 0]].concat();
    let filters = r#"[{"id": "vlen-array", "dtype": ">i2"}]"#;
    let file = store(folder.path(), "v", "\"|O\"", filters, &chunk);
    let v = file.variable("v").unwrap();
    assert_eq!(v.user_type().unwrap().class, TypeClass::Vlen { base: NcType::Short });
    assert_eq!(v.get_lists::<i32>(..).unwrap(), [vec![1, 2], vec![], vec![]]);
    v.put_lists(&[vec![7.0, -1.0, 300.0]], 2).unwrap();
    assert_eq!(v.put_lists(&[[1e9]], 2).unwrap_err().kind(), ErrorKind::Range);
    assert_eq!(v.get_lists::<u8>(..).unwrap_err().kind(), ErrorKind::Range);
    assert_eq!(v.get::<f64>(..).unwrap_err().kind(), ErrorKind::BadType);
    file.close().unwrap();
    let stored = fs::read(folder.path().join("x.zarr/v/1")).unwrap();
    assert_eq!(stored, [&[2, 0, 0, 0, 6, 0, 0, 0][..], &[0, 7, 255, 255, 1, 44], &[0, 0, 0, 0]].concat());
    let again = nczarr::open(folder.path().join("x.zarr").display().to_string()).unwrap();
    assert_eq!(again.variable("v").unwrap().get_lists::<f32>(2).unwrap(), [vec![7.0, -1.0, 300.0]]);
}

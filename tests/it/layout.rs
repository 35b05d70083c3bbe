//! Checks when the layout of a variable can change, through the facade.

use nczarr::{ErrorKind, Values};

#[test]
fn reading_fixes_no_layout() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr").display().to_string();
    let file = nczarr::create(&path).unwrap();
    file.add_unlimited_dimension("t").unwrap();
    file.add_dimension("x", 3).unwrap();
    let v = file.add_variable::<i32>("v", &["t", "x"]).unwrap();
    let other = file.variable("v").unwrap();
    for _ in 0..2 {
        assert!(v.get_values::<i32>(..).unwrap().is_empty());
        assert!(other.get_values::<i32>(..).unwrap().is_empty());
        v.set_chunking(&[2, 2]).unwrap();
        assert_eq!(v.chunk_shape().unwrap().unwrap(), [2, 2]);
        v.set_chunking(&[5, 1]).unwrap();
        v.set_deflate(3, true).unwrap();
        v.set_fill(-7).unwrap();
    }
    assert_eq!(v.set_chunking(&[1, 9]).unwrap_err().kind(), ErrorKind::BadChunk);
    // Both handles write in the present layout.
    v.put(&[1, 2, 3], (0, ..)).unwrap();
    other.put(&[4], (2, 1)).unwrap();
    assert_eq!(other.set_chunking(&[1, 1]).unwrap_err().kind(), ErrorKind::LateDef);
    assert_eq!(v.set_fill(1).unwrap_err().kind(), ErrorKind::LateFill);
    file.close().unwrap();
    assert_eq!(v.put(&[1], (0, 0)).unwrap_err().kind(), ErrorKind::BadId);
    assert_eq!(other.get_values::<i32>(..).unwrap_err().kind(), ErrorKind::BadId);
    let v = nczarr::open(&path).unwrap().variable("v").unwrap();
    assert_eq!(v.get_values::<i32>(..).unwrap(), [1, 2, 3, -7, -7, -7, -7, 4, -7]);
    assert_eq!(v.chunk_shape().unwrap().unwrap(), [5, 1]);
    assert_eq!(v.fill_value(), Some(Values::Int(vec![-7])));
    assert_eq!(v.filters().len(), 2);
}

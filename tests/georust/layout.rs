//! Chunks, compression and byte order.

use nczarr::{CreateOptions, Endian, ErrorKind};

use crate::samples::in_both;

#[test]
fn variables_are_chunked_and_compressed() {
    let dir = tempfile::tempdir().unwrap();
    let file = nczarr::create(dir.path().join("layout.nc")).unwrap();
    file.add_dimension("x", 12).unwrap();
    let var = file.add_variable::<i32>("line", &["x"]).unwrap();
    assert_eq!(var.chunk_shape().unwrap(), None);
    var.set_deflate(4, false).unwrap();
    var.set_chunking(&[6]).unwrap();
    assert_eq!(var.chunk_shape().unwrap(), Some(vec![6]));
    var.put(&[0i32; 12], ..).unwrap();

    let var = file.add_variable::<i32>("square", &["x", "x"]).unwrap();
    assert_eq!(var.chunk_shape().unwrap(), None);
    var.set_deflate(9, true).unwrap();
    var.set_chunking(&[4, 6]).unwrap();
    assert_eq!(var.chunk_shape().unwrap(), Some(vec![4, 6]));
    let column: Vec<i32> = (1..=12).collect();
    var.put(&column, (..12, ..1)).unwrap();
    assert_eq!(var.get_values::<i32>((.., 0)).unwrap(), column);

    let var = file.add_variable::<i32>("wrong", &["x"]).unwrap();
    assert_eq!(var.set_chunking(&[3, 3]).unwrap_err().kind(), ErrorKind::BadChunk);

    file.add_unlimited_dimension("t").unwrap();
    let var = file.add_variable::<u8>("records", &["t", "x"]).unwrap();
    // An unlimited dimension needs chunks.
    assert_eq!(var.chunk_shape().unwrap(), Some(vec![1, 12]));
    var.set_chunking(&[50, 3]).unwrap();
    assert_eq!(var.chunk_shape().unwrap(), Some(vec![50, 3]));
}

#[test]
fn all_variables_are_compressed() {
    in_both(|path| {
        let file = nczarr::create(path).expect("a new dataset");
        file.add_dimension("x", 8).expect("a new name");
        file.add_dimension("y", 9).expect("a new name");
        for name in ["u", "v", "w"] {
            file.add_variable::<u8>(name, &["x", "y"]).expect("a new name");
        }
        for var in file.variables() {
            var.set_deflate(9, false).expect("no data yet");
        }
        assert!(file.variables().iter().all(|var| var.filters().len() == 1));
    });
}

#[test]
fn variables_have_a_byte_order() {
    in_both(|path| {
        for order in [Endian::Little, Endian::Big] {
            {
                let file = CreateOptions::new().clobber(true).create(path).unwrap();
                file.add_dimension("site", 3).unwrap();
                let var = file.add_variable::<i32>("station", &["site"]).unwrap();
                var.set_endian(order).unwrap();
                assert_eq!(var.endian(), order);
                var.put::<i32>(&[101, 102, 103], ..).unwrap();
            }
            let file = nczarr::open(path).unwrap();
            let var = file.variable("station").unwrap();
            assert_eq!(var.endian(), order);
            assert_eq!(var.get_values::<i32>(..).unwrap(), [101, 102, 103]);
        }
    });
}

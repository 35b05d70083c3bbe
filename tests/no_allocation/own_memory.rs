//! A dataset that is opened from bytes keeps the caller's memory.

use std::sync::Arc;

use nczarr::storage::source::SharedBytes;
use nczarr::{CreateOptions, File, OpenOptions};

use crate::counting::counted;

/// One byte each.
const VALUES: usize = 64 << 20;

/// The most bytes that opening and a read may allocate: far less than the 64 MiB of the file.
const MOST: usize = 1 << 20;

fn values() -> Vec<i8> {
    let mut values = vec![0; VALUES];
    values.chunks_mut(1000).zip(1u32..).for_each(|(part, number)| part[0] = (number % 100) as i8);
    values
}

fn file(url: &str, values: &[i8]) {
    let file = CreateOptions::new().threads(1).create(url).unwrap();
    file.add_dimension("x", VALUES as u64).unwrap();
    let v = file.add_variable::<i8>("v", &["x"]).unwrap();
    v.put(values, ..).unwrap();
    file.close().unwrap();
}

/// Opens these bytes and reads them whole.
fn read(place: &str, bytes: impl Into<SharedBytes>, values: &[i8], found: &mut [i8]) {
    let mut file: Option<File> = None;
    let open = counted(|| file = Some(OpenOptions::new().threads(1).open_bytes("held", bytes).unwrap()));
    let v = file.unwrap().variable("v").unwrap();
    found.fill(-1);
    let read = counted(|| v.get_into(found, ..).unwrap());
    assert!(found == values, "{place}");
    assert!(open.bytes < MOST && read.bytes < MOST, "{place}: open {open:?}, read {read:?}");
}

#[test]
fn the_bytes_of_a_dataset_are_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let values = values();
    let mut found = vec![0; VALUES];
    for (name, mode) in [("x.cdf5", "cdf5"), ("x.nc", "netcdf4"), ("x.zip", "nczarr,zip")] {
        let path = folder.path().join(name);
        file(&format!("file://{}#mode={mode}", path.display()), &values);
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.len() > VALUES, "{name} holds the values as they are");
        std::fs::remove_file(path).unwrap();

        let at = bytes.as_ptr();
        let shared = SharedBytes::from(bytes);
        read(&format!("{name}, shared"), shared.clone(), &values, &mut found);
        let bytes = shared.into_vec();
        assert_eq!(bytes.as_ptr(), at, "{name}: the vector comes back");

        let shared = Arc::<[u8]>::from(bytes);
        read(&format!("{name}, Arc"), Arc::clone(&shared), &values, &mut found);
        let bytes = shared.to_vec();
        drop(shared);
        read(&format!("{name}, Vec"), bytes, &values, &mut found);
    }
}

#[test]
fn a_static_file_is_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cdf5");
    let values = values();
    file(&format!("file://{}#mode=cdf5", path.display()), &values);
    let bytes: &'static [u8] = std::fs::read(path).unwrap().leak();
    read("a static file", bytes, &values, &mut vec![0; VALUES]);
}

#[test]
fn a_gibibyte_in_a_vector_is_not_copied() {
    let values = 1u64 << 30;
    let header = cdf5_header(values);
    let mut bytes = vec![0; header.len() + values as usize];
    bytes[..header.len()].copy_from_slice(&header);
    *bytes.last_mut().unwrap() = 7;

    let at = bytes.as_ptr();
    let shared = SharedBytes::from(bytes);
    let mut last = [0i8; 3];
    let whole = counted(|| {
        let file = OpenOptions::new().threads(1).open_bytes("held", shared.clone()).unwrap();
        file.variable("v").unwrap().get_into(&mut last, values - 3..values).unwrap();
    });
    assert_eq!(last, [0, 0, 7]);
    assert!(whole.bytes < MOST, "{whole:?}");
    let bytes = shared.into_vec();
    assert_eq!(bytes.as_ptr(), at, "the vector comes back");
}

/// Returns the header of a CDF-5 file with the dimension `x` and the variable `byte v(x)`.
fn cdf5_header(len: u64) -> Vec<u8> {
    let mut header = b"CDF\x05".to_vec();
    let word = |header: &mut Vec<u8>, value: u32| header.extend(value.to_be_bytes());
    let long = |header: &mut Vec<u8>, value: u64| header.extend(value.to_be_bytes());
    let name = |header: &mut Vec<u8>, name: u8| {
        long(header, 1);
        header.extend([name, 0, 0, 0]);
    };
    let empty_list = |header: &mut Vec<u8>| {
        word(header, 0);
        long(header, 0);
    };
    long(&mut header, 0); // records
    word(&mut header, 10); // the list of dimensions
    long(&mut header, 1);
    name(&mut header, b'x');
    long(&mut header, len);
    empty_list(&mut header); // attributes
    word(&mut header, 11); // the list of variables
    long(&mut header, 1);
    name(&mut header, b'v');
    long(&mut header, 1); // dimensions of v
    long(&mut header, 0);
    empty_list(&mut header);
    word(&mut header, 1); // NC_BYTE
    long(&mut header, len);
    let begin = header.len() as u64 + 8;
    long(&mut header, begin);
    header
}

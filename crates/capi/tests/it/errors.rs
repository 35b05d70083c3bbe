//! Texts of codes, and messages.

use crate::c::*;

#[test]
fn codes_have_their_texts() {
    assert_eq!(text(nc_strerror(0)), "No error");
    assert_eq!(text(nc_strerror(-33)), "NetCDF: Not a valid ID");
    assert_eq!(text(nc_strerror(2)), "No such file or directory");
    // Trap 33.
    for code in [-1, -32, -79, -143, -145, i32::MIN] {
        assert_eq!(text(nc_strerror(code)), "Unknown Error", "{code}");
    }
}

#[test]
fn the_version_begins_with_three_numbers() {
    // Trap 32: netCDF4-python parses the part before the first blank.
    let version = text(nc_inq_libvers());
    let numbers: Vec<_> = version.split(' ').next().unwrap().split('.').collect();
    assert!(numbers.len() == 3 && numbers.iter().all(|part| part.parse::<u32>().is_ok()), "{version}");
}

#[test]
fn the_last_message_names_path_and_object() {
    let mut id = 0;
    assert_eq!(nc_open(c"/no/such/place.nc".as_ptr(), 0, &mut id), 2);
    assert!(last_message().contains("/no/such/place.nc"), "{}", last_message());
    let made = create(0);
    assert_eq!(nc_inq_varid(made.id, c"wind".as_ptr(), &mut id), -49);
    assert!(last_message().contains("wind"), "{}", last_message());
    ok(nc_close(made.id));
}

//! Rules of netCDF-C for names and attributes that the Rust library does not have.

use std::fs;

use crate::c::*;

/// In data mode a classic file keeps the space of a name. Zeros fill it up, also after the file is opened
/// again.
#[test]
fn a_shorter_name_keeps_its_space_in_a_classic_file() {
    let mut made = create(0);
    let dim = made.dim(c"long_name", 3);
    let var = made.var(c"v_long", INT, &[dim]);
    ok(nc_put_att_text(made.id, var, c"a_long".as_ptr(), 2, c"ab".as_ptr()));
    ok(nc_enddef(made.id));
    ok(nc_sync(made.id));
    let len = fs::metadata(made.path.to_str().unwrap()).unwrap().len();
    ok(nc_rename_dim(made.id, dim, c"d".as_ptr()));
    ok(nc_rename_var(made.id, var, c"v".as_ptr()));
    ok(nc_rename_att(made.id, var, c"a_long".as_ptr(), c"a".as_ptr()));
    // A name may become as long as it was.
    ok(nc_rename_dim(made.id, dim, c"d23456789".as_ptr()));
    assert_eq!(nc_rename_dim(made.id, dim, c"d234567890".as_ptr()), -38);
    ok(nc_rename_dim(made.id, dim, c"d2".as_ptr()));
    made.reopen(WRITE);
    ok(nc_redef(made.id));
    ok(nc_put_att_text(made.id, NC_GLOBAL, c"t".as_ptr(), 1, c"x".as_ptr()));
    ok(nc_enddef(made.id));
    ok(nc_close(made.id));
    let bytes = fs::read(made.path.to_str().unwrap()).unwrap();
    // The new attribute: tag and count were there; name, type, and one value.
    assert_eq!(bytes.len() as u64, len + 20);
    for name in
        [&b"\0\0\0\x09d2\0\0\0\0\0\0\0\0\0\0"[..], b"\0\0\0\x06v\0\0\0\0\0\0\0", b"\0\0\0\x06a\0\0\0\0\0\0\0"]
    {
        assert!(bytes.windows(name.len()).any(|found| found == name), "{name:?}: {bytes:?}");
    }
    let mut id = 0;
    ok(nc_open(made.path.as_ptr(), WRITE, &mut made.id));
    ok(nc_inq_dimid(made.id, c"d2".as_ptr(), &mut id));
    ok(nc_inq_varid(made.id, c"v".as_ptr(), &mut id));
    // In define mode a name gets the space that it needs.
    ok(nc_redef(made.id));
    ok(nc_rename_dim(made.id, dim, c"d3".as_ptr()));
    ok(nc_close(made.id));
    let bytes = fs::read(made.path.to_str().unwrap()).unwrap();
    assert!(bytes.windows(8).any(|found| found == b"\0\0\0\x02d3\0\0"));
}

/// A new name of a variable is stored as it was given. Other names are normalised.
#[test]
fn a_new_name_of_a_variable_is_not_normalised() {
    let mut made = create(NETCDF4);
    let (given, normal) = (c"e\u{301}", c"\u{e9}");
    let var = made.var(given, INT, &[]);
    let mut name = [0; 300];
    ok(nc_inq_varname(made.id, var, name.as_mut_ptr()));
    assert_eq!(text(name.as_ptr()), normal.to_str().unwrap());
    ok(nc_rename_var(made.id, var, c"boring".as_ptr()));
    ok(nc_rename_var(made.id, var, given.as_ptr()));
    for _ in 0..2 {
        let mut id = -1;
        ok(nc_inq_varname(made.id, var, name.as_mut_ptr()));
        assert_eq!(text(name.as_ptr()), given.to_str().unwrap());
        // netCDF-C does not find it.
        ok(nc_inq_varid(made.id, given.as_ptr(), &mut id));
        assert_eq!(id, var);
        made.reopen(0);
    }
    ok(nc_close(made.id));
}

#[test]
fn a_long_name_of_an_attribute_is_a_bad_name_except_in_classic_files() {
    let long = std::ffi::CString::new("a".repeat(257)).unwrap();
    for (mode, code) in [(NETCDF4, -59), (0, -53)] {
        let made = create(mode);
        assert_eq!(nc_put_att_text(made.id, NC_GLOBAL, long.as_ptr(), 1, c"x".as_ptr()), code);
        ok(nc_close(made.id));
    }
}

#[test]
fn a_null_pointer_asks_whether_an_attribute_can_be_read() {
    let made = create(NETCDF4);
    ok(nc_put_att_text(made.id, NC_GLOBAL, c"a".as_ptr(), 2, c"ab".as_ptr()));
    ok(nc_get_att_text(made.id, NC_GLOBAL, c"a".as_ptr(), nowhere()));
    assert_eq!(nc_get_att_int(made.id, NC_GLOBAL, c"a".as_ptr(), nowhere()), -56);
    ok(nc_close(made.id));
}

/// A variable without fill and data has no records. They read as fill values, before and after closing.
#[test]
fn unwritten_records_read_as_fill_values_even_without_fill() {
    let mut made = create(NETCDF4);
    ok(nc_set_fill(made.id, 0x100, nowhere()));
    let (t, x) = (made.dim(c"t", 0), made.dim(c"x", 2));
    let (filled, empty) = (made.var(c"t", INT, &[t]), made.var(c"v", INT, &[t, x]));
    let fill = -2_147_483_647;
    for (record, mode) in [(0, WRITE), (1, 0), (2, WRITE)] {
        if record < 2 {
            ok(nc_put_vara_int(made.id, filled, [record].as_ptr(), [1].as_ptr(), &(record as i32)));
        }
        let (mut found, mut values) = ([0; 2], [0; 2]);
        ok(nc_get_vara_int(made.id, empty, [0; 2].as_ptr(), [1, 2].as_ptr(), found.as_mut_ptr()));
        assert_eq!(found, [fill; 2]);
        ok(nc_get_vara_int(made.id, filled, [0].as_ptr(), [1].as_ptr(), values.as_mut_ptr()));
        assert_eq!(values[0], 0);
        made.reopen(mode);
    }
    // Once it has data, it has all records.
    ok(nc_put_vara_int(made.id, empty, [1, 0].as_ptr(), [1, 2].as_ptr(), [7, 8].as_ptr()));
    for _ in 0..2 {
        let mut found = [0; 2];
        ok(nc_get_vara_int(made.id, empty, [1, 0].as_ptr(), [1, 2].as_ptr(), found.as_mut_ptr()));
        assert_eq!(found, [7, 8]);
        let mut len = 0;
        ok(nc_inq_dimlen(made.id, t, &mut len));
        assert_eq!(len, 2);
        made.reopen(0);
    }
    ok(nc_close(made.id));
}

/// A CDF-5 file may have a dimension of nearly 2^64, but no variable along it.
#[test]
fn the_longest_dimension_of_cdf_5_is_defined_and_read() {
    let mut made = create(CDF5);
    let longest = usize::MAX - 3;
    let mut id = 0;
    assert_eq!(nc_def_dim(made.id, c"d".as_ptr(), longest + 1, &mut id), -63);
    let dim = made.dim(c"d", longest);
    assert_eq!(nc_def_dim(made.id, c"d".as_ptr(), longest, &mut id), -42);
    for _ in 0..2 {
        let mut len = 0;
        ok(nc_inq_dimlen(made.id, dim, &mut len));
        assert_eq!(len, longest);
        made.reopen(WRITE);
    }
    ok(nc_redef(made.id));
    let mut var = 0;
    let defined = nc_def_var(made.id, c"v".as_ptr(), BYTE, 1, &dim, &mut var);
    assert!(defined == -62 || nc_enddef(made.id) == -62, "{}", last_message());
}

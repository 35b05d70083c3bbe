//! Data of variables.

use std::ptr::null;

use crate::c::*;

/// Creates a dataset with a variable of 2 by 3 integers that count from 0.
fn counting(cmode: i32) -> (Made, i32) {
    let made = create(cmode);
    let dims = [made.dim(c"y", 2), made.dim(c"x", 3)];
    let v = made.var(c"v", INT, &dims);
    ok(nc_enddef(made.id));
    ok(nc_put_var_int(made.id, v, [0, 1, 2, 3, 4, 5].as_ptr()));
    (made, v)
}

#[test]
fn regions_are_read() {
    for cmode in [0, CDF5, NETCDF4] {
        let (made, v) = counting(cmode);
        let mut values = [-1; 6];
        ok(nc_get_var1_int(made.id, v, [1, 2].as_ptr(), values.as_mut_ptr()));
        assert_eq!(values[..2], [5, -1]);
        ok(nc_get_vara_int(made.id, v, [0, 1].as_ptr(), [2, 2].as_ptr(), values.as_mut_ptr()));
        assert_eq!(values, [1, 2, 4, 5, -1, -1]);
        ok(nc_get_vars_int(
            made.id,
            v,
            [0, 0].as_ptr(),
            [2, 2].as_ptr(),
            [1, 2].as_ptr(),
            values.as_mut_ptr(),
        ));
        assert_eq!(values, [0, 2, 3, 5, -1, -1]);
        // A null count means all elements from the start on.
        ok(nc_get_vara_int(made.id, v, [1, 1].as_ptr(), null(), values.as_mut_ptr()));
        assert_eq!(values, [4, 5, 3, 5, -1, -1]);
        ok(nc_close(made.id));
    }
}

#[test]
fn elements_may_be_apart_in_memory() {
    let (made, v) = counting(NETCDF4);
    let mut values = [-1; 8];
    let (start, count, imap) = ([0, 0], [2, 3], [1isize, 3]);
    let id = made.id;
    // The transposed array: one step along x is 3 elements, and one element stays between rows.
    ok(nc_get_varm_int(
        id,
        v,
        start.as_ptr(),
        count.as_ptr(),
        no_steps(),
        imap.as_ptr(),
        values.as_mut_ptr(),
    ));
    assert_eq!(values, [0, 3, -1, 1, 4, -1, 2, 5]);
    let swapped = [10, 13, 0, 11, 14, 0, 12, 15];
    ok(nc_put_varm_int(id, v, start.as_ptr(), count.as_ptr(), no_steps(), imap.as_ptr(), swapped.as_ptr()));
    let mut values = [0; 6];
    ok(nc_get_var_int(id, v, values.as_mut_ptr()));
    assert_eq!(values, [10, 11, 12, 13, 14, 15]);
    let (low, backwards) = ([0, 0], [-3isize, 1]);
    // A distance may be negative: the first element lies at the end.
    ok(nc_get_varm_int(
        id,
        v,
        low.as_ptr(),
        count.as_ptr(),
        no_steps(),
        backwards.as_ptr(),
        values.as_mut_ptr().wrapping_add(3),
    ));
    assert_eq!(values, [13, 14, 15, 10, 11, 12]);
    ok(nc_close(id));
}

#[test]
fn wrong_regions_have_their_codes() {
    for cmode in [0, NETCDF4] {
        let (made, v) = counting(cmode);
        let mut values = [7; 6];
        let out = values.as_mut_ptr();
        let get = |start: &[usize; 2], count: &[usize; 2]| {
            nc_get_vara_int(made.id, v, start.as_ptr(), count.as_ptr(), out)
        };
        // Traps 9, 10 and 11.
        ok(get(&[2, 0], &[0, 3]));
        assert_eq!(get(&[2, 0], &[1, 3]), -40);
        assert_eq!(get(&[3, 0], &[0, 3]), -40);
        assert_eq!(get(&[1, 0], &[2, 3]), -57);
        assert_eq!(nc_get_vara_int(made.id, v, no_sizes(), [1, 1].as_ptr(), out), -40);
        for step in [0, -1] {
            let stride = [1, step];
            let outcome = nc_get_vars_int(made.id, v, [0, 0].as_ptr(), [1, 1].as_ptr(), stride.as_ptr(), out);
            assert_eq!(outcome, -58);
        }
        for var in [1, NC_GLOBAL, -7] {
            assert_eq!(nc_get_var_int(made.id, var, out), -49);
        }
        assert_eq!(values, [7; 6]);
        ok(nc_close(made.id));
    }
}

#[test]
fn a_scalar_needs_no_index() {
    for cmode in [0, NETCDF4] {
        let made = create(cmode);
        let v = made.var(c"v", INT, &[]);
        ok(nc_enddef(made.id));
        ok(nc_put_var1_int(made.id, v, no_sizes(), &42));
        let mut value = 0;
        ok(nc_get_vara_int(made.id, v, no_sizes(), no_sizes(), &mut value));
        assert_eq!(value, 42);
        ok(nc_close(made.id));
    }
}

#[test]
fn a_write_extends_unlimited_dimensions() {
    for cmode in [0, NETCDF4] {
        let made = create(cmode);
        let dims = [made.dim(c"t", 0), made.dim(c"x", 2)];
        let v = made.var(c"v", INT, &dims);
        ok(nc_enddef(made.id));
        ok(nc_put_vara_int(made.id, v, [2, 0].as_ptr(), [1, 2].as_ptr(), [8, 9].as_ptr()));
        let (mut len, mut values) = (0, [0; 6]);
        ok(nc_inq_dimlen(made.id, dims[0], &mut len));
        assert_eq!(len, 3);
        ok(nc_get_var_int(made.id, v, values.as_mut_ptr()));
        let fill = -2147483647;
        assert_eq!(values, [fill, fill, fill, fill, 8, 9]);
        ok(nc_close(made.id));
    }
}

#[test]
fn a_value_that_does_not_fit_is_an_error_after_the_transfer() {
    // Trap 12: the fill value in classic formats, the low bits in others.
    for (cmode, stored, read) in [(0, -127, -127), (CDF5, -127, -127), (NETCDF4, 44, 24)] {
        let made = create(cmode);
        let x = made.dim(c"x", 3);
        let (v, wide) = (made.var(c"v", BYTE, &[x]), made.var(c"wide", INT, &[x]));
        ok(nc_enddef(made.id));
        assert_eq!(nc_put_var_int(made.id, v, [1, 300, -2].as_ptr()), -60);
        let mut bytes = [0; 3];
        ok(nc_get_var_schar(made.id, v, bytes.as_mut_ptr()));
        assert_eq!(bytes, [1, stored, -2]);
        ok(nc_put_var_int(made.id, wide, [5, -1000, 6].as_ptr()));
        assert_eq!(nc_get_var_schar(made.id, wide, bytes.as_mut_ptr()), -60);
        assert_eq!(bytes, [5, read, 6]);
        ok(nc_close(made.id));
    }
}

#[test]
fn bytes_have_no_sign_in_old_formats() {
    // Trap 13.
    for (cmode, expected) in [(0, 0), (CDF2, 0), (CDF5, -60), (NETCDF4, -60)] {
        let made = create(cmode);
        let x = made.dim(c"x", 2);
        let v = made.var(c"v", BYTE, &[x]);
        ok(nc_enddef(made.id));
        assert_eq!(nc_put_var_uchar(made.id, v, [5, 200].as_ptr()), expected, "0x{cmode:x}");
        let mut bytes = [0; 2];
        ok(nc_get_var_schar(made.id, v, bytes.as_mut_ptr()));
        assert_eq!(bytes, [5, if cmode == CDF5 { -127 } else { -56 }]);
        ok(nc_close(made.id));
    }
}

#[test]
fn text_and_numbers_do_not_convert() {
    for cmode in [0, NETCDF4] {
        let made = create(cmode);
        let (v, c) = (made.var(c"v", INT, &[]), made.var(c"c", CHAR, &[]));
        ok(nc_enddef(made.id));
        // Trap 14.
        let (mut text, mut value) = ([0; 4], 0);
        assert_eq!(nc_get_var_text(made.id, v, text.as_mut_ptr()), -56);
        assert_eq!(nc_get_var_int(made.id, c, &mut value), -56);
        assert_eq!(nc_put_var_int(made.id, c, &1), -56);
        ok(nc_close(made.id));
    }
}

#[test]
fn strings_are_handed_out_and_freed() {
    let made = create(NETCDF4);
    let x = made.dim(c"x", 4);
    let v = made.var(c"v", STRING, &[x]);
    let texts = [c"one".as_ptr(), c"".as_ptr(), null(), c"fo\xc3\xbcr".as_ptr()];
    ok(nc_put_var_string(made.id, v, texts.as_ptr()));
    let mut found = [nowhere(); 4];
    ok(nc_get_var_string(made.id, v, found.as_mut_ptr()));
    // Trap 29: a null string stays one.
    let shown = found.map(|text| (!text.is_null()).then(|| crate::c::text(text)));
    assert_eq!(shown, [Some("one".into()), Some(String::new()), None, Some("foür".into())]);
    ok(nc_free_string(4, found.as_mut_ptr()));
    assert_eq!(found, [nowhere(); 4]);
    ok(nc_close(made.id));
}

//! Attributes.

use std::ptr::null;

use crate::c::*;

#[test]
fn values_convert_and_report_their_range() {
    for cmode in [0, NETCDF4] {
        let made = create(cmode);
        let (id, name) = (made.id, c"a".as_ptr());
        ok(nc_put_att_int(id, NC_GLOBAL, name, DOUBLE, 3, [1, 300, -5].as_ptr()));
        let (mut ints, mut bytes) = ([0; 3], [0; 3]);
        ok(nc_get_att_int(id, NC_GLOBAL, name, ints.as_mut_ptr()));
        assert_eq!(ints, [1, 300, -5]);
        assert_eq!(nc_get_att_schar(id, NC_GLOBAL, name, bytes.as_mut_ptr()), -60);
        assert_eq!(bytes, [1, if cmode == 0 { -127 } else { 44 }, -5]);
        assert_eq!(nc_get_att_text(id, NC_GLOBAL, name, nowhere()), -56);
        assert_eq!(nc_put_att_int(id, NC_GLOBAL, name, CHAR, 1, [1].as_ptr()), -56);
        assert_eq!(nc_get_att_int(id, NC_GLOBAL, c"b".as_ptr(), ints.as_mut_ptr()), -43);
        assert_eq!(nc_get_att_int(id, 5, name, ints.as_mut_ptr()), -49);
        ok(nc_close(id));
    }
}

#[test]
fn names_are_checked() {
    let made = create(NETCDF4);
    // Trap 18.
    for name in [c"", c"a/b", c" a", c"a "] {
        assert_eq!(nc_put_att_int(made.id, NC_GLOBAL, name.as_ptr(), INT, 1, [1].as_ptr()), -59, "{name:?}");
    }
    for name in [c"a", c"b"] {
        ok(nc_put_att_int(made.id, NC_GLOBAL, name.as_ptr(), INT, 1, [1].as_ptr()));
    }
    assert_eq!(nc_rename_att(made.id, NC_GLOBAL, c"a".as_ptr(), c"b".as_ptr()), -42);
    ok(nc_rename_att(made.id, NC_GLOBAL, c"a".as_ptr(), c"c".as_ptr()));
    // Trap 21.
    assert_eq!(nc_put_att_text(made.id, NC_GLOBAL, c"_NCProperties".as_ptr(), 1, c"x".as_ptr()), -42);
    let mut number = 0;
    ok(nc_inq_attid(made.id, NC_GLOBAL, c"c".as_ptr(), &mut number));
    assert_eq!(number, 0);
    ok(nc_close(made.id));
}

#[test]
fn strings_come_back() {
    let mut made = create(NETCDF4);
    let texts = [c"one".as_ptr(), c"two words".as_ptr()];
    ok(nc_put_att_string(made.id, NC_GLOBAL, c"s".as_ptr(), 2, texts.as_ptr()));
    made.reopen(0);
    let mut found = [nowhere(); 2];
    ok(nc_get_att_string(made.id, NC_GLOBAL, c"s".as_ptr(), found.as_mut_ptr()));
    assert_eq!(found.map(|found| text(found)), ["one", "two words"]);
    ok(nc_free_string(2, found.as_mut_ptr()));
    ok(nc_close(made.id));
}

#[test]
fn the_fill_value_is_checked() {
    let made = create(NETCDF4);
    let v = made.var(c"v", INT, &[]);
    let fill = c"_FillValue".as_ptr();
    let put = |var, ty, len| nc_put_att_int(made.id, var, fill, ty, len, [9, 9].as_ptr());
    // Traps 22 and 23.
    assert_eq!(put(v, FLOAT, 1), -45);
    assert_eq!(put(v, INT, 2), -36);
    ok(put(NC_GLOBAL, FLOAT, 2));
    assert_eq!(nc_def_var_fill(made.id, NC_GLOBAL, 0, null()), -50);
    ok(put(v, INT, 1));
    let (mut off, mut value) = (5, 0i32);
    ok(nc_inq_var_fill(made.id, v, &mut off, (&raw mut value).cast()));
    assert_eq!((off, value), (0, 9));
    ok(nc_enddef(made.id));
    assert_eq!(put(v, INT, 1), -122);
    assert_eq!(nc_def_var_fill(made.id, v, 1, null()), -123);
    ok(nc_close(made.id));
}

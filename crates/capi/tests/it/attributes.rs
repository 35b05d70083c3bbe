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

/// The library stores nothing under the names of computed attributes and of the layout. CDF files may.
#[test]
fn reserved_names_are_refused() {
    let names = [c"CLASS", c"_ARRAY_DIMENSIONS", c"_Codecs", c"_Format", c"_IsNetcdf4", c"_nczarr_group"];
    for cmode in [NETCDF4, NETCDF4 | CLASSIC_MODEL] {
        let made = create(cmode);
        let var = made.var(c"v", INT, &[]);
        for name in names {
            for owner in [NC_GLOBAL, var] {
                let put = nc_put_att_text(made.id, owner, name.as_ptr(), 1, c"x".as_ptr());
                assert_eq!(put, -42, "{name:?}");
            }
            assert_eq!(nc_del_att(made.id, NC_GLOBAL, name.as_ptr()), -43, "{name:?}");
        }
        assert_eq!(nc_del_att(made.id, NC_GLOBAL, c"_NCProperties".as_ptr()), -43);
        ok(nc_close(made.id));
    }
    let made = create(0);
    ok(nc_put_att_text(made.id, NC_GLOBAL, c"_Format".as_ptr(), 1, c"x".as_ptr()));
    ok(nc_del_att(made.id, NC_GLOBAL, c"_Format".as_ptr()));
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

#[test]
fn a_late_fill_value_is_an_attribute_only() {
    let mut made = create(NETCDF4);
    let x = made.dim(c"x", 0);
    let v = made.var(c"v", INT, &[x]);
    let (other, fill) = (c"other".as_ptr(), c"_FillValue".as_ptr());
    ok(nc_put_att_int(made.id, v, other, INT, 1, &7));
    ok(nc_put_var1_int(made.id, v, [2].as_ptr(), &5));
    // NCO renames the attribute, changes it, and renames it back.
    let rename = |id, name, to| nc_rename_att(id, v, name, to);
    ok(rename(made.id, other, fill));
    ok(rename(made.id, fill, other));
    ok(nc_put_att_int(made.id, v, other, INT, 1, &9));
    ok(rename(made.id, other, fill));
    assert_eq!(nc_put_att_int(made.id, v, fill, INT, 1, &7), -122);
    for _ in 0..2 {
        let (mut value, mut values, mut unwritten, mut off) = (0, [0; 3], 0i32, 5);
        ok(nc_get_att_int(made.id, v, fill, &mut value));
        ok(nc_get_var_int(made.id, v, values.as_mut_ptr()));
        ok(nc_inq_var_fill(made.id, v, &mut off, (&raw mut unwritten).cast()));
        let default = -2147483647;
        assert_eq!((value, values, unwritten, off), (9, [default, default, 5], default, 0));
        made.reopen(WRITE);
    }
    ok(nc_del_att(made.id, v, fill));
    ok(nc_close(made.id));
}

#[test]
fn a_stored_attribute_of_another_size_moves_to_the_end() {
    let names = |id, var| {
        let name = |at| {
            let mut name = [0; 257];
            (nc_inq_attname(id, var, at, name.as_mut_ptr()) == 0).then(|| text(name.as_ptr()))
        };
        (0..).map_while(name).collect::<Vec<_>>().join(" ")
    };
    for var in [NC_GLOBAL, 0] {
        let mut made = create(NETCDF4);
        made.var(c"v", INT, &[]);
        let put = |id, name: &std::ffi::CStr, len| {
            ok(nc_put_att_int(id, var, name.as_ptr(), INT, len, [1, 2].as_ptr()));
        };
        // Before they are stored, they keep their place.
        for name in [c"a", c"b", c"c", c"d", c"e"] {
            put(made.id, name, 1);
        }
        put(made.id, c"a", 2);
        assert_eq!(names(made.id, var), "a b c d e");
        made.reopen(WRITE);
        assert_eq!(names(made.id, var), "a b c d e");
        put(made.id, c"new", 1);
        put(made.id, c"c", 1);
        put(made.id, c"a", 1);
        ok(nc_rename_att(made.id, var, c"d".as_ptr(), c"D".as_ptr()));
        ok(nc_del_att(made.id, var, c"b".as_ptr()));
        assert_eq!(names(made.id, var), "a c D e new");
        ok(nc_sync(made.id));
        assert_eq!(names(made.id, var), "a c D e new");
        put(made.id, c"e", 2);
        put(made.id, c"b", 1);
        made.reopen(WRITE);
        assert_eq!(names(made.id, var), "c a D new e b");
        ok(nc_close(made.id));
    }
}

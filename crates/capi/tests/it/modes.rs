//! Creation, opening and define mode.

use std::fs;

use crate::c::*;

#[test]
fn flags_decide_the_format() {
    for (cmode, format) in
        [(0, 1), (CLASSIC_MODEL, 1), (CDF2, 2), (CDF5, 5), (NETCDF4, 3), (NETCDF4 | CLASSIC_MODEL, 4)]
    {
        let mut made = create(cmode);
        made.reopen(NETCDF4 | NOCLOBBER);
        let mut found = 0;
        ok(nc_inq_format(made.id, &mut found));
        assert_eq!(found, format, "0x{cmode:x}");
        // Trap 5.
        let mut id = 0;
        assert_eq!(nc_create(made.path.as_ptr(), cmode | NOCLOBBER, &mut id), -35);
        ok(nc_close(made.id));
    }
    let mut id = 0;
    assert_eq!(nc_create(c"x.nc".as_ptr(), CDF2 | CDF5, &mut id), -36);
}

#[test]
fn paths_that_are_no_datasets_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| path_in(folder.path(), name);
    fs::write(folder.path().join("empty"), b"").unwrap();
    fs::write(folder.path().join("junk"), b"no dataset at all, but some text").unwrap();
    let mut id = 0;
    let opened = |name: &str, id: &mut i32| nc_open(path(name).as_ptr(), 0, id);
    // Trap 4.
    assert_eq!(opened("missing", &mut id), 2);
    for name in ["empty", "junk", "."] {
        assert_eq!(opened(name, &mut id), -51, "{name}: {}", last_message());
    }
    assert_eq!(nc_open(c"".as_ptr(), 0, &mut id), -74);
    assert_eq!(nc_open(std::ptr::null(), 0, &mut id), -36);
    assert_eq!(nc_create(path("no/a.nc").as_ptr(), 0, &mut id), 2);
    assert_eq!(nc_create(path("no/a.nc").as_ptr(), NETCDF4, &mut id), 13);
    // Trap 34, and nothing is deleted.
    assert_eq!(nc_delete(path("junk").as_ptr()), -51);
    assert_eq!(nc_delete(path("missing").as_ptr()), 2);
    assert!(folder.path().join("junk").exists());
    // Creation replaces any regular file, as in C.
    for (name, cmode) in [("junk", 0), ("empty", NETCDF4)] {
        ok(nc_create(path(name).as_ptr(), cmode, &mut id));
        ok(nc_close(id));
        ok(opened(name, &mut id));
        ok(nc_close(id));
    }
}

#[test]
fn define_mode_is_strict_in_the_classic_model() {
    for cmode in [0, CDF2, CDF5, NETCDF4 | CLASSIC_MODEL] {
        let made = create(cmode);
        let x = made.dim(c"xx", 3);
        let v = made.var(c"v", INT, &[x]);
        ok(nc_put_att_text(made.id, v, c"unit".as_ptr(), 1, c"K".as_ptr()));
        let (mut values, mut id) = ([1, 2, 3], 0);
        // Traps 15 and 16.
        assert_eq!(nc_redef(made.id), -39);
        assert_eq!(nc_put_var_int(made.id, v, values.as_ptr()), -39);
        assert_eq!(nc_get_var_int(made.id, v, values.as_mut_ptr()), -39);
        assert_eq!(nc_sync(made.id), -39);
        ok(nc_enddef(made.id));
        assert_eq!(nc_enddef(made.id), -38);
        assert_eq!(nc_def_dim(made.id, c"y".as_ptr(), 1, &mut id), -38);
        assert_eq!(nc_def_var(made.id, c"w".as_ptr(), INT, 0, std::ptr::null(), &mut id), -38);
        assert_eq!(nc_put_att_text(made.id, v, c"unit".as_ptr(), 5, c"meter".as_ptr()), -38);
        assert_eq!(nc_del_att(made.id, v, c"unit".as_ptr()), -38);
        // A netCDF-4 file has space for every name.
        let longer = if cmode & NETCDF4 == 0 { -38 } else { 0 };
        assert_eq!(nc_rename_dim(made.id, x, c"longer".as_ptr()), longer);
        // What needs no more space is possible, and the mode stays.
        ok(nc_rename_dim(made.id, x, c"x".as_ptr()));
        ok(nc_put_att_text(made.id, v, c"unit".as_ptr(), 1, c"m".as_ptr()));
        // In a classic file up to 4 characters take the same space.
        let more = if cmode & NETCDF4 == 0 { 0 } else { -38 };
        assert_eq!(nc_put_att_text(made.id, v, c"unit".as_ptr(), 4, c"inch".as_ptr()), more);
        ok(nc_put_var_int(made.id, v, values.as_ptr()));
        ok(nc_redef(made.id));
        ok(nc_close(made.id));
    }
}

#[test]
fn define_mode_is_automatic_in_netcdf_4() {
    let made = create(NETCDF4);
    let x = made.dim(c"x", 3);
    let v = made.var(c"v", INT, &[x]);
    // In define mode it changes nothing.
    ok(nc_redef(made.id));
    ok(nc_redef(made.id));
    ok(nc_put_var_int(made.id, v, [1, 2, 3].as_ptr()));
    assert_eq!(nc_enddef(made.id), -38);
    made.dim(c"y", 4);
    ok(nc_enddef(made.id));
    ok(nc_close(made.id));
}

#[test]
fn a_dataset_that_is_read_refuses_changes() {
    for (cmode, dim_code) in [(0, -38), (NETCDF4, -37)] {
        let mut made = create(cmode);
        let v = made.var(c"v", INT, &[]);
        made.reopen(0);
        // Trap 8.
        let mut id = 0;
        assert_eq!(nc_redef(made.id), -37);
        assert_eq!(nc_enddef(made.id), -38);
        assert_eq!(nc_def_dim(made.id, c"y".as_ptr(), 1, &mut id), dim_code);
        assert_eq!(nc_put_att_text(made.id, v, c"a".as_ptr(), 1, c"K".as_ptr()), -37);
        assert_eq!(nc_put_var_int(made.id, v, &1), -37);
        assert_eq!(nc_set_fill(made.id, 0x100, nowhere()), -37);
        ok(nc_sync(made.id));
        ok(nc_close(made.id));
    }
}

#[test]
fn abort_keeps_a_file_that_was_there() {
    for cmode in [0, NETCDF4] {
        // Trap 17.
        let made = create(cmode);
        ok(nc_abort(made.id));
        assert!(!made.folder.path().join("a.nc").exists());

        let mut made = create(cmode);
        made.var(c"kept", INT, &[]);
        made.reopen(WRITE);
        ok(nc_redef(made.id));
        made.var(c"dropped", INT, &[]);
        ok(nc_abort(made.id));
        let (mut id, mut count) = (0, 0);
        ok(nc_open(made.path.as_ptr(), 0, &mut id));
        ok(nc_inq_nvars(id, &mut count));
        assert_eq!(count, 1);
        ok(nc_close(id));
    }
}

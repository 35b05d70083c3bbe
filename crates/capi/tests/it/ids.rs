//! Ids of datasets, groups and variables.

use crate::c::*;

/// The tests of other modules open datasets too, so slots are compared, not counted.
const SLOT: i32 = 1 << 16;

#[test]
fn an_id_is_a_slot_and_a_group() {
    let (one, two) = (create(NETCDF4), create(0));
    assert!(one.id >= SLOT && one.id % SLOT == 0 && two.id % SLOT == 0 && one.id != two.id);
    let (mut g, mut h, mut parent) = (0, 0, 0);
    ok(nc_def_grp(one.id, c"g".as_ptr(), &mut g));
    ok(nc_def_grp(g, c"h".as_ptr(), &mut h));
    assert_eq!([g - one.id, h - one.id], [1, 2]);
    ok(nc_inq_grp_parent(h, &mut parent));
    assert_eq!(parent, g);
    // Trap 19: the root has no parent, and a path is no name.
    assert_eq!(nc_inq_grp_parent(one.id, &mut parent), -125);
    assert_eq!(nc_inq_grp_ncid(one.id, c"/g".as_ptr(), &mut parent), -59);
    // Trap 16: a classic file has its root only, under every name.
    ok(nc_inq_ncid(two.id, c"anything".as_ptr(), &mut parent));
    assert_eq!(parent, two.id);
    assert_eq!(nc_def_grp(two.id, c"g".as_ptr(), &mut parent), -111);
    // Trap 2: closing a group is an error, and the file stays open.
    assert_eq!(nc_close(g), -116);
    ok(nc_sync(g));
    let mut len = 0;
    ok(nc_inq_path(h, &mut len, nowhere()));
    assert_eq!(len, one.path.as_bytes().len());
    ok(nc_close(one.id));
    assert_eq!(nc_close(one.id), -33);
    ok(nc_close(two.id));
}

#[test]
fn unknown_ids_are_errors() {
    let made = create(NETCDF4);
    let mut count = 0;
    for id in [0, -1, 7, i32::MAX, i32::MIN, made.id + 1, made.id + 77] {
        assert_eq!(nc_inq_nvars(id, &mut count), -33, "{id:x}");
    }
    ok(nc_close(made.id));
}

#[test]
fn numbers_of_variables_are_dense_in_each_group() {
    let made = create(NETCDF4);
    let (mut g, mut id) = (0, -1);
    ok(nc_def_grp(made.id, c"g".as_ptr(), &mut g));
    assert_eq!([made.var(c"a", INT, &[]), made.var(c"b", INT, &[])], [0, 1]);
    ok(nc_def_var(g, c"c".as_ptr(), INT, 0, std::ptr::null(), &mut id));
    assert_eq!(id, 0);
    ok(nc_inq_varid(made.id, c"b".as_ptr(), &mut id));
    assert_eq!(id, 1);
    assert_eq!(nc_inq_varid(made.id, c"c".as_ptr(), &mut id), -49);
    ok(nc_close(made.id));
}

#[test]
fn a_file_opened_twice_has_two_ids() {
    let mut made = create(0);
    made.reopen(0);
    let mut other = 0;
    ok(nc_open(made.path.as_ptr(), 0, &mut other));
    assert_ne!(made.id, other);
    ok(nc_close(other));
    ok(nc_close(made.id));
}

#[test]
fn a_file_that_is_written_can_be_opened_to_read() {
    for cmode in [0, NETCDF4] {
        let made = create(cmode);
        let v = made.var(c"v", INT, &[]);
        ok(nc_enddef(made.id));
        ok(nc_put_var_int(made.id, v, &5));
        ok(nc_sync(made.id));
        let (mut reader, mut value) = (0, 0);
        ok(nc_open(made.path.as_ptr(), 0, &mut reader));
        ok(nc_get_var_int(reader, v, &mut value));
        assert_eq!((value, nc_put_var_int(reader, v, &6)), (5, -37));
        assert_eq!([nc_redef(reader), nc_enddef(reader)], [-37, -38]);
        // The reader stays usable after the writer, whose data are stored.
        ok(nc_close(made.id));
        ok(nc_get_var_int(reader, v, &mut value));
        ok(nc_close(reader));
        ok(nc_open(made.path.as_ptr(), WRITE, &mut reader));
        ok(nc_close(reader));
    }
}

#[test]
fn threads_share_the_table() {
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            std::thread::spawn(move || {
                for round in 0..20 {
                    let mut made = create(if thread % 2 == 0 { NETCDF4 } else { 0 });
                    let (x, value) = (made.dim(c"x", 10), [thread * 100 + round; 10]);
                    let v = made.var(c"v", INT, &[x]);
                    ok(nc_enddef(made.id));
                    ok(nc_put_var_int(made.id, v, value.as_ptr()));
                    made.reopen(0);
                    let mut found = [0; 10];
                    ok(nc_get_var_int(made.id, v, found.as_mut_ptr()));
                    assert_eq!(found, value);
                    ok(nc_close(made.id));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

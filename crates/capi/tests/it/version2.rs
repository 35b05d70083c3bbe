//! The interface of netCDF 2.

use std::ptr::null;
use std::sync::atomic::Ordering;

use crate::c::*;

#[test]
fn a_dataset_is_written_and_read() {
    // By default an error ends the program.
    assert_eq!(ncopts.load(Ordering::Relaxed), 3);
    ncopts.store(0, Ordering::Relaxed);
    let folder = tempfile::tempdir().unwrap();
    let path = path_in(folder.path(), "v2.nc");
    let id = nccreate(path.as_ptr(), 0);
    let dims = [ncdimdef(id, c"t".as_ptr(), 0), ncdimdef(id, c"x".as_ptr(), 3)];
    let fixed = ncvardef(id, c"fixed".as_ptr(), INT, 1, &dims[1]);
    let records = ncvardef(id, c"records".as_ptr(), INT, 2, dims.as_ptr());
    assert_eq!((dims, fixed, records), ([0, 1], 0, 1));
    assert_eq!(ncattput(id, fixed, c"a".as_ptr(), INT, 1, (&raw const fixed).cast()), 0);
    assert_eq!(ncendef(id), 0);
    assert_eq!(ncvarput(id, fixed, [0].as_ptr(), [3].as_ptr(), [1, 2, 3].as_ptr().cast()), 0);

    // Records: the sizes are bytes, and a null pointer skips a variable.
    let (mut count, mut var, mut size) = (0, 0, 0);
    assert_eq!(ncrecinq(id, &mut count, &mut var, &mut size), 1);
    assert_eq!((count, var, size), (1, records, 12));
    let row = [7, 8, 9];
    assert_eq!(ncrecput(id, 1, [row.as_ptr().cast()].as_ptr()), 0);
    let mut found = [0; 3];
    assert_eq!(ncrecget(id, 1, [found.as_mut_ptr().cast()].as_ptr()), 0);
    assert_eq!(found, row);
    assert_eq!(ncrecget(id, 1, [nowhere()].as_ptr()), 0);

    // Distances in memory are bytes.
    let mut apart = [0; 5];
    let out = apart.as_mut_ptr().cast();
    assert_eq!(ncvargetg(id, fixed, [0].as_ptr(), [3].as_ptr(), null(), [8].as_ptr(), out), 0);
    assert_eq!(apart, [1, 0, 2, 0, 3]);

    let (mut ty, mut len) = (0, 0);
    assert_eq!(ncattinq(id, fixed, c"a".as_ptr(), &mut ty, &mut len), 1);
    assert_eq!((ty, len), (INT, 1));
    assert_eq!([nctypelen(DOUBLE), nctypelen(99)], [8, -1]);
    assert_eq!(ncerr.load(Ordering::Relaxed), -45);
    assert_eq!(ncclose(id), 0);

    // Trap 35: every error of the system has one code, and success does not reset it.
    assert_eq!(ncopen(c"/no/such/file".as_ptr(), 0), -1);
    assert_eq!(ncerr.load(Ordering::Relaxed), -31);
    let id = ncopen(path.as_ptr(), 0);
    assert_eq!(ncdimid(id, c"x".as_ptr()), 1);
    assert_eq!(ncerr.load(Ordering::Relaxed), -31);
    assert_eq!(ncclose(id), 0);
}

#[test]
fn records_are_written_and_read_with_codes() {
    let folder = tempfile::tempdir().unwrap();
    let path = path_in(folder.path(), "records.nc");
    let (mut id, mut dims, mut vars) = (0, [0; 2], [0; 3]);
    ok(nc_create(path.as_ptr(), NETCDF4, &mut id));
    ok(nc_def_dim(id, c"t".as_ptr(), 0, &mut dims[0]));
    ok(nc_def_dim(id, c"x".as_ptr(), 2, &mut dims[1]));
    ok(nc_def_var(id, c"a".as_ptr(), DOUBLE, 1, dims.as_ptr(), &mut vars[0]));
    ok(nc_def_var(id, c"fixed".as_ptr(), INT, 1, &dims[1], &mut vars[1]));
    ok(nc_def_var(id, c"b".as_ptr(), INT, 2, dims.as_ptr(), &mut vars[2]));

    let (mut count, mut found, mut sizes) = (0, [9; 2], [0; 2]);
    ok(nc_inq_rec(id, &mut count, found.as_mut_ptr(), sizes.as_mut_ptr()));
    assert_eq!((count, found, sizes), (2, [vars[0], vars[2]], [8, 8]));
    let (a, b) = (2.5, [3, 4]);
    ok(nc_put_rec(id, 1, [(&raw const a).cast(), b.as_ptr().cast()].as_ptr()));
    let mut read = [0; 2];
    ok(nc_get_rec(id, 1, [nowhere(), read.as_mut_ptr().cast()].as_ptr()));
    assert_eq!(read, b);
    assert_eq!(nc_get_rec(id, 2, [nowhere(), read.as_mut_ptr().cast()].as_ptr()), -40);
    ok(nc_close(id));
    assert_eq!(nc_inq_rec(id, &mut count, found.as_mut_ptr(), sizes.as_mut_ptr()), -33);
}

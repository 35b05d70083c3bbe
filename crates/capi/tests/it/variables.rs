//! Layout of variables.

use std::ptr::null;

use crate::c::*;

#[test]
fn filters_and_chunks_are_defined_before_the_variable_is_stored() {
    let made = create(NETCDF4);
    let x = made.dim(c"x", 100);
    let v = made.var(c"v", INT, &[x]);
    // Trap 26.
    assert_eq!(nc_def_var_deflate(made.id, v, 0, 1, 10), -36);
    ok(nc_def_var_deflate(made.id, v, 1, 1, 4));
    let (mut shuffle, mut on, mut level) = (0, 0, 0);
    ok(nc_inq_var_deflate(made.id, v, &mut shuffle, &mut on, &mut level));
    assert_eq!([shuffle, on, level], [1, 1, 4]);
    assert_eq!(nc_def_var_chunking(made.id, v, 0, [101].as_ptr()), -127);
    assert_eq!(nc_def_var_chunking(made.id, v, 1, null()), -36);
    ok(nc_def_var_chunking(made.id, v, 0, [10].as_ptr()));
    let (mut storage, mut chunk) = (7, [0]);
    ok(nc_inq_var_chunking(made.id, v, &mut storage, chunk.as_mut_ptr()));
    assert_eq!((storage, chunk), (0, [10]));
    // A filter makes a contiguous variable chunked, and a scalar cannot have one (trap 27).
    let (flat, scalar) = (made.var(c"flat", INT, &[x]), made.var(c"scalar", INT, &[]));
    ok(nc_def_var_chunking(made.id, flat, 1, null()));
    ok(nc_def_var_deflate(made.id, flat, 0, 1, 1));
    ok(nc_inq_var_chunking(made.id, flat, &mut storage, chunk.as_mut_ptr()));
    assert_eq!((storage, chunk), (0, [100]));
    assert_eq!(nc_def_var_deflate(made.id, scalar, 1, 1, 1), -36);
    ok(nc_enddef(made.id));
    assert_eq!(nc_def_var_chunking(made.id, v, 0, [20].as_ptr()), -123);
    assert_eq!(nc_def_var_deflate(made.id, v, 0, 1, 1), -123);
    ok(nc_close(made.id));
}

#[test]
fn a_chunked_variable_without_a_chunk_shape_gets_one() {
    let made = create(NETCDF4);
    let dims = [made.dim(c"y", 5000), made.dim(c"x", 5000), made.dim(c"t", 0), made.dim(c"small", 3)];
    let chunks = |name, ty, dims: &[i32]| {
        let (v, mut storage, mut shape) = (made.var(name, ty, dims), 7, vec![0; dims.len()]);
        ok(nc_def_var_chunking(made.id, v, 0, null()));
        ok(nc_inq_var_chunking(made.id, v, &mut storage, shape.as_mut_ptr()));
        assert_eq!(storage, 0);
        shape
    };
    assert_eq!(chunks(c"little", INT, &[dims[3]]), [3]);
    // At most 16 MiB, and the chunks divide the shape evenly: 3 by 3 chunks.
    assert_eq!(chunks(c"large", FLOAT, &dims[..2]), [1667, 1667]);
    assert_eq!(chunks(c"records", FLOAT, &dims[2..3]), [1024]);
    ok(nc_close(made.id));
}

#[test]
fn a_classic_file_has_no_layout() {
    let made = create(0);
    let x = made.dim(c"x", 100);
    let v = made.var(c"v", INT, &[x]);
    // Trap 16.
    assert_eq!(nc_def_var_deflate(made.id, v, 0, 1, 1), -111);
    assert_eq!(nc_def_var_chunking(made.id, v, 1, null()), -111);
    assert_eq!(nc_set_var_chunk_cache(made.id, v, 1, 1, 0.5), -111);
    let (mut shuffle, mut on, mut level) = (7, 7, 7);
    ok(nc_inq_var_deflate(made.id, v, &mut shuffle, &mut on, &mut level));
    assert_eq!([shuffle, on], [0, 0]);
    let mut storage = 7;
    ok(nc_inq_var_chunking(made.id, v, &mut storage, nowhere()));
    assert_eq!(storage, 1);
    ok(nc_close(made.id));
}

#[test]
fn the_chunk_cache_survives_an_edit() {
    let made = create(NETCDF4);
    let x = made.dim(c"x", 100);
    let v = made.var(c"v", INT, &[x]);
    ok(nc_set_var_chunk_cache(made.id, v, 12345, 77, 0.25));
    assert_eq!(nc_set_var_chunk_cache(made.id, v, 1, 1, 1.5), -36);
    ok(nc_def_var_chunking(made.id, v, 0, [10].as_ptr()));
    let (mut bytes, mut slots, mut preemption) = (0, 0, 0.0);
    ok(nc_get_var_chunk_cache(made.id, v, &mut bytes, &mut slots, &mut preemption));
    assert_eq!((bytes, slots, preemption), (12345, 77, 0.25));
    ok(nc_close(made.id));
}

#[test]
fn names_of_classic_files_end_before_their_zeros() {
    for cmode in [0, CDF5] {
        let mut made = create(cmode);
        let x = made.dim(c"dimension", 2);
        let v = made.var(c"variable", INT, &[x]);
        ok(nc_put_att_text(made.id, v, c"attribute".as_ptr(), 1, c"K".as_ptr()));
        ok(nc_enddef(made.id));
        ok(nc_put_var_int(made.id, v, [7, 8].as_ptr()));
        ok(nc_close(made.id));
        // netCDF-C fills up names that became shorter.
        let file = made.folder.path().join("a.nc");
        let mut bytes = std::fs::read(&file).unwrap();
        for (old, kept) in [("dimension", 1), ("variable", 3), ("attribute", 2)] {
            let at = bytes.windows(old.len()).position(|found| found == old.as_bytes()).unwrap();
            bytes[at + kept..at + old.len()].fill(0);
        }
        std::fs::write(&file, bytes).unwrap();
        ok(nc_open(made.path.as_ptr(), WRITE, &mut made.id));
        for name in [c"e", c"f"] {
            let (mut id, mut len, mut values) = (-1, 0, [0; 2]);
            ok(nc_inq_varid(made.id, c"var".as_ptr(), &mut id));
            ok(nc_inq_attid(made.id, v, c"at".as_ptr(), &mut id));
            ok(nc_inq_dimlen(made.id, x, &mut len));
            ok(nc_get_var_int(made.id, v, values.as_mut_ptr()));
            assert_eq!((len, values), (2, [7, 8]));
            ok(nc_rename_dim(made.id, x, name.as_ptr()));
            made.reopen(WRITE);
        }
        ok(nc_close(made.id));
    }
}

//! Stores that several processes define and write together.

use std::ffi::CString;
use std::path::Path;
use std::ptr::null;

use crate::c::*;

const EACH: [&str; 4] = ["mode=nczarr,file", "mode=nczarr,v3,file", "mode=zarr,v2,file", "mode=zarr,v3,file"];

fn url(folder: &Path, mode: &str) -> CString {
    CString::new(format!("file://{}/x.zarr#{mode}", folder.display())).unwrap()
}

fn join(url: &CString) -> i32 {
    let mut id = -1;
    ok(nc_create_par_fortran(url.as_ptr(), 0, 0, 0, &mut id));
    id
}

fn dim(id: i32, len: usize) -> (i32, i32) {
    let mut dim = -1;
    (nc_def_dim(id, c"x".as_ptr(), len, &mut dim), dim)
}

fn var(id: i32, ty: i32, dim: i32) -> (i32, i32) {
    let mut var = -1;
    (nc_def_var(id, c"v".as_ptr(), ty, 1, &dim, &mut var), var)
}

#[test]
fn equal_definitions_join_and_different_ones_fail() {
    for mode in EACH {
        let folder = tempfile::tempdir().unwrap();
        let url = url(folder.path(), mode);
        let fill = -9;
        // Each id stands for a process. The second one begins before the first has stored anything.
        let [first, second] = [join(&url), join(&url)];
        let define = |id| {
            let (code, x) = dim(id, 6);
            ok(code);
            let (code, v) = var(id, INT, x);
            ok(code);
            ok(nc_def_var_chunking(id, v, 0, [4].as_ptr()));
            ok(nc_def_var_deflate(id, v, 1, 1, 5));
            ok(nc_def_var_fill(id, v, 0, (&raw const fill).cast()));
            ok(nc_put_att_text(id, v, c"units".as_ptr(), 1, c"K".as_ptr()));
            ok(nc_enddef(id));
            v
        };
        let vars = [define(first), define(second)];
        ok(nc_put_vara_int(first, vars[0], [0].as_ptr(), [2].as_ptr(), [1, 2].as_ptr()));
        ok(nc_put_vara_int(second, vars[1], [2].as_ptr(), [3].as_ptr(), [3, 4, 5].as_ptr()));
        ok(nc_close(first));
        // The third one finds everything, and its layout calls change nothing.
        let third = join(&url);
        let v = define(third);
        let mut id = -1;
        ok(nc_redef(third));
        assert_eq!(dim(third, 7).0, -42, "{mode}");
        assert_eq!(var(third, FLOAT, 0).0, -42);
        assert!(last_message().contains("delete the dataset first"), "{}", last_message());
        ok(nc_close(third));
        ok(nc_close(second));
        let last = join(&url);
        let (_, x) = dim(last, 6);
        assert_eq!(var(last, INT, x), (0, v));
        assert_eq!(nc_def_var_chunking(last, v, 0, [5].as_ptr()), -123, "{mode}");
        assert_eq!(nc_def_var_fill(last, v, 0, (&raw const v).cast()), -122);
        // Plain Zarr V3 stores deflate as a part of Blosc.
        let is_comparable = mode != "mode=zarr,v3,file";
        assert_eq!(nc_def_var_deflate(last, v, 0, 1, 1), if is_comparable { -123 } else { 0 }, "{mode}");
        ok(nc_abort(last));
        let mut values = [0; 6];
        ok(nc_open_par_fortran(url.as_ptr(), 0, 0, 0, &mut id));
        ok(nc_get_var_int(id, v, values.as_mut_ptr()));
        assert_eq!(values, [1, 2, 3, 4, 5, fill], "{mode}");
        ok(nc_var_par_access(id, v, 1));
        assert_eq!(nc_var_par_access(id, v, 2), -36);
        ok(nc_close(id));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside the store");
    }
}

#[test]
fn definitions_that_differ_meet_at_the_end_of_define_mode() {
    for mode in EACH {
        let folder = tempfile::tempdir().unwrap();
        let url = url(folder.path(), mode);
        for (chunks, len, ty) in [([2], 6, INT), ([4], 5, INT), ([4], 6, FLOAT)] {
            let [first, second] = [join(&url), join(&url)];
            for (id, chunks, len, ty) in [(first, [4], 6, INT), (second, chunks, len, ty)] {
                let (_, x) = dim(id, len);
                let (code, v) = var(id, ty, x);
                ok(code);
                ok(nc_def_var_chunking(id, v, 0, chunks.as_ptr()));
            }
            ok(nc_enddef(first));
            ok(nc_put_var_int(first, 0, [1, 2, 3, 4, 5, 6].as_ptr()));
            ok(nc_sync(first));
            assert_eq!(nc_enddef(second), -42, "{mode}");
            assert!(last_message().contains("define the same in every process"), "{}", last_message());
            ok(nc_abort(second));
            let mut values = [0; 6];
            ok(nc_get_var_int(first, 0, values.as_mut_ptr()));
            assert_eq!(values, [1, 2, 3, 4, 5, 6]);
            ok(nc_close(first));
            ok(nc_delete(url.as_ptr()));
        }
    }
}

#[test]
fn records_of_both_stay() {
    for mode in ["mode=nczarr,file", "mode=nczarr,v3,file"] {
        let folder = tempfile::tempdir().unwrap();
        let url = url(folder.path(), mode);
        let [first, second] = [join(&url), join(&url)];
        let define = |id| {
            let (_, t) = dim(id, 0);
            let (code, v) = var(id, INT, t);
            ok(code);
            ok(nc_enddef(id));
            v
        };
        let v = define(first);
        ok(nc_put_vara_int(first, v, [0].as_ptr(), [3].as_ptr(), [1, 2, 3].as_ptr()));
        ok(nc_close(first));
        // The documents of the first one count three records.
        define(second);
        ok(nc_put_var1_int(second, v, [1].as_ptr(), &20));
        ok(nc_close(second));
        let (mut id, mut len, mut values) = (-1, 0, [0; 3]);
        ok(nc_open(url.as_ptr(), 0, &mut id));
        ok(nc_inq_dimlen(id, 0, &mut len));
        ok(nc_get_var_int(id, v, values.as_mut_ptr()));
        assert_eq!((len, values), (3, [1, 20, 3]), "{mode}");
        ok(nc_close(id));
    }
}

#[test]
fn files_have_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let mut id = -1;
    let zip = CString::new(format!("file://{}/x.zip#mode=nczarr,zip", folder.path().display())).unwrap();
    for path in [path_in(folder.path(), "x.nc"), path_in(folder.path(), "x.zarr"), zip] {
        assert_eq!(nc_create_par_fortran(path.as_ptr(), NETCDF4, 0, 0, &mut id), -114, "{path:?}");
    }
    for cmode in [0, NETCDF4] {
        let made = create(cmode);
        made.var(c"v", INT, &[]);
        ok(nc_close(made.id));
        assert_eq!(nc_open_par_fortran(made.path.as_ptr(), 0, 0, 0, &mut id), -114);
    }
    assert_eq!(nc_create_par_fortran(null(), 0, 0, 0, &mut id), -36);
    let url = url(folder.path(), "mode=nczarr,file");
    ok(nc_close(join(&url)));
    assert_eq!(nc_create_par_fortran(url.as_ptr(), NOCLOBBER, 0, 0, &mut id), -35);
    let other = CString::new(url.to_str().unwrap().replace("nczarr,", "nczarr,v3,")).unwrap();
    assert_eq!(nc_create_par_fortran(other.as_ptr(), 0, 0, 0, &mut id), -35);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

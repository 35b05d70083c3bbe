//! Datasets in memory.

use std::fs;

use crate::c::*;

/// Returns the bytes of a file with a variable.
fn image(cmode: i32) -> Vec<u8> {
    let made = create(cmode);
    let v = made.var(c"v", INT, &[]);
    ok(nc_enddef(made.id));
    ok(nc_put_var_int(made.id, v, &42));
    ok(nc_close(made.id));
    fs::read(made.folder.path().join("a.nc")).unwrap()
}

fn value(id: i32) -> i32 {
    let mut value = 0;
    ok(nc_get_var_int(id, 0, &mut value));
    value
}

/// Copies bytes to memory of `malloc`.
fn malloced(bytes: &[u8]) -> MemIo {
    // SAFETY: the memory has room for the bytes.
    let memory = unsafe {
        let memory = libc::malloc(bytes.len());
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory.cast(), bytes.len());
        memory
    };
    MemIo { size: bytes.len(), memory, flags: 0 }
}

#[test]
fn memory_of_the_program_is_read() {
    for cmode in [0, CDF5, NETCDF4] {
        let bytes = image(cmode);
        let mut id = 0;
        let open =
            |mode, id: &mut i32| nc_open_mem(c"x".as_ptr(), mode, bytes.len(), bytes.as_ptr().cast(), id);
        assert_eq!(open(WRITE, &mut id), -36);
        ok(open(0, &mut id));
        assert_eq!(value(id), 42);
        assert_eq!(nc_put_var_int(id, 0, &1), -37);
        ok(nc_close(id));
    }
    let mut id = 0;
    assert_eq!(nc_open_mem(c"x".as_ptr(), 0, 0, c"".as_ptr().cast(), &mut id), -36);
    assert_eq!(nc_open_mem(c"x".as_ptr(), 0, 4, c"junk".as_ptr().cast(), &mut id), -51);
}

#[test]
fn a_changed_dataset_is_given_back() {
    for cmode in [0, NETCDF4] {
        let (mut info, mut id) = (malloced(&image(cmode)), 0);
        ok(nc_open_memio(c"x".as_ptr(), WRITE, &info, &mut id));
        ok(nc_put_var_int(id, 0, &43));
        ok(nc_close_memio(id, &mut info));
        assert_eq!(nc_close(id), -33);
        ok(nc_open_mem(c"x".as_ptr(), 0, info.size, info.memory, &mut id));
        assert_eq!(value(id), 43);
        ok(nc_close(id));
        // SAFETY: the library gave this memory of `malloc` back.
        unsafe { libc::free(info.memory) }
    }
}

#[test]
fn a_dataset_that_is_only_read_keeps_its_memory() {
    let (mut info, mut id) = (malloced(&image(NETCDF4)), 0);
    let (before, size) = (info.memory, info.size);
    ok(nc_open_memio(c"x".as_ptr(), 0, &info, &mut id));
    assert_eq!(value(id), 42);
    ok(nc_close_memio(id, &mut info));
    assert_eq!((info.memory, info.size), (before, size));
    // SAFETY: the library gave this memory of `malloc` back.
    unsafe { libc::free(info.memory) }
}

#[test]
fn a_new_dataset_in_memory_leaves_no_file() {
    for cmode in [0, NETCDF4] {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut id, mut v) = (path_in(folder.path(), "m.nc"), 0, 0);
        ok(nc_create_mem(path.as_ptr(), cmode, 1000, &mut id));
        ok(nc_def_var(id, c"v".as_ptr(), INT, 0, std::ptr::null(), &mut v));
        ok(nc_enddef(id));
        ok(nc_put_var_int(id, v, &44));
        let mut info = MemIo { size: 0, memory: nowhere(), flags: 0 };
        ok(nc_close_memio(id, &mut info));
        assert!(!folder.path().join("m.nc").exists());
        ok(nc_open_mem(c"x".as_ptr(), 0, info.size, info.memory, &mut id));
        assert_eq!(value(id), 44);
        ok(nc_close(id));
        // SAFETY: the library gave this memory of `malloc` to the test.
        unsafe { libc::free(info.memory) }
    }
    let made = create(0);
    let mut info = MemIo { size: 0, memory: nowhere(), flags: 0 };
    assert_eq!(nc_close_memio(made.id, &mut info), -36);
    ok(nc_close(made.id));
}

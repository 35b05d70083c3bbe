//! HDF5 files of h5py for which netCDF-C has narrower rules than the Rust library.
//!
//! `ordered.h5` has a byte `i`, a reference `r`, and the attributes `n` (a byte) and `ra` (a reference).
//! `unordered.h5` has a byte `i`, and does not record the order of creation. `dangling.h5` has a soft link
//! `/g/lost` that leads to no object.

use std::ffi::CString;
use std::path::Path;

use crate::c::*;

/// Copies a file into a folder, since a test may write to it.
fn copy(folder: &Path, name: &str) -> CString {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign").join(name);
    std::fs::copy(from, folder.join(name)).unwrap();
    path_in(folder, name)
}

#[test]
fn variables_of_references_are_absent() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy(folder.path(), "ordered.h5");
    let (mut id, mut var, mut count, mut value) = (0, -1, -1, 0);
    ok(nc_open(path.as_ptr(), 0, &mut id));
    ok(nc_inq_nvars(id, &mut count));
    assert_eq!(count, 1);
    assert_eq!(nc_inq_varid(id, c"r".as_ptr(), &mut var), -49);
    ok(nc_inq_varid(id, c"i".as_ptr(), &mut var));
    ok(nc_get_var_int(id, var, &mut value));
    assert_eq!((var, value), (0, 7));
    ok(nc_inq_attid(id, NC_GLOBAL, c"n".as_ptr(), &mut var));
    assert_eq!(nc_inq_attid(id, NC_GLOBAL, c"ra".as_ptr(), &mut var), -43);
    ok(nc_close(id));
    // Writing would lose the reference.
    assert_eq!(nc_open(path.as_ptr(), WRITE, &mut id), -37);
    assert!(last_message().contains("reference"), "{}", last_message());
}

#[test]
fn a_file_without_an_order_of_creation_is_only_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy(folder.path(), "unordered.h5");
    let (mut id, mut value) = (0, 0);
    assert_eq!(nc_open(path.as_ptr(), WRITE, &mut id), -103);
    assert!(last_message().contains("order of creation"), "{}", last_message());
    ok(nc_open(path.as_ptr(), 0, &mut id));
    ok(nc_get_var_int(id, 0, &mut value));
    assert_eq!(value, 7);
    ok(nc_close(id));
}

#[test]
fn a_file_with_a_link_that_leads_nowhere_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy(folder.path(), "dangling.h5");
    let mut id = 0;
    for mode in [0, WRITE] {
        assert_eq!(nc_open(path.as_ptr(), mode, &mut id), -101);
        assert!(last_message().contains("/g/lost"), "{}", last_message());
    }
}

/// netCDF-C stores such a variable. It reads as fill values, and nothing can be written to it.
#[test]
fn a_variable_with_uncountable_elements_is_defined_and_reads_as_fill_values() {
    let mut file = create(NETCDF4);
    let lens = [1_804_289_383, 846_930_886, 1_681_692_777];
    let dims: Vec<_> = [c"a", c"b", c"c"].iter().zip(lens).map(|(name, len)| file.dim(name, len)).collect();
    let var = file.var(c"v", INT, &dims);
    ok(nc_def_var_chunking(file.id, var, 0, no_sizes()));
    for mode in [WRITE, 0, WRITE] {
        for start in [[0; 3], lens.map(|len| len - 1)] {
            let mut value = 0;
            ok(nc_get_vara_int(file.id, var, start.as_ptr(), [1; 3].as_ptr(), &mut value));
            assert_eq!(value, -2_147_483_647);
            let code = nc_put_vara_int(file.id, var, start.as_ptr(), [1; 3].as_ptr(), &value);
            assert_eq!(code, if mode == 0 { -37 } else { -101 }, "{}", last_message());
        }
        file.reopen(if mode == WRITE { 0 } else { WRITE });
    }
    ok(nc_close(file.id));
}

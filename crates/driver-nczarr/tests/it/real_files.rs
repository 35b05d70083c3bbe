//! The driver on a real file system, through the registry.

use std::sync::Arc;

use nczarr_dispatch::{Clobber, Options, Place, Registry};
use nczarr_model::{ErrorKind, GroupId, NcType};
use nczarr_nc_table::NcDispatch;

use crate::support::{get, put, var};

const ROOT: GroupId = GroupId::ROOT;

fn registry() -> Arc<Registry> {
    Arc::new(Registry::clone(&crate::support::registry()).with_map(nczarr_zmap_file::FileMaps))
}

#[test]
fn a_dataset_in_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("d.zarr");
    let path = path.to_str().unwrap();
    let registry = registry();
    let options = Options::default();
    let d = registry.create(&Place::url(path), Clobber::Refuse, false, &options).unwrap();
    let t = d.def_dim(ROOT, "t", None).unwrap();
    let g = d.def_grp(ROOT, "g").unwrap();
    let v = d.def_var(g, "v", NcType::Int, &[t]).unwrap();
    put(&*d, v, &[0], &[3], &[1.0, 2.0, 3.0]);
    d.close().unwrap();
    assert_eq!(d.sync().unwrap_err().kind(), ErrorKind::BadId);
    assert_eq!(d.def_dim(ROOT, "u", None).unwrap_err().kind(), ErrorKind::BadId);

    let error = registry.create(&Place::url(path), Clobber::Refuse, false, &options).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Object | ErrorKind::Exist), "{error}");

    // Two sessions append. The lengths merge under the file map's locks.
    let (one, two) = (
        registry.open(&Place::url(path), true, &options).unwrap(),
        registry.open(&Place::url(path), true, &options).unwrap(),
    );
    let v = var(&*one, "g/v");
    put(&*one, v, &[7], &[1], &[7.0]);
    put(&*two, v, &[5], &[1], &[5.0]);
    one.close().unwrap();
    two.rename_grp(two.inq_ncid(ROOT, "g").unwrap(), "h").unwrap();
    two.close().unwrap();
    let d = registry.open(&Place::url(path), false, &options).unwrap();
    let fill = f64::from(nczarr_model::fill::INT);
    assert_eq!(get(&*d, var(&*d, "h/v")), [1.0, 2.0, 3.0, fill, fill, 5.0, fill, 7.0]);
    assert!(!dir.path().join("d.zarr/g").exists());
    d.close().unwrap();
    registry.delete(&Place::url(path)).unwrap();
    assert!(!dir.path().join("d.zarr").exists());
}

/// Another thread drops the states of variables. The storage is released at once.
#[test]
fn a_dataset_of_many_variables_is_gone_when_it_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("d.zarr");
    let path = path.to_str().unwrap();
    let (registry, mut options) = (registry(), Options::default());
    options.exclusive = true;
    for round in 0..3 {
        let d = registry.create(&Place::url(path), Clobber::Replace, false, &options).unwrap();
        let x = d.def_dim(ROOT, "x", Some(2)).unwrap();
        let define = |at: usize| d.def_var(ROOT, &format!("v{at}"), NcType::Int, &[x]).unwrap();
        let vars: Vec<_> = (0..700).map(define).collect();
        put(&*d, vars[600], &[0], &[2], &[f64::from(round), 1.0]);
        d.close().unwrap();
        // The owner of a model keeps it.
        let model = d.model().snapshot();
        drop(d);
        assert_eq!(model.var(vars[699]).unwrap().name, "v699");
        let d = registry.open(&Place::url(path), true, &options).unwrap();
        assert_eq!(d.model().snapshot().vars().len(), 700);
        assert_eq!(get(&*d, var(&*d, "v600")), [f64::from(round), 1.0]);
    }
    registry.delete(&Place::url(path)).unwrap();
}

#[test]
fn an_abort_leaves_no_directory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("d.zarr");
    let d = registry()
        .create(&Place::url(path.to_str().unwrap()), Clobber::Refuse, false, &Options::default())
        .unwrap();
    d.def_var(ROOT, "v", NcType::Int, &[]).unwrap();
    d.abort().unwrap();
    assert!(!path.exists());
}

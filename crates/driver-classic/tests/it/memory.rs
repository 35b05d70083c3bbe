//! Datasets that are held in memory.

use std::fs;

use nczarr_dispatch::{Clobber, Durability, Options, Place};
use nczarr_model::{ErrorKind, NcType, Values};
use nczarr_nc_table::NcDispatch as _;

use crate::support::{
    ROOT, all, create, dim, enddef, files, open, place, put, registry, try_get, try_open, try_put, var,
    with_mode,
};

fn image() -> Vec<u8> {
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf1");
    let t = dim(&*ds, "t", 0);
    let v = var(&*ds, "v", NcType::Int, &[t]);
    enddef(&*ds);
    put(&*ds, v, &[0], &[2], &Values::Int(vec![1, 2]));
    ds.close().unwrap();
    fs::read(&path).unwrap()
}

#[test]
fn bytes_are_opened_and_changed_in_a_copy() {
    let bytes = image();
    let (registry, options) = (registry(), Options::default());
    let ds = registry.open_bytes(&Place::url("anything"), bytes.clone().into(), false, &options).unwrap();
    assert_eq!(all(&*ds, "v"), Values::Int(vec![1, 2]));
    assert_eq!(ds.def_dim(ROOT, "x", None).unwrap_err().kind(), ErrorKind::Perm);
    assert_eq!(ds.image().unwrap(), bytes);
    ds.close().unwrap();

    let ds = registry.open_bytes(&Place::url("anything"), bytes.clone().into(), true, &options).unwrap();
    let v = ds.inq_varid(ROOT, "v").unwrap();
    put(&*ds, v, &[2], &[1], &Values::Int(vec![3]));
    ds.redef().unwrap();
    var(&*ds, "w", NcType::Byte, &[]);
    enddef(&*ds);
    ds.close().unwrap();
    let changed = ds.image().unwrap();
    let ds = registry.open_bytes(&Place::url("anything"), changed.into(), false, &options).unwrap();
    assert_eq!(all(&*ds, "v"), Values::Int(vec![1, 2, 3]));
    assert_eq!(all(&*ds, "w"), Values::Byte(vec![nczarr_model::fill::BYTE]));

    let error =
        registry.open_bytes(&Place::url("x"), b"no dataset".to_vec().into(), false, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotNc);
}

#[test]
fn a_dataset_made_in_memory_equals_a_file() {
    for persist in [false, true] {
        let (_folder, path) = place("x.nc");
        let target = with_mode(&path, "cdf1");
        let make = |clobber| {
            registry().create_in_memory(&Place::url(&target), clobber, false, &Options::default(), persist)
        };
        let ds = make(Clobber::Refuse).unwrap();
        let t = dim(&*ds, "t", 0);
        let v = var(&*ds, "v", NcType::Int, &[t]);
        enddef(&*ds);
        put(&*ds, v, &[0], &[2], &Values::Int(vec![1, 2]));
        assert!(!path.exists());
        ds.close().unwrap();
        assert_eq!(ds.image().unwrap(), image());
        assert_eq!(path.exists(), persist);
        if !persist {
            continue;
        }
        assert_eq!(fs::read(&path).unwrap(), image());
        assert_eq!(make(Clobber::Refuse).unwrap_err().kind(), ErrorKind::Exist);
        make(Clobber::Replace).unwrap().close().unwrap();
        assert!(open(&path, false).inq_varids(ROOT).unwrap().is_empty());
        fs::write(&path, "a text").unwrap();
        assert_eq!(make(Clobber::Replace).unwrap_err().kind(), ErrorKind::Exist);
    }
}

#[test]
fn a_file_is_opened_in_memory_and_written_back_when_it_is_closed() {
    for (writable, persist, durability) in [
        (true, true, Durability::Rename),
        (true, true, Durability::Fsync),
        (true, false, Durability::Rename),
        (false, true, Durability::Rename),
    ] {
        let (folder, path) = place("x.nc");
        fs::write(&path, image()).unwrap();
        let mut options = Options::default();
        options.durability = durability;
        let opened = || {
            registry().open_in_memory(&Place::url(path.display().to_string()), writable, &options, persist)
        };
        let ds = opened().unwrap();
        assert_eq!(all(&*ds, "v"), Values::Int(vec![1, 2]));
        let v = ds.inq_varid(ROOT, "v").unwrap();
        if !writable {
            assert_eq!(
                try_put(&*ds, v, &[2], &[1], &Values::Int(vec![3])).unwrap_err().kind(),
                ErrorKind::Perm
            );
            ds.close().unwrap();
            continue;
        }
        put(&*ds, v, &[2], &[1], &Values::Int(vec![3]));
        ds.redef().unwrap();
        var(&*ds, "w", NcType::Byte, &[]);
        enddef(&*ds);
        ds.sync().unwrap();
        assert_eq!(fs::read(&path).unwrap(), image(), "nothing is written before it is closed");
        // Other writers cannot open a file that is to be replaced.
        for other in [opened().err(), try_open(&path, true).err()] {
            assert_eq!(other.map(|error| error.kind()), persist.then_some(ErrorKind::Access));
        }
        ds.close().unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes == ds.image().unwrap(), persist);
        assert_eq!(bytes == image(), !persist);
        assert_eq!(files(folder.path()), ["x.nc"]);
        // The lock is free although the dataset still exists.
        open(&path, true).close().unwrap();
    }
}

#[test]
fn a_dropped_dataset_is_not_written_back() {
    let (folder, path) = place("x.nc");
    fs::write(&path, image()).unwrap();
    let ds = registry()
        .open_in_memory(&Place::url(path.display().to_string()), true, &Options::default(), true)
        .unwrap();
    put(&*ds, ds.inq_varid(ROOT, "v").unwrap(), &[2], &[1], &Values::Int(vec![3]));
    drop(ds);
    assert_eq!(fs::read(&path).unwrap(), image());
    fs::write(&path, b"no dataset").unwrap();
    for persist in [true, false] {
        let error = registry().open_in_memory(
            &Place::url(path.display().to_string()),
            true,
            &Options::default(),
            persist,
        );
        assert_eq!(error.unwrap_err().kind(), ErrorKind::NotNc);
    }
    let missing = folder.path().join("missing.nc").display().to_string();
    let error =
        registry().open_in_memory(&Place::url(&missing), true, &Options::default(), true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(files(folder.path()), ["x.nc"]);
}

#[test]
fn a_dataset_in_a_file_has_no_memory_image() {
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf1");
    assert_eq!(ds.image().unwrap_err().kind(), ErrorKind::InMemory);
    ds.close().unwrap();
}

/// A read of a truncated mapped file is an error and does not end the process.
fn cut_while_it_is_mapped() {
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf1");
    let x = dim(&*ds, "x", 1 << 18);
    let v = var(&*ds, "v", NcType::Int, &[x]);
    enddef(&*ds);
    put(&*ds, v, &[0], &[1 << 18], &Values::Int(vec![1; 1 << 18]));
    ds.close().unwrap();
    let mut options = Options::default();
    options.memory_map = true;
    let ds = registry().open(&Place::url(path.display().to_string()), false, &options).unwrap();
    assert_eq!(try_get(&*ds, v, &[(1 << 18) - 1], &[1]).unwrap(), Values::Int(vec![1]));
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
    for (start, count) in [(0, 1), (0, 1 << 18), ((1 << 18) - 1, 1)] {
        assert_eq!(try_get(&*ds, v, &[start], &[count]).unwrap_err().kind(), ErrorKind::Trunc);
    }
    assert_eq!(ds.image().unwrap_err().kind(), ErrorKind::Trunc);
}

#[test]
fn a_file_that_is_only_read_is_mapped_if_asked_for() {
    let (_folder, path) = place("x.nc");
    fs::write(&path, image()).unwrap();
    let mut options = Options::default();
    options.memory_map = true;
    let mapped = registry().open(&Place::url(path.display().to_string()), false, &options);
    if cfg!(feature = "mmap") {
        let mapped = mapped.unwrap();
        assert_eq!(all(&*mapped, "v"), Values::Int(vec![1, 2]));
        assert_eq!(mapped.image().unwrap(), image());
        mapped.close().unwrap();
        cut_while_it_is_mapped();
    } else {
        assert_eq!(mapped.unwrap_err().kind(), ErrorKind::NotBuilt);
    }
    // An open for writing uses the file itself.
    let ds = registry().open(&Place::url(path.display().to_string()), true, &options).unwrap();
    put(&*ds, ds.inq_varid(ROOT, "v").unwrap(), &[2], &[1], &Values::Int(vec![3]));
    ds.close().unwrap();
    assert_eq!(all(&*open(&path, false), "v"), Values::Int(vec![1, 2, 3]));
}

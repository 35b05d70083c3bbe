//! Definitions that change after data exist. The file stays whole meanwhile.

use std::fs;
use std::path::Path;

use nczarr_dispatch::{Clobber, Dataset, Durability, Options, Place};
use nczarr_model::{ErrorKind, NcType, Values, fill};
use nczarr_nc_table::NcDispatch as _;

use crate::support::{
    ROOT, all, create, dim, enddef, files, get, open, place, put, registry, try_get, try_open, try_put, var,
    with_mode,
};

fn text(ds: &dyn Dataset, name: &str, value: &str) -> nczarr_model::Result<()> {
    ds.put_att(ROOT, None, name, NcType::Char, &Values::text(value))
}

/// Creates two fixed variables and one byte variable of three records. A record has five bytes without
/// padding.
fn sample(path: &Path, mode: &str) {
    let ds = create(path, mode);
    let (t, x) = (dim(&*ds, "t", 0), dim(&*ds, "x", 5));
    let a = var(&*ds, "a", NcType::Short, &[x]);
    let r = var(&*ds, "r", NcType::Byte, &[t, x]);
    let b = var(&*ds, "b", NcType::Double, &[x]);
    text(&*ds, "title", "some title").unwrap();
    enddef(&*ds);
    put(&*ds, a, &[0], &[5], &Values::Short(vec![1, 2, 3, 4, 5]));
    put(&*ds, r, &[0, 0], &[3, 5], &Values::Byte((0..15).collect()));
    put(&*ds, b, &[0], &[5], &Values::Double(vec![0.5; 5]));
    ds.close().unwrap();
}

fn check_sample(ds: &dyn Dataset) {
    assert_eq!(all(ds, "a"), Values::Short(vec![1, 2, 3, 4, 5]));
    assert_eq!(all(ds, "b"), Values::Double(vec![0.5; 5]));
    let r = ds.inq_varid(ROOT, "r").unwrap();
    assert_eq!(get(ds, r, &[0, 0], &[3, 5]), Values::Byte((0..15).collect()));
}

#[test]
fn data_stay_when_variables_come() {
    for mode in ["cdf1", "cdf2", "cdf5"] {
        let (folder, path) = place("x.nc");
        sample(&path, mode);
        let reader = open(&path, false);
        let ds = open(&path, true);
        let kept = ds.data(ds.inq_varid(ROOT, "r").unwrap()).unwrap();
        ds.redef().unwrap();
        assert_eq!(ds.redef().unwrap_err().kind(), ErrorKind::InDefine);
        let (t, x) = (ds.inq_dimid(ROOT, "t").unwrap(), ds.inq_dimid(ROOT, "x").unwrap());
        let y = dim(&*ds, "y", 2);
        let s = var(&*ds, "s", NcType::Int, &[t, y]);
        let c = var(&*ds, "c", NcType::Char, &[y, x]);
        text(&*ds, "history", "much longer than there was room for in the header").unwrap();
        // New variables cannot be read until define mode ends. All others can.
        assert_eq!(try_get(&*ds, c, &[0, 0], &[1, 1]).unwrap_err().kind(), ErrorKind::InDefine);
        assert_eq!(
            try_put(&*ds, c, &[0, 0], &[1, 1], &Values::text("x")).unwrap_err().kind(),
            ErrorKind::InDefine
        );
        check_sample(&*ds);
        enddef(&*ds);
        check_sample(&*ds);
        check_sample(&*reader);
        assert_eq!(files(folder.path()), ["x.nc"], "nothing is left beside it");
        assert_eq!(all(&*ds, "s"), Values::Int(vec![fill::INT; 6]));
        assert_eq!(all(&*ds, "c"), Values::text(&"\0".repeat(10)));
        put(&*ds, s, &[3, 0], &[1, 2], &Values::Int(vec![7, 8]));
        // A handle from before the change writes to the new file.
        let bytes = [9u8; 5];
        let data = nczarr_dispatch::MemRef::Fixed { ty: NcType::Byte, bytes: &bytes };
        let slab = nczarr_model::Slab::new(&[4, 0], &[1, 5]).check(&[5, 5], |_| false).unwrap();
        kept.put(&slab, data).unwrap();
        ds.close().unwrap();

        let ds = open(&path, false);
        check_sample(&*ds);
        assert_eq!(get(&*ds, s, &[3, 0], &[2, 2]), Values::Int(vec![7, 8, fill::INT, fill::INT]), "{mode}");
        let r = ds.inq_varid(ROOT, "r").unwrap();
        let mut last = vec![fill::BYTE; 5];
        last.extend([9; 5]);
        assert_eq!(get(&*ds, r, &[3, 0], &[2, 5]), Values::Byte(last));
    }
}

#[test]
fn records_larger_than_a_block_are_moved() {
    // A record has more than 4 MiB, with padding to keep.
    const LONG: u64 = (4 << 20) + 3;
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf2");
    let (t, x) = (dim(&*ds, "t", 0), dim(&*ds, "x", LONG));
    let v = var(&*ds, "v", NcType::Byte, &[t, x]);
    enddef(&*ds);
    let row = |record: u64| Values::Byte((0..LONG).map(|i| (i * 7 + record) as i8).collect());
    for record in 0..2 {
        put(&*ds, v, &[record, 0], &[1, LONG], &row(record));
    }
    ds.redef().unwrap();
    let w = var(&*ds, "w", NcType::Double, &[t]);
    enddef(&*ds);
    put(&*ds, w, &[1], &[1], &Values::Double(vec![1.5]));
    ds.close().unwrap();
    let ds = open(&path, false);
    for record in 0..2 {
        assert!(get(&*ds, v, &[record, 0], &[1, LONG]) == row(record), "record {record}");
    }
    assert_eq!(all(&*ds, "w"), Values::Double(vec![fill::DOUBLE, 1.5]));
}

#[cfg(unix)]
#[test]
fn small_changes_are_made_in_place_and_large_ones_in_a_new_file() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let (folder, path) = place("x.nc");
    sample(&path, "cdf1");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let link = folder.path().join("link.nc");
    std::os::unix::fs::symlink("x.nc", &link).unwrap();
    let inode = || fs::metadata(&path).unwrap().ino();
    let first = inode();

    let ds = open(&link, true);
    // In data mode, changes that need no more room succeed, and data mode stays.
    text(&*ds, "title", "other").unwrap();
    ds.rename_var(ds.inq_varid(ROOT, "a").unwrap(), "z").unwrap();
    assert!(!ds.model().is_defining());
    assert_eq!(text(&*ds, "title", "no room for that").unwrap_err().kind(), ErrorKind::NotInDefine);
    assert_eq!(ds.def_dim(ROOT, "y", Some(1)).unwrap_err().kind(), ErrorKind::NotInDefine);
    ds.close().unwrap();
    assert_eq!(inode(), first);
    let ds = open(&path, false);
    assert_eq!(ds.get_att(ROOT, None, "title", None).unwrap().0.as_text(), Some("other"));
    assert_eq!(all(&*ds, "z"), Values::Short(vec![1, 2, 3, 4, 5]));
    assert_eq!(all(&*ds, "b"), Values::Double(vec![0.5; 5]));

    let ds = open(&link, true);
    ds.redef().unwrap();
    text(&*ds, "title", &"x".repeat(2000)).unwrap();
    enddef(&*ds);
    ds.close().unwrap();
    assert_ne!(inode(), first, "the file was replaced");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "and the link was not");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(all(&*open(&path, false), "b"), Values::Double(vec![0.5; 5]));
}

#[test]
fn an_abort_keeps_data_and_forgets_definitions() {
    let (folder, path) = place("x.nc");
    sample(&path, "cdf1");
    let before = fs::read(&path).unwrap();
    let ds = open(&path, true);
    ds.redef().unwrap();
    dim(&*ds, "y", 3);
    ds.abort().unwrap();
    assert!(fs::read(&path).unwrap() == before);
    let ds = open(&path, true);
    let r = ds.inq_varid(ROOT, "r").unwrap();
    put(&*ds, r, &[3, 0], &[1, 5], &Values::Byte(vec![1; 5]));
    ds.redef().unwrap();
    text(&*ds, "new", "x").unwrap();
    ds.abort().unwrap();
    let ds = open(&path, false);
    assert_eq!(get(&*ds, r, &[3, 0], &[1, 5]), Values::Byte(vec![1; 5]));
    assert!(ds.inq_att(ROOT, None, "new").is_err());
    assert_eq!(files(folder.path()), ["x.nc"]);
}

#[test]
fn an_abort_keeps_changes_made_in_data_mode() {
    for redefined in [false, true] {
        let (_folder, path) = place("x.nc");
        sample(&path, "cdf1");
        let ds = open(&path, true);
        text(&*ds, "title", "other").unwrap();
        ds.rename_var(ds.inq_varid(ROOT, "a").unwrap(), "z").unwrap();
        if redefined {
            ds.redef().unwrap();
            dim(&*ds, "y", 3);
            text(&*ds, "title", "forgotten, since it is part of the definitions").unwrap();
        }
        ds.abort().unwrap();
        let ds = open(&path, false);
        assert_eq!(ds.get_att(ROOT, None, "title", None).unwrap().0.as_text(), Some("other"), "{redefined}");
        assert_eq!(all(&*ds, "z"), Values::Short(vec![1, 2, 3, 4, 5]));
        assert!(ds.inq_dimid(ROOT, "y").is_err());
    }
}

#[test]
fn an_abort_that_undoes_everything_writes_nothing() {
    let (_folder, path) = place("x.nc");
    sample(&path, "cdf1");
    // The file comes from another program. Its record count is unset, and its last variable has the size of
    // an unpadded record.
    let mut bytes = fs::read(&path).unwrap();
    bytes[4..8].fill(0xFF);
    fs::write(&path, &bytes).unwrap();
    let ds = open(&path, true);
    ds.redef().unwrap();
    dim(&*ds, "y", 3);
    ds.abort().unwrap();
    assert!(fs::read(&path).unwrap() == bytes);
}

#[test]
fn an_abort_before_the_first_definitions_ended_leaves_no_file() {
    let (folder, path) = place("x.nc");
    let ds = create(&path, "cdf1");
    dim(&*ds, "y", 3);
    ds.abort().unwrap();
    ds.abort().unwrap();
    ds.close().unwrap();
    assert!(files(folder.path()).is_empty());
}

#[test]
fn a_replaced_file_stays_until_the_new_header_exists() {
    let (folder, path) = place("x.nc");
    sample(&path, "cdf1");
    let start = || {
        let ds = registry()
            .create(&Place::url(with_mode(&path, "cdf5")), Clobber::Replace, false, &Options::default())
            .unwrap();
        dim(&*ds, "y", 3);
        ds
    };
    let ds = start();
    check_sample(&*open(&path, false));
    // Other writers cannot open a file that is about to be replaced.
    assert_eq!(try_open(&path, true).unwrap_err().kind(), ErrorKind::Access);
    ds.abort().unwrap();
    check_sample(&*open(&path, false));
    open(&path, true).close().unwrap();
    drop(start());
    assert_eq!(files(folder.path()), ["x.nc"], "a dataset that is dropped leaves nothing");
    let ds = start();
    enddef(&*ds);
    ds.close().unwrap();
    assert_eq!(files(folder.path()), ["x.nc"]);
    let ds = open(&path, false);
    assert_eq!((ds.inq_format().unwrap().code(), ds.inq_varids(ROOT).unwrap().len()), (5, 0));
}

#[test]
fn writes_continue_during_redefinitions() {
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf2");
    let t = dim(&*ds, "t", 0);
    let v = var(&*ds, "v", NcType::Int, &[t]);
    enddef(&*ds);
    let kept = ds.data(v).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for at in 0..300u64 {
                let bytes = (at as i32 * 3).to_ne_bytes();
                let data = nczarr_dispatch::MemRef::Fixed { ty: NcType::Int, bytes: &bytes };
                let start = [at];
                let slab = nczarr_model::Slab::new(&start, &[1]).check(&[at + 1], |_| false).unwrap();
                kept.put(&slab, data).unwrap();
            }
        });
        scope.spawn(|| {
            for number in 0..20 {
                ds.redef().unwrap();
                var(&*ds, &format!("w{number}"), NcType::Byte, &[t]);
                enddef(&*ds);
            }
        });
    });
    ds.close().unwrap();
    let ds = open(&path, false);
    assert_eq!(all(&*ds, "v"), Values::Int((0..300).map(|at| at * 3).collect()));
    for number in 0..20 {
        assert_eq!(all(&*ds, &format!("w{number}")), Values::Byte(vec![fill::BYTE; 300]));
    }
}

#[test]
fn writes_and_redefinitions_work_with_fsync() {
    let (_folder, path) = place("x.nc");
    let mut options = Options::default();
    options.durability = Durability::Fsync;
    let ds =
        registry().create(&Place::url(with_mode(&path, "cdf1")), Clobber::Refuse, false, &options).unwrap();
    let t = dim(&*ds, "t", 0);
    let v = var(&*ds, "v", NcType::Int, &[t]);
    enddef(&*ds);
    put(&*ds, v, &[0], &[2], &Values::Int(vec![1, 2]));
    ds.sync().unwrap();
    ds.redef().unwrap();
    text(&*ds, "title", &"long ".repeat(200)).unwrap();
    enddef(&*ds);
    ds.close().unwrap();
    assert_eq!(all(&*open(&path, false), "v"), Values::Int(vec![1, 2]));
}

#[test]
fn a_second_writer_is_refused() {
    let (_folder, path) = place("x.nc");
    sample(&path, "cdf1");
    let ds = open(&path, true);
    assert_eq!(try_open(&path, true).unwrap_err().kind(), ErrorKind::Access);
    check_sample(&*open(&path, false));
    let over = registry().create(
        &Place::url(with_mode(&path, "cdf1")),
        Clobber::Replace,
        false,
        &Options::default(),
    );
    assert_eq!(over.unwrap_err().kind(), ErrorKind::Access);
    ds.close().unwrap();
    open(&path, true).close().unwrap();
}

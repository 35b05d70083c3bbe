//! Opens damaged files for writing. The result is an error, or a file that can still be read.

use nczarr_dispatch::{Options, Place};
use nczarr_model::{Chunking, NcString, NcType, Values};
use nczarr_nc_table::NcDispatch as _;

use crate::support::{ROOT, create, dim, enddef, put, registry, var};

fn image() -> Vec<u8> {
    let ds = create("nc4");
    let (t, x) = (dim(&*ds, "t", 0), dim(&*ds, "x", 4));
    let v = var(&*ds, "v", NcType::Short, &[t, x]);
    ds.def_var_chunking(v, &Chunking::Chunked(vec![2, 2])).unwrap();
    let s = var(&*ds, "s", NcType::String, &[x]);
    let w = var(&*ds, "w", NcType::Double, &[x]);
    ds.put_att(ROOT, Some(w), "a", NcType::Int, &Values::Int(vec![1, 2])).unwrap();
    let g = ds.def_grp(ROOT, "g").unwrap();
    let e = ds.def_enum(g, NcType::Byte, "e").unwrap();
    ds.insert_enum(e, "one", 1).unwrap();
    enddef(&*ds);
    put(&*ds, v, &[0, 0], &[3, 4], &Values::Short((0..12).collect()));
    put(&*ds, s, &[0], &[2], &Values::String(vec![NcString::from("a"), NcString::from("bc")]));
    put(&*ds, w, &[0], &[4], &Values::Double(vec![0.5; 4]));
    ds.close().unwrap();
    ds.image().unwrap()
}

/// Tries several edits. Returns whether the file could be opened.
fn write_to(bytes: Vec<u8>) -> bool {
    let (registry, options) = (registry(), Options::default());
    let Ok(ds) = registry.open_bytes(&Place::url("x.nc"), bytes.into(), true, &options) else { return false };
    // Refused edits are fine.
    let _ = ds.put_att(ROOT, None, "added", NcType::Int, &Values::Int(vec![7]));
    if let Ok(v) = ds.inq_varid(ROOT, "v") {
        let memory = [1_i16.to_ne_bytes(); 4].concat();
        let data = nczarr_dispatch::MemRef::Fixed { ty: NcType::Short, bytes: &memory };
        let _ = ds.put_vara(v, &[1, 0], &[1, 4], data);
    }
    if ds.sync().is_ok() {
        let image = ds.image().unwrap();
        let again = registry.open_bytes(&Place::url("x.nc"), image.into(), false, &options);
        again.unwrap_or_else(|error| panic!("written data cannot be read: {error}"));
    }
    let _ = ds.close();
    true
}

#[test]
fn damaged_files_are_errors_or_stay_files() {
    let whole = image();
    assert!(write_to(whole.clone()));
    let (mut opened, mut seed) = (0, 1_u64);
    for _ in 0..600 {
        let mut bytes = whole.clone();
        for _ in 0..2 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (seed >> 33) as usize % bytes.len();
            bytes[at] = (seed >> 24) as u8;
        }
        opened += usize::from(write_to(bytes));
    }
    assert!(opened > 20, "{opened} could be opened");
    for len in (0..whole.len()).step_by(61) {
        assert!(!write_to(whole[..len].to_vec()), "cut at {len}");
    }
}

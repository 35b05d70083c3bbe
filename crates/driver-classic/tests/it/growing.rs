//! New records, and their content before the first write.

use std::fs;

use nczarr_dispatch::{Dataset, Linear, MemMut};
use nczarr_model::{ErrorKind, FillMode, NcType, Slab, Values, fill};
use nczarr_nc_table::NcDispatch as _;
use nczarr_runtime::OutBuf;

use crate::support::{ROOT, all, create, dim, enddef, get, open, place, put, try_put, var};

fn shorts(values: &[i16]) -> Values {
    Values::Short(values.to_vec())
}

#[test]
fn unwritten_elements_read_as_fill_values() {
    for mode in ["cdf1", "cdf2", "cdf5"] {
        let (_folder, path) = place("x.nc");
        let ds = create(&path, mode);
        let (t, x) = (dim(&*ds, "t", 0), dim(&*ds, "x", 3));
        let a = var(&*ds, "a", NcType::Short, &[t, x]);
        let b = var(&*ds, "b", NcType::Byte, &[t]);
        let fixed = var(&*ds, "fixed", NcType::Double, &[x]);
        ds.def_var_fill(b, false, Some(&Values::Byte(vec![9]))).unwrap();
        enddef(&*ds);
        assert_eq!(get(&*ds, fixed, &[0], &[3]), Values::Double(vec![fill::DOUBLE; 3]));
        put(&*ds, a, &[2, 1], &[1, 1], &shorts(&[7]));
        let f = fill::SHORT;
        let expected = shorts(&[f, f, f, f, f, f, f, 7, f]);
        assert_eq!(all(&*ds, "a"), expected);
        assert_eq!(all(&*ds, "b"), Values::Byte(vec![9; 3]));
        put(&*ds, b, &[4], &[1], &Values::Byte(vec![1]));
        ds.close().unwrap();
        let ds = open(&path, false);
        assert_eq!(all(&*ds, "b"), Values::Byte(vec![9, 9, 9, 9, 1]), "{mode}");
        assert_eq!(get(&*ds, a, &[0, 0], &[3, 3]), expected);
        assert_eq!(get(&*ds, a, &[3, 0], &[2, 3]), shorts(&[f; 6]));
        assert_eq!(all(&*ds, "fixed"), Values::Double(vec![fill::DOUBLE; 3]));
    }
}

#[test]
fn scaled_reads_see_fill_values() {
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf1");
    let (t, x) = (dim(&*ds, "t", 0), dim(&*ds, "x", 2));
    let v = var(&*ds, "v", NcType::Short, &[t, x]);
    let w = var(&*ds, "w", NcType::Byte, &[t]);
    enddef(&*ds);
    put(&*ds, w, &[1], &[1], &Values::Byte(vec![1]));
    put(&*ds, v, &[0, 0], &[1, 2], &shorts(&[3, 5]));
    let mut bytes = [0; 32];
    let linear = Linear::new(0.5, 1.0);
    let out = MemMut::Fixed { ty: NcType::Double, out: &mut OutBuf::from_slice(&mut bytes) };
    ds.data(v)
        .unwrap()
        .get_linear(&Slab::new(&[0, 0], &[2, 2]).check(&[2, 2], |_| false).unwrap(), out, &linear)
        .unwrap();
    let fill = f64::from(fill::SHORT) * 0.5 + 1.0;
    let expected = Values::Double(vec![2.5, 3.5, fill, fill]);
    assert_eq!(Values::from_native_bytes(NcType::Double, &bytes), Some(expected));
}

#[test]
fn without_filling_there_are_zeros_and_the_file_is_whole() {
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf1");
    let (t, x) = (dim(&*ds, "t", 0), dim(&*ds, "x", 5));
    assert_eq!(ds.set_fill(FillMode::NoFill).unwrap(), FillMode::Fill);
    let a = var(&*ds, "a", NcType::Char, &[t, x]);
    let b = var(&*ds, "b", NcType::Byte, &[t, x]);
    let fixed = var(&*ds, "fixed", NcType::Int, &[x]);
    enddef(&*ds);
    put(&*ds, a, &[1, 0], &[1, 5], &Values::text("abcde"));
    assert_eq!(get(&*ds, b, &[0, 0], &[2, 5]), Values::Byte(vec![0; 10]));
    assert_eq!(get(&*ds, fixed, &[0], &[5]), Values::Int(vec![0; 5]));
    ds.close().unwrap();
    assert_eq!(all(&*open(&path, true), "a"), Values::text("\0\0\0\0\0abcde"));
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.ends_with(b"abcde\0\0\0\0\0\0\0\0\0\0\0"), "two parts of eight bytes per record");
}

#[test]
fn a_record_variable_alone_is_not_padded() {
    for (ty, values, bytes) in [
        (NcType::Byte, Values::Byte(vec![1, 2, 3, 4, 5, 6]), 6),
        (NcType::Char, Values::text("abcdef"), 6),
        (NcType::Short, Values::Short(vec![1, 2, 3, 4, 5, 6]), 12),
    ] {
        let (_folder, path) = place("x.nc");
        let ds = create(&path, "cdf2");
        let (t, x) = (dim(&*ds, "t", 0), dim(&*ds, "x", 3));
        let v = var(&*ds, "v", ty, &[t, x]);
        enddef(&*ds);
        ds.sync().unwrap();
        let before = fs::metadata(&path).unwrap().len();
        put(&*ds, v, &[0, 0], &[2, 3], &values);
        ds.sync().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), before + bytes, "{ty:?}");
        assert_eq!(all(&*ds, "v"), values);
        ds.close().unwrap();
        assert_eq!(all(&*open(&path, false), "v"), values);
    }
}

#[test]
fn the_header_counts_records_when_they_are_there() {
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf1");
    let t = dim(&*ds, "t", 0);
    let v = var(&*ds, "v", NcType::Int, &[t]);
    enddef(&*ds);
    let reader = open(&path, false);
    put(&*ds, v, &[0], &[3], &Values::Int(vec![1, 2, 3]));
    reader.sync().unwrap();
    assert_eq!(reader.inq_dim(t).unwrap().len, 0, "nothing was synced yet");
    assert_eq!(all(&*reader, "v"), Values::Int(vec![]));
    ds.sync().unwrap();
    reader.sync().unwrap();
    assert_eq!(all(&*reader, "v"), Values::Int(vec![1, 2, 3]));
    // The earlier read does not hide later records.
    put(&*ds, v, &[3], &[1], &Values::Int(vec![4]));
    ds.sync().unwrap();
    reader.sync().unwrap();
    assert_eq!(all(&*reader, "v"), Values::Int(vec![1, 2, 3, 4]));
    ds.close().unwrap();
}

#[test]
fn a_write_that_fails_leaves_fill_values() {
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf1");
    let (t, x) = (dim(&*ds, "t", 0), dim(&*ds, "x", 2));
    let v = var(&*ds, "v", NcType::Short, &[t, x]);
    enddef(&*ds);
    // One value does not fit. All values are written all the same.
    let error = try_put(&*ds, v, &[0, 0], &[1, 2], &Values::Int(vec![5, 1 << 20])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Range);
    assert_eq!(all(&*ds, "v"), shorts(&[5, 0]));
    let error = try_put(&*ds, v, &[1, 0], &[1, 2], &Values::text("ab")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Char);
    put(&*ds, v, &[2, 1], &[1, 1], &shorts(&[8]));
    let f = fill::SHORT;
    assert_eq!(all(&*ds, "v"), shorts(&[5, 0, f, f, f, 8]));
}

#[test]
fn more_records_than_there_can_be_are_refused() {
    for (mode, start, expected) in [
        ("cdf1", u64::from(u32::MAX), ErrorKind::InvalCoords),
        ("cdf2", u64::from(u32::MAX) - 1, ErrorKind::InvalCoords),
        ("cdf5", u64::MAX >> 2, ErrorKind::VarSize),
        ("cdf5", u64::MAX - 1, ErrorKind::InvalCoords),
    ] {
        let (_folder, path) = place("x.nc");
        let ds = create(&path, mode);
        let t = dim(&*ds, "t", 0);
        let v = var(&*ds, "v", NcType::Double, &[t]);
        enddef(&*ds);
        let error = try_put(&*ds, v, &[start], &[1], &Values::Double(vec![1.0])).unwrap_err();
        assert_eq!(error.kind(), expected, "{mode} {start}: {error}");
        assert_eq!(ds.inq_dim(t).unwrap().len, 0);
    }
}

#[test]
fn a_file_that_does_not_count_its_records_is_appended_to() {
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf2");
    let t = dim(&*ds, "t", 0);
    let v = var(&*ds, "v", NcType::Short, &[t]);
    var(&*ds, "w", NcType::Byte, &[t]);
    enddef(&*ds);
    put(&*ds, v, &[0], &[3], &shorts(&[1, 2, 3]));
    ds.close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[4..8].fill(0xFF);
    // The file may lack the padding of the last part.
    bytes.truncate(bytes.len() - 3);
    fs::write(&path, &bytes).unwrap();

    let ds = open(&path, true);
    assert_eq!(all(&*ds, "v"), shorts(&[1, 2, 3]));
    ds.close().unwrap();
    assert_eq!(fs::read(&path).unwrap()[4..8], [0xFF; 4], "nothing was written");
    let ds = open(&path, true);
    put(&*ds, v, &[3], &[1], &shorts(&[4]));
    ds.close().unwrap();
    assert_eq!(fs::read(&path).unwrap()[4..8], [0, 0, 0, 4]);
    let ds = open(&path, false);
    assert_eq!(all(&*ds, "v"), shorts(&[1, 2, 3, 4]));
    assert_eq!(all(&*ds, "w"), Values::Byte(vec![fill::BYTE; 4]));
}

#[test]
fn threads_append_at_once() {
    const THREADS: u64 = 4;
    const EACH: u64 = 25;
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf5");
    let (t, x) = (dim(&*ds, "t", 0), dim(&*ds, "x", 3));
    let vars: Vec<_> = (0..THREADS).map(|i| var(&*ds, &format!("v{i}"), NcType::UShort, &[t, x])).collect();
    enddef(&*ds);
    let row =
        |thread: u64, at: u64| Values::UShort((0..3).map(|i| (thread * 1000 + at * 10 + i) as u16).collect());
    std::thread::scope(|scope| {
        for (thread, &v) in vars.iter().enumerate() {
            let ds: &dyn Dataset = &*ds;
            scope.spawn(move || {
                // The records are written from the end and from the start, in whole and in part.
                for at in 0..EACH {
                    let at = if at % 2 == 0 { EACH - 1 - at / 2 } else { at / 2 };
                    let Values::UShort(values) = row(thread as u64, at) else { unreachable!() };
                    if at % 3 == 0 {
                        put(ds, v, &[at, 0], &[1, 2], &Values::UShort(values[..2].to_vec()));
                        put(ds, v, &[at, 2], &[1, 1], &Values::UShort(values[2..].to_vec()));
                    } else {
                        put(ds, v, &[at, 0], &[1, 3], &Values::UShort(values));
                    }
                    if at == 7 {
                        ds.sync().unwrap();
                    }
                }
            });
        }
    });
    ds.close().unwrap();
    let ds = open(&path, false);
    for (thread, &v) in vars.iter().enumerate() {
        for at in 0..EACH {
            assert_eq!(get(&*ds, v, &[at, 0], &[1, 3]), row(thread as u64, at), "{thread} {at}");
        }
    }
    assert_eq!(ds.inq_unlimdim(ROOT).unwrap(), Some(t));
}

#[test]
fn data_that_were_defined_with_filling_stay_filled_without_it() {
    for (mode, alone) in [("cdf1", false), ("cdf2", true), ("cdf5", false), ("cdf5", true)] {
        let (_folder, path) = place("x.nc");
        let ds = create(&path, mode);
        let (t, x) = (dim(&*ds, "t", 0), dim(&*ds, "x", 2));
        let fixed = var(&*ds, "fixed", NcType::Int, &[x]);
        let records = var(&*ds, "records", NcType::Int, &[t]);
        enddef(&*ds);
        put(&*ds, records, &[1], &[1], &Values::Int(vec![7]));
        ds.redef().unwrap();
        // Filling ends for one variable, or for all.
        if alone {
            ds.def_var_fill(fixed, true, None).unwrap();
        } else {
            ds.set_fill(FillMode::NoFill).unwrap();
        }
        enddef(&*ds);
        put(&*ds, fixed, &[1], &[1], &Values::Int(vec![5]));
        ds.close().unwrap();
        let (ds, fill) = (open(&path, false), fill::INT);
        assert_eq!(all(&*ds, "fixed"), Values::Int(vec![fill, 5]), "{mode}");
        assert_eq!(all(&*ds, "records"), Values::Int(vec![fill, 7]), "{mode}");
    }
}

#[test]
fn a_variable_may_be_filled_in_a_dataset_without_filling() {
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf1");
    ds.set_fill(FillMode::NoFill).unwrap();
    let x = dim(&*ds, "x", 2);
    let filled = var(&*ds, "filled", NcType::Int, &[x]);
    let other = var(&*ds, "other", NcType::Int, &[x]);
    ds.def_var_fill(filled, false, Some(&Values::Int(vec![5]))).unwrap();
    enddef(&*ds);
    put(&*ds, filled, &[0], &[1], &Values::Int(vec![1]));
    assert_eq!(get(&*ds, filled, &[0], &[2]), Values::Int(vec![1, 5]));
    assert_eq!(get(&*ds, other, &[0], &[2]), Values::Int(vec![0, 0]));
    ds.close().unwrap();
}

//! User-defined types, with the memory that C programs expect.

use std::ffi::{CStr, c_char, c_int};
use std::mem::offset_of;
use std::ptr::null_mut;

use crate::c::*;

/// An element of a vlen type.
#[repr(C)]
#[derive(Clone, Copy)]
struct Vlen {
    len: usize,
    items: *mut c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Reading {
    kind: i8,
    value: f64,
    counts: [i16; 3],
}

/// A struct with padding, text and vlens.
#[repr(C)]
#[derive(Clone, Copy)]
struct Station {
    id: i32,
    name: *const c_char,
    samples: Vlen,
    readings: [Reading; 2],
}

fn reading_type(id: c_int) -> c_int {
    let mut ty = 0;
    ok(nc_def_compound(id, size_of::<Reading>(), c"reading".as_ptr(), &mut ty));
    ok(nc_insert_compound(id, ty, c"kind".as_ptr(), offset_of!(Reading, kind), BYTE));
    ok(nc_insert_compound(id, ty, c"value".as_ptr(), offset_of!(Reading, value), DOUBLE));
    let counts = offset_of!(Reading, counts);
    ok(nc_insert_array_compound(id, ty, c"counts".as_ptr(), counts, 3, 1, [3].as_ptr()));
    ty
}

fn station_type(id: c_int) -> c_int {
    let (reading, mut samples, mut ty) = (reading_type(id), 0, 0);
    ok(nc_def_vlen(id, c"samples".as_ptr(), INT, &mut samples));
    ok(nc_def_compound(id, size_of::<Station>(), c"station".as_ptr(), &mut ty));
    ok(nc_insert_compound(id, ty, c"id".as_ptr(), offset_of!(Station, id), INT));
    ok(nc_insert_compound(id, ty, c"name".as_ptr(), offset_of!(Station, name), STRING));
    ok(nc_insert_compound(id, ty, c"samples".as_ptr(), offset_of!(Station, samples), samples));
    let readings = offset_of!(Station, readings);
    ok(nc_insert_array_compound(id, ty, c"readings".as_ptr(), readings, reading, 1, [2].as_ptr()));
    ty
}

fn stations(samples: &mut [c_int; 3]) -> [Station; 2] {
    let reading = |kind: i8| Reading { kind, value: f64::from(kind) / 4.0, counts: [1, -2, kind.into()] };
    let readings = [reading(5), reading(6)];
    let full = Vlen { len: 3, items: samples.as_mut_ptr() };
    let empty = Vlen { len: 0, items: null_mut() };
    [
        Station { id: 7, name: c"Helgoland".as_ptr(), samples: full, readings },
        Station { id: 8, name: c"".as_ptr(), samples: empty, readings },
    ]
}

fn check(found: &[Station; 2]) {
    // SAFETY: the library returned text and vlens of this length.
    let (name, samples) = unsafe {
        (
            CStr::from_ptr(found[0].name),
            std::slice::from_raw_parts(found[0].samples.items, found[0].samples.len),
        )
    };
    assert_eq!((name, samples), (c"Helgoland", &[4, 5, 6][..]));
    assert_eq!((found[0].id, found[1].id, found[1].samples.len), (7, 8, 0));
    for station in found {
        for (reading, kind) in station.readings.iter().zip([5, 6]) {
            assert_eq!(
                (reading.kind, reading.value, reading.counts),
                (kind, f64::from(kind) / 4.0, [1, -2, kind.into()])
            );
        }
    }
}

/// Memory for two stations without content.
fn nothing() -> [Station; 2] {
    let reading = Reading { kind: 0, value: 0.0, counts: [0; 3] };
    let samples = Vlen { len: 0, items: null_mut() };
    [Station { id: 0, name: std::ptr::null(), samples, readings: [reading; 2] }; 2]
}

#[test]
fn a_struct_with_text_and_vlens_comes_back() {
    for url in [false, true] {
        let made = create(NETCDF4);
        let mut id = made.id;
        let path = path_in(made.folder.path(), "s.zarr");
        let path =
            std::ffi::CString::new(format!("file://{}#mode=nczarr,file", path.to_str().unwrap())).unwrap();
        if url {
            ok(nc_create(path.as_ptr(), 0, &mut id));
        }
        let (ty, mut x, mut v) = (station_type(id), 0, 0);
        ok(nc_def_dim(id, c"x".as_ptr(), 2, &mut x));
        ok(nc_def_var(id, c"v".as_ptr(), ty, 1, &x, &mut v));
        let mut samples = [4, 5, 6];
        let given = stations(&mut samples);
        ok(nc_put_att(id, v, c"a".as_ptr(), ty, 2, given.as_ptr().cast()));
        ok(nc_put_var(id, v, given.as_ptr().cast()));
        ok(nc_close(id));
        ok(nc_open(if url { path.as_ptr() } else { made.path.as_ptr() }, 0, &mut id));
        let (mut ty, mut size, mut base, mut parts, mut class) = (0, 0, 0, 0, 0);
        ok(nc_inq_vartype(id, v, &mut ty));
        ok(nc_inq_user_type(id, ty, nowhere(), &mut size, &mut base, &mut parts, &mut class));
        assert_eq!((size, parts, class), (size_of::<Station>(), 4, 16));
        let mut found = nothing();
        ok(nc_get_var(id, v, found.as_mut_ptr().cast()));
        check(&found);
        let mut copy = nothing();
        ok(nc_copy_data(id, ty, found.as_ptr().cast(), 2, copy.as_mut_ptr().cast()));
        ok(nc_reclaim_data(id, ty, found.as_mut_ptr().cast(), 2));
        assert!(found[0].name.is_null() && found[0].samples.items.is_null());
        check(&copy);
        ok(nc_reclaim_data(id, ty, copy.as_mut_ptr().cast(), 2));
        ok(nc_get_att(id, v, c"a".as_ptr(), found.as_mut_ptr().cast()));
        check(&found);
        ok(nc_reclaim_data(id, ty, found.as_mut_ptr().cast(), 2));
        // Trap 36.
        assert_eq!(nc_get_var_int(id, v, [0; 2].as_mut_ptr()), -45);
        ok(nc_close(id));
        if url {
            ok(nc_close(made.id));
        }
    }
}

#[test]
fn vlens_of_vlens_come_back() {
    let mut made = create(NETCDF4);
    let (mut inner, mut outer) = (0, 0);
    ok(nc_def_vlen(made.id, c"inner".as_ptr(), INT, &mut inner));
    ok(nc_def_vlen(made.id, c"outer".as_ptr(), inner, &mut outer));
    let v = made.var(c"v", outer, &[]);
    let mut items = [1, 2, 3];
    let mut rows = [
        Vlen { len: 2, items: items.as_mut_ptr() },
        Vlen { len: 0, items: null_mut() },
        Vlen { len: 3, items: items.as_mut_ptr() },
    ];
    let given = Vlen { len: 3, items: rows.as_mut_ptr().cast() };
    ok(nc_put_var(made.id, v, (&raw const given).cast()));
    made.reopen(0);
    let mut found = Vlen { len: 0, items: null_mut() };
    ok(nc_get_var(made.id, v, (&raw mut found).cast()));
    // SAFETY: the library returned vlens of these lengths.
    let lens: Vec<_> = unsafe { std::slice::from_raw_parts(found.items.cast::<Vlen>(), found.len) }
        .iter()
        .map(|row| unsafe { if row.len == 0 { &[] } else { std::slice::from_raw_parts(row.items, row.len) } })
        .collect();
    assert_eq!(lens, [&[1, 2][..], &[], &[1, 2, 3]]);
    ok(nc_reclaim_data(made.id, outer, (&raw mut found).cast(), 1));
    assert!(found.items.is_null());
    ok(nc_free_vlen((&raw mut found).cast()));
    ok(nc_close(made.id));
}

#[test]
fn enums_keep_their_members() {
    let mut made = create(NETCDF4);
    let (mut ty, mut value) = (0, 0i16);
    ok(nc_def_enum(made.id, 3, c"sky".as_ptr(), &mut ty));
    // An enum without members cannot be stored.
    assert_eq!(nc_enddef(made.id), -36);
    for (name, value) in [(c"clear", 0i16), (c"cloudy", -300)] {
        ok(nc_insert_enum(made.id, ty, name.as_ptr(), (&raw const value).cast()));
    }
    // Unwritten elements have the fill value of the base type.
    let v = made.var(c"v", ty, &[]);
    made.reopen(0);
    let mut fill = 0i16;
    ok(nc_get_var(made.id, v, (&raw mut fill).cast()));
    assert_eq!(fill, -32767);
    ok(nc_inq_enum_member(made.id, ty, 1, nowhere(), (&raw mut value).cast()));
    assert_eq!(value, -300);
    assert_eq!(nc_inq_enum_member(made.id, ty, 2, nowhere(), nowhere()), -36);
    ok(nc_close(made.id));
}

//! Short forms that programs of `netcdf`, `ndarray`, `zarrs` and `object_store` use: 36 of 40 compile here.
//!
//! The others, and the reasons:
//!
//! * `let n: usize = dimension.len();` A dataset may be longer than memory, so lengths are `u64`.
//! * `file.variables().count()`. Lists are vectors, which have `len`, `iter` and indices.
//! * `if let Some(t) = file.variable("t")`. Lookups return errors that name the file; `.ok()` drops them.
//! * `let table: Array2<f32> = t.get_array(..)?;` The rank is known when the program runs;
//!   `.into_dimensionality()` checks it.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nczarr::storage::{ByteRange, Key, ZMapExt as _};
use nczarr::{Codec, CreateOptions, File, Kind, OpenOptions, Values, Variable};
use ndarray::{Array2, ArrayD, array, s};

/// Compares each form with its result, and returns the number of forms.
macro_rules! forms {
    ($($origin:ident: $form:expr => $expected:expr;)*) => {
        [$({
            assert_eq!($form, $expected, "{}: {}", stringify!($origin), stringify!($form));
        }),*].len()
    };
}

/// `t` of 2 by 3 has the numbers 1 to 6.
fn field(name: &str) -> (File, Variable) {
    let place = format!("memory://one-liners-{name}");
    let file = CreateOptions::new().kind(Kind::ZarrV3).create(place).unwrap();
    file.add_dimension("y", 2).unwrap();
    file.add_dimension("x", 3).unwrap();
    let t = file.add_variable::<f32>("t", &["y", "x"]).unwrap();
    t.set_chunking(&[1, 3]).unwrap();
    t.put(&[1, 2, 3, 4, 5, 6], ..).unwrap();
    (file, t)
}

#[test]
fn datasets_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("named.nc");
    nczarr::create(&path).unwrap().add_dimension("x", 3).unwrap();
    let text = path.to_str().unwrap().to_owned();
    let bytes = std::fs::read(&path).unwrap();
    let len = |file: nczarr::Result<File>| file.unwrap().dimension("x").unwrap().len();
    let count = forms! {
        netcdf: len(nczarr::open(text.as_str())) => 3;
        netcdf: len(nczarr::open(text.clone())) => 3;
        netcdf: len(nczarr::open(Path::new(&text))) => 3;
        netcdf: len(nczarr::open(path.clone())) => 3;
        std: len(nczarr::open(OsString::from(&text))) => 3;
        std: len(nczarr::open(Cow::from(&path))) => 3;
        object_store: len(nczarr::open_bytes(Arc::<[u8]>::from(bytes))) => 3;
    };
    assert_eq!(count, 7);
}

#[test]
fn parts_are_selected() {
    let (_file, t) = field("selected");
    let at = vec![1, 2];
    let count = forms! {
        netcdf: t.get_values::<i32>((0..2, 2)).unwrap() => [3, 6];
        netcdf: t.get_values::<i32>([.., ..]).unwrap() => [1, 2, 3, 4, 5, 6];
        netcdf: t.get_values::<i32>(([0, 1], [2, 2])).unwrap() => [2, 3, 5, 6];
        netcdf: t.get_values::<i32>((&[0, 0], &[2, 2], &[1, 2])).unwrap() => [1, 3, 4, 6];
        netcdf: t.get_values::<i32>((1, (0..).step_by(2))).unwrap() => [4, 6];
        netcdf: t.get_values::<i32>((..=0, ..2)).unwrap() => [1, 2];
        netcdf: t.get_value::<i32>((1u8, 2i64)).unwrap() => 6;
        netcdf: t.get_value::<i32>(&at).unwrap() => 6;
        ndarray: t.get_values::<i32>(s![.., -1]).unwrap() => [3, 6];
        zarrs: t.get_values::<i32>(&[0..2, 1..3]).unwrap() => [2, 3, 5, 6];
    };
    assert_eq!(count, 10);
}

#[test]
fn values_are_transferred() {
    let (_file, t) = field("transferred");
    let one: f32 = t.get_value([1, 0]).unwrap();
    let mut buffer = vec![0u8; t.len().unwrap() as usize];
    let mut fresh = Vec::with_capacity(3);
    let mut table = Array2::<f64>::zeros((4, 6));
    let turned = array![[1.0f32, 4.0], [2.0, 5.0], [3.0, 6.0]];
    let count = forms! {
        netcdf: one => 4.0;
        netcdf: t.get_into(&mut buffer, ..).map(|()| buffer[5]).unwrap() => 6;
        std: t.get_uninit::<i16>(&mut fresh.spare_capacity_mut()[..3], 0).is_err() => true;
        std: t.get_uninit::<i16>(&mut fresh.spare_capacity_mut()[..3], (1, ..)).unwrap() => &[4, 5, 6];
        netcdf: { let all: ArrayD<f32> = t.get_array(..).unwrap(); all } => turned.t().to_owned().into_dyn();
        netcdf: t.get_array_into(table.slice_mut(s![1..3, ..;2]), ..).map(|()| table[[2, 4]]).unwrap() => 6.0;
        netcdf: t.put_array(&turned.t(), ..).is_ok() => true;
        ndarray: t.put(turned.as_slice().unwrap(), ..).is_ok() => true;
        ndarray: t.get::<f32>(..).unwrap().iter().sum::<f32>() => 21.0;
    };
    // The third line is a check of the fourth.
    assert_eq!(count - 1, 8);
}

#[test]
fn attributes_have_types() {
    let (file, t) = field("attributes");
    t.put_attribute("units", "K").unwrap();
    t.put_attribute("range", [0.5f32, 9.5]).unwrap();
    let history = &["made", "changed"];
    let count = forms! {
        netcdf: t.attribute("units").unwrap().get::<String>().unwrap() => "K";
        netcdf: t.attribute("range").unwrap().get::<Vec<f64>>().unwrap() => [0.5, 9.5];
        netcdf: matches!(t.attribute("range").unwrap().values(), Values::Float(two) if two.len() == 2) => true;
        netcdf: file.put_attribute("history", history).is_ok() => true;
        zarrs: t.attribute_json("range").unwrap().as_deref() => Some("[0.5,9.5]");
    };
    assert_eq!(count, 5);
}

#[test]
fn lists_are_walked() {
    let (file, _) = field("lists");
    let mut names = Vec::new();
    for variable in file.variables() {
        names.push(variable.name());
    }
    let count = forms! {
        netcdf: names => ["t"];
        netcdf: file.dimensions().iter().map(|dimension| dimension.len()).sum::<u64>() => 5;
        netcdf: file.groups().is_empty() => true;
    };
    assert_eq!(count, 3);
}

#[test]
fn chunks_and_objects_are_reached() {
    let (file, t) = field("objects");
    file.sync().unwrap();
    let map = OpenOptions::new().open_map(file.place()).unwrap();
    let mut bytes = Vec::new();
    let key = Key::new("t/zarr.json").unwrap();
    let first = ByteRange::first(1);
    let count = forms! {
        zarrs: t.chunk(&[1, 0]).unwrap().get::<f32>().unwrap().as_slice() => &[4.0, 5.0, 6.0];
        zarrs: file.add_variable::<i8>("u", &["x"]).unwrap().set_codecs([Codec::gzip(5)]).is_ok() => true;
        object_store: map.read(&key, first, &mut bytes).map(|found| (found, bytes[0])).unwrap() => (true, b'{');
    };
    assert_eq!(count, 3);
}

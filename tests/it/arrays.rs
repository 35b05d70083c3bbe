//! Reads into and writes from arrays of `ndarray`, in any memory layout and with any slice.

use nczarr::{ErrorKind, File, Selection, Variable};
use ndarray::{Array2, Array3, ArrayD, ArrayView2, Axis, Dim, ShapeBuilder as _, SliceInfo, SliceInfoElem};
use proptest::prelude::*;

/// A variable of 5 × 6 elements whose values are their positions.
fn field(name: &str) -> (File, Variable) {
    let file = nczarr::CreateOptions::new().clobber(true).create(format!("memory://arrays-{name}")).unwrap();
    file.add_dimension("y", 5).unwrap();
    file.add_dimension("x", 6).unwrap();
    let v = file.add_variable::<i32>("v", &["y", "x"]).unwrap();
    v.set_chunking(&[2, 4]).unwrap();
    v.put(&(0..30).collect::<Vec<i32>>(), ..).unwrap();
    (file, v)
}

fn positions() -> Array2<i32> {
    Array2::from_shape_fn((5, 6), |(y, x)| (y * 6 + x) as i32)
}

#[test]
fn parts_equal_the_parts_of_the_array() {
    let (_file, v) = field("part");
    let all = positions();
    assert_eq!(v.get_array::<i32>(..).unwrap(), all.clone().into_dyn());
    assert_eq!(v.get_array::<f64>((1, 2..5)).unwrap(), ndarray::arr1(&[8.0, 9.0, 10.0]).into_dyn());
    assert_eq!(v.get_array::<i32>((4, 5)).unwrap(), ndarray::arr0(29).into_dyn());
    assert_eq!(v.get_array::<i32>(([1usize, 2], [2, 0])).unwrap().shape(), [2, 0]);
    assert_eq!(v.get_array::<i16>(((0..).step_by(2), 3u8)).unwrap().into_raw_vec_and_offset().0, [3, 15, 27]);
    assert_eq!(v.get_array::<i32>((.., 6)).unwrap_err().kind(), ErrorKind::InvalCoords);
    let copied = ArrayD::try_from(v.get::<i32>(..).unwrap()).unwrap();
    assert_eq!(copied, all.into_dyn());
}

#[test]
fn views_of_any_layout_are_filled() {
    let (_file, v) = field("into");
    let all = positions();
    let mut fortran = Array2::<i32>::zeros((5, 6).f());
    v.get_array_into(fortran.view_mut(), ..).unwrap();
    assert_eq!(fortran, all);
    let mut cube = Array3::<i32>::from_elem((6, 2, 5), -1);
    v.get_array_into(cube.index_axis_mut(Axis(1), 1).reversed_axes(), ..).unwrap();
    for ((x, plane, y), &value) in cube.indexed_iter() {
        assert_eq!(value, if plane == 1 { all[[y, x]] } else { -1 }, "{x} {plane} {y}");
    }
    let mut reversed = ndarray::Array1::<i32>::zeros(6);
    let mut view = reversed.view_mut();
    view.invert_axis(Axis(0));
    v.get_array_into(view, (2, ..)).unwrap();
    assert_eq!(reversed.to_vec(), [17, 16, 15, 14, 13, 12]);
    let mut scalar = ndarray::arr0(0);
    v.get_array_into(scalar.view_mut(), (1, 1)).unwrap();
    assert_eq!(scalar, ndarray::arr0(7));
    let error = v.get_array_into(Array2::<i32>::zeros((6, 5)).view_mut(), ..).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Inval);
    assert!(error.to_string().contains("expected [5, 6], found [6, 5]"), "{error}");
}

#[test]
fn views_of_any_layout_are_written() {
    let (_file, v) = field("put");
    let all = positions();
    v.put_array(&all.mapv(|value| -value).reversed_axes().t(), ..).unwrap();
    assert_eq!(v.get_array::<i32>(..).unwrap(), all.mapv(|value| -value).into_dyn());
    let mut columns = all.view();
    columns.invert_axis(Axis(1));
    v.put_array(&columns, ..).unwrap();
    assert_eq!(v.get_values::<i32>((0, ..)).unwrap(), [5, 4, 3, 2, 1, 0]);
    v.put_array(&all.column(2), (.., 0)).unwrap();
    assert_eq!(v.get_values::<i32>((.., 0)).unwrap(), [2, 8, 14, 20, 26]);
    let flat = ArrayView2::from_shape((3, 10), all.as_slice().unwrap()).unwrap();
    assert_eq!(
        v.put_array(&flat, ..).unwrap_err().kind(),
        ErrorKind::Inval,
        "as many elements, another shape"
    );
    assert_eq!(v.put_array(&all.row(0), (0, ..5)).unwrap_err().kind(), ErrorKind::Inval);
}

#[test]
fn records_are_appended_from_arrays() {
    let file = nczarr::CreateOptions::new().clobber(true).create("memory://arrays-records").unwrap();
    file.add_unlimited_dimension("time").unwrap();
    file.add_dimension("x", 2).unwrap();
    let v = file.add_variable::<f32>("v", &["time", "x"]).unwrap();
    v.put_array(&ndarray::arr2(&[[1.0f32, 2.0], [3.0, 4.0]]), ..).unwrap();
    v.put_array(&ndarray::arr2(&[[5.0f32, 6.0]]), (2.., ..)).unwrap();
    assert_eq!(
        v.get_array::<f32>(..).unwrap(),
        ndarray::arr2(&[[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]).into_dyn()
    );
}

#[test]
fn uninitialised_memory_is_filled() {
    let (_file, v) = field("uninit");
    let mut memory = Vec::with_capacity(6);
    let row = v.get_uninit::<i32>(&mut memory.spare_capacity_mut()[..6], (1, ..)).unwrap();
    assert_eq!(row, [6, 7, 8, 9, 10, 11]);
    let short = v.get_uninit::<i32>(&mut memory.spare_capacity_mut()[..5], (1, ..));
    assert_eq!(short.unwrap_err().kind(), ErrorKind::Inval);
}

#[test]
fn slices_without_a_meaning_are_refused() {
    let slice = |element: SliceInfoElem| -> SliceInfo<_, Dim<[usize; 1]>, ndarray::IxDyn> {
        SliceInfo::try_from(vec![element]).unwrap()
    };
    let kind = |element| Selection::new(slice(element), &[4]).unwrap_err().kind();
    assert_eq!(kind(SliceInfoElem::Slice { start: 0, end: None, step: -1 }), ErrorKind::Stride);
    assert_eq!(kind(SliceInfoElem::Index(-5)), ErrorKind::InvalCoords);
    let added: SliceInfo<_, Dim<[usize; 1]>, Dim<[usize; 2]>> =
        SliceInfo::try_from([SliceInfoElem::NewAxis, SliceInfoElem::from(..)]).unwrap();
    assert_eq!(Selection::new(added, &[4]).unwrap_err().kind(), ErrorKind::Inval);
}

proptest! {
    /// A slice selects from the variable the elements that it selects from an array.
    #[test]
    fn slices_select_like_ndarray(
        start in -5isize..=5, end in prop::option::of(-5isize..=5), step in 1isize..4, column in -6isize..6,
    ) {
        let position = |at: isize| if at < 0 { at + 5 } else { at };
        // `ndarray` panics for a reversed slice.
        prop_assume!(position(start) <= position(end.unwrap_or(5)));
        let slice = [SliceInfoElem::Slice { start, end, step }, SliceInfoElem::Index(column)];
        let slice: SliceInfo<_, Dim<[usize; 2]>, Dim<[usize; 1]>> = SliceInfo::try_from(slice).unwrap();
        let (_file, v) = field(&format!("slice-{start}-{end:?}-{step}-{column}"));
        prop_assert_eq!(v.get_array::<i32>(&slice).unwrap(), positions().slice(slice).to_owned().into_dyn());
    }
}

//! Arrays of `ndarray`.

use ndarray::{Array, s};

use crate::samples::{LEVELS, PLANE, in_both, levels, plane};

#[test]
fn the_last_dimension_varies_fastest() {
    let dir = tempfile::tempdir().unwrap();
    let file = nczarr::open(plane(&dir)).unwrap();
    let count = file.variable("count").expect("it was written");
    let data = count.get_array::<i32>(..).unwrap();
    let rows = count.dimensions()[0].len() as usize;
    let columns = count.dimensions()[1].len() as usize;
    assert_eq!([rows, columns], PLANE);
    assert_eq!(rows * columns, data.len());
    for row in 0..rows {
        for column in 0..columns {
            let at = row * columns + column;
            assert_eq!(data.as_slice().unwrap()[at], at as i32);
        }
    }
}

#[test]
fn starts_and_counts_give_the_shape() {
    let dir = tempfile::tempdir().unwrap();
    let file = nczarr::open(levels(&dir)).unwrap();
    let salinity = file.variable("salinity").unwrap();
    let len = |dim: usize| salinity.dimensions()[dim].len() as usize;
    let sizes = [len(0), len(1), 1, len(3)];
    let values = salinity.get_array::<f32>(([0, 0, 3, 0], sizes)).unwrap();
    assert_eq!(values.shape(), sizes);
    let sizes = [len(0), len(1) - 1, 2, len(3)];
    let values = salinity.get_array::<f32>(([0, 1, 2, 0], sizes)).unwrap();
    assert_eq!(values.shape(), sizes);
}

#[test]
fn an_array_has_the_shape_of_its_variable() {
    let dir = tempfile::tempdir().unwrap();
    let file = nczarr::open(levels(&dir)).unwrap();
    let salinity = file.variable("salinity").expect("it was written");
    let values = salinity.get_array::<f64>(..).unwrap();
    assert_eq!(values.shape(), LEVELS);
}

#[test]
fn an_index_removes_its_dimension() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        for (name, len) in [("run", 3), ("lat", 4), ("lon", 5), ("band", 6)] {
            file.add_dimension(name, len).unwrap();
        }
        let var = file.add_variable::<i8>("image", &["run", "lat", "lon", "band"]).unwrap();
        assert_eq!(var.get_array::<i8>(..).unwrap().shape(), &[3, 4, 5, 6]);
        assert_eq!(var.get_array::<i8>((.., .., .., 2)).unwrap().shape(), &[3, 4, 5]);
        assert_eq!(var.get_array::<i8>((.., 3, .., 2)).unwrap().shape(), &[3, 5]);
        assert_eq!(var.get_array::<i8>((.., 3, .., 2..=2)).unwrap().shape(), &[3, 5, 1]);
        let values = var.get_array::<i8>((1, 3, 4, 2)).unwrap();
        assert_eq!(values.shape(), &[] as &[usize]);
        let value = values.into_dimensionality().unwrap().into_scalar();
        let fill_value = var.get_fill::<i8>().unwrap().unwrap();
        assert_eq!(value, fill_value);
    });
}

#[test]
fn arrays_are_written() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        for (name, len) in [("d1", 7), ("d2", 8), ("d3", 9), ("d4", 6)] {
            file.add_dimension(name, len).unwrap();
        }
        file.add_unlimited_dimension("record").unwrap();
        let numbers = |at: (usize, usize, usize, usize)| (at.0 * 100 + at.1 * 10 + at.2 + at.3) as u16;
        let values = Array::from_shape_fn((7, 8, 9, 6), numbers);
        let var = file.add_variable::<u16>("fixed", &["d1", "d2", "d3", "d4"]).unwrap();

        macro_rules! put {
            ($var:expr, $extents:expr, $slice:expr) => {
                $var.put_array(&values.slice($slice), $extents)
            };
        }

        var.put_array(&values.view(), ..).unwrap();
        put!(var, s![2, .., .., ..], s![2, .., .., ..]).unwrap();
        put!(var, s![4, .., 1, 2], s![4, .., 1, 2]).unwrap();
        put!(var, s![4, .., 1, 2..5], s![4, .., 1, 2..5]).unwrap();
        put!(var, .., s![.., .., .., ..]).unwrap();
        put!(var, (3, 5, .., ..), s![3, 5, .., ..]).unwrap();
        put!(var, (3, 5, 1, ..), s![3, 5, 1, ..]).unwrap();
        put!(var, (3, 5, .., 4), s![3, 5, .., 4]).unwrap();
        put!(var, s![1..;3, 5, .., 4], s![1..;3, 5, .., 4]).unwrap();
        put!(var, .., s![.., .., .., 1]).unwrap_err();
        put!(var, (.., .., .., 1), s![.., .., .., ..]).unwrap_err();
        assert_eq!(var.get_array::<u16>(..).unwrap(), values.clone().into_dyn());
        drop(var);

        let var = file.add_variable::<u16>("growing", &["record", "d2", "d3"]).unwrap();
        let len = || file.dimension("record").unwrap().len();
        put!(var, .., s![.., .., .., ..]).unwrap_err();
        put!(var, .., s![..0, .., .., 0]).unwrap();
        put!(var, .., s![..1, .., .., 0]).unwrap();
        put!(var, .., s![.., .., .., 0]).unwrap();
        assert_eq!(len(), 7);
        // One record for seven: its place is unknown.
        put!(var, .., s![..1, .., .., 0]).unwrap_err();
        put!(var, (1, 4, 3), s![1, 1, 0, 0]).unwrap();
        put!(var, (1, 3..4, 3), s![1, 1, 5..6, 0]).unwrap();
        put!(var, (0, 0, 0), s![0, 0, .., ..]).unwrap_err();
        put!(var, (6.., .., ..), s![.., .., .., 0]).unwrap();
        assert_eq!(len(), 13);
        put!(var, (6.., .., ..), s![.., .., .., 0]).unwrap();
        assert_eq!(len(), 13);
        // An open end covers all records behind it.
        put!(var, (5.., .., ..), s![.., .., .., 0]).unwrap_err();
        put!(var, (5..6, .., ..), s![.., .., .., 0]).unwrap_err();
        put!(var, (5..12, .., ..), s![.., .., .., 0]).unwrap();
    });
}

#[test]
fn parts_go_to_views() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        for (name, len) in [("d1", 3), ("d2", 4), ("d3", 5)] {
            file.add_dimension(name, len).unwrap();
        }
        let values = Array::from_shape_fn((3, 4, 5), |(k, j, i)| (400 * k + 20 * j + i) as u64);
        let var = file.add_variable::<u64>("depth", &["d1", "d2", "d3"]).unwrap();
        var.put_array(&values.view(), ..).unwrap();

        let mut out = Array::<u64, _>::zeros((3, 4, 5));
        var.get_array_into(out.view_mut(), ..).unwrap();
        assert_eq!(values, out);
        out.fill(0);
        var.get_array_into(out.slice_mut(s![0, .., ..]), (2, .., ..)).unwrap();
        assert_eq!(values.slice(s![2, .., ..]), out.slice(s![0, .., ..]));
        out.fill(0);
        var.get_array_into(out.slice_mut(s![0, 0, ..]), (1, 3, ..)).unwrap();
        assert_eq!(values.slice(s![1, 3, ..]), out.slice(s![0, 0, ..]));
        out.fill(0);
        // A view need not be contiguous here.
        var.get_array_into(out.slice_mut(s![.., .., 1]), (.., .., 1)).unwrap();
        assert_eq!(values.slice(s![.., .., 1]), out.slice(s![.., .., 1]));

        let mut out = Array::<u64, _>::zeros((2, 3, 4, 5));
        var.get_array_into(out.slice_mut(s![1, .., .., ..]), (.., .., ..)).unwrap();
        assert_eq!(values, out.slice(s![1, .., .., ..]));
    });
}

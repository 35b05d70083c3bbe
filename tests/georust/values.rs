//! Whole variables and single values.

use crate::samples::{PLANE, in_both, plane};

#[test]
fn values_convert() {
    let dir = tempfile::tempdir().unwrap();
    let file = nczarr::open(plane(&dir)).unwrap();
    let count = file.variable("count").expect("it was written");
    let mut data = vec![0; 28];
    count.get_into(&mut data, ..).unwrap();
    for (i, value) in data.iter().enumerate() {
        assert_eq!(*value, i as i32);
    }
    let mut data = vec![0.0; 28];
    count.get_into(&mut data, ..).unwrap();
    for (i, value) in data.iter().enumerate() {
        assert_eq!(*value, i as f64);
    }
}

#[test]
fn one_value_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = nczarr::open(plane(&dir)).unwrap();
    let count = file.variable("count").expect("it was written");
    let first: i32 = count.get_value([0, 0]).unwrap();
    let other: i32 = count.get_value([3, 5]).unwrap();
    assert_eq!((first, other), (0, 26));
}

#[test]
fn a_variable_is_defined_once() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.add_variable::<u16>("depth", &[]).unwrap();
        file.add_variable::<i16>("height", &[]).unwrap();
        file.add_variable::<u8>("depth", &[]).unwrap_err();
        file.add_variable_along::<i8>("height", &[]).unwrap_err();
    });
}

#[test]
fn a_conflict_changes_nothing() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.add_dimension("lon", 36).unwrap();
        file.add_dimension("lat", 18).unwrap();
        file.add_variable::<i32>("lon", &["lon"]).unwrap();
        let error = file.add_variable::<f32>("lon", &["lat"]).unwrap_err();
        assert_eq!(error.kind(), nczarr::ErrorKind::NameInUse);
        assert_eq!(file.variable("lon").unwrap().dimensions()[0].len(), 36);
    });
}

macro_rules! every_type {
    ($file:ident, $call:ident) => {
        $call!($file, "i8", i8, -42);
        $call!($file, "u8", u8, 142);
        $call!($file, "i16", i16, -4200);
        $call!($file, "u16", u16, 42_000);
        $call!($file, "i32", i32, -42_000);
        $call!($file, "u32", u32, 4_200_000_000);
        $call!($file, "i64", i64, -42 << 40);
        $call!($file, "u64", u64, 42 << 58);
        $call!($file, "f32", f32, 42.25);
        $call!($file, "f64", f64, 0.1);
    };
}

#[test]
fn variables_have_every_type() {
    macro_rules! write {
        ($root:ident, $name:literal, $type:ty, $value:expr) => {
            let data: Vec<$type> = vec![$value; 6];
            let var = $root.add_variable::<$type>($name, &["sample"]).unwrap();
            var.put(&data, ..).unwrap();
        };
    }
    macro_rules! check {
        ($file:ident, $name:literal, $type:ty, $value:expr) => {
            let mut data = vec![<$type>::default(); 6];
            $file.variable($name).unwrap().get_into(&mut data, ..).unwrap();
            assert_eq!(vec![$value; 6], data);
        };
    }
    in_both(|path| {
        {
            let file = nczarr::create(path).unwrap();
            let root = file.root();
            root.add_dimension("sample", 6).unwrap();
            every_type!(root, write);
        }
        let file = nczarr::open(path).unwrap();
        every_type!(file, check);
    });
}

#[test]
fn one_value_is_replaced() {
    in_both(|path| {
        {
            let file = nczarr::create(path).unwrap();
            file.add_dimension("site", 3).unwrap();
            let var = file.add_variable::<f32>("wind", &["site"]).unwrap();
            var.put(&[4., 5., 6.], ..).unwrap();
        }
        let at: [usize; 1] = [1];
        {
            let file = nczarr::append(path).unwrap();
            let var = file.variable("wind").unwrap();
            var.put_value(55.5f32, at).unwrap();
        }
        let file = nczarr::open(path).unwrap();
        let var = file.variable("wind").expect("it was written");
        assert_eq!(55.5, var.get_value::<f32>(at).unwrap());
        assert_eq!(var.get_values::<f32>(..).unwrap(), [4.0, 55.5, 6.0]);
    });
}

#[test]
fn some_values_are_replaced() {
    in_both(|path| {
        {
            let file = nczarr::create(path).unwrap();
            file.add_dimension("site", 4).unwrap();
            let var = file.add_variable::<i32>("gust", &["site"]).unwrap();
            var.put(&[1i32, 2, 3, 4], ..).unwrap();
        }
        let start = &[2];
        let values = &[33i32, 44];
        let count = &[values.len()];
        {
            let file = nczarr::append(path).unwrap();
            let var = file.variable("gust").unwrap();
            var.put(values, (start, count)).unwrap();
        }
        let file = nczarr::open(path).unwrap();
        let var = file.variable("gust").expect("it was written");
        let mut all = vec![0i32; 4];
        var.get_into(all.as_mut_slice(), ..).unwrap();
        assert_eq!(all, [1, 2, 33, 44]);
    });
}

#[test]
fn definitions_data_and_attributes_are_found_again() {
    use ndarray::{ArrayD, IxDyn};

    in_both(|path| {
        {
            let file = nczarr::create(path).unwrap();
            file.add_dimension("run", 3).unwrap();
            file.add_dimension("step", 5).unwrap();
            assert_eq!(file.dimension("run").expect("it was defined").len(), 3);
            assert_eq!(file.dimension("step").expect("it was defined").len(), 5);
            let data: Vec<i32> = vec![-6; 3 * 5];
            let score = file.add_variable::<i32>("score", &["run", "step"]).unwrap();
            score.put(data.as_slice(), ..).unwrap();
            assert_eq!(score.dimensions()[0].len(), 3);
            assert_eq!(score.dimensions()[1].len(), 5);
            let data: Vec<f32> = vec![0.3; 3];
            let mean = file.add_variable::<f32>("mean", &["run"]).unwrap();
            mean.put(data.as_slice(), ..).unwrap();
            assert_eq!(mean.dimensions()[0].len(), 3);
            file.put_attribute("edition", 12).unwrap();
            file.put_attribute("author", "the model".to_owned()).unwrap();
            let mean = file.variable("mean").unwrap();
            mean.put_attribute("samples", 80).unwrap();
            mean.put_attribute("comment", "of all steps".to_owned()).unwrap();
        }
        let file = nczarr::open(path).unwrap();
        assert_eq!(file.dimension("run").expect("it was written").len(), 3);
        assert_eq!(file.dimension("step").expect("it was written").len(), 5);
        let expected: ArrayD<i32> = ArrayD::from_elem(IxDyn(&[3, 5]), -6);
        let found = file.variable("score").expect("it was written").get_array::<i32>(..).unwrap();
        assert_eq!(expected.len(), found.len());
        assert_eq!(expected, found);
        let mean = file.variable("mean").expect("it was written");
        assert_eq!(mean.get_array::<f32>(..).unwrap(), ArrayD::from_elem(IxDyn(&[3]), 0.3f32));
        assert_eq!(file.attribute("edition").expect("it was written").get::<i32>().unwrap(), 12);
        assert_eq!(file.attribute("author").expect("it was written").text(), Some("the model"));
        assert_eq!(mean.attribute("samples").expect("it was written").get::<i32>().unwrap(), 80);
        assert_eq!(mean.attribute("comment").expect("it was written").text(), Some("of all steps"));
    });
}

#[test]
fn a_part_goes_to_a_buffer() {
    let dir = tempfile::tempdir().unwrap();
    let file = nczarr::open(plane(&dir)).unwrap();
    let count = file.variable("count").expect("it was written");
    let mut part = vec![0i8; 4 * 2];
    count.get_into(part.as_mut_slice(), (&[0, 3], &[4, 2])).unwrap();
    assert_eq!(part, [3, 4, 10, 11, 17, 18, 24, 25]);
}

#[test]
#[should_panic]
fn a_part_that_differs_from_the_buffer_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = nczarr::open(plane(&dir)).unwrap();
    let count = file.variable("count").expect("it was written");
    let mut part = vec![0; 20];
    count.get_into(part.as_mut_slice(), (..20, 1)).unwrap();
}

#[test]
fn a_variable_has_a_length() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.add_dimension("lat", 5).unwrap();
        file.add_dimension("lon", 7).unwrap();
        file.add_unlimited_dimension("time").unwrap();
        let mask = file.add_variable::<f32>("mask", &["lat", "lon"]).unwrap();
        assert_eq!(mask.len().unwrap(), 5 * 7);
        let wave = file.add_variable::<f64>("wave", &["lat", "time"]).unwrap();
        wave.put_value(1u8, [4, 5]).unwrap();
        assert_eq!(wave.len().unwrap(), 5 * 6);
    });
}

#[test]
fn a_scalar_has_one_value() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        let var = file.add_variable::<u8>("level", &[]).unwrap();
        var.put_value(30u8, ..).unwrap();
        assert_eq!(var.get_value::<u8>(..).unwrap(), 30);
        var.put::<u8>(&[], ..).unwrap_err();
        assert_eq!(var.get_value::<u8>(()).unwrap(), 30);
        var.put::<u8>(&[31, 32], ..).unwrap_err();
        let none: [usize; 0] = [];
        var.put::<u8>(&[33], none).unwrap();
        assert_eq!(var.get_value::<u8>(()).unwrap(), 33);
        var.put::<u8>(&[34], ()).unwrap();
        assert_eq!(var.get_value::<u8>(()).unwrap(), 34);
        var.put::<u8>(&[35], (none, none)).unwrap();
        assert_eq!(var.get_value::<u8>(()).unwrap(), 35);
        var.put::<u8>(&[36], 0).unwrap_err();
        assert_eq!(var.get_value::<u8>(()).unwrap(), 35);
        file.close().unwrap();

        let file = nczarr::open(path).unwrap();
        let var = file.variable("level").unwrap();
        assert_eq!(var.get_value::<u8>(()).unwrap(), 35);
    });
}

#[test]
fn bytes_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = nczarr::open(plane(&dir)).unwrap();
    let count = file.variable("count").unwrap();
    let [rows, columns] = PLANE;
    let size = size_of::<i32>();

    assert_eq!(count.get_raw_values(..).unwrap().len(), rows * columns * size);
    let row = count.get_raw_values((0, ..)).unwrap();
    assert_eq!(row.len(), columns * size);
    assert_eq!(row[4..8], 1i32.to_ne_bytes());
    assert_eq!(count.get_raw_values((.., 0)).unwrap().len(), rows * size);

    let mut buffer = vec![0; rows * columns * size];
    count.get_raw(&mut buffer, ..).unwrap();
    assert_eq!(buffer[27 * size..], 27i32.to_ne_bytes());
    count.get_raw(&mut buffer[..columns * size], (0, ..)).unwrap();
    count.get_raw(&mut buffer[..columns * size - 1], (0, ..)).unwrap_err();
    count.get_raw(&mut buffer[..columns * size + 1], (0, ..)).unwrap_err();
}

//! Strides.

use nczarr::Extent;

use crate::samples::in_both;

/// Every `stride`-th of `count` elements from `start` on.
fn strided(start: u64, count: u64, stride: u64) -> Extent {
    Extent::Strided { start, count: Some(count), stride }
}

#[test]
fn strided_parts_are_read() {
    in_both(|path| {
        {
            let file = nczarr::create(path).unwrap();
            for (name, len) in [("z", 3), ("y", 4), ("x", 10)] {
                file.add_dimension(name, len).unwrap();
            }
            let var = file.add_variable::<i32>("grid", &["z", "y", "x"]).unwrap();
            var.put(&(0..120).collect::<Vec<_>>(), ..).unwrap();
        }
        let file = nczarr::open(path).unwrap();
        let var = file.variable("grid").unwrap();
        let expected = |z: &[i32], y: &[i32], x: &[i32]| -> Vec<i32> {
            let rows = z.iter().flat_map(|z| y.iter().map(move |y| z * 40 + y * 10));
            rows.flat_map(|row| x.iter().map(move |x| row + x)).collect()
        };

        let mut all = vec![0; 120];
        var.get_into(&mut all, ((0..).step_by(1), (0..).step_by(1), (0..).step_by(1))).unwrap();
        assert!(all.iter().copied().eq(0..120));

        let every = expected(&[0, 2], &[0, 1, 2, 3], &[0, 4, 8]);
        let mut part = vec![0; 2 * 4 * 3];
        var.get_into(&mut part, ((0..).step_by(2), (0..).step_by(1), (0..).step_by(4))).unwrap();
        assert_eq!(part, every);
        let mut part = vec![0; 2 * 4 * 3];
        var.get_into(&mut part, (strided(0, 2, 2), strided(0, 4, 1), strided(0, 3, 4))).unwrap();
        assert_eq!(part, every);
        // This selects one, four and two elements: too few.
        let mut part = vec![0; 2 * 4 * 3];
        var.get_into(&mut part, ((0..2).step_by(2), (0..4).step_by(1), (0..5).step_by(4))).unwrap_err();

        let mut part = vec![0; 4 * 2];
        var.get_into(&mut part, ((2..).step_by(2), (0..).step_by(1), (5..).step_by(4))).unwrap();
        assert_eq!(part, expected(&[2], &[0, 1, 2, 3], &[5, 9]));
        let mut part = vec![0; 2 * 2];
        var.get_into(&mut part, (strided(2, 1, 2), strided(1, 2, 1), strided(5, 2, 4))).unwrap();
        assert_eq!(part, expected(&[2], &[1, 2], &[5, 9]));
    });
}

#[test]
fn strided_parts_are_written() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.add_dimension("row", 5).unwrap();
        file.add_dimension("column", 8).unwrap();
        let var = file.add_variable::<i32>("grid", &["row", "column"]).unwrap();
        let values = (0..40).collect::<Vec<i32>>();
        let zeros = [0; 40];
        let all = || {
            let mut all = vec![0; 40];
            var.get_into(&mut all, ..).unwrap();
            all
        };
        // The written numbers, from 1 on, at these rows and columns.
        let expected = |rows: &[usize], columns: &[usize]| {
            let mut expected = vec![0; 40];
            let places = rows.iter().flat_map(|row| columns.iter().map(move |column| row * 8 + column));
            places.zip(1..).for_each(|(place, value)| expected[place] = value);
            expected
        };

        var.put(&values, ((0..).step_by(1), (0..).step_by(1))).unwrap();
        assert_eq!(all(), values);
        var.put(&zeros, ..).unwrap();
        var.put(&values[1..][..9], ((0..=4).step_by(2), (0..=7).step_by(3))).unwrap();
        assert_eq!(all(), expected(&[0, 2, 4], &[0, 3, 6]));
        var.put(&zeros, ..).unwrap();
        var.put(&values[1..][..9], ((0..).step_by(2), (0..).step_by(3))).unwrap();
        assert_eq!(all(), expected(&[0, 2, 4], &[0, 3, 6]));
        var.put(&zeros, ..).unwrap();
        var.put(&values[1..][..8], [(0..).step_by(3), (0..).step_by(2)]).unwrap();
        assert_eq!(all(), expected(&[0, 3], &[0, 2, 4, 6]));
        var.put(&zeros, ..).unwrap();
        var.put(&values[1..][..6], ((1..).step_by(3), (3..).step_by(2))).unwrap();
        assert_eq!(all(), expected(&[1, 4], &[3, 5, 7]));
    });
}

//! Writes that extend unlimited dimensions.

use nczarr::{Number, Variable};

use crate::samples::in_both;

#[test]
fn single_values_extend() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.add_unlimited_dimension("run").unwrap();
        file.add_unlimited_dimension("step").unwrap();
        let var = file.add_variable::<u8>("state", &["run", "step"]).unwrap();
        var.set_fill(0u8).unwrap();
        let shape = || (var.dimensions()[0].len(), var.dimensions()[1].len());

        var.put_value(11, (0, 0)).unwrap();
        assert_eq!(shape(), (1, 1));
        var.put_value(12, [0, 2]).unwrap();
        assert_eq!(shape(), (1, 3));
        var.put_value(13, [1, 0]).unwrap();
        assert_eq!(shape(), (2, 3));
        let mut all = vec![0; 6];
        var.get_into(&mut all, [..2, ..3]).unwrap();
        assert_eq!(all, &[11, 0, 12, 13, 0, 0]);
    });
}

fn check<T: Number + std::fmt::Debug>(var: &Variable, expected: &[T]) {
    let mut found: Vec<T> = vec![T::zeroed(); expected.len()];
    var.get_into(&mut found, ..).unwrap();
    assert_eq!(found.as_slice(), expected);
}

#[test]
fn several_values_extend() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        for name in ["t1", "t2", "t3", "t4"] {
            file.add_unlimited_dimension(name).unwrap();
        }
        file.add_dimension("pair", 2).unwrap();

        let var = file.add_variable::<u8>("first", &["t1", "pair"]).unwrap();
        // An open end extends as far as the values, so the length need not be given.
        var.put(&[5u8, 6, 7, 8], ..).unwrap();
        check(&var, &[5u8, 6, 7, 8]);
        var.put(&[1u8, 2, 3, 4], (..2, ..2)).unwrap();
        check(&var, &[1u8, 2, 3, 4]);
        var.put(&[1u8, 2, 3, 4, 5, 6, 7, 8], (..4, ..)).unwrap();
        check(&var, &[1u8, 2, 3, 4, 5, 6, 7, 8]);

        let var = file.add_variable::<u8>("last", &["pair", "t2"]).unwrap();
        var.put(&[1u8, 2, 3, 4], (.., ..2)).unwrap();
        check(&var, &[1u8, 2, 3, 4]);
        var.put(&[1u8, 2, 3, 4, 5, 6, 7, 8], (.., ..4)).unwrap();
        check(&var, &[1u8, 2, 3, 4, 5, 6, 7, 8]);

        let var = file.add_variable::<u8>("both", &["t3", "t4"]).unwrap();
        var.set_fill(0u8).unwrap();
        // With two open ends the shape is unknown.
        var.put(&[1u8, 2, 3, 4], (.., ..)).unwrap_err();
        var.put(&[1u8, 2, 3, 4], [..1, ..4]).unwrap();
        let mut row = vec![0; 4];
        var.get_into(&mut row, (0..1, 0..4)).unwrap();
        assert_eq!(row, &[1u8, 2, 3, 4]);
        var.put(&[7u8, 8, 9], (..3, ..1)).unwrap();
        let mut all = vec![0; 4 * 3];
        var.get_into(&mut all, (..3, ..4)).unwrap();
        assert_eq!(all, &[7, 2, 3, 4, 8, 0, 0, 0, 9, 0, 0, 0]);
    });
}

#[test]
fn unlimited_dimensions_of_parents_are_used() {
    in_both(|path| {
        {
            let file = nczarr::create(path).unwrap();
            file.add_unlimited_dimension("time").unwrap();
            file.add_unlimited_dimension("run").unwrap();
            file.add_dimension("level", 5).unwrap();
            let group = file.add_group("model").unwrap();
            group.add_unlimited_dimension("step").unwrap();
        }
        let file = nczarr::append(path).unwrap();
        let group = file.group("model").unwrap();
        group.add_variable::<i16>("inner", &["step"]).unwrap();
        let outer = group.add_variable::<u16>("outer", &["time"]).unwrap();
        assert!(outer.dimensions()[0].is_unlimited());
    });
}

//! Fill values.

use crate::samples::in_both;

#[test]
fn unwritten_elements_are_the_fill_value() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.add_dimension("site", 4).unwrap();
        let var = file.add_variable::<i32>("count", &["site"]).unwrap();
        var.set_fill(-77).unwrap();
        var.put(&[5, 6], &[2..]).unwrap();
        let mut found = [0i32; 4];
        var.get_into(&mut found, ..).unwrap();
        assert_eq!(found, [-77, -77, 5, 6]);

        let var = file.variable("count").expect("it was defined");
        let attribute = var.attribute("_FillValue").expect("the fill value was set");
        assert_eq!(attribute.get::<i32>().unwrap(), -77);
        assert_eq!(var.get_fill::<i32>().unwrap(), Some(-77));
        // Numbers convert: another type is an error only if it cannot hold the value.
        assert_eq!(var.get_fill::<f32>().unwrap(), Some(-77.0));
        var.get_fill::<u8>().unwrap_err();
        var.get_fill::<String>().unwrap_err();
    });
}

#[test]
fn fill_values_change_until_data_exist() {
    let dir = tempfile::tempdir().unwrap();
    let file = nczarr::create(dir.path().join("more.nc")).unwrap();
    file.add_dimension("pair", 2).unwrap();
    let set = file.add_variable::<i32>("set", &["pair"]).unwrap();
    set.set_fill(9i32).unwrap();
    set.put_value(60, [1]).unwrap();
    assert_eq!(set.get_fill::<i32>().unwrap(), Some(9));
    assert_eq!(set.get_value::<i32>([0]).unwrap(), 9);
    assert_eq!(set.get_value::<i32>([1]).unwrap(), 60);

    let undefined = file.add_variable::<i32>("undefined", &["pair"]).unwrap();
    undefined.set_no_fill().unwrap();
    undefined.put_value(61, [1]).unwrap();
    assert_eq!(undefined.get_fill::<i32>().unwrap(), None);
    assert_eq!(undefined.get_value::<i32>([1]).unwrap(), 61);
    assert!(undefined.attribute("_FillValue").is_none());

    let changed = file.add_variable::<i32>("changed", &["pair"]).unwrap();
    changed.set_fill(2i32).unwrap();
    assert_eq!(changed.attribute("_FillValue").unwrap().get::<i32>().unwrap(), 2);
    changed.set_fill(3i32).unwrap();
    assert_eq!(changed.attribute("_FillValue").unwrap().get::<i32>().unwrap(), 3);
    changed.set_no_fill().unwrap();
    assert_eq!(changed.get_fill::<i32>().unwrap(), None);
    changed.put_value(62, [1]).unwrap();
    assert_eq!(changed.get_fill::<i32>().unwrap(), None);
    assert_eq!(changed.get_value::<i32>([1]).unwrap(), 62);
}

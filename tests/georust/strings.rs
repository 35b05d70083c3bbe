//! Variables of strings and characters.

use nczarr::NcType;

use crate::samples::in_both;

#[test]
fn strings_are_written_one_by_one() {
    in_both(|path| {
        let long = "a sentence that is longer than the others, to see where it goes";
        {
            let file = nczarr::create(path).unwrap();
            file.add_unlimited_dimension("line").unwrap();
            let var = file.add_variable_with_type("log", NcType::String, &["line"]).unwrap();
            var.put_string("cast off", 0).unwrap();
            var.put_string(long, [2]).unwrap();
            var.put_string("møre og romsdal, 63 % & 7 €", [3]).unwrap();
            let var = file.add_variable::<i32>("pages", &[]).unwrap();
            var.put_value(17i32, ()).unwrap();
        }
        let file = nczarr::open(path).unwrap();
        let var = file.variable("log").unwrap();
        assert_eq!(var.get_string([0]).unwrap(), "cast off");
        assert_eq!(var.get_string([1]).unwrap(), "");
        assert_eq!(var.get_string([2]).unwrap(), long);
        assert_eq!(var.get_string([3]).unwrap(), "møre og romsdal, 63 % & 7 €");
        let var = file.variable("pages").unwrap();
        var.get_string([1]).unwrap_err();
    });
}

#[test]
fn string_variables_are_defined() {
    in_both(|path| {
        {
            let file = nczarr::create(path).unwrap();
            file.add_string_variable("title", &[]).unwrap();
            let group = file.add_group("part").unwrap();
            group.add_string_variable("heading", &[]).unwrap();
        }
        let file = nczarr::open(path).unwrap();
        assert_eq!(file.variable("title").unwrap().nc_type(), NcType::String);
        assert_eq!(file.variable("part/heading").unwrap().nc_type(), NcType::String);
    });
}

#[test]
fn characters_are_written() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.add_dimension("letter", 2).unwrap();
        let var = file.add_variable_with_type("word", NcType::Char, &["letter"]).unwrap();
        assert_eq!(var.nc_type(), NcType::Char);
        let letters = [b'o', b'k'];
        var.put_elements(&letters, [..letters.len()]).unwrap();
        let found = var.get_elements::<u8>(0..2).unwrap();
        assert_eq!(letters.as_slice(), found);
    });
}

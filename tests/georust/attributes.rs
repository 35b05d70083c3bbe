//! Attributes: every type, lists, replacement.

use nczarr::{NcType, Values};

use crate::samples::{foreign, in_both, levels};

#[test]
fn attributes_are_listed() {
    let file = nczarr::open(foreign("nc4_atts")).unwrap();
    let text = file.attribute("c_text").expect("netCDF-C wrote it");
    assert_eq!(text.name(), "c_text");
    assert!(file.attributes().len() > 10);
    for attribute in file.attributes() {
        assert!(!attribute.values().is_empty());
    }

    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        let var = file.add_variable::<f32>("depth", &[]).unwrap();
        var.put_attribute("note", "below the sea").unwrap();
        assert_eq!(var.nc_type(), NcType::Float);
        assert_eq!(var.attributes().len(), 1);
        for attribute in var.attributes() {
            assert_eq!(attribute.get::<String>().unwrap(), "below the sea");
        }
    });
}

#[test]
fn an_attribute_is_replaced() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.put_attribute("version", "first").unwrap();
        assert_eq!(file.attribute("version").unwrap().values(), &Values::text("first"));
        file.put_attribute("level", "raw").unwrap();
        assert_eq!(file.attribute("level").unwrap().values(), &Values::text("raw"));
        file.put_attribute("version", 2u16).unwrap();
        assert_eq!(file.attribute("version").unwrap().values(), &Values::UShort(vec![2]));
        file.put_attribute("level", "raw").unwrap();
        assert_eq!(file.attribute("level").unwrap().text(), Some("raw"));
    });
}

#[test]
fn a_variable_has_names_and_units() {
    let dir = tempfile::tempdir().unwrap();
    let file = nczarr::open(levels(&dir)).unwrap();
    let salinity = file.variable("salinity").unwrap();
    for (dimension, name) in salinity.dimensions().iter().zip(["time", "level", "latitude", "longitude"]) {
        assert_eq!(dimension.name(), name);
    }
    let units = salinity.attribute("units").expect("it was written");
    assert_eq!(units.get::<String>().unwrap(), "g/kg");
}

#[test]
fn a_foreign_file_has_attributes() {
    let file = nczarr::open(foreign("nc4_atts")).unwrap();
    let cell = file.variable("cell").unwrap();
    let float = cell.attribute("a_float").expect("netCDF-C wrote it");
    assert_eq!(float.nc_type(), NcType::Float);
    assert!((float.get::<f32>().unwrap() - 0.1).abs() < 1e-6);
    let text = cell.attribute("c_utf8").expect("netCDF-C wrote it");
    assert_eq!(text.text(), Some("größe 日本 €"));
}

#[test]
fn attributes_have_every_type() {
    in_both(|path| {
        let utf8 = "Ærfugl på Grønøy 🦆";
        let list = vec!["ebb".to_owned(), "flow".to_owned()];
        {
            let file = nczarr::create(path).unwrap();
            file.put_attribute("byte", 5i8).unwrap();
            file.put_attribute("ubyte", 5u8).unwrap();
            file.put_attribute("short", 5i16).unwrap();
            file.put_attribute("ushort", 5u16).unwrap();
            file.put_attribute("int", 5i32).unwrap();
            file.put_attribute("uint", 5u32).unwrap();
            file.put_attribute("int64", 5i64).unwrap();
            file.put_attribute("uint64", 5u64).unwrap();
            file.put_attribute("float", 5.25f32).unwrap();
            file.put_attribute("double", 5.25f64).unwrap();
            file.put_attribute("text", "tides").unwrap();
            file.put_attribute("strings", list.clone()).unwrap();
            file.put_attribute("string_slice", list.as_slice()).unwrap();
            file.put_attribute("utf8", utf8).unwrap();
        }
        let file = nczarr::open(path).unwrap();
        let values = |name: &str| file.attribute(name).unwrap().into_values();
        assert_eq!(values("byte"), Values::Byte(vec![5]));
        assert_eq!(values("ubyte"), Values::UByte(vec![5]));
        assert_eq!(values("short"), Values::Short(vec![5]));
        assert_eq!(values("ushort"), Values::UShort(vec![5]));
        assert_eq!(values("int"), Values::Int(vec![5]));
        assert_eq!(values("uint"), Values::UInt(vec![5]));
        assert_eq!(values("int64"), Values::Int64(vec![5]));
        assert_eq!(values("uint64"), Values::UInt64(vec![5]));
        assert_eq!(values("float"), Values::Float(vec![5.25]));
        assert_eq!(values("double"), Values::Double(vec![5.25]));
        assert_eq!(values("text"), Values::text("tides"));
        for name in ["strings", "string_slice"] {
            assert_eq!(file.attribute(name).unwrap().get::<Vec<String>>().unwrap(), list);
        }
        assert_eq!(file.attribute("utf8").unwrap().text(), Some(utf8));
    });
}

#[test]
fn attributes_are_lists() {
    in_both(|path| {
        {
            let file = nczarr::create(path).unwrap();
            file.put_attribute("u8", vec![9u8, 8, 7]).unwrap();
            file.put_attribute("i8", vec![9i8, 8, 7]).unwrap();
            file.put_attribute("u16", vec![9u16, 8, 7]).unwrap();
            file.put_attribute("i16", vec![9i16, 8, 7]).unwrap();
            file.put_attribute("u32", vec![9u32, 8, 7]).unwrap();
            file.put_attribute("i32", vec![9i32, 8, 7]).unwrap();
            file.put_attribute("u64", vec![9u64, 8, 7]).unwrap();
            file.put_attribute("i64", vec![9i64, 8, 7]).unwrap();
            file.put_attribute("f32", vec![9.0f32, 8.0, 7.0]).unwrap();
            file.put_attribute("f64", vec![9.0f64, 8.0, 7.0]).unwrap();
        }
        let file = nczarr::open(path).unwrap();
        let mut found = 0;
        for attribute in file.attributes() {
            let values = attribute.values();
            match attribute.name() {
                "u8" => assert_eq!(values, &Values::UByte(vec![9, 8, 7])),
                "i8" => assert_eq!(values, &Values::Byte(vec![9, 8, 7])),
                "u16" => assert_eq!(values, &Values::UShort(vec![9, 8, 7])),
                "i16" => assert_eq!(values, &Values::Short(vec![9, 8, 7])),
                "u32" => assert_eq!(values, &Values::UInt(vec![9, 8, 7])),
                "i32" => assert_eq!(values, &Values::Int(vec![9, 8, 7])),
                "u64" => assert_eq!(values, &Values::UInt64(vec![9, 8, 7])),
                "i64" => assert_eq!(values, &Values::Int64(vec![9, 8, 7])),
                "f32" => assert_eq!(values, &Values::Float(vec![9.0, 8.0, 7.0])),
                "f64" => assert_eq!(values, &Values::Double(vec![9.0, 8.0, 7.0])),
                name => panic!("unexpected attribute {name}"),
            }
            found += 1;
        }
        assert_eq!(found, 10);
    });
}

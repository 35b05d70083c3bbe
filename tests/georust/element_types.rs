//! Types of elements, also user-defined ones.

use nczarr::NcType;
use nczarr::model::{EnumMember, TypeClass};

use crate::samples::{foreign, in_both};

#[test]
fn atomic_types_are_found_again() {
    in_both(|path| {
        {
            let file = nczarr::create(path).unwrap();
            file.add_variable::<i8>("i8", &[]).unwrap();
            file.add_variable::<u8>("u8", &[]).unwrap();
            file.add_variable::<i16>("i16", &[]).unwrap();
            file.add_variable::<u16>("u16", &[]).unwrap();
            file.add_variable::<i32>("i32", &[]).unwrap();
            file.add_variable::<u32>("u32", &[]).unwrap();
            file.add_variable::<i64>("i64", &[]).unwrap();
            file.add_variable::<u64>("u64", &[]).unwrap();
            file.add_variable::<f32>("f32", &[]).unwrap();
            file.add_variable::<f64>("f64", &[]).unwrap();
            file.add_variable::<String>("string", &[]).unwrap();
        }
        let file = nczarr::open(path).unwrap();
        assert_eq!(file.types().len(), 0);
        let root = file.root();
        assert_eq!(root.types().len(), 0);
        assert_eq!(file.variables().len(), 11);
        for var in file.variables() {
            let expected = match var.name().as_str() {
                "i8" => NcType::Byte,
                "u8" => NcType::UByte,
                "i16" => NcType::Short,
                "u16" => NcType::UShort,
                "i32" => NcType::Int,
                "u32" => NcType::UInt,
                "i64" => NcType::Int64,
                "u64" => NcType::UInt64,
                "f32" => NcType::Float,
                "f64" => NcType::Double,
                "string" => NcType::String,
                name => panic!("unexpected variable {name}"),
            };
            assert_eq!(var.nc_type(), expected);
        }
    });
}

#[test]
fn an_opaque_type_is_defined() {
    in_both(|path| {
        {
            let file = nczarr::create(path).unwrap();
            file.add_opaque("key", 3).unwrap();
            let group = file.add_group("inner").unwrap();
            group.add_opaque("key", 3).unwrap();
        }
        let file = nczarr::open(path).unwrap();
        for group in [file.root(), file.group("inner").unwrap()] {
            let types = group.types();
            assert_eq!(types.len(), 1);
            assert_eq!(types[0].name(), "key");
            assert_eq!(types[0].class().unwrap(), TypeClass::Opaque { size: 3 });
        }
    });
}

#[test]
fn a_vlen_type_is_defined() {
    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.add_vlen("track", NcType::UInt).unwrap();
        let types = file.types();
        assert_eq!(types.len(), 1);
        assert_eq!(types[0].class().unwrap(), TypeClass::Vlen { base: NcType::UInt });
        let group = file.add_group("inner").unwrap();
        group.add_vlen("path", NcType::Int).unwrap();
        let types = group.types();
        assert_eq!((types.len(), types[0].name().as_str()), (1, "path"));
        assert_eq!(types[0].class().unwrap(), TypeClass::Vlen { base: NcType::Int });
    });
}

fn members(list: &[(&str, i128)]) -> Vec<EnumMember> {
    list.iter().map(|&(name, value)| EnumMember { name: name.to_owned(), value }).collect()
}

#[test]
fn an_enum_is_defined() {
    #[derive(nczarr::NcType)]
    #[repr(i32)]
    #[allow(non_camel_case_types, dead_code)]
    enum sky {
        clear = 0,
        cloudy,
        fog,
    }

    #[derive(nczarr::NcType)]
    #[repr(i64)]
    #[allow(non_camel_case_types, dead_code)]
    enum tide {
        ebb = -40,
        flow = 1 << 40,
        slack = 0,
    }

    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.add_type_of::<sky>().unwrap();
        let types = file.types();
        assert_eq!((types.len(), types[0].name().as_str()), (1, "sky"));
        let expected = members(&[("clear", 0), ("cloudy", 1), ("fog", 2)]);
        assert_eq!(types[0].class().unwrap(), TypeClass::Enum { base: NcType::Int, members: expected });

        let group = file.add_group("inner").unwrap();
        group.add_type_of::<tide>().unwrap();
        let types = group.types();
        assert_eq!((types.len(), types[0].name().as_str()), (1, "tide"));
        let expected = members(&[
            ("ebb", tide::ebb as i64 as i128),
            ("flow", tide::flow as i64 as i128),
            ("slack", tide::slack as i64 as i128),
        ]);
        assert_eq!(types[0].class().unwrap(), TypeClass::Enum { base: NcType::Int64, members: expected });
    });
}

#[test]
fn a_compound_is_defined() {
    #[derive(nczarr::NcType)]
    #[repr(C)]
    #[nc(name = "sample")]
    struct Sample {
        flag: u8,
        offset: i8,
        depth: i16,
    }

    #[derive(nczarr::NcType)]
    #[repr(i32)]
    #[nc(name = "quality")]
    #[allow(dead_code)]
    enum Quality {
        #[nc(name = "good")]
        Good = 1,
        #[nc(name = "bad")]
        Bad = 4,
    }

    #[derive(nczarr::NcType)]
    #[repr(C)]
    #[nc(name = "record")]
    struct Record {
        quality: Quality,
        sample: Sample,
    }

    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.add_type_of::<Sample>().unwrap();
        file.add_type_of::<Quality>().unwrap();
        file.add_type_of::<Record>().unwrap();
        let types = file.types();
        let names: Vec<String> = types.iter().map(|ty| ty.name()).collect();
        assert_eq!(names, ["sample", "quality", "record"]);
        assert_eq!(types[0].size().unwrap(), Some(size_of::<Sample>()));
        let fields = types[0].fields().unwrap();
        let fields: Vec<_> = fields.iter().map(|field| (&*field.name, field.ty, field.offset)).collect();
        assert_eq!(
            fields,
            [("flag", NcType::UByte, 0), ("offset", NcType::Byte, 1), ("depth", NcType::Short, 2)]
        );
        assert_eq!(types[1].members().unwrap(), members(&[("good", 1), ("bad", 4)]));
        let inner: Vec<NcType> = types[2].fields().unwrap().iter().map(|field| field.ty).collect();
        assert_eq!(inner, [types[1].nc_type(), types[0].nc_type()]);
    });
}

#[test]
fn a_foreign_compound_is_read() {
    #[repr(C)]
    #[derive(nczarr::NcType, Copy, Clone, Debug, PartialEq)]
    #[nc(name = "point")]
    struct Point {
        x: f64,
        y: f64,
        id: i16,
        tag: [u8; 3],
    }

    let file = nczarr::open(foreign("nc4_ut_compound")).unwrap();
    let types = file.types();
    assert_eq!(types[0].name(), "point");
    let fields: Vec<_> = types[0].fields().unwrap().into_iter().map(|field| (field.name, field.ty)).collect();
    let names = ["x", "y", "id", "tag"].map(str::to_owned);
    let expected = [NcType::Double, NcType::Double, NcType::Short, NcType::Char];
    assert_eq!(fields, names.into_iter().zip(expected).collect::<Vec<_>>());

    let var = file.variable("p").unwrap();
    assert_eq!(var.nc_type(), types[0].nc_type());
    let values = var.get_elements::<Point>(..).unwrap();
    assert_eq!(values.len(), 3);
    assert_eq!(values[0], Point { x: 1.5, y: 2.5, id: 1, tag: *b"aaa" });
    assert_eq!(values[1], Point { x: -1e30, y: 4.0, id: -32768, tag: *b"b\0\0" });
}

#[test]
fn members_of_an_enum_are_written() {
    #[derive(nczarr::NcType, Debug, Copy, Clone, PartialEq, Eq)]
    #[repr(i8)]
    enum Lane {
        #[nc(name = "left")]
        Left = 1,
        #[nc(name = "middle")]
        Middle = 3,
        #[nc(name = "right")]
        Right = 7,
    }

    in_both(|path| {
        let lanes = [Lane::Left, Lane::Middle, Lane::Right].repeat(2);
        {
            let file = nczarr::create(path).unwrap();
            file.add_type_of::<Lane>().unwrap();
            file.add_dimension("x", 4).unwrap();
            file.add_dimension("y", 2).unwrap();
            let var = file.add_variable::<Lane>("lane", &["y", "x"]).unwrap();
            var.put_elements(&lanes, (..2, ..3)).unwrap();
        }
        let file = nczarr::open(path).unwrap();
        let var = file.variable("lane").unwrap();
        let found: Vec<Lane> = var.get_elements((..2, ..3)).unwrap();
        assert_eq!(lanes, found);
    });
}

#[test]
fn lists_are_written() {
    in_both(|path| {
        {
            let file = nczarr::create(path).unwrap();
            file.add_dimension("catch", 4).unwrap();
            let var = file.add_variable::<Vec<u8>>("sizes", &["catch"]).unwrap();
            let sizes = (3..12).collect::<Vec<u8>>();
            var.put_elements(&vec![sizes; 4], ..).unwrap();
        }
        let file = nczarr::open(path).unwrap();
        let var = file.variable("sizes").unwrap();
        let sizes = (3..12).collect::<Vec<u8>>();
        let found = var.get_elements::<Vec<u8>>(..).unwrap();
        assert_eq!(found.len(), 4);
        for list in &found {
            assert_eq!(&sizes, list);
        }
    });
}

/// The types of fields are defined with the type, so that no order is needed.
#[test]
fn a_type_defines_the_types_of_its_fields() {
    #[derive(nczarr::NcType)]
    #[repr(C)]
    struct Near {
        a: u8,
    }
    #[derive(nczarr::NcType)]
    #[repr(C)]
    struct Far {
        a: i8,
    }
    #[derive(nczarr::NcType)]
    #[repr(C)]
    struct Both {
        near: Near,
        far: Far,
    }

    in_both(|path| {
        let file = nczarr::create(path).unwrap();
        file.add_type_of::<Both>().unwrap();
        let names = |file: &nczarr::File| file.types().iter().map(|ty| ty.name()).collect::<Vec<_>>();
        assert_eq!(names(&file), ["Near", "Far", "Both"]);
        file.add_type_of::<Near>().unwrap();
        file.add_type_of::<Both>().unwrap();
        assert_eq!(names(&file).len(), 3);
    });
}

//! `derive(NcType)`: Rust structs and enums against trees of items, for any stored layout.

// The code of the macro compiles in crates that forbid `unsafe`.
#![forbid(unsafe_code)]

use std::path::Path;

use nczarr::model::{Item, TypeId};
use nczarr::nc_table::NcDispatch as _;
use nczarr::{ErrorKind, File, NcType, NcValue, Result, Variable};
use proptest::prelude::*;
use proptest::sample::select;

#[derive(NcType, Debug, Clone, Copy, PartialEq)]
#[repr(i16)]
#[nc(name = "level")]
enum Level {
    Low = -3,
    #[nc(name = "in the middle")]
    Mid = 7,
    High = 700,
}

#[derive(NcType, Debug, Clone, Copy, PartialEq)]
#[repr(C)]
struct Inner {
    e: u8,
    f: f32,
}

#[derive(NcType, Debug, Clone, PartialEq)]
#[repr(C)]
struct Sample {
    a: i32,
    b: f64,
    #[nc(name = "c of 3×2")]
    c: [[i16; 2]; 3],
    d: [Inner; 2],
    level: Level,
    h: u64,
}

/// A struct without padding: twelve bytes.
#[derive(NcType, Debug, Clone, Copy, PartialEq)]
#[repr(C)]
struct Dense {
    id: i32,
    at: [f32; 2],
}

/// A struct with bytes between and behind its fields.
#[derive(NcType, Debug, Clone, Copy, PartialEq)]
#[repr(C)]
struct Padded {
    flag: i8,
    x: f64,
    n: u16,
}

/// A struct with an enum, without padding.
#[derive(NcType, Debug, Clone, Copy, PartialEq)]
#[repr(C)]
struct Graded {
    n: i16,
    level: Level,
    list: [Level; 2],
}

const FORMATS: [&str; 3] = ["a.zarr#mode=nczarr,v2", "a.zarr#mode=nczarr,v3", "a.nc"];

fn url(folder: &Path, format: &str) -> String {
    format!("file://{}/{format}", folder.display())
}

/// Makes the dataset of a format with a dimension `x`, lets `fill` define and write, and opens the dataset.
fn stored(folder: &Path, format: &str, len: usize, fill: impl FnOnce(&File)) -> File {
    let url = url(folder, format);
    let (_, _) = (std::fs::remove_dir_all(folder.join("a.zarr")), std::fs::remove_file(folder.join("a.nc")));
    let file = nczarr::create(&url).unwrap();
    file.add_dimension("x", len as u64).unwrap();
    fill(&file);
    file.close().unwrap();
    nczarr::open(&url).unwrap()
}

const NUMBERS: [NcType; 10] = [
    NcType::Byte,
    NcType::Short,
    NcType::Int,
    NcType::Int64,
    NcType::UByte,
    NcType::UShort,
    NcType::UInt,
    NcType::UInt64,
    NcType::Float,
    NcType::Double,
];

/// Where and how the fields of a [`Sample`] are stored.
#[derive(Debug, Clone)]
struct StoredForm {
    order: Vec<usize>,
    inner_order: Vec<usize>,
    gaps: Vec<usize>,
    types: Vec<NcType>,
    /// The values of the three levels.
    levels: (NcType, [i128; 3]),
    /// A field that the struct lacks.
    extra: Option<NcType>,
    is_big_endian: bool,
    format: &'static str,
}

fn stored_forms() -> impl Strategy<Value = StoredForm> {
    let levels = select(vec![
        (NcType::Short, [-3, 7, 700]),
        (NcType::Short, [700, -3, 7]),
        (NcType::Byte, [1, 2, 3]),
        (NcType::UInt64, [i128::from(u64::MAX), 0, 9]),
        (NcType::Int, [-70_000, 7, 70_000]),
    ]);
    let extra = select(vec![None, None, Some(NcType::Double), Some(NcType::String)]);
    (
        Just((0..6).collect::<Vec<_>>()).prop_shuffle(),
        Just(vec![0, 1]).prop_shuffle(),
        proptest::collection::vec(0usize..5, 10),
        proptest::collection::vec(select(&NUMBERS[..]), 6),
        levels,
        extra,
        any::<bool>(),
        select(&FORMATS[..]),
    )
        .prop_map(|(order, inner_order, gaps, types, levels, extra, is_big_endian, format)| StoredForm {
            order,
            inner_order,
            gaps,
            types,
            levels,
            extra,
            is_big_endian,
            format,
        })
}

/// Defines a compound whose fields lie in order, with gaps.
fn compound(file: &File, name: &str, fields: &[(&str, NcType, &[u32])], gaps: &[usize]) -> TypeId {
    let model = file.model();
    let (mut end, mut placed) = (0, Vec::new());
    for ((name, ty, shape), gap) in fields.iter().zip(gaps.iter().cycle()) {
        let (size, _) = model.extent(*ty).unwrap();
        let offset = end + gap;
        end = offset + size * shape.iter().product::<u32>() as usize;
        placed.push((*name, offset, *ty, *shape));
    }
    let dataset = file.dataset();
    let ty = dataset.def_compound(file.root().id(), end + gaps[0], name).unwrap();
    for (name, offset, field, shape) in placed {
        dataset.insert_array_compound(ty, name, offset, field, shape).unwrap();
    }
    ty
}

impl StoredForm {
    fn define(&self, file: &File) -> Variable {
        let inner: [(&str, NcType, &[u32]); 2] = [("e", self.types[3], &[]), ("f", self.types[4], &[])];
        let inner: Vec<_> = self.inner_order.iter().map(|&at| inner[at]).collect();
        let inner = compound(file, "Inner", &inner, &self.gaps[7..]);
        let (base, values) = self.levels;
        let names = ["Low", "in the middle", "High"];
        let members: Vec<_> = names.into_iter().zip(values).collect();
        let level = file.add_enum("level", base, &members).unwrap().nc_type();
        let fields: [(&str, NcType, &[u32]); 6] = [
            ("a", self.types[0], &[]),
            ("b", self.types[1], &[]),
            ("c of 3×2", self.types[2], &[3, 2]),
            ("d", NcType::User(inner), &[2]),
            ("level", level, &[]),
            ("h", self.types[5], &[]),
        ];
        let mut fields: Vec<_> = self.order.iter().map(|&at| fields[at]).collect();
        if let Some(extra) = self.extra {
            fields.insert(self.gaps[6], ("extra", extra, &[2]));
        }
        let ty = compound(file, "Sample", &fields, &self.gaps);
        let v = file.add_variable_with_type("v", NcType::User(ty), &["x"]).unwrap();
        if self.is_big_endian {
            v.set_endian(nczarr::Endian::Big).unwrap();
        }
        v
    }

    /// Returns the tree of a sample in this form.
    fn item(&self, sample: &Sample) -> Item {
        let number = |at: usize, value: f64| match self.types[at] {
            NcType::Float => Item::Float(value as f32),
            NcType::Double => Item::Double(value),
            _ => Item::Int(value as i128),
        };
        let inner = |inner: &Inner| {
            let parts = [vec![number(3, inner.e.into())], vec![number(4, inner.f.into())]];
            Item::Compound(self.inner_order.iter().map(|&at| parts[at].clone()).collect())
        };
        let level = match sample.level {
            Level::Low => 0,
            Level::Mid => 1,
            Level::High => 2,
        };
        let parts = [
            vec![number(0, sample.a.into())],
            vec![number(1, sample.b)],
            sample.c.iter().flatten().map(|&c| number(2, c.into())).collect(),
            sample.d.iter().map(inner).collect(),
            vec![Item::Int(self.levels.1[level])],
            vec![number(5, sample.h as f64)],
        ];
        let mut parts: Vec<_> = self.order.iter().map(|&at| parts[at].clone()).collect();
        match self.extra {
            Some(NcType::String) => parts.insert(self.gaps[6], vec![Item::String("text".into()); 2]),
            Some(_) => parts.insert(self.gaps[6], vec![Item::Double(-1.0); 2]),
            None => {}
        }
        Item::Compound(parts)
    }
}

/// Samples whose numbers fit every number type.
fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let level = select(vec![Level::Low, Level::Mid, Level::High]);
    let one = (proptest::collection::vec(0u8..128, 13), level).prop_map(|(n, level)| Sample {
        a: n[0].into(),
        b: n[1].into(),
        c: std::array::from_fn(|row| [n[2 + 2 * row].into(), n[3 + 2 * row].into()]),
        d: [Inner { e: n[8], f: n[9].into() }, Inner { e: n[10], f: n[11].into() }],
        level,
        h: n[12].into(),
    });
    proptest::collection::vec(one, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn structs_are_the_trees_of_any_stored_form(form in stored_forms(), samples in samples()) {
        let folder = tempfile::tempdir().unwrap();
        let items: Vec<_> = samples.iter().map(|sample| form.item(sample)).collect();
        let file = stored(folder.path(), form.format, samples.len(), |file| {
            form.define(file).put_items(&items, ..).unwrap();
        });
        let v = file.variable("v").unwrap();
        prop_assert_eq!(&v.get_elements::<Sample>(..).unwrap(), &samples);
        prop_assert_eq!(&v.get_elements::<Sample>(1..).unwrap(), &samples[1..]);

        let file = stored(folder.path(), form.format, samples.len(), |file| {
            let written = form.define(file).put_elements(&samples, ..);
            match form.extra {
                None => written.unwrap(),
                Some(_) => assert_eq!(written.unwrap_err().kind(), ErrorKind::BadField),
            }
        });
        if form.extra.is_none() {
            prop_assert_eq!(&file.variable("v").unwrap().get_items(..).unwrap(), &items);
        }
    }
}

/// Writes values and reads them again, as Rust values and as trees.
fn round_trip<T: NcValue + Clone + PartialEq + std::fmt::Debug>(values: &[T], tree: &Item) {
    for format in FORMATS.into_iter().chain(["a.zarr#mode=zarr,v3"]) {
        let folder = tempfile::tempdir().unwrap();
        let url = url(folder.path(), format);
        let file = nczarr::create(&url).unwrap();
        file.add_dimension("x", values.len() as u64).unwrap();
        let v = match file.add_variable::<T>("v", &["x"]) {
            // Plain Zarr has only structs that are flat, and no enums.
            Err(error) if format.contains("mode=zarr") => {
                assert!(error.kind() == ErrorKind::BadType || error.kind() == ErrorKind::NotNc4, "{error}");
                continue;
            }
            made => made.unwrap(),
        };
        v.put_elements(values, ..).unwrap();
        file.close().unwrap();
        let file = nczarr::open(&url).unwrap();
        let v = file.variable("v").unwrap();
        assert_eq!(v.get_elements::<T>(..).unwrap(), values, "{format}");
        assert_eq!(v.get_elements::<T>(1).unwrap(), values[1..2], "{format}");
        assert_eq!(v.get_items(0).unwrap(), std::slice::from_ref(tree), "{format}");
    }
}

fn ints(values: &[i128]) -> Vec<Item> {
    values.iter().map(|&value| Item::Int(value)).collect()
}

#[test]
fn own_layouts_round_trip() {
    let dense = |id: i32| Dense { id, at: [id as f32, f32::NEG_INFINITY] };
    let tree = Item::Compound(vec![ints(&[-1]), vec![Item::Float(-1.0), Item::Float(f32::NEG_INFINITY)]]);
    round_trip(&[dense(-1), dense(i32::MAX), dense(5)], &tree);
    let padded = |n: u16| Padded { flag: -1, x: 0.5, n };
    let tree = Item::Compound(vec![ints(&[-1]), vec![Item::Double(0.5)], ints(&[65_535])]);
    round_trip(&[padded(65_535), padded(3)], &tree);
    let graded = |level| Graded { n: 1, level, list: [Level::Mid, level] };
    let tree = Item::Compound(vec![ints(&[1]), ints(&[700]), ints(&[7, 700])]);
    round_trip(&[graded(Level::High), graded(Level::Low)], &tree);
    round_trip(&[Level::High, Level::Low], &Item::Int(700));
    round_trip(&[1.5f32, f32::MAX], &Item::Float(1.5));
    round_trip(&["a".to_owned(), "b".to_owned()], &Item::String("a".into()));
    let list = |values: &[i128]| Item::Vlen(ints(values));
    round_trip(&[vec![1u16, 2], vec![]], &list(&[1, 2]));
    round_trip(&[vec![Level::Mid], vec![]], &list(&[7]));
}

#[test]
fn types_have_their_names_and_members() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let file = nczarr::create(url(folder.path(), FORMATS[1]))?;
    let graded = file.add_type_of::<Graded>()?;
    assert_eq!((graded.name().as_str(), graded.size()?), ("Graded", Some(size_of::<Graded>())));
    let level = file.user_type("level")?;
    assert_eq!((level.base()?, level.member_of(7)?.as_deref()), (Some(NcType::Short), Some("in the middle")));
    assert_eq!(graded.field("list")?.ty, level.nc_type());
    assert_eq!(file.add_type_of::<Graded>()?.nc_type(), graded.nc_type(), "types are defined once");
    assert_eq!(file.types().len(), 2);
    for error in [
        file.add_type_of::<f32>().map(drop).unwrap_err(),
        file.add_variable::<[f32; 2]>("v", &[]).map(drop).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::BadType);
    }
    assert_eq!(file.add_variable::<[Vec<f32>; 0]>("v", &[]).map(drop).unwrap_err().kind(), ErrorKind::Inval);
    Ok(())
}

/// The stored enum has a value that the Rust enum lacks.
#[test]
fn unknown_enum_values_are_errors() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let file = stored(folder.path(), format, 3, |file| {
            let levels = file.add_variable::<Level>("levels", &["x"]).unwrap();
            levels.put_raw([7i16, 8, -3].map(i16::to_ne_bytes).as_flattened(), ..).unwrap();
            let graded = file.add_variable::<Graded>("graded", &["x"]).unwrap();
            graded.put_raw([1i16, 7, 7, 8].map(i16::to_ne_bytes).as_flattened(), 1).unwrap();
        });
        let levels = file.variable("levels").unwrap();
        assert_eq!(levels.get_elements::<Level>(0).unwrap(), [Level::Mid]);
        let error = levels.get_elements::<Level>(..).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Range, "{error}");
        for part in ["levels", "element 1", "\"level\"", "value 8"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        let graded = file.variable("graded").unwrap();
        let error = graded.get_elements::<Graded>(1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Range, "{error}");
        assert!(error.to_string().contains("list") && error.to_string().contains("value 8"), "{error}");
        // The fill value 0 is not a member either.
        assert_eq!(graded.get_elements::<Graded>(0).unwrap_err().kind(), ErrorKind::Range);
    }
}

/// The Rust enum has a member that the stored enum lacks. Nothing is written.
#[test]
fn a_member_that_the_stored_enum_lacks_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = stored(folder.path(), FORMATS[0], 2, |file| {
        let ty = file.add_enum("level", NcType::Short, &[("Low", -3), ("High", 7), ("none", 0)]).unwrap();
        let v = file.add_variable_with_type("v", ty.nc_type(), &["x"]).unwrap();
        let error = v.put_elements(&[Level::Low, Level::Mid], ..).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Range);
        assert!(error.to_string().contains("in the middle"), "{error}");
        assert_eq!(v.get_items(..).unwrap(), [Item::Int(0), Item::Int(0)]);
        v.put_elements(&[Level::Low, Level::High], ..).unwrap();
    });
    let v = file.variable("v").unwrap();
    assert_eq!(v.get_values::<i16>(..).unwrap_err().kind(), ErrorKind::BadType);
    assert_eq!(v.get_elements::<i16>(..).unwrap(), [-3, 7], "the stored type decides the values");
    assert_eq!(v.get_elements::<Level>(..).unwrap(), [Level::Low, Level::High]);
}

#[test]
fn values_that_do_not_fit_are_errors() {
    #[derive(NcType, Debug, PartialEq)]
    #[repr(C)]
    #[nc(name = "Dense")]
    struct Wide {
        id: i64,
        at: [f64; 2],
    }
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let wide = |id| Wide { id, at: [0.1, 1e300] };
        let file = stored(folder.path(), format, 2, |file| {
            file.add_variable::<Wide>("wide", &["x"]).unwrap().put_elements(&[wide(1 << 40)], 0).unwrap();
            let dense = file.add_group("g").unwrap().add_variable::<Dense>("dense", &["x"]).unwrap();
            for (value, field) in [(wide(1 << 40), "id"), (wide(0), "at")] {
                let fits = Wide { id: 7, at: [1.0, 2.0] };
                let error = dense.put_elements(&[fits, value], ..).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Range, "{error}");
                assert!(
                    error.to_string().contains(field) && error.to_string().contains("element 1"),
                    "{error}"
                );
            }
            let nothing = Dense { id: 0, at: [0.0; 2] };
            assert_eq!(dense.get_elements::<Dense>(..).unwrap(), [nothing; 2], "nothing was written");
            dense.put_elements(&[Wide { id: -8, at: [0.5, f64::INFINITY] }], 1).unwrap();
        });
        assert_eq!(
            file.variable("wide").unwrap().get_elements::<Dense>(0).unwrap_err().kind(),
            ErrorKind::Range
        );
        let dense = file.variable("g/dense").unwrap();
        assert_eq!(dense.get_elements::<Dense>(1).unwrap(), [Dense { id: -8, at: [0.5, f32::INFINITY] }]);
        assert_eq!(dense.get_elements::<Wide>(1).unwrap(), [Wide { id: -8, at: [0.5, f64::INFINITY] }]);
    }
}

#[test]
fn other_types_are_errors() {
    #[derive(NcType, Debug, PartialEq)]
    #[repr(C)]
    struct Turned {
        c: [[i16; 3]; 2],
    }
    #[derive(NcType, Debug, PartialEq)]
    #[repr(C)]
    struct Level2 {
        a: Level,
    }
    #[derive(NcType, Debug, PartialEq)]
    #[repr(C)]
    struct Text {
        a: String,
    }
    let folder = tempfile::tempdir().unwrap();
    let file = stored(folder.path(), FORMATS[1], 2, |file| {
        let fields: [(&str, NcType, &[u32]); 3] =
            [("a", NcType::Int, &[]), ("c", NcType::Short, &[3, 2]), ("t", NcType::Char, &[2])];
        let ty = file.add_compound("c", &fields).unwrap();
        file.add_variable_with_type("v", ty.nc_type(), &["x"]).unwrap();
        file.add_variable::<f32>("n", &["x"]).unwrap();
        file.add_string_variable("s", &["x"]).unwrap();
    });
    let [v, n, s] = ["v", "n", "s"].map(|name| file.variable(name).unwrap());
    let kind = |error: nczarr::Error| error.kind();
    assert_eq!(v.get_elements::<Turned>(..).map_err(kind), Err(ErrorKind::BadType));
    assert_eq!(v.get_elements::<Level2>(..).map_err(kind), Err(ErrorKind::BadType));
    assert_eq!(v.get_elements::<Text>(..).map_err(kind), Err(ErrorKind::BadType));
    assert_eq!(v.get_elements::<Dense>(..).map_err(kind), Err(ErrorKind::BadField));
    assert_eq!(v.get_elements::<i32>(..).map_err(kind), Err(ErrorKind::BadType));
    assert_eq!(v.get_elements::<Level>(..).map_err(kind), Err(ErrorKind::BadType));
    assert_eq!(n.get_elements::<Dense>(..).map_err(kind), Err(ErrorKind::BadType));
    assert_eq!(n.get_elements::<Level>(..).map_err(kind), Err(ErrorKind::BadType));
    assert_eq!(n.get_elements::<Vec<f32>>(..).map_err(kind), Err(ErrorKind::BadType));
    assert_eq!(s.get_elements::<f32>(..).map_err(kind), Err(ErrorKind::BadType));
    assert_eq!(n.get_elements::<f64>(0..9).map_err(kind), Err(ErrorKind::Edge));
    assert_eq!(v.get_elements::<Turned>(0..9).map_err(kind), Err(ErrorKind::BadType));
    assert_eq!(s.get_elements::<String>(..).unwrap(), [String::new(), String::new()]);
}

/// Characters are bytes of text.
#[test]
fn characters_are_bytes() {
    #[derive(NcType, Debug, PartialEq)]
    #[repr(C)]
    struct Code {
        text: [u8; 3],
    }
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let file = stored(folder.path(), format, 2, |file| {
            let ty = file.add_compound("Code", &[("text", NcType::Char, &[3])]).unwrap();
            let v = file.add_variable_with_type("v", ty.nc_type(), &["x"]).unwrap();
            v.put_elements(&[Code { text: *b"abc" }], 1).unwrap();
        });
        let v = file.variable("v").unwrap();
        assert_eq!(v.get_elements::<Code>(..).unwrap(), [Code { text: [0; 3] }, Code { text: *b"abc" }]);
        let chars = b"abc".map(Item::Char).to_vec();
        assert_eq!(v.get_items(1).unwrap(), [Item::Compound(vec![chars])]);
    }
}

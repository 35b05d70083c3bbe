//! User-defined types through the handles, by description and by structs, in every format that supports them.

use nczarr::model::{Item, TypeClass};
use nczarr::{ErrorKind, NcType, Result};

#[derive(NcType, Debug, Clone, PartialEq)]
#[repr(C)]
#[nc(name = "point")]
pub struct Point {
    x: f64,
    y: [f32; 2],
}

#[derive(NcType, Debug, Clone, PartialEq)]
#[repr(C)]
#[nc(name = "note")]
struct Note {
    id: u16,
    text: String,
    tags: [String; 2],
    row: Vec<i32>,
    at: Point,
    path: Vec<Point>,
    table: Vec<Vec<i64>>,
}

/// The struct lacks some fields of the stored type and orders them differently.
#[derive(NcType, Debug, PartialEq)]
#[repr(C)]
struct Part {
    text: String,
    id: i64,
    at: HalfPoint,
}

/// A nested struct that lacks a field.
#[derive(NcType, Debug, PartialEq)]
#[repr(C)]
struct HalfPoint {
    x: f32,
}

fn note(id: u16) -> Note {
    let point = |x| Point { x, y: [1.5, -2.0] };
    Note {
        id,
        text: "some text".into(),
        tags: ["a".into(), String::new()],
        row: (0..id.into()).collect(),
        at: point(0.25),
        path: vec![point(1.0); usize::from(id)],
        table: vec![vec![1, 2], vec![], vec![3]],
    }
}

const FORMATS: [&str; 2] = ["#mode=nczarr,v2", "#mode=nczarr,v3"];

#[test]
fn structs_are_elements() -> Result<()> {
    for format in FORMATS {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("file://{}{format}", dir.path().join("a").display());
        let file = nczarr::create(&url)?;
        file.add_dimension("x", 3)?;
        let ty = file.add_type_of::<Note>()?;
        assert_eq!(file.add_type_of::<Note>()?.nc_type(), ty.nc_type(), "it is there already");
        let notes = file.add_variable::<Note>("notes", &["x"])?;
        assert_eq!(notes.nc_type(), ty.nc_type());
        notes.put_elements(&[note(3), note(0)], 1..)?;
        file.close()?;
        let file = nczarr::open(&url)?;
        let notes = file.variable("notes")?;
        assert_eq!(notes.get_elements::<Note>(1..)?, [note(3), note(0)]);
        let nothing = Note {
            id: 0,
            text: String::new(),
            tags: Default::default(),
            row: vec![],
            at: Point { x: 0.0, y: [0.0; 2] },
            path: vec![],
            table: vec![],
        };
        assert_eq!(notes.get_elements::<Note>(0)?, [nothing]);
        assert_eq!(
            notes.get_elements::<Part>(1)?,
            [Part { text: "some text".into(), id: 3, at: HalfPoint { x: 0.25 } }]
        );
        assert_eq!(notes.get_elements::<Point>(..).unwrap_err().kind(), ErrorKind::BadField);
        assert_eq!(notes.get_raw(&mut [0; 8], 0).unwrap_err().kind(), ErrorKind::BadType);
        let ty = file.user_type("note")?;
        assert_eq!(
            ty.fields()?.iter().map(|field| &*field.name).collect::<Vec<_>>(),
            ["id", "text", "tags", "row", "at", "path", "table"]
        );
        assert_eq!((ty.field("tags")?.shape, ty.field("text")?.offset), (vec![2], 8));
        assert_eq!((ty.size()?, file.user_type("point")?.size()?), (None, Some(16)));
        assert_eq!(ty.field("id ").unwrap_err().kind(), ErrorKind::BadField);
        assert_eq!(file.user_type("int_vlen")?.base()?, Some(NcType::Int));
        assert_eq!(file.types().len(), 6, "{:?}", file.types());
    }
    Ok(())
}

#[test]
fn types_by_description() -> Result<()> {
    for format in FORMATS {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("file://{}{format}", dir.path().join("a").display());
        let file = nczarr::create(&url)?;
        let group = file.add_group("g")?;
        let level = file.add_enum("level", NcType::Byte, &[("low", -1), ("high", 7)])?;
        assert_eq!(file.add_enum("bad", NcType::Byte, &[("x", 200)]).unwrap_err().kind(), ErrorKind::Range);
        let blob = group.add_opaque("blob", 3)?;
        let blobs = group.add_vlen("blobs", blob.nc_type())?;
        let levels = group.add_variable_with_type("levels", level.nc_type(), &[])?;
        levels.put_items(&[Item::Int(7)], ())?;
        assert_eq!(levels.put_items(&[Item::Double(7.0)], ()).unwrap_err().kind(), ErrorKind::BadType);
        let v = group.add_variable_with_type("v", blobs.nc_type(), &[])?;
        let items = [Item::Vlen(vec![Item::Opaque(vec![1, 2, 3]), Item::Opaque(vec![4, 5, 6])])];
        v.put_items(&items, ())?;
        file.close()?;
        let file = nczarr::open(&url)?;
        let group = file.group("g")?;
        assert_eq!(group.variable("v")?.get_items(())?, items);
        assert_eq!(group.variable("levels")?.get_items(())?, [Item::Int(7)]);
        let level = group.user_type("level")?;
        assert_eq!(
            (level.group().full_name(), level.member_of(7)?),
            ("/".to_owned(), Some("high".to_owned()))
        );
        assert_eq!((level.members()?.len(), level.base()?, level.size()?), (2, Some(NcType::Byte), Some(1)));
        assert!(matches!(group.user_type("blob")?.class()?, TypeClass::Opaque { size: 3 }));
        assert_eq!(file.user_type("blob").unwrap_err().kind(), ErrorKind::BadType);
    }
    Ok(())
}

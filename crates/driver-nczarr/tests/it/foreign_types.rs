//! Types of plain Zarr without a netCDF atomic type: read, written, and stored again unchanged.

use nczarr_dispatch::{Dataset, MemMut, MemRef, Options};
use nczarr_model::{
    Defined, Edit, ErrorKind, Field, GroupId, NcString, NcType, Result, Slab, TypeClass, TypeId, Values,
    VarId,
};
use nczarr_nc_table::NcDispatch;
use nczarr_runtime::OutBuf;
use proptest::prelude::*;

use crate::bad_documents::mutate;
use crate::support::{
    TestMap, create, get, get_text, open, open_rw, open_with, put, put_text, try_get, try_put, var,
};

const ROOT: GroupId = GroupId::ROOT;
const GROUP: (&str, &str) = (".zgroup", r#"{"zarr_format": 2}"#);

fn zarray(dtype: &str, fill: &str) -> String {
    format!(
        r#"{{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": {dtype}, "fill_value": {fill}, "order": "C", "filters": null, "compressor": null}}"#
    )
}

fn read(dataset: &dyn Dataset, id: VarId, start: u64, count: u64) -> Result<Vec<u8>> {
    let model = dataset.model().snapshot();
    let ty = model.var(id)?.xtype;
    let mut bytes = vec![0xaa; count as usize * model.type_size(ty)?.unwrap()];
    dataset.get_vara(
        id,
        &[start],
        &[count],
        MemMut::Fixed { ty, out: &mut OutBuf::from_slice(&mut bytes) },
    )?;
    Ok(bytes)
}

fn write(dataset: &dyn Dataset, id: VarId, start: u64, count: u64, bytes: &[u8]) -> Result<()> {
    let ty = dataset.model().snapshot().var(id)?.xtype;
    dataset.put_vara(id, &[start], &[count], MemRef::Fixed { ty, bytes })
}

/// Returns the path and the class of a user-defined type.
fn class(dataset: &dyn Dataset, id: VarId) -> (String, TypeClass) {
    let model = dataset.model().snapshot();
    let NcType::User(ty) = model.var(id).unwrap().xtype else { panic!("an atomic type") };
    let ty = model.user_type(ty).unwrap();
    (model.fqn(ty.group, &ty.name).unwrap(), ty.class.clone())
}

fn field(name: &str, offset: usize, ty: NcType, shape: &[u32]) -> Field {
    Field { name: name.to_owned(), offset, ty, shape: shape.to_vec() }
}

#[test]
fn half_floats() {
    let map = TestMap::new(&[
        GROUP,
        ("h/.zarray", &zarray("\">f2\"", "\"NaN\"")),
        ("b/.zarray", &zarray("\"bfloat16\"", "0.1")),
    ]);
    map.put("h/0", &[0x3c, 0x00, 0xfc, 0x00]);
    let d = open_rw(&map);
    assert_eq!(get(&*d, var(&*d, "h"))[..2], [1.0, f64::NEG_INFINITY]);
    assert!(get(&*d, var(&*d, "h"))[2].is_nan());
    assert_eq!(get(&*d, var(&*d, "b")), [0.100_097_656_25; 4]);
    assert_eq!(d.model().snapshot().var(var(&*d, "h")).unwrap().xtype, NcType::Float);
    put(&*d, var(&*d, "h"), &[2], &[2], &[0.1, 65504.0]);
    assert_eq!(try_put(&*d, var(&*d, "h"), &[1], &[1], &[1e6]).unwrap_err().kind(), ErrorKind::Range);
    d.close().unwrap();
    assert_eq!(map.objects()["h/0"], [0x3c, 0x00, 0x7c, 0x00]);
    assert_eq!(map.objects()["h/1"], [0x2e, 0x66, 0x7b, 0xff]);
    assert_eq!(map.json("h/.zarray")["dtype"], ">f2");
}

#[test]
fn times_are_text() {
    let map = TestMap::new(&[
        GROUP,
        ("t/.zarray", &zarray("\">M8[s]\"", "981173106")),
        ("d/.zarray", &zarray("\"<m8[25us]\"", "-9223372036854775808")),
        ("g/.zarray", &zarray("\"<M8\"", "5")),
    ]);
    map.put("d/0", &[1_i64.to_le_bytes(), (-2_i64).to_le_bytes()].concat());
    let d = open_rw(&map);
    let find = |name| var(&*d, name);
    assert_eq!(get_text(&*d, find("t")), ["2001-02-03T04:05:06"; 4]);
    assert_eq!(get_text(&*d, find("d")), ["25us", "-50us", "NaT", "NaT"]);
    assert_eq!(get_text(&*d, find("g")), ["5"; 4]);
    put_text(&*d, find("t"), &[0], &[2], &["1969-12-31T23:59:59", "NaT"]).unwrap();
    put_text(&*d, find("d"), &[3], &[1], &["1s"]).unwrap();
    for wrong in ["yesterday", "2001-02-03T04:05:06.5", "1"] {
        let error = put_text(&*d, find("t"), &[2], &[1], &[wrong]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Inval, "{error}");
        assert!(error.to_string().contains("/t[2]"), "{error}");
    }
    d.close().unwrap();
    assert_eq!(map.objects()["t/0"], [(-1_i64).to_be_bytes(), i64::MIN.to_be_bytes()].concat());
    assert_eq!(map.objects()["d/1"], [i64::MIN.to_le_bytes(), 40_000_i64.to_le_bytes()].concat());
    assert!(!map.objects().contains_key("t/1"));
    assert_eq!(map.json("t/.zarray")["fill_value"], 981_173_106);
}

#[test]
fn times_are_counts_if_asked_for() {
    let map = TestMap::new(&[
        GROUP,
        ("t/.zarray", &zarray("\"<M8[ms]\"", "7")),
        ("t/.zattrs", r#"{"units": "nonsense", "other": 1}"#),
        ("d/.zarray", &zarray("\">m8[h]\"", "0")),
        ("m/.zarray", &zarray("\"<M8[M]\"", "1")),
    ]);
    let open = |modes: &str, writable| open_with(&map, modes, writable, &Options::default());
    let d = open("zarr&datetime=cf&mode=zarr", false).unwrap();
    let find = |name: &str| d.model().snapshot().var(var(&*d, name)).unwrap().clone();
    assert_eq!(get(&*d, var(&*d, "t")), [7.0; 4]);
    assert_eq!(
        (find("t").xtype, find("d").xtype, find("m").xtype),
        (NcType::Int64, NcType::Int64, NcType::String)
    );
    assert_eq!(find("t").atts["units"].as_text(), Some("milliseconds since 1970-01-01 00:00:00"));
    assert_eq!(find("d").atts["units"].as_text(), Some("hours"));
    // Months vary in length, so there are no units for a count.
    assert_eq!((find("m").atts.len(), get_text(&*d, var(&*d, "m"))), (0, vec!["1970-02".to_owned(); 4]));
    assert_eq!(open("zarr&datetime=cf&mode=zarr", true).unwrap_err().kind(), ErrorKind::Inval);
    assert_eq!(open("zarr&datetime=utc&mode=zarr", false).unwrap_err().kind(), ErrorKind::Inval);
}

#[test]
fn complex_numbers_and_bytes() {
    let map = TestMap::new(&[
        GROUP,
        ("c/.zarray", &zarray("\">c8\"", "[1.5, \"NaN\"]")),
        ("e/.zarray", &zarray("\"<c16\"", "null")),
        ("f/.zarray", &zarray("\">c8\"", "0")),
        ("v/.zarray", &zarray("\"|V3\"", "\"AQID\"")),
        ("w/.zarray", &zarray("\"|V3\"", "null")),
    ]);
    map.put("c/0", &[1.0_f32, -2.0, 0.5, 4.0].map(f32::to_be_bytes).concat());
    let d = open_rw(&map);
    let find = |name| var(&*d, name);
    let native = |values: &[f32]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
    assert_eq!(read(&*d, find("c"), 0, 3).unwrap(), native(&[1.0, -2.0, 0.5, 4.0, 1.5, f32::NAN]));
    assert_eq!(read(&*d, find("e"), 0, 4).unwrap(), [0; 64]);
    assert_eq!(read(&*d, find("v"), 1, 2).unwrap(), [1, 2, 3, 1, 2, 3]);
    let fields = vec![field("r", 0, NcType::Float, &[]), field("i", 4, NcType::Float, &[])];
    assert_eq!(class(&*d, find("c")), ("/_Complex64_t".into(), TypeClass::Compound { size: 8, fields }));
    assert_eq!(class(&*d, find("e")).0, "/_Complex128_t");
    assert_eq!(class(&*d, find("v")), ("/_Opaque3_t".into(), TypeClass::Opaque { size: 3 }));
    let model = d.model().snapshot();
    assert_eq!(model.var(find("v")).unwrap().xtype, model.var(find("w")).unwrap().xtype);
    assert_eq!(model.user_types().len(), 3);
    // `inq_type` is the call of the C interface.
    let NcType::User(ty) = model.var(find("c")).unwrap().xtype else { panic!() };
    assert_eq!(d.inq_type(NcType::User(ty)).unwrap(), ("_Complex64_t".to_owned(), Some(8)));
    assert_eq!(try_get(&*d, find("c")).unwrap_err().kind(), ErrorKind::BadType);
    write(&*d, find("c"), 3, 1, &native(&[9.0, 8.0])).unwrap();
    write(&*d, find("v"), 0, 1, b"abc").unwrap();
    let before = map.text("c/.zarray");
    d.close().unwrap();
    assert_eq!(map.text("c/.zarray"), before);
    assert_eq!(map.objects()["c/1"], [1.5, f32::NAN, 9.0, 8.0].map(f32::to_be_bytes).concat());
    assert_eq!(map.objects()["v/0"], b"abc\x01\x02\x03");
}

const RECORD: &str = r#"[["a", "<i4"], ["t", "|S3"], ["", "|V2"], ["p", [["x", ">f2"], ["ok", "|b1"]], [2]], ["u", ">U2"], ["c", "|S1"], ["z", ">c8"]]"#;

#[test]
fn records() {
    let stored = [
        &7_i32.to_le_bytes()[..],
        b"ab\0",
        b"??",
        &[0x3c, 0x00, 1, 0xc0, 0x00, 0],
        &[0, 0, 0, 65, 0, 0, 0, 0],
        b"c",
        &1.0_f32.to_be_bytes(),
        &2.0_f32.to_be_bytes(),
    ]
    .concat();
    let held = [
        &7_i32.to_ne_bytes()[..],
        b"ab\0",
        b"??",
        &1.0_f32.to_ne_bytes(),
        &[1],
        &(-2.0_f32).to_ne_bytes(),
        &[0],
        &65_u32.to_ne_bytes(),
        &0_u32.to_ne_bytes(),
        b"c",
        &1.0_f32.to_ne_bytes(),
        &2.0_f32.to_ne_bytes(),
    ]
    .concat();
    let map = TestMap::new(&[GROUP, ("g/.zgroup", GROUP.1), ("g/rec/.zarray", &zarray(RECORD, "0"))]);
    map.put("g/rec/1", &stored.repeat(2));
    let d = open_rw(&map);
    let id = var(&*d, "g/rec");
    assert_eq!(read(&*d, id, 1, 2).unwrap(), [vec![0; held.len()], held.clone()].concat());
    let (name, outer) = class(&*d, id);
    assert_eq!(name, "/g/rec_t");
    let TypeClass::Compound { size, fields } = outer else { panic!("{outer:?}") };
    assert_eq!((size, fields.len()), (held.len(), 6));
    let model = d.model().snapshot();
    let inner = |index: usize| {
        let NcType::User(ty) = fields[index].ty else { panic!("{:?}", fields[index]) };
        model.user_type(ty).unwrap().clone()
    };
    assert_eq!(fields[0], field("a", 0, NcType::Int, &[]));
    assert_eq!(fields[1], field("t", 4, NcType::Char, &[3]));
    assert_eq!((fields[2].offset, &*fields[2].shape, &*inner(2).name), (9, &[2][..], "rec_p_t"));
    let parts = vec![field("x", 0, NcType::Float, &[]), field("ok", 4, NcType::UByte, &[])];
    assert_eq!(inner(2).class, TypeClass::Compound { size: 5, fields: parts });
    assert_eq!(fields[3], field("u", 19, NcType::UInt, &[2]));
    assert_eq!(fields[4], field("c", 27, NcType::Char, &[]));
    assert_eq!((fields[5].offset, &*inner(5).name), (28, "_Complex64_t"));
    write(&*d, id, 0, 1, &held).unwrap();
    let before = map.text("g/rec/.zarray");
    d.put_att(ROOT, None, "more", NcType::Int, &Values::Int(vec![1])).unwrap();
    d.close().unwrap();
    assert_eq!(map.text("g/rec/.zarray"), before);
    assert_eq!(map.objects()["g/rec/0"], [stored.clone(), vec![0; stored.len()]].concat());
    // With another fill value the document is rewritten, and its type stays.
    let map = TestMap::new(&[GROUP, ("rec/.zarray", &zarray(RECORD, "0"))]);
    let d = open_rw(&map);
    let id = var(&*d, "rec");
    let NcType::User(ty) = d.model().snapshot().var(id).unwrap().xtype else { panic!() };
    d.def_var_fill(id, false, Some(&Values::User(ty, held.clone()))).unwrap();
    d.close().unwrap();
    let dtype: serde_json::Value = serde_json::from_str(RECORD).unwrap();
    assert_eq!(map.json("rec/.zarray")["dtype"], dtype);
    assert!(
        !map.objects().contains_key("rec/.zattrs") || map.json("rec/.zattrs").get("_FillValue").is_none()
    );
    let d = open(&map).unwrap();
    assert_eq!(read(&*d, var(&*d, "rec"), 3, 1).unwrap(), held);
}

#[test]
fn names_of_types_are_free() {
    let map = TestMap::new(&[
        GROUP,
        ("v/.zarray", &zarray(r#"[["a","<i4"]]"#, "null")),
        ("v_t/.zarray", &zarray("\"<i4\"", "1")),
        ("_Complex64_t/.zgroup", GROUP.1),
        ("c/.zarray", &zarray("\"<c8\"", "null")),
    ]);
    let d = open(&map).unwrap();
    assert_eq!(class(&*d, var(&*d, "v")).0, "/v_t_");
    assert_eq!(class(&*d, var(&*d, "c")).0, "/_Complex64_t_");
    assert_eq!(get(&*d, var(&*d, "v_t")), [1.0; 4]);
}

#[test]
fn records_that_cannot_be_read() {
    for dtype in [
        r#"[]"#,
        r#"[["a"]]"#,
        r#"[["a","<i4",[0]]]"#,
        r#"[["a","<i4",[-1]]]"#,
        r#"[["a","<i4",[4294967296]]]"#,
        r#"[["a","<i4",[65536,65536,65536,65536,65536]]]"#,
        r#"[["a","|V1000000000",[4]]]"#,
        r#"[["a",[["b","<i4"],["c","<i2"]],[100000]]]"#,
        r#"[["a","<i4"],["a","<i2"]]"#,
        r#"[["","<i4"]]"#,
        r#"[["","|V4"]]"#,
        r#"[["a","|O"]]"#,
        r#"[["a","int4"]]"#,
        r#"[["a",5]]"#,
        r#"[["",[["b","<i4"]]]]"#,
        r#"[5]"#,
    ] {
        let map = TestMap::new(&[
            GROUP,
            ("v/.zarray", &zarray(dtype, "null")),
            ("w/.zarray", &zarray("\"<i4\"", "1")),
        ]);
        let d = open(&map).unwrap();
        let error = try_get(&*d, var(&*d, "v")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadType, "{dtype}: {error}");
        assert!(error.to_string().contains(dtype), "{dtype}: {error}");
        assert_eq!(get(&*d, var(&*d, "w")), [1.0; 4]);
    }
}

fn defined(dataset: &dyn Dataset, edit: &Edit<'_>) -> TypeId {
    match dataset.edit(edit).unwrap() {
        Defined::Type(ty) => ty,
        other => panic!("{other:?}"),
    }
}

#[test]
fn new_variables_of_user_defined_types() {
    let map = TestMap::new(&[]);
    let d = create(&map, "zarr");
    let x = d.def_dim(ROOT, "x", Some(4)).unwrap();
    let point = defined(&*d, &Edit::DefCompound { group: ROOT, name: "point", size: 8 });
    for (name, offset) in [("x", 0), ("y", 4)] {
        d.edit(&Edit::InsertField { ty: point, name, offset, field: NcType::Float, shape: &[] }).unwrap();
    }
    let blob = defined(&*d, &Edit::DefOpaque { group: ROOT, name: "blob", size: 5 });
    let outer = defined(&*d, &Edit::DefCompound { group: ROOT, name: "outer", size: 32 });
    for (name, offset, field, shape) in [
        ("b", 27, NcType::User(blob), &[][..]),
        ("a", 0, NcType::Byte, &[]),
        ("p", 4, NcType::User(point), &[2]),
        ("s", 20, NcType::Char, &[2, 3]),
    ] {
        d.edit(&Edit::InsertField { ty: outer, name, offset, field, shape }).unwrap();
    }
    let complex = defined(&*d, &Edit::DefCompound { group: ROOT, name: "_Complex128_t", size: 16 });
    for (name, offset) in [("r", 0), ("i", 8)] {
        d.edit(&Edit::InsertField { ty: complex, name, offset, field: NcType::Double, shape: &[] }).unwrap();
    }
    for (name, ty) in [("o", outer), ("z", complex), ("b", blob)] {
        d.def_var(ROOT, name, NcType::User(ty), &[x]).unwrap();
    }
    d.def_var_endian(var(&*d, "z"), nczarr_model::Endian::Big).unwrap();
    let blobs = d.model().snapshot();
    d.def_var_fill(var(&*d, "b"), false, Some(&Values::User(blob, b"hello".to_vec()))).unwrap();
    drop(blobs);
    for (edit, what) in [
        (Edit::DefVlen { group: ROOT, name: "l", base: NcType::Int }, "vlens"),
        (Edit::DefEnum { group: ROOT, name: "e", base: NcType::Int }, "enums"),
    ] {
        let error = d.edit(&edit).unwrap_err();
        assert!(error.kind() == ErrorKind::NotNc4 && error.to_string().contains(what), "{error}");
    }
    let text = defined(&*d, &Edit::DefCompound { group: ROOT, name: "text", size: 8 });
    d.edit(&Edit::InsertField { ty: text, name: "s", offset: 0, field: NcType::String, shape: &[] }).unwrap();
    assert_eq!(d.def_var(ROOT, "t", NcType::User(text), &[x]).unwrap_err().kind(), ErrorKind::NotNc4);
    d._enddef(0, 0, 0, 0).unwrap();
    let bytes: Vec<u8> = (0..64).collect();
    write(&*d, var(&*d, "o"), 1, 2, &bytes).unwrap();
    write(&*d, var(&*d, "z"), 0, 4, &bytes).unwrap();
    write(&*d, var(&*d, "b"), 3, 1, b"world").unwrap();
    d.close().unwrap();
    let dtype = |name: &str| map.json(&format!("{name}/.zarray"))["dtype"].clone();
    assert_eq!(
        dtype("o").to_string(),
        r#"[["a","|i1"],["","|V3"],["p",[["x","<f4"],["y","<f4"]],[2]],["s","|S3",[2]],["","|V1"],["b","|V5"]]"#
    );
    assert_eq!((dtype("z"), dtype("b")), (">c16".into(), "|V5".into()));
    assert_eq!(map.json("b/.zarray")["fill_value"], "aGVsbG8=");
    assert_eq!(map.json("z/.zarray")["fill_value"], serde_json::json!([0.0, 0.0]));
    assert!(map.text("o/.zarray").contains(&format!("\"fill_value\": \"{}=\"", "A".repeat(43))));
    let d = open(&map).unwrap();
    assert_eq!(read(&*d, var(&*d, "o"), 1, 2).unwrap(), bytes);
    assert_eq!(read(&*d, var(&*d, "z"), 0, 4).unwrap(), bytes);
    assert_eq!(read(&*d, var(&*d, "b"), 2, 2).unwrap(), b"helloworld");
    let (_, TypeClass::Compound { size: 32, fields }) = class(&*d, var(&*d, "o")) else { panic!() };
    let places: Vec<_> = fields.iter().map(|field| (&*field.name, field.offset, &*field.shape)).collect();
    assert_eq!(places, [("a", 0, &[][..]), ("p", 4, &[2]), ("s", 20, &[2, 3]), ("b", 27, &[])]);
}

#[test]
fn parts_with_a_stride() {
    let map = TestMap::new(&[GROUP, ("v/.zarray", &zarray(r#"[["a",">i2"],["b","|u1"]]"#, "\"AAEC\""))]);
    let d = open_rw(&map);
    let id = var(&*d, "v");
    let ty = d.model().snapshot().var(id).unwrap().xtype;
    let one = |a: i16, b: u8| [&a.to_ne_bytes()[..], &[b]].concat();
    let bytes = [one(5, 6), one(7, 8)].concat();
    d.put_vars(id, &[1], &[2], &[2], MemRef::Fixed { ty, bytes: &bytes }).unwrap();
    assert_eq!(read(&*d, id, 0, 4).unwrap(), [one(1, 2), one(5, 6), one(1, 2), one(7, 8)].concat());
    let mut back = vec![0; 6];
    let slab = Slab { start: &[1], count: &[2], stride: Some(&[2]) }.check(&[4], |_| false).unwrap();
    d.data(id).unwrap().get(&slab, MemMut::Fixed { ty, out: &mut OutBuf::from_slice(&mut back) }).unwrap();
    assert_eq!(back, bytes);
}

#[test]
fn a_document_that_claims_much_takes_little() {
    // The fill value `0` allocates no zeros of the claimed element size.
    let claims = |dtype: &str| zarray(dtype, "0").replace("\"chunks\": [2]", "\"chunks\": [1]");
    let map = TestMap::new(&[GROUP, ("w/.zarray", &zarray("\"<i4\"", "1"))]);
    for i in 0..200 {
        map.put(&format!("v{i}/.zarray"), claims("\"|V1073741824\"").as_bytes());
        map.put(&format!("r{i}/.zarray"), claims(r#"[["a","|V1000000000"]]"#).as_bytes());
    }
    let many = |count: usize| (0..count).map(|i| format!(r#"["f{i}","|i1"]"#)).collect::<Vec<_>>().join(",");
    map.put("fields/.zarray", zarray(&format!("[{}]", many(150_000)), "null").as_bytes());
    let deep = (0..60).fold(r#"[["x","<i4"]]"#.to_owned(), |inner, _| format!(r#"[["x",{inner}]]"#));
    map.put("deep/.zarray", zarray(&deep, "null").as_bytes());
    let d = open_rw(&map);
    let model = d.model().snapshot();
    for name in ["v0", "r199"] {
        let var = model.var(var(&*d, name)).unwrap();
        assert!(var.problem.is_none() && var.fill == nczarr_model::VarFill::Default, "{:?}", var.problem);
    }
    let error = try_get(&*d, var(&*d, "fields")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadType);
    assert_eq!(read(&*d, var(&*d, "deep"), 0, 4).unwrap(), [0; 16]);
    assert_eq!(get(&*d, var(&*d, "w")), [1.0; 4]);
    // A rewritten document has the same types.
    d.def_var_chunking(var(&*d, "v0"), &nczarr_model::Chunking::Chunked(vec![1])).unwrap();
    d.def_var_chunking(var(&*d, "deep"), &nczarr_model::Chunking::Chunked(vec![3])).unwrap();
    d.close().unwrap();
    assert_eq!(map.json("v0/.zarray")["fill_value"], 0);
    assert_eq!(map.json("deep/.zarray")["dtype"].to_string(), deep);
}

#[test]
fn types_of_long_names_have_shorter_ones() {
    let (long, other) = ("n".repeat(255), format!("{}\u{e4}b", "n".repeat(253)));
    let dtype = format!(r#"[["{long}",[["a","<i4"]]],["{other}",[["b","<i2"]]]]"#);
    let map = TestMap::new(&[GROUP, (&format!("{long}/.zarray"), &zarray(&dtype, "null"))]);
    let d = open(&map).unwrap();
    assert_eq!(read(&*d, var(&*d, &long), 0, 4).unwrap(), [0; 24]);
    let model = d.model().snapshot();
    assert_eq!(model.user_types().len(), 3);
    for (_, ty) in model.user_types() {
        assert!(ty.name.len() <= 256 && ty.name.starts_with("nnn"), "{}", ty.name);
    }
}

#[test]
fn types_that_would_not_come_back_are_refused() {
    let map = TestMap::new(&[]);
    let d = create(&map, "zarr");
    let x = d.def_dim(ROOT, "x", Some(2)).unwrap();
    let none = defined(&*d, &Edit::DefCompound { group: ROOT, name: "none", size: 4 });
    let empty = Edit::InsertField { ty: none, name: "e", offset: 0, field: NcType::Int, shape: &[0] };
    let whole = Edit::InsertField { ty: none, name: "a", offset: 0, field: NcType::Int, shape: &[] };
    let made = d.edit(&empty);
    d.edit(&whole).unwrap();
    let large = defined(&*d, &Edit::DefOpaque { group: ROOT, name: "large", size: (1 << 30) + 1 });
    let refused = made.and_then(|_| d.def_var(ROOT, "n", NcType::User(none), &[x]).map(drop)).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::NotNc4 | ErrorKind::Inval | ErrorKind::BadDim), "{refused}");
    assert_eq!(d.def_var(ROOT, "l", NcType::User(large), &[x]).unwrap_err().kind(), ErrorKind::NotNc4);
    let text = defined(&*d, &Edit::DefCompound { group: ROOT, name: "text", size: 4 });
    for (name, offset, shape) in [("a", 0, &[1][..]), ("b", 1, &[]), ("c", 2, &[2, 1])] {
        d.edit(&Edit::InsertField { ty: text, name, offset, field: NcType::Char, shape }).unwrap();
    }
    d.def_var(ROOT, "t", NcType::User(text), &[x]).unwrap();
    let before = class(&*d, var(&*d, "t")).1;
    d.close().unwrap();
    let d = open(&map).unwrap();
    assert_eq!(class(&*d, var(&*d, "t")).1, before);
}

/// The write refuses an element that its codec cannot hold. Otherwise the whole chunk would be lost later.
#[test]
fn elements_that_no_codec_holds_are_refused_at_once() {
    for (codec, good, bad, kind) in [
        (r#"{"id": "vlen-utf8"}"#, &b"ab"[..], &b"\xff"[..], ErrorKind::Filter),
        (r#"{"id": "json2"}"#, b"ab", b"\xff", ErrorKind::Filter),
        (r#"{"id": "msgpack2"}"#, b"ab", b"\xff", ErrorKind::Filter),
        (r#"{"id": "vlen-array", "dtype": ">i2"}"#, b"ab", b"abc", ErrorKind::BadType),
        (r#"{"id": "vlen-array", "dtype": "<i2"}"#, b"ab", b"abc", ErrorKind::BadType),
    ] {
        let text = zarray("\"|O\"", "null").replace("\"filters\": null", &format!("\"filters\": [{codec}]"));
        let map = TestMap::new(&[GROUP, ("v/.zarray", &text)]);
        let d = open_rw(&map);
        let id = var(&*d, "v");
        let put =
            |at: u64, value: &[u8]| d.put_vara(id, &[at], &[1], MemRef::Strings(&[NcString::from(value)]));
        put(0, good).unwrap();
        let error = put(1, bad).unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains("v[1]"), "{codec}: {error}");
        d.close().unwrap();
        let d = open(&map).unwrap();
        let found = all(&*d, var(&*d, "v")).unwrap().1;
        assert_eq!(found[..2], [NcString::from(good), NcString::new()], "{codec}");
    }
}

#[test]
fn fill_values_beyond_half_precision_are_errors() {
    let map = TestMap::new(&[GROUP, ("h/.zarray", &zarray("\"<f2\"", "0"))]);
    let d = open_rw(&map);
    let h = var(&*d, "h");
    let error = d.def_var_fill(h, false, Some(&Values::Float(vec![1e6]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Range, "{error}");
    d.def_var_fill(h, false, Some(&Values::Float(vec![f32::INFINITY]))).unwrap();
    d.close().unwrap();
    assert_eq!(map.json("h/.zarray")["fill_value"], "Infinity");
}

/// Reads all elements of a variable in its own type, as bytes or as strings and lists.
fn all(dataset: &dyn Dataset, id: VarId) -> Result<(Vec<u8>, Vec<NcString>)> {
    let model = dataset.model().snapshot();
    let (ty, shape) = (model.var(id)?.xtype, model.shape(id)?);
    let (start, elems) = (vec![0; shape.len()], shape.iter().product::<u64>() as usize);
    match model.type_size(ty)? {
        Some(size) if ty != NcType::String => {
            let mut bytes = vec![0xaa; elems * size];
            dataset.get_vara(
                id,
                &start,
                &shape,
                MemMut::Fixed { ty, out: &mut OutBuf::from_slice(&mut bytes) },
            )?;
            Ok((bytes, Vec::new()))
        }
        _ => {
            let mut strings = vec![NcString::new(); elems];
            dataset.get_vara(id, &start, &shape, MemMut::Strings(&mut strings))?;
            Ok((Vec::new(), strings))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// No changed document causes a panic. Readable and writable values read back unchanged.
    #[test]
    fn damage_is_refused_or_the_same_on_both_ways(
        dtype in prop::sample::select(vec![
            RECORD, "\">f2\"", "\"bfloat16\"", "\"<M8[25us]\"", "\">m8[D]\"", "\"<M8[Y]\"", "\">c8\"", "\"|V6\"",
            r#"[["a",">i2",[2,3]],["",  "|V3"],["b",[["c","<f2",[2]],["d","|S1",[1]]],[2,1]]]"#, "\"|O\"",
        ]),
        fill in prop::sample::select(vec!["null", "0", "\"AAAA\"", "\"AQIDBAUG\"", "[1.0,-0.0]", "\"NaT\"", "-9223372036854775808", "\"NaN\"", "[0]"]),
        filters in prop::sample::select(vec!["null", r#"[{"id": "vlen-bytes"}]"#, r#"[{"id": "vlen-array", "dtype": ">i2"}]"#, r#"[{"id": "zlib", "level": 1}]"#]),
        at in 0usize..260, len in 0usize..6,
        with in prop::sample::select(vec!["", "0", "-1", "8", "\"", "[", "]", ",", "[2]", "<", ">", "|", "f", "i", "S", "V", "M8[", "[\"z\",\"<i4\"],", "\u{ff}", "null"]),
        chunk in prop::option::of(prop::collection::vec(any::<u8>(), 0..100)), damaged in any::<bool>(),
    ) {
        let text = zarray(dtype, fill).replace("\"filters\": null", &format!("\"filters\": {filters}"));
        let text = if damaged { mutate(&text, at, len, with) } else { text };
        let map = TestMap::new(&[GROUP, ("v/.zarray", &text)]);
        let Ok(d) = open_with(&map, "nczarr", true, &Options::default()) else { return Ok(()) };
        let model = d.model().snapshot();
        let Ok(id) = model.var_at(ROOT, "v") else { return Ok(()) };
        let small = model.shape(id).unwrap().iter().product::<u64>() < 1000;
        let small = small && model.type_size(model.var(id).unwrap().xtype).unwrap().is_none_or(|size| size < 10_000);
        if !small {
            return Ok(());
        }
        if let Some(bytes) = chunk {
            // The bytes fill a chunk, if its size is known.
            let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
            let size = model.type_size(model.var(id).unwrap().xtype).unwrap().unwrap_or(8);
            let want = size * json["chunks"][0].as_u64().unwrap_or(1) as usize;
            map.put("v/0", &bytes.iter().copied().cycle().take(if bytes.is_empty() { 0 } else { want }).collect::<Vec<_>>());
        }
        let Ok((bytes, strings)) = all(&*d, id) else { return Ok(()) };
        let (ty, shape) = (model.var(id).unwrap().xtype, model.shape(id).unwrap());
        let start = vec![0; shape.len()];
        let data = match strings.is_empty() {
            true => MemRef::Fixed { ty, bytes: &bytes },
            false => MemRef::Strings(&strings),
        };
        if d.put_vara(id, &start, &shape, data).is_ok() {
            d.close().unwrap();
            let again = open(&map).unwrap();
            prop_assert_eq!(all(&*again, var(&*again, "v")).unwrap(), (bytes, strings), "{}", text);
        }
    }
}

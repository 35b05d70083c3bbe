//! Tables of the rules of every edit.

use nczarr_model::{
    Chunking, Defined, DimId, Edit, Endian, EnumMember, ErrorKind, FILL_VALUE, Field, FillMode, FilterSpec,
    GroupId, Model, ModelCell, NcString, NcType, Quantize, TypeClass, TypeId, Values, VarFill, VarId,
};

use crate::sample::{
    self, BLOB, COLOUR, DEPTH, G, H, LIST, POINT, ROOT, SCALAR, TEMP, TIME, USED, X, Y, outcome,
};

type Outcome = Result<Defined, ErrorKind>;

fn check(table: &[(Edit<'_>, Outcome)]) {
    for (edit, expected) in table {
        assert_eq!(outcome(edit), *expected, "{edit:?}");
    }
}

const DONE: Outcome = Ok(Defined::Nothing);

#[test]
fn dimensions_and_groups() {
    let dim = |group, name, len| Edit::DefDim { group, name, len };
    let new = Ok(Defined::Dim(DimId(3)));
    check(&[
        (dim(ROOT, "z", Some(1)), new),
        (dim(ROOT, "z", None), new),
        (dim(ROOT, "z", Some(i64::MAX as u64)), new),
        (dim(ROOT, "z", Some(i64::MAX as u64 + 1)), Err(ErrorKind::DimSize)),
        (dim(G, "x", Some(1)), new),
        (dim(ROOT, "temp", Some(1)), new),
        (dim(ROOT, "x", Some(1)), Err(ErrorKind::NameInUse)),
        (dim(ROOT, "", Some(1)), Err(ErrorKind::BadName)),
        (dim(GroupId(9), "z", Some(1)), Err(ErrorKind::BadGrpId)),
        (Edit::DefGroup { parent: H, name: "a" }, Ok(Defined::Group(GroupId(3)))),
        (Edit::DefGroup { parent: ROOT, name: "g" }, Err(ErrorKind::NameInUse)),
        (Edit::DefGroup { parent: ROOT, name: "temp" }, Err(ErrorKind::NameInUse)),
        (Edit::DefGroup { parent: ROOT, name: "a/b" }, Err(ErrorKind::BadName)),
        (Edit::DefGroup { parent: GroupId(9), name: "a" }, Err(ErrorKind::BadGrpId)),
    ]);
    let mut model = sample::model();
    for (name, len, unlimited) in [("a", None, true), ("b", Some(0), true), ("c", Some(7), false)] {
        let Ok(Defined::Dim(dim)) = model.apply(&dim(ROOT, name, len)) else { panic!("{name}") };
        let dim = model.dim(dim).unwrap();
        assert_eq!((dim.len(), dim.unlimited), (len.unwrap_or(0), unlimited));
    }
}

#[test]
fn variables() {
    let new = Ok(Defined::Var(VarId(4)));
    let var = |group, name, xtype, dims| Edit::DefVar { group, name, xtype, dims };
    let many = vec![X; 1024];
    let too_many = vec![X; 1025];
    let long = "v".repeat(257);
    check(&[
        (var(ROOT, "v", NcType::Int, &[]), new),
        (var(ROOT, "v", NcType::String, &[TIME, X, X]), new),
        (var(H, "v", NcType::User(POINT), &[Y, TIME]), new),
        (var(G, "temp", NcType::Int, &[]), new),
        (var(ROOT, "x", NcType::Int, &[X]), new),
        (var(ROOT, "v", NcType::Int, &many), new),
        (var(ROOT, "v", NcType::Int, &too_many), Err(ErrorKind::MaxDims)),
        (var(ROOT, "v", NcType::Int, &[Y]), new),
        (var(ROOT, "v", NcType::Int, &[DimId(9)]), Err(ErrorKind::BadDim)),
        (var(ROOT, "v", NcType::User(TypeId(9)), &[]), Err(ErrorKind::BadType)),
        (var(ROOT, "temp", NcType::Int, &[]), Err(ErrorKind::NameInUse)),
        (var(ROOT, "g", NcType::Int, &[]), Err(ErrorKind::NameInUse)),
        (var(ROOT, "blob", NcType::Int, &[]), Err(ErrorKind::NameInUse)),
        (var(ROOT, "v ", NcType::Int, &[]), Err(ErrorKind::BadName)),
        (var(ROOT, &long, NcType::Int, &[]), Err(ErrorKind::MaxName)),
        (var(GroupId(9), "v", NcType::Int, &[]), Err(ErrorKind::BadGrpId)),
    ]);
}

#[test]
fn attributes() {
    let put = |var, name, values| Edit::PutAtt { group: ROOT, var, name, values };
    let del = |var, name| Edit::DelAtt { group: ROOT, var, name };
    let (one, two) = (Values::Float(vec![1.0]), Values::Float(vec![1.0, 2.0]));
    let (int, none, text) = (Values::Int(vec![1]), Values::Float(vec![]), Values::text("a"));
    let strings = Values::String(vec![NcString::from("a"), NcString::new()]);
    let user = |ty, len: usize| Values::User(ty, vec![0; len]);
    let (points, part, foreign) = (user(POINT, 32), user(POINT, 17), user(TypeId(9), 4));
    let (fill, no_fill) = (user(USED, 8), user(USED, 16));
    check(&[
        (put(None, "new", &two), DONE),
        (put(None, "title", &strings), DONE),
        (put(Some(TEMP), "empty", &none), DONE),
        (put(None, "p", &points), DONE),
        (put(None, "p", &part), Err(ErrorKind::Inval)),
        (put(None, "p", &foreign), Err(ErrorKind::BadType)),
        (put(None, "a/b", &text), Err(ErrorKind::BadName)),
        (put(Some(VarId(9)), "a", &text), Err(ErrorKind::NotVar)),
        (Edit::PutAtt { group: GroupId(9), var: None, name: "a", values: &text }, Err(ErrorKind::BadGrpId)),
        (put(Some(TEMP), FILL_VALUE, &one), DONE),
        (put(Some(TEMP), FILL_VALUE, &two), Err(ErrorKind::Inval)),
        (put(Some(TEMP), FILL_VALUE, &none), Err(ErrorKind::Inval)),
        (put(Some(TEMP), FILL_VALUE, &int), Err(ErrorKind::BadType)),
        (put(Some(TEMP), FILL_VALUE, &text), Err(ErrorKind::BadType)),
        (put(Some(sample::LAST), FILL_VALUE, &fill), DONE),
        (put(Some(sample::LAST), FILL_VALUE, &no_fill), Err(ErrorKind::Inval)),
        (put(None, FILL_VALUE, &two), DONE),
        (del(None, "title"), DONE),
        (del(None, "Title"), Err(ErrorKind::NotAtt)),
        (del(Some(TEMP), "units"), DONE),
        (del(Some(TEMP), FILL_VALUE), Err(ErrorKind::NotAtt)),
        (del(Some(VarId(9)), "units"), Err(ErrorKind::NotVar)),
    ]);
    let mut model = sample::model();
    model.apply(&put(None, "title", &int)).unwrap();
    model.apply(&put(None, "zeta", &int)).unwrap();
    model.apply(&del(None, "history")).unwrap();
    assert_eq!(model.root().atts.keys().collect::<Vec<_>>(), ["title", "zeta"]);
    assert_eq!(model.root().atts["title"], int);
}

#[test]
fn values_are_taken_only_if_they_are_put() {
    let mut model = sample::model();
    let before = model.clone();
    for (var, name, values, expected) in [
        (None, "title", Values::text("other"), Ok(())),
        (Some(TEMP), "new", Values::Float(vec![1.0, 2.0]), Ok(())),
        (Some(TEMP), FILL_VALUE, Values::Float(vec![3.0]), Ok(())),
        (Some(TEMP), "a/b", Values::text("kept"), Err(ErrorKind::BadName)),
        (Some(TEMP), FILL_VALUE, Values::Float(vec![4.0, 5.0]), Err(ErrorKind::Inval)),
        (Some(VarId(9)), "a", Values::text("kept"), Err(ErrorKind::NotVar)),
        (None, "p", Values::User(POINT, vec![0; 17]), Err(ErrorKind::Inval)),
    ] {
        let mut given = values.clone();
        let outcome = model.take_att(ROOT, var, name, &mut given).map_err(|error| error.kind());
        assert_eq!(outcome, expected, "{name}");
        match expected {
            Ok(()) => {
                assert_eq!((given.len(), model.find_att(ROOT, var, name).unwrap()), (0, &values), "{name}")
            }
            Err(_) => assert_eq!(given, values, "{name}"),
        }
    }
    assert_eq!(model.var(TEMP).unwrap().fill, VarFill::Value(Values::Float(vec![3.0])));
    assert_eq!(before.root().atts["title"], Values::text("t"), "a copy of the model is another one");
}

#[test]
fn fill_and_its_attribute_are_one() {
    let (one, two) = (Values::Float(vec![1.0]), Values::Float(vec![2.0]));
    let put = |name, values| Edit::PutAtt { group: ROOT, var: Some(TEMP), name, values };
    let rename = |name, to| Edit::RenameAtt { group: ROOT, var: Some(TEMP), name, to };
    let fill = |no_fill, value| Edit::DefVarFill { var: TEMP, no_fill, value };
    let mut model = sample::model();
    let value = |value: &Values| (VarFill::Value(value.clone()), Some(value.clone()));
    for (edit, (fill, attribute)) in [
        (put(FILL_VALUE, &one), value(&one)),
        (put(FILL_VALUE, &two), value(&two)),
        (Edit::DelAtt { group: ROOT, var: Some(TEMP), name: FILL_VALUE }, (VarFill::Default, None)),
        (fill(false, Some(&one)), value(&one)),
        (fill(true, None), (VarFill::NoFill, Some(one.clone()))),
        (fill(false, None), value(&one)),
        (fill(true, Some(&two)), (VarFill::NoFill, Some(one.clone()))),
        (put(FILL_VALUE, &two), (VarFill::NoFill, Some(two.clone()))),
        (Edit::DelAtt { group: ROOT, var: Some(TEMP), name: FILL_VALUE }, (VarFill::NoFill, None)),
        (fill(false, None), (VarFill::Default, None)),
        (rename("valid_min", FILL_VALUE), value(&one)),
        (rename(FILL_VALUE, "valid_min"), (VarFill::Default, None)),
        (Edit::PutAtt { group: ROOT, var: None, name: FILL_VALUE, values: &two }, (VarFill::Default, None)),
    ] {
        sample::apply(&mut model, &edit).unwrap();
        let var = model.var(TEMP).unwrap();
        assert_eq!((&var.fill, var.atts.get(FILL_VALUE)), (&fill, attribute.as_ref()), "{edit:?}");
    }
    // A fill value without an attribute is a separate setting.
    let unwritten = |value| Edit::DefVarUnwritten { var: TEMP, value };
    sample::apply(&mut model, &unwritten(&two)).unwrap();
    let var = model.var(TEMP).unwrap();
    assert_eq!((&var.fill, var.atts.get(FILL_VALUE)), (&VarFill::Value(two.clone()), None));
    sample::apply(&mut model, &put(FILL_VALUE, &one)).unwrap();
    sample::apply(&mut model, &unwritten(&two)).unwrap();
    let var = model.var(TEMP).unwrap();
    assert_eq!((&var.fill, var.atts.get(FILL_VALUE)), (&VarFill::Value(two.clone()), Some(&one)));
    check(&[
        (unwritten(&Values::Double(vec![1.0])), Err(ErrorKind::BadType)),
        (fill(false, Some(&Values::Float(vec![]))), Err(ErrorKind::Inval)),
        (fill(false, Some(&Values::Double(vec![1.0]))), Err(ErrorKind::BadType)),
        (Edit::DefVarFill { var: VarId(9), no_fill: true, value: None }, Err(ErrorKind::NotVar)),
        (Edit::DefVarUnwritten { var: VarId(9), value: &Values::Float(vec![0.0]) }, Err(ErrorKind::NotVar)),
    ]);
}

#[test]
fn the_fill_mode_is_for_new_variables() {
    let mut model = sample::model();
    model.apply(&Edit::SetFill { mode: FillMode::NoFill }).unwrap();
    model.apply(&Edit::DefVar { group: ROOT, name: "v", xtype: NcType::Int, dims: &[] }).unwrap();
    assert_eq!(model.var(VarId(4)).unwrap().fill, VarFill::NoFill);
    assert_eq!(model.var(TEMP).unwrap().fill, VarFill::Default);
}

#[test]
fn layout() {
    let chunks = |shape: &[u64]| Chunking::Chunked(shape.to_vec());
    let shapes: Vec<(VarId, Chunking, Outcome)> = vec![
        (TEMP, chunks(&[1, 4]), DONE),
        (TEMP, chunks(&[1000, 1]), DONE),
        (TEMP, chunks(&[1, 5]), Err(ErrorKind::BadChunk)),
        (TEMP, chunks(&[0, 1]), Err(ErrorKind::BadChunk)),
        (TEMP, chunks(&[1]), Err(ErrorKind::BadChunk)),
        (TEMP, chunks(&[1, 1, 1]), Err(ErrorKind::BadChunk)),
        (TEMP, chunks(&[]), Err(ErrorKind::BadChunk)),
        (TEMP, chunks(&[u64::MAX, 4]), Err(ErrorKind::BadChunk)),
        (TEMP, chunks(&[1 << 60, 4]), Err(ErrorKind::BadChunk)),
        (TEMP, Chunking::Default, DONE),
        (TEMP, Chunking::Contiguous, Err(ErrorKind::Inval)),
        (TEMP, Chunking::Compact, Err(ErrorKind::Inval)),
        (DEPTH, Chunking::Contiguous, DONE),
        (DEPTH, Chunking::Compact, DONE),
        (SCALAR, Chunking::Default, DONE),
        (SCALAR, Chunking::Contiguous, DONE),
        (SCALAR, chunks(&[]), Err(ErrorKind::Inval)),
        (SCALAR, chunks(&[1]), Err(ErrorKind::Inval)),
        (VarId(9), Chunking::Default, Err(ErrorKind::NotVar)),
    ];
    for (var, chunking, expected) in &shapes {
        check(&[(Edit::DefVarChunking { var: *var, chunking }, *expected)]);
    }
    let quantize = |var, quantize| Edit::DefVarQuantize { var, quantize: Some(quantize) };
    check(&[
        (Edit::DefVarEndian { var: TEMP, endian: Endian::Big }, DONE),
        (Edit::DefVarEndian { var: VarId(9), endian: Endian::Big }, Err(ErrorKind::NotVar)),
        (quantize(TEMP, Quantize::BitGroom(6)), DONE),
        (quantize(TEMP, Quantize::BitGroom(7)), Err(ErrorKind::Inval)),
        (quantize(TEMP, Quantize::BitGroom(0)), Err(ErrorKind::Inval)),
        (quantize(TEMP, Quantize::GranularBitRound(7)), Err(ErrorKind::Inval)),
        (quantize(TEMP, Quantize::BitRound(23)), DONE),
        (quantize(TEMP, Quantize::BitRound(24)), Err(ErrorKind::Inval)),
        (quantize(DEPTH, Quantize::GranularBitRound(15)), DONE),
        (quantize(DEPTH, Quantize::BitGroom(16)), Err(ErrorKind::Inval)),
        (quantize(DEPTH, Quantize::BitRound(52)), DONE),
        (quantize(DEPTH, Quantize::BitRound(53)), Err(ErrorKind::Inval)),
        (quantize(SCALAR, Quantize::BitRound(1)), Err(ErrorKind::Inval)),
        (Edit::DefVarQuantize { var: SCALAR, quantize: None }, DONE),
        (Edit::DefVarQuantize { var: DEPTH, quantize: None }, DONE),
        (Edit::DefVarQuantize { var: VarId(9), quantize: None }, Err(ErrorKind::NotVar)),
    ]);
}

#[test]
fn filters_are_replaced_in_place() {
    let spec = |hdf5_id, name: &str, level| FilterSpec {
        hdf5_id,
        name: name.to_owned(),
        params: vec![level],
        codec: None,
    };
    let mut model = sample::model();
    for (filter, expected) in [
        (spec(Some(2), "shuffle", 0), "shuffle 0"),
        (spec(Some(1), "deflate", 1), "shuffle 0, deflate 1"),
        (spec(None, "lz4", 3), "shuffle 0, deflate 1, lz4 3"),
        (spec(Some(1), "", 5), "shuffle 0,  5, lz4 3"),
        (spec(Some(1), "zlib", 6), "shuffle 0, zlib 6, lz4 3"),
        (spec(None, "lz4", 9), "shuffle 0, zlib 6, lz4 9"),
        (spec(None, "LZ4", 9), "shuffle 0, zlib 6, lz4 9, LZ4 9"),
        (spec(Some(7), "shuffle", 1), "shuffle 1, zlib 6, lz4 9, LZ4 9"),
    ] {
        sample::apply(&mut model, &Edit::DefVarFilter { var: TEMP, filter: &filter }).unwrap();
        let list = model
            .var(TEMP)
            .unwrap()
            .filters
            .iter()
            .map(|filter| format!("{} {}", filter.name, filter.params[0]));
        assert_eq!(list.collect::<Vec<_>>().join(", "), expected);
    }
    let (nameless, deflate) = (FilterSpec::default(), spec(Some(1), "deflate", 1));
    check(&[
        (Edit::DefVarFilter { var: TEMP, filter: &nameless }, Err(ErrorKind::Inval)),
        (Edit::DefVarFilter { var: SCALAR, filter: &deflate }, Err(ErrorKind::Inval)),
        (Edit::DefVarFilter { var: VarId(9), filter: &deflate }, Err(ErrorKind::NotVar)),
    ]);
}

#[test]
fn types() {
    let new = Ok(Defined::Type(TypeId(5)));
    let en = |base| Edit::DefEnum { group: ROOT, name: "e", base };
    check(&[
        (Edit::DefCompound { group: G, name: "c", size: 1 }, new),
        (Edit::DefCompound { group: G, name: "c", size: 0 }, Err(ErrorKind::Inval)),
        (Edit::DefCompound { group: ROOT, name: "point", size: 1 }, Err(ErrorKind::NameInUse)),
        (Edit::DefCompound { group: ROOT, name: "temp", size: 1 }, Err(ErrorKind::NameInUse)),
        (Edit::DefOpaque { group: ROOT, name: "o", size: 1 }, new),
        (Edit::DefOpaque { group: ROOT, name: "o", size: 0 }, Err(ErrorKind::Inval)),
        (Edit::DefOpaque { group: ROOT, name: "", size: 1 }, Err(ErrorKind::BadName)),
        (Edit::DefVlen { group: ROOT, name: "l", base: NcType::String }, new),
        (Edit::DefVlen { group: ROOT, name: "l", base: NcType::User(LIST) }, new),
        (Edit::DefVlen { group: ROOT, name: "l", base: NcType::User(TypeId(9)) }, Err(ErrorKind::BadType)),
        (Edit::DefVlen { group: GroupId(9), name: "l", base: NcType::Int }, Err(ErrorKind::BadGrpId)),
        (en(NcType::UInt64), new),
        (en(NcType::Float), Err(ErrorKind::BadType)),
        (en(NcType::Char), Err(ErrorKind::BadType)),
        (en(NcType::String), Err(ErrorKind::BadType)),
        (en(NcType::User(COLOUR)), Err(ErrorKind::BadType)),
    ]);
}

#[test]
fn fields() {
    let insert = |ty, name, offset, field, shape| Edit::InsertField { ty, name, offset, field, shape };
    check(&[
        (insert(POINT, "a", 0, NcType::Double, &[]), DONE),
        (insert(POINT, "a", 8, NcType::Double, &[]), DONE),
        (insert(POINT, "a", 9, NcType::Double, &[]), Err(ErrorKind::BadField)),
        (insert(POINT, "a", usize::MAX, NcType::Byte, &[]), Err(ErrorKind::BadField)),
        (insert(POINT, "a", 0, NcType::Short, &[2, 4]), DONE),
        (insert(POINT, "a", 0, NcType::Short, &[3, 3]), Err(ErrorKind::BadField)),
        (insert(POINT, "a", 0, NcType::Double, &[u32::MAX; 4]), Err(ErrorKind::BadField)),
        (insert(POINT, "a", 0, NcType::Double, &[0]), Err(ErrorKind::Inval)),
        (insert(POINT, "a", 0, NcType::Byte, &[1; 1025]), Err(ErrorKind::MaxDims)),
        (insert(POINT, "a", 12, NcType::User(BLOB), &[]), DONE),
        (insert(POINT, "a", 13, NcType::User(BLOB), &[]), Err(ErrorKind::BadField)),
        (insert(POINT, "a", 8, NcType::String, &[]), DONE),
        (insert(POINT, "a", 9, NcType::String, &[]), Err(ErrorKind::BadField)),
        (insert(POINT, "a", 0, NcType::User(LIST), &[]), DONE),
        (insert(POINT, "a", 1, NcType::User(LIST), &[]), Err(ErrorKind::BadField)),
        (insert(POINT, "a", 0, NcType::User(POINT), &[]), Err(ErrorKind::BadType)),
        (insert(POINT, "a", 0, NcType::User(TypeId(9)), &[]), Err(ErrorKind::BadType)),
        (insert(POINT, "a/b", 0, NcType::Byte, &[]), Err(ErrorKind::BadName)),
        (insert(COLOUR, "a", 0, NcType::Byte, &[]), Err(ErrorKind::BadClass)),
        (insert(TypeId(9), "a", 0, NcType::Byte, &[]), Err(ErrorKind::BadTypId)),
        (insert(USED, "a", 0, NcType::Byte, &[]), Err(ErrorKind::TypDefined)),
    ]);
    let mut model = sample::model();
    for (edit, expected) in [
        (insert(POINT, "mid", 4, NcType::Int, &[]), DONE),
        (insert(POINT, "mid", 8, NcType::Int, &[]), Err(ErrorKind::NameInUse)),
        (insert(POINT, "over", 2, NcType::Int, &[]), Err(ErrorKind::BadField)),
        (insert(POINT, "over", 7, NcType::Byte, &[]), Err(ErrorKind::BadField)),
        (insert(POINT, "over", 0, NcType::Byte, &[9]), Err(ErrorKind::BadField)),
        (insert(POINT, "low", 0, NcType::Byte, &[4]), DONE),
        (insert(POINT, "high", 8, NcType::Double, &[]), DONE),
    ] {
        assert_eq!(sample::apply(&mut model, &edit).map_err(|error| error.kind()), expected, "{edit:?}");
    }
    let TypeClass::Compound { fields, .. } = &model.user_type(POINT).unwrap().class else {
        panic!("no compound")
    };
    let found: Vec<(&str, usize)> = fields.iter().map(|field| (field.name.as_str(), field.offset)).collect();
    assert_eq!(found, [("mid", 4), ("low", 0), ("high", 8)]);
}

#[test]
fn members() {
    let insert = |ty, name, value| Edit::InsertEnum { ty, name, value };
    check(&[
        (insert(COLOUR, "red", -128), DONE),
        (insert(COLOUR, "red", 127), DONE),
        (insert(COLOUR, "red", 128), Err(ErrorKind::Range)),
        (insert(COLOUR, "red", -129), Err(ErrorKind::Range)),
        (insert(COLOUR, "red", i128::MAX), Err(ErrorKind::Range)),
        (insert(COLOUR, "", 1), Err(ErrorKind::BadName)),
        (insert(POINT, "red", 1), Err(ErrorKind::BadClass)),
        (insert(TypeId(9), "red", 1), Err(ErrorKind::BadTypId)),
    ]);
    let mut model = sample::model();
    for (edit, expected) in [
        (insert(COLOUR, "red", 1), DONE),
        (insert(COLOUR, "red", 2), Err(ErrorKind::NameInUse)),
        (insert(COLOUR, "blue", 1), Err(ErrorKind::NameInUse)),
        (insert(COLOUR, "blue", 2), DONE),
        (
            Edit::DefVar { group: ROOT, name: "v", xtype: NcType::User(COLOUR), dims: &[] },
            Ok(Defined::Var(VarId(4))),
        ),
        (insert(COLOUR, "green", 3), Err(ErrorKind::TypDefined)),
    ] {
        assert_eq!(sample::apply(&mut model, &edit).map_err(|error| error.kind()), expected, "{edit:?}");
    }
    assert_eq!(model.user_type(COLOUR).unwrap().enum_ident(2), Some("blue"));
}

#[test]
fn a_used_type_is_closed() {
    let field = Edit::InsertField { ty: POINT, name: "a", offset: 0, field: NcType::Int, shape: &[] };
    let value = Values::User(POINT, vec![0; 16]);
    for user in [
        Edit::DefVlen { group: ROOT, name: "u", base: NcType::User(POINT) },
        Edit::DefVar { group: H, name: "u", xtype: NcType::User(POINT), dims: &[] },
        Edit::PutAtt { group: H, var: None, name: "u", values: &value },
        Edit::PutAtt { group: H, var: Some(TEMP), name: "u", values: &value },
    ] {
        let mut model = sample::model();
        model.apply(&user).unwrap();
        assert_eq!(sample::apply(&mut model, &field).unwrap_err().kind(), ErrorKind::TypDefined, "{user:?}");
    }
    let mut model = sample::model();
    model.apply(&Edit::DefCompound { group: ROOT, name: "outer", size: 16 }).unwrap();
    let outer = NcType::User(TypeId(5));
    model
        .apply(&Edit::InsertField {
            ty: TypeId(5),
            name: "p",
            offset: 0,
            field: NcType::User(POINT),
            shape: &[],
        })
        .unwrap();
    let back = Edit::InsertField { ty: POINT, name: "o", offset: 0, field: outer, shape: &[] };
    assert_eq!(sample::apply(&mut model, &back).unwrap_err().kind(), ErrorKind::TypDefined);
}

#[test]
fn names_come_out_in_nfc() {
    let mut model = Model::new();
    let decomposed = "a\u{308}";
    for edit in [
        Edit::DefDim { group: ROOT, name: decomposed, len: Some(1) },
        Edit::DefGroup { parent: ROOT, name: decomposed },
        Edit::DefVar { group: G, name: decomposed, xtype: NcType::Int, dims: &[] },
        Edit::DefEnum { group: ROOT, name: "e\u{308}", base: NcType::Int },
        Edit::InsertEnum { ty: TypeId(0), name: decomposed, value: 1 },
        Edit::PutAtt { group: G, var: None, name: decomposed, values: &Values::text("") },
    ] {
        model.apply(&edit).unwrap();
    }
    let text = format!("{model:?}");
    assert!(!text.contains("\\u{308}") && !text.contains('\u{308}'), "{text}");
    for edit in [
        Edit::DefDim { group: ROOT, name: decomposed, len: Some(1) },
        Edit::DefGroup { parent: ROOT, name: decomposed },
        Edit::InsertEnum { ty: TypeId(0), name: "ä", value: 2 },
    ] {
        assert_eq!(sample::apply(&mut model, &edit).unwrap_err().kind(), ErrorKind::NameInUse, "{edit:?}");
    }
    model.apply(&Edit::DelAtt { group: G, var: None, name: decomposed }).unwrap();
    assert!(model.group(G).unwrap().atts.is_empty());
}

#[test]
fn a_cell_keeps_snapshots_apart_and_rolls_back() {
    let cell = ModelCell::new(sample::model());
    let before = cell.snapshot();
    cell.begin();
    cell.apply(&Edit::RenameVar { var: TEMP, name: "air" }).unwrap();
    cell.apply(&Edit::RenameVar { var: TEMP, name: "s" }).unwrap_err();
    assert_eq!(before.var(TEMP).unwrap().name, "temp");
    assert_eq!(cell.snapshot().var(TEMP).unwrap().name, "air");
    assert!(cell.roll_back());
    assert_eq!(cell.snapshot().var(TEMP).unwrap().name, "temp");
    assert!(!cell.roll_back());
    cell.begin();
    cell.apply(&Edit::RenameVar { var: TEMP, name: "air" }).unwrap();
    assert!(cell.end());
    assert!(!cell.end() && !cell.roll_back());
    assert_eq!(cell.snapshot().var(TEMP).unwrap().name, "air");
}

/// A definition in one call equals many insertions. It fails if one insertion fails.
#[test]
fn a_whole_definition_equals_single_insertions() {
    let field = |name: &str, offset, ty, shape: &[u32]| Field {
        name: name.to_owned(),
        offset,
        ty,
        shape: shape.to_vec(),
    };
    let long = [1; 1025];
    for fields in [
        vec![],
        vec![
            field("mid", 4, NcType::Int, &[]),
            field("low", 0, NcType::Byte, &[4]),
            field("high", 8, NcType::Double, &[]),
        ],
        vec![field("a", 0, NcType::Int, &[]), field("a", 4, NcType::Int, &[])],
        vec![field("a\u{308}", 0, NcType::Int, &[]), field("ä", 4, NcType::Int, &[])],
        vec![field("a", 4, NcType::Int, &[]), field("b", 2, NcType::Int, &[])],
        vec![field("a", 0, NcType::Byte, &[16]), field("b", 3, NcType::Byte, &[])],
        vec![field("a", 3, NcType::Byte, &[]), field("b", 3, NcType::Byte, &[])],
        vec![field("a", 13, NcType::Int, &[])],
        vec![field("a", usize::MAX, NcType::Int, &[])],
        vec![field("a", 0, NcType::Int, &[0])],
        vec![field("a", 0, NcType::Byte, &long)],
        vec![field("a", 0, NcType::Byte, &[u32::MAX, u32::MAX, u32::MAX])],
        vec![field("a/b", 0, NcType::Byte, &[])],
        vec![field("a", 0, NcType::User(TypeId(99)), &[])],
        vec![field("a", 0, NcType::User(LIST), &[])],
        vec![field("a", 0, NcType::String, &[]), field("b", 8, NcType::String, &[])],
    ] {
        let mut model = sample::model();
        let Defined::Type(ty) =
            model.apply(&Edit::DefCompound { group: ROOT, name: "new", size: 16 }).unwrap()
        else {
            panic!("no type")
        };
        let expected = fields.iter().try_for_each(|Field { name, offset, ty: field, shape }| {
            model.apply(&Edit::InsertField { ty, name, offset: *offset, field: *field, shape }).map(drop)
        });
        let mut whole = sample::model();
        let found = whole.define_compound(ROOT, "new", 16, fields.clone());
        match expected {
            Ok(()) => assert_eq!(whole.user_type(found.unwrap()).unwrap(), model.user_type(ty).unwrap()),
            Err(error) => {
                assert_eq!(found.unwrap_err().kind(), error.kind(), "{fields:?}");
                assert!(whole.find_type(ROOT, "new").is_none());
            }
        }
    }
    let member = |name: &str, value| EnumMember { name: name.to_owned(), value };
    for members in [
        vec![],
        vec![member("red", 1), member("blue", -128)],
        vec![member("red", 1), member("red", 2)],
        vec![member("a\u{308}", 1), member("ä", 2)],
        vec![member("red", 1), member("blue", 1)],
        vec![member("red", 128)],
        vec![member("", 1)],
    ] {
        let mut model = sample::model();
        let Defined::Type(ty) =
            model.apply(&Edit::DefEnum { group: ROOT, name: "new", base: NcType::Byte }).unwrap()
        else {
            panic!("no type")
        };
        let expected = members.iter().try_for_each(|EnumMember { name, value }| {
            model.apply(&Edit::InsertEnum { ty, name, value: *value }).map(drop)
        });
        let mut whole = sample::model();
        let found = whole.define_enum(ROOT, "new", NcType::Byte, members.clone());
        match expected {
            Ok(()) => assert_eq!(whole.user_type(found.unwrap()).unwrap(), model.user_type(ty).unwrap()),
            Err(error) => assert_eq!(found.unwrap_err().kind(), error.kind(), "{members:?}"),
        }
    }
    let mut model = sample::model();
    assert_eq!(
        model.define_enum(ROOT, "new", NcType::Float, Vec::new()).unwrap_err().kind(),
        ErrorKind::BadType
    );
    assert_eq!(model.define_compound(ROOT, "new", 0, Vec::new()).unwrap_err().kind(), ErrorKind::Inval);
    assert_eq!(model.define_compound(ROOT, "a/b", 1, Vec::new()).unwrap_err().kind(), ErrorKind::BadName);
}

/// As a tree these are 2^41 types.
#[test]
fn alignment_looks_at_each_type_once() {
    let mut model = sample::model();
    let mut ty = NcType::Short;
    for i in 0..40 {
        let field = |name: &str, offset| Field { name: name.to_owned(), offset, ty, shape: Vec::new() };
        let half = model.type_size(ty).unwrap().unwrap();
        let fields = vec![field("a", 0), field("b", half)];
        ty = NcType::User(model.define_compound(ROOT, &format!("t{i}"), 2 * half, fields).unwrap());
    }
    assert_eq!(model.extent(ty).unwrap(), (1 << 41, 2));
}

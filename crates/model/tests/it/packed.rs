//! Elements of user-defined types: the packed and memory forms against a tree of values, and invalid bytes.

use nczarr_model::{
    Edit, EnumMember, ErrorKind, Field, GroupId, Item, Model, NcString, NcType, PackedPart, Packer,
    TypeClass, TypeId, UserType, Values, VarFill,
};
use proptest::prelude::*;

fn add(model: &mut Model, name: &str, class: TypeClass) -> NcType {
    NcType::User(model.add_type(UserType { name: name.to_owned(), group: GroupId::ROOT, class }).unwrap())
}

/// Builds a compound of these fields with gaps of 3 bytes.
fn compound(model: &mut Model, name: &str, fields: &[(&str, NcType, &[u32])]) -> NcType {
    let mut size = 0;
    let mut list = Vec::new();
    for &(name, ty, shape) in fields {
        let one = model.type_size(ty).unwrap().unwrap_or(if ty == NcType::String { 8 } else { 16 });
        let count: usize = shape.iter().map(|&len| len as usize).product();
        list.push(Field { name: name.to_owned(), offset: size, ty, shape: shape.to_vec() });
        size += one * count + 3;
    }
    add(model, name, TypeClass::Compound { size, fields: list })
}

/// Builds nested types of every class.
fn types() -> (Model, Vec<NcType>) {
    let mut m = Model::new();
    let member = |name: &str, value| EnumMember { name: name.to_owned(), value };
    let colour =
        TypeClass::Enum { base: NcType::Short, members: vec![member("red", -1), member("blue", 300)] };
    let colour = add(&mut m, "colour", colour);
    let blob = add(&mut m, "blob", TypeClass::Opaque { size: 3 });
    let shorts = add(&mut m, "shorts", TypeClass::Vlen { base: NcType::Short });
    let strings = add(&mut m, "strings", TypeClass::Vlen { base: NcType::String });
    let rows = add(&mut m, "rows", TypeClass::Vlen { base: shorts });
    let point =
        compound(&mut m, "point", &[("x", NcType::Float, &[]), ("c", colour, &[2]), ("b", blob, &[])]);
    let note = compound(
        &mut m,
        "note",
        &[("id", NcType::UInt64, &[]), ("text", NcType::String, &[2]), ("l", shorts, &[])],
    );
    let all = compound(
        &mut m,
        "all",
        &[("p", point, &[2, 1]), ("n", note, &[2]), ("t", NcType::Char, &[4]), ("r", rows, &[])],
    );
    let notes = add(&mut m, "notes", TypeClass::Vlen { base: all });
    (m, vec![NcType::Double, NcType::String, colour, blob, shorts, strings, rows, point, note, all, notes])
}

/// Generates a random element of a type.
fn element(model: &Model, ty: NcType) -> BoxedStrategy<Item> {
    let many = |ty, len: std::ops::Range<usize>| prop::collection::vec(element(model, ty), len);
    let int = |range: std::ops::RangeInclusive<i64>| range.prop_map(|value| Item::Int(value.into())).boxed();
    match ty {
        NcType::Byte => int(-128..=127),
        NcType::Short => int(-32768..=32767),
        NcType::UInt64 => any::<u64>().prop_map(|value| Item::Int(value.into())).boxed(),
        NcType::Float => {
            any::<f32>().prop_filter("equal to itself", |v| !v.is_nan()).prop_map(Item::Float).boxed()
        }
        NcType::Double => {
            any::<f64>().prop_filter("equal to itself", |v| !v.is_nan()).prop_map(Item::Double).boxed()
        }
        NcType::Char => any::<u8>().prop_map(Item::Char).boxed(),
        NcType::String => {
            prop::collection::vec(any::<u8>(), 0..20).prop_map(|text| Item::String(text.into())).boxed()
        }
        NcType::User(id) => match &model.user_type(id).unwrap().class {
            TypeClass::Enum { base, .. } => element(model, *base),
            TypeClass::Opaque { size } => {
                prop::collection::vec(any::<u8>(), *size).prop_map(Item::Opaque).boxed()
            }
            TypeClass::Vlen { base } => many(*base, 0..4).prop_map(Item::Vlen).boxed(),
            TypeClass::Compound { fields, .. } => {
                let part = |field: &Field| {
                    many(field.ty, field.count().unwrap()..field.count().unwrap() + 1).boxed()
                };
                fields.iter().map(part).collect::<Vec<_>>().prop_map(Item::Compound).boxed()
            }
        },
        other => panic!("{other:?}"),
    }
}

/// A second, independent version of the packed form that the module documents.
fn expected(model: &Model, ty: NcType, item: &Item, inside: bool) -> Vec<u8> {
    let counted = |bytes: Vec<u8>| match inside {
        true => [&(bytes.len() as u64).to_ne_bytes()[..], &bytes].concat(),
        false => bytes,
    };
    match (item, ty) {
        (Item::String(text), _) => counted(text.as_bytes().to_vec()),
        (Item::Vlen(items), _) => {
            let base = model.vlen_base(ty).unwrap().unwrap();
            counted(items.iter().flat_map(|item| expected(model, base, item, true)).collect())
        }
        (Item::Compound(parts), NcType::User(id)) if !model.is_fixed(ty).unwrap() => {
            let TypeClass::Compound { fields, .. } = &model.user_type(id).unwrap().class else { panic!() };
            let part = |(field, part): (&Field, &Vec<Item>)| -> Vec<u8> {
                part.iter().flat_map(|item| expected(model, field.ty, item, true)).collect()
            };
            fields.iter().zip(parts).flat_map(part).collect()
        }
        _ => match model.values(ty, std::slice::from_ref(item)).unwrap() {
            Values::User(_, bytes) => bytes,
            atomic => atomic.to_native_bytes().unwrap(),
        },
    }
}

proptest! {
    #[test]
    fn elements_survive_packing(
        (place, items) in (0..11usize).prop_flat_map(|place| {
            let (model, types) = types();
            (Just(place), prop::collection::vec(element(&model, types[place]), 0..4))
        }),
        cut in any::<prop::sample::Index>(),
        flip in any::<(prop::sample::Index, u8)>(),
    ) {
        let (model, types) = types();
        let ty = types[place];
        let values = model.values(ty, &items).unwrap();
        prop_assert_eq!(model.count(&values).unwrap(), items.len());
        prop_assert_eq!(model.items(&values).unwrap(), items.clone());
        prop_assert_eq!(matches!(&values, Values::Packed(..)), !ty.is_atomic() && !model.is_fixed(ty).unwrap());
        let Values::Packed(_, list) = &values else { return Ok(()) };
        for (packed, item) in list.iter().zip(&items) {
            let bytes = packed.as_bytes();
            prop_assert_eq!(bytes, expected(&model, ty, item, false));
            // The packer gives the same bytes part by part.
            let mut again = Packer::default();
            model.parts(ty, bytes, &mut |part| {
                match part {
                    PackedPart::Fixed { bytes, .. } => again.fixed(bytes),
                    PackedPart::String(text) => again.string(text),
                    PackedPart::Open => again.open(),
                    PackedPart::Close => again.close(),
                }
                Ok(())
            }).unwrap();
            let again = again.finish();
            prop_assert_eq!(again.as_bytes(), bytes);
            // Damaged bytes give an error or another element. Both readers agree.
            let mut damaged = bytes.to_vec();
            if !damaged.is_empty() {
                let at = flip.0.index(damaged.len());
                damaged[at] ^= flip.1;
            }
            for bytes in [&bytes[..cut.index(bytes.len() + 1)], &damaged] {
                prop_assert_eq!(model.check_packed(ty, bytes).is_ok(), model.item(ty, bytes).is_ok());
            }
        }
    }
}

#[test]
fn lengths_from_outside_are_limits() {
    let (model, types) = types();
    let strings = types[5];
    for bytes in [&u64::MAX.to_ne_bytes()[..], &9u64.to_ne_bytes(), &[0; 7], &(u64::MAX - 7).to_ne_bytes()] {
        assert_eq!(model.check_packed(strings, bytes).unwrap_err().kind(), ErrorKind::BadType);
        assert_eq!(model.item(strings, bytes).unwrap_err().kind(), ErrorKind::BadType);
    }
    assert_eq!(model.check_packed(types[4], &[0; 3]).unwrap_err().kind(), ErrorKind::BadType);
}

/// A type that contains itself cannot be defined. A model built from a file may still claim one.
#[test]
fn circular_types_are_errors() {
    let mut model = Model::new();
    let (a, b) = (NcType::User(TypeId(0)), NcType::User(TypeId(1)));
    let field = |ty| vec![Field { name: "f".to_owned(), offset: 0, ty, shape: vec![] }];
    assert_eq!(add(&mut model, "a", TypeClass::Compound { size: 8, fields: field(b) }), a);
    assert_eq!(add(&mut model, "b", TypeClass::Compound { size: 8, fields: field(a) }), b);
    let list = add(&mut model, "list", TypeClass::Vlen { base: NcType::User(TypeId(2)) });
    assert!(model.is_fixed(a).unwrap());
    assert!(!model.is_fixed(list).unwrap());
    assert_eq!(model.item(a, &[0; 8]).unwrap_err().kind(), ErrorKind::BadType);
    let deep = (0..200).fold(NcString::new(), |inner, _| {
        let mut packer = Packer::default();
        packer.string(inner.as_bytes());
        packer.finish()
    });
    assert_eq!(model.check_packed(list, deep.as_bytes()).unwrap_err().kind(), ErrorKind::BadType);
    assert_eq!(model.item(list, deep.as_bytes()).unwrap_err().kind(), ErrorKind::BadType);
    // Each type contains the previous one twice. A blank element would be as large as the tree.
    let mut ty = NcType::String;
    for i in 0..40 {
        let fields = ["f", "g"].map(|name| Field { name: name.to_owned(), offset: 0, ty, shape: vec![] });
        ty = add(&mut model, &format!("t{i}"), TypeClass::Compound { size: 8, fields: fields.to_vec() });
    }
    assert_eq!(model.blank(ty).unwrap_err().kind(), ErrorKind::BadType);
}

#[test]
fn blank_values_are_one_element() {
    let (model, types) = types();
    for &ty in &types[2..] {
        let blank = model.blank(ty).unwrap();
        assert_eq!(model.count(&blank).unwrap(), 1);
        let again = model.values(ty, &model.items(&blank).unwrap()).unwrap();
        assert_eq!(again, blank, "{ty:?}");
    }
    assert_eq!(model.blank(NcType::Int).unwrap_err().kind(), ErrorKind::BadType);
}

#[test]
fn attributes_and_fills_are_elements_in_the_form_of_their_type() {
    let (mut model, types) = types();
    let (NcType::User(shorts), NcType::User(point)) = (types[4], types[7]) else { panic!() };
    let put = |model: &mut Model, values: &Values| {
        let edit = Edit::PutAtt { group: GroupId::ROOT, var: None, name: "a", values };
        model.apply(&edit).map_err(|error| error.kind())
    };
    let packed = |ty, bytes: &[u8]| Values::Packed(ty, vec![bytes.into()]);
    assert!(put(&mut model, &packed(shorts, &[1, 0, 2, 0])).is_ok());
    assert!(put(&mut model, &Values::Packed(shorts, vec![])).is_ok());
    assert_eq!(put(&mut model, &packed(shorts, &[1])), Err(ErrorKind::BadType));
    assert_eq!(put(&mut model, &Values::User(shorts, vec![1, 0])), Err(ErrorKind::BadType));
    assert_eq!(put(&mut model, &packed(point, &[0; 4])), Err(ErrorKind::BadType));
    let var =
        model.apply(&Edit::DefVar { group: GroupId::ROOT, name: "v", xtype: types[4], dims: &[] }).unwrap();
    let nczarr_model::Defined::Var(var) = var else { panic!() };
    let fill = packed(shorts, &[7, 0]);
    model.apply(&Edit::DefVarFill { var, no_fill: false, value: Some(&fill) }).unwrap();
    assert_eq!(model.var(var).unwrap().fill, VarFill::Value(fill));
    let two = Values::Packed(shorts, vec![NcString::new(), NcString::new()]);
    let edit = Edit::DefVarFill { var, no_fill: false, value: Some(&two) };
    assert_eq!(model.apply(&edit).unwrap_err().kind(), ErrorKind::Inval);
}

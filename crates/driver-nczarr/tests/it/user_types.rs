//! User-defined types in NCZarr V2 and V3: round trips of random types, the specified form, and errors.

use std::sync::Arc;

use nczarr_dispatch::{Dataset, MemMut, MemRef};
use nczarr_model::{
    Defined, Edit, ErrorKind, FILL_VALUE, GroupId, Item, Model, NcString, NcType, Slab, TypeClass, TypeId,
    Values, VarFill, VarId,
};
use nczarr_nc_table::NcDispatch;
use nczarr_runtime::OutBuf;
use proptest::prelude::*;

use crate::support::{TestMap, create, open, open_rw, var};

const ROOT: GroupId = GroupId::ROOT;

/// A random number generator with a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit.max(1)
    }
}

fn model_of(dataset: &dyn Dataset) -> Arc<Model> {
    dataset.model().snapshot()
}

fn define(dataset: &dyn Dataset, edit: &Edit<'_>) -> TypeId {
    match dataset.edit(edit).unwrap() {
        Defined::Type(id) => id,
        other => panic!("{other:?}"),
    }
}

/// Defines a random type of any class from the existing types.
fn any_type(dataset: &dyn Dataset, random: &mut Random, group: GroupId, name: &str) -> TypeId {
    const INTEGERS: [NcType; 4] = [NcType::Byte, NcType::UShort, NcType::Int, NcType::UInt64];
    let known: Vec<NcType> = model_of(dataset).user_types().map(|(id, _)| NcType::User(id)).collect();
    let any = |random: &mut Random| match random.below(3) {
        0 => NcType::ATOMIC[random.below(12)],
        _ if known.is_empty() => NcType::ATOMIC[random.below(12)],
        _ => known[random.below(known.len())],
    };
    match random.below(5) {
        0 => define(dataset, &Edit::DefOpaque { group, name, size: 1 + random.below(9) }),
        1 => {
            let base = INTEGERS[random.below(4)];
            let ty = define(dataset, &Edit::DefEnum { group, name, base });
            for value in 0..=random.below(3) {
                let name = format!("m {value}");
                dataset.edit(&Edit::InsertEnum { ty, name: &name, value: value as i128 * 50 }).unwrap();
            }
            ty
        }
        2 => define(dataset, &Edit::DefVlen { group, name, base: any(random) }),
        _ => {
            let (mut end, mut fields) = (random.below(3), Vec::new());
            for i in 0..=random.below(4) {
                let ty = any(random);
                let (size, align) = model_of(dataset).extent(ty).unwrap();
                let shape: Vec<u32> = (0..random.below(3)).map(|_| 1 + random.below(3) as u32).collect();
                let count: usize = shape.iter().map(|&len| len as usize).product();
                // Some writers of compounds do not align fields.
                let offset = if random.below(2) == 0 { end } else { end.next_multiple_of(align) };
                end = offset + size * count;
                fields.push((format!("f{i}"), offset, ty, shape));
            }
            let size = end + random.below(4);
            let ty = define(dataset, &Edit::DefCompound { group, name, size });
            if random.below(3) == 0 {
                fields.reverse();
            }
            for (name, offset, field, shape) in &fields {
                dataset.edit(&Edit::InsertField { ty, name, offset: *offset, field: *field, shape }).unwrap();
            }
            ty
        }
    }
}

/// Returns a random element of a type.
fn any_item(model: &Model, ty: NcType, random: &mut Random) -> Item {
    let bits = random.next();
    match ty {
        NcType::Byte => Item::Int((bits as i8).into()),
        NcType::UByte => Item::Int((bits as u8).into()),
        NcType::Short => Item::Int((bits as i16).into()),
        NcType::UShort => Item::Int((bits as u16).into()),
        NcType::Int => Item::Int((bits as i32).into()),
        NcType::UInt => Item::Int((bits as u32).into()),
        NcType::Int64 => Item::Int((bits as i64).into()),
        NcType::UInt64 => Item::Int(bits.into()),
        NcType::Float => Item::Float([f32::from_bits(bits as u32), 1.5, f32::INFINITY][random.below(3)]),
        NcType::Double => Item::Double([f64::from_bits(bits), -0.0, f64::NAN][random.below(3)]),
        NcType::Char => Item::Char([b'a', 0, 0xe9, b'"'][random.below(4)]),
        NcType::String => Item::String(["", "a", "b\0c", "日本 \"q\""][random.below(4)].into()),
        NcType::User(id) => match &model.user_type(id).unwrap().class {
            TypeClass::Enum { base, .. } => any_item(model, *base, random),
            TypeClass::Opaque { size } => Item::Opaque((0..*size).map(|_| random.next() as u8).collect()),
            TypeClass::Vlen { base } => {
                Item::Vlen((0..random.below(4)).map(|_| any_item(model, *base, random)).collect())
            }
            TypeClass::Compound { fields, .. } => {
                let part = |field: &nczarr_model::Field| {
                    (0..field.count().unwrap()).map(|_| any_item(model, field.ty, random)).collect()
                };
                Item::Compound(fields.iter().map(part).collect())
            }
        },
    }
}

fn any_values(model: &Model, ty: NcType, count: usize, random: &mut Random) -> Values {
    let items: Vec<Item> = (0..count).map(|_| any_item(model, ty, random)).collect();
    let values = model.values(ty, &items).unwrap();
    // Padding has no value.
    model.values(ty, &model.items(&values).unwrap()).unwrap()
}

fn put(
    dataset: &dyn Dataset,
    id: VarId,
    start: &[u64],
    count: &[u64],
    values: &Values,
) -> nczarr_model::Result<()> {
    match values {
        Values::Packed(_, list) | Values::String(list) => {
            dataset.put_vara(id, start, count, MemRef::Strings(list))
        }
        other => {
            let bytes = other.to_native_bytes().unwrap();
            dataset.put_vara(id, start, count, MemRef::Fixed { ty: other.nc_type(), bytes: &bytes })
        }
    }
}

fn get(dataset: &dyn Dataset, id: VarId) -> Values {
    let model = model_of(dataset);
    let shape = model.shape(id).unwrap();
    let (ty, start, len) =
        (model.var(id).unwrap().xtype, vec![0; shape.len()], shape.iter().product::<u64>() as usize);
    let slab = Slab::new(&start, &shape).check(&shape, |_| false).unwrap();
    if !model.is_fixed(ty).unwrap() {
        let mut list = vec![NcString::new(); len];
        dataset.data(id).unwrap().get(&slab, MemMut::Strings(&mut list)).unwrap();
        let NcType::User(id) = ty else { return Values::String(list) };
        return Values::Packed(id, list);
    }
    let mut bytes = vec![0; len * model.type_size(ty).unwrap().unwrap()];
    dataset
        .get_vara(id, &start, &shape, MemMut::Fixed { ty, out: &mut OutBuf::from_slice(&mut bytes) })
        .unwrap();
    Values::from_native_bytes(ty, &bytes).unwrap()
}

/// Describes a value as text with type names and NaN bits. So elements of two datasets can be compared.
fn describe_values(model: &Model, values: &Values) -> String {
    fn bits(item: &Item) -> String {
        match item {
            Item::Float(value) => format!("f{:08x}", value.to_bits()),
            Item::Double(value) => format!("d{:016x}", value.to_bits()),
            Item::Vlen(items) => format!("[{}]", items.iter().map(bits).collect::<Vec<_>>().join(",")),
            Item::Compound(parts) => {
                let part = |part: &Vec<Item>| part.iter().map(bits).collect::<Vec<_>>().join(",");
                format!("{{{}}}", parts.iter().map(part).collect::<Vec<_>>().join(";"))
            }
            other => format!("{other:?}"),
        }
    }
    let ty = values.nc_type();
    let items = model.items(values).unwrap();
    format!("{} {}", describe_type(model, ty), items.iter().map(bits).collect::<Vec<_>>().join(" "))
}

fn describe_type(model: &Model, ty: NcType) -> String {
    let NcType::User(id) = ty else { return ty.name().to_owned() };
    let user = model.user_type(id).unwrap();
    let class = match &user.class {
        TypeClass::Compound { size, fields } => {
            let field = |field: &nczarr_model::Field| {
                format!("{}@{}:{}{:?}", field.name, field.offset, describe_type(model, field.ty), field.shape)
            };
            format!("{size}{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(","))
        }
        TypeClass::Vlen { base } => format!("({})*", describe_type(model, *base)),
        other => format!("{other:?}"),
    };
    format!("{}={class}", model.fqn(user.group, &user.name).unwrap())
}

/// Describes a whole dataset as text.
fn everything(dataset: &dyn Dataset) -> Vec<String> {
    let model = model_of(dataset);
    let mut all = Vec::new();
    for (_, group) in model.groups() {
        let types: Vec<&String> = group.types.keys().collect();
        all.push(format!("{} types {types:?}", group.name));
        all.extend(
            group
                .atts
                .iter()
                .map(|(name, values)| format!("{}:{name} {}", group.name, describe_values(&model, values))),
        );
    }
    all.extend(
        model
            .user_types()
            .map(|(id, _)| describe_type(&model, NcType::User(id)))
            .collect::<std::collections::BTreeSet<_>>(),
    );
    for id in model.groups().flat_map(|(_, group)| group.vars.values().copied().collect::<Vec<_>>()) {
        let var = model.var(id).unwrap();
        assert!(var.problem.is_none(), "{}: {:?}", var.name, var.problem);
        let fill = match &var.fill {
            VarFill::Value(value) => describe_values(&model, value),
            other => format!("{other:?}"),
        };
        all.push(format!("{} {} fill {fill}", var.name, describe_type(&model, var.xtype)));
        all.extend(
            var.atts
                .iter()
                .map(|(name, values)| format!("{}:{name} {}", var.name, describe_values(&model, values))),
        );
        all.push(describe_values(&model, &get(dataset, id)));
    }
    all
}

/// Returns the first pair of lines that differ.
fn differing(found: &[String], expected: &[String]) -> Option<(String, String)> {
    let at = found.iter().zip(expected).position(|(found, expected)| found != expected);
    match at {
        Some(at) => Some((found[at].clone(), expected[at].clone())),
        None => (found.len() != expected.len())
            .then(|| (format!("{}", found.len()), format!("{}", expected.len()))),
    }
}

/// Fills a dataset with random types and values.
fn make(dataset: &dyn Dataset, random: &mut Random) {
    let x = dataset.def_dim(ROOT, "x", Some(3)).unwrap();
    let t = dataset.def_dim(ROOT, "t", None).unwrap();
    let group = dataset.def_grp(ROOT, "g").unwrap();
    let mut written = Vec::new();
    for i in 0..1 + random.below(7) {
        let place = if random.below(3) == 0 { group } else { ROOT };
        let id = any_type(dataset, random, place, &format!("T {i}"));
        let ty = NcType::User(id);
        let dims = [vec![x], vec![t, x], vec![]][random.below(3)].clone();
        let owner = if random.below(4) == 0 { group } else { ROOT };
        let model = model_of(dataset);
        let v = match dataset.def_var(owner, &format!("v{i}"), ty, &dims) {
            Ok(v) => v,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NotNc4, "{error}");
                continue;
            }
        };
        if random.below(2) == 0 {
            dataset.def_var_endian(v, nczarr_model::Endian::Big).unwrap();
        }
        let fill = any_values(&model, ty, 1, random);
        match random.below(4) {
            0 => dataset.def_var_fill(v, false, Some(&fill)).unwrap(),
            1 => dataset.def_var_fill(v, true, None).unwrap(),
            _ => {}
        }
        for (owner, var) in [(ROOT, Some(v)), (ROOT, None), (group, None)] {
            let count = random.below(3);
            let values = any_values(&model, ty, count, random);
            let name = format!("a{i}");
            match dataset.put_att(owner, var, &name, ty, &values) {
                Ok(()) => {}
                Err(error) => assert_eq!(error.kind(), ErrorKind::Char, "{error}"),
            }
        }
        written.push((v, ty, dims.len()));
    }
    dataset._enddef(0, 0, 0, 0).unwrap();
    for (v, ty, rank) in written {
        let (start, count): (&[u64], &[u64]) = match rank {
            2 => (&[1, 1], &[2, 2]),
            1 => (&[1], &[2]),
            _ => (&[], &[]),
        };
        let values = any_values(&model_of(dataset), ty, count.iter().product::<u64>() as usize, random);
        put(dataset, v, start, count, &values).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn any_types_with_any_values_come_back(seed in 1u64.., v3 in any::<bool>()) {
        let map = TestMap::new(&[]);
        let mode = if v3 { "nczarr,v3" } else { "nczarr,v2" };
        let dataset = create(&map, mode);
        make(&*dataset, &mut Random(seed));
        let before = everything(&*dataset);
        dataset.close().unwrap();
        let dataset = open(&map).unwrap();
        prop_assert_eq!(differing(&everything(&*dataset), &before), None);
        dataset.close().unwrap();
        // The dataset is rewritten with one more type.
        let dataset = open_rw(&map);
        let more = define(&*dataset, &Edit::DefOpaque { group: ROOT, name: "more", size: 2 });
        dataset.put_att(ROOT, None, "more", NcType::User(more), &Values::User(more, vec![1, 2])).unwrap();
        let before = everything(&*dataset);
        dataset.close().unwrap();
        prop_assert_eq!(differing(&everything(&*open(&map).unwrap()), &before), None);
    }

    /// Any damage to the documents gives an error or a dataset.
    #[test]
    fn damaged_definitions_are_errors(seed in 1u64.., v3 in any::<bool>(), flips in prop::collection::vec(any::<(u16, u16, u8)>(), 1..4)) {
        let map = TestMap::new(&[]);
        let dataset = create(&map, if v3 { "nczarr,v3" } else { "nczarr,v2" });
        make(&*dataset, &mut Random(seed));
        dataset.close().unwrap();
        let keys: Vec<String> = map.keys().into_iter().filter(|key| key.contains(".z") || key.contains("zarr.json")).collect();
        for (key, at, byte) in flips {
            let key = &keys[key as usize % keys.len()];
            let mut bytes = map.text(key).into_bytes();
            let at = at as usize % bytes.len();
            bytes[at] = b"0123456789{}[],:\"/abc-"[byte as usize % 22];
            if let Ok(text) = String::from_utf8(bytes) {
                map.put(key, text.as_bytes());
            }
        }
        let Ok(dataset) = open(&map) else { return Ok(()) };
        let model = model_of(&*dataset);
        for (id, var) in model.vars().filter(|(_, var)| var.problem.is_none()) {
            let shape = model.shape(id).unwrap();
            if shape.iter().product::<u64>() > 100 {
                continue;
            }
            let (start, len) = (vec![0; shape.len()], shape.iter().product::<u64>() as usize);
            let slab = Slab::new(&start, &shape).check(&shape, |_| false).unwrap();
            let Ok(data) = dataset.data(id) else { continue };
            if model.is_fixed(var.xtype).unwrap() {
                let size = model.type_size(var.xtype).unwrap().unwrap();
                let mut bytes = vec![0; len * size.min(1 << 16)];
                let _ = data.get(&slab, MemMut::Fixed { ty: var.xtype, out: &mut OutBuf::from_slice(&mut bytes) });
            } else {
                let mut list = vec![NcString::new(); len];
                if data.get(&slab, MemMut::Strings(&mut list)).is_ok() && !var.xtype.is_atomic() {
                    for element in &list {
                        model.check_packed(var.xtype, element.as_bytes()).unwrap();
                    }
                }
            }
        }
    }
}

/// One type of each class, and the stored form of its elements.
#[test]
fn elements_are_stored_as_the_specification_says() {
    for v3 in [false, true] {
        let map = TestMap::new(&[]);
        let d = create(&map, if v3 { "nczarr,v3" } else { "nczarr,v2" });
        let x = d.def_dim(ROOT, "x", Some(2)).unwrap();
        let g = d.def_grp(ROOT, "g").unwrap();
        let colour = define(&*d, &Edit::DefEnum { group: g, name: "colour", base: NcType::Short });
        d.edit(&Edit::InsertEnum { ty: colour, name: "red", value: -1 }).unwrap();
        let blob = define(&*d, &Edit::DefOpaque { group: ROOT, name: "blob", size: 3 });
        let point = define(&*d, &Edit::DefCompound { group: ROOT, name: "point", size: 16 });
        for (name, offset, field) in
            [("x", 0, NcType::Double), ("c", 8, NcType::User(colour)), ("n", 12, NcType::Int)]
        {
            d.edit(&Edit::InsertField { ty: point, name, offset, field, shape: &[] }).unwrap();
        }
        let note = define(&*d, &Edit::DefCompound { group: ROOT, name: "note", size: 16 });
        for (name, offset, field) in [("id", 0, NcType::Int), ("text", 8, NcType::String)] {
            d.edit(&Edit::InsertField { ty: note, name, offset, field, shape: &[] }).unwrap();
        }
        let row = define(&*d, &Edit::DefVlen { group: ROOT, name: "row", base: NcType::Int });
        let notes = define(&*d, &Edit::DefVlen { group: ROOT, name: "notes", base: NcType::User(note) });
        d.put_att(ROOT, None, "note.text.strlen", NcType::Int, &Values::Int(vec![5])).unwrap();
        for (name, ty) in [("c", colour), ("b", blob), ("p", point), ("n", note), ("r", row), ("l", notes)] {
            d.def_var(ROOT, name, NcType::User(ty), &[x]).unwrap();
        }
        d._enddef(0, 0, 0, 0).unwrap();
        let model = model_of(&*d);
        let text = |text: &str| Item::Compound(vec![vec![Item::Int(7)], vec![Item::String(text.into())]]);
        let n = var(&*d, "n");
        put(&*d, n, &[0], &[1], &model.values(NcType::User(note), &[text("fives")]).unwrap()).unwrap();
        // A put refuses longer text. It never cuts it.
        for (bad, what) in
            [("sixsix", "the text is too long (expected at most 5 bytes, found 6)"), ("a\0", "ends with NUL")]
        {
            let error = put(&*d, n, &[1], &[1], &model.values(NcType::User(note), &[text(bad)]).unwrap())
                .unwrap_err();
            assert!(error.kind() == ErrorKind::Inval && error.to_string().contains(what), "{error}");
        }
        let r = var(&*d, "r");
        put(
            &*d,
            r,
            &[0],
            &[1],
            &model.values(NcType::User(row), &[Item::Vlen(vec![Item::Int(258)])]).unwrap(),
        )
        .unwrap();
        put(
            &*d,
            var(&*d, "l"),
            &[0],
            &[1],
            &model.values(NcType::User(notes), &[Item::Vlen(vec![text("any length")])]).unwrap(),
        )
        .unwrap();
        d.close().unwrap();
        let (group, sub) = match v3 {
            false => {
                (map.json(".zattrs")["_nczarr_group"].clone(), map.json("g/.zattrs")["_nczarr_group"].clone())
            }
            true => {
                let of = |key: &str| map.json(key)["attributes"]["_nczarr_group"].clone();
                (of("zarr.json"), of("g/zarr.json"))
            }
        };
        assert_eq!(
            sub["types"],
            serde_json::json!([{"name": "colour", "class": "enum", "base": "short", "members": [{"name": "red", "value": -1}]}])
        );
        assert_eq!(
            group["types"],
            serde_json::json!([
                {"name": "blob", "class": "opaque", "size": 3},
                {"name": "point", "class": "compound", "size": 16, "fields": [
                    {"name": "x", "type": "double", "offset": 0, "shape": []},
                    {"name": "c", "type": "/g/colour", "offset": 8, "shape": []},
                    {"name": "n", "type": "int", "offset": 12, "shape": []}]},
                {"name": "note", "class": "compound", "size": 16, "fields": [
                    {"name": "id", "type": "int", "offset": 0, "shape": []},
                    {"name": "text", "type": "string", "offset": 8, "shape": []}]},
                {"name": "row", "class": "vlen", "base": "int"},
                {"name": "notes", "class": "vlen", "base": "/note"}
            ])
        );
        if v3 {
            let ty = |name: &str| map.json(&format!("{name}/zarr.json"))["data_type"].clone();
            assert_eq!(ty("c"), serde_json::json!("int16"));
            assert_eq!(
                ty("b"),
                serde_json::json!({"name": "raw_bytes", "configuration": {"length_bytes": 3}})
            );
            assert_eq!(
                ty("p"),
                serde_json::json!({"name": "raw_bytes", "configuration": {"length_bytes": 16}})
            );
            let text =
                serde_json::json!({"name": "null_terminated_bytes", "configuration": {"length_bytes": 5}});
            let fields = serde_json::json!([{"name": "id", "data_type": "int32"}, {"name": "text", "data_type": text}]);
            assert_eq!(ty("n"), serde_json::json!({"name": "struct", "configuration": {"fields": fields}}));
            assert_eq!(ty("r"), serde_json::json!("variable_length_bytes"));
            assert_eq!(ty("l"), serde_json::json!("variable_length_bytes"));
        } else {
            let ty = |name: &str| map.json(&format!("{name}/.zarray"))["dtype"].clone();
            assert_eq!(ty("c"), serde_json::json!("<i2"));
            assert_eq!(ty("b"), serde_json::json!("|V3"));
            assert_eq!(ty("p"), serde_json::json!([["x", "<f8"], ["c", "<i2"], ["", "|V2"], ["n", "<i4"]]));
            assert_eq!(ty("n"), serde_json::json!([["id", "<i4"], ["text", "|S5"]]));
            assert_eq!((ty("r"), ty("l")), (serde_json::json!("|O"), serde_json::json!("|O")));
            let filters = |name: &str| map.json(&format!("{name}/.zarray"))["filters"].clone();
            assert_eq!(filters("r"), serde_json::json!([{"id": "vlen-bytes"}]));
            assert_eq!(filters("l"), serde_json::json!([{"id": "vlen-bytes"}]));
        }
        let chunk = |name: &str| map.objects()[&format!("{name}/{}", if v3 { "c/0" } else { "0" })].clone();
        assert_eq!(chunk("n")[..9], *b"\x07\0\0\0fives");
        // There are two elements. The first has 4 bytes.
        assert_eq!(chunk("r"), b"\x02\0\0\0\x04\0\0\0\x02\x01\0\0\0\0\0\0");
        assert_eq!(chunk("l")[..20], *b"\x02\0\0\0\x16\0\0\0\x07\0\0\0\x0a\0\0\0\0\0\0\0");
        let d = open(&map).unwrap();
        assert!(d.model().snapshot().var(n).unwrap().atts.get(FILL_VALUE).is_none());
    }
}

#[test]
fn invalid_type_definitions_are_errors() {
    let group = |types: &str| {
        format!(
            "{{\"_nczarr_superblock\": {{\"version\": \"2.0.0\"}}, \"_nczarr_group\": {{\"dimensions\": {{}}, \"arrays\": [], \
             \"groups\": [], \"types\": {types}}}}}"
        )
    };
    for (types, what) in [
        ("5", "types"),
        ("[5]", "types"),
        ("[{}]", "name"),
        (r#"[{"name": "a"}]"#, "class"),
        (r#"[{"name": "a", "class": "union"}]"#, "union"),
        (r#"[{"name": "a", "class": "opaque"}]"#, "size"),
        (r#"[{"name": "a", "class": "opaque", "size": 0}]"#, "size"),
        (r#"[{"name": "a", "class": "opaque", "size": 9999999999999}]"#, "size"),
        (r#"[{"name": "a/b", "class": "opaque", "size": 1}]"#, "a/b"),
        (
            r#"[{"name": "a", "class": "opaque", "size": 1}, {"name": "a", "class": "opaque", "size": 1}]"#,
            "once",
        ),
        (r#"[{"name": "a", "class": "vlen", "base": "/a"}]"#, "contains itself"),
        (
            r#"[{"name": "a", "class": "vlen", "base": "/b"}, {"name": "b", "class": "vlen", "base": "/a"}]"#,
            "itself",
        ),
        (r#"[{"name": "a", "class": "vlen", "base": "/c"}]"#, "/c"),
        (r#"[{"name": "a", "class": "vlen", "base": "complex"}]"#, "complex"),
        (r#"[{"name": "a", "class": "enum", "base": "float", "members": []}]"#, "float"),
        (
            r#"[{"name": "a", "class": "enum", "base": "byte", "members": [{"name": "x", "value": 200}]}]"#,
            "200",
        ),
        (r#"[{"name": "a", "class": "enum", "base": "byte", "members": {"x": 2}}]"#, "members"),
        (
            r#"[{"name": "a", "class": "compound", "size": 4, "fields": [{"name": "f", "type": "int"}]}]"#,
            "offset",
        ),
        (
            r#"[{"name": "a", "class": "compound", "size": 4, "fields": [{"name": "f", "type": "int", "offset": 1}]}]"#,
            "beyond",
        ),
        (
            r#"[{"name": "a", "class": "compound", "size": 4, "fields": [{"name": "f", "type": "int", "offset": 0, "shape": [4294967295, 4294967295]}]}]"#,
            "beyond",
        ),
        (
            r#"[{"name": "a", "class": "compound", "size": 4, "fields": [{"name": "f", "type": "int", "offset": 0, "shape": [-1]}]}]"#,
            "shape",
        ),
    ] {
        let map = TestMap::new(&[(".zgroup", r#"{"zarr_format": 2}"#), (".zattrs", &group(types))]);
        let error = open(&map).unwrap_err();
        assert!(error.kind() == ErrorKind::NcZarr && error.to_string().contains(what), "{types}: {error}");
    }
}

/// Types may refer to later types in this group or another.
#[test]
fn definitions_stand_in_any_order() {
    let types = r#"[{"name": "a", "class": "vlen", "base": "/c"}, {"name": "b", "class": "vlen", "base": "/a"},
        {"name": "c", "class": "opaque", "size": 1}]"#;
    let group = format!(
        "{{\"_nczarr_superblock\": {{\"version\": \"2.0.0\"}}, \"_nczarr_group\": {{\"dimensions\": {{}}, \"arrays\": [], \
         \"groups\": [], \"types\": {types}}}}}"
    );
    let map = TestMap::new(&[(".zgroup", r#"{"zarr_format": 2}"#), (".zattrs", &group)]);
    let d = open(&map).unwrap();
    assert_eq!(model_of(&*d).root().types.len(), 3);
}

#[test]
fn an_array_that_misfits_its_type_leaves_others_readable() {
    let map = TestMap::new(&[]);
    let d = create(&map, "nczarr,v2");
    let blob = define(&*d, &Edit::DefOpaque { group: ROOT, name: "blob", size: 3 });
    let row = define(&*d, &Edit::DefVlen { group: ROOT, name: "row", base: NcType::Int });
    for (name, ty) in [("a", blob), ("b", blob), ("c", row), ("d", row)] {
        d.def_var(ROOT, name, NcType::User(ty), &[]).unwrap();
    }
    d.close().unwrap();
    let swap = |key: &str, from: &str, to: &str| {
        let text = map.text(key);
        assert!(text.contains(from), "{text}");
        map.put(key, text.replace(from, to).as_bytes());
    };
    swap("a/.zarray", "|V3", "|V4");
    swap("b/.zattrs", "/blob", "/blub");
    swap("c/.zarray", "{\"id\": \"vlen-bytes\"}", "{\"id\": \"vlen-array\", \"dtype\": \"<i8\"}");
    swap("d/.zarray", "{\"id\": \"vlen-bytes\"}", "{\"id\": \"vlen-array\", \"dtype\": \"<i4\"}");
    let d = open(&map).unwrap();
    let model = model_of(&*d);
    for (name, what) in [("a", "|V4"), ("b", "/blub"), ("c", "/row")] {
        let problem = model.var(var(&*d, name)).unwrap().problem.clone().unwrap();
        assert!(
            problem.kind() == ErrorKind::NcZarr && problem.to_string().contains(what),
            "{name}: {problem}"
        );
    }
    assert_eq!(
        get(&*d, var(&*d, "d")),
        Values::Packed(model.find_type(ROOT, "row").unwrap(), vec![NcString::new()])
    );
}

/// Other writers may store nested compounds and arrays with the same bytes.
#[test]
fn records_of_any_fields_are_read() {
    let map = TestMap::new(&[]);
    let d = create(&map, "nczarr,v2");
    let inner = define(&*d, &Edit::DefCompound { group: ROOT, name: "inner", size: 6 });
    for (name, offset, field) in [("a", 0, NcType::Int), ("b", 4, NcType::Short)] {
        d.edit(&Edit::InsertField { ty: inner, name, offset, field, shape: &[] }).unwrap();
    }
    let outer = define(&*d, &Edit::DefCompound { group: ROOT, name: "outer", size: 24 });
    let fields = [
        ("x", 0, NcType::Float, &[2u32][..]),
        ("i", 8, NcType::User(inner), &[2]),
        ("t", 21, NcType::Char, &[3]),
    ];
    for (name, offset, field, shape) in fields {
        d.edit(&Edit::InsertField { ty: outer, name, offset, field, shape }).unwrap();
    }
    let v = d.def_var(ROOT, "v", NcType::User(outer), &[]).unwrap();
    let inner = |a: i32| Item::Compound(vec![vec![Item::Int(a.into())], vec![Item::Int(-2)]]);
    let text = b"abc".map(Item::Char).to_vec();
    let item =
        Item::Compound(vec![vec![Item::Float(1.5), Item::Float(-0.5)], vec![inner(7), inner(8)], text]);
    let values = model_of(&*d).values(NcType::User(outer), &[item]).unwrap();
    put(&*d, v, &[], &[], &values).unwrap();
    d.close().unwrap();
    let raw = map.text("v/.zarray");
    assert!(raw.contains("\"|V24\""), "{raw}");
    let record = r#"[["x","<f4",[2]],["i",[["a","<i4"],["b","<i2"]],[2]],["","|V1"],["t","|S3"]]"#;
    map.put("v/.zarray", raw.replace("\"|V24\"", record).as_bytes());
    assert_eq!(get(&*open(&map).unwrap(), v), values);
    map.put("v/.zarray", raw.replace("\"|V24\"", &record.replace("<i2", "<u2")).as_bytes());
    assert!(open(&map).unwrap().model().snapshot().var(v).unwrap().problem.is_some());
}

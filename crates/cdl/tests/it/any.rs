//! Round trips of random datasets, compared item by item.
//!
//! A seed selects the edits that make a dataset. The test turns each model into a list of statements, one for
//! each definition, attribute and element, and compares the lists.

use std::fmt::Write as _;

use nczarr_cdl::{Cdl, Facts, Options};
use nczarr_model::{DimId, Edit, GroupId, Item, Model, NcString, NcType, TypeClass, Values};
use proptest::prelude::*;

use crate::again::{Kept, each};

/// A sequence of numbers from a seed.
struct Dice(u64);

impl Dice {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.bits() % end.max(1) as u64) as usize
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Returns a unique name.
    fn name(&mut self, number: usize) -> String {
        let word = self.one(&[
            "a", "data", "group", "Zeit", "日本", "a b", "1st", "x-y.z@+", "q?[{(", "_p", "NaN", "types",
        ]);
        format!("{word}{number}")
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let plain = self.below(2) == 0;
        (0..len).map(|_| if plain { self.one(b"abc 0'\"\\/;{,") } else { self.bits() as u8 }).collect()
    }

    fn string(&mut self) -> NcString {
        let len = self.below(6);
        self.bytes(len).into()
    }
}

const ATOMIC: [NcType; 12] = [
    NcType::Byte,
    NcType::Char,
    NcType::Short,
    NcType::Int,
    NcType::Float,
    NcType::Double,
    NcType::UByte,
    NcType::UShort,
    NcType::UInt,
    NcType::Int64,
    NcType::UInt64,
    NcType::String,
];

/// Returns an element of a type.
fn item(model: &Model, dice: &mut Dice, ty: NcType) -> Item {
    let bits = dice.bits();
    let near = (bits % 7) as i128 - 3;
    match ty {
        NcType::Byte => Item::Int((bits as i8).into()),
        NcType::Short => Item::Int((bits as i16).into()),
        NcType::Int => Item::Int(if bits & 8 == 0 { near } else { (bits as i32).into() }),
        NcType::Int64 => Item::Int(if bits & 8 == 0 { near } else { (bits as i64).into() }),
        NcType::UByte => Item::Int((bits as u8).into()),
        NcType::UShort => Item::Int((bits as u16).into()),
        NcType::UInt => Item::Int((bits as u32).into()),
        NcType::UInt64 => Item::Int(bits.into()),
        // CDL prints a value next to the fill value as the fill value.
        NcType::Float => {
            Item::Float(dice.one(&[0.0, -0.0, 1.5, f32::NAN, f32::INFINITY, -0.1, 1e-40, 3.4e38]))
        }
        NcType::Double => {
            Item::Double(dice.one(&[0.0, -0.0, 1e300, f64::NAN, -f64::INFINITY, 0.1, 5e-324, 12345678.9]))
        }
        NcType::Char => Item::Char(dice.one(&[b'a', b'"', b'\n', 0xe9, b'0', b'\\', 0x7f, 0])),
        NcType::String => Item::String(dice.string()),
        NcType::User(id) => match &model.user_type(id).unwrap().class {
            TypeClass::Enum { members, .. } => Item::Int(members[dice.below(members.len())].value),
            TypeClass::Opaque { size } => Item::Opaque(dice.bytes(*size)),
            TypeClass::Vlen { base } => {
                let len = dice.below(4);
                let mut list: Vec<Item> = (0..len).map(|_| item(model, dice, *base)).collect();
                // CDL does not print zeros at the end of text.
                while *base == NcType::Char && list.last() == Some(&Item::Char(0)) {
                    list.pop();
                }
                Item::Vlen(list)
            }
            TypeClass::Compound { fields, .. } => {
                let of = |field: &nczarr_model::Field| {
                    (0..field.count().unwrap()).map(|_| item(model, dice, field.ty)).collect()
                };
                Item::Compound(fields.iter().map(of).collect())
            }
        },
    }
}

fn define(kept: &mut Kept, edit: &Edit<'_>) -> nczarr_model::Defined {
    kept.model.apply(edit).unwrap_or_else(|error| panic!("{edit:?}: {error}"))
}

/// Defines a new type of any class. Its elements have known types.
fn define_type(kept: &mut Kept, dice: &mut Dice, group: GroupId, name: &str, known: &mut Vec<NcType>) {
    let base = known[dice.below(known.len())];
    let made = match dice.below(4) {
        0 => define(kept, &Edit::DefOpaque { group, name, size: 1 + dice.below(20) }),
        1 => define(kept, &Edit::DefVlen { group, name, base }),
        2 => {
            let base = dice.one(&[NcType::Byte, NcType::UShort, NcType::Int, NcType::UInt64]);
            let made = define(kept, &Edit::DefEnum { group, name, base });
            let nczarr_model::Defined::Type(ty) = made else { panic!("{made:?}") };
            for number in 0..1 + dice.below(4) {
                let name = dice.name(number);
                define(kept, &Edit::InsertEnum { ty, name: &name, value: number as i128 * 3 + 1 });
            }
            made
        }
        _ => {
            let mut fields = Vec::new();
            let (mut end, mut widest) = (0usize, 1);
            for number in 0..1 + dice.below(4) {
                let ty = known[dice.below(known.len())];
                let shape: Vec<u32> = (0..dice.below(3)).map(|_| 1 + dice.below(3) as u32).collect();
                let (size, align) = kept.model.extent(ty).unwrap();
                let offset = end.next_multiple_of(align);
                end = offset + size * shape.iter().product::<u32>() as usize;
                widest = widest.max(align);
                fields.push((dice.name(number), ty, shape, offset));
            }
            let made = define(kept, &Edit::DefCompound { group, name, size: end.next_multiple_of(widest) });
            let nczarr_model::Defined::Type(ty) = made else { panic!("{made:?}") };
            for (name, field, shape, offset) in &fields {
                define(kept, &Edit::InsertField { ty, name, offset: *offset, field: *field, shape });
            }
            made
        }
    };
    let nczarr_model::Defined::Type(id) = made else { panic!("{made:?}") };
    known.push(NcType::User(id));
}

fn values(model: &Model, dice: &mut Dice, ty: NcType, count: usize) -> Values {
    let mut items: Vec<Item> = (0..count).map(|_| item(model, dice, ty)).collect();
    while ty == NcType::Char && items.last() == Some(&Item::Char(0)) {
        items.pop();
    }
    model.values(ty, &items).unwrap()
}

/// Makes a dataset.
fn any(seed: u64) -> Kept {
    let (mut kept, mut dice) = (Kept::default(), Dice(seed));
    let (mut groups, mut dims, mut types) =
        (vec![GroupId::ROOT], Vec::<(GroupId, DimId)>::new(), ATOMIC.to_vec());
    for number in 0..dice.below(4) {
        let parent = groups[dice.below(groups.len())];
        let name = dice.name(number);
        if let nczarr_model::Defined::Group(id) = define(&mut kept, &Edit::DefGroup { parent, name: &name }) {
            groups.push(id);
        }
    }
    // The order is that of a text: groups as printed, and in each group types before variables.
    let mut order = Vec::new();
    walk(&kept.model, GroupId::ROOT, &mut order);
    for (at, &group) in order.iter().enumerate() {
        for number in 0..dice.below(4) {
            let name = format!("t{at}{}", dice.name(number));
            define_type(&mut kept, &mut dice, group, &name, &mut types);
        }
        for number in 0..dice.below(4) {
            let len = (dice.below(3) > 0).then(|| 1 + dice.below(4) as u64);
            let name = format!("d{at}{}", dice.name(number));
            if let nczarr_model::Defined::Dim(id) =
                define(&mut kept, &Edit::DefDim { group, name: &name, len })
            {
                dims.push((group, id));
            }
        }
        let seen: Vec<DimId> =
            dims.iter().filter(|(of, _)| around(&kept.model, *of, group)).map(|(_, id)| *id).collect();
        for number in 0..dice.below(5) {
            let xtype = types[dice.below(types.len())];
            let used: Vec<DimId> =
                (0..dice.below(4)).filter_map(|_| seen.get(dice.below(seen.len().max(1))).copied()).collect();
            let name = format!("v{at}{}", dice.name(number));
            let made = define(&mut kept, &Edit::DefVar { group, name: &name, xtype, dims: &used });
            let nczarr_model::Defined::Var(var) = made else { panic!("{made:?}") };
            attributes(&mut kept, &mut dice, (group, Some(var)), &types);
            if dice.below(3) == 0 && ![NcType::Char, NcType::Float, NcType::Double].contains(&xtype) {
                let fill = values(&kept.model, &mut dice, xtype, 1);
                define(&mut kept, &Edit::PutAtt { group, var: Some(var), name: "_FillValue", values: &fill });
            }
        }
        attributes(&mut kept, &mut dice, (group, None), &types);
    }
    // Every variable along an unlimited dimension is written up to the end of that dimension.
    for (_, dim) in dims {
        let len = 1 + dice.below(3) as u64;
        let used = kept.model.vars().any(|(_, var)| var.dims.contains(&dim) && !var.dims.is_empty());
        if kept.model.dim(dim).unwrap().unlimited && used {
            kept.model.dim(dim).unwrap().grow(len);
        }
    }
    fill(&mut kept, &mut dice);
    kept
}

fn fill(kept: &mut Kept, dice: &mut Dice) {
    let all: Vec<_> = kept.model.vars().map(|(id, var)| (id, var.xtype)).collect();
    for (var, xtype) in all {
        let shape = kept.model.shape(var).unwrap();
        for index in each(&vec![0; shape.len()], &shape) {
            let mut item = item(&kept.model, dice, xtype);
            // CDL has a word for a null string, but not within other types.
            if xtype == NcType::String
                && dice.below(5) == 0
                && !kept.model.var(var).unwrap().atts.contains_key("_FillValue")
            {
                item = Item::String(NcString::nil());
            }
            // CDL does not print zeros at the end of text. Along an unlimited dimension they would be lost.
            let dims = &kept.model.var(var).unwrap().dims;
            if item == Item::Char(0) && dims.iter().any(|&dim| kept.model.dim(dim).unwrap().unlimited) {
                item = Item::Char(b'z');
            }
            kept.data.insert((var.0, index), item);
        }
    }
}

fn attributes(
    kept: &mut Kept,
    dice: &mut Dice,
    (group, var): (GroupId, Option<nczarr_model::VarId>),
    types: &[NcType],
) {
    for number in 0..dice.below(4) {
        let name = format!("a{}", dice.name(number));
        let ty = types[dice.below(types.len())];
        let count = 1 + dice.below(3);
        let values = values(&kept.model, dice, ty, count);
        define(kept, &Edit::PutAtt { group, var, name: &name, values: &values });
    }
}

fn walk(model: &Model, group: GroupId, order: &mut Vec<GroupId>) {
    order.push(group);
    for &child in model.group(group).unwrap().groups.values() {
        walk(model, child, order);
    }
}

fn around(model: &Model, outer: GroupId, inner: GroupId) -> bool {
    let mut at = Some(inner);
    while let Some(group) = at.filter(|&group| group != outer) {
        at = model.group(group).unwrap().parent;
    }
    at.is_some()
}

fn say(item: &Item) -> String {
    match item {
        Item::String(text) if text.is_nil() => "nil".to_owned(),
        Item::String(text) => format!("{:?}", text.as_bytes()),
        Item::Float(value) if value.is_nan() => "nan".to_owned(),
        Item::Double(value) if value.is_nan() => "nan".to_owned(),
        Item::Vlen(items) => format!("vlen {:?}", items.iter().map(say).collect::<Vec<_>>()),
        Item::Compound(parts) => {
            let parts: Vec<Vec<String>> = parts.iter().map(|part| part.iter().map(say).collect()).collect();
            format!("{parts:?}")
        }
        other => format!("{other:?}"),
    }
}

fn path(model: &Model, group: GroupId, name: &str) -> String {
    format!("/{}/{name}", model.group_names(group).unwrap().join("/"))
}

fn name_of(model: &Model, ty: NcType) -> String {
    match ty {
        NcType::User(id) => {
            let user = model.user_type(id).unwrap();
            path(model, user.group, &user.name)
        }
        atomic => atomic.name().to_owned(),
    }
}

/// Returns all contents as statements.
fn statements(kept: &Kept) -> Vec<String> {
    let model = &kept.model;
    let mut all = Vec::new();
    let mut order = Vec::new();
    walk(model, GroupId::ROOT, &mut order);
    let atts = |all: &mut Vec<String>, owner: &str, atts: &nczarr_model::Att| {
        for (name, values) in atts {
            let items: Vec<String> = model.items(values).unwrap().iter().map(say).collect();
            all.push(format!("{owner}:{name} = {} {items:?}", name_of(model, values.nc_type())));
        }
    };
    for id in order {
        let group = model.group(id).unwrap();
        all.push(format!("group {}", path(model, id, "")));
        for &ty in group.types.values() {
            let user = model.user_type(ty).unwrap();
            let mut line = format!("type {} ", path(model, id, &user.name));
            match &user.class {
                TypeClass::Compound { size, fields } => {
                    write!(line, "{size}").unwrap();
                    for field in fields {
                        let ty = name_of(model, field.ty);
                        write!(line, " {} {ty} {} {:?}", field.name, field.offset, field.shape).unwrap();
                    }
                }
                TypeClass::Vlen { base } => write!(line, "of {}", name_of(model, *base)).unwrap(),
                other => write!(line, "{other:?}").unwrap(),
            }
            all.push(line);
        }
        for &dim in group.dims.values() {
            let dim = model.dim(dim).unwrap();
            all.push(format!("dim {} {} {}", path(model, id, &dim.name), dim.len(), dim.unlimited));
        }
        for &var in group.vars.values() {
            let described = model.var(var).unwrap();
            let name = path(model, id, &described.name);
            let dims: Vec<String> = described
                .dims
                .iter()
                .map(|&dim| model.dim(dim).unwrap())
                .map(|dim| path(model, dim.group, &dim.name))
                .collect();
            all.push(format!("var {name} {} {dims:?}", name_of(model, described.xtype)));
            atts(&mut all, &name, &described.atts);
            let shape = model.shape(var).unwrap();
            for index in each(&vec![0; shape.len()], &shape) {
                // An unwritten element has the fill value.
                let fill = described.fill_value().and_then(|fill| model.items(&fill).unwrap().pop());
                let item = kept.data.get(&(var.0, index.clone())).cloned().or(fill);
                let item = item.as_ref().map_or("nothing".to_owned(), say);
                all.push(format!("{name}{index:?} = {item}"));
            }
        }
        atts(&mut all, &path(model, id, ""), &group.atts);
    }
    all
}

fn comes_back(seed: u64) {
    let mut kept = any(seed);
    let (model, before) = (kept.model.clone(), statements(&kept));
    let options = Options {
        name: "any".to_owned(),
        float_digits: Some(9),
        double_digits: Some(17),
        ..Options::default()
    };
    let facts = Facts { format: "netCDF-4".to_owned(), ..Facts::default() };
    let mut text = Vec::new();
    nczarr_cdl::print(&model, &facts, &options, &mut kept, &mut text).unwrap();
    let failure = |why: &str| format!("{why}\n{}", String::from_utf8_lossy(&text));
    let mut again = Kept::default();
    let read = Cdl::parse(&text).and_then(|cdl| cdl.build(&mut again));
    read.unwrap_or_else(|mistake| panic!("{}", failure(&mistake.to_string())));
    for (before, after) in before.iter().zip(&statements(&again)) {
        assert_eq!(before, after, "{}", failure(""));
    }
    assert_eq!(before.len(), statements(&again).len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_dataset_comes_back_from_its_text(seed: u64) {
        comes_back(seed);
    }
}

//! Parses values in braces and lists, and converts them to their type.

use nczarr_model::{GroupId, Item, NcString, NcType, TypeClass, Values};

use super::{Parser, Token, Tree};

impl Parser<'_> {
    /// Parses a list of values up to `;`.
    pub(super) fn values(&mut self) -> Vec<Tree> {
        let mut out = Vec::new();
        loop {
            match self.next() {
                Token::Mark(';', _) => return out,
                Token::Mark(',', _) => {}
                Token::Mark('{', _) => out.push(self.list()),
                Token::Name(name) => out.push(Tree::Name(name)),
                Token::Number(number) => out.push(Tree::Number(number)),
                Token::Text(text) => out.push(Tree::Text(text)),
                other => panic!("{other:?} among values at {}", self.at),
            }
        }
    }

    pub(super) fn list(&mut self) -> Tree {
        let mut out = Vec::new();
        loop {
            match self.next() {
                Token::Mark('}', _) => return Tree::List(out),
                Token::Mark(',', _) => {}
                Token::Mark('{', _) => out.push(self.list()),
                Token::Name(name) => out.push(Tree::Name(name)),
                Token::Number(number) => out.push(Tree::Number(number)),
                Token::Text(text) => out.push(Tree::Text(text)),
                other => panic!("{other:?} in a list at {}", self.at),
            }
        }
    }

    pub(super) fn typed(&self, ty: NcType, trees: &[Tree]) -> Values {
        let items: Vec<Item> = trees.iter().map(|tree| self.item(ty, tree)).collect();
        self.model.values(ty, &items).unwrap()
    }

    pub(super) fn item(&self, ty: NcType, tree: &Tree) -> Item {
        let NcType::User(id) = ty else {
            return match tree {
                Tree::Text(text) if ty == NcType::Char => Item::Char(text.first().copied().unwrap_or(0)),
                Tree::Text(text) => Item::String(NcString::from(text.clone())),
                Tree::Name(name) if ty == NcType::String && name == "NIL" => Item::String(NcString::nil()),
                Tree::Name(name) if ty == NcType::String && name == "_" => Item::String(NcString::new()),
                Tree::Number(number) | Tree::Name(number) => number_item(ty, number),
                Tree::List(_) => panic!("{tree:?} is no {}", ty.name()),
            };
        };
        match (&self.model.user_type(id).unwrap().class, tree) {
            (TypeClass::Enum { base, members }, Tree::Name(name)) => {
                let _ = base;
                let member = members.iter().find(|member| member.name == *name);
                Item::Int(member.unwrap_or_else(|| panic!("no member {name}")).value)
            }
            (TypeClass::Opaque { .. }, Tree::Number(number)) => {
                let hex = &number[2..];
                Item::Opaque(
                    (0..hex.len() / 2)
                        .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
                        .collect(),
                )
            }
            (TypeClass::Vlen { base }, Tree::List(items)) => {
                Item::Vlen(items.iter().map(|item| self.item(*base, item)).collect())
            }
            (TypeClass::Compound { fields, .. }, Tree::List(items)) => Item::Compound(
                fields
                    .iter()
                    .zip(items)
                    .map(|(field, item)| match (field.shape.is_empty(), item) {
                        (true, item) => vec![self.item(field.ty, item)],
                        (false, Tree::List(items)) if field.ty == NcType::Char => {
                            let Some(Tree::Text(text)) = items.first() else { panic!("{items:?}") };
                            let len = field.shape.iter().product::<u32>() as usize;
                            (0..len).map(|i| Item::Char(text.get(i).copied().unwrap_or(0))).collect()
                        }
                        (false, Tree::List(items)) => {
                            items.iter().map(|item| self.item(field.ty, item)).collect()
                        }
                        (false, item) => panic!("{item:?} for field {}", field.name),
                    })
                    .collect(),
            ),
            (class, tree) => panic!("{tree:?} for {class:?}"),
        }
    }

    pub(super) fn var_data(&mut self, group: GroupId, name: &str, trees: Vec<Tree>) {
        let id = self.model.find_var(group, name).unwrap_or_else(|| panic!("no variable {name}"));
        let var = self.model.var(id).unwrap();
        let shape = self.model.shape(id).unwrap();
        let braces = var.dims.iter().skip(1).filter(|&&dim| self.model.dim(dim).unwrap().unlimited).count();
        let mut trees = trees;
        for _ in 0..braces {
            trees = trees
                .into_iter()
                .flat_map(|tree| {
                    if let Tree::List(items) = tree { items } else { panic!("{tree:?} without braces") }
                })
                .collect();
        }
        let mut items = Vec::new();
        if var.xtype == NcType::Char {
            let columns = shape.last().copied().unwrap_or(1) as usize;
            let mut row = Vec::new();
            let mut open = false;
            for tree in trees {
                let Tree::Text(text) = tree else { panic!("{tree:?} for text") };
                row.extend_from_slice(&text);
                open = text.ends_with(b"\n");
                if !open {
                    row.resize(columns, 0);
                    items.extend(row.drain(..).map(Item::Char));
                }
            }
            assert!(!open);
        } else {
            let fill = var.atts.get("_FillValue").cloned().or_else(|| nczarr_model::fill::default(var.xtype));
            for tree in &trees {
                items.push(match (tree, &fill) {
                    (Tree::Name(name), Some(Values::String(fill))) if name == "_" => {
                        Item::String(fill[0].clone())
                    }
                    (Tree::Name(name), Some(fill)) if name == "_" && !fill.nc_type().is_atomic() => {
                        self.model.items(fill).unwrap().remove(0)
                    }
                    (Tree::Name(name), Some(fill)) if name == "_" => match fill.scalar(0).unwrap() {
                        nczarr_model::Scalar::Int(value) => Item::Int(value),
                        nczarr_model::Scalar::Float(value) if var.xtype == NcType::Float => {
                            Item::Float(value as f32)
                        }
                        nczarr_model::Scalar::Float(value) => Item::Double(value),
                    },
                    (tree, _) => self.item(var.xtype, tree),
                });
            }
        }
        assert_eq!(items.len() as u64, shape.iter().product::<u64>(), "{name}");
        let ty = var.xtype;
        self.data.items.insert(id, items);
        self.data.shapes.insert(id, shape);
        self.data.types.insert(id, ty);
    }
}

/// Returns items of an atomic type as values.
pub(super) fn atomic_values(ty: NcType, items: &[Item]) -> Option<Values> {
    let int =
        |item: &Item| if let Item::Int(value) = item { *value } else { panic!("{item:?} is no integer") };
    Some(match ty {
        NcType::Byte => Values::Byte(items.iter().map(|i| int(i) as i8).collect()),
        NcType::Short => Values::Short(items.iter().map(|i| int(i) as i16).collect()),
        NcType::Int => Values::Int(items.iter().map(|i| int(i) as i32).collect()),
        NcType::UByte => Values::UByte(items.iter().map(|i| int(i) as u8).collect()),
        NcType::UShort => Values::UShort(items.iter().map(|i| int(i) as u16).collect()),
        NcType::UInt => Values::UInt(items.iter().map(|i| int(i) as u32).collect()),
        NcType::Int64 => Values::Int64(items.iter().map(|i| int(i) as i64).collect()),
        NcType::UInt64 => Values::UInt64(items.iter().map(|i| int(i) as u64).collect()),
        NcType::Float => Values::Float(
            items.iter().map(|i| if let Item::Float(v) = i { *v } else { panic!("{i:?}") }).collect(),
        ),
        NcType::Double => Values::Double(
            items.iter().map(|i| if let Item::Double(v) = i { *v } else { panic!("{i:?}") }).collect(),
        ),
        NcType::Char => Values::Char(
            items.iter().map(|i| if let Item::Char(v) = i { *v } else { panic!("{i:?}") }).collect(),
        ),
        NcType::String => Values::String(
            items.iter().map(|i| if let Item::String(v) = i { v.clone() } else { panic!("{i:?}") }).collect(),
        ),
        NcType::User(_) => return None,
    })
}

fn number_item(ty: NcType, number: &str) -> Item {
    let float = |text: &str| -> f64 {
        match text {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            text => text.parse().unwrap_or_else(|_| panic!("{text:?}")),
        }
    };
    let single = |text: &str| -> f32 {
        match text.strip_suffix('f').unwrap_or(text) {
            text @ ("NaN" | "Infinity" | "-Infinity") => float(text) as f32,
            text => text.parse().unwrap_or_else(|_| panic!("{text:?}")),
        }
    };
    match ty {
        NcType::Float => Item::Float(single(number)),
        NcType::Double => Item::Double(float(number)),
        _ => Item::Int(number.parse().unwrap_or_else(|_| panic!("{number:?} for {}", ty.name()))),
    }
}

pub(super) fn untyped(trees: &[Tree]) -> Values {
    let numbers: Vec<&str> = match trees {
        [Tree::Text(_), ..] => {
            let parts = trees
                .iter()
                .map(|tree| if let Tree::Text(text) = tree { text.as_slice() } else { panic!("{tree:?}") });
            return Values::Char(parts.collect::<Vec<_>>().concat());
        }
        trees => trees
            .iter()
            .map(
                |tree| {
                    if let Tree::Number(n) | Tree::Name(n) = tree { n.as_str() } else { panic!("{tree:?}") }
                },
            )
            .collect(),
    };
    for (suffix, ty) in [
        ("ULL", NcType::UInt64),
        ("LL", NcType::Int64),
        ("US", NcType::UShort),
        ("UB", NcType::UByte),
        ("U", NcType::UInt),
        ("s", NcType::Short),
        ("b", NcType::Byte),
        ("f", NcType::Float),
    ] {
        if numbers.iter().all(|number| number.ends_with(suffix)) {
            let items: Vec<Item> =
                numbers.iter().map(|n| number_item(ty, n.strip_suffix(suffix).unwrap())).collect();
            return atomic_values(ty, &items).unwrap();
        }
    }
    let float = numbers.iter().any(|number| number.contains(['.', 'e', 'N', 'I']));
    let ty = if float { NcType::Double } else { NcType::Int };
    atomic_values(ty, &numbers.iter().map(|n| number_item(ty, n)).collect::<Vec<_>>()).unwrap()
}

//! Reads CDL as the reference dump tool prints it, and only that: enough to print it again and compare.

use std::collections::HashMap;

use cdl::{Block, DataSource, Facts, Item};
use model::{
    Att, Chunking, DimId, Endian, EnumMember, Field, FilterSpec, GroupId, Model, NcString, NcType, Result, TypeClass,
    UserType, Values, Var, VarFill, VarId,
};

#[derive(Debug, Clone, PartialEq)]
enum Token {
    /// A name, its escapes resolved, and whether blanks stood before it.
    Name(String),
    Number(String),
    Text(Vec<u8>),
    /// One of `{}()=,;:` and whether a blank stood before it.
    Mark(char, bool),
    End,
}

/// A value as it is written.
#[derive(Debug, Clone)]
enum Tree {
    Name(String),
    Number(String),
    Text(Vec<u8>),
    List(Vec<Tree>),
}

/// A dataset that was read.
pub struct Parsed {
    pub name: String,
    pub model: Model,
    pub facts: Facts,
    pub data: Memory,
}

/// Data of variables, all of it, as items in C order.
#[derive(Default)]
pub struct Memory {
    items: HashMap<VarId, Vec<Item>>,
    shapes: HashMap<VarId, Vec<u64>>,
    types: HashMap<VarId, NcType>,
}

impl DataSource for Memory {
    fn read(&mut self, var: VarId, start: &[u64], count: &[u64]) -> Result<Block> {
        let shape = &self.shapes[&var];
        let items = &self.items[&var];
        let mut out = Vec::new();
        for at in 0..count.iter().product::<u64>() {
            let (mut rest, mut flat, mut scale) = (at, 0, 1);
            for dim in (0..shape.len()).rev() {
                flat += (start[dim] + rest % count[dim]) * scale;
                rest /= count[dim];
                scale *= shape[dim];
            }
            out.push(items[flat as usize].clone());
        }
        Ok(match atomic_values(self.types[&var], &out) {
            Some(values) => Block::Values(values),
            None => Block::Items(out),
        })
    }
}

/// Items of an atomic type as values.
fn atomic_values(ty: NcType, items: &[Item]) -> Option<Values> {
    let int = |item: &Item| if let Item::Int(value) = item { *value } else { panic!("{item:?} is no integer") };
    Some(match ty {
        NcType::Byte => Values::Byte(items.iter().map(|i| int(i) as i8).collect()),
        NcType::Short => Values::Short(items.iter().map(|i| int(i) as i16).collect()),
        NcType::Int => Values::Int(items.iter().map(|i| int(i) as i32).collect()),
        NcType::UByte => Values::UByte(items.iter().map(|i| int(i) as u8).collect()),
        NcType::UShort => Values::UShort(items.iter().map(|i| int(i) as u16).collect()),
        NcType::UInt => Values::UInt(items.iter().map(|i| int(i) as u32).collect()),
        NcType::Int64 => Values::Int64(items.iter().map(|i| int(i) as i64).collect()),
        NcType::UInt64 => Values::UInt64(items.iter().map(|i| int(i) as u64).collect()),
        NcType::Float => {
            Values::Float(items.iter().map(|i| if let Item::Float(v) = i { *v } else { panic!("{i:?}") }).collect())
        }
        NcType::Double => {
            Values::Double(items.iter().map(|i| if let Item::Double(v) = i { *v } else { panic!("{i:?}") }).collect())
        }
        NcType::Char => {
            Values::Char(items.iter().map(|i| if let Item::Char(v) = i { *v } else { panic!("{i:?}") }).collect())
        }
        NcType::String => Values::String(
            items.iter().map(|i| if let Item::String(v) = i { v.clone() } else { panic!("{i:?}") }).collect(),
        ),
        NcType::User(_) => return None,
    })
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    model: Model,
    facts: Facts,
    data: Memory,
    codecs: HashMap<VarId, String>,
    /// What the attribute lines say of filters, to be put in order when all are known.
    filters: HashMap<VarId, Vec<FilterSpec>>,
}

/// Reads a dataset; panics where the text is not what the reference prints.
pub fn parse(text: &[u8]) -> Parsed {
    let mut parser = Parser {
        text,
        at: 0,
        model: Model::new(),
        facts: Facts { classic: true, ..Facts::default() },
        data: Memory::default(),
        codecs: HashMap::new(),
        filters: HashMap::new(),
    };
    if find(text, b":_IsNetcdf4 = ").is_some() {
        parser.facts.classic = false;
    }
    parser.name_is("netcdf");
    let name = parser.name();
    parser.mark('{');
    parser.contents(GroupId::ROOT);
    assert_eq!(parser.next(), Token::End);
    for (var, filters) in std::mem::take(&mut parser.filters) {
        parser.model.var_mut(var).unwrap().filters = match parser.codecs.get(&var) {
            Some(codecs) => in_codec_order(filters, codecs),
            None => filters,
        };
    }
    Parsed { name, model: parser.model, facts: parser.facts, data: parser.data }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// Filters in the order of a `_Codecs` list, each with its codec.
fn in_codec_order(mut filters: Vec<FilterSpec>, codecs: &str) -> Vec<FilterSpec> {
    let inner = codecs.strip_prefix('[').unwrap().strip_suffix(']').unwrap();
    let mut out = Vec::new();
    for codec in inner.replace("},{", "}\n{").lines() {
        let id = match () {
            () if codec.contains("\"zlib\"") && !codec.contains("\"blosc\"") => Some(1),
            () if codec.contains("\"id\": \"shuffle\"") => Some(2),
            () if codec.contains("\"fletcher32\"") => Some(3),
            () => None,
        };
        let at = filters
            .iter()
            .position(|filter| match id {
                Some(_) => filter.hdf5_id == id,
                None => filter.hdf5_id.is_some_and(|id| id > 3),
            })
            .unwrap_or_else(|| panic!("no filter for {codec}"));
        let mut filter = filters.remove(at);
        filter.codec = Some(codec.replace(": ", ":").replace(", ", ","));
        out.push(filter);
    }
    assert!(filters.is_empty());
    out
}

impl Parser<'_> {
    fn peek(&mut self) -> Token {
        let at = self.at;
        let token = self.next();
        self.at = at;
        token
    }

    fn next(&mut self) -> Token {
        let from = self.at;
        loop {
            let rest = &self.text[self.at..];
            match rest.first() {
                None => return Token::End,
                Some(byte) if byte.is_ascii_whitespace() => self.at += 1,
                Some(b'/') if rest.starts_with(b"//") => {
                    self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                }
                Some(_) => break,
            }
        }
        let spaced = self.at > from;
        let byte = self.text[self.at];
        match byte {
            b'{' | b'}' | b'(' | b')' | b'=' | b',' | b';' | b':' | b'*' => {
                self.at += 1;
                Token::Mark(byte as char, spaced)
            }
            b'"' => Token::Text(self.quoted()),
            b'-' | b'.' | b'0'..=b'9' => {
                let len =
                    self.text[self.at..].iter().take_while(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b)).count();
                self.at += len;
                Token::Number(String::from_utf8(self.text[self.at - len..self.at].to_vec()).unwrap())
            }
            _ => {
                let mut name = Vec::new();
                while let Some(&byte) = self.text.get(self.at) {
                    match byte {
                        b'\\' => {
                            name.push(self.text[self.at + 1]);
                            self.at += 2;
                        }
                        byte if byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"_.+-@%/".contains(&byte) => {
                            name.push(byte);
                            self.at += 1;
                        }
                        _ => break,
                    }
                }
                assert!(!name.is_empty(), "unexpected {:?} at byte {}", byte as char, self.at);
                Token::Name(String::from_utf8(name).unwrap())
            }
        }
    }

    fn quoted(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.at += 1;
        loop {
            let byte = self.text[self.at];
            self.at += 1;
            match byte {
                b'"' => return out,
                b'\\' => {
                    let escape = self.text[self.at];
                    self.at += 1;
                    out.push(match escape {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'r' => b'\r',
                        b'b' => 8,
                        b'f' => 12,
                        b'v' => 11,
                        b'0'..=b'7' => {
                            self.at += 2;
                            let digits = std::str::from_utf8(&self.text[self.at - 3..self.at]).unwrap();
                            u8::from_str_radix(digits, 8).unwrap()
                        }
                        other => other,
                    });
                }
                other => out.push(other),
            }
        }
    }

    fn mark(&mut self, want: char) {
        let token = self.next();
        assert!(matches!(token, Token::Mark(mark, _) if mark == want), "{token:?} in place of {want:?} at {}", self.at);
    }

    fn is_mark(&mut self, want: char) -> bool {
        let yes = matches!(self.peek(), Token::Mark(mark, _) if mark == want);
        if yes {
            self.next();
        }
        yes
    }

    fn name(&mut self) -> String {
        match self.next() {
            Token::Name(name) => name,
            Token::Number(name) => name,
            other => panic!("{other:?} in place of a name at {}", self.at),
        }
    }

    fn name_is(&mut self, want: &str) {
        assert_eq!(self.name(), want);
    }

    fn number(&mut self) -> i128 {
        match self.next() {
            Token::Number(number) => number.parse().unwrap(),
            other => panic!("{other:?} in place of a number at {}", self.at),
        }
    }

    /// Whether the text goes on with a section title, which is then read.
    fn section(&mut self, title: &str) -> bool {
        let at = self.at;
        if self.peek() == Token::Name(title.to_owned()) {
            self.next();
            if self.peek() == Token::Mark(':', false) {
                self.next();
                return true;
            }
        }
        self.at = at;
        false
    }

    fn at_end_of_section(&mut self) -> bool {
        if matches!(self.peek(), Token::Mark('}', _)) {
            return true;
        }
        let at = self.at;
        let title = match self.next() {
            Token::Name(name) => ["dimensions", "variables", "data", "group"].contains(&name.as_str()),
            _ => false,
        };
        let ends = title && self.peek() == Token::Mark(':', false) && {
            self.next();
            // A title is followed by a line feed, or, for a group, by a blank; an attribute by its name.
            matches!(self.text.get(self.at), Some(b'\n' | b' '))
        };
        self.at = at;
        ends
    }

    fn contents(&mut self, group: GroupId) {
        if self.section("types") {
            while !self.at_end_of_section() && !self.at_attribute() {
                self.user_type(group);
            }
        }
        if self.section("dimensions") {
            while !self.at_end_of_section() && !self.at_attribute() {
                let name = self.name();
                self.mark('=');
                match self.next() {
                    Token::Number(len) => {
                        self.mark(';');
                        self.model.add_dim(group, &name, len.parse().unwrap(), false).unwrap();
                    }
                    Token::Name(word) => {
                        assert_eq!(word, "UNLIMITED");
                        self.mark(';');
                        let rest = &self.text[self.at..];
                        let open = find(rest, b"(").unwrap() + 1;
                        let close = find(rest, b" currently").unwrap();
                        let len = std::str::from_utf8(&rest[open..close]).unwrap().parse().unwrap();
                        self.model.add_dim(group, &name, len, true).unwrap();
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        self.section("variables");
        while !self.at_end_of_section() {
            self.declaration(group);
        }
        if self.section("data") {
            while !self.at_end_of_section() {
                let name = self.name();
                self.mark('=');
                let values = self.values();
                self.var_data(group, &name, values);
            }
        }
        while self.section("group") {
            let name = self.name();
            self.mark('{');
            let child = self.model.add_group(group, &name).unwrap();
            self.contents(child);
        }
        self.mark('}');
    }

    fn at_attribute(&mut self) -> bool {
        let at = self.at;
        let colon = match self.next() {
            Token::Mark(':', _) => true,
            Token::Name(_) => matches!(self.peek(), Token::Mark(':', _)),
            _ => false,
        };
        self.at = at;
        colon
    }

    fn find_type(&self, group: GroupId, name: &str) -> NcType {
        if let Some(ty) = NcType::ATOMIC.into_iter().find(|ty| ty.name() == name) {
            return ty;
        }
        let id = match name.rsplit_once('/') {
            Some((path, name)) => {
                let path = if path.is_empty() { "/" } else { path };
                let place = self.model.group_at(GroupId::ROOT, path).unwrap();
                self.model.find_type(place, name)
            }
            None => self.model.find_type(group, name),
        };
        NcType::User(id.unwrap_or_else(|| panic!("no type {name}")))
    }

    fn find_dim(&self, group: GroupId, name: &str) -> DimId {
        match name.rsplit_once('/') {
            Some((path, name)) => {
                let path = if path.is_empty() { "/" } else { path };
                let place = self.model.group_at(GroupId::ROOT, path).unwrap();
                self.model.find_dim(place, name).unwrap()
            }
            None => self.model.find_dim(group, name).unwrap_or_else(|| panic!("no dimension {name}")),
        }
    }

    fn user_type(&mut self, group: GroupId) {
        let first = self.name();
        let (name, class) = if first == "compound" {
            let name = self.name();
            self.mark('{');
            let (mut fields, mut offset) = (Vec::new(), 0);
            while !self.is_mark('}') {
                let ty = self.name();
                let ty = self.find_type(group, &ty);
                let field = self.name();
                let mut shape = Vec::new();
                if self.is_mark('(') {
                    while !self.is_mark(')') {
                        shape.push(self.number() as u32);
                        self.is_mark(',');
                    }
                }
                self.mark(';');
                fields.push(Field { name: field, offset, ty, shape: shape.clone() });
                let size = self.model.type_size(ty).unwrap().unwrap_or(16);
                offset += size * shape.iter().product::<u32>() as usize;
            }
            (name, TypeClass::Compound { size: offset, fields })
        } else if first == "opaque" {
            self.mark('(');
            let size = self.number() as usize;
            self.mark(')');
            (self.name(), TypeClass::Opaque { size })
        } else if self.is_mark('(') {
            self.mark('*');
            self.mark(')');
            let base = self.find_type(group, &first);
            (self.name(), TypeClass::Vlen { base })
        } else {
            self.name_is("enum");
            let base = self.find_type(group, &first);
            let name = self.name();
            self.mark('{');
            let mut members = Vec::new();
            while !self.is_mark('}') {
                let name = self.name();
                self.mark('=');
                members.push(EnumMember { name, value: self.number() });
                self.is_mark(',');
            }
            (name, TypeClass::Enum { base, members })
        };
        self.mark(';');
        self.model.add_type(UserType { name, group, class }).unwrap();
    }

    /// A variable or an attribute.
    fn declaration(&mut self, group: GroupId) {
        if self.is_mark(':') {
            return self.attribute(group, None, None);
        }
        let first = self.name();
        match self.peek() {
            Token::Mark(':', false) => {
                self.next();
                let var = self.model.find_var(group, &first).unwrap();
                self.attribute(group, Some(var), None);
            }
            Token::Mark(':', true) => {
                self.next();
                let ty = self.find_type(group, &first);
                self.attribute(group, None, Some(ty));
            }
            _ => {
                let name = self.name();
                // One reference text has types of one name in a group and in the group around it, and prints the simple
                // name for both; it calls the variable of the outer one so that it can be told.
                let place = if name.starts_with("rootc") { GroupId::ROOT } else { group };
                let ty = self.find_type(place, &first);
                if self.is_mark(':') {
                    let var = self.model.find_var(group, &name).unwrap();
                    return self.attribute(group, Some(var), Some(ty));
                }
                let mut dims = Vec::new();
                if self.is_mark('(') {
                    while !self.is_mark(')') {
                        let dim = self.name();
                        dims.push(self.find_dim(group, &dim));
                        self.is_mark(',');
                    }
                }
                self.mark(';');
                let var = Var { name, group, xtype: ty, dims, ..Var::default() };
                self.model.add_var(var).unwrap();
            }
        }
    }

    fn attribute(&mut self, group: GroupId, var: Option<VarId>, ty: Option<NcType>) {
        let name = self.name();
        self.mark('=');
        let trees = self.values();
        if self.special(var, &name, &trees) {
            return;
        }
        let values = match ty {
            Some(ty) => self.typed(ty, &trees),
            None => untyped(&trees),
        };
        let atts: &mut Att = match var {
            Some(var) => &mut self.model.var_mut(var).unwrap().atts,
            None => &mut self.model.group_mut(group).unwrap().atts,
        };
        assert!(atts.insert(name, values).is_none());
    }

    fn special(&mut self, var: Option<VarId>, name: &str, trees: &[Tree]) -> bool {
        let text = || match trees {
            [Tree::Text(text)] => String::from_utf8(text.clone()).unwrap(),
            other => panic!("{name}: {other:?}"),
        };
        let numbers = || -> Vec<u64> {
            trees
                .iter()
                .map(|tree| if let Tree::Number(n) = tree { n.parse().unwrap() } else { panic!("{tree:?}") })
                .collect()
        };
        let filter = |id: u64, params: &[u64]| FilterSpec {
            hdf5_id: Some(id as u32),
            params: params.iter().map(|&p| p as u32).collect(),
            ..FilterSpec::default()
        };
        let Some(id) = var else {
            match name {
                "_NCProperties" => self.facts.properties = Some(text()),
                "_SuperblockVersion" => self.facts.superblock = Some(numbers()[0] as i32),
                "_IsNetcdf4" => {}
                "_Format" => self.facts.format = text(),
                _ => return false,
            }
            return true;
        };
        let filters = self.filters.entry(id).or_default();
        let var = self.model.var_mut(id).unwrap();
        match name {
            "_Storage" => {
                var.chunking = match text().as_str() {
                    "contiguous" => Chunking::Contiguous,
                    "compact" => Chunking::Compact,
                    _ => Chunking::Chunked(Vec::new()),
                }
            }
            "_ChunkSizes" => var.chunking = Chunking::Chunked(numbers()),
            "_Endianness" => var.endian = if text() == "big" { Endian::Big } else { Endian::Little },
            "_NoFill" => var.fill = VarFill::NoFill,
            "_Fletcher32" => filters.push(filter(3, &[])),
            "_Shuffle" => filters.push(filter(2, &[])),
            "_DeflateLevel" => filters.push(filter(1, &numbers())),
            "_Filter" => {
                for one in text().split('|') {
                    let numbers: Vec<u64> = one.split(',').map(|n| n.parse().unwrap()).collect();
                    filters.push(filter(numbers[0], &numbers[1..]));
                }
            }
            "_Codecs" => drop(self.codecs.insert(id, text())),
            _ => return false,
        }
        true
    }

    /// A list of values up to `;`.
    fn values(&mut self) -> Vec<Tree> {
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

    fn list(&mut self) -> Tree {
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

    fn typed(&self, ty: NcType, trees: &[Tree]) -> Values {
        let items: Vec<Item> = trees.iter().map(|tree| self.item(ty, tree)).collect();
        match ty {
            NcType::User(id) => {
                let mut bytes = Vec::new();
                items.iter().for_each(|item| self.push_bytes(ty, item, &mut bytes));
                Values::User(id, bytes)
            }
            ty => atomic_values(ty, &items).unwrap(),
        }
    }

    fn push_bytes(&self, ty: NcType, item: &Item, out: &mut Vec<u8>) {
        match (ty, item) {
            (NcType::User(id), item) => match (&self.model.user_type(id).unwrap().class, item) {
                (TypeClass::Enum { base, .. }, item) => self.push_bytes(*base, item, out),
                (TypeClass::Opaque { .. }, Item::Opaque(bytes)) => out.extend_from_slice(bytes),
                (TypeClass::Compound { fields, .. }, Item::Compound(parts)) => {
                    for (field, part) in fields.iter().zip(parts) {
                        part.iter().for_each(|item| self.push_bytes(field.ty, item, out));
                    }
                }
                other => panic!("{other:?}"),
            },
            (ty, item) => {
                out.extend(atomic_values(ty, std::slice::from_ref(item)).unwrap().to_native_bytes().unwrap());
            }
        }
    }

    fn item(&self, ty: NcType, tree: &Tree) -> Item {
        let NcType::User(id) = ty else {
            return match tree {
                Tree::Text(text) if ty == NcType::Char => Item::Char(text.first().copied().unwrap_or(0)),
                Tree::Text(text) => Item::String(NcString::from(text.clone())),
                Tree::Name(name) if ty == NcType::String && (name == "NIL" || name == "_") => {
                    Item::String(NcString::new())
                }
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
                    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect(),
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
                        (false, Tree::List(items)) => items.iter().map(|item| self.item(field.ty, item)).collect(),
                        (false, item) => panic!("{item:?} for field {}", field.name),
                    })
                    .collect(),
            ),
            (class, tree) => panic!("{tree:?} for {class:?}"),
        }
    }

    fn var_data(&mut self, group: GroupId, name: &str, trees: Vec<Tree>) {
        let id = self.model.find_var(group, name).unwrap_or_else(|| panic!("no variable {name}"));
        let var = self.model.var(id).unwrap();
        let shape = self.model.shape(id).unwrap();
        let braces = var.dims.iter().skip(1).filter(|&&dim| self.model.dim(dim).unwrap().unlimited).count();
        let mut trees = trees;
        for _ in 0..braces {
            trees = trees
                .into_iter()
                .flat_map(|tree| if let Tree::List(items) = tree { items } else { panic!("{tree:?} without braces") })
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
            let fill = var.atts.get("_FillValue").cloned().or_else(|| model::fill::default(var.xtype));
            for tree in &trees {
                items.push(match (tree, &fill) {
                    (Tree::Name(name), Some(Values::String(fill))) if name == "_" => Item::String(fill[0].clone()),
                    (Tree::Name(name), Some(Values::User(_, bytes))) if name == "_" => self.fill_item(var.xtype, bytes),
                    (Tree::Name(name), Some(fill)) if name == "_" => match fill.scalar(0).unwrap() {
                        model::Scalar::Int(value) => Item::Int(value),
                        model::Scalar::Float(value) if var.xtype == NcType::Float => Item::Float(value as f32),
                        model::Scalar::Float(value) => Item::Double(value),
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

    /// Only enums and compounds of numbers are filled in the reference data.
    fn fill_item(&self, ty: NcType, bytes: &[u8]) -> Item {
        let NcType::User(id) = ty else {
            let values = Values::from_native_bytes(ty, bytes).unwrap();
            return match (&values, values.scalar(0)) {
                (Values::Float(v), _) => Item::Float(v[0]),
                (Values::Double(v), _) => Item::Double(v[0]),
                (Values::Char(v), _) => Item::Char(v[0]),
                (_, Some(model::Scalar::Int(value))) => Item::Int(value),
                other => panic!("{other:?}"),
            };
        };
        match &self.model.user_type(id).unwrap().class {
            TypeClass::Enum { base, .. } => self.fill_item(*base, bytes),
            TypeClass::Opaque { .. } => Item::Opaque(bytes.to_vec()),
            TypeClass::Compound { fields, .. } => Item::Compound(
                fields
                    .iter()
                    .map(|field| {
                        let size = self.model.type_size(field.ty).unwrap().unwrap();
                        let len = field.shape.iter().product::<u32>() as usize;
                        (0..len)
                            .map(|i| {
                                self.fill_item(field.ty, &bytes[field.offset + i * size..field.offset + (i + 1) * size])
                            })
                            .collect()
                    })
                    .collect(),
            ),
            TypeClass::Vlen { .. } => panic!("a vlen has no memory form"),
        }
    }
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

fn untyped(trees: &[Tree]) -> Values {
    let numbers: Vec<&str> = match trees {
        [Tree::Text(_), ..] => {
            let parts =
                trees.iter().map(|tree| if let Tree::Text(text) = tree { text.as_slice() } else { panic!("{tree:?}") });
            return Values::Char(parts.collect::<Vec<_>>().concat());
        }
        trees => trees
            .iter()
            .map(|tree| if let Tree::Number(n) | Tree::Name(n) = tree { n.as_str() } else { panic!("{tree:?}") })
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
            let items: Vec<Item> = numbers.iter().map(|n| number_item(ty, n.strip_suffix(suffix).unwrap())).collect();
            return atomic_values(ty, &items).unwrap();
        }
    }
    let float = numbers.iter().any(|number| number.contains(['.', 'e', 'N', 'I']));
    let ty = if float { NcType::Double } else { NcType::Int };
    atomic_values(ty, &numbers.iter().map(|n| number_item(ty, n)).collect::<Vec<_>>()).unwrap()
}

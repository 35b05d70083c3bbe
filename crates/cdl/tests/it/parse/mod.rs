//! Parses CDL in the form of the reference dump tool only. That is enough to print it again and compare.

mod tokens;
mod values;

use std::collections::HashMap;

use nczarr_cdl::{DataSource, Facts};
use nczarr_model::{
    Att, Chunking, DimId, Endian, EnumMember, Field, FilterSpec, GroupId, Item, Model, NcType, Result,
    TypeClass, UserType, Values, Var, VarFill, VarId,
};

use values::untyped;

#[derive(Debug, Clone, PartialEq)]
enum Token {
    /// A name with resolved escapes.
    Name(String),
    Number(String),
    Text(Vec<u8>),
    /// One of `{}()=,;:`, and whether a blank precedes it.
    Mark(char, bool),
    End,
}

/// A value as in the text.
#[derive(Debug, Clone)]
enum Tree {
    Name(String),
    Number(String),
    Text(Vec<u8>),
    List(Vec<Tree>),
}

/// A parsed dataset.
pub struct Parsed {
    pub name: String,
    pub model: Model,
    pub facts: Facts,
    pub data: Memory,
}

/// All data of variables, as items in C order.
#[derive(Default)]
pub struct Memory {
    /// The types.
    model: Model,
    items: HashMap<VarId, Vec<Item>>,
    shapes: HashMap<VarId, Vec<u64>>,
    types: HashMap<VarId, NcType>,
}

impl DataSource for Memory {
    fn read(&mut self, var: VarId, start: &[u64], count: &[u64]) -> Result<Values> {
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
        self.model.values(self.types[&var], &out)
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    model: Model,
    facts: Facts,
    data: Memory,
    codecs: HashMap<VarId, String>,
    /// The filters from attribute lines. They are sorted when all are known.
    filters: HashMap<VarId, Vec<FilterSpec>>,
}

/// Parses a dataset. It panics on text that the reference does not print.
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
    parser.data.model = parser.model.clone();
    Parsed { name, model: parser.model, facts: parser.facts, data: parser.data }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// Sorts filters into the order of a `_Codecs` list, and adds their codecs.
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

    /// Parses a variable or an attribute.
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
                // In one reference text, a group and its parent have types of the same name, both printed
                // without a path. The name of the variable shows its type.
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
}

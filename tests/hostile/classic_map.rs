//! [`Map`]: the meaning of each byte of a valid classic file. This header reader is independent of the driver
//! and supports only valid files.
//!
//! Source: the grammar of the netCDF classic format specification.

use std::ops::Range;

/// The owner of an attribute: the dataset, or a variable.
pub type Owner = Option<usize>;

/// The meaning of a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The first bytes, a tag, or the number of entries of a list. All later bytes depend on it.
    Grammar,
    /// The number of records.
    Records,
    /// A dimension's name or the length of its name.
    DimName(usize),
    DimLen(usize),
    /// An attribute's name or the length of its name.
    AttName(Owner, usize),
    /// An attribute's type, the number of its values, or its values.
    AttValue(Owner, usize),
    /// A variable's name or the length of its name.
    VarName(usize),
    /// A variable's rank, dimensions or type.
    VarShape(usize),
    VarSize(usize),
    VarBegin(usize),
    /// The given byte of a variable's values.
    Data(usize, usize),
    /// Unused space.
    Filler,
}

/// A variable.
#[derive(Debug, Default)]
pub struct MapVar {
    pub dims: Vec<usize>,
    pub item: usize,
    pub begin: u64,
    /// Bytes of its values, or of one record if it has records.
    pub bytes: u64,
    pub record: bool,
    /// The range of its `begin` field.
    pub begin_at: Range<usize>,
}

/// The meaning of all bytes of a file.
#[derive(Debug)]
pub struct Map {
    pub fields: Vec<Field>,
    pub vars: Vec<MapVar>,
    pub header: usize,
    pub records: u64,
    pub recsize: u64,
    /// Whether the header leaves the number of records open.
    pub streaming: bool,
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
    fields: Vec<Field>,
    count: usize,
}

impl Reader<'_> {
    fn number(&mut self, width: usize, field: Field) -> u64 {
        let bytes = &self.bytes[self.at..self.at + width];
        self.skip(width, field);
        bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    fn count(&mut self, field: Field) -> u64 {
        self.number(self.count, field)
    }

    fn skip(&mut self, len: usize, field: Field) {
        self.fields[self.at..self.at + len].fill(field);
        self.at += len;
    }

    fn padded(&mut self, len: usize, field: Field) {
        self.skip(len, field);
        self.skip(self.at.next_multiple_of(4) - self.at, Field::Filler);
    }

    fn name(&mut self, field: Field) {
        let len = self.count(field) as usize;
        self.padded(len, field);
    }

    fn atts(&mut self, owner: Owner) {
        self.number(4, Field::Grammar);
        for at in 0..self.count(Field::Grammar) as usize {
            self.name(Field::AttName(owner, at));
            let value = Field::AttValue(owner, at);
            let item = item(self.number(4, value));
            let len = self.count(value) as usize * item;
            self.padded(len, value);
        }
    }
}

fn item(code: u64) -> usize {
    [0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8][code as usize]
}

impl Map {
    pub fn of(bytes: &[u8]) -> Self {
        let (count, offset) = match bytes[3] {
            1 => (4, 4),
            2 => (4, 8),
            _ => (8, 8),
        };
        let mut reader = Reader { bytes, at: 0, fields: vec![Field::Filler; bytes.len()], count };
        reader.skip(4, Field::Grammar);
        let mut records = reader.count(Field::Records);
        let streaming = records == u64::MAX >> (64 - 8 * count);
        reader.number(4, Field::Grammar);
        let mut dims = Vec::new();
        for at in 0..reader.count(Field::Grammar) as usize {
            reader.name(Field::DimName(at));
            dims.push(reader.count(Field::DimLen(at)));
        }
        reader.atts(None);
        reader.number(4, Field::Grammar);
        let mut vars = Vec::new();
        for at in 0..reader.count(Field::Grammar) as usize {
            reader.name(Field::VarName(at));
            let shape = Field::VarShape(at);
            let own: Vec<_> = (0..reader.count(shape)).map(|_| reader.count(shape) as usize).collect();
            reader.atts(Some(at));
            let item = item(reader.number(4, shape));
            reader.count(Field::VarSize(at));
            let place = reader.at;
            let begin = reader.number(offset, Field::VarBegin(at));
            let record = own.first().is_some_and(|&dim| dims[dim] == 0);
            let len: u64 = own.iter().skip(usize::from(record)).map(|&dim| dims[dim]).product();
            let bytes = len * item as u64;
            vars.push(MapVar { dims: own, item, begin, bytes, record, begin_at: place..reader.at });
        }
        let recsize = match &*vars.iter().filter(|var| var.record).collect::<Vec<_>>() {
            [only] => only.bytes,
            parts => parts.iter().map(|var| var.bytes.next_multiple_of(4)).sum(),
        };
        let (header, mut fields) = (reader.at, reader.fields);
        if streaming {
            let begin = vars.iter().filter(|var| var.record).map(|var| var.begin).min().unwrap_or(0);
            records = (bytes.len() as u64 - begin).checked_div(recsize).unwrap_or(0);
        }
        for (at, var) in vars.iter().enumerate() {
            for record in 0..if var.record { records } else { 1 } {
                for byte in 0..var.bytes {
                    if let Some(field) = fields.get_mut((var.begin + record * recsize + byte) as usize) {
                        *field = Field::Data(at, (record * var.bytes + byte) as usize);
                    }
                }
            }
        }
        Self { fields, vars, header, records, recsize, streaming }
    }
}

//! [`Datatype`]: what elements are, as HDF5 describes them.

use nczarr_model::Result;
use nczarr_model::convert::Half;

use super::cursor::{Cursor, bad};
use super::file::Hdf;
use super::header::{Found, Header, kind};
use super::shared::{self, Place};

/// A datatype.
#[derive(Debug, Clone)]
pub(crate) struct Datatype {
    /// Bytes of one element as stored.
    pub(crate) size: u32,
    pub(crate) class: Class,
    /// The object whose type it is, if it has a name.
    pub(crate) named: Option<u64>,
    /// Whether HDF5 has a class of its own for it: a complex number, read as a compound of its parts `r` and `i`.
    pub(crate) complex: bool,
}

/// What kind of datatype it is.
#[derive(Debug, Clone)]
pub(crate) enum Class {
    Integer {
        signed: bool,
        big_endian: bool,
        /// Bits that count.
        precision: u16,
        /// Bits below them.
        offset: u16,
    },
    Float {
        big_endian: bool,
        /// A single or a double of IEEE 754.
        ieee: bool,
        /// A float of 16 bits that is known.
        half: Option<Half>,
    },
    /// Text of the element's size.
    Text,
    Opaque,
    Compound(Vec<Member>),
    Enum {
        base: Box<Datatype>,
        members: Vec<(String, Vec<u8>)>,
    },
    /// Text of any length.
    Strings,
    List(Box<Datatype>),
    Array {
        shape: Vec<u32>,
        base: Box<Datatype>,
    },
    /// What netCDF has no word for; and what it is called.
    Other(&'static str),
}

/// A member of a compound type.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) offset: u32,
    pub(crate) ty: Datatype,
}

/// Types in types, at most.
const DEPTH: u32 = 32;

impl Datatype {
    /// The type that a message describes, or refers to.
    ///
    /// # Errors
    /// `NC_EHDFERR` if it makes no sense.
    pub(crate) fn of(file: &Hdf, message: Found<'_>) -> Result<Self> {
        match message.shared {
            false => Self::parse(message.bytes),
            true => match shared::place(file, message.bytes)? {
                Place::Object(address) => Self::at(file, address),
                Place::Heap(id) => Self::parse(&shared::object(file, kind::DATATYPE, &id)?),
            },
        }
    }

    /// The type of a named type's object.
    ///
    /// # Errors
    /// As [`Datatype::of`].
    pub(crate) fn at(file: &Hdf, address: u64) -> Result<Self> {
        let header = Header::read(file, address)?;
        let message = header.find(kind::DATATYPE).filter(|message| !message.shared);
        let message = message.ok_or_else(|| bad(format!("no datatype at address {address}")))?;
        Ok(Self { named: Some(address), ..Self::parse(message.bytes)? })
    }

    /// The type that bytes describe.
    ///
    /// # Errors
    /// As [`Datatype::of`].
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        Self::next(&mut Cursor::new(bytes, "datatype"), DEPTH)
    }

    fn next(at: &mut Cursor<'_>, depth: u32) -> Result<Self> {
        let depth = depth.checked_sub(1).ok_or_else(|| bad("datatype: too many types in types"))?;
        let first = at.u8()?;
        let (version, class) = (first >> 4, first & 15);
        let bits = at.uint(3)? as u32;
        let size = at.u32()?;
        if version > 5 {
            return Err(bad(format!("datatype: version {version}, of which nothing is known")));
        }
        let big_endian = bits & 1 != 0;
        let class = match class {
            0 => {
                let (offset, precision) = (at.u16()?, at.u16()?);
                Class::Integer { signed: bits & 8 != 0, big_endian, precision, offset }
            }
            1 => {
                let (offset, precision) = (at.u16()?, at.u16()?);
                let shape = (at.u8()?, at.u8()?, at.u8()?, at.u8()?, at.u32()?);
                let known = match size {
                    4 => (precision, shape) == (32, (23, 8, 0, 23, 127)),
                    8 => (precision, shape) == (64, (52, 11, 0, 52, 1023)),
                    _ => false,
                };
                let plain = offset == 0 && bits & 0x40 == 0;
                let half = match (size, precision, shape) {
                    (2, 16, (10, 5, 0, 10, 15)) if plain => Some(Half::Binary16),
                    (2, 16, (7, 8, 0, 7, 127)) if plain => Some(Half::BFloat16),
                    _ => None,
                };
                Class::Float { big_endian, ieee: known && plain, half }
            }
            2 => {
                at.skip(2)?;
                Class::Other("time")
            }
            3 => Class::Text,
            4 => {
                at.skip(4)?;
                Class::Other("bitfield")
            }
            5 => {
                at.skip((bits & 0xff) as usize)?;
                Class::Opaque
            }
            6 => Class::Compound(members(at, version, bits & 0xffff, size, depth)?),
            7 => Class::Other("reference"),
            8 => {
                let base = Self::next(at, depth)?;
                let mut names = Vec::new();
                for _ in 0..bits & 0xffff {
                    names.push(name(at, version)?);
                }
                let mut members = Vec::with_capacity(names.len());
                for name in names {
                    members.push((name, at.bytes(base.size as usize)?.to_vec()));
                }
                Class::Enum { base: Box::new(base), members }
            }
            9 => {
                let base = Self::next(at, depth)?;
                match bits & 15 {
                    1 => Class::Strings,
                    _ => Class::List(Box::new(base)),
                }
            }
            10 => {
                let rank = at.u8()?;
                at.skip(if version < 3 { 3 } else { 0 })?;
                let shape = (0..rank).map(|_| at.u32()).collect::<Result<Vec<_>>>()?;
                at.skip(if version < 3 { 4 * usize::from(rank) } else { 0 })?;
                let base = Self::next(at, depth)?;
                let bytes = shape.iter().try_fold(base.size, |bytes, &n| bytes.checked_mul(n));
                if bytes != Some(size) {
                    return Err(bad(format!("datatype: {shape:?} elements of {} bytes in {size}", base.size)));
                }
                Class::Array { shape, base: Box::new(base) }
            }
            11 => {
                let part = Self::next(at, depth)?;
                match part.class {
                    Class::Float { ieee: true, .. } if part.size.checked_mul(2) == Some(size) => {
                        let member = |name: &str, offset| Member { name: name.to_owned(), offset, ty: part.clone() };
                        let parts = vec![member("r", 0), member("i", part.size)];
                        return Ok(Self { size, class: Class::Compound(parts), named: None, complex: true });
                    }
                    _ => Class::Other("complex"),
                }
            }
            other => return Err(bad(format!("datatype: class {other}, of which nothing is known"))),
        };
        let least = match class {
            Class::Strings | Class::List(_) => 8,
            _ => 1,
        };
        if size < least {
            return Err(bad(format!("datatype: elements of {size} bytes")));
        }
        Ok(Self { size, class, named: None, complex: false })
    }

    /// Whether all bits of an integer count.
    pub(crate) fn is_whole(&self) -> bool {
        match self.class {
            Class::Integer { precision, offset, .. } => {
                offset == 0 && u32::from(precision) == 8 * self.size.min(16) && [1, 2, 4, 8].contains(&self.size)
            }
            _ => false,
        }
    }

    /// Whether elements of both are alike in memory: nothing is asked of byte order.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.size, self.complex) == (other.size, other.complex)
            && match (&self.class, &other.class) {
                (
                    Class::Integer { signed: a, precision: p, offset: o, .. },
                    Class::Integer { signed: b, precision: q, offset: r, .. },
                ) => (a, p, o) == (b, q, r),
                (Class::Float { ieee: a, half: h, .. }, Class::Float { ieee: b, half: k, .. }) => (a, h) == (b, k),
                (Class::Text, Class::Text) | (Class::Opaque, Class::Opaque) | (Class::Strings, Class::Strings) => true,
                (Class::Compound(a), Class::Compound(b)) => {
                    let alike =
                        |(a, b): (&Member, &Member)| a.name == b.name && a.offset == b.offset && a.ty.is_like(&b.ty);
                    a.len() == b.len() && a.iter().zip(b).all(alike)
                }
                (Class::Enum { base: a, members: m }, Class::Enum { base: b, members: n }) => a.is_like(b) && m == n,
                (Class::List(a), Class::List(b)) => a.is_like(b),
                (Class::Array { shape: s, base: a }, Class::Array { shape: t, base: b }) => s == t && a.is_like(b),
                (Class::Other(a), Class::Other(b)) => a == b,
                _ => false,
            }
    }

    /// Whether elements of both are the same bytes: alike, and all their numbers in the same order.
    pub(crate) fn is_stored_like(&self, other: &Self) -> bool {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        self.byte_orders(&mut own);
        other.byte_orders(&mut others);
        self.is_like(other) && own == others
    }

    /// Whether the numbers in an element are big-endian, one after another.
    fn byte_orders(&self, out: &mut Vec<bool>) {
        match &self.class {
            Class::Integer { big_endian, .. } | Class::Float { big_endian, .. } if self.size > 1 => {
                out.push(*big_endian)
            }
            Class::Compound(members) => members.iter().for_each(|member| member.ty.byte_orders(out)),
            Class::Enum { base, .. } | Class::List(base) | Class::Array { base, .. } => base.byte_orders(out),
            _ => {}
        }
    }

    /// What it is called among HDF5's types, for people.
    pub(crate) fn name(&self) -> String {
        let bits = self.size.saturating_mul(8);
        match &self.class {
            Class::Integer { signed, precision, .. } => {
                let part = match self.is_whole() {
                    true => String::new(),
                    false => format!(", of which {precision} count"),
                };
                format!("{}integer of {bits} bits{part}", if *signed { "" } else { "unsigned " })
            }
            Class::Float { half: Some(Half::BFloat16), .. } => "bfloat16".to_owned(),
            Class::Float { half: Some(Half::Binary16), .. } => "float16".to_owned(),
            Class::Float { .. } => format!("float of {bits} bits"),
            Class::Text | Class::Strings => "string".to_owned(),
            Class::Opaque => "opaque".to_owned(),
            Class::Compound(_) if self.complex => format!("complex{bits}"),
            Class::Compound(_) => "compound".to_owned(),
            Class::Enum { .. } => "enum".to_owned(),
            Class::List(_) => "vlen".to_owned(),
            Class::Array { .. } => "array".to_owned(),
            Class::Other(name) => (*name).to_owned(),
        }
    }
}

/// The name of a member: older versions fill it up to a multiple of 8 bytes.
fn name(at: &mut Cursor<'_>, version: u8) -> Result<String> {
    let from = at.at();
    let name = String::from_utf8_lossy(at.until_zero()?).into_owned();
    if version < 3 {
        at.align(from)?;
    }
    Ok(name)
}

fn members(at: &mut Cursor<'_>, version: u8, count: u32, size: u32, depth: u32) -> Result<Vec<Member>> {
    let mut members = Vec::new();
    for _ in 0..count {
        let name = name(at, version)?;
        let offset = match version {
            0..3 => at.u32()?,
            _ => at.uint(Hdf::bytes_for(size.into()))? as u32,
        };
        let mut shape = Vec::new();
        if version < 2 {
            let rank = at.u8()?;
            at.skip(11)?;
            for dim in 0..4 {
                let n = at.u32()?;
                if dim < rank {
                    shape.push(n);
                }
            }
        }
        let mut ty = Datatype::next(at, depth)?;
        if !shape.is_empty() {
            let bytes = shape.iter().try_fold(ty.size, |bytes, &n| bytes.checked_mul(n));
            let bytes = bytes.ok_or_else(|| bad("datatype: an array without end"))?;
            let class = Class::Array { shape, base: Box::new(ty) };
            ty = Datatype { size: bytes, class, named: None, complex: false };
        }
        if offset.checked_add(ty.size).is_none_or(|end| end > size) {
            return Err(bad(format!("datatype: member {name:?} of {} bytes at {offset} of {size}", ty.size)));
        }
        members.push(Member { name, offset, ty });
    }
    Ok(members)
}

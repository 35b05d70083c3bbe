//! [`Datatype`]: the HDF5 description of elements.

use nczarr_model::Result;
use nczarr_model::convert::Half;

use super::cursor::{MetadataCursor, damaged};
use super::file::HdfFile;
use super::header::{HeaderMessage, ObjectHeader, message_type};
use super::shared_messages::{self, SharedLocation};

/// A datatype.
#[derive(Debug, Clone)]
pub(crate) struct Datatype {
    /// Size of a stored element in bytes.
    pub(crate) size: u32,
    pub(crate) class: DatatypeClass,
    /// The address of the named type, if the type has a name.
    pub(crate) named: Option<u64>,
    /// A complex number of HDF5's complex class. It is read as a compound of `r` and `i`.
    pub(crate) complex: bool,
}

/// The class of a datatype.
#[derive(Debug, Clone)]
pub(crate) enum DatatypeClass {
    Integer {
        signed: bool,
        big_endian: bool,
        /// Number of significant bits.
        precision: u16,
        /// Number of unused bits below them.
        offset: u16,
    },
    Float {
        big_endian: bool,
        /// Whether it is an IEEE 754 single or double.
        ieee: bool,
        /// The format of a float of 16 bits.
        half: Option<Half>,
    },
    /// Text of fixed size.
    Text {
        /// The bit field: padding in the low four bits, then the character set.
        form: u8,
    },
    Opaque,
    Compound(Vec<CompoundMember>),
    Enum {
        base: Box<Datatype>,
        members: Vec<(String, Vec<u8>)>,
    },
    /// Text of variable length.
    Strings {
        /// As the form of `Text`.
        form: u8,
    },
    List(Box<Datatype>),
    Array {
        shape: Vec<u32>,
        base: Box<Datatype>,
    },
    /// A class that netCDF lacks; its name.
    Other(&'static str),
}

/// A member of a compound type.
#[derive(Debug, Clone)]
pub(crate) struct CompoundMember {
    pub(crate) name: String,
    pub(crate) offset: u32,
    pub(crate) ty: Datatype,
}

/// Most levels of nested types.
const DEPTH: u32 = 32;

impl Datatype {
    /// Reads the type that a message describes or refers to.
    ///
    /// # Errors
    /// `NC_EHDFERR` if it is damaged.
    pub(crate) fn of(file: &HdfFile, message: HeaderMessage<'_>) -> Result<Self> {
        if message.shared {
            match shared_messages::place(file, message.bytes)? {
                SharedLocation::Object(address) => Self::at(file, address),
                SharedLocation::Heap(id) => {
                    Self::parse(&shared_messages::object(file, message_type::DATATYPE, &id)?)
                }
            }
        } else {
            Self::parse(message.bytes)
        }
    }

    /// Reads the type of the named type at an address.
    ///
    /// # Errors
    /// As [`Datatype::of`].
    pub(crate) fn at(file: &HdfFile, address: u64) -> Result<Self> {
        let header = ObjectHeader::read(file, address)?;
        let message = header.find(message_type::DATATYPE).filter(|message| !message.shared);
        let message =
            message.ok_or_else(|| damaged(format!("object at address {address}: no datatype message")))?;
        Ok(Self { named: Some(address), ..Self::parse(message.bytes)? })
    }

    /// Parses the bytes of a datatype message.
    ///
    /// # Errors
    /// As [`Datatype::of`].
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        Self::next(&mut MetadataCursor::new(bytes, "datatype"), DEPTH)
    }

    fn next(at: &mut MetadataCursor<'_>, depth: u32) -> Result<Self> {
        let depth = depth.checked_sub(1).ok_or_else(|| damaged("datatype: too many nested types"))?;
        let first = at.u8()?;
        let (version, class) = (first >> 4, first & 15);
        let bits = at.uint(3)? as u32;
        let size = at.u32()?;
        if version > 5 {
            return Err(damaged(format!("datatype: unknown version {version}")));
        }
        let big_endian = bits & 1 != 0;
        let class = match class {
            0 => {
                let (offset, precision) = (at.u16()?, at.u16()?);
                DatatypeClass::Integer { signed: bits & 8 != 0, big_endian, precision, offset }
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
                DatatypeClass::Float { big_endian, ieee: known && plain, half }
            }
            2 => {
                at.skip(2)?;
                DatatypeClass::Other("time")
            }
            3 => DatatypeClass::Text { form: bits as u8 },
            4 => {
                at.skip(4)?;
                DatatypeClass::Other("bitfield")
            }
            5 => {
                at.skip((bits & 0xff) as usize)?;
                DatatypeClass::Opaque
            }
            6 => DatatypeClass::Compound(members(at, version, bits & 0xffff, size, depth)?),
            7 => DatatypeClass::Other("reference"),
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
                DatatypeClass::Enum { base: Box::new(base), members }
            }
            9 => {
                let base = Self::next(at, depth)?;
                match bits & 15 {
                    1 => DatatypeClass::Strings { form: (bits >> 4) as u8 },
                    _ => DatatypeClass::List(Box::new(base)),
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
                    return Err(damaged(format!(
                        "datatype: array size does not match (expected {shape:?} elements of {} bytes, found {size} bytes)",
                        base.size
                    )));
                }
                DatatypeClass::Array { shape, base: Box::new(base) }
            }
            11 => {
                let part = Self::next(at, depth)?;
                match part.class {
                    DatatypeClass::Float { ieee: true, .. } if part.size.checked_mul(2) == Some(size) => {
                        let member = |name: &str, offset| CompoundMember {
                            name: name.to_owned(),
                            offset,
                            ty: part.clone(),
                        };
                        let parts = vec![member("r", 0), member("i", part.size)];
                        return Ok(Self {
                            size,
                            class: DatatypeClass::Compound(parts),
                            named: None,
                            complex: true,
                        });
                    }
                    _ => DatatypeClass::Other("complex"),
                }
            }
            other => return Err(damaged(format!("datatype: unknown class {other}"))),
        };
        let least = match class {
            DatatypeClass::Strings { .. } | DatatypeClass::List(_) => 8,
            _ => 1,
        };
        if size < least {
            return Err(damaged(format!("datatype: invalid element size of {size} bytes")));
        }
        Ok(Self { size, class, named: None, complex: false })
    }

    /// Whether all bits of an integer are significant.
    pub(crate) fn is_whole(&self) -> bool {
        match self.class {
            DatatypeClass::Integer { precision, offset, .. } => {
                offset == 0
                    && u32::from(precision) == 8 * self.size.min(16)
                    && [1, 2, 4, 8].contains(&self.size)
            }
            _ => false,
        }
    }

    /// Whether elements of both types are equal in memory. Byte order is ignored.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.size, self.complex) == (other.size, other.complex)
            && match (&self.class, &other.class) {
                (
                    DatatypeClass::Integer { signed: a, precision: p, offset: o, .. },
                    DatatypeClass::Integer { signed: b, precision: q, offset: r, .. },
                ) => (a, p, o) == (b, q, r),
                (
                    DatatypeClass::Float { ieee: a, half: h, .. },
                    DatatypeClass::Float { ieee: b, half: k, .. },
                ) => (a, h) == (b, k),
                (DatatypeClass::Text { .. }, DatatypeClass::Text { .. })
                | (DatatypeClass::Opaque, DatatypeClass::Opaque)
                | (DatatypeClass::Strings { .. }, DatatypeClass::Strings { .. }) => true,
                (DatatypeClass::Compound(a), DatatypeClass::Compound(b)) => {
                    let alike = |(a, b): (&CompoundMember, &CompoundMember)| {
                        a.name == b.name && a.offset == b.offset && a.ty.is_like(&b.ty)
                    };
                    a.len() == b.len() && a.iter().zip(b).all(alike)
                }
                (
                    DatatypeClass::Enum { base: a, members: m },
                    DatatypeClass::Enum { base: b, members: n },
                ) => a.is_like(b) && m == n,
                (DatatypeClass::List(a), DatatypeClass::List(b)) => a.is_like(b),
                (DatatypeClass::Array { shape: s, base: a }, DatatypeClass::Array { shape: t, base: b }) => {
                    s == t && a.is_like(b)
                }
                (DatatypeClass::Other(a), DatatypeClass::Other(b)) => a == b,
                _ => false,
            }
    }

    /// Whether elements of both types are stored as equal bytes: as [`Datatype::is_like`], and in the same
    /// byte order.
    pub(crate) fn is_stored_like(&self, other: &Self) -> bool {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        self.byte_orders(&mut own);
        other.byte_orders(&mut others);
        self.is_like(other) && own == others
    }

    /// Appends, for each number in an element, whether it is big-endian.
    fn byte_orders(&self, out: &mut Vec<bool>) {
        match &self.class {
            DatatypeClass::Integer { big_endian, .. } | DatatypeClass::Float { big_endian, .. }
                if self.size > 1 =>
            {
                out.push(*big_endian)
            }
            DatatypeClass::Compound(members) => members.iter().for_each(|member| member.ty.byte_orders(out)),
            DatatypeClass::Enum { base, .. }
            | DatatypeClass::List(base)
            | DatatypeClass::Array { base, .. } => base.byte_orders(out),
            _ => {}
        }
    }

    /// Returns a name of the type for messages.
    pub(crate) fn name(&self) -> String {
        let bits = self.size.saturating_mul(8);
        match &self.class {
            DatatypeClass::Integer { signed, precision, .. } => {
                let part = if self.is_whole() {
                    String::new()
                } else {
                    format!(" with {precision} significant bits")
                };
                format!("{}integer of {bits} bits{part}", if *signed { "" } else { "unsigned " })
            }
            DatatypeClass::Float { half: Some(Half::BFloat16), .. } => "bfloat16".to_owned(),
            DatatypeClass::Float { half: Some(Half::Binary16), .. } => "float16".to_owned(),
            DatatypeClass::Float { .. } => format!("float of {bits} bits"),
            DatatypeClass::Text { .. } | DatatypeClass::Strings { .. } => "string".to_owned(),
            DatatypeClass::Opaque => "opaque".to_owned(),
            DatatypeClass::Compound(_) if self.complex => format!("complex{bits}"),
            DatatypeClass::Compound(_) => "compound".to_owned(),
            DatatypeClass::Enum { .. } => "enum".to_owned(),
            DatatypeClass::List(_) => "vlen".to_owned(),
            DatatypeClass::Array { .. } => "array".to_owned(),
            DatatypeClass::Other(name) => (*name).to_owned(),
        }
    }
}

/// Reads the name of a member. Older versions pad it to a multiple of 8 bytes.
fn name(at: &mut MetadataCursor<'_>, version: u8) -> Result<String> {
    let from = at.at();
    let name = String::from_utf8_lossy(at.until_zero()?).into_owned();
    if version < 3 {
        at.align(from)?;
    }
    Ok(name)
}

fn members(
    at: &mut MetadataCursor<'_>,
    version: u8,
    count: u32,
    size: u32,
    depth: u32,
) -> Result<Vec<CompoundMember>> {
    let mut members = Vec::new();
    for _ in 0..count {
        let name = name(at, version)?;
        let offset = match version {
            0..3 => at.u32()?,
            _ => at.uint(HdfFile::bytes_for(size.into()))? as u32,
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
            let bytes = bytes.ok_or_else(|| damaged("datatype: the array is too large"))?;
            let class = DatatypeClass::Array { shape, base: Box::new(ty) };
            ty = Datatype { size: bytes, class, named: None, complex: false };
        }
        if offset.checked_add(ty.size).is_none_or(|end| end > size) {
            return Err(damaged(format!(
                "datatype: member {name:?} of {} bytes at offset {offset} exceeds the compound of {size} bytes",
                ty.size
            )));
        }
        members.push(CompoundMember { name, offset, ty });
    }
    Ok(members)
}

//! Zarr V2 type strings (`<f8`, `>S1`, `|O` …) and what they are in netCDF.
//!
//! [`DType`] keeps the text it was read from, so that a document can be written back unchanged. It knows neither
//! fill values nor attributes.
//!
//! Source: NumPy's type strings as the formats notes list them; the NCZarr manual for `>S1`.

use std::sync::Arc;

use nczarr_chunkio::Element;
use nczarr_dispatch::{ItemKind, ItemType};
use nczarr_model::convert::Half;
use nczarr_model::{Endian, ErrorKind, NcType, Result, TimeStep, TimeUnit};

use crate::json::{Value, text};
use crate::record::Record;
use crate::types;

/// An element type as stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DType {
    /// As it stands in the document: the type string, or the JSON of a list.
    pub(crate) text: String,
    pub(crate) kind: Kind,
    /// Whether the most significant byte comes first.
    pub(crate) big_endian: bool,
    /// The fields of a record.
    pub(crate) record: Option<Arc<Record>>,
}

/// What a stored element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One of the ten number types.
    Number(NcType),
    /// `>S1`: one byte of text, `NC_CHAR`.
    Char,
    /// `|b1`: one byte, 0 or 1.
    Bool,
    /// `|Sn`: text in this many bytes.
    Text(usize),
    /// `<Un`: text in this many UCS-4 code points.
    Utf32(usize),
    /// `<f2`, `bfloat16`: a float of 16 bits.
    Half(Half),
    /// `<c8`, `<c16`: two numbers of this type.
    Complex(NcType),
    /// `<M8[s]`, `<m8[s]`: a count of a unit of time; `counted`: presented as that, not as text.
    Time { unit: TimeUnit, counted: bool },
    /// `|Vn`: so many bytes.
    Opaque(usize),
    /// A list: fields.
    Record,
    /// `|O`: what the object codec among the filters says.
    Object,
    /// Anything else: listed, but not readable.
    Other,
}

/// Type strings with longer elements are taken for damage: no chunk could hold one.
pub(crate) const MAX_WIDTH: usize = 1 << 30;

impl DType {
    /// The type of a `dtype` member.
    ///
    /// # Errors
    /// [`ErrorKind::NcZarr`] if it is neither a string nor a list.
    pub(crate) fn parse(json: &Value<'_>) -> Result<Self> {
        match json {
            Value::String(name) => Ok(Self::from_name(name)),
            Value::Array(fields) => {
                let record = Record::parse(fields).map(Arc::new);
                let kind = if record.is_some() { Kind::Record } else { Kind::Other };
                Ok(Self { text: text(json), kind, big_endian: false, record })
            }
            other => {
                Err(ErrorKind::NcZarr.context(format!("expected a type string or a list, found {}", other.kind())))
            }
        }
    }

    /// The type of a type string.
    pub(crate) fn from_name(name: &str) -> Self {
        Self { text: name.to_owned(), kind: Self::kind_of(name), big_endian: name.starts_with('>'), record: None }
    }

    /// What an element of a type string is.
    pub(crate) fn kind_of(name: &str) -> Kind {
        if name == "bfloat16" {
            return Kind::Half(Half::BFloat16);
        }
        let (order, rest) = match name.as_bytes().first() {
            Some(b'<' | b'>' | b'|' | b'=') => name.split_at(1),
            _ => ("", name),
        };
        Self::kind(order, rest).unwrap_or(Kind::Other)
    }

    fn kind(order: &str, rest: &str) -> Option<Kind> {
        let letter = rest.chars().next()?;
        let size = &rest[letter.len_utf8()..];
        if letter == 'O' {
            return Some(Kind::Object);
        }
        if matches!(letter, 'M' | 'm') {
            return time(letter == 'm', size);
        }
        if size.is_empty() || !size.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let size: usize = size.parse().ok().filter(|size| (1..=MAX_WIDTH).contains(size))?;
        Some(match (letter, size) {
            ('b', 1) => Kind::Bool,
            ('i', 1) => Kind::Number(NcType::Byte),
            ('u', 1) => Kind::Number(NcType::UByte),
            ('i', 2) => Kind::Number(NcType::Short),
            ('u', 2) => Kind::Number(NcType::UShort),
            ('i', 4) => Kind::Number(NcType::Int),
            ('u', 4) => Kind::Number(NcType::UInt),
            ('i', 8) => Kind::Number(NcType::Int64),
            ('u', 8) => Kind::Number(NcType::UInt64),
            ('f', 2) => Kind::Half(Half::Binary16),
            ('c', 8) => Kind::Complex(NcType::Float),
            ('c', 16) => Kind::Complex(NcType::Double),
            ('V', bytes) => Kind::Opaque(bytes),
            ('f', 4) => Kind::Number(NcType::Float),
            ('f', 8) => Kind::Number(NcType::Double),
            ('S', 1) if order == ">" => Kind::Char,
            ('S', width) => Kind::Text(width),
            ('U', chars) if chars <= MAX_WIDTH / 4 => Kind::Utf32(chars),
            _ => return None,
        })
    }

    /// The type a new variable is stored as. `width` is the length of strings; `char_mark` says whether text of one
    /// byte is marked as char (`>S1`) or stored as any other text (`|S1`).
    pub(crate) fn of(xtype: NcType, endian: Endian, width: usize, char_mark: bool) -> Result<Self> {
        let order = if endian == Endian::Big { '>' } else { '<' };
        Ok(Self::from_name(&match xtype {
            NcType::Byte => "|i1".to_owned(),
            NcType::UByte => "|u1".to_owned(),
            NcType::Short => format!("{order}i2"),
            NcType::UShort => format!("{order}u2"),
            NcType::Int => format!("{order}i4"),
            NcType::UInt => format!("{order}u4"),
            NcType::Int64 => format!("{order}i8"),
            NcType::UInt64 => format!("{order}u8"),
            NcType::Float => format!("{order}f4"),
            NcType::Double => format!("{order}f8"),
            NcType::Char if char_mark => ">S1".to_owned(),
            NcType::Char => "|S1".to_owned(),
            NcType::String => format!("|S{width}"),
            NcType::User(_) => return Err(ErrorKind::NotNc4.context("NCZarr holds no user-defined types")),
        }))
    }

    /// The type it presents; `None` if its data cannot be read.
    pub(crate) fn xtype(&self) -> Option<NcType> {
        Some(match self.kind {
            Kind::Number(ty) => ty,
            Kind::Char => NcType::Char,
            Kind::Bool => NcType::UByte,
            Kind::Half(_) => NcType::Float,
            Kind::Time { counted: true, .. } => NcType::Int64,
            Kind::Text(_) | Kind::Utf32(_) | Kind::Time { .. } | Kind::Object => NcType::String,
            Kind::Complex(_) | Kind::Opaque(_) | Kind::Record => types::UNDEFINED,
            Kind::Other => return None,
        })
    }

    /// The byte order it presents: native where there is nothing to order.
    pub(crate) fn endian(&self) -> Endian {
        match self.kind {
            Kind::Number(ty) if ty.size() != Some(1) => {
                if self.big_endian {
                    Endian::Big
                } else {
                    Endian::Little
                }
            }
            _ => Endian::Native,
        }
    }

    /// Its text, if netCDF has no such type of its own.
    pub(crate) fn foreign_name(&self) -> Option<String> {
        match self.kind {
            Kind::Number(_) | Kind::Char | Kind::Text(_) => None,
            _ => Some(self.text.clone()),
        }
    }

    /// Bytes of one stored element; `None` if that varies or is not known.
    pub(crate) fn item_size(&self) -> Option<usize> {
        match self.kind {
            Kind::Number(ty) => ty.size(),
            Kind::Char | Kind::Bool => Some(1),
            Kind::Text(width) => Some(width),
            Kind::Utf32(chars) => chars.checked_mul(4),
            Kind::Half(_) => Some(2),
            Kind::Time { .. } => Some(8),
            Kind::Complex(part) => part.size().map(|size| 2 * size),
            Kind::Opaque(bytes) => Some(bytes),
            Kind::Record => self.record.as_ref()?.size(),
            Kind::Object | Kind::Other => None,
        }
    }

    /// One element as filters are told of it.
    pub(crate) fn item_type(&self) -> ItemType {
        match self.kind {
            Kind::Number(ty) => ItemType::of(ty, self.big_endian),
            Kind::Bool => ItemType { kind: ItemKind::Bool, ..ItemType::BYTES },
            Kind::Time { .. } => ItemType::of(NcType::Int64, self.big_endian),
            Kind::Half(Half::Binary16) => ItemType { kind: ItemKind::Float, size: 2, big_endian: self.big_endian },
            _ => ItemType::bytes(self.item_size().unwrap_or(1)),
        }
    }

    /// The element as the engine sees it, if it has a fixed size. `xtype` is the type the variable presents.
    pub(crate) fn element(&self, xtype: NcType) -> Option<Element> {
        Some(match self.kind {
            Kind::Number(ty) => Element::Number { ty, big_endian: self.big_endian },
            Kind::Bool => Element::Number { ty: NcType::UByte, big_endian: false },
            Kind::Char => Element::Number { ty: NcType::Char, big_endian: false },
            // A char variable of the session that made a store without marks.
            Kind::Text(1) if xtype == NcType::Char => Element::Number { ty: NcType::Char, big_endian: false },
            Kind::Text(width) => Element::Text { width },
            Kind::Utf32(chars) => Element::Utf32 { chars, big_endian: self.big_endian },
            Kind::Time { counted: true, .. } => Element::Number { ty: NcType::Int64, big_endian: self.big_endian },
            Kind::Time { unit, .. } => Element::Time { unit, big_endian: self.big_endian },
            Kind::Half(_) => Element::Packed { ty: NcType::Float, pieces: self.pieces()? },
            Kind::Complex(_) | Kind::Opaque(_) | Kind::Record => Element::Packed { ty: xtype, pieces: self.pieces()? },
            Kind::Object | Kind::Other => return None,
        })
    }

    /// Whether its text is that of a list.
    pub(crate) fn is_list(&self) -> bool {
        // No type string begins so, and one that did could not be told from it by anybody who reads it.
        self.text.starts_with('[')
    }

    /// Whether it is presented as a user-defined type.
    pub(crate) fn is_user(&self) -> bool {
        matches!(self.kind, Kind::Complex(_) | Kind::Opaque(_) | Kind::Record)
    }

    /// The type with which an attribute of type `xtype` is recorded in `_nczarr_attr`.
    pub(crate) fn attribute_name(xtype: NcType, longest: usize) -> String {
        match xtype {
            NcType::Char => ">S1".to_owned(),
            NcType::String => format!("|S{}", longest.max(1)),
            NcType::Byte => "|i1".to_owned(),
            NcType::UByte => "|u1".to_owned(),
            other => Self::of(other, Endian::Little, 1, true).map(|ty| ty.text).unwrap_or_default(),
        }
    }
}

/// What follows the letter of a type of time: `8`, and the unit in brackets if there is one.
fn time(span: bool, rest: &str) -> Option<Kind> {
    let rest = rest.strip_prefix('8')?;
    let unit = |text: &str| {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (times, code) = text.split_at(digits);
        let times: u32 = if times.is_empty() { 1 } else { times.parse().ok().filter(|&times| times > 0)? };
        Some((times, TimeStep::from_code(code)?))
    };
    let step = match rest {
        "" | "[generic]" => None,
        _ => Some(unit(rest.strip_prefix('[')?.strip_suffix(']')?)?),
    };
    Some(Kind::Time { unit: TimeUnit { span, step }, counted: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(span: bool, times: u32, step: TimeStep) -> Kind {
        Kind::Time { unit: TimeUnit { span, step: Some((times, step)) }, counted: false }
    }

    #[test]
    fn type_strings() {
        for (name, kind, big) in [
            ("<i1", Kind::Number(NcType::Byte), false),
            ("|i1", Kind::Number(NcType::Byte), false),
            (">u1", Kind::Number(NcType::UByte), true),
            ("i4", Kind::Number(NcType::Int), false),
            (">i2", Kind::Number(NcType::Short), true),
            ("<u2", Kind::Number(NcType::UShort), false),
            ("<u4", Kind::Number(NcType::UInt), false),
            (">i8", Kind::Number(NcType::Int64), true),
            ("<u8", Kind::Number(NcType::UInt64), false),
            ("<f4", Kind::Number(NcType::Float), false),
            (">f8", Kind::Number(NcType::Double), true),
            ("|b1", Kind::Bool, false),
            (">S1", Kind::Char, true),
            ("|S1", Kind::Text(1), false),
            ("<S1", Kind::Text(1), false),
            (">S2", Kind::Text(2), true),
            ("|S128", Kind::Text(128), false),
            ("<U5", Kind::Utf32(5), false),
            (">U5", Kind::Utf32(5), true),
            ("|O", Kind::Object, false),
            ("O", Kind::Object, false),
            ("<f2", Kind::Half(Half::Binary16), false),
            (">c8", Kind::Complex(NcType::Float), true),
            ("<c16", Kind::Complex(NcType::Double), false),
            ("|V5", Kind::Opaque(5), false),
            (">M8[ns]", time(false, 1, TimeStep::Nano), true),
            ("<M8[25us]", time(false, 25, TimeStep::Micro), false),
            ("<m8[Y]", time(true, 1, TimeStep::Year), false),
            ("<m8", Kind::Time { unit: TimeUnit { span: true, step: None }, counted: false }, false),
            ("<M8[generic]", Kind::Time { unit: TimeUnit { span: false, step: None }, counted: false }, false),
            ("<M8[0s]", Kind::Other, false),
            ("<M8[x]", Kind::Other, false),
            ("<M8[s", Kind::Other, false),
            ("<M4[s]", Kind::Other, false),
            ("<M", Kind::Other, false),
            ("<c4", Kind::Other, false),
            ("<f16", Kind::Other, false),
            ("int4", Kind::Other, false),
            ("float8_e5m2", Kind::Other, false),
            ("|S0", Kind::Other, false),
            ("|S", Kind::Other, false),
            ("|S99999999999999999999", Kind::Other, false),
            ("<U4294967295", Kind::Other, false),
            ("", Kind::Other, false),
            ("ü8", Kind::Other, false),
            ("<i-4", Kind::Other, false),
            ("<i+4", Kind::Other, false),
            ("bfloat16", Kind::Half(Half::BFloat16), false),
        ] {
            let dtype = DType::from_name(name);
            assert_eq!((dtype.kind, dtype.big_endian, dtype.text.as_str()), (kind, big, name), "{name}");
        }
        let list = crate::json::parse(b"[[\"a\",\"<i4\"]]", &nczarr_dispatch::Limits::default()).unwrap();
        assert_eq!(DType::parse(&list).unwrap().text, "[[\"a\",\"<i4\"]]");
        assert_eq!(DType::parse(&Value::Null).unwrap_err().kind(), ErrorKind::NcZarr);
    }

    #[test]
    fn every_netcdf_type_comes_back() {
        for ty in NcType::ATOMIC {
            for endian in [Endian::Native, Endian::Little, Endian::Big] {
                let dtype = DType::of(ty, endian, 7, true).unwrap();
                assert_eq!(dtype.xtype(), Some(ty));
                assert_eq!(dtype.item_size(), if ty == NcType::String { Some(7) } else { ty.size() });
                let expected = if ty.size() < Some(2) {
                    Endian::Native
                } else if endian == Endian::Big {
                    Endian::Big
                } else {
                    Endian::Little
                };
                assert_eq!(dtype.endian(), expected, "{ty:?} {endian:?}");
            }
        }
        assert_eq!(DType::of(NcType::Char, Endian::Native, 1, false).unwrap().text, "|S1");
        assert!(DType::of(NcType::User(nczarr_model::TypeId(0)), Endian::Native, 1, true).is_err());
    }
}

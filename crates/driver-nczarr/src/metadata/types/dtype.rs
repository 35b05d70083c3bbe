//! Zarr V2 type strings (`<f8`, `>S1`, `|O` …) and their netCDF types.
//!
//! [`DType`] keeps its text, so that a document can be written back unchanged. It does not know fill values
//! or attributes.
//!
//! Source: NumPy's type strings in the format notes; the NCZarr manual for `>S1`.

use std::sync::Arc;

use nczarr_chunkio::ElementLayout;
use nczarr_codec::{ExtensionType, ItemKind, ItemType, ShownType};
use nczarr_model::convert::Half;
use nczarr_model::{Endian, ErrorKind, NcType, Result, TimeStep, TimeUnit, TypeId};

use crate::metadata::json::{Value, text};

/// The type of a variable until its own is defined.
pub(crate) const UNDEFINED: NcType = NcType::User(NO_TYPE);
pub(crate) const NO_TYPE: TypeId = TypeId(u32::MAX);

/// An element type as stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DType {
    /// The text in the document: the type string, or the JSON of a list.
    pub(crate) text: String,
    pub(crate) kind: DTypeKind,
    /// Whether the most significant byte comes first.
    pub(crate) big_endian: bool,
    /// The fields of a compound.
    pub(crate) compound: Option<Arc<CompoundDType>>,
    /// The data type of a plugin.
    pub(crate) extension: Option<PluginType>,
}

/// A data type of the registry. Types of one JSON are equal.
#[derive(Debug, Clone)]
pub(crate) struct PluginType(pub(crate) Arc<dyn ExtensionType>);

impl PartialEq for PluginType {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.to_json() == other.0.to_json()
    }
}

/// The kind of a stored element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DTypeKind {
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
    /// `<c8`, `<c16`: a complex number with parts of this type.
    Complex(NcType),
    /// `<M8[s]`, `<m8[s]`: a time in units. `counted`: shown as an integer, not as text.
    Time { unit: TimeUnit, counted: bool },
    /// `|Vn`: this many bytes.
    Opaque(usize),
    /// A list of fields: a compound.
    Compound,
    /// `|O`: the object codec among the filters gives the type.
    Object,
    /// A data type of Zarr V3 from the registry.
    Extension(ShownType),
    /// Any other type: listed, but not readable.
    Other,
}

/// The largest element; a type string with a longer one is damage, since no chunk could hold it.
pub(crate) const MAX_WIDTH: usize = 1 << 30;

/// A compound element type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CompoundDType {
    pub(crate) fields: Vec<CompoundField>,
}

/// A field: its name, type and shape. One without a name is padding.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CompoundField {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<u32>,
}

impl DType {
    /// Parses a `dtype` member.
    ///
    /// # Errors
    /// [`ErrorKind::NcZarr`] if it is neither a string nor a list.
    pub(crate) fn parse(json: &Value<'_>) -> Result<Self> {
        match json {
            Value::String(name) => Ok(Self::from_name(name)),
            Value::Array(fields) => {
                let record = CompoundDType::parse(fields).map(Arc::new);
                let kind = if record.is_some() { DTypeKind::Compound } else { DTypeKind::Other };
                Ok(Self { text: text(json), kind, big_endian: false, compound: record, extension: None })
            }
            other => Err(ErrorKind::NcZarr
                .context(format!("expected a type string or a list, found {}", other.kind()))),
        }
    }

    /// Parses a type string.
    pub(crate) fn from_name(name: &str) -> Self {
        Self {
            text: name.to_owned(),
            kind: Self::kind_of(name),
            big_endian: name.starts_with('>'),
            compound: None,
            extension: None,
        }
    }

    /// Returns the kind of a type string.
    pub(crate) fn kind_of(name: &str) -> DTypeKind {
        if name == "bfloat16" {
            return DTypeKind::Half(Half::BFloat16);
        }
        let (order, rest) = match name.as_bytes().first() {
            Some(b'<' | b'>' | b'|' | b'=') => name.split_at(1),
            _ => ("", name),
        };
        Self::kind(order, rest).unwrap_or(DTypeKind::Other)
    }

    fn kind(order: &str, rest: &str) -> Option<DTypeKind> {
        let letter = rest.chars().next()?;
        let size = &rest[letter.len_utf8()..];
        if letter == 'O' {
            return Some(DTypeKind::Object);
        }
        if matches!(letter, 'M' | 'm') {
            return parse_time(letter == 'm', size);
        }
        if size.is_empty() || !size.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let size: usize = size.parse().ok().filter(|size| (1..=MAX_WIDTH).contains(size))?;
        Some(match (letter, size) {
            ('b', 1) => DTypeKind::Bool,
            ('i', 1) => DTypeKind::Number(NcType::Byte),
            ('u', 1) => DTypeKind::Number(NcType::UByte),
            ('i', 2) => DTypeKind::Number(NcType::Short),
            ('u', 2) => DTypeKind::Number(NcType::UShort),
            ('i', 4) => DTypeKind::Number(NcType::Int),
            ('u', 4) => DTypeKind::Number(NcType::UInt),
            ('i', 8) => DTypeKind::Number(NcType::Int64),
            ('u', 8) => DTypeKind::Number(NcType::UInt64),
            ('f', 2) => DTypeKind::Half(Half::Binary16),
            ('c', 8) => DTypeKind::Complex(NcType::Float),
            ('c', 16) => DTypeKind::Complex(NcType::Double),
            ('V', bytes) => DTypeKind::Opaque(bytes),
            ('f', 4) => DTypeKind::Number(NcType::Float),
            ('f', 8) => DTypeKind::Number(NcType::Double),
            ('S', 1) if order == ">" => DTypeKind::Char,
            ('S', width) => DTypeKind::Text(width),
            ('U', chars) if chars <= MAX_WIDTH / 4 => DTypeKind::Utf32(chars),
            _ => return None,
        })
    }

    /// Returns the stored type of a new variable. `width` is the length of strings. `char_mark`: one-byte
    /// text is stored as char (`>S1`), else as other text (`|S1`).
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
            NcType::User(_) => {
                return Err(ErrorKind::NotNc4.context("a user-defined type has no Zarr type string"));
            }
        }))
    }

    /// Returns the type that the variable shows; `None` if its data cannot be read.
    pub(crate) fn xtype(&self) -> Option<NcType> {
        Some(match self.kind {
            DTypeKind::Number(ty) => ty,
            DTypeKind::Char => NcType::Char,
            DTypeKind::Bool => NcType::UByte,
            DTypeKind::Half(_) => NcType::Float,
            DTypeKind::Time { counted: true, .. } => NcType::Int64,
            DTypeKind::Text(_) | DTypeKind::Utf32(_) | DTypeKind::Time { .. } | DTypeKind::Object => {
                NcType::String
            }
            DTypeKind::Extension(ShownType::Atomic(ty)) => ty,
            DTypeKind::Complex(_) | DTypeKind::Opaque(_) | DTypeKind::Compound | DTypeKind::Extension(_) => {
                UNDEFINED
            }
            DTypeKind::Other => return None,
        })
    }

    /// Returns the byte order that the variable shows: native if order does not matter.
    pub(crate) fn endian(&self) -> Endian {
        match self.kind {
            DTypeKind::Number(ty) if ty.size() != Some(1) => {
                if self.big_endian {
                    Endian::Big
                } else {
                    Endian::Little
                }
            }
            _ => Endian::Native,
        }
    }

    /// Returns the type string if netCDF has no such type.
    pub(crate) fn foreign_name(&self) -> Option<String> {
        match self.kind {
            DTypeKind::Number(_) | DTypeKind::Char | DTypeKind::Text(_) => None,
            _ => Some(self.text.clone()),
        }
    }

    /// Returns the bytes of one stored element; `None` if they vary or are unknown.
    pub(crate) fn item_size(&self) -> Option<usize> {
        match self.kind {
            DTypeKind::Number(ty) => ty.size(),
            DTypeKind::Char | DTypeKind::Bool => Some(1),
            DTypeKind::Text(width) => Some(width),
            DTypeKind::Utf32(chars) => chars.checked_mul(4),
            DTypeKind::Half(_) => Some(2),
            DTypeKind::Time { .. } => Some(8),
            DTypeKind::Complex(part) => part.size().map(|size| 2 * size),
            DTypeKind::Opaque(bytes) => Some(bytes),
            DTypeKind::Compound => self.compound.as_ref()?.size(),
            DTypeKind::Extension(_) => Some(self.extension.as_ref()?.0.item().size),
            DTypeKind::Object | DTypeKind::Other => None,
        }
    }

    /// Returns the element type for filters.
    pub(crate) fn item_type(&self) -> ItemType {
        match self.kind {
            DTypeKind::Number(ty) => ItemType::of(ty, self.big_endian),
            DTypeKind::Bool => ItemType { kind: ItemKind::Bool, ..ItemType::BYTES },
            DTypeKind::Time { .. } => ItemType::of(NcType::Int64, self.big_endian),
            DTypeKind::Half(Half::Binary16) => {
                ItemType { kind: ItemKind::Float, size: 2, big_endian: self.big_endian }
            }
            _ => match &self.extension {
                Some(extension) => ItemType { big_endian: self.big_endian, ..extension.0.item() },
                None => ItemType::bytes(self.item_size().unwrap_or(1)),
            },
        }
    }

    /// Returns the element type for the engine, if it has a fixed size. `xtype` is the type that the variable
    /// shows.
    pub(crate) fn element(&self, xtype: NcType) -> Option<ElementLayout> {
        Some(match self.kind {
            DTypeKind::Number(ty) => ElementLayout::Number { ty, big_endian: self.big_endian },
            DTypeKind::Bool => ElementLayout::Number { ty: NcType::UByte, big_endian: false },
            DTypeKind::Char => ElementLayout::Number { ty: NcType::Char, big_endian: false },
            // A char variable in the session that created a store without char marks.
            DTypeKind::Text(1) if xtype == NcType::Char => {
                ElementLayout::Number { ty: NcType::Char, big_endian: false }
            }
            DTypeKind::Text(width) => ElementLayout::Text { width },
            DTypeKind::Utf32(chars) => ElementLayout::Utf32 { chars, big_endian: self.big_endian },
            DTypeKind::Time { counted: true, .. } => {
                ElementLayout::Number { ty: NcType::Int64, big_endian: self.big_endian }
            }
            DTypeKind::Time { unit, .. } => ElementLayout::Time { unit, big_endian: self.big_endian },
            DTypeKind::Half(_) => ElementLayout::Packed { ty: NcType::Float, pieces: self.pieces()? },
            DTypeKind::Complex(_) | DTypeKind::Opaque(_) | DTypeKind::Compound => {
                ElementLayout::Packed { ty: xtype, pieces: self.pieces()? }
            }
            DTypeKind::Extension(_) => ElementLayout::Converted {
                ty: xtype,
                data_type: Arc::clone(&self.extension.as_ref()?.0),
                big_endian: self.big_endian,
            },
            DTypeKind::Object | DTypeKind::Other => return None,
        })
    }

    /// Whether the type is a list of fields.
    pub(crate) fn is_list(&self) -> bool {
        // No type string begins with `[`.
        self.text.starts_with('[')
    }

    /// Whether the variable shows a user-defined type.
    pub(crate) fn is_user(&self) -> bool {
        matches!(
            self.kind,
            DTypeKind::Complex(_)
                | DTypeKind::Opaque(_)
                | DTypeKind::Compound
                | DTypeKind::Extension(ShownType::Opaque(_))
        )
    }

    /// Returns the type string that `_nczarr_attr` records for an attribute of type `xtype`.
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

/// Parses the rest of a time type after its letter: `8`, and perhaps the unit in brackets.
fn parse_time(span: bool, rest: &str) -> Option<DTypeKind> {
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
    Some(DTypeKind::Time { unit: TimeUnit { span, step }, counted: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(span: bool, times: u32, step: TimeStep) -> DTypeKind {
        DTypeKind::Time { unit: TimeUnit { span, step: Some((times, step)) }, counted: false }
    }

    #[test]
    fn type_strings() {
        for (name, kind, big) in [
            ("<i1", DTypeKind::Number(NcType::Byte), false),
            ("|i1", DTypeKind::Number(NcType::Byte), false),
            (">u1", DTypeKind::Number(NcType::UByte), true),
            ("i4", DTypeKind::Number(NcType::Int), false),
            (">i2", DTypeKind::Number(NcType::Short), true),
            ("<u2", DTypeKind::Number(NcType::UShort), false),
            ("<u4", DTypeKind::Number(NcType::UInt), false),
            (">i8", DTypeKind::Number(NcType::Int64), true),
            ("<u8", DTypeKind::Number(NcType::UInt64), false),
            ("<f4", DTypeKind::Number(NcType::Float), false),
            (">f8", DTypeKind::Number(NcType::Double), true),
            ("|b1", DTypeKind::Bool, false),
            (">S1", DTypeKind::Char, true),
            ("|S1", DTypeKind::Text(1), false),
            ("<S1", DTypeKind::Text(1), false),
            (">S2", DTypeKind::Text(2), true),
            ("|S128", DTypeKind::Text(128), false),
            ("<U5", DTypeKind::Utf32(5), false),
            (">U5", DTypeKind::Utf32(5), true),
            ("|O", DTypeKind::Object, false),
            ("O", DTypeKind::Object, false),
            ("<f2", DTypeKind::Half(Half::Binary16), false),
            (">c8", DTypeKind::Complex(NcType::Float), true),
            ("<c16", DTypeKind::Complex(NcType::Double), false),
            ("|V5", DTypeKind::Opaque(5), false),
            (">M8[ns]", time(false, 1, TimeStep::Nano), true),
            ("<M8[25us]", time(false, 25, TimeStep::Micro), false),
            ("<m8[Y]", time(true, 1, TimeStep::Year), false),
            ("<m8", DTypeKind::Time { unit: TimeUnit { span: true, step: None }, counted: false }, false),
            (
                "<M8[generic]",
                DTypeKind::Time { unit: TimeUnit { span: false, step: None }, counted: false },
                false,
            ),
            ("<M8[0s]", DTypeKind::Other, false),
            ("<M8[x]", DTypeKind::Other, false),
            ("<M8[s", DTypeKind::Other, false),
            ("<M4[s]", DTypeKind::Other, false),
            ("<M", DTypeKind::Other, false),
            ("<c4", DTypeKind::Other, false),
            ("<f16", DTypeKind::Other, false),
            ("int4", DTypeKind::Other, false),
            ("float8_e5m2", DTypeKind::Other, false),
            ("|S0", DTypeKind::Other, false),
            ("|S", DTypeKind::Other, false),
            ("|S99999999999999999999", DTypeKind::Other, false),
            ("<U4294967295", DTypeKind::Other, false),
            ("", DTypeKind::Other, false),
            ("ü8", DTypeKind::Other, false),
            ("<i-4", DTypeKind::Other, false),
            ("<i+4", DTypeKind::Other, false),
            ("bfloat16", DTypeKind::Half(Half::BFloat16), false),
        ] {
            let dtype = DType::from_name(name);
            assert_eq!((dtype.kind, dtype.big_endian, dtype.text.as_str()), (kind, big, name), "{name}");
        }
        let list =
            crate::metadata::json::parse(b"[[\"a\",\"<i4\"]]", &nczarr_dispatch::Limits::default()).unwrap();
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

//! Typed values in memory: the content of an attribute ([`Values`]) and one number ([`Scalar`]).

use crate::{NcString, NcType, TypeId};

/// A vector of values of one type: the contents of an attribute, or a fill value (one element).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Values {
    /// Signed 8-bit integers.
    Byte(Vec<i8>),
    /// Text, byte by byte.
    Char(Vec<u8>),
    /// Signed 16-bit integers.
    Short(Vec<i16>),
    /// Signed 32-bit integers.
    Int(Vec<i32>),
    /// Singles.
    Float(Vec<f32>),
    /// Doubles.
    Double(Vec<f64>),
    /// Unsigned 8-bit integers.
    UByte(Vec<u8>),
    /// Unsigned 16-bit integers.
    UShort(Vec<u16>),
    /// Unsigned 32-bit integers.
    UInt(Vec<u32>),
    /// Signed 64-bit integers.
    Int64(Vec<i64>),
    /// Unsigned 64-bit integers.
    UInt64(Vec<u64>),
    /// Strings.
    String(Vec<NcString>),
    /// Elements of a user-defined type of fixed size, in its memory form, native byte order, one after
    /// another.
    User(TypeId, Vec<u8>),
    /// Elements of a user-defined type that contains a string or a vlen, each in its packed form
    /// ([`Packer`](crate::Packer)).
    Packed(TypeId, Vec<NcString>),
}

/// Runs `$body` with `$v` bound to the vector of whichever variant of [`Values`] it is, except `User`.
#[macro_export]
macro_rules! each_values {
    ($values:expr, $v:ident => $body:expr, user $ty:ident, $bytes:ident => $user:expr) => {
        match $values {
            $crate::Values::Byte($v) => $body,
            $crate::Values::Char($v) => $body,
            $crate::Values::Short($v) => $body,
            $crate::Values::Int($v) => $body,
            $crate::Values::Float($v) => $body,
            $crate::Values::Double($v) => $body,
            $crate::Values::UByte($v) => $body,
            $crate::Values::UShort($v) => $body,
            $crate::Values::UInt($v) => $body,
            $crate::Values::Int64($v) => $body,
            $crate::Values::UInt64($v) => $body,
            $crate::Values::String($v) | $crate::Values::Packed(_, $v) => $body,
            $crate::Values::User($ty, $bytes) => $user,
            #[allow(unreachable_patterns)]
            _ => unreachable!("every variant is listed"),
        }
    };
}

/// One number, exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// Any integer of up to 64 bits.
    Int(i128),
    /// A float; singles widen without loss.
    Float(f64),
}

impl Values {
    /// The type of the values.
    pub fn nc_type(&self) -> NcType {
        match self {
            Self::Byte(_) => NcType::Byte,
            Self::Char(_) => NcType::Char,
            Self::Short(_) => NcType::Short,
            Self::Int(_) => NcType::Int,
            Self::Float(_) => NcType::Float,
            Self::Double(_) => NcType::Double,
            Self::UByte(_) => NcType::UByte,
            Self::UShort(_) => NcType::UShort,
            Self::UInt(_) => NcType::UInt,
            Self::Int64(_) => NcType::Int64,
            Self::UInt64(_) => NcType::UInt64,
            Self::String(_) => NcType::String,
            Self::User(ty, _) | Self::Packed(ty, _) => NcType::User(*ty),
        }
    }

    /// Returns the number of values. For a user-defined type of fixed size, the number of bytes; see
    /// [`Model::count`](crate::Model::count).
    pub fn len(&self) -> usize {
        each_values!(self, v => v.len(), user _ty, bytes => bytes.len())
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Text as an `NC_CHAR` vector.
    pub fn text(text: &str) -> Self {
        Self::Char(text.as_bytes().to_vec())
    }

    /// No values of an atomic type; `None` for a user-defined one.
    pub fn empty(ty: NcType) -> Option<Self> {
        Some(match ty {
            NcType::Byte => Self::Byte(Vec::new()),
            NcType::Char => Self::Char(Vec::new()),
            NcType::Short => Self::Short(Vec::new()),
            NcType::Int => Self::Int(Vec::new()),
            NcType::Float => Self::Float(Vec::new()),
            NcType::Double => Self::Double(Vec::new()),
            NcType::UByte => Self::UByte(Vec::new()),
            NcType::UShort => Self::UShort(Vec::new()),
            NcType::UInt => Self::UInt(Vec::new()),
            NcType::Int64 => Self::Int64(Vec::new()),
            NcType::UInt64 => Self::UInt64(Vec::new()),
            NcType::String => Self::String(Vec::new()),
            NcType::User(id) => Self::User(id, Vec::new()),
        })
    }

    /// Value `index` as a number; `None` for text, user-defined types and beyond the end.
    pub fn scalar(&self, index: usize) -> Option<Scalar> {
        Some(match self {
            Self::Byte(v) => Scalar::Int((*v.get(index)?).into()),
            Self::Short(v) => Scalar::Int((*v.get(index)?).into()),
            Self::Int(v) => Scalar::Int((*v.get(index)?).into()),
            Self::UByte(v) => Scalar::Int((*v.get(index)?).into()),
            Self::UShort(v) => Scalar::Int((*v.get(index)?).into()),
            Self::UInt(v) => Scalar::Int((*v.get(index)?).into()),
            Self::Int64(v) => Scalar::Int((*v.get(index)?).into()),
            Self::UInt64(v) => Scalar::Int((*v.get(index)?).into()),
            Self::Float(v) => Scalar::Float((*v.get(index)?).into()),
            Self::Double(v) => Scalar::Float(*v.get(index)?),
            Self::Char(_) | Self::String(_) | Self::User(..) | Self::Packed(..) => return None,
        })
    }

    /// The text of a char vector, or of a single string; `None` otherwise or if it is not UTF-8.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Char(bytes) => std::str::from_utf8(bytes).ok(),
            Self::String(strings) if strings.len() == 1 => strings[0].to_str().ok(),
            _ => None,
        }
    }

    /// Returns the values in native byte order; `None` for strings and packed elements.
    pub fn to_native_bytes(&self) -> Option<Vec<u8>> {
        macro_rules! bytes {
            ($v:expr) => {{
                let mut bytes = vec![0; size_of_val($v.as_slice())];
                for (slot, value) in bytes.as_chunks_mut().0.iter_mut().zip($v) {
                    *slot = value.to_ne_bytes();
                }
                bytes
            }};
        }
        Some(match self {
            Self::Byte(v) => bytes!(v),
            Self::Char(v) | Self::UByte(v) => v.clone(),
            Self::Short(v) => bytes!(v),
            Self::Int(v) => bytes!(v),
            Self::Float(v) => bytes!(v),
            Self::Double(v) => bytes!(v),
            Self::UShort(v) => bytes!(v),
            Self::UInt(v) => bytes!(v),
            Self::Int64(v) => bytes!(v),
            Self::UInt64(v) => bytes!(v),
            Self::User(_, bytes) => bytes.clone(),
            Self::String(_) | Self::Packed(..) => return None,
        })
    }

    /// The inverse of [`Values::to_native_bytes`]; `None` for strings or if the length is not a whole number
    /// of elements.
    pub fn from_native_bytes(ty: NcType, bytes: &[u8]) -> Option<Self> {
        macro_rules! values {
            ($t:ty, $variant:ident) => {{
                let (items, rest) = bytes.as_chunks::<{ size_of::<$t>() }>();
                if !rest.is_empty() {
                    return None;
                }
                Self::$variant(items.iter().map(|item| <$t>::from_ne_bytes(*item)).collect())
            }};
        }
        Some(match ty {
            NcType::Byte => values!(i8, Byte),
            NcType::Char => Self::Char(bytes.to_vec()),
            NcType::Short => values!(i16, Short),
            NcType::Int => values!(i32, Int),
            NcType::Float => values!(f32, Float),
            NcType::Double => values!(f64, Double),
            NcType::UByte => Self::UByte(bytes.to_vec()),
            NcType::UShort => values!(u16, UShort),
            NcType::UInt => values!(u32, UInt),
            NcType::Int64 => values!(i64, Int64),
            NcType::UInt64 => values!(u64, UInt64),
            NcType::User(id) => Self::User(id, bytes.to_vec()),
            NcType::String => return None,
        })
    }
}

impl PartialEq for Values {
    /// Same type and same values bit for bit: a NaN equals itself, `-0.0` is not `0.0`.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Byte(a), Self::Byte(b)) => a == b,
            (Self::Char(a), Self::Char(b)) | (Self::UByte(a), Self::UByte(b)) => a == b,
            (Self::Short(a), Self::Short(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => {
                a.iter().map(|v| v.to_bits()).eq(b.iter().map(|v| v.to_bits()))
            }
            (Self::Double(a), Self::Double(b)) => {
                a.iter().map(|v| v.to_bits()).eq(b.iter().map(|v| v.to_bits()))
            }
            (Self::UShort(a), Self::UShort(b)) => a == b,
            (Self::UInt(a), Self::UInt(b)) => a == b,
            (Self::Int64(a), Self::Int64(b)) => a == b,
            (Self::UInt64(a), Self::UInt64(b)) => a == b,
            (Self::String(a), Self::String(b)) => a == b,
            (Self::User(this, a), Self::User(that, b)) => this == that && a == b,
            (Self::Packed(this, a), Self::Packed(that, b)) => this == that && a == b,
            _ => false,
        }
    }
}

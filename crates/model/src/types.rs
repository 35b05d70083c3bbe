//! Types: the twelve atomic ones and the four classes of user-defined ones.

use crate::{ErrorKind, GroupId, Result, TypeId};

/// The type of a variable, an attribute or memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NcType {
    /// Signed 8-bit integer.
    #[default]
    Byte,
    /// One byte of text.
    Char,
    /// Signed 16-bit integer.
    Short,
    /// Signed 32-bit integer.
    Int,
    /// IEEE 754 single.
    Float,
    /// IEEE 754 double.
    Double,
    /// Unsigned 8-bit integer.
    UByte,
    /// Unsigned 16-bit integer.
    UShort,
    /// Unsigned 32-bit integer.
    UInt,
    /// Signed 64-bit integer.
    Int64,
    /// Unsigned 64-bit integer.
    UInt64,
    /// Text of any length.
    String,
    /// A user-defined type.
    User(TypeId),
}

impl NcType {
    /// The atomic types, in the order of their `nc_type` numbers (1 to 12).
    pub const ATOMIC: [Self; 12] = [
        Self::Byte,
        Self::Char,
        Self::Short,
        Self::Int,
        Self::Float,
        Self::Double,
        Self::UByte,
        Self::UShort,
        Self::UInt,
        Self::Int64,
        Self::UInt64,
        Self::String,
    ];

    /// The `nc_type` number: 1 to 12, and from 32 on for user-defined types.
    pub const fn code(self) -> i32 {
        match self {
            Self::Byte => 1,
            Self::Char => 2,
            Self::Short => 3,
            Self::Int => 4,
            Self::Float => 5,
            Self::Double => 6,
            Self::UByte => 7,
            Self::UShort => 8,
            Self::UInt => 9,
            Self::Int64 => 10,
            Self::UInt64 => 11,
            Self::String => 12,
            Self::User(id) => 32 + id.0 as i32,
        }
    }

    /// The atomic type of an `nc_type` number.
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ATOMIC.into_iter().find(|ty| ty.code() == code)
    }

    /// Returns the CDL keyword of an atomic type. The model has the names of user-defined types.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Byte => "byte",
            Self::Char => "char",
            Self::Short => "short",
            Self::Int => "int",
            Self::Float => "float",
            Self::Double => "double",
            Self::UByte => "ubyte",
            Self::UShort => "ushort",
            Self::UInt => "uint",
            Self::Int64 => "int64",
            Self::UInt64 => "uint64",
            Self::String => "string",
            Self::User(_) => "user-defined",
        }
    }

    /// Bytes of one element in memory; `None` for strings and user-defined types.
    pub const fn size(self) -> Option<usize> {
        match self {
            Self::Byte | Self::Char | Self::UByte => Some(1),
            Self::Short | Self::UShort => Some(2),
            Self::Int | Self::UInt | Self::Float => Some(4),
            Self::Double | Self::Int64 | Self::UInt64 => Some(8),
            Self::String | Self::User(_) => None,
        }
    }

    /// Whether it is one of the ten number types.
    pub const fn is_numeric(self) -> bool {
        !matches!(self, Self::Char | Self::String | Self::User(_))
    }

    /// Whether it is one of the eight integer types.
    pub const fn is_integer(self) -> bool {
        self.is_numeric() && !matches!(self, Self::Float | Self::Double)
    }

    /// Whether it is one of the twelve atomic types.
    pub const fn is_atomic(self) -> bool {
        !matches!(self, Self::User(_))
    }
}

/// A user-defined type.
#[derive(Debug, Clone, PartialEq)]
pub struct UserType {
    /// Its name, unique among the types of its group.
    pub name: String,
    /// The group it is defined in.
    pub group: GroupId,
    /// Its class.
    pub class: TypeClass,
}

/// The four classes of user-defined types.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeClass {
    /// A record of fields.
    Compound {
        /// Bytes of one element in memory.
        size: usize,
        /// The fields, in the order of insertion.
        fields: Vec<Field>,
    },
    /// Named values of an integer type.
    Enum {
        /// The integer type.
        base: NcType,
        /// The members, in the order of insertion.
        members: Vec<EnumMember>,
    },
    /// Bytes without structure.
    Opaque {
        /// Bytes of one element.
        size: usize,
    },
    /// A sequence of any length.
    Vlen {
        /// The type of its elements.
        base: NcType,
    },
}

/// A field of a compound type.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name, unique in the type.
    pub name: String,
    /// Bytes from the start of the element.
    pub offset: usize,
    /// Its type.
    pub ty: NcType,
    /// Its shape; empty for a single value.
    pub shape: Vec<u32>,
}

/// A member of an enum type.
#[derive(Debug, Clone, PartialEq)]
pub struct EnumMember {
    /// Its name, unique in the type.
    pub name: String,
    /// Its value; always fits the base type.
    pub value: i128,
}

impl UserType {
    /// Bytes of one element in memory; `None` for a vlen, whose memory form is a handle.
    ///
    /// # Errors
    /// [`ErrorKind::BadType`] if an enum's base is not an integer type.
    pub fn size(&self) -> Result<Option<usize>> {
        match &self.class {
            TypeClass::Compound { size, .. } | TypeClass::Opaque { size } => Ok(Some(*size)),
            TypeClass::Enum { base, .. } => match base.size() {
                Some(size) if base.is_integer() => Ok(Some(size)),
                _ => {
                    Err(ErrorKind::BadType.context(format!("enum {}: base type {}", self.name, base.name())))
                }
            },
            TypeClass::Vlen { .. } => Ok(None),
        }
    }

    /// The name of an enum value, if a member has it.
    pub fn enum_ident(&self, value: i128) -> Option<&str> {
        match &self.class {
            TypeClass::Enum { members, .. } => {
                members.iter().find(|member| member.value == value).map(|member| member.name.as_str())
            }
            _ => None,
        }
    }
}

//! The type of elements in the memory of a call: that of the function, or that of the variable.

use std::ffi::c_long;

use nczarr::NcType;

use crate::open_file::OpenFile;

/// The type of the elements of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryType {
    /// The function's name has no type: that of the variable or attribute.
    Own,
    /// The type in the function's name.
    Given(NcType),
}

impl MemoryType {
    /// `long` of C, which has the size of a pointer on most systems.
    pub const LONG: Self = Self::Given(if size_of::<c_long>() == 8 { NcType::Int64 } else { NcType::Int });

    /// Returns the type of elements in memory. In CDF-1 and CDF-2 a byte may be signed or unsigned, so an
    /// unsigned one is not converted.
    pub fn of(self, stored: NcType, file: &OpenFile) -> NcType {
        match self {
            Self::Own => stored,
            Self::Given(NcType::UByte) if stored == NcType::Byte && file.has_any_bytes() => stored,
            Self::Given(ty) => ty,
        }
    }
}

/// Calls a macro with the ending and the type of each function for numbers.
macro_rules! for_each_number_type {
    ($name:ident) => {
        $name! {
            "_schar" => $crate::memory_type::MemoryType::Given(::nczarr::NcType::Byte),
            "_uchar" => $crate::memory_type::MemoryType::Given(::nczarr::NcType::UByte),
            "_ubyte" => $crate::memory_type::MemoryType::Given(::nczarr::NcType::UByte),
            "_short" => $crate::memory_type::MemoryType::Given(::nczarr::NcType::Short),
            "_ushort" => $crate::memory_type::MemoryType::Given(::nczarr::NcType::UShort),
            "_int" => $crate::memory_type::MemoryType::Given(::nczarr::NcType::Int),
            "_uint" => $crate::memory_type::MemoryType::Given(::nczarr::NcType::UInt),
            "_long" => $crate::memory_type::MemoryType::LONG,
            "_longlong" => $crate::memory_type::MemoryType::Given(::nczarr::NcType::Int64),
            "_ulonglong" => $crate::memory_type::MemoryType::Given(::nczarr::NcType::UInt64),
            "_float" => $crate::memory_type::MemoryType::Given(::nczarr::NcType::Float),
            "_double" => $crate::memory_type::MemoryType::Given(::nczarr::NcType::Double),
        }
    };
}

/// As `for_each_number_type`, with text and strings.
macro_rules! for_each_memory_type {
    ($name:ident) => {
        for_each_number_type!($name);
        $name! {
            "_text" => $crate::memory_type::MemoryType::Given(::nczarr::NcType::Char),
            "_string" => $crate::memory_type::MemoryType::Given(::nczarr::NcType::String),
        }
    };
}

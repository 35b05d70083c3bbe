//! Types by name: numpy's codes for numbers, `S1` for char, `str` for strings.

use nczarr::{ErrorKind, Group, NcType, Result};

/// The atomic types and their names.
const ATOMIC: [(NcType, &str); 12] = [
    (NcType::Byte, "i1"),
    (NcType::Char, "S1"),
    (NcType::Short, "i2"),
    (NcType::Int, "i4"),
    (NcType::Float, "f4"),
    (NcType::Double, "f8"),
    (NcType::UByte, "u1"),
    (NcType::UShort, "u2"),
    (NcType::UInt, "u4"),
    (NcType::Int64, "i8"),
    (NcType::UInt64, "u8"),
    (NcType::String, "str"),
];

/// Returns the name of an atomic type; `None` for a user-defined one.
pub fn name(ty: NcType) -> Option<&'static str> {
    ATOMIC.iter().find(|(atomic, _)| *atomic == ty).map(|(_, name)| *name)
}

/// Returns the atomic type of this name.
pub fn atomic(name: &str) -> Option<NcType> {
    ATOMIC.iter().find(|(_, atomic)| *atomic == name).map(|(ty, _)| *ty)
}

/// Returns the type of this name: an atomic one, or a user-defined one that is visible from `group`.
pub fn of_name(name: &str, group: &Group) -> Result<NcType> {
    match atomic(name) {
        Some(ty) => Ok(ty),
        None => Ok(group.user_type(name)?.nc_type()),
    }
}

/// As [`atomic`], with an error.
pub fn of_number(name: &str) -> Result<NcType> {
    atomic(name)
        .ok_or_else(|| ErrorKind::BadType.context(format!("{name} is not the name of an atomic type")))
}

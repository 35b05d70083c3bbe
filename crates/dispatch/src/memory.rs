//! The caller's side of a transfer: [`MemMut`] to read into and [`MemRef`] to write from. Memory for results is a
//! [`Buffer`](crate::Buffer).
//!
//! Elements lie one after another in C order of the slab, in native byte order.

use nczarr_model::{ErrorKind, NcString, NcType, Result};

use crate::OutBuf;

/// Where a read puts its elements.
#[derive(Debug)]
#[non_exhaustive]
pub enum MemMut<'a, 'b> {
    /// Elements of a type of fixed size.
    Fixed {
        /// Their type; conversion to it happens on the way.
        ty: NcType,
        /// Their place: its capacity is exactly the slab's elements times the type's size. After a success all of it is filled.
        out: &'a mut OutBuf<'b>,
    },
    /// Strings, or packed elements of a user-defined type without a fixed size ([`nczarr_model::Packer`]); exactly the slab's number of elements.
    Strings(&'a mut [NcString]),
}

/// Where a write takes its elements from.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum MemRef<'a> {
    /// Elements of a type of fixed size.
    Fixed {
        /// Their type; conversion from it happens on the way.
        ty: NcType,
        /// Exactly the slab's elements times the type's size.
        bytes: &'a [u8],
    },
    /// Strings, or packed elements of a user-defined type without a fixed size ([`nczarr_model::Packer`]); exactly the slab's number of elements.
    Strings(&'a [NcString]),
}

impl MemMut<'_, '_> {
    /// The type of the elements.
    pub fn ty(&self) -> NcType {
        match self {
            Self::Fixed { ty, .. } => *ty,
            Self::Strings(_) => NcType::String,
        }
    }
}

impl MemRef<'_> {
    /// The type of the elements.
    pub fn ty(&self) -> NcType {
        match self {
            Self::Fixed { ty, .. } => *ty,
            Self::Strings(_) => NcType::String,
        }
    }
}

/// Bytes that `elements` elements of `size` bytes take.
///
/// # Errors
/// [`ErrorKind::NoMem`] if that does not fit the address space.
pub fn byte_len(elements: u64, size: usize) -> Result<usize> {
    usize::try_from(elements)
        .ok()
        .and_then(|n| n.checked_mul(size))
        .filter(|&n| n <= isize::MAX as usize)
        .ok_or_else(|| ErrorKind::NoMem.context(format!("{elements} elements of {size} bytes")))
}

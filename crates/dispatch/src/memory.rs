//! The caller's memory in a transfer: [`MemMut`] for reads and [`MemRef`] for writes.
//! [`Buffer`](nczarr_runtime::Buffer) owns memory for results.
//!
//! Elements follow one another in C order of the slab, in native byte order.

use nczarr_model::{ErrorKind, NcString, NcType, Result, Values, convert};

use crate::OutBuf;

/// The destination of a read.
#[derive(Debug)]
#[non_exhaustive]
pub enum MemMut<'a, 'b> {
    /// Elements of a type of fixed size.
    Fixed {
        /// Their type; the read converts to it.
        ty: NcType,
        /// Their memory. The capacity is exactly the slab's elements times the type's size. A successful read
        /// fills all of it.
        out: &'a mut OutBuf<'b>,
    },
    /// Strings, or packed elements of a user-defined type without a fixed size ([`nczarr_model::Packer`]):
    /// one for each element of the slab.
    Strings(&'a mut [NcString]),
}

/// The source of a write.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum MemRef<'a> {
    /// Elements of a type of fixed size.
    Fixed {
        /// Their type; the write converts from it.
        ty: NcType,
        /// Exactly the slab's elements times the type's size.
        bytes: &'a [u8],
    },
    /// Strings, or packed elements of a user-defined type without a fixed size ([`nczarr_model::Packer`]):
    /// one for each element of the slab.
    Strings(&'a [NcString]),
}

impl MemMut<'_, '_> {
    /// Returns the bytes or strings that there is room for.
    pub fn room(&self) -> usize {
        match self {
            Self::Fixed { out, .. } => out.capacity(),
            Self::Strings(strings) => strings.len(),
        }
    }

    /// Returns the type of the elements.
    pub fn ty(&self) -> NcType {
        match self {
            Self::Fixed { ty, .. } => *ty,
            Self::Strings(_) => NcType::String,
        }
    }

    /// Fills the memory with values, converted to its type.
    ///
    /// ```
    /// use nczarr_dispatch::{MemMut, OutBuf};
    /// use nczarr_model::{NcType, Values};
    ///
    /// let mut bytes = [0; 16];
    /// let out = &mut OutBuf::from_slice(&mut bytes);
    /// MemMut::Fixed { ty: NcType::Double, out }.put_values(&Values::Short(vec![7, 8]))?;
    /// assert_eq!(bytes[8..], 8f64.to_ne_bytes());
    /// # Ok::<(), nczarr_model::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ERANGE`, after all values, if one does not fit the type; `NC_ECHAR` or `NC_EBADTYPE` if the types
    /// do not convert; `NC_EINVAL` for another number of values.
    pub fn put_values(self, values: &Values) -> Result<()> {
        let room = self.room();
        let wrong = |found: usize| {
            ErrorKind::Inval.context(format!("wrong number of values (room for {room}, found {found})"))
        };
        let (values, out_of_range) = convert::convert_values(values, self.ty())?;
        match (self, values) {
            (Self::Strings(out), Values::String(list)) if list.len() == room => {
                out.iter_mut().zip(list).for_each(|(to, from)| *to = from);
            }
            (Self::Strings(_), values) => return Err(wrong(values.len())),
            (Self::Fixed { ty, out }, values) => {
                let no_size = || ErrorKind::BadType.context(format!("values of type {}", ty.name()));
                let bytes = values.to_native_bytes().ok_or_else(no_size)?;
                if bytes.len() != room {
                    return Err(wrong(bytes.len()));
                }
                out.put(&bytes)?;
            }
        }
        if out_of_range {
            Err(ErrorKind::Range.context("a value does not fit the type in memory"))
        } else {
            Ok(())
        }
    }
}

impl MemRef<'_> {
    /// Returns the number of bytes or strings.
    pub fn size(&self) -> usize {
        match self {
            Self::Fixed { bytes, .. } => bytes.len(),
            Self::Strings(strings) => strings.len(),
        }
    }

    /// Returns the type of the elements.
    pub fn ty(&self) -> NcType {
        match self {
            Self::Fixed { ty, .. } => *ty,
            Self::Strings(_) => NcType::String,
        }
    }
}

/// Returns the size in bytes of `elements` elements of `size` bytes.
///
/// # Errors
/// [`ErrorKind::NoMem`] if the size exceeds the address space.
pub fn byte_len(elements: u64, size: usize) -> Result<usize> {
    usize::try_from(elements)
        .ok()
        .and_then(|n| n.checked_mul(size))
        .filter(|&n| n <= isize::MAX as usize)
        .ok_or_else(|| ErrorKind::NoMem.context(format!("{elements} elements of {size} bytes")))
}

/// Allocates `len` zero bytes.
///
/// # Errors
/// [`ErrorKind::NoMem`] if memory is short.
pub fn zeroed(len: usize) -> Result<Vec<u8>> {
    filled(len, 0, "bytes")
}

/// Allocates `count` empty strings.
///
/// # Errors
/// [`ErrorKind::NoMem`] if memory is short.
pub fn empty_strings(count: usize) -> Result<Vec<NcString>> {
    filled(count, NcString::new(), "strings")
}

fn filled<T: Clone>(count: usize, value: T, what: &str) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values
        .try_reserve_exact(count)
        .map_err(|error| ErrorKind::NoMem.context(format!("{count} {what}")).caused_by(error))?;
    values.resize(count, value);
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_short_is_an_error() {
        assert_eq!(zeroed(3).unwrap(), [0; 3]);
        assert_eq!(empty_strings(2).unwrap(), [NcString::new(), NcString::new()]);
        for kind in [zeroed(usize::MAX).unwrap_err().kind(), empty_strings(usize::MAX).unwrap_err().kind()] {
            assert_eq!(kind, ErrorKind::NoMem);
        }
    }
}

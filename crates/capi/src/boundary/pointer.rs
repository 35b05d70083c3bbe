//! The pointers of C as arguments.
//!
//! Every type has the layout of a pointer and is only made by a caller in C. The contract of each method is
//! that of the C interface: the pointer is null, or valid for the elements that the function documents, until
//! the function returns.
#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::{ptr, slice};

use nczarr::{DimVec, ErrorKind, NcString, Result};

/// Values to read; may be null.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct InPtr<T>(*const T);

impl<T: Copy> InPtr<T> {
    /// Runs a call with values as its argument.
    pub fn lend<R>(values: &[T], call: impl FnOnce(Self) -> R) -> R {
        call(Self(values.as_ptr()))
    }

    /// Whether the caller passed no values.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Returns the values; `None` for a null pointer, unless no value is asked for.
    pub fn slice(&self, len: usize) -> Option<&[T]> {
        match (len, self.is_null()) {
            (0, _) => Some(&[]),
            (_, true) => None,
            // SAFETY: the caller passes `len` values.
            _ => Some(unsafe { slice::from_raw_parts(self.0, len) }),
        }
    }

    /// Returns the values, or `NC_EINVAL` for a null pointer.
    pub fn values(&self, len: usize, name: &str) -> Result<&[T]> {
        self.slice(len).ok_or_else(|| ErrorKind::Inval.context(format!("argument {name} is null")))
    }
}

impl InPtr<usize> {
    /// Returns sizes or indices.
    pub fn sizes(&self, len: usize) -> Option<DimVec<u64>> {
        Some(self.slice(len)?.iter().map(|&value| value as u64).collect())
    }
}

impl InPtr<isize> {
    /// Returns distances.
    pub fn distances(&self, len: usize) -> Option<DimVec<i64>> {
        Some(self.slice(len)?.iter().map(|&value| value as i64).collect())
    }
}

/// A place for results; may be null, and then the result is not wanted.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct OutPtr<T>(*mut T);

impl<T: Copy + Default> OutPtr<T> {
    /// Runs a call with a place for its result, and returns the result.
    pub fn result_of(call: impl FnOnce(Self) -> Result<()>) -> Result<T> {
        let mut result = T::default();
        call(Self(&mut result))?;
        Ok(result)
    }
}

impl<T: Copy> OutPtr<T> {
    /// Whether the result is not wanted.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Returns the address.
    pub(super) fn address(&self) -> *mut T {
        self.0
    }

    /// Stores one result.
    pub fn set(&self, value: T) {
        self.set_at(0, value);
    }

    /// Stores the result at an index.
    pub fn set_at(&self, index: usize, value: T) {
        if !self.is_null() {
            // SAFETY: the caller has room for all documented results.
            unsafe { self.0.add(index).write(value) }
        }
    }

    /// Stores several results.
    pub fn set_all(&self, values: impl IntoIterator<Item = T>) {
        if !self.is_null() {
            values.into_iter().enumerate().for_each(|(index, value)| self.set_at(index, value));
        }
    }
}

/// Text that ends with a zero byte; may be null.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct TextPtr(*const c_char);

impl TextPtr {
    /// Whether the caller passed no text.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Returns the bytes; `None` for a null pointer.
    pub fn bytes(&self) -> Option<&[u8]> {
        // SAFETY: the caller passes text with a zero byte at its end.
        (!self.is_null()).then(|| unsafe { CStr::from_ptr(self.0) }.to_bytes())
    }

    /// Returns the name of an attribute to store: as [`TextPtr::name`], but `NC_EBADNAME` for a null pointer.
    pub fn att_name(&self) -> Result<&str> {
        if self.is_null() {
            return Err(ErrorKind::BadName.context("the name is null"));
        }
        self.name()
    }

    /// Returns a name: `NC_EINVAL` for a null pointer, `NC_EBADNAME` if it is not UTF-8.
    pub fn name(&self) -> Result<&str> {
        let bytes = self.bytes().ok_or_else(|| ErrorKind::Inval.context("the name is null"))?;
        str::from_utf8(bytes).map_err(|error| {
            ErrorKind::BadName
                .context(format!("name {:?} is not UTF-8", String::from_utf8_lossy(bytes)))
                .caused_by(error)
        })
    }
}

/// Turns the bytes of a path into a path.
#[cfg(unix)]
pub fn path_from_bytes(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    OsStr::from_bytes(bytes).into()
}

/// Turns the bytes of a path into a path.
#[cfg(not(unix))]
pub fn path_from_bytes(bytes: &[u8]) -> PathBuf {
    OsStr::new(&*String::from_utf8_lossy(bytes)).into()
}

/// A place for a name and its zero byte; may be null. The caller has room for `NC_MAX_NAME + 1` bytes.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct NamePtr(*mut c_char);

impl NamePtr {
    /// Stores text and a zero byte.
    pub fn set(&self, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        if !self.0.is_null() {
            // SAFETY: the caller has room for the name.
            unsafe {
                ptr::copy_nonoverlapping(text.as_ptr(), self.0.cast(), text.len());
                self.0.add(text.len()).write(0);
            }
        }
    }
}

/// Elements of any type to read; may be null.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct SourcePtr(*const c_void);

impl SourcePtr {
    /// Returns the address.
    pub(super) fn address(&self) -> *const c_void {
        self.0
    }

    /// Whether the caller passed no elements.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Returns the elements `first` to `last` as bytes. The first may lie before the pointer.
    pub fn span(&self, first: isize, last: isize, size: usize) -> Result<&[u8]> {
        let (offset, len) = span_in_bytes(first, last, size)?;
        match (len, self.is_null()) {
            (0, _) => Ok(&[]),
            (_, true) => Err(ErrorKind::Inval.context("the memory of the values is null")),
            // SAFETY: the caller passes all elements that its distances reach.
            _ => Ok(unsafe { slice::from_raw_parts(self.0.cast::<u8>().wrapping_offset(offset), len) }),
        }
    }

    /// Returns the elements as bytes, or `NC_EINVAL` for a null pointer.
    pub fn bytes(&self, len: usize) -> Result<&[u8]> {
        match (len, self.is_null()) {
            (0, _) => Ok(&[]),
            (_, true) => Err(ErrorKind::Inval.context("the memory of the values is null")),
            // SAFETY: the caller passes `len` bytes of elements.
            _ => Ok(unsafe { slice::from_raw_parts(self.0.cast(), len) }),
        }
    }
}

/// Returns offset and length in bytes of elements `first` to `last`.
fn span_in_bytes(first: isize, last: isize, size: usize) -> Result<(isize, usize)> {
    let count = last.checked_sub(first).and_then(|count| usize::try_from(count.checked_add(1)?).ok());
    let len = count.and_then(|count| count.checked_mul(size)).filter(|&len| isize::try_from(len).is_ok());
    let offset = isize::try_from(size).ok().and_then(|size| first.checked_mul(size));
    offset.zip(len).ok_or_else(|| ErrorKind::Inval.context(format!("elements {first} to {last} in memory")))
}

/// Memory for elements of any type; may be null.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct TargetPtr(*mut c_void);

impl TargetPtr {
    /// Returns the address.
    pub fn address(&self) -> *mut c_void {
        self.0
    }

    /// Whether the caller wants no elements.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Passes the memory of `len` bytes to `fill`. `NC_EINVAL` for a null pointer.
    pub fn with<T>(&self, len: usize, fill: impl FnOnce(&mut [MaybeUninit<u8>]) -> Result<T>) -> Result<T> {
        match (len, self.is_null()) {
            (0, _) => fill(&mut []),
            (_, true) => Err(ErrorKind::Inval.context("the memory for the values is null")),
            // SAFETY: the caller has room for `len` bytes, and no other argument refers to them.
            _ => fill(unsafe { slice::from_raw_parts_mut(self.0.cast(), len) }),
        }
    }

    /// As [`TargetPtr::with`], for memory that the caller initialised.
    pub fn with_initialised<T>(&self, len: usize, fill: impl FnOnce(&mut [u8]) -> Result<T>) -> Result<T> {
        match (len, self.is_null()) {
            (0, _) => fill(&mut []),
            (_, true) => Err(ErrorKind::Inval.context("the memory for the values is null")),
            // SAFETY: as in `with`. Memory from C has some value in every byte.
            _ => fill(unsafe { slice::from_raw_parts_mut(self.0.cast(), len) }),
        }
    }

    /// Passes the memory of elements `first` to `last` to `fill`. The first may lie before the pointer.
    pub fn with_span<T>(
        &self,
        first: isize,
        last: isize,
        size: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<T>,
    ) -> Result<T> {
        let (offset, len) = span_in_bytes(first, last, size)?;
        let start = if self.is_null() { self.0 } else { self.0.wrapping_byte_offset(offset) };
        Self(start).with_initialised(len, fill)
    }

    /// Stores bytes at the beginning of the memory; does nothing for a null pointer.
    pub fn put(&self, bytes: &[u8]) {
        if !self.is_null() {
            // SAFETY: the caller has room for the value.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.cast(), bytes.len()) }
        }
    }
}

/// The size of a pointer to text, which is an element of type string in C.
pub const TEXT_POINTER: usize = size_of::<*const c_char>();

/// Reads strings from pointers that lie in `bytes`. A null pointer is a missing string.
pub fn strings_from_pointers(bytes: &[u8]) -> Vec<NcString> {
    let pointers = bytes.as_chunks::<TEXT_POINTER>().0;
    let texts = pointers.iter().map(|pointer| TextPtr(usize::from_ne_bytes(*pointer) as *const c_char));
    texts.map(|text| text.bytes().map_or(NcString::nil(), NcString::from)).collect()
}

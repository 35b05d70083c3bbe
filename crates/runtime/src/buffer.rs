//! [`Buffer`]: memory for results.
//!
//! A buffer is not zeroed first. It is 64-byte aligned from 64 bytes on, and uses huge pages where they pay
//! ([`Allocation`]): fresh small pages would double the time of an unfiltered read. It is filled once, as
//! bytes, through an [`OutBuf`], and is a slice of numbers afterwards.

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

use nczarr_model::{ErrorKind, Result};

use crate::alloc::advise_unaligned;
use crate::{Allocation, OutBuf};

/// One of the ten number types: any bytes are a value. Sealed.
///
/// # Safety
/// Every bit pattern is a value, and there is no padding.
pub unsafe trait Element:
    sealed::Sealed + Copy + Send + Sync + fmt::Debug + PartialEq + 'static
{
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! element {
    ($($t:ty),*) => {$(
        impl sealed::Sealed for $t {}
        // SAFETY: an integer or float without invalid bit patterns or padding.
        unsafe impl Element for $t {}
    )*};
}

element!(i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);

/// A boxed slice of numbers for results: aligned, and filled without being zeroed first.
pub struct Buffer<T: Element> {
    /// Exactly the bytes of the numbers.
    memory: Allocation,
    items: PhantomData<T>,
}

impl<T: Element> Buffer<T> {
    /// Returns a buffer of `len` numbers; `fill` must write all of them.
    ///
    /// # Errors
    /// The error of `fill`; [`ErrorKind::NoMem`] if memory is short; [`ErrorKind::Internal`] if `fill` wrote
    /// less than all bytes.
    ///
    /// # Examples
    /// ```
    /// use nczarr_runtime::Buffer;
    ///
    /// let buffer = Buffer::<u16>::fill(2, |out| out.put(&[1, 1, 2, 2]))?;
    /// assert_eq!(*buffer, [0x0101, 0x0202]);
    /// # Ok::<(), nczarr_model::Error>(())
    /// ```
    pub fn fill(len: usize, fill: impl FnOnce(&mut OutBuf<'_>) -> Result<()>) -> Result<Self> {
        let mut buffer = Self::uninit(len)?;
        fill_all(buffer.memory.uninit_bytes(), fill)?;
        Ok(buffer)
    }

    /// Returns a buffer of `len` zeros. The system provides large ones already zeroed.
    ///
    /// # Errors
    /// [`ErrorKind::NoMem`] if memory is short.
    pub fn zeros(len: usize) -> Result<Self> {
        let too_much = || ErrorKind::NoMem.context(format!("{len} numbers of {} bytes", size_of::<T>()));
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(too_much)?;
        // Zero bytes are a valid number of each type.
        let memory = Allocation::zeroed(bytes).map_err(|_| too_much())?;
        Ok(Self { memory, items: PhantomData })
    }

    /// Returns a buffer with a copy of these numbers.
    ///
    /// # Errors
    /// [`ErrorKind::NoMem`] if memory is short.
    pub fn from_slice(items: &[T]) -> Result<Self> {
        let buffer = Self::uninit(items.len())?;
        // SAFETY: the memory has room for `items.len()` items and overlaps nothing.
        unsafe { buffer.start().copy_from_nonoverlapping(items.as_ptr(), items.len()) };
        Ok(buffer)
    }

    /// Copies the numbers into a vector.
    pub fn into_vec(self) -> Vec<T> {
        self.to_vec()
    }

    /// Returns uninitialised memory for `len` numbers. It must not leave this module before it is
    /// initialised.
    fn uninit(len: usize) -> Result<Self> {
        let too_much = || ErrorKind::NoMem.context(format!("{len} numbers of {} bytes", size_of::<T>()));
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(too_much)?;
        let memory = Allocation::new(bytes).map_err(|_| too_much())?;
        Ok(Self { memory, items: PhantomData })
    }

    /// The address of the first number, aligned for the type.
    fn start(&self) -> *mut T {
        const { assert!(align_of::<T>() <= 8) };
        self.memory.start().as_ptr().cast()
    }

    fn count(&self) -> usize {
        self.memory.len() / size_of::<T>()
    }
}

/// Returns a vector of `len` numbers; `fill` must write all of them. As [`Buffer::fill`], for callers that
/// need a vector.
///
/// # Errors
/// As [`Buffer::fill`].
///
/// # Examples
/// ```
/// let numbers: Vec<u16> = nczarr_runtime::fill_vec(2, |out| out.put(&[1, 1, 2, 2]))?;
/// assert_eq!(numbers, [0x0101, 0x0202]);
/// # Ok::<(), nczarr_model::Error>(())
/// ```
pub fn fill_vec<T: Element>(len: usize, fill: impl FnOnce(&mut OutBuf<'_>) -> Result<()>) -> Result<Vec<T>> {
    // SAFETY: any bytes are an `Element`.
    unsafe { fill_vec_of(len, fill) }
}

/// As [`fill_vec`], for a type whose elements may be more than numbers.
///
/// # Errors
/// As [`Buffer::fill`].
///
/// # Safety
/// Any initialised bytes are a value of `T`.
pub unsafe fn fill_vec_of<T>(len: usize, fill: impl FnOnce(&mut OutBuf<'_>) -> Result<()>) -> Result<Vec<T>> {
    let mut elements = Vec::<T>::new();
    elements.try_reserve_exact(len).map_err(|error| {
        ErrorKind::NoMem.context(format!("{len} elements of {} bytes", size_of::<T>())).caused_by(error)
    })?;
    let memory = &mut elements.spare_capacity_mut()[..len];
    // SAFETY: the same memory as bytes; `MaybeUninit` needs no contents, and bytes no alignment.
    let memory =
        unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), std::mem::size_of_val(memory)) };
    advise_unaligned(memory);
    fill_all(memory, fill)?;
    // SAFETY: `fill_all` has initialised `len` elements, and any bytes are a value.
    unsafe { elements.set_len(len) };
    Ok(elements)
}

/// Lets `fill` write all of the memory.
fn fill_all(memory: &mut [MaybeUninit<u8>], fill: impl FnOnce(&mut OutBuf<'_>) -> Result<()>) -> Result<()> {
    let bytes = memory.len();
    let start = memory.as_ptr().cast::<u8>();
    let mut out = OutBuf::new(memory);
    fill(&mut out)?;
    // `fill` could have replaced the output by another one.
    let filled = out.filled();
    if filled.len() != bytes || !std::ptr::eq(filled.as_ptr(), start) {
        return Err(ErrorKind::Internal
            .context(format!("{} of {bytes} bytes of a result were written", filled.len())));
    }
    Ok(())
}

impl<T: Element> AsRef<[T]> for Buffer<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: Element> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `count` items, initialised before `fill` or `from_slice` returned the buffer.
        unsafe { std::slice::from_raw_parts(self.start(), self.count()) }
    }
}

impl<T: Element> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.count()) }
    }
}

impl<T: Element> Clone for Buffer<T> {
    /// Copies all numbers. Aborts if memory is short, as a vector does; [`Buffer::from_slice`] returns an
    /// error instead.
    fn clone(&self) -> Self {
        Self::from_slice(self).unwrap_or_else(|_| {
            let layout = std::alloc::Layout::for_value(&**self);
            std::alloc::handle_alloc_error(layout)
        })
    }
}

impl<T: Element> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: Element> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Element> From<Buffer<T>> for Vec<T> {
    fn from(buffer: Buffer<T>) -> Self {
        buffer.into_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_zeros_of_any_size() {
        for len in [0, 1, 77, 40_000, (1 << 18) + 3] {
            let mut buffer = Buffer::<f64>::zeros(len).unwrap();
            assert!(buffer.len() == len && buffer.iter().all(|number| number.to_bits() == 0), "{len}");
            assert!(len < 8 || buffer.as_ptr().addr().is_multiple_of(64), "{len}");
            buffer.fill(1.0);
        }
        assert_eq!(Buffer::<u64>::zeros(usize::MAX / 4).unwrap_err().kind(), ErrorKind::NoMem);
        assert_eq!(Buffer::<u8>::zeros(usize::MAX).unwrap_err().kind(), ErrorKind::NoMem);
    }

    #[test]
    fn all_of_it_must_be_written() {
        for short in [0, 7] {
            let error = Buffer::<u64>::fill(1, |out| out.put(&vec![1; short])).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Internal);
        }
        let error = Buffer::<u64>::fill(1, |out| out.put(&[1; 9])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Filter);
        let error = Buffer::<u64>::fill(1, |_| Err(ErrorKind::Io.context("no"))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
    }

    #[test]
    fn a_vector_is_filled_like_a_buffer() {
        let bytes: Vec<u8> = (0..=255).cycle().take(8 * 1000).collect();
        for len in [0, 1, 1000] {
            let numbers = fill_vec::<u64>(len, |out| out.put(&bytes[..8 * len])).unwrap();
            assert_eq!(*Buffer::<u64>::fill(len, |out| out.put(&bytes[..8 * len])).unwrap(), *numbers);
        }
        let large = fill_vec::<f32>(3 << 20, |out| out.put_zeros(12 << 20).map(drop)).unwrap();
        assert!(large.len() == 3 << 20 && large.iter().all(|number| number.to_bits() == 0));
        assert_eq!(fill_vec::<u64>(1, |out| out.put(&[1; 7])).unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(fill_vec::<u64>(1, |out| out.put(&[1; 9])).unwrap_err().kind(), ErrorKind::Filter);
        assert_eq!(fill_vec::<u64>(usize::MAX / 4, |_| Ok(())).unwrap_err().kind(), ErrorKind::NoMem);
    }

    #[test]
    fn another_output_does_not_count() {
        let leaked: &'static mut [u8] = Box::leak(vec![1u8; 8].into_boxed_slice());
        let error = Buffer::<u64>::fill(1, |out| {
            *out = OutBuf::from_slice(leaked);
            out.put_zeros(8).map(|_| ())
        })
        .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
    }

    #[test]
    fn small_large_and_empty_ones_are_aligned() {
        for len in [0usize, 1, 15, 1 << 17, (4 << 20) / 8, (4 << 20) / 8 + 3] {
            let buffer = Buffer::<f64>::fill(len, |out| out.put_zeros(len * 8).map(|_| ())).unwrap();
            assert_eq!(buffer.len(), len);
            assert!(buffer.iter().all(|&x| x == 0.0));
            assert!(len < 8 || buffer.as_ptr().addr().is_multiple_of(64));
            assert_eq!(Buffer::from_slice(&buffer).unwrap(), buffer);
            assert_eq!(buffer.into_vec(), vec![0.0; len]);
        }
    }

    #[test]
    fn impossible_sizes_are_errors() {
        for len in [usize::MAX, usize::MAX / 8, isize::MAX as usize / 8] {
            assert_eq!(Buffer::<u64>::fill(len, |_| Ok(())).unwrap_err().kind(), ErrorKind::NoMem);
        }
    }
}

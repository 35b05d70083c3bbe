//! [`OutBuf`]: write-only memory that tracks its initialised prefix.
//!
//! Decoders, maps and drivers fill it; [`OutBuf::filled`] returns the initialised prefix. New memory needs no
//! zeroing, and safe code cannot claim bytes that it did not write.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use nczarr_model::{ErrorKind, Result};

use crate::Element;

/// A write-only output of fixed capacity in bytes. The prefix written so far is initialised.
pub struct OutBuf<'a> {
    start: *mut MaybeUninit<u8>,
    capacity: usize,
    filled: usize,
    /// Whether the owner reads all of the memory afterwards, so that it must stay initialised.
    owned: bool,
    memory: PhantomData<&'a mut [MaybeUninit<u8>]>,
}

// SAFETY: an `OutBuf` is an exclusive borrow of bytes, like the `&mut` slice it was made from.
unsafe impl Send for OutBuf<'_> {}
// SAFETY: shared access reads only the initialised prefix, which only `&mut self` can change.
unsafe impl Sync for OutBuf<'_> {}

impl<'a> OutBuf<'a> {
    /// Returns an empty output over `memory`.
    pub fn new(memory: &'a mut [MaybeUninit<u8>]) -> Self {
        let (start, capacity) = (memory.as_mut_ptr(), memory.len());
        Self { start, capacity, filled: 0, owned: false, memory: PhantomData }
    }

    /// Returns an empty output over memory for numbers.
    pub fn for_numbers<T: Element>(memory: &'a mut [MaybeUninit<T>]) -> Self {
        let (start, capacity) = (memory.as_mut_ptr().cast(), size_of_val(memory));
        Self { start, capacity, filled: 0, owned: false, memory: PhantomData }
    }

    /// Returns the memory as numbers; `None` if it is not full, or not made for numbers of this type.
    pub fn into_numbers<T: Element>(self) -> Option<&'a mut [T]> {
        let numbers = self.start.cast::<T>();
        if self.filled != self.capacity
            || !numbers.is_aligned()
            || !self.capacity.is_multiple_of(size_of::<T>())
        {
            return None;
        }
        // SAFETY: all of the memory, which `self` borrows exclusively for `'a`, is initialised, aligned and
        // a whole number of `T`, and any bytes are a value.
        Some(unsafe { std::slice::from_raw_parts_mut(numbers, self.capacity / size_of::<T>()) })
    }

    /// Returns an empty output over initialised memory. Unwritten bytes may become zeros.
    pub fn from_slice(memory: &'a mut [u8]) -> Self {
        let (start, capacity) = (memory.as_mut_ptr().cast(), memory.len());
        Self { start, capacity, filled: 0, owned: true, memory: PhantomData }
    }

    /// Returns the capacity in bytes.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the bytes written so far.
    pub fn filled(&self) -> &[u8] {
        // SAFETY: the first `filled` bytes are initialised, by the contract of every method that raises it.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.filled) }
    }

    /// Returns the bytes written so far, for changes in place.
    pub fn filled_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `filled`; `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.cast(), self.filled) }
    }

    /// Returns the number of bytes that may still be written.
    pub fn remaining(&self) -> usize {
        self.capacity - self.filled
    }

    /// Whether the owner reads only the written bytes. Such memory may be untouched.
    pub fn is_fresh(&self) -> bool {
        !self.owned
    }

    /// Makes the output empty.
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// Borrows the same memory for a shorter time. Both outputs become empty.
    pub fn reborrow(&mut self) -> OutBuf<'_> {
        self.filled = 0;
        OutBuf {
            start: self.start,
            capacity: self.capacity,
            filled: 0,
            owned: self.owned,
            memory: PhantomData,
        }
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// [`ErrorKind::Filter`] if the capacity is too small: the stream is longer than declared.
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.rest_for(bytes.len())?.write_copy_of_slice(bytes);
        self.filled += bytes.len();
        Ok(())
    }

    /// Appends bytes one by one.
    ///
    /// # Errors
    /// As [`OutBuf::put`]; the bytes that fit stay written.
    pub fn extend(&mut self, bytes: impl Iterator<Item = u8>) -> Result<()> {
        let mut bytes = bytes.fuse();
        let rest = self.rest();
        let mut written = 0;
        for (place, byte) in rest.iter_mut().zip(bytes.by_ref()) {
            place.write(byte);
            written += 1;
        }
        self.filled += written;
        match bytes.next() {
            None => Ok(()),
            Some(_) => Err(self.overrun()),
        }
    }

    /// Appends `len` zero bytes and returns them, for code that needs initialised memory.
    ///
    /// # Errors
    /// As [`OutBuf::put`].
    pub fn put_zeros(&mut self, len: usize) -> Result<&mut [u8]> {
        let from = self.filled;
        self.rest_for(len)?.fill(MaybeUninit::new(0));
        self.filled += len;
        // SAFETY: the bytes from `from` to `from + len` were just initialised, and `self` is borrowed
        // exclusively.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start.add(from).cast(), len) })
    }

    /// Lets `fill` write into the unwritten memory. The returned slice counts as written.
    ///
    /// The closure proves initialisation by returning a prefix of its argument.
    ///
    /// # Errors
    /// The error of `fill`; [`ErrorKind::Internal`] if it returns anything but a prefix of its argument.
    pub fn fill_with(
        &mut self,
        fill: impl for<'x> FnOnce(&'x mut [MaybeUninit<u8>]) -> Result<&'x mut [u8]>,
    ) -> Result<()> {
        let room = self.remaining();
        // SAFETY: `filled <= capacity`.
        let start = unsafe { self.start.add(self.filled) }.cast::<u8>();
        // The closure could also deinitialise bytes with `MaybeUninit::uninit()`. If the owner reads them,
        // they become zeros again, also on error or panic.
        let mut lost = ZeroOnDrop { start, from: 0, to: if self.owned { room } else { 0 } };
        let written = fill(self.rest())?;
        if !std::ptr::eq(written.as_ptr(), start) || written.len() > room {
            return Err(
                ErrorKind::Internal.context("OutBuf::fill_with: the result is not a prefix of the output")
            );
        }
        let written = written.len();
        lost.from = written.min(lost.to);
        self.filled += written;
        Ok(())
    }

    /// Lets `fill` append at most `limit` bytes, through an output that starts empty. Returns the number of
    /// bytes.
    ///
    /// # Errors
    /// The error of `fill`; that of [`OutBuf::put`] if the capacity is too small; [`ErrorKind::Internal`] if
    /// `fill` replaced its output.
    pub fn fill_limited(
        &mut self,
        limit: usize,
        fill: impl FnOnce(&mut OutBuf<'_>) -> Result<()>,
    ) -> Result<usize> {
        let owned = self.owned;
        let memory = self.rest_for(limit)?;
        let mut part = OutBuf { owned, ..OutBuf::new(memory) };
        let start = part.start;
        fill(&mut part)?;
        let (end, filled) = (part.start, part.filled);
        if !std::ptr::eq(start, end) {
            return Err(ErrorKind::Internal.context("OutBuf::fill_limited: the output was replaced"));
        }
        self.filled += filled;
        Ok(filled)
    }

    /// Returns the whole memory, for writes in parts or in parallel. The output becomes empty.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.filled = 0;
        self.start.cast()
    }

    /// Declares the first `len` bytes as written.
    ///
    /// # Safety
    /// The first `len` bytes of the memory are initialised, and `len` is at most [`OutBuf::capacity`].
    pub unsafe fn set_filled(&mut self, len: usize) {
        debug_assert!(len <= self.capacity);
        self.filled = len;
    }

    fn rest(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: `filled <= capacity`, and `self` borrows all of the memory exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(self.filled), self.capacity - self.filled) }
    }

    fn rest_for(&mut self, len: usize) -> Result<&mut [MaybeUninit<u8>]> {
        if len > self.remaining() {
            return Err(self.overrun());
        }
        Ok(&mut self.rest()[..len])
    }

    fn overrun(&self) -> nczarr_model::Error {
        ErrorKind::Filter.context(format!("the stream is longer than declared ({} bytes)", self.capacity))
    }
}

/// Bytes that may be uninitialised; dropping this zeroes them.
struct ZeroOnDrop {
    start: *mut u8,
    from: usize,
    to: usize,
}

impl Drop for ZeroOnDrop {
    fn drop(&mut self) {
        // Usually there are none: this test is cheaper than the call.
        if self.from < self.to {
            // SAFETY: `from..to` lies in the room of the output this was made for, which is borrowed
            // exclusively.
            unsafe { self.start.add(self.from).write_bytes(0, self.to - self.from) }
        }
    }
}

impl std::fmt::Debug for OutBuf<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OutBuf({} of {} bytes)", self.filled, self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_written_bytes_count() {
        let mut memory = [MaybeUninit::uninit(); 8];
        let mut out = OutBuf::new(&mut memory);
        out.put(b"abc").unwrap();
        out.extend(b"de".iter().copied()).unwrap();
        out.put_zeros(1).unwrap()[0] = b'f';
        out.fill_with(|rest| Ok(rest[..1].write_copy_of_slice(b"g"))).unwrap();
        assert_eq!(out.filled(), b"abcdefg");
        out.filled_mut()[..2].swap(0, 1);
        assert_eq!(out.filled(), b"bacdefg");
        out.filled_mut()[..2].swap(0, 1);
        assert_eq!(out.put(b"hi").unwrap_err().kind(), ErrorKind::Filter);
        assert_eq!(out.extend(b"hi".iter().copied()).unwrap_err().kind(), ErrorKind::Filter);
        assert_eq!(out.filled(), b"abcdefgh");
    }

    #[test]
    fn memory_of_the_owner_stays_initialised() {
        let take = |rest: &mut [MaybeUninit<u8>]| rest.fill(MaybeUninit::uninit());
        let mut memory = [1u8; 8];
        let mut out = OutBuf::from_slice(&mut memory);
        out.put(b"ab").unwrap();
        out.fill_with(|rest| {
            take(rest);
            Ok(rest[..2].write_copy_of_slice(b"cd"))
        })
        .unwrap();
        assert_eq!(memory, *b"abcd\0\0\0\0");

        memory.fill(1);
        let failed = OutBuf::from_slice(&mut memory).reborrow().fill_with(|rest| {
            take(rest);
            Err(ErrorKind::Filter.context("no"))
        });
        assert!(failed.is_err());
        assert_eq!(memory, [0; 8]);

        memory.fill(1);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            OutBuf::from_slice(&mut memory).fill_with(|rest| {
                take(rest);
                panic!("in the middle")
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(memory, [0; 8]);
    }

    #[test]
    fn a_limited_part_is_appended() {
        let mut memory = [MaybeUninit::uninit(); 8];
        let mut out = OutBuf::new(&mut memory);
        out.put(b"ab").unwrap();
        assert_eq!(out.fill_limited(3, |part| part.put(b"cd")).unwrap(), 2);
        assert!(out.fill_limited(3, |part| part.put(b"efgh")).is_err());
        assert!(out.fill_limited(5, |_| Ok(())).is_err(), "only four are left");
        assert_eq!(out.filled(), b"abcd");
        let error = out.fill_limited(4, |part| {
            *part = OutBuf::from_slice(Box::leak(vec![1; 8].into_boxed_slice()));
            part.put_zeros(4).map(drop)
        });
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(out.filled(), b"abcd");
    }

    #[test]
    fn other_memory_is_not_taken_as_written() {
        let mut memory = [MaybeUninit::uninit(); 4];
        let mut out = OutBuf::new(&mut memory);
        let leaked: &'static mut [u8] = Box::leak(vec![1u8; 2].into_boxed_slice());
        let error = out.fill_with(|_| Ok(leaked)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(out.filled().is_empty());
    }
}

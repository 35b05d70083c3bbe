//! Lists of directories in the memory of a C program.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::ptr;

use nczarr::{ErrorKind, Result};

use super::memory;

/// `NCPluginList` of C.
#[repr(C)]
struct RawList {
    len: usize,
    texts: *mut *mut c_char,
}

/// A list of directories; may be null.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct PluginListPtr(*mut RawList);

impl PluginListPtr {
    /// Whether the caller passed no list.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    fn read(&self) -> Result<RawList> {
        if self.is_null() {
            return Err(ErrorKind::Inval.context("the list of directories is null"));
        }
        // SAFETY: the caller passes an initialised list.
        Ok(unsafe { self.0.read() })
    }

    fn write(&self, list: RawList) {
        // SAFETY: `read` found the list, which the caller lets the call change.
        unsafe { self.0.write(list) }
    }

    /// Copies the directories. `NC_EINVAL` for a null pointer, and for missing texts.
    pub fn texts(&self) -> Result<Vec<Vec<u8>>> {
        let list = self.read()?;
        if list.len > 0 && list.texts.is_null() {
            return Err(ErrorKind::Inval.context("the directories of the list are null"));
        }
        let text = |at: usize| {
            // SAFETY: the list has `len` texts. A text is null or ends with a zero byte.
            let text = unsafe { list.texts.add(at).read() };
            // SAFETY: as above.
            if text.is_null() { Vec::new() } else { unsafe { CStr::from_ptr(text) }.to_bytes().to_vec() }
        };
        Ok((0..list.len).map(text).collect())
    }

    /// Stores directories in the caller's vector, or in a new one if there is none. Earlier texts are not
    /// freed.
    pub fn set(&self, texts: &[Vec<u8>]) -> Result<()> {
        let list = self.read()?;
        let mut vector = list.texts;
        if vector.is_null() && !texts.is_empty() {
            vector = memory::allocate(texts.len().saturating_mul(size_of::<*mut c_char>()))?.cast();
        }
        for (at, text) in texts.iter().enumerate() {
            let text = memory::copy_text(text)?;
            // SAFETY: the vector is new, or the caller's with room for all texts.
            unsafe { vector.add(at).write(text) }
        }
        self.write(RawList { len: texts.len(), texts: vector });
        Ok(())
    }

    /// Adds a directory at the end or at the front, in a new vector. The other texts stay where they are.
    pub fn add(&self, text: &[u8], is_first: bool) -> Result<()> {
        let list = self.read()?;
        let len = list.len.checked_add(1).and_then(|len| len.checked_mul(size_of::<*mut c_char>()));
        let size = len.ok_or_else(|| ErrorKind::Inval.context(format!("{} directories", list.len)))?;
        let vector = memory::allocate(size)?.cast::<*mut c_char>();
        let text = memory::copy_text(text)?;
        let (new, old) = if is_first { (0, 1) } else { (list.len, 0) };
        // SAFETY: the new vector has room for all texts, and the old one is memory of `malloc` or null.
        unsafe {
            if !list.texts.is_null() {
                ptr::copy_nonoverlapping(list.texts, vector.add(old), list.len);
                libc::free(list.texts.cast());
            }
            vector.add(new).write(text);
        }
        self.write(RawList { len: list.len + 1, texts: vector });
        Ok(())
    }

    /// Frees the directories and their vector.
    pub fn clear(&self) -> Result<()> {
        let list = self.read()?;
        if list.texts.is_null() {
            return Ok(());
        }
        for at in 0..list.len {
            // SAFETY: texts and vector are memory of `malloc`, or null.
            unsafe { libc::free(list.texts.add(at).read().cast()) }
        }
        // SAFETY: as above.
        unsafe { libc::free(list.texts.cast()) }
        self.write(RawList { len: 0, texts: ptr::null_mut() });
        Ok(())
    }

    /// Frees the list with all that it has.
    pub fn free(&self) -> Result<()> {
        self.clear()?;
        // SAFETY: the list is memory of `malloc`.
        unsafe { libc::free(self.0.cast()) }
        Ok(())
    }
}

//! Memory that the library hands out. It comes from `malloc`, since a program frees it with `free` or
//! `nc_free_string`.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use nczarr::{ErrorKind, NcString, Result};

use super::pointer::{SourcePtr, TEXT_POINTER, TargetPtr};

/// Text in memory of `malloc`, until [`Texts::hand_out`] gives it to the caller.
#[derive(Default)]
pub struct Texts(Vec<*mut c_char>);

impl Texts {
    /// Copies strings. A missing string is a null pointer.
    pub fn copy(strings: &[NcString]) -> Result<Self> {
        let mut texts = Self::default();
        texts.0.reserve_exact(strings.len());
        for string in strings {
            texts.0.push(if string.is_nil() { ptr::null_mut() } else { copy_text(string.as_bytes())? });
        }
        Ok(texts)
    }

    /// Returns the pointers as bytes. The caller owns the texts now.
    pub fn hand_out(mut self) -> Vec<u8> {
        let texts = std::mem::take(&mut self.0);
        texts.iter().flat_map(|&text| (text as usize).to_ne_bytes()).collect()
    }
}

impl Drop for Texts {
    fn drop(&mut self) {
        for &text in &self.0 {
            // SAFETY: the texts are memory of `malloc` that nobody else has, or null.
            unsafe { libc::free(text.cast()) }
        }
    }
}

/// Copies text, with a zero byte at its end, to memory of `malloc`.
pub fn copy_text(text: &[u8]) -> Result<*mut c_char> {
    let memory = allocate(text.len() + 1)?.cast::<u8>();
    // SAFETY: the memory has room for the text and the zero byte.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr(), memory, text.len());
        memory.add(text.len()).write(0);
    }
    Ok(memory.cast())
}

pub fn allocate(size: usize) -> Result<*mut c_void> {
    // SAFETY: `malloc` accepts every size; a size of 0 need not give memory.
    let memory = unsafe { libc::malloc(size.max(1)) };
    if memory.is_null() {
        return Err(ErrorKind::NoMem.context(format!("{size} bytes")));
    }
    Ok(memory)
}

/// Frees the texts that pointers in `bytes` refer to.
pub fn free_texts(bytes: &mut [u8]) {
    for pointer in bytes.as_chunks_mut::<TEXT_POINTER>().0 {
        // SAFETY: the caller passes pointers to memory that the library handed out, or null.
        unsafe { libc::free(usize::from_ne_bytes(*pointer) as *mut c_void) }
        *pointer = [0; TEXT_POINTER];
    }
}

/// Returns the system's text of an error number. It is valid until the next call of the thread.
pub fn system_text(code: c_int) -> *const c_char {
    // SAFETY: `strerror` accepts every number.
    unsafe { libc::strerror(code) }
}

/// An element of a vlen type in C: the number of elements and their memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct VlenElement {
    pub len: usize,
    pub elements: *mut c_void,
}

/// Returns initialised bytes as memory to write.
pub fn as_uninit(bytes: &mut [u8]) -> &mut [std::mem::MaybeUninit<u8>] {
    // SAFETY: both types have the same layout, and the users of the result only write bytes.
    unsafe { &mut *(ptr::from_mut(bytes) as *mut [std::mem::MaybeUninit<u8>]) }
}

/// Frees strings that the library handed out.
pub fn free_strings(count: usize, strings: TargetPtr) -> Result<()> {
    strings.with_initialised(count.saturating_mul(TEXT_POINTER), |bytes| {
        free_texts(bytes);
        Ok(())
    })
}

/// Copies bytes to memory of `malloc` that the caller owns.
pub fn hand_out(bytes: &[u8]) -> Result<*mut c_void> {
    let memory = allocate(bytes.len())?;
    // SAFETY: the memory has room for the bytes.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory.cast(), bytes.len()) }
    Ok(memory)
}

/// Frees memory that the library handed out.
pub fn free(memory: TargetPtr) {
    // SAFETY: the caller passes memory that the library handed out, or null.
    unsafe { libc::free(memory.address()) }
}

/// Frees the content of elements of a vlen type.
pub fn free_vlens(count: usize, vlens: TargetPtr) -> Result<()> {
    for index in 0..count {
        let element = vlens.address().cast::<VlenElement>().wrapping_add(index);
        if element.is_null() {
            return Err(ErrorKind::Inval.context("the vlen is null"));
        }
        // SAFETY: the caller passes initialised elements whose content the library handed out.
        unsafe {
            libc::free((*element).elements);
            element.write(VlenElement { len: 0, elements: ptr::null_mut() });
        }
    }
    Ok(())
}

/// Sets the content of an element of a vlen type, without a copy.
pub fn set_vlen(element: TargetPtr, len: usize, content: SourcePtr) -> Result<()> {
    let element = element.address().cast::<VlenElement>();
    if element.is_null() {
        return Err(ErrorKind::Inval.context("the vlen is null"));
    }
    // SAFETY: the caller has room for an element.
    unsafe { element.write(VlenElement { len, elements: content.address().cast_mut() }) }
    Ok(())
}

/// Copies the content of an element of a vlen type, and returns its number of elements.
pub fn copy_vlen(element: SourcePtr, item: usize, to: TargetPtr) -> Result<usize> {
    let element = element.address().cast::<VlenElement>();
    if element.is_null() {
        return Err(ErrorKind::Inval.context("the vlen is null"));
    }
    // SAFETY: the caller passes an initialised element.
    let VlenElement { len, elements } = unsafe { element.read() };
    if len > 0 && !elements.is_null() && !to.is_null() {
        // SAFETY: the element has `len` items, and the caller has room for them.
        unsafe { ptr::copy_nonoverlapping(elements.cast::<u8>(), to.address().cast(), len * item) }
    }
    Ok(len)
}

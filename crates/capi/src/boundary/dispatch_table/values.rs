//! Values of variables, and strings in the memory of C.

use std::ffi::{CString, c_int, c_void};

use nczarr::{ErrorKind, NcString, Result};

use super::TablePtr;
use super::layout::Text;
use crate::boundary::{memory, pointer};
use crate::user_format::{Turn, outcome};

impl TablePtr {
    /// Reads elements of a fixed size; with a stride, by the entry for steps.
    pub fn get(self, ncid: c_int, var: c_int, place: &UserSlab, out: &mut [u8], ty: c_int) -> Result<()> {
        self.get_raw(ncid, var, place, out.as_mut_ptr().cast(), ty)
    }

    /// Reads strings.
    pub fn get_texts(
        self,
        ncid: c_int,
        var: c_int,
        place: &UserSlab,
        count: usize,
        ty: c_int,
    ) -> Result<Vec<NcString>> {
        texts_of(count, |texts| self.get_raw(ncid, var, place, texts, ty))
    }

    fn get_raw(self, ncid: c_int, var: c_int, slab: &UserSlab, to: *mut c_void, ty: c_int) -> Result<()> {
        let (start, count) = (slab.start.as_ptr(), slab.count.as_ptr());
        match &slab.stride {
            None => call!(self.get_vara(ncid, var, start, count, to, ty)),
            Some(stride) => call!(self.get_vars(ncid, var, start, count, stride.as_ptr(), to, ty)),
        }
    }

    /// Writes elements; with a stride, by the entry for steps.
    pub fn put(self, ncid: c_int, var: c_int, slab: &UserSlab, bytes: &[u8], ty: c_int) -> Result<()> {
        let (start, count, from) = (slab.start.as_ptr(), slab.count.as_ptr(), bytes.as_ptr().cast());
        match &slab.stride {
            None => call!(self.put_vara(ncid, var, start, count, from, ty)),
            Some(stride) => call!(self.put_vars(ncid, var, start, count, stride.as_ptr(), from, ty)),
        }
    }
}

/// A region of a variable, in the numbers of C.
pub struct UserSlab {
    pub start: Vec<usize>,
    pub count: Vec<usize>,
    pub stride: Option<Vec<isize>>,
}

/// Strings as pointers of C, for [`TablePtr::put`] and [`TablePtr::put_att`].
pub struct TextPointers {
    pub bytes: Vec<u8>,
    _texts: Vec<CString>,
}

impl TextPointers {
    /// Makes a pointer to each string; a null pointer for a missing one.
    pub fn new(strings: &[NcString]) -> Result<Self> {
        let zero = |_| ErrorKind::Inval.context("a string with a zero byte");
        let texts = strings.iter().map(|text| CString::new(text.as_bytes()).map_err(zero));
        let texts = texts.collect::<Result<Vec<_>>>()?;
        let address =
            |(text, string): (&CString, &NcString)| if string.is_nil() { 0 } else { text.as_ptr() as usize };
        let bytes = texts.iter().zip(strings).flat_map(|pair| address(pair).to_ne_bytes()).collect();
        Ok(Self { bytes, _texts: texts })
    }
}
/// Returns the strings that an entry stores, and frees them.
pub(super) fn texts_of(count: usize, entry: impl FnOnce(*mut c_void) -> Result<()>) -> Result<Vec<NcString>> {
    let mut pointers = vec![0u8; count.saturating_mul(size_of::<Text>())];
    entry(pointers.as_mut_ptr().cast())?;
    let strings = pointer::strings_from_pointers(&pointers);
    memory::free_texts(&mut pointers);
    Ok(strings)
}

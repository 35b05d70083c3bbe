//! Values of variables, and strings in the memory of C.

use std::ffi::{CString, c_int};

use nczarr::{ErrorKind, NcString, Result};

use super::TablePtr;
use crate::user_format::{Turn, outcome};

impl TablePtr {
    /// Reads elements; with a stride, by the entry for steps. Pointers in them refer to memory of `malloc`.
    pub fn get(self, ncid: c_int, var: c_int, slab: &UserSlab, out: &mut [u8], ty: c_int) -> Result<()> {
        let (start, count, to) = (slab.start.as_ptr(), slab.count.as_ptr(), out.as_mut_ptr().cast());
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

//! Definitions.

use std::ffi::{CStr, c_int};
use std::ptr::null;

use nczarr::{ErrorKind, Result};

use super::TablePtr;
use crate::user_format::{Turn, outcome};

impl TablePtr {
    pub fn set_fill(self, ncid: c_int, mode: c_int) -> Result<()> {
        let mut old = 0;
        call!(self.set_fill(ncid, mode, &mut old))
    }
    pub fn put_att(
        self,
        ncid: c_int,
        var: c_int,
        name: &CStr,
        ty: c_int,
        len: usize,
        bytes: &[u8],
    ) -> Result<()> {
        call!(self.put_att(ncid, var, name.as_ptr(), ty, len, bytes.as_ptr().cast(), ty))
    }

    pub fn rename_att(self, ncid: c_int, var: c_int, name: &CStr, to: &CStr) -> Result<()> {
        call!(self.rename_att(ncid, var, name.as_ptr(), to.as_ptr()))
    }

    pub fn del_att(self, ncid: c_int, var: c_int, name: &CStr) -> Result<()> {
        call!(self.del_att(ncid, var, name.as_ptr()))
    }

    pub fn def_dim(self, ncid: c_int, name: &CStr, len: usize) -> Result<c_int> {
        let mut id = -1;
        call!(self.def_dim(ncid, name.as_ptr(), len, &mut id))?;
        Ok(id)
    }

    pub fn rename_dim(self, ncid: c_int, dim: c_int, name: &CStr) -> Result<()> {
        call!(self.rename_dim(ncid, dim, name.as_ptr()))
    }

    pub fn def_var(self, ncid: c_int, name: &CStr, ty: c_int, dims: &[c_int]) -> Result<c_int> {
        let (mut id, rank) = (-1, dims.len() as c_int);
        call!(self.def_var(ncid, name.as_ptr(), ty, rank, dims.as_ptr(), &mut id))?;
        Ok(id)
    }

    pub fn rename_var(self, ncid: c_int, var: c_int, name: &CStr) -> Result<()> {
        call!(self.rename_var(ncid, var, name.as_ptr()))
    }

    pub fn def_var_fill(self, ncid: c_int, var: c_int, no_fill: bool, value: Option<&[u8]>) -> Result<()> {
        let value = value.map_or(null(), |value| value.as_ptr().cast());
        call!(self.def_var_fill(ncid, var, c_int::from(no_fill), value))
    }
}

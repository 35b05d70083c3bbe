//! Inquiries, and attributes to read.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;

use nczarr::{ErrorKind, Result};

use super::TablePtr;
use crate::user_format::{Turn, outcome};

/// The room for a name and its zero byte.
const NAME_ROOM: usize = 257;

/// The properties of a variable.
pub struct UserVar {
    pub name: Vec<u8>,
    pub xtype: c_int,
    pub dims: Vec<c_int>,
    pub natts: usize,
    /// `NC_CHUNKED`, `NC_CONTIGUOUS` or `NC_COMPACT`.
    pub storage: c_int,
    pub chunks: Vec<usize>,
    pub no_fill: bool,
    pub endian: c_int,
    pub shuffle: bool,
    /// The level of deflate.
    pub deflate: Option<c_int>,
    pub fletcher32: bool,
}

impl TablePtr {
    /// Returns the numbers of dimensions, variables and attributes, and the unlimited dimension or -1.
    pub fn inq(self, ncid: c_int) -> Result<[c_int; 4]> {
        let mut found = [0, 0, 0, -1];
        let [dims, vars, atts, unlimited] = &mut found;
        call!(self.inq(ncid, dims, vars, atts, unlimited))?;
        Ok(found)
    }

    /// Returns name and length of a dimension.
    pub fn inq_dim(self, ncid: c_int, dim: c_int) -> Result<(Vec<u8>, usize)> {
        let mut len = 0;
        let name = name_of(|name| call!(self.inq_dim(ncid, dim, name, &mut len)))?;
        Ok((name, len))
    }

    /// Returns the name of an attribute.
    pub fn inq_attname(self, ncid: c_int, var: c_int, place: c_int) -> Result<Vec<u8>> {
        name_of(|name| call!(self.inq_attname(ncid, var, place, name)))
    }

    /// Returns type and length of an attribute.
    pub fn inq_att(self, ncid: c_int, var: c_int, name: &CStr) -> Result<(c_int, usize)> {
        let (mut ty, mut len) = (0, 0);
        call!(self.inq_att(ncid, var, name.as_ptr(), &mut ty, &mut len))?;
        Ok((ty, len))
    }

    /// Reads the values of an attribute, in its own type.
    pub fn get_att(self, ncid: c_int, var: c_int, name: &CStr, ty: c_int, out: &mut [u8]) -> Result<()> {
        call!(self.get_att(ncid, var, name.as_ptr(), out.as_mut_ptr().cast(), ty))
    }

    /// Returns the properties of a variable.
    pub fn inq_var(self, ncid: c_int, var: c_int) -> Result<UserVar> {
        let (mut xtype, mut rank, mut natts) = (0, 0, 0);
        let name = name_of(|name| {
            call!(self.inq_var_all(
                ncid,
                var,
                name,
                &mut xtype,
                &mut rank,
                null_mut(),
                &mut natts,
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
            ))
        })?;
        let bad = |what: &str, found: c_int| ErrorKind::VarMeta.context(format!("{found} {what}"));
        let rank = usize::try_from(rank).ok().filter(|&rank| rank <= 1024);
        let rank = rank.ok_or_else(|| bad("dimensions", -1))?;
        let (mut dims, mut chunks) = (vec![0; rank], vec![0; rank]);
        let (mut storage, mut no_fill, mut endian) = (1, 0, 0);
        let (mut shuffle, mut deflate, mut level, mut fletcher32) = (0, 0, 0, 0);
        call!(self.inq_var_all(
            ncid,
            var,
            null_mut(),
            null_mut(),
            null_mut(),
            dims.as_mut_ptr(),
            null_mut(),
            &mut shuffle,
            &mut deflate,
            &mut level,
            &mut fletcher32,
            &mut storage,
            chunks.as_mut_ptr(),
            &mut no_fill,
            null_mut(),
            &mut endian,
            null_mut(),
            null_mut(),
            null_mut(),
        ))?;
        Ok(UserVar {
            name,
            xtype,
            dims,
            natts: usize::try_from(natts).map_err(|_| bad("attributes", natts))?,
            storage,
            chunks,
            no_fill: no_fill != 0,
            endian,
            shuffle: shuffle != 0,
            deflate: (deflate != 0).then_some(level),
            fletcher32: fletcher32 != 0,
        })
    }
}

/// Returns the name that an entry stores.
pub(super) fn name_of(entry: impl FnOnce(*mut c_char) -> Result<()>) -> Result<Vec<u8>> {
    let mut name = [0u8; NAME_ROOM];
    entry(name.as_mut_ptr().cast())?;
    let name = CStr::from_bytes_until_nul(&name);
    let endless = |_| ErrorKind::MaxName.context("the table returned a name without an end");
    Ok(name.map_err(endless)?.to_bytes().to_vec())
}

//! Reads of a [`Variable`].

use std::mem::MaybeUninit;

use nczarr_dispatch::MemMut;
use nczarr_model::{ErrorKind, NcString, NcType, Result, Slab};
use nczarr_runtime::{DimVec, OutBuf, fill_vec};

use super::{MAX_FAST_RANK, VariablePart, fill, wrong_length};
use crate::{Array, Extents, Number, Variable};

impl Variable {
    /// Reads a part of the variable.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-get")?;
    /// # file.add_dimension("y", 2)?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<i16>("v", &["y", "x"])?;
    /// # v.put(&[1i16, 2, 3, 4, 5, 6], ..)?;
    /// let all = v.get::<i16>(..)?;
    /// assert_eq!(all.shape(), [2, 3]);
    /// let row = v.get::<f64>((1, ..))?;         // converted; an index removes its dimension
    /// assert_eq!(row.as_slice(), [4.0, 5.0, 6.0]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ERANGE` if a value does not fit `T`; `NC_ECHAR` if the variable is text; `NC_EEDGE` or similar for
    /// extents beyond the shape; otherwise an error of the storage or a filter.
    pub fn get<T: Number>(&self, extents: impl Extents) -> Result<Array<T>> {
        let part = self.part(extents)?;
        Ok(Array::new(part.selection.shape(), part.fetch::<T>(T::TYPE)?))
    }

    /// As [`Variable::get`], but returns the values as a vector.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-get-values")?;
    /// # file.add_dimension("y", 2)?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<i16>("v", &["y", "x"])?;
    /// # v.put(&[1i16, 2, 3, 4, 5, 6], ..)?;
    /// assert_eq!(v.get_values::<i16>((.., 0))?, [1, 4]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::get`].
    pub fn get_values<T: Number>(&self, extents: impl Extents) -> Result<Vec<T>> {
        self.part(extents)?.fetch_vec()
    }

    /// Reads one element.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-get-value")?;
    /// # file.add_dimension("y", 2)?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<i16>("v", &["y", "x"])?;
    /// # v.put(&[1i16, 2, 3, 4, 5, 6], ..)?;
    /// assert_eq!(v.get_value::<i16>((1, 2))?, 6);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_EINVAL` if the extents are not one element.
    pub fn get_value<T: Number>(&self, extents: impl Extents) -> Result<T> {
        let (access, mut value, mut at) = (self.access()?, [T::zeroed()], [0; MAX_FAST_RANK]);
        if let Some(at) = extents.single(&mut at)
            && at.len() == access.rank()
        {
            let bytes = bytemuck::must_cast_slice_mut(&mut value);
            if !access.try_get_element(at, T::TYPE, bytes) {
                let one = [1; MAX_FAST_RANK];
                fill(access.select(&Slab::new(at, &one[..at.len()]))?, T::TYPE, bytes)?;
            }
            return Ok(value[0]);
        }
        let part = VariablePart::new(access, extents)?;
        part.expect(1)?;
        part.fill(T::TYPE, bytemuck::must_cast_slice_mut(&mut value))?;
        Ok(value[0])
    }

    /// Reads into the caller's memory, whose length is the number of elements.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-get-into")?;
    /// # file.add_dimension("y", 2)?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<i16>("v", &["y", "x"])?;
    /// # v.put(&[1i16, 2, 3, 4, 5, 6], ..)?;
    /// let mut row = [0i16; 3];
    /// v.get_into(&mut row, (0, ..))?;
    /// assert_eq!(row, [1, 2, 3]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_EINVAL` if the length differs.
    pub fn get_into<T: Number>(&self, out: &mut [T], extents: impl Extents) -> Result<()> {
        let part = self.part(extents)?;
        part.expect(out.len())?;
        part.fill(T::TYPE, bytemuck::must_cast_slice_mut(out))
    }

    /// As [`Variable::get_into`], into memory that need not be initialised. Returns the same memory.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-get-uninit")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<i16>("v", &["x"])?;
    /// # v.put(&[1i16, 2, 3], ..)?;
    /// let mut memory = Vec::with_capacity(3);
    /// let values = v.get_uninit::<i16>(&mut memory.spare_capacity_mut()[..3], ..)?;
    /// assert_eq!(values, [1, 2, 3]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::get_into`].
    pub fn get_uninit<'m, T: Number>(
        &self,
        out: &'m mut [MaybeUninit<T>],
        extents: impl Extents,
    ) -> Result<&'m mut [T]> {
        let part = self.part(extents)?;
        part.expect(out.len())?;
        let mut memory = OutBuf::for_numbers(out);
        part.select()?.get(MemMut::Fixed { ty: T::TYPE, out: &mut memory })?;
        memory
            .into_numbers()
            .ok_or_else(|| part.access.with_path(ErrorKind::Internal.context("the result was not filled")))
    }

    /// Reads text, one byte per element.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-get-chars")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable_with_type("v", nczarr::NcType::Char, &["x"])?;
    /// # v.put_chars(b"abc", ..)?;
    /// assert_eq!(v.get_chars(..)?.as_slice(), b"abc");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_ECHAR` if the variable is not of type char.
    pub fn get_chars(&self, extents: impl Extents) -> Result<Array<u8>> {
        let part = self.part(extents)?;
        Ok(Array::new(part.selection.shape(), part.fetch(NcType::Char)?))
    }

    /// Reads strings.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-get-strings")?;
    /// # file.add_dimension("x", 2)?;
    /// # let v = file.add_string_variable("v", &["x"])?;
    /// # v.put_strings(&["sea", "ice"], ..)?;
    /// assert_eq!(v.get_strings(..)?.as_slice(), ["sea", "ice"]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_ECHAR` if the variable is not of type string, or one of them is not UTF-8.
    pub fn get_strings(&self, extents: impl Extents) -> Result<Array<String>> {
        let strings = self.get_nc_strings(extents)?;
        let shape = DimVec::from(strings.shape());
        let texts = strings.into_vec().into_iter().enumerate().map(|(index, string)| {
            String::from_utf8(string.into_bytes()).map_err(|error| {
                let what = format!("string {index} is not UTF-8");
                self.located(ErrorKind::Char.context(what).caused_by(error.utf8_error()))
            })
        });
        Ok(Array::new(shape, texts.collect::<Result<_>>()?))
    }

    /// Reads one string.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-get-string")?;
    /// # file.add_dimension("x", 2)?;
    /// # let v = file.add_string_variable("v", &["x"])?;
    /// # v.put_strings(&["sea", "ice"], ..)?;
    /// assert_eq!(v.get_string(1)?, "ice");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::get_strings`]; `NC_EINVAL` if the extents are not one element.
    pub fn get_string(&self, extents: impl Extents) -> Result<String> {
        let strings = self.get_strings(extents)?.into_vec();
        let found = strings.len();
        match <[String; 1]>::try_from(strings) {
            Ok([string]) => Ok(string),
            Err(_) => Err(self.located(wrong_length("elements", 1, found))),
        }
    }

    /// Reads strings as stored, UTF-8 or not.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-get-nc-strings")?;
    /// # file.add_dimension("x", 2)?;
    /// # let v = file.add_string_variable("v", &["x"])?;
    /// # v.put_strings(&["sea", "ice"], ..)?;
    /// assert_eq!(v.get_nc_strings(0)?.as_slice()[0].as_bytes(), b"sea");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_ECHAR` if the variable is not of type string.
    pub fn get_nc_strings(&self, extents: impl Extents) -> Result<Array<NcString>> {
        let part = self.part(extents)?;
        let selected = part.select()?;
        let mut strings = part.empty_strings()?;
        selected.get(MemMut::Strings(&mut strings))?;
        Ok(Array::new(part.selection.shape(), strings))
    }

    /// Reads elements of the variable's type in native byte order, if it has a fixed size.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-get-raw")?;
    /// # file.add_dimension("y", 2)?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<i16>("v", &["y", "x"])?;
    /// # v.put(&[1i16, 2, 3, 4, 5, 6], ..)?;
    /// let mut bytes = [0; 6];
    /// v.get_raw(&mut bytes, (0, ..))?;          // native byte order
    /// assert_eq!(bytes[..2], 1i16.to_ne_bytes());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_EINVAL` if the length differs, `NC_EBADTYPE` for strings and vlens.
    pub fn get_raw(&self, out: &mut [u8], extents: impl Extents) -> Result<()> {
        let part = self.part(extents)?;
        let (ty, size) = self.fixed_type()?;
        let selected = part.select()?;
        match part.bytes(size)? {
            bytes if bytes == out.len() => fill(selected, ty, out),
            bytes => Err(part.access.with_path(wrong_length("bytes", bytes as u64, out.len()))),
        }
    }

    /// As [`Variable::get_raw`], but returns the elements in new memory.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-get-raw-values")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<i16>("v", &["x"])?;
    /// # v.put(&[1i16, 2, 3], ..)?;
    /// assert_eq!(v.get_raw_values(1)?, 2i16.to_ne_bytes());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::get_raw`].
    pub fn get_raw_values(&self, extents: impl Extents) -> Result<Vec<u8>> {
        let part = self.part(extents)?;
        let (ty, size) = self.fixed_type()?;
        let selected = part.select()?;
        selected.check_readable()?;
        fill_vec(part.bytes(size)?, |out| selected.get(MemMut::Fixed { ty, out }))
            .map_err(|error| part.access.with_path(error))
    }

    /// Reads to caller-defined positions: element `i` of the part goes to `out[Σ i·imap]`; memory between
    /// them is unchanged.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-get-mapped")?;
    /// # file.add_dimension("y", 2)?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<i16>("v", &["y", "x"])?;
    /// # v.put(&[1i16, 2, 3, 4, 5, 6], ..)?;
    /// let mut columns = [0i16; 6];
    /// v.get_mapped(.., &[1, 2], &mut columns)?; // the first dimension varies fastest in memory
    /// assert_eq!(columns, [1, 4, 2, 5, 3, 6]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_EINVAL` if `imap` has another rank or exceeds `out`.
    pub fn get_mapped<T: Number>(&self, extents: impl Extents, imap: &[i64], out: &mut [T]) -> Result<()> {
        let part = self.part(extents)?;
        let selected = part.select()?;
        let count = part.selection.slab().count;
        nczarr_model::check_imap(count, imap, out.len()).map_err(|error| part.access.with_path(error))?;
        nczarr_model::scatter_items(count, imap, out, &part.fetch_selected::<T>(selected, T::TYPE)?)
    }

    /// Reads a hyperslab with the types of `nczarr_dispatch`.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-read")?;
    /// # file.add_dimension("y", 2)?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<i16>("v", &["y", "x"])?;
    /// # v.put(&[1i16, 2, 3, 4, 5, 6], ..)?;
    /// use nczarr::{MemMut, NcType, OutBuf, Slab};
    ///
    /// let mut bytes = [0; 6];
    /// let mut out = OutBuf::from_slice(&mut bytes);
    /// v.read(&Slab::new(&[1, 0], &[1, 3]), MemMut::Fixed { ty: NcType::Short, out: &mut out })?;
    /// assert_eq!(bytes[..2], 4i16.to_ne_bytes());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::get`].
    pub fn read(&self, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.access()?.get(slab, out)
    }
}

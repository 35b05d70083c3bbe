//! The data of a [`Variable`]: reads and writes of any part, with conversion to any fitting type.
//!
//! Hyperslabs are checked before memory is allocated. Conversion and range checks happen during the transfer,
//! and `NC_ERANGE` is reported after it. No call needs a `mut` handle.

#[cfg(feature = "ndarray")]
mod arrays;
mod records;
mod unpack;

use std::mem::MaybeUninit;

use nczarr_dispatch::{MemMut, MemRef, byte_len};
use nczarr_model::{ErrorKind, Model, NcString, NcType, Result, Slab};
use nczarr_nc_table::{NcDispatch, SelectedSlab};
use nczarr_runtime::{Buffer, DimVec, Element, OutBuf, fill_vec};

use crate::variable::Access;
use crate::{Array, Extents, Number, Selection, Variable};

/// The maximum rank for the fast paths.
const MAX_FAST_RANK: usize = 8;

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

    /// Writes a part of the variable. A write may extend an unlimited dimension, and an open end (`..`)
    /// extends as far as the values. Values for fewer records than exist there need a range (`..2`).
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-put")?;
    /// # file.add_dimension("y", 2)?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<i16>("v", &["y", "x"])?;
    /// # v.put(&[1i16, 2, 3, 4, 5, 6], ..)?;
    /// v.put(&[7i16, 8, 9], (1, ..))?;
    /// assert_eq!(v.get_values::<i16>(..)?, [1, 2, 3, 7, 8, 9]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_EPERM` if the dataset is read-only; `NC_ERANGE` if a value does not fit the variable's type;
    /// `NC_ECHAR` if it is text; `NC_EEDGE` or similar for extents beyond the shape; `NC_EINVAL` if the
    /// number of values differs.
    pub fn put<T: Number>(&self, values: &[T], extents: impl Extents) -> Result<()> {
        let data = MemRef::Fixed { ty: T::TYPE, bytes: bytemuck::must_cast_slice(values) };
        if let Some(written) = self.put_plain(&extents, values.len(), &data) {
            return written;
        }
        let selection = self.select_for_write(extents, values.len())?;
        self.write(&selection.slab(), data)
    }

    /// Writes as many numbers as the selection has elements.
    #[cfg(feature = "ndarray")]
    fn write_selection<T: Number>(&self, values: &[T], selection: &Selection) -> Result<()> {
        self.write(&selection.slab(), MemRef::Fixed { ty: T::TYPE, bytes: bytemuck::must_cast_slice(values) })
    }

    /// A fast path for a write of plain extents without preparation. `None`: nothing happened, and the
    /// general path reports errors.
    fn put_plain(&self, extents: &impl Extents, elements: usize, data: &MemRef<'_>) -> Option<Result<()>> {
        let (mut start, mut count) = ([0; MAX_FAST_RANK], [0; MAX_FAST_RANK]);
        let rank = extents.plain(&mut start, &mut count)?;
        let slab = Slab::new(start.get(..rank)?, count.get(..rank)?);
        if slab.len() != elements as u64 || self.open.dataset().ok()?.model().is_defining() {
            return None;
        }
        let access = self.access().ok()?;
        (access.rank() == rank).then(|| access.put(&slab, *data))
    }

    /// Writes one element.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-put-value")?;
    /// # file.add_dimension("y", 2)?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<i16>("v", &["y", "x"])?;
    /// # v.put(&[1i16, 2, 3, 4, 5, 6], ..)?;
    /// v.put_value(7i16, (0, 0))?;
    /// assert_eq!(v.get_value::<i16>((0, 0))?, 7);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::put`]; `NC_EINVAL` if the extents are not one element.
    pub fn put_value<T: Number>(&self, value: T, extents: impl Extents) -> Result<()> {
        self.put(&[value], extents)
    }

    /// Writes text, one byte per element.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-put-chars")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable_with_type("v", nczarr::NcType::Char, &["x"])?;
    /// # v.put_chars(b"abc", ..)?;
    /// v.put_chars("xy", 1..)?;
    /// assert_eq!(v.get_chars(..)?.as_slice(), b"axy");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::put`]; `NC_ECHAR` if the variable is not of type char.
    pub fn put_chars(&self, text: impl AsRef<[u8]>, extents: impl Extents) -> Result<()> {
        let text = text.as_ref();
        let selection = self.select_for_write(extents, text.len())?;
        self.write(&selection.slab(), MemRef::Fixed { ty: NcType::Char, bytes: text })
    }

    /// Writes strings.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-put-strings")?;
    /// # file.add_dimension("x", 2)?;
    /// # let v = file.add_string_variable("v", &["x"])?;
    /// # v.put_strings(&["sea", "ice"], ..)?;
    /// v.put_strings(&["fog", "rain"], ..)?;
    /// assert_eq!(v.get_string(0)?, "fog");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::put`]; `NC_ECHAR` if the variable is not of type string; an error with index and
    /// lengths for a string that exceeds a fixed length.
    pub fn put_strings<S: AsRef<[u8]>>(&self, strings: &[S], extents: impl Extents) -> Result<()> {
        let selection = self.select_for_write(extents, strings.len())?;
        let strings: Vec<NcString> = strings.iter().map(|string| string.as_ref().into()).collect();
        self.write(&selection.slab(), MemRef::Strings(&strings))
    }

    /// Writes one string.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-put-string")?;
    /// # file.add_dimension("x", 2)?;
    /// # let v = file.add_string_variable("v", &["x"])?;
    /// # v.put_strings(&["sea", "ice"], ..)?;
    /// v.put_string("snow", 1)?;
    /// assert_eq!(v.get_string(1)?, "snow");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::put_strings`].
    pub fn put_string(&self, string: &str, extents: impl Extents) -> Result<()> {
        self.put_strings(&[string], extents)
    }

    /// Writes elements of the variable's type in native byte order, if it has a fixed size.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-put-raw")?;
    /// # file.add_dimension("y", 2)?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<i16>("v", &["y", "x"])?;
    /// # v.put(&[1i16, 2, 3, 4, 5, 6], ..)?;
    /// v.put_raw(&7i16.to_ne_bytes(), (0, 0))?;  // native byte order
    /// assert_eq!(v.get_value::<i16>((0, 0))?, 7);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::put`]; `NC_EBADTYPE` for strings and vlens.
    pub fn put_raw(&self, bytes: &[u8], extents: impl Extents) -> Result<()> {
        let (ty, size) = self.fixed_type()?;
        if !bytes.len().is_multiple_of(size) {
            let whole = (bytes.len() / size * size) as u64;
            return Err(self.located(wrong_length("bytes", whole, bytes.len())));
        }
        let selection = self.select_for_write(extents, bytes.len() / size)?;
        self.write(&selection.slab(), MemRef::Fixed { ty, bytes })
    }

    /// Writes from caller-defined positions: element `i` of the part comes from `values[Σ i·imap]`, as in
    /// [`Variable::get_mapped`].
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-transfer-put-mapped")?;
    /// # file.add_dimension("y", 2)?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<i16>("v", &["y", "x"])?;
    /// # v.put(&[1i16, 2, 3, 4, 5, 6], ..)?;
    /// v.put_mapped(&[1i16, 4, 2, 5, 3, 6], &[1, 2], ..)?; // the first dimension varies fastest
    /// assert_eq!(v.get_values::<i16>(..)?, [1, 2, 3, 4, 5, 6]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::put`]; `NC_EINVAL` if `imap` has another rank or exceeds `values`.
    pub fn put_mapped<T: Number>(&self, values: &[T], imap: &[i64], extents: impl Extents) -> Result<()> {
        let model = self.open.model();
        self.want_sound(&model)?;
        let (shape, unlimited) = (model.shape(self.id)?, unlimited(&model, self)?);
        let selection = Selection::new(extents, &shape).map_err(|error| self.located(error))?;
        let slab = selection.slab();
        slab.check(&shape, |dim| unlimited[dim]).map_err(|error| self.located(error))?;
        nczarr_model::check_imap(slab.count, imap, values.len()).map_err(|error| self.located(error))?;
        let len = byte_len(slab.len(), size_of::<T>())?;
        let dense = Buffer::<T>::fill(len / size_of::<T>(), |out| {
            let dense = bytemuck::try_cast_slice_mut(out.put_zeros(len)?).map_err(|_| ErrorKind::Internal)?;
            nczarr_model::gather_items(slab.count, imap, values, dense)
        })?;
        self.write(&slab, MemRef::Fixed { ty: T::TYPE, bytes: bytemuck::must_cast_slice(&dense) })
    }

    /// Writes a hyperslab with the types of `nczarr_dispatch`.
    ///
    /// # Errors
    /// As [`Variable::put`].
    pub fn write(&self, slab: &Slab<'_>, data: MemRef<'_>) -> Result<()> {
        let dataset = self.open.dataset()?;
        if !dataset.model().is_defining() {
            return self.access()?.put(slab, data);
        }
        // Metadata is written first, also where netCDF's functions leave define mode to the caller.
        self.open.leave_define_mode()?;
        match slab.stride {
            None => dataset.put_vara(self.id, slab.start, slab.count, data),
            Some(stride) => dataset.put_vars(self.id, slab.start, slab.count, stride, data),
        }
    }
}

/// A part of a variable that is read.
pub(crate) struct VariablePart<'v> {
    pub(crate) access: Access<'v>,
    pub(crate) selection: Selection,
}

impl<'v> VariablePart<'v> {
    /// Selects the part of a variable.
    fn new(access: Access<'v>, extents: impl Extents) -> Result<Self> {
        let shape = access.shape();
        let selection = Selection::new(extents, &shape).map_err(|error| access.with_path(error))?;
        Ok(Self { access, selection })
    }
}

impl VariablePart<'_> {
    /// Returns the size of its elements, of `size` bytes each.
    pub(crate) fn bytes(&self, size: usize) -> Result<usize> {
        byte_len(self.selection.slab().len(), size).map_err(|error| self.access.with_path(error))
    }

    fn expect(&self, elements: usize) -> Result<()> {
        // An error about the bounds has precedence.
        expect(&self.selection, elements)
            .or_else(|error| self.select().and(Err(self.access.with_path(error))))
    }

    /// Checks it against the variable's shape.
    pub(crate) fn select(&self) -> Result<SelectedSlab<'_>> {
        self.access.select(&self.selection.slab())
    }

    /// Allocates strings for its elements, if they are strings; `NC_ENOMEM` if memory is short.
    fn empty_strings(&self) -> Result<Vec<NcString>> {
        self.check_type(NcType::String)?;
        let count = self.bytes(size_of::<NcString>())? / size_of::<NcString>();
        let mut strings = Vec::new();
        strings.try_reserve_exact(count).map_err(|error| {
            self.access.with_path(ErrorKind::NoMem.context(format!("{count} strings")).caused_by(error))
        })?;
        strings.resize(count, NcString::new());
        Ok(strings)
    }

    /// Reads into new memory.
    fn fetch<T: Element>(&self, ty: NcType) -> Result<Buffer<T>> {
        self.fetch_selected(self.select()?, ty)
    }

    fn fetch_selected<T: Element>(&self, selected: SelectedSlab<'_>, ty: NcType) -> Result<Buffer<T>> {
        let len = self.check_fetch(&selected, ty, size_of::<T>())?;
        Buffer::fill(len, |out| selected.get(MemMut::Fixed { ty, out }))
            .map_err(|error| self.access.with_path(error))
    }

    /// Reads into a new vector.
    pub(crate) fn fetch_vec<T: Number>(&self) -> Result<Vec<T>> {
        let (selected, ty) = (self.select()?, T::TYPE);
        let len = self.check_fetch(&selected, ty, size_of::<T>())?;
        fill_vec(len, |out| selected.get(MemMut::Fixed { ty, out }))
            .map_err(|error| self.access.with_path(error))
    }

    /// Checks everything that can be checked before memory is allocated. Returns the number of elements.
    fn check_fetch(&self, selected: &SelectedSlab<'_>, ty: NcType, size: usize) -> Result<usize> {
        self.check_type(ty)?;
        selected.check_readable()?;
        Ok(self.bytes(size)? / size)
    }

    /// Checks the memory type before memory is allocated.
    fn check_type(&self, memtype: NcType) -> Result<()> {
        nczarr_model::convert::check(self.access.xtype(), memtype)
            .map_err(|error| self.access.with_path(error))
    }

    /// Reads into memory of exactly the right size.
    fn fill(&self, ty: NcType, bytes: &mut [u8]) -> Result<()> {
        fill(self.select()?, ty, bytes)
    }
}

/// Reads into memory of exactly the right size.
pub(crate) fn fill(selected: SelectedSlab<'_>, ty: NcType, bytes: &mut [u8]) -> Result<()> {
    let mut out = OutBuf::from_slice(bytes);
    selected.get(MemMut::Fixed { ty, out: &mut out })?;
    match out.remaining() {
        0 => Ok(()),
        room => Err(ErrorKind::Internal
            .context(format!("{}: {room} bytes of the result were not filled", selected.path()))),
    }
}

impl Variable {
    /// Selects a part of the variable. It is checked before memory is allocated, at the latest by the read.
    pub(crate) fn part(&self, extents: impl Extents) -> Result<VariablePart<'_>> {
        VariablePart::new(self.access()?, extents)
    }

    pub(crate) fn select_for_write(&self, extents: impl Extents, elements: usize) -> Result<Selection> {
        let select = |shape: &[u64], unlimited: &[bool]| {
            Selection::for_write(extents, shape, unlimited, elements as u64)
                .and_then(|selection| expect(&selection, elements).map(|()| selection))
                .map_err(|error| self.located(error))
        };
        // In data mode the dimensions are cached with the prepared variable.
        if !self.open.dataset()?.model().is_defining()
            && let Ok(access) = self.access()
        {
            return select(&access.shape(), &access.unlimited());
        }
        let model = self.open.model();
        self.want_sound(&model)?;
        select(&model.shape(self.id)?, &unlimited(&model, self)?)
    }

    /// Fails with the variable's problem if its shape is unknown, so that extents are not blamed.
    fn want_sound(&self, model: &Model) -> Result<()> {
        match &model.var(self.id)?.problem {
            Some(problem) => Err(self.located(problem.clone())),
            None => Ok(()),
        }
    }

    fn fixed_type(&self) -> Result<(NcType, usize)> {
        let model = self.open.model();
        let ty = model.var(self.id)?.xtype;
        match model.type_size(ty)? {
            Some(size) if size > 0 && model.is_fixed(ty)? => Ok((ty, size)),
            _ => Err(self.located(ErrorKind::BadType.context("elements have no fixed size"))),
        }
    }
}

fn expect(selection: &Selection, elements: usize) -> Result<()> {
    match selection.slab().len() {
        len if len == elements as u64 => Ok(()),
        len => Err(wrong_length("elements", len, elements)),
    }
}

fn wrong_length(what: &str, expected: u64, found: usize) -> nczarr_model::Error {
    ErrorKind::Inval.context(format!("expected {expected} {what}, found {found}"))
}

fn unlimited(model: &Model, variable: &Variable) -> Result<Vec<bool>> {
    model.var(variable.id)?.dims.iter().map(|&dim| Ok(model.dim(dim)?.unlimited)).collect()
}

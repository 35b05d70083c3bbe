//! The data of a [`Variable`]: reads and writes of any part, in any type the values fit.
//!
//! Hyperslabs are checked before any memory is allocated. Conversion and range checks happen on the way, and
//! `NC_ERANGE` is reported after the whole transfer. No call needs a `mut` handle.

use dispatch::{Buffer, MemMut, MemRef, NcDispatch, OutBuf, Plain, byte_len};
use model::{ErrorKind, Model, NcString, NcType, Result, Slab};

use crate::{Array, Extents, Number, Selection, Variable};

impl Variable {
    /// Reads a part of the variable.
    ///
    /// # Errors
    /// `NC_ERANGE` if a value does not fit `T`, `NC_ECHAR` if the variable is text, `NC_EEDGE` and kin for extents beyond the
    /// shape; what storage and filters say.
    pub fn get<T: Number, E: Extents>(&self, extents: E) -> Result<Array<T>> {
        let selection = self.select(extents)?;
        let data = self.fetch::<T>(&selection, T::TYPE)?;
        Ok(Array::new(selection.shape(), data))
    }

    /// As [`Variable::get`], the values alone, copied to a vector.
    ///
    /// # Errors
    /// As [`Variable::get`].
    pub fn get_values<T: Number, E: Extents>(&self, extents: E) -> Result<Vec<T>> {
        Ok(self.fetch(&self.select(extents)?, T::TYPE)?.into_vec())
    }

    /// Reads one element.
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_EINVAL` if the extents are not one element.
    pub fn get_value<T: Number, E: Extents>(&self, extents: E) -> Result<T> {
        let selection = self.select(extents)?;
        self.one(&selection)?;
        Ok(self.fetch(&selection, T::TYPE)?[0])
    }

    /// Reads into memory of the caller's, whose length is the number of elements.
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_EINVAL` if the length differs.
    pub fn get_into<T: Number, E: Extents>(&self, out: &mut [T], extents: E) -> Result<()> {
        let selection = self.select(extents)?;
        self.expect(&selection, out.len())?;
        self.fixed_into(&selection.slab(), T::TYPE, bytemuck::must_cast_slice_mut(out))
    }

    /// Reads text, one byte per element.
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_ECHAR` if the variable is not of type char.
    pub fn get_chars<E: Extents>(&self, extents: E) -> Result<Array<u8>> {
        let selection = self.select(extents)?;
        let data = self.fetch(&selection, NcType::Char)?;
        Ok(Array::new(selection.shape(), data))
    }

    /// Reads strings.
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_ECHAR` if the variable is not of type string, or one of them is not UTF-8.
    pub fn get_strings<E: Extents>(&self, extents: E) -> Result<Array<String>> {
        let strings = self.get_nc_strings(extents)?;
        let shape = strings.shape().to_vec();
        let texts = strings.into_vec().into_iter().enumerate().map(|(index, string)| {
            String::from_utf8(string.into_bytes()).map_err(|error| {
                let what = format!("{}: string {index} is not UTF-8", self.full_name());
                ErrorKind::Char.context(what).caused_by(error.utf8_error())
            })
        });
        Ok(Array::new(shape, texts.collect::<Result<_>>()?))
    }

    /// Reads strings as they are stored, UTF-8 or not.
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_ECHAR` if the variable is not of type string.
    pub fn get_nc_strings<E: Extents>(&self, extents: E) -> Result<Array<NcString>> {
        let selection = self.select(extents)?;
        let slab = selection.slab();
        self.check(&slab, false)?;
        let room = byte_len(slab.len(), size_of::<NcString>()).map_err(|error| error.at(self.full_name()))?;
        let mut strings = vec![NcString::new(); room / size_of::<NcString>()];
        self.read(&slab, MemMut::Strings(&mut strings))?;
        Ok(Array::new(selection.shape(), strings))
    }

    /// Reads elements of the variable's own type of fixed size, in native byte order.
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_EINVAL` if the length differs, `NC_EBADTYPE` for strings and vlens.
    pub fn get_raw<E: Extents>(&self, out: &mut [u8], extents: E) -> Result<()> {
        let selection = self.select(extents)?;
        let (ty, size) = self.fixed_type()?;
        if byte_len(selection.slab().len(), size)? != out.len() {
            return Err(self.wrong_length("bytes", selection.slab().len().saturating_mul(size as u64), out.len()));
        }
        self.fixed_into(&selection.slab(), ty, out)
    }

    /// Reads into places of the caller's: element `i` of the part goes to `out[Σ i·imap]`; what lies between is left alone.
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_EINVAL` if `imap` has another rank or leaves `out`.
    pub fn get_mapped<T: Number, E: Extents>(&self, extents: E, imap: &[i64], out: &mut [T]) -> Result<()> {
        let selection = self.select(extents)?;
        let slab = selection.slab();
        self.check(&slab, false)?;
        model::check_imap(slab.count, imap, out.len()).map_err(|error| error.at(self.full_name()))?;
        let values = self.fetch::<T>(&selection, T::TYPE)?;
        model::scatter_items(slab.count, imap, out, &values)
    }

    /// Reads a hyperslab in terms of the contract below this crate.
    ///
    /// # Errors
    /// As [`Variable::get`].
    pub fn read(&self, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        let dataset = self.open.dataset()?;
        match slab.stride {
            None => dataset.get_vara(self.id, slab.start, slab.count, out),
            Some(stride) => dataset.get_vars(self.id, slab.start, slab.count, stride, out),
        }
    }

    /// Writes a part of the variable. Along an unlimited dimension a write grows it, and an open end (`..`) reaches
    /// as far as the values do.
    ///
    /// # Errors
    /// `NC_EPERM` if the dataset is read-only, `NC_ERANGE` if a value does not fit the variable's type, `NC_ECHAR` if it is
    /// text, `NC_EEDGE` and kin for extents beyond the shape, `NC_EINVAL` if the number of values differs.
    pub fn put<T: Number, E: Extents>(&self, values: &[T], extents: E) -> Result<()> {
        let selection = self.select_for_write(extents, values.len())?;
        self.write(&selection.slab(), MemRef::Fixed { ty: T::TYPE, bytes: bytemuck::must_cast_slice(values) })
    }

    /// Writes one element.
    ///
    /// # Errors
    /// As [`Variable::put`]; `NC_EINVAL` if the extents are not one element.
    pub fn put_value<T: Number, E: Extents>(&self, value: T, extents: E) -> Result<()> {
        self.put(&[value], extents)
    }

    /// Writes text, one byte per element.
    ///
    /// # Errors
    /// As [`Variable::put`]; `NC_ECHAR` if the variable is not of type char.
    pub fn put_chars<E: Extents>(&self, text: &[u8], extents: E) -> Result<()> {
        let selection = self.select_for_write(extents, text.len())?;
        self.write(&selection.slab(), MemRef::Fixed { ty: NcType::Char, bytes: text })
    }

    /// Writes strings.
    ///
    /// # Errors
    /// As [`Variable::put`]; `NC_ECHAR` if the variable is not of type string; an error naming index and lengths for a
    /// string longer than a variable of fixed length holds.
    pub fn put_strings<S: AsRef<[u8]>, E: Extents>(&self, strings: &[S], extents: E) -> Result<()> {
        let selection = self.select_for_write(extents, strings.len())?;
        let strings: Vec<NcString> = strings.iter().map(|string| string.as_ref().into()).collect();
        self.write(&selection.slab(), MemRef::Strings(&strings))
    }

    /// Writes one string.
    ///
    /// # Errors
    /// As [`Variable::put_strings`].
    pub fn put_string<E: Extents>(&self, string: &str, extents: E) -> Result<()> {
        self.put_strings(&[string], extents)
    }

    /// Writes elements of the variable's own type of fixed size, in native byte order.
    ///
    /// # Errors
    /// As [`Variable::put`]; `NC_EBADTYPE` for strings and vlens.
    pub fn put_raw<E: Extents>(&self, bytes: &[u8], extents: E) -> Result<()> {
        let (ty, size) = self.fixed_type()?;
        if !bytes.len().is_multiple_of(size) {
            return Err(self.wrong_length("bytes", (bytes.len() / size * size) as u64, bytes.len()));
        }
        let selection = self.select_for_write(extents, bytes.len() / size)?;
        self.write(&selection.slab(), MemRef::Fixed { ty, bytes })
    }

    /// Writes from places of the caller's: element `i` of the part comes from `values[Σ i·imap]`, as in
    /// [`Variable::get_mapped`].
    ///
    /// # Errors
    /// As [`Variable::put`]; `NC_EINVAL` if `imap` has another rank or leaves `values`.
    pub fn put_mapped<T: Number, E: Extents>(&self, values: &[T], imap: &[i64], extents: E) -> Result<()> {
        let selection = self.select(extents)?;
        let slab = selection.slab();
        self.check(&slab, true)?;
        model::check_imap(slab.count, imap, values.len()).map_err(|error| error.at(self.full_name()))?;
        let len = byte_len(slab.len(), size_of::<T>())?;
        let dense = Buffer::<T>::fill(len / size_of::<T>(), |out| {
            let dense = bytemuck::try_cast_slice_mut(out.zeroed(len)?).map_err(|_| ErrorKind::Internal)?;
            model::gather_items(slab.count, imap, values, dense)
        })?;
        self.write(&slab, MemRef::Fixed { ty: T::TYPE, bytes: bytemuck::must_cast_slice(&dense) })
    }

    /// Writes a hyperslab in terms of the contract below this crate.
    ///
    /// # Errors
    /// As [`Variable::put`].
    pub fn write(&self, slab: &Slab<'_>, data: MemRef<'_>) -> Result<()> {
        let dataset = self.open.dataset()?;
        match slab.stride {
            None => dataset.put_vara(self.id, slab.start, slab.count, data),
            Some(stride) => dataset.put_vars(self.id, slab.start, slab.count, stride, data),
        }
    }
}

impl Variable {
    fn select(&self, extents: impl Extents) -> Result<Selection> {
        let model = self.open.model();
        let selection = Selection::new(extents, &model.shape(self.id)?).map_err(|error| error.at(self.full_name()))?;
        Ok(selection)
    }

    fn select_for_write(&self, extents: impl Extents, elements: usize) -> Result<Selection> {
        let model = self.open.model();
        let selection =
            Selection::for_write(extents, &model.shape(self.id)?, &unlimited(&model, self)?, elements as u64)
                .map_err(|error| error.at(self.full_name()))?;
        self.expect(&selection, elements)?;
        Ok(selection)
    }

    fn check(&self, slab: &Slab<'_>, write: bool) -> Result<()> {
        let model = self.open.model();
        let unlimited = unlimited(&model, self)?;
        slab.check(&model.shape(self.id)?, |dim| write && unlimited[dim]).map_err(|error| error.at(self.full_name()))
    }

    /// Reads into fresh memory. The slab is checked before anything is allocated.
    fn fetch<T: Plain>(&self, selection: &Selection, ty: NcType) -> Result<Buffer<T>> {
        let slab = selection.slab();
        self.check(&slab, false)?;
        let bytes = byte_len(slab.len(), size_of::<T>()).map_err(|error| error.at(self.full_name()))?;
        Buffer::fill(bytes / size_of::<T>(), |out| self.read(&slab, MemMut::Fixed { ty, out }))
    }

    fn fixed_into(&self, slab: &Slab<'_>, ty: NcType, bytes: &mut [u8]) -> Result<()> {
        let mut out = OutBuf::over(bytes);
        self.read(slab, MemMut::Fixed { ty, out: &mut out })?;
        match out.room() {
            0 => Ok(()),
            room => Err(ErrorKind::Internal.context(format!("{}: {room} bytes were not filled", self.full_name()))),
        }
    }

    fn fixed_type(&self) -> Result<(NcType, usize)> {
        let model = self.open.model();
        let ty = model.var(self.id)?.xtype;
        match model.type_size(ty)? {
            Some(size) if size > 0 => Ok((ty, size)),
            _ => Err(ErrorKind::BadType.context(format!("{}: elements of no fixed size", self.full_name()))),
        }
    }

    fn one(&self, selection: &Selection) -> Result<()> {
        self.expect(selection, 1)
    }

    fn expect(&self, selection: &Selection, elements: usize) -> Result<()> {
        match selection.slab().len() {
            len if len == elements as u64 => Ok(()),
            len => Err(self.wrong_length("elements", len, elements)),
        }
    }

    fn wrong_length(&self, what: &str, expected: u64, found: usize) -> model::Error {
        ErrorKind::Inval.context(format!("{}: expected {expected} {what}, found {found}", self.full_name()))
    }
}

fn unlimited(model: &Model, variable: &Variable) -> Result<Vec<bool>> {
    model.var(variable.id)?.dims.iter().map(|&dim| Ok(model.dim(dim)?.unlimited)).collect()
}

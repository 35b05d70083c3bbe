//! Writes of a [`Variable`].

use nczarr_dispatch::{MemRef, byte_len};
use nczarr_model::{ErrorKind, NcString, NcType, Result, Slab};
use nczarr_nc_table::NcDispatch;
use nczarr_runtime::Buffer;

use super::{MAX_FAST_RANK, unlimited, wrong_length};
use crate::{Extents, Number, Selection, Variable};

impl Variable {
    /// Writes a part of the variable. A write may extend an unlimited dimension, and an open end (`..`)
    /// extends as far as the values. To write fewer records than exist behind the start, give a range
    /// (`..2`).
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
    pub(super) fn write_selection<T: Number>(&self, values: &[T], selection: &Selection) -> Result<()> {
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

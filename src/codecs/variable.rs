//! The methods of [`Variable`] that set its codecs and its quantization.

use nczarr_model::{Edit, ErrorKind, Quantize, Result};

use super::Codec;
use crate::Variable;

impl Variable {
    /// Replaces all filters. Writing applies them in this order, and reading in reverse.
    ///
    /// If one codec is invalid, the variable keeps its filters. [`Variable::filters`] returns the new ones.
    /// `set_codecs::<Codec>([])` removes all.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "zstd", feature = "shuffle"))] {
    /// use nczarr::Codec;
    /// # let file = nczarr::create("memory://doc-variable-set-codecs")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// v.set_codecs([Codec::shuffle(), Codec::zstd(3)])?;
    /// let names: Vec<String> = v.filters().into_iter().map(|filter| filter.name).collect();
    /// assert_eq!(names, ["shuffle", "zstd"]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ENOFILTER` if a filter is not in this build; `NC_EINVAL` or `NC_EFILTER` for invalid parameters,
    /// and for filters that the format cannot store; `NC_ELATEDEF` once data was written; `NC_EINVAL` for a
    /// scalar.
    pub fn set_codecs<C: Into<Codec>>(&self, codecs: impl IntoIterator<Item = C>) -> Result<()> {
        let resolve = |codec: C| codec.into().resolve(self.open.registry());
        let filters: Result<Vec<_>> = codecs.into_iter().map(resolve).collect();
        let filters = filters.map_err(|error| self.located(error))?;
        let lost =
            filters.iter().filter(|filter| filter.hdf5_id.is_some()).find_map(|filter| filter.codec.as_ref());
        if let Some(lost) = lost
            && self.open.dataset()?.json_metadata().is_none()
        {
            let what = "this format stores HDF5 parameters, which lose a member; use Codec::named";
            return Err(self.located(ErrorKind::Filter.context(format!("codec {lost}: {what}"))));
        }
        self.edit(&Edit::DefVarFilters { var: self.id, filters: &filters }).map(drop)
    }

    /// Adds the fletcher32 filter: a checksum of each chunk.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "fletcher32"))] {
    /// # let file = nczarr::create("memory://doc-variable-set-fletcher32")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// v.set_fletcher32()?;                      // reading a damaged chunk is an error
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::set_filter`].
    pub fn set_fletcher32(&self) -> Result<()> {
        self.set_filter("fletcher32", &[])
    }

    /// Rounds floats on writing, so that they compress better. No reader can restore the lost digits.
    ///
    /// Each mode has its number of digits or bits; `None` ends rounding. A reader of the chunks needs no
    /// filter for the rounding. An attribute such as `_QuantizeBitGroomNumberOfSignificantDigits` records the
    /// mode.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "deflate", feature = "shuffle"))] {
    /// use nczarr::{Codec, Quantize};
    /// # let file = nczarr::create("memory://doc-variable-set-quantize")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// v.set_quantize(Quantize::BitGroom(3))?;           // keeps three significant digits
    /// v.set_codecs([Codec::shuffle(), Codec::deflate(5)])?;
    /// v.put(&[1.0f32, 0.333333, 2.718281], ..)?;
    /// assert!((v.get_value::<f32>(2)? - 2.718281).abs() < 0.005);
    /// assert_eq!(v.quantize(), Some(Quantize::BitGroom(3)));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_EINVAL` for a type other than float and double, and for digits out of range; `NC_ELATEDEF` once
    /// data was written; `NC_ENOTNC4` in classic files.
    pub fn set_quantize(&self, quantize: impl Into<Option<Quantize>>) -> Result<()> {
        self.edit(&Edit::DefVarQuantize { var: self.id, quantize: quantize.into() }).map(drop)
    }

    /// Returns the rounding of written floats; `None` if values are kept.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// use nczarr::Quantize;
    /// # let file = nczarr::create("memory://doc-variable-quantize")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// assert_eq!(v.quantize(), None);
    /// v.set_quantize(Quantize::BitRound(10))?;
    /// assert_eq!(v.quantize(), Some(Quantize::BitRound(10)));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn quantize(&self) -> Option<Quantize> {
        self.ask(|var| var.quantize)
    }
}

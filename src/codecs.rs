//! [`Codec`]: one filter of a variable, described by a typed call. [`Variable::set_codecs`] takes a chain.
//!
//! A codec is a description: it is checked when a variable gets it. `resolve` finds its filter in the
//! registry.

mod blosc;
mod resolve;
mod variable;

use nczarr_codec::{FilterName, FilterText};
use nczarr_model::FilterSpec;

pub use blosc::Blosc;
pub(crate) use resolve::as_missing_filter;

#[cfg(doc)]
use crate::Variable;

/// A filter and its parameters, for [`Variable::set_codecs`].
///
/// Filter and codec are two words for one thing: netCDF and HDF5 say filter, Zarr says codec. A codec needs
/// no dataset. [`Variable::set_codecs`] checks it, with the filters of the dataset's registry.
///
/// ```
/// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "zstd", feature = "shuffle"))] {
/// use nczarr::Codec;
///
/// let file = nczarr::create("memory://doc-codec")?;
/// file.add_dimension("x", 3)?;
/// let v = file.add_variable::<f32>("v", &["x"])?;
/// v.set_codecs([Codec::shuffle(), Codec::zstd(3)])?;
/// v.put(&[1.0f32, 2.0, 3.0], ..)?;
/// # }
/// # Ok::<(), nczarr::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Codec {
    form: CodecForm,
}

/// The ways to describe a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CodecForm {
    /// A name or an HDF5 id, and HDF5 parameters.
    Params(FilterText),
    /// A codec description of Zarr.
    Json(String),
}

/// The coding of [`Codec::szip`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SzipCoding {
    /// Codes the numbers themselves (mask 4, `NC_SZIP_EC`).
    Entropy,
    /// Codes the differences of neighbours (mask 32, `NC_SZIP_NN`). Smooth data become smaller.
    NearestNeighbour,
}

impl Codec {
    /// Zstandard. The level is at most 22; negative levels are faster.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "zstd"))] {
    /// # let file = nczarr::create("memory://doc-codec-zstd")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// v.set_codecs([nczarr::Codec::zstd(3)])?;
    /// # assert!(v.set_codecs([nczarr::Codec::zstd(23)]).is_err());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn zstd(level: i32) -> Self {
        Self::named("zstd", &[level.cast_unsigned()])
    }

    /// Deflate in the frame of zlib, at a level of 0 to 9. Every netCDF-4 library can read it.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "deflate", feature = "shuffle"))] {
    /// # let file = nczarr::create("memory://doc-codec-deflate")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// v.set_codecs([nczarr::Codec::shuffle(), nczarr::Codec::deflate(5)])?;     // as `set_deflate(5, true)`
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn deflate(level: u32) -> Self {
        Self::named("deflate", &[level])
    }

    /// Deflate in the frame of gzip, at a level of 0 to 9. Only Zarr has it.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "deflate"))] {
    /// # let file = nczarr::create("memory://doc-codec-gzip#mode=zarr,v3")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// v.set_codecs([nczarr::Codec::gzip(5)])?;
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn gzip(level: u32) -> Self {
        Self::named("gzip", &[level])
    }

    /// Groups the bytes of the elements by their position. Numbers then compress better.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "deflate", feature = "shuffle"))] {
    /// # let file = nczarr::create("memory://doc-codec-shuffle")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// v.set_codecs([nczarr::Codec::shuffle(), nczarr::Codec::deflate(5)])?;     // before the compressor
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn shuffle() -> Self {
        Self::named("shuffle", &[])
    }

    /// A checksum of each chunk. Reading a damaged chunk is an error.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "deflate", feature = "fletcher32"))] {
    /// # let file = nczarr::create("memory://doc-codec-fletcher32")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// v.set_codecs([nczarr::Codec::deflate(5), nczarr::Codec::fletcher32()])?;
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn fletcher32() -> Self {
        Self::named("fletcher32", &[])
    }

    /// Blosc. The builder starts with numcodecs' defaults: LZ4, level 5, shuffled bytes.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "blosc"))] {
    /// # let file = nczarr::create("memory://doc-codec-blosc")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// v.set_codecs([nczarr::Codec::blosc().zstd().level(7).bitshuffle()])?;
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn blosc() -> Blosc {
        Blosc::default()
    }

    /// Bzip2, at a level of 1 to 9.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "bzip2"))] {
    /// # let file = nczarr::create("memory://doc-codec-bzip2")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// v.set_codecs([nczarr::Codec::bzip2(9)])?;
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn bzip2(level: u32) -> Self {
        Self::named("bzip2", &[level])
    }

    /// LZ4, with an acceleration of 1 to 65537. A larger one is faster and compresses less.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "lz4"))] {
    /// # let file = nczarr::create("memory://doc-codec-lz4")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// v.set_codecs([nczarr::Codec::lz4(1)])?;
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn lz4(acceleration: u32) -> Self {
        Self::named("lz4", &[0, acceleration])
    }

    /// Szip, with an even number of 2 to 32 pixels per block. The last dimension must have a fixed length.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "szip"))] {
    /// use nczarr::{Codec, SzipCoding};
    /// # let file = nczarr::create("memory://doc-codec-szip")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// v.set_codecs([Codec::szip(SzipCoding::NearestNeighbour, 8)])?;
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn szip(coding: SzipCoding, pixels_per_block: u32) -> Self {
        let mask = match coding {
            SzipCoding::Entropy => 4,
            SzipCoding::NearestNeighbour => 32,
        };
        Self::named("szip", &[mask, pixels_per_block])
    }

    /// Any filter of the registry by its name or HDF5 id (in digits), with its HDF5 parameters.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "numeric", feature = "deflate"))] {
    /// use nczarr::Codec;
    /// # let file = nczarr::create("memory://doc-codec-named")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// v.set_codecs([Codec::named("bitround", &[10]), Codec::named("1", &[5])])?;      // 1 is deflate
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn named(name: &str, params: &[u32]) -> Self {
        let filter = match name.parse() {
            Ok(id) => FilterName::Id(id),
            Err(_) => FilterName::Name(name.to_owned()),
        };
        Self { form: CodecForm::Params(FilterText { filter, params: params.to_vec() }) }
    }

    /// A filter by a codec description of numcodecs (`id`) or Zarr V3 (`name`): as JSON text, or as a
    /// [`Json`](crate::codec::Json) value.
    ///
    /// The description names a filter, and each format stores the filter in its own way. A member that the
    /// filter does not have, or a number that it would change, is an error. Formats without JSON refuse a
    /// description with more than the HDF5 parameters, such as the checksum of zstd.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "zstd", feature = "deflate"))] {
    /// use nczarr::Codec;
    /// # let file = nczarr::create("memory://doc-codec-json#mode=zarr,v2")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// v.set_codecs([Codec::json(r#"{"id": "zstd", "level": 3, "checksum": true}"#)])?;
    /// v.set_codecs([Codec::json(r#"{"name": "gzip", "configuration": {"level": 5}}"#)])?;
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn json(description: impl ToString) -> Self {
        Self { form: CodecForm::Json(description.to_string()) }
    }
}

/// Takes over a filter of another variable.
///
/// ```
/// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "zstd", feature = "shuffle"))] {
/// use nczarr::Codec;
/// # let file = nczarr::create("memory://doc-codec-from")?;
/// # file.add_dimension("x", 3)?;
/// # let v = file.add_variable::<f32>("v", &["x"])?;
/// # let w = file.add_variable::<f32>("w", &["x"])?;
/// v.set_codecs([Codec::shuffle(), Codec::zstd(3)])?;
/// w.set_codecs(v.filters())?;
/// # assert_eq!(w.filters(), v.filters());
/// # }
/// # Ok::<(), nczarr::Error>(())
/// ```
impl From<FilterSpec> for Codec {
    fn from(filter: FilterSpec) -> Self {
        // Parameters and id say all; the description has sizes of the old elements.
        match filter.anew() {
            FilterSpec { codec: Some(codec), .. } => Self::json(codec),
            FilterSpec { hdf5_id: Some(id), params, .. } => {
                Self { form: CodecForm::Params(FilterText { filter: FilterName::Id(id), params }) }
            }
            FilterSpec { name, params, .. } => Self::named(&name, &params),
        }
    }
}

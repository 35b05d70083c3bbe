//! [`Blosc`]: the settings of the blosc filter.

use super::Codec;

/// The settings of the blosc filter, which compresses blocks of a chunk. [`Codec::blosc`] makes them.
///
/// ```
/// use nczarr::{Blosc, Codec};
///
/// let codec: Codec = Codec::blosc().lz4().level(5).bitshuffle().into();
/// assert_eq!(codec, Codec::named("blosc", &[0, 0, 0, 0, 5, 2, 1]));
/// assert_eq!(Codec::blosc(), Blosc::default());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Blosc {
    compressor: u32,
    level: u32,
    shuffle: u32,
    block_size: u32,
}

impl Default for Blosc {
    /// Returns numcodecs' defaults: LZ4, level 5, shuffled bytes, a block size that the library chooses.
    fn default() -> Self {
        Self { compressor: 1, level: 5, shuffle: 1, block_size: 0 }
    }
}

impl Blosc {
    /// Compresses with BloscLZ.
    ///
    /// ```
    /// # use nczarr::Codec;
    /// let codec = Codec::from(Codec::blosc().blosclz());
    /// assert_eq!(codec, Codec::named("blosc", &[0, 0, 0, 0, 5, 1, 0]));
    /// ```
    pub fn blosclz(self) -> Self {
        Self { compressor: 0, ..self }
    }

    /// Compresses with LZ4.
    ///
    /// ```
    /// # use nczarr::Codec;
    /// let codec = Codec::from(Codec::blosc().lz4());
    /// assert_eq!(codec, Codec::named("blosc", &[0, 0, 0, 0, 5, 1, 1]));
    /// ```
    pub fn lz4(self) -> Self {
        Self { compressor: 1, ..self }
    }

    /// Compresses with LZ4HC: as small as possible, and slowly.
    ///
    /// ```
    /// # use nczarr::Codec;
    /// let codec = Codec::from(Codec::blosc().lz4hc());
    /// assert_eq!(codec, Codec::named("blosc", &[0, 0, 0, 0, 5, 1, 2]));
    /// ```
    pub fn lz4hc(self) -> Self {
        Self { compressor: 2, ..self }
    }

    /// Compresses with zlib.
    ///
    /// ```
    /// # use nczarr::Codec;
    /// let codec = Codec::from(Codec::blosc().zlib());
    /// assert_eq!(codec, Codec::named("blosc", &[0, 0, 0, 0, 5, 1, 4]));
    /// ```
    pub fn zlib(self) -> Self {
        Self { compressor: 4, ..self }
    }

    /// Compresses with Zstandard.
    ///
    /// ```
    /// # use nczarr::Codec;
    /// let codec = Codec::from(Codec::blosc().zstd());
    /// assert_eq!(codec, Codec::named("blosc", &[0, 0, 0, 0, 5, 1, 5]));
    /// ```
    pub fn zstd(self) -> Self {
        Self { compressor: 5, ..self }
    }

    /// Sets the level, from 0 (no compression) to 9.
    ///
    /// ```
    /// # use nczarr::Codec;
    /// let codec = Codec::from(Codec::blosc().level(9));
    /// assert_eq!(codec, Codec::named("blosc", &[0, 0, 0, 0, 9, 1, 1]));
    /// ```
    pub fn level(self, level: u32) -> Self {
        Self { level, ..self }
    }

    /// Compresses the bytes as they are.
    ///
    /// ```
    /// # use nczarr::Codec;
    /// let codec = Codec::from(Codec::blosc().no_shuffle());
    /// assert_eq!(codec, Codec::named("blosc", &[0, 0, 0, 0, 5, 0, 1]));
    /// ```
    pub fn no_shuffle(self) -> Self {
        Self { shuffle: 0, ..self }
    }

    /// Groups bytes by their position in an element, before compression.
    ///
    /// ```
    /// # use nczarr::Codec;
    /// let codec = Codec::from(Codec::blosc().shuffle());
    /// assert_eq!(codec, Codec::named("blosc", &[0, 0, 0, 0, 5, 1, 1]));
    /// ```
    pub fn shuffle(self) -> Self {
        Self { shuffle: 1, ..self }
    }

    /// Groups bits by their position in an element, before compression.
    ///
    /// ```
    /// # use nczarr::Codec;
    /// let codec = Codec::from(Codec::blosc().bitshuffle());
    /// assert_eq!(codec, Codec::named("blosc", &[0, 0, 0, 0, 5, 2, 1]));
    /// ```
    pub fn bitshuffle(self) -> Self {
        Self { shuffle: 2, ..self }
    }

    /// Sets the size of a block in bytes; 0: the library chooses. HDF5 files do not record it.
    ///
    /// ```
    /// # use nczarr::Codec;
    /// let codec = Codec::from(Codec::blosc().block_size(4096));
    /// assert_eq!(codec, Codec::named("blosc", &[0, 0, 0, 4096, 5, 1, 1]));
    /// ```
    pub fn block_size(self, bytes: u32) -> Self {
        Self { block_size: bytes, ..self }
    }
}

impl From<Blosc> for Codec {
    fn from(blosc: Blosc) -> Self {
        let Blosc { compressor, level, shuffle, block_size } = blosc;
        Self::named("blosc", &[0, 0, 0, block_size, level, shuffle, compressor])
    }
}

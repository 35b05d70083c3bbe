//! [`Compressor`]: the compressors inside a blosc frame.

/// The compressors, in the order of the HDF5 parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compressor {
    BloscLz,
    Lz4,
    Lz4Hc,
    Snappy,
    Zlib,
    Zstd,
}

impl Compressor {
    pub(super) const ALL: [Self; 6] =
        [Self::BloscLz, Self::Lz4, Self::Lz4Hc, Self::Snappy, Self::Zlib, Self::Zstd];

    /// Returns the name for the C library.
    pub(super) const fn c_name(self) -> &'static std::ffi::CStr {
        match self {
            Self::BloscLz => c"blosclz",
            Self::Lz4 => c"lz4",
            Self::Lz4Hc => c"lz4hc",
            Self::Snappy => c"snappy",
            Self::Zlib => c"zlib",
            Self::Zstd => c"zstd",
        }
    }

    pub(super) fn name(self) -> &'static str {
        self.c_name().to_str().unwrap_or_default()
    }
}

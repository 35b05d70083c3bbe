//! [`Kind`]: the format of a new dataset.

use nczarr_dispatch::Place;
use nczarr_model::{ErrorKind, Result};
use nczarr_url_infer::names_a_format;

/// The format of a new dataset, for [`CreateOptions::kind`](crate::CreateOptions::kind).
///
/// The URL and the ending of the path still decide where a Zarr dataset is stored: in a directory, an
/// archive, a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// NCZarr in Zarr V2: Zarr that keeps the complete netCDF model.
    NcZarrV2,
    /// NCZarr in Zarr V3.
    NcZarrV3,
    /// Plain Zarr V2, as xarray writes it.
    ZarrV2,
    /// Plain Zarr V3, as xarray writes it.
    ZarrV3,
    /// A netCDF-4 file, which is an HDF5 file.
    NetCdf4,
    /// A netCDF-4 file that is restricted to the classic model.
    NetCdf4Classic,
    /// A classic file with 32-bit offsets.
    Cdf1,
    /// A classic file with 64-bit offsets.
    Cdf2,
    /// A classic file with 64-bit sizes and unsigned types.
    Cdf5,
}

impl Kind {
    /// Returns the words of `mode` in a URL for this format.
    ///
    /// ```
    /// assert_eq!(nczarr::Kind::ZarrV3.modes(), ["zarr", "v3"]);
    /// ```
    pub fn modes(self) -> &'static [&'static str] {
        match self {
            Self::NcZarrV2 => &["nczarr", "v2"],
            Self::NcZarrV3 => &["nczarr", "v3"],
            Self::ZarrV2 => &["zarr", "v2"],
            Self::ZarrV3 => &["zarr", "v3"],
            Self::NetCdf4 => &["netcdf-4"],
            Self::NetCdf4Classic => &["nc4-classic"],
            Self::Cdf1 => &["cdf1"],
            Self::Cdf2 => &["cdf2"],
            Self::Cdf5 => &["cdf5"],
        }
    }

    /// The words of `mode` that mean this format or leave it open.
    fn accepted(self) -> &'static [&'static str] {
        match self {
            Self::NcZarrV2 => &["nczarr", "noxarray", "v2"],
            Self::NcZarrV3 => &["nczarr", "noxarray", "v3"],
            Self::ZarrV2 => &["nczarr", "zarr", "xarray", "noxarray", "v2"],
            Self::ZarrV3 => &["nczarr", "zarr", "xarray", "noxarray", "v3"],
            Self::NetCdf4 => &["netcdf-4", "netcdf4", "nc4", "enhanced", "hdf5"],
            Self::NetCdf4Classic => &["netcdf-4", "netcdf4", "nc4", "nc4-classic", "hdf5"],
            Self::Cdf1 => &["classic", "netcdf-3", "cdf1"],
            Self::Cdf2 => &["classic", "netcdf-3", "cdf2", "64bitoffset"],
            Self::Cdf5 => &["classic", "netcdf-3", "cdf5", "64bitdata"],
        }
    }

    /// Adds the format to a place.
    ///
    /// # Errors
    /// `NC_EINVAL` if the place names another format.
    pub(crate) fn at(self, place: Place) -> Result<Place> {
        let target = place.target()?;
        let is_other = |word: &&String| names_a_format(word) && !self.accepted().contains(&word.as_str());
        if let Some(word) = target.modes.iter().find(is_other) {
            return Err(ErrorKind::Inval.context(format!(
                "{target}: mode {word} is another format than the kind {self:?}; give one of them"
            )));
        }
        Ok(self.modes().iter().fold(place, |place, &word| place.mode(word)))
    }
}

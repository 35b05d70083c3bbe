//! `-k`: the kind of dataset that a copy becomes, by its usual names, as a mode of the target's URL.
//!
//! The drivers define the contents of each kind.

use std::str::FromStr;

use nczarr_url_infer::Target;

use crate::failure::Failure;

/// A kind of dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// CDF-1.
    Classic,
    /// CDF-2.
    Offset64,
    /// CDF-5.
    Cdf5,
    /// netCDF-4, an HDF5 file.
    NetCdf4,
    /// The same with the classic model.
    NetCdf4Classic,
    /// NCZarr.
    NcZarr,
    /// Zarr without NCZarr's metadata.
    Zarr,
}

/// The names of each kind. The first is the mode in a target's URL.
const NAMES: &[(Kind, &[&str])] = &[
    (Kind::Classic, &["classic", "nc3", "1", "cdf1", "netcdf-3"]),
    (Kind::Offset64, &["64bitoffset", "64-bit offset", "64-bit-offset", "nc6", "2", "cdf2"]),
    (Kind::Cdf5, &["cdf5", "cdf-5", "64-bit data", "64-bit-data", "nc5", "5", "64bitdata"]),
    (Kind::NetCdf4, &["nc4", "netcdf-4", "3", "hdf5", "netcdf4", "enhanced"]),
    (
        Kind::NetCdf4Classic,
        &[
            "nc4-classic",
            "netcdf-4 classic model",
            "netcdf-4-classic",
            "netcdf-4_classic",
            "netcdf4_classic",
            "hdf5-nc3",
            "enhanced-nc3",
            "nc7",
            "4",
        ],
    ),
    (Kind::NcZarr, &["nczarr", "noxarray"]),
    (Kind::Zarr, &["zarr", "xarray"]),
];

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = NAMES.iter().find(|(_, names)| names.iter().any(|name| name.eq_ignore_ascii_case(text)));
        named.map(|(kind, _)| *kind).ok_or_else(|| {
            let first: Vec<&str> = NAMES.iter().filter_map(|(_, names)| names.first().copied()).collect();
            format!("unknown kind {text:?} (expected one of {})", first.join(", "))
        })
    }
}

impl Kind {
    /// Returns the kind that `-k` or an equivalent flag names. `-4` leaves the choice to a mode in the target
    /// or to an ending other than `.nc`.
    pub fn asked(
        kind: Option<Self>,
        [classic, offset64, cdf5, netcdf4, netcdf7]: [bool; 5],
        url: &str,
    ) -> Option<Self> {
        let says_itself = nczarr_url_infer::parse(url).is_ok_and(|target| !target.modes.is_empty());
        kind.or(match (classic, offset64, cdf5) {
            (true, ..) => Some(Self::Classic),
            (_, true, _) => Some(Self::Offset64),
            (.., true) => Some(Self::Cdf5),
            _ if netcdf7 => Some(Self::NetCdf4Classic),
            _ if netcdf4 && !says_itself && url.ends_with(".nc") => Some(Self::NetCdf4),
            _ => None,
        })
    }

    /// Returns the kind by the flags of a netCDF tool; without such flags, `otherwise` decides for a netCDF
    /// file.
    ///
    /// # Errors
    ///
    /// Errors of `otherwise`.
    pub fn of_tool<E>(
        kind: Option<Self>,
        flags: [bool; 5],
        url: &str,
        otherwise: impl FnOnce() -> Result<Self, E>,
    ) -> Result<Option<Self>, E> {
        match Self::asked(kind, flags, url) {
            None if !is_netcdf_file(url) => Ok(None),
            None if flags[3] => Ok(Some(Self::NetCdf4)),
            None => otherwise().map(Some),
            asked => Ok(asked),
        }
    }

    /// Returns the URL of a target of this kind.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] if it names another one.
    pub fn url(self, url: &str) -> Result<String, Failure> {
        // Creating the dataset reports other mistakes in it.
        let Ok(target) = nczarr_url_infer::parse(url) else { return Ok(url.to_owned()) };
        if let Some(said) = Self::said(&target).filter(|said| *said != self) {
            let what = format!("-k {}: the target has mode={}", self.mode(), said.mode());
            return Err(Failure::Usage(what));
        }
        let has_fragment = url.contains('#') && !(target.modes.is_empty() && target.fragment.is_empty());
        Ok(format!("{url}{}mode={}", if has_fragment { '&' } else { '#' }, self.mode()))
    }

    /// Returns the kind that the modes of a target name. A mode of plain Zarr wins over NCZarr's.
    fn said(target: &Target) -> Option<Self> {
        let named = NAMES.iter().rev().find(|(_, names)| names.iter().any(|name| target.has_mode(name)));
        named.map(|(kind, _)| *kind)
    }

    /// Returns this kind's mode in a URL.
    pub fn mode(self) -> &'static str {
        NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, names)| names[0])
    }
}

/// Returns whether a netCDF tool would make a netCDF file at `url`: neither a mode nor the ending selects a
/// Zarr store.
fn is_netcdf_file(url: &str) -> bool {
    nczarr_url_infer::parse(url).is_ok_and(|target| {
        let is_store = ["/", ".zarr", ".zip"].iter().any(|end| target.path_text().ends_with(end));
        target.scheme.is_local() && target.modes.is_empty() && !is_store
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_become_modes() {
        for (kind, url, want) in [
            ("nc3", "a/b", Ok("a/b#mode=classic")),
            ("64-bit offset", "b.nc", Ok("b.nc#mode=64bitoffset")),
            ("2", "b.nc#mode=file", Ok("b.nc#mode=file&mode=64bitoffset")),
            ("NC5", "a#1", Ok("a#1#mode=cdf5")),
            ("nczarr", "file:///a#log", Ok("file:///a#log&mode=nczarr")),
            ("zarr", "a#mode=zarr", Ok("a#mode=zarr&mode=zarr")),
            ("nczarr", "a#mode=zarr", Err("-k nczarr: the target has mode=zarr")),
            ("nc4", "a.nc", Ok("a.nc#mode=nc4")),
            ("nc7", "a.nc", Ok("a.nc#mode=nc4-classic")),
            ("1", "a#mode=nczarr,file", Err("-k classic: the target has mode=nczarr")),
        ] {
            let found = kind.parse::<Kind>().unwrap().url(url);
            let found = found.map_err(|failure| match failure {
                Failure::Usage(what) => what,
                other => format!("{other:?}"),
            });
            assert_eq!(found.as_deref().map_err(String::as_str), want, "{kind} {url}");
        }
        assert!("hdf4".parse::<Kind>().is_err());
    }
}

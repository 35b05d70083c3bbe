//! The table of what this build has: drivers, maps, filters and element codecs, one entry per feature; and of what
//! the project has but this build may lack, so that asking for it names the feature.
//!
//! A linker may drop a crate nobody refers to, and with it what it registered. The table refers to each.

use std::sync::Arc;

use nczarr_dispatch::{Driver, Known, Magic, MapFactory, PluginKind, Registry, Table};
use nczarr_model::Result;

static DRIVERS: &[&dyn Driver] = &[
    #[cfg(feature = "nczarr")]
    &nczarr_driver_nczarr::NcZarrDriver,
    #[cfg(feature = "classic")]
    &nczarr_driver_classic::ClassicDriver,
    #[cfg(feature = "hdf5")]
    &nczarr_driver_hdf5::Hdf5Driver,
    #[cfg(feature = "hdf4")]
    &nczarr_driver_hdf4::Hdf4Driver,
];

static MAPS: &[&dyn MapFactory] = &[
    #[cfg(feature = "file")]
    &nczarr_zmap_file::FileMaps,
    #[cfg(feature = "mem")]
    &nczarr_zmap_mem::MemMaps,
    #[cfg(feature = "zip")]
    &nczarr_zmap_zip::ZipMaps,
    #[cfg(feature = "http")]
    &nczarr_zmap_http::MAPS,
    #[cfg(feature = "s3")]
    &nczarr_zmap_s3::S3Maps,
];

/// First bytes of formats that this build may lack.
mod first_bytes {
    use super::Magic;

    const fn at(offset: u64, bytes: &'static [u8]) -> Magic {
        Magic { offset, bytes }
    }

    pub(super) static CLASSIC: &[Magic] = &[at(0, b"CDF\x01"), at(0, b"CDF\x02"), at(0, b"CDF\x05")];
    pub(super) static HDF4: &[Magic] = &[at(0, b"\x0e\x03\x13\x01")];
    /// HDF5 may stand behind a block of the user's, whose size is a power of two from 512 on.
    pub(super) static HDF5: &[Magic] = &{
        let mut places = [at(0, b"\x89HDF\r\n\x1a\n"); 16];
        let mut i = 1;
        while i < places.len() {
            places[i].offset = 256 << i;
            i += 1;
        }
        places
    };
    /// An archive with members, without any, and one that was split.
    pub(super) static ZIP: &[Magic] = &[at(0, b"PK\x03\x04"), at(0, b"PK\x05\x06"), at(0, b"PK\x07\x08")];
}

static KNOWN: &[Known] = &[
    Known { aliases: &["zarr", "xarray", "noxarray"], ..Known::new(PluginKind::Driver, "nczarr", "nczarr") },
    Known {
        aliases: &["netcdf-3", "64bitoffset", "64bitdata", "cdf1", "cdf2", "cdf5"],
        magic: first_bytes::CLASSIC,
        ..Known::new(PluginKind::Driver, "classic", "classic")
    },
    Known {
        aliases: &["netcdf-4", "netcdf4", "nc4", "nc4-classic", "enhanced"],
        magic: first_bytes::HDF5,
        ..Known::new(PluginKind::Driver, "hdf5", "hdf5")
    },
    Known { magic: first_bytes::HDF4, ..Known::new(PluginKind::Driver, "hdf4", "hdf4") },
    Known::later(PluginKind::Driver, "cdl", "cdl"),
    Known::new(PluginKind::Map, "file", "file"),
    Known { aliases: &["memory"], ..Known::new(PluginKind::Map, "mem", "mem") },
    Known { magic: first_bytes::ZIP, ..Known::new(PluginKind::Map, "zip", "zip") },
    Known { aliases: &["gs3"], ..Known::new(PluginKind::Map, "s3", "s3") },
    Known { aliases: &["https"], ..Known::new(PluginKind::Map, "http", "http") },
    Known { hdf5_id: Some(1), aliases: &["zlib", "gzip"], ..Known::new(PluginKind::Filter, "deflate", "deflate") },
    Known { hdf5_id: Some(2), ..Known::new(PluginKind::Filter, "shuffle", "shuffle") },
    Known { hdf5_id: Some(3), ..Known::new(PluginKind::Filter, "fletcher32", "fletcher32") },
    Known { hdf5_id: Some(4), ..Known::new(PluginKind::Filter, "szip", "szip") },
    Known { hdf5_id: Some(32001), ..Known::new(PluginKind::Filter, "blosc", "blosc") },
    Known { hdf5_id: Some(32015), ..Known::new(PluginKind::Filter, "zstd", "zstd") },
    Known { hdf5_id: Some(307), aliases: &["bz2"], ..Known::new(PluginKind::Filter, "bzip2", "bzip2") },
    Known { hdf5_id: Some(32004), ..Known::new(PluginKind::Filter, "lz4", "lz4") },
    Known::new(PluginKind::Filter, "lzma", "lzma"),
    Known::new(PluginKind::Filter, "crc32", "crc32"),
    Known::new(PluginKind::Filter, "crc32c", "crc32c"),
    Known::new(PluginKind::Filter, "adler32", "adler32"),
    Known::new(PluginKind::Filter, "jenkins_lookup3", "jenkins-lookup3"),
    Known::new(PluginKind::Filter, "delta", "numeric"),
    Known::new(PluginKind::Filter, "fixedscaleoffset", "numeric"),
    Known::new(PluginKind::Filter, "quantize", "numeric"),
    Known::new(PluginKind::Filter, "bitround", "numeric"),
    Known::new(PluginKind::Filter, "packbits", "numeric"),
    Known::new(PluginKind::Filter, "astype", "numeric"),
    Known::new(PluginKind::Filter, "categorize", "numeric"),
    Known::new(PluginKind::Filter, "cast_value", "numeric"),
    Known::new(PluginKind::Filter, "scale_offset", "numeric"),
    Known::new(PluginKind::Element, "categorize", "numeric"),
    Known { hdf5_id: Some(5), ..Known::new(PluginKind::Filter, "nbit", "hdf5") },
    Known { hdf5_id: Some(6), ..Known::new(PluginKind::Filter, "scaleoffset", "hdf5") },
    Known { hdf5_id: Some(32000), ..Known::new(PluginKind::Filter, "lzf", "hdf5") },
    Known::other_filter(32003, "snappy"),
    Known::other_filter(32008, "bitshuffle"),
    Known::other_filter(32013, "zfp"),
    Known::other_filter(32014, "fpzip"),
    Known::other_filter(32017, "sz"),
    Known::other_filter(32024, "sz3"),
    Known::other_filter(32026, "blosc2"),
];

static TABLE: Table = Table {
    drivers: DRIVERS,
    maps: MAPS,
    filters: nczarr_filters::BUILTIN,
    elements: nczarr_filters::BUILTIN_ELEMENTS,
    known: KNOWN,
};

/// The registry of the process, which [`open`](crate::open) and [`create`](crate::create) use: what this build has and
/// what is linked through `inventory`, or what an embedder installed ([`Registry::install`]).
///
/// # Errors
/// `NC_EPLUGIN` if two different linked entries have one name.
pub fn registry() -> Result<Arc<Registry>> {
    Registry::process_default_with(&TABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_holds_what_the_features_say() {
        let registry = Registry::new().with_table(&TABLE);
        registry.check().unwrap();
        for known in KNOWN.iter().filter(|known| !known.feature.is_empty()) {
            let built = match known.feature {
                "nczarr" => cfg!(feature = "nczarr"),
                "classic" => cfg!(feature = "classic"),
                "hdf5" => cfg!(feature = "hdf5"),
                "hdf4" => cfg!(feature = "hdf4"),
                "file" => cfg!(feature = "file"),
                "mem" => cfg!(feature = "mem"),
                "zip" => cfg!(feature = "zip"),
                "http" => cfg!(feature = "http"),
                "s3" => cfg!(feature = "s3"),
                "deflate" => cfg!(feature = "deflate"),
                "shuffle" => cfg!(feature = "shuffle"),
                "fletcher32" => cfg!(feature = "fletcher32"),
                "szip" => cfg!(feature = "szip"),
                "blosc" => cfg!(feature = "blosc"),
                "zstd" => cfg!(feature = "zstd"),
                "bzip2" => cfg!(feature = "bzip2"),
                "lz4" => cfg!(feature = "lz4"),
                "lzma" => cfg!(feature = "lzma"),
                "crc32" => cfg!(feature = "crc32"),
                "crc32c" => cfg!(feature = "crc32c"),
                "adler32" => cfg!(feature = "adler32"),
                "jenkins-lookup3" => cfg!(feature = "jenkins-lookup3"),
                "numeric" => cfg!(feature = "numeric"),
                other => {
                    assert!(known.later, "{other} is no feature");
                    false
                }
            };
            let found = match known.kind {
                PluginKind::Driver => registry.driver(known.name).map(drop),
                PluginKind::Map => registry.map(known.name).map(drop),
                PluginKind::Filter => registry.filter(known.name).map(drop),
                PluginKind::Element => registry.element(known.name).map(drop),
            };
            match found {
                Ok(()) => assert!(built, "{} is there without its feature", known.name),
                Err(error) => {
                    assert!(!built, "{error}");
                    assert_eq!(error.kind(), nczarr_model::ErrorKind::NotBuilt);
                    assert!(error.to_string().contains(&format!("feature {:?}", known.feature)), "{error}");
                }
            }
        }
        let names = registry.plugins().len();
        assert_eq!(
            names,
            DRIVERS.len() + MAPS.len() + nczarr_filters::BUILTIN.len() + nczarr_filters::BUILTIN_ELEMENTS.len()
        );
    }

    #[test]
    fn filters_of_others_are_told_by_name() {
        let registry = Registry::new().with_table(&TABLE);
        for row in nczarr_filters::HDF5_FILTERS {
            let outcome = registry.filter_by_id(row.id).map(|class| class.info().name);
            match (row.read, outcome) {
                (true, Ok(name)) => assert_eq!(name, row.name),
                (true, Err(error)) => assert_eq!(error.kind(), nczarr_model::ErrorKind::NotBuilt, "{error}"),
                (false, outcome) => {
                    let error = outcome.unwrap_err().to_string();
                    let expected = format!("NC_ENOFILTER: filter {} ({}) is no part of this project", row.id, row.name);
                    assert_eq!(error, expected);
                }
            }
        }
    }
}

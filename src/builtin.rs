//! The plugins of this build, one entry per feature; and the plugins that the project has but this build may
//! lack, so that errors can name the feature.
//!
//! A linker may drop an unreferenced crate, with its registrations. The table references each crate.

use std::sync::Arc;

use nczarr_codec::{ChunkGridClass, DataTypeClass};
use nczarr_dispatch::{Driver, KnownPlugin, Magic, PluginKind, PluginTable, Registry};
use nczarr_model::Result;
use nczarr_storage::MapFactory;

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

static DATA_TYPES: &[&dyn DataTypeClass] = &[
    #[cfg(feature = "nczarr")]
    &nczarr_driver_nczarr::Bfloat16,
];

static CHUNK_GRIDS: &[&dyn ChunkGridClass] = &[
    #[cfg(feature = "nczarr")]
    &nczarr_driver_nczarr::RectilinearGrid,
];

/// First bytes of formats that this build may lack.
mod first_bytes {
    use super::Magic;

    const fn at(offset: u64, bytes: &'static [u8]) -> Magic {
        Magic { offset, bytes }
    }

    pub(super) static CLASSIC: &[Magic] = &[at(0, b"CDF\x01"), at(0, b"CDF\x02"), at(0, b"CDF\x05")];
    pub(super) static HDF4: &[Magic] = &[at(0, b"\x0e\x03\x13\x01")];
    /// HDF5 may follow a user block whose size is a power of two from 512 on.
    pub(super) static HDF5: &[Magic] = &{
        let mut places = [at(0, b"\x89HDF\r\n\x1a\n"); 16];
        let mut i = 1;
        while i < places.len() {
            places[i].offset = 256 << i;
            i += 1;
        }
        places
    };
    /// An archive with members, an empty one, and a split one.
    pub(super) static ZIP: &[Magic] = &[at(0, b"PK\x03\x04"), at(0, b"PK\x05\x06"), at(0, b"PK\x07\x08")];
}

static KNOWN: &[KnownPlugin] = &[
    KnownPlugin {
        aliases: &["zarr", "xarray", "noxarray"],
        ..KnownPlugin::new(PluginKind::Driver, "nczarr", "nczarr")
    },
    KnownPlugin {
        aliases: &["netcdf-3", "64bitoffset", "64bitdata", "cdf1", "cdf2", "cdf5"],
        magic: first_bytes::CLASSIC,
        ..KnownPlugin::new(PluginKind::Driver, "classic", "classic")
    },
    KnownPlugin {
        aliases: &["netcdf-4", "netcdf4", "nc4", "nc4-classic", "enhanced"],
        magic: first_bytes::HDF5,
        ..KnownPlugin::new(PluginKind::Driver, "hdf5", "hdf5")
    },
    KnownPlugin { magic: first_bytes::HDF4, ..KnownPlugin::new(PluginKind::Driver, "hdf4", "hdf4") },
    KnownPlugin::later(PluginKind::Driver, "cdl", "cdl"),
    KnownPlugin::new(PluginKind::Map, "file", "file"),
    KnownPlugin { aliases: &["memory"], ..KnownPlugin::new(PluginKind::Map, "mem", "mem") },
    KnownPlugin { magic: first_bytes::ZIP, ..KnownPlugin::new(PluginKind::Map, "zip", "zip") },
    KnownPlugin { aliases: &["gs3"], ..KnownPlugin::new(PluginKind::Map, "s3", "s3") },
    KnownPlugin { aliases: &["https"], ..KnownPlugin::new(PluginKind::Map, "http", "http") },
    KnownPlugin {
        hdf5_id: Some(1),
        aliases: &["zlib", "gzip"],
        ..KnownPlugin::new(PluginKind::Filter, "deflate", "deflate")
    },
    KnownPlugin { hdf5_id: Some(2), ..KnownPlugin::new(PluginKind::Filter, "shuffle", "shuffle") },
    KnownPlugin { hdf5_id: Some(3), ..KnownPlugin::new(PluginKind::Filter, "fletcher32", "fletcher32") },
    KnownPlugin { hdf5_id: Some(4), ..KnownPlugin::new(PluginKind::Filter, "szip", "szip") },
    KnownPlugin { hdf5_id: Some(32001), ..KnownPlugin::new(PluginKind::Filter, "blosc", "blosc") },
    KnownPlugin { hdf5_id: Some(32015), ..KnownPlugin::new(PluginKind::Filter, "zstd", "zstd") },
    KnownPlugin {
        hdf5_id: Some(307),
        aliases: &["bz2"],
        ..KnownPlugin::new(PluginKind::Filter, "bzip2", "bzip2")
    },
    KnownPlugin { hdf5_id: Some(32004), ..KnownPlugin::new(PluginKind::Filter, "lz4", "lz4") },
    KnownPlugin::new(PluginKind::Filter, "lzma", "lzma"),
    KnownPlugin::new(PluginKind::Filter, "crc32", "crc32"),
    KnownPlugin::new(PluginKind::Filter, "crc32c", "crc32c"),
    KnownPlugin::new(PluginKind::Filter, "adler32", "adler32"),
    KnownPlugin::new(PluginKind::Filter, "jenkins_lookup3", "jenkins-lookup3"),
    KnownPlugin::new(PluginKind::Filter, "delta", "numeric"),
    KnownPlugin::new(PluginKind::Filter, "fixedscaleoffset", "numeric"),
    KnownPlugin::new(PluginKind::Filter, "quantize", "numeric"),
    KnownPlugin::new(PluginKind::Filter, "bitround", "numeric"),
    KnownPlugin::new(PluginKind::Filter, "packbits", "numeric"),
    KnownPlugin::new(PluginKind::Filter, "astype", "numeric"),
    KnownPlugin::new(PluginKind::Filter, "categorize", "numeric"),
    KnownPlugin::new(PluginKind::Filter, "cast_value", "numeric"),
    KnownPlugin::new(PluginKind::Filter, "scale_offset", "numeric"),
    KnownPlugin::new(PluginKind::Element, "categorize", "numeric"),
    KnownPlugin { hdf5_id: Some(5), ..KnownPlugin::new(PluginKind::Filter, "nbit", "hdf5") },
    KnownPlugin { hdf5_id: Some(6), ..KnownPlugin::new(PluginKind::Filter, "scaleoffset", "hdf5") },
    KnownPlugin { hdf5_id: Some(32000), ..KnownPlugin::new(PluginKind::Filter, "lzf", "hdf5") },
    KnownPlugin::foreign_filter(32003, "snappy"),
    KnownPlugin::foreign_filter(32008, "bitshuffle"),
    KnownPlugin::foreign_filter(32013, "zfp"),
    KnownPlugin::foreign_filter(32014, "fpzip"),
    KnownPlugin::foreign_filter(32017, "sz"),
    KnownPlugin::foreign_filter(32024, "sz3"),
    KnownPlugin::foreign_filter(32026, "blosc2"),
];

static TABLE: PluginTable = PluginTable {
    drivers: DRIVERS,
    maps: MAPS,
    filters: nczarr_filters::BUILTIN,
    elements: nczarr_filters::BUILTIN_ELEMENTS,
    data_types: DATA_TYPES,
    chunk_grids: CHUNK_GRIDS,
    known: KNOWN,
};

/// Returns the registry of the process. [`open`](crate::open) and [`create`](crate::create) use it. It has
/// the plugins of this build and the plugins linked through `inventory`, or it is the registry that a program
/// installed ([`Registry::install`]).
///
/// # Errors
/// `NC_EPLUGIN` if two different linked entries have one name.
pub fn registry() -> Result<Arc<Registry>> {
    #[cfg(all(feature = "filter-plugins", unix))]
    return Registry::process_default_with(crate::filter_plugins::extended(&TABLE));
    #[cfg(not(all(feature = "filter-plugins", unix)))]
    Registry::process_default_with(&TABLE)
}

/// Returns a registry that knows all plugins of the project and has no filters.
#[cfg(test)]
pub(crate) fn without_filters() -> Registry {
    Registry::new().with_table(&PluginTable { filters: &[], elements: &[], ..TABLE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_the_plugins_of_the_features() {
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
                PluginKind::DataType => registry.data_type(known.name).map(drop),
                PluginKind::ChunkGrid => registry.chunk_grid(known.name).map(drop),
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
            DRIVERS.len()
                + MAPS.len()
                + nczarr_filters::BUILTIN.len()
                + nczarr_filters::BUILTIN_ELEMENTS.len()
                + DATA_TYPES.len()
                + CHUNK_GRIDS.len()
        );
    }

    #[test]
    fn missing_foreign_filters_are_reported_by_name() {
        let registry = Registry::new().with_table(&TABLE);
        for row in nczarr_filters::HDF5_FILTERS {
            let outcome = registry.filter_by_id(row.id).map(|class| class.info().name);
            match (row.read, outcome) {
                (true, Ok(name)) => assert_eq!(name, row.name),
                (true, Err(error)) => assert_eq!(error.kind(), nczarr_model::ErrorKind::NotBuilt, "{error}"),
                (false, outcome) => {
                    let error = outcome.unwrap_err().to_string();
                    let expected =
                        format!("NC_ENOFILTER: filter {} ({}) is not part of this project", row.id, row.name);
                    assert_eq!(error, expected);
                }
            }
        }
    }
}

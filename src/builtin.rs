//! The table of what this build has: drivers, maps, filters and element codecs, one entry per feature; and of what
//! the project has but this build may lack, so that asking for it names the feature.
//!
//! A linker may drop a crate nobody refers to, and with it what it registered. The table refers to each.

use std::sync::Arc;

use dispatch::{Driver, Known, MapFactory, PluginKind, Registry, Table};
use model::Result;

static DRIVERS: &[&dyn Driver] = &[
    #[cfg(feature = "nczarr")]
    &driver_nczarr::NcZarrDriver,
];

static MAPS: &[&dyn MapFactory] = &[
    #[cfg(feature = "file")]
    &zmap_file::FileMaps,
    #[cfg(feature = "mem")]
    &zmap_mem::MemMaps,
];

static KNOWN: &[Known] = &[
    Known { aliases: &["zarr", "xarray"], ..Known::new(PluginKind::Driver, "nczarr", "nczarr") },
    Known::new(PluginKind::Map, "file", "file"),
    Known::new(PluginKind::Map, "mem", "mem"),
    Known { hdf5_id: Some(1), aliases: &["zlib", "gzip"], ..Known::new(PluginKind::Filter, "deflate", "deflate") },
    Known { hdf5_id: Some(2), ..Known::new(PluginKind::Filter, "shuffle", "shuffle") },
    Known { hdf5_id: Some(3), ..Known::new(PluginKind::Filter, "fletcher32", "fletcher32") },
    Known { hdf5_id: Some(32001), ..Known::new(PluginKind::Filter, "blosc", "blosc") },
    Known { hdf5_id: Some(32015), ..Known::new(PluginKind::Filter, "zstd", "zstd") },
];

static TABLE: Table = Table {
    drivers: DRIVERS,
    maps: MAPS,
    filters: filters::BUILTIN,
    elements: filters::BUILTIN_ELEMENTS,
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
        for known in KNOWN {
            let built = match known.feature {
                "nczarr" => cfg!(feature = "nczarr"),
                "file" => cfg!(feature = "file"),
                "mem" => cfg!(feature = "mem"),
                "deflate" => cfg!(feature = "deflate"),
                "shuffle" => cfg!(feature = "shuffle"),
                "fletcher32" => cfg!(feature = "fletcher32"),
                "blosc" => cfg!(feature = "blosc"),
                "zstd" => cfg!(feature = "zstd"),
                other => panic!("{other} is no feature"),
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
                    assert_eq!(error.kind(), model::ErrorKind::NotBuilt);
                    assert!(error.to_string().contains(&format!("feature {:?}", known.feature)), "{error}");
                }
            }
        }
        let names = registry.plugins().len();
        assert_eq!(names, DRIVERS.len() + MAPS.len() + filters::BUILTIN.len() + filters::BUILTIN_ELEMENTS.len());
    }
}

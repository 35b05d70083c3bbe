//! A read-only map that computes its objects: the squares of 0 to 9 as a Zarr V3 array, `squares://any`.
//!
//! This crate depends on `nczarr_storage` alone. A program that links it (`use map_alone as _;`) opens
//! `squares://any#mode=zarr`. [Plugins](https://docs.rs/nczarr/latest/nczarr/guide/plugins) is the guide.
#![forbid(unsafe_code)]

use std::sync::Arc;

use nczarr_storage::{
    ErrorKind, Key, ListMode, MapCaps, MapFactory, MapInfo, MapPlugin, ObjectInfo, OpenMap, ReadOptions,
    Result, ZMap, inventory,
};

static INFO: MapInfo = MapInfo::new("squares", "the squares of 0 to 9").schemes(&["squares"]);

const GROUP: &str = r#"{"zarr_format": 3, "node_type": "group", "attributes": {}}"#;
const ARRAY: &str = r#"{"zarr_format": 3, "node_type": "array", "shape": [10], "data_type": "int32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "dimension_names": ["n"], "attributes": {}}"#;

/// Opens the map for any URL of the scheme.
pub struct SquareMaps;

impl MapFactory for SquareMaps {
    fn info(&self) -> &MapInfo {
        &INFO
    }

    fn open(&self, request: &OpenMap<'_>) -> Result<Arc<dyn ZMap>> {
        if request.writable {
            return Err(ErrorKind::Perm.context(format!("{}: squares are read-only", request.target)));
        }
        Ok(Arc::new(SquareMap))
    }
}

inventory::submit! { MapPlugin(&SquareMaps) }

/// The map: three objects that nothing stores.
#[derive(Debug)]
pub struct SquareMap;

impl SquareMap {
    fn object(key: &Key) -> Result<Option<Vec<u8>>> {
        match key.as_str() {
            "zarr.json" => Ok(Some(GROUP.as_bytes().to_vec())),
            "square/zarr.json" => Ok(Some(ARRAY.as_bytes().to_vec())),
            "square/c/0" => Ok(Some((0..10i32).flat_map(|n| (n * n).to_le_bytes()).collect())),
            "" | "square" | "square/c" => Err(ErrorKind::Empty.context(format!("key {key}"))),
            _ => Ok(None),
        }
    }
}

impl ZMap for SquareMap {
    fn caps(&self) -> MapCaps {
        MapCaps::new().list(true)
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        Ok(Self::object(key)?.map(|bytes| bytes.len() as u64))
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        out.clear();
        let Some(bytes) = Self::object(key)? else { return Ok(None) };
        out.extend_from_slice(options.range.cut(&bytes));
        Ok(Some(ObjectInfo::default()))
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        if mode != ListMode::Children {
            return Ok(None);
        }
        let names: &[&str] = match prefix.as_str() {
            "" => &["square", "zarr.json"],
            "square" => &["c", "zarr.json"],
            "square/c" => &["0"],
            _ => &[],
        };
        Ok(Some(names.iter().map(|name| (*name).to_owned()).collect()))
    }
}

//! Arrays opened only for their data. Each open reads the document again and applies its own rules.

use std::sync::{Arc, LazyLock};

use nczarr_dispatch::{Dataset, Driver, OpenRequest, OpenScope, Options, Registry};
use nczarr_driver_nczarr::NcZarrDriver;
use nczarr_model::{ErrorKind, Result};
use nczarr_storage::ZMap;

use crate::support::{TestMap, get, registry, var};

/// An array document of two shorts.
const SHORTS: &str = r#"{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i2", "fill_value": 7, "order": "C",
    "compressor": null, "filters": null}"#;

fn open_data(
    map: &Arc<TestMap>,
    modes: &str,
    path: &str,
    among: (&Arc<Registry>, &Options),
) -> Result<Arc<dyn Dataset>> {
    let target = nczarr_url_infer::parse(&format!("file:///some/store.zarr#mode={modes},file"))?;
    let (registry, options) = among;
    let map = Some((Arc::clone(map) as Arc<dyn ZMap>).into());
    NcZarrDriver.open(
        &OpenRequest::new(&target, options, registry)
            .map(map)
            .scope(Some(OpenScope { path, data_only: true })),
    )
}

static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(registry);

fn open(map: &Arc<TestMap>, modes: &str, path: &str) -> Result<Arc<dyn Dataset>> {
    open_data(map, modes, path, (&REGISTRY, &Options::default()))
}

fn values(map: &Arc<TestMap>, modes: &str, path: &str) -> Vec<f64> {
    let d = open(map, modes, path).unwrap();
    get(&*d, var(&*d, path))
}

#[test]
fn stores_with_equal_documents_are_independent() {
    let one = TestMap::new(&[("v/.zarray", SHORTS), ("v/0", "\x01\0\x02\0")]);
    let other = TestMap::new(&[("v/.zarray", SHORTS), ("v/0", "\x03\0\x04\0"), ("g/v/.zarray", SHORTS)]);
    let (a, b) = (open(&one, "zarr,v2", "v").unwrap(), open(&other, "zarr,v2", "v").unwrap());
    assert_eq!((get(&*a, var(&*a, "v")), get(&*b, var(&*b, "v"))), (vec![1.0, 2.0], vec![3.0, 4.0]));
    a.close().unwrap();
    assert!(a.data(var(&*a, "v")).is_err());
    assert_eq!(get(&*b, var(&*b, "v")), [3.0, 4.0], "the other dataset is closed");
    // The same document has no chunks at another path.
    let c = open(&other, "zarr,v2", "g/v").unwrap();
    assert_eq!(get(&*c, var(&*c, "g/v")), [7.0, 7.0]);
    assert!(c.model().snapshot().var_at(nczarr_model::GroupId::ROOT, "v").is_err());
}

#[test]
fn a_document_that_was_replaced_is_read() {
    let map = TestMap::new(&[("v/.zarray", SHORTS)]);
    map.put("v/0", &[1, 0, 255, 255]);
    for _ in 0..3 {
        assert_eq!(values(&map, "zarr,v2", "v"), [1.0, -1.0]);
    }
    // Each changed document is as long as the original.
    for (from, to, expected) in [
        ("<i2", "<u2", vec![1.0, 65535.0]),
        ("\"shape\": [2]", "\"shape\": [1]", vec![1.0]),
        ("\"shape\": [2]", "\"shape\": [3]", vec![1.0, -1.0, 7.0]),
        ("_value\": 7", "_value\": 8", vec![1.0, -1.0]),
    ] {
        map.put("v/.zarray", SHORTS.replace(from, to).as_bytes());
        assert_eq!(values(&map, "zarr,v2", "v"), expected, "{to}");
    }
    map.remove("v/0");
    assert_eq!(values(&map, "zarr,v2", "v"), [8.0, 8.0]);
    map.put("v/.zarray", SHORTS.replace("\"<i2\"", "\"<q2\"").as_bytes());
    assert!(open(&map, "zarr,v2", "v").and_then(|d| d.data(var(&*d, "v")).map(drop)).is_err());
    map.remove("v/.zarray");
    assert!(open(&map, "zarr,v2", "v").is_err(), "the document is gone");
}

#[test]
fn modes_and_limits_apply_to_each_open() {
    let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "int16", "fill_value": 7,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "codecs": [{"name": "bytes",
        "configuration": {"endian": "little"}}], "chunk_key_encoding": {"name": "default"}, "dimension_names": ["x"]}"#;
    let map = TestMap::new(&[("v/zarr.json", document), ("v/c/0", "\x01\0\x02\0")]);
    let name = |modes: &str| {
        let model = open(&map, modes, "v").unwrap().model().snapshot();
        model.dims().map(|(_, dim)| dim.name.clone()).collect::<Vec<_>>()
    };
    for _ in 0..2 {
        assert_eq!(name("zarr,v3"), ["x"]);
        assert_eq!(name("zarr,v3,noxarray"), [""]);
    }
    let mut options = Options::default();
    options.limits.json_depth = 1;
    assert!(
        open_data(&map, "zarr,v3", "v", (&REGISTRY, &options)).is_err(),
        "a deeper document than is allowed"
    );
    options.limits = Options::default().limits;
    options.limits.document = 8;
    assert!(
        open_data(&map, "zarr,v3", "v", (&REGISTRY, &options)).is_err(),
        "a longer document than is allowed"
    );
}

#[test]
fn filters_come_from_the_registry_of_the_request() {
    let document = SHORTS.replace("\"compressor\": null", r#""compressor": {"id": "zlib", "level": 1}"#);
    let map = TestMap::new(&[("v/.zarray", &document)]);
    for _ in 0..2 {
        assert_eq!(values(&map, "zarr,v2", "v"), [7.0, 7.0]);
        let nobody = (&Arc::new(Registry::new()), &Options::default());
        let refused = open_data(&map, "zarr,v2", "v", nobody).and_then(|d| d.data(var(&*d, "v")).map(drop));
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::NoFilter);
    }
}

#[test]
fn unlimited_dimensions_belong_to_one_dataset() {
    let document = SHORTS.replace("\"shape\": [2]", "\"shape\": [0]");
    let (one, other) = (TestMap::new(&[("v/.zarray", &document)]), TestMap::new(&[("v/.zarray", &document)]));
    for _ in 0..2 {
        let (a, b) = (open(&one, "zarr,v2", "v").unwrap(), open(&other, "zarr,v2", "v").unwrap());
        one.put("v/.zarray", document.replace("\"shape\": [0]", "\"shape\": [2]").as_bytes());
        a.sync().unwrap();
        let len = |d: &Arc<dyn Dataset>| d.model().snapshot().dims().next().unwrap().1.len();
        assert_eq!((len(&a), len(&b)), (2, 0));
        one.put("v/.zarray", document.as_bytes());
    }
}

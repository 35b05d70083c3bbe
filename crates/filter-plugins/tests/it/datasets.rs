//! Plugins in datasets of all formats with filters.

use std::sync::Arc;

use nczarr::{Codec, CreateOptions, ErrorKind, Kind, OpenOptions, Place, Registry};
use nczarr_codec::FilterClass as _;

use super::class;

fn registry() -> Arc<Registry> {
    Arc::new(Registry::clone(&nczarr::registry().unwrap()).with_filter(Arc::new(class())))
}

#[test]
fn a_plugin_has_an_id_a_name_and_a_codec() {
    let class = class();
    let info = class.info();
    assert_eq!((info.hdf5_id, info.name), (Some(40000), "xor"));
    assert!(info.about.starts_with("xor with a key (plugin "), "{}", info.about);
    assert!(info.is_v3_name("numcodecs.xor") && !info.is_v3_name("xor"));
    assert!(class.can_encode());
    registry().check().unwrap();
}

#[test]
fn data_come_back_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let registry = registry();
    let values: Vec<i32> = (0..1000).collect();
    for (kind, name, stored) in [
        (Kind::NetCdf4, "a.nc", None),
        (Kind::NcZarrV2, "b.zarr", Some(r#""id":"xor""#)),
        (Kind::ZarrV3, "c.zarr", Some(r#""name":"numcodecs.xor""#)),
    ] {
        let place = Place::path(folder.path().join(name));
        let file = CreateOptions::new().kind(kind).registry(Arc::clone(&registry)).create(&place).unwrap();
        file.add_dimension("x", 1000).unwrap();
        let variable = file.add_variable::<i32>("v", &["x"]).unwrap();
        variable.set_chunking(&[300]).unwrap();
        variable.set_codecs([Codec::named("xor", &[85])]).unwrap();
        variable.put(&values[..], ..).unwrap();
        file.close().unwrap();

        let file = OpenOptions::new().registry(Arc::clone(&registry)).open(&place).unwrap();
        assert_eq!(file.variable("v").unwrap().get_values::<i32>(..).unwrap(), values, "{name}");
        // The bytes are those of the filter: each one has the key.
        let encoded = file.variable("v").unwrap().read_encoded(&[0]).unwrap().unwrap();
        assert_eq!(encoded.bytes[..8], [85, 85, 85, 85, 84, 85, 85, 85], "{name}");
        if let Some(stored) = stored {
            let document = if kind == Kind::ZarrV3 { "v/zarr.json" } else { "v/.zarray" };
            let text = std::fs::read_to_string(folder.path().join(name).join(document)).unwrap();
            assert!(text.replace([' ', '\n'], "").contains(stored), "{text}");
        }

        // Without the plugin the variable is there, and its data are an error.
        let file = nczarr::open(&place).unwrap();
        let error = file.variable("v").unwrap().get_values::<i32>(..).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoFilter, "{name}: {error}");
    }
}

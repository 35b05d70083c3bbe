//! The table of classes and `inventory` have the same entries.

use nczarr_codec::{ElementPlugin, FilterPlugin, inventory};

#[test]
fn the_table_lists_the_filters_of_the_features() {
    let mut expected: Vec<(&str, Option<u32>)> = Vec::new();
    let mut add = |built: bool, name, id| {
        if built {
            expected.push((name, id));
        }
    };
    add(cfg!(feature = "shuffle"), "shuffle", Some(2));
    add(cfg!(feature = "deflate"), "deflate", Some(1));
    add(cfg!(feature = "deflate"), "gzip", None);
    add(cfg!(feature = "fletcher32"), "fletcher32", Some(3));
    add(cfg!(feature = "szip"), "szip", Some(4));
    add(cfg!(feature = "zstd"), "zstd", Some(32015));
    add(cfg!(feature = "blosc"), "blosc", Some(32001));
    add(cfg!(feature = "bzip2"), "bzip2", Some(307));
    add(cfg!(feature = "lz4"), "lz4", Some(32004));
    add(cfg!(feature = "lzma"), "lzma", None);
    add(cfg!(feature = "crc32"), "crc32", None);
    add(cfg!(feature = "crc32c"), "crc32c", None);
    add(cfg!(feature = "adler32"), "adler32", None);
    add(cfg!(feature = "jenkins-lookup3"), "jenkins_lookup3", None);
    for name in [
        "delta",
        "fixedscaleoffset",
        "quantize",
        "bitround",
        "packbits",
        "astype",
        "categorize",
        "cast_value",
        "scale_offset",
    ] {
        add(cfg!(feature = "numeric"), name, None);
    }
    for (name, id) in [("nbit", 5), ("scaleoffset", 6), ("lzf", 32000)] {
        add(cfg!(feature = "hdf5"), name, Some(id));
    }
    let table: Vec<_> =
        nczarr_filters::BUILTIN.iter().map(|class| (class.info().name, class.info().hdf5_id)).collect();
    assert_eq!(table, expected);

    let mut linked: Vec<_> = inventory::iter::<FilterPlugin>().map(|plugin| plugin.0.info().name).collect();
    linked.sort_unstable();
    let mut names: Vec<_> = expected.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    assert_eq!(linked, names);
}

#[test]
fn the_element_codecs_are_there() {
    let names: Vec<_> = nczarr_filters::BUILTIN_ELEMENTS.iter().map(|class| class.names()[0]).collect();
    let mut expected = vec!["vlen-utf8", "vlen-bytes", "vlen-array", "json2", "msgpack2", "pickle"];
    expected.extend(cfg!(feature = "numeric").then_some("categorize"));
    assert_eq!(names, expected);
    assert_eq!(inventory::iter::<ElementPlugin>().count(), names.len());
}

#[test]
fn a_filter_has_the_names_of_its_class() {
    for class in nczarr_filters::BUILTIN {
        // Members that some of them require.
        let codec = match class.info().name {
            "categorize" => serde_json::json!({"labels": [], "dtype": "<U1"}),
            "cast_value" => serde_json::json!({"data_type": "int8"}),
            "scale_offset" => serde_json::json!({"offset": 0, "scale": 1}),
            _ => serde_json::json!({"offset": 0, "scale": 1, "mask": 4, "pixels-per-block": 8}),
        };
        let filter = match class.info().name {
            "nbit" | "scaleoffset" | "lzf" => {
                let error = class.parse_json(&codec, nczarr_codec::ZarrFormat::V2).unwrap_err();
                assert_eq!(error.kind(), nczarr_model::ErrorKind::NoFilter, "{error}");
                continue;
            }
            _ => class.parse_json(&codec, nczarr_codec::ZarrFormat::V2).unwrap(),
        };
        assert_eq!(filter.info().name, class.info().name);
        assert_eq!(filter.info().hdf5_id, class.info().hdf5_id);
    }
}

//! The codecs `scale_offset` and `cast_value` of Zarr V3, as zarr-python 3.4 writes them.

use std::fs;

use serde_json::json;

const CASE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/reports/cast-value/cast.zarr");

#[test]
fn a_scaled_product_is_read() {
    let file = nczarr::open(CASE).unwrap();
    let found = file.variable("b02").unwrap().get_values::<f32>(..).unwrap();
    // round(linspace(0, 1, 20), 4)
    let right: Vec<f32> = (0..20).map(|i| (f64::from(i) / 19.0 * 1e4).round() as f32 / 1e4).collect();
    assert_eq!(found.len(), right.len());
    for (found, right) in found.iter().zip(right) {
        assert!((found - right).abs() < 2e-7, "{found} {right}");
    }
}

/// Covers both byte orders, chunks in shards, and partial writes.
#[test]
fn cast_values_round_trip() {
    let folder = tempfile::tempdir().unwrap();
    for endian in ["little", "big"] {
        for (data_type, stored) in
            [("float64", "int16"), ("float32", "uint8"), ("int8", "int32"), ("uint16", "float32")]
        {
            let store = folder.path().join(format!("{endian}-{data_type}"));
            fs::create_dir_all(store.join("v")).unwrap();
            fs::write(store.join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
            let document = json!({
                "zarr_format": 3, "node_type": "array", "shape": [10], "data_type": data_type, "fill_value": 7,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
                "chunk_key_encoding": {"name": "default"},
                "codecs": [
                    {"name": "scale_offset", "configuration": {"offset": 1, "scale": 2}},
                    {"name": "cast_value", "configuration": {"data_type": stored}},
                    {"name": "bytes", "configuration": {"endian": endian}},
                ],
            });
            fs::write(store.join("v/zarr.json"), document.to_string()).unwrap();
            let url = store.to_str().unwrap().to_owned();
            let file = nczarr::append(&url).unwrap();
            file.variable("v").unwrap().put(&[1, 2, 3, 4, 5], 2..7).unwrap();
            file.close().unwrap();
            let file = nczarr::open(&url).unwrap();
            let found = file.variable("v").unwrap().get_values::<f64>(..).unwrap();
            assert_eq!(found, [7.0, 7.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 7.0, 7.0], "{endian} {data_type}");
            // The third value of its chunk is `(5 - 1) * 2`.
            let bytes = fs::read(store.join("v/c/1")).unwrap();
            let size = bytes.len() / 4;
            let mut item = bytes[2 * size..][..size].to_vec();
            if endian == "little" {
                item.reverse();
            }
            let right = match stored {
                "float32" => 8f32.to_be_bytes().to_vec(),
                _ => 8i32.to_be_bytes()[4 - size..].to_vec(),
            };
            assert_eq!(item, right, "{endian} {data_type} as {stored}");
        }
    }
}

//! The table of HDF5 ids says what the filters say.

use dispatch::ZarrFormat;
use filters::HDF5_FILTERS;

#[test]
fn the_table_is_what_the_filters_say() {
    assert!(HDF5_FILTERS.is_sorted_by(|a, b| a.id < b.id));
    for class in filters::BUILTIN {
        let info = class.info();
        let Some(id) = info.hdf5_id else { continue };
        let row = HDF5_FILTERS.iter().find(|row| row.id == id).unwrap_or_else(|| panic!("no row for {}", info.name));
        let (v2, v3) = row.codec.unwrap_or_else(|| panic!("no codec of {}", info.name));
        assert_eq!(info.name, row.name);
        let filter = match info.name {
            "szip" => class.parse_params(&[4, 8]),
            "blosc" => class.parse_params(&[0, 0, 0, 0, 5, 1, 1]),
            "lz4" => class.parse_params(&[0, 2]),
            "deflate" | "bzip2" | "zstd" => class.parse_params(&[1]),
            _ => class.parse_params(&[]),
        };
        let filter = filter.unwrap();
        assert_eq!(filter.to_json(ZarrFormat::V2)["id"], v2, "{}", info.name);
        assert_eq!(filter.to_json(ZarrFormat::V3)["name"], v3, "{}", info.name);
        let count = row.params.split(", ").filter(|name| !name.is_empty()).count();
        assert_eq!(filter.params().len(), count, "{}", info.name);
    }
    for row in HDF5_FILTERS.iter().filter(|row| row.codec.is_none()) {
        assert!(filters::BUILTIN.iter().all(|class| class.info().hdf5_id != Some(row.id)), "{}", row.name);
    }
}

/// Noise gets longer, and comes back: that a filter does not shrink a chunk is no error.
#[test]
fn what_does_not_shrink_comes_back() {
    for filter in crate::round_trip::all_filters(4) {
        for len in [4, 64, 4000] {
            let data = crate::noise(len);
            let stream = crate::encode(&*filter, &data).unwrap();
            let back = crate::decode(&*filter, &stream, len).unwrap();
            assert!(back == data, "{filter:?}, {len} bytes");
        }
    }
}

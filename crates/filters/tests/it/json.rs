//! Descriptions and parameters, both ways.

use dispatch::ZarrFormat::{V2, V3};
use model::ErrorKind;
use serde_json::json;

use crate::{bound, class};

/// Name, elements of how many bytes, V2 in, V2 out, V3 out, parameters.
macro_rules! table {
    ($($name:literal $item:literal: $input:tt => $v2:tt, $v3:tt, [$($param:expr),*];)*) => {
        $({
            let input = json!($input);
            let filter = bound(class($name).parse_json(&input, V2).unwrap(), $item);
            assert_eq!(filter.to_json(V2).to_string(), json!($v2).to_string(), "{input}");
            assert_eq!(filter.to_json(V3).to_string(), json!($v3).to_string(), "{input}");
            let params: &[u32] = &[$($param),*];
            assert_eq!(&*filter.params(), params, "{input}");
            // Parameters and both forms of JSON describe the same filter.
            let again = bound(class($name).parse_params(&filter.params()).unwrap(), $item);
            assert_eq!(again.params(), filter.params(), "{input}");
            for format in [V2, V3] {
                let again = bound(class($name).parse_json(&filter.to_json(format), format).unwrap(), $item);
                assert_eq!(again.to_json(format), filter.to_json(format), "{input}");
                assert_eq!(again.params(), filter.params(), "{input}");
            }
        })*
    };
}

#[test]
#[cfg(feature = "deflate")]
fn deflate() {
    table! {
        "deflate" 4: {"id": "zlib", "level": 5}
            => {"id": "zlib", "level": 5}, {"name": "numcodecs.zlib", "configuration": {"level": 5}}, [5];
        "zlib" 4: {"id": "zlib"}
            => {"id": "zlib", "level": 1}, {"name": "numcodecs.zlib", "configuration": {"level": 1}}, [1];
        "numcodecs.zlib" 4: {"id": "zlib", "level": "9"}
            => {"id": "zlib", "level": 9}, {"name": "numcodecs.zlib", "configuration": {"level": 9}}, [9];
        "zlib" 4: {"id": "zlib", "level": -1}
            => {"id": "zlib", "level": 6}, {"name": "numcodecs.zlib", "configuration": {"level": 6}}, [6];
        "zlib" 4: {"id": "zlib", "level": 99}
            => {"id": "zlib", "level": 9}, {"name": "numcodecs.zlib", "configuration": {"level": 9}}, [9];
        "gzip" 4: {"id": "gzip", "level": 0.0, "more": []}
            => {"id": "gzip", "level": 0}, {"name": "gzip", "configuration": {"level": 0}}, [0];
    }
    for params in [&[][..], &[10], &[5, 5], &[u32::MAX]] {
        assert_eq!(class("zlib").parse_params(params).unwrap_err().kind(), ErrorKind::Inval, "{params:?}");
    }
}

#[test]
#[cfg(feature = "zstd")]
fn zstd() {
    table! {
        "zstd" 4: {"id": "zstd", "level": 3}
            => {"id": "zstd", "level": 3}, {"name": "zstd", "configuration": {"level": 3, "checksum": false}}, [3];
        "zstd" 4: {"id": "zstd", "level": 4294967291u32}
            => {"id": "zstd", "level": -5}, {"name": "zstd", "configuration": {"level": -5, "checksum": false}}, [4294967291];
        "zstd" 4: {"id": "zstd", "checksum": null}
            => {"id": "zstd", "level": 0}, {"name": "zstd", "configuration": {"level": 0, "checksum": false}}, [0];
    }
    // The checksum has no HDF5 parameter.
    let filter =
        class("numcodecs.zstd").parse_json(&json!({"id": "zstd", "level": "1", "checksum": true}), V2).unwrap();
    assert_eq!(filter.to_json(V2), json!({"id": "zstd", "level": 1, "checksum": true}));
    assert_eq!(filter.to_json(V3)["configuration"], json!({"level": 1, "checksum": true}));
    assert_eq!(&*class("zstd").parse_params(&[]).unwrap().params(), [3]);
    assert_eq!(class("zstd").parse_params(&[1, 2]).unwrap_err().kind(), ErrorKind::Inval);
    for level in [22, -131_072] {
        assert!(class("zstd").parse_params(&[i32::cast_unsigned(level)]).is_ok());
    }
    for level in [23, -131_073] {
        let error = class("zstd").parse_params(&[i32::cast_unsigned(level)]).unwrap_err();
        assert!(error.kind() == ErrorKind::Inval && error.to_string().contains(&level.to_string()), "{error}");
        // To read, no level is needed.
        let filter = class("zstd").parse_json(&json!({"id": "zstd", "level": level}), V2).unwrap();
        assert_eq!(filter.to_json(V2)["level"], level.clamp(-131_072, 22));
    }
}

#[test]
#[cfg(all(feature = "shuffle", feature = "fletcher32"))]
fn shuffle_and_fletcher32() {
    table! {
        "shuffle" 4: {"id": "shuffle", "elementsize": 0}
            => {"id": "shuffle", "elementsize": 4}, {"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}, [];
        "shuffle" 8: {"id": "shuffle"}
            => {"id": "shuffle", "elementsize": 8}, {"name": "numcodecs.shuffle", "configuration": {"elementsize": 8}}, [];
        "fletcher32" 4: {"id": "fletcher32"}
            => {"id": "fletcher32"}, {"name": "numcodecs.fletcher32", "configuration": {}}, [];
    }
    let filter = bound(class("shuffle").parse_json(&json!({"elementsize": "2"}), V2).unwrap(), 8);
    assert_eq!(filter.stage(), dispatch::Stage::Transpose { item: 2 });
    assert_eq!(&*filter.working_params(), [2]);
    for wrong in [json!(-1), json!("x"), json!(u64::MAX), json!({})] {
        let error = class("shuffle").parse_json(&json!({"elementsize": wrong}), V2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Filter);
        assert!(error.to_string().contains("\"elementsize\""), "{error}");
    }
    // Before it is bound a shuffle does not know what to do, and must not guess.
    let unbound = class("shuffle").parse_params(&[]).unwrap();
    assert!(crate::encode(&*unbound, b"abcd").is_err() && crate::decode(&*unbound, b"abcd", 4).is_err());
}

#[test]
#[cfg(feature = "blosc")]
fn blosc() {
    table! {
        "blosc" 4: {"id": "blosc", "cname": "zstd", "clevel": 9, "shuffle": 2, "blocksize": 512}
            => {"id": "blosc", "cname": "zstd", "clevel": 9, "shuffle": 2, "blocksize": 512},
               {"name": "blosc", "configuration":
                   {"cname": "zstd", "clevel": 9, "shuffle": "bitshuffle", "typesize": 4, "blocksize": 512}},
               [0, 0, 0, 512, 9, 2, 5];
        "numcodecs.blosc" 300: {"id": "blosc"}
            => {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
               {"name": "blosc", "configuration":
                   {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 1, "blocksize": 0}},
               [0, 0, 0, 0, 5, 1, 1];
        "blosc" 2: {"id": "blosc", "cname": "snappy", "clevel": "12", "shuffle": "noshuffle", "blocksize": "0"}
            => {"id": "blosc", "cname": "snappy", "clevel": 9, "shuffle": 0, "blocksize": 0},
               {"name": "blosc", "configuration":
                   {"cname": "snappy", "clevel": 9, "shuffle": "noshuffle", "typesize": 2, "blocksize": 0}},
               [0, 0, 0, 0, 9, 0, 3];
    }
    // -1 stays -1, and means bits for bytes and bytes for everything else.
    for (item, code, name) in [(1, 2, "bitshuffle"), (2, 1, "shuffle"), (8, 1, "shuffle")] {
        let filter = bound(class("blosc").parse_json(&json!({"shuffle": -1}), V2).unwrap(), item);
        assert_eq!(filter.to_json(V2)["shuffle"], json!(-1));
        assert_eq!(filter.to_json(V3)["configuration"]["shuffle"], json!(name));
        assert_eq!(filter.params()[5], code);
        let absent = bound(class("blosc").parse_json(&json!({"name": "blosc"}), V3).unwrap(), item);
        assert_eq!(absent.params()[5], code);
    }
    // An element size of V3 is honoured.
    let v3 = json!({"name": "blosc", "configuration": {"cname": "lz4", "shuffle": "shuffle", "typesize": 2}});
    let filter = bound(class("blosc").parse_json(&v3, V3).unwrap(), 8);
    assert_eq!(&*filter.working_params(), [2, 2, 2, 8000, 5, 1, 1]);
    // The parameters as HDF5 stores them hold no block size.
    let filter = class("blosc").parse_params(&[2, 2, 4, 4096, 1, 2, 4]).unwrap();
    assert_eq!(&*filter.params(), [0, 0, 0, 0, 1, 2, 4]);
    assert_eq!(&*filter.working_params(), [2, 2, 4, 4096, 1, 2, 4]);
    assert_eq!(&*class("blosc").parse_params(&[0; 4]).unwrap().params(), [0, 0, 0, 0, 5, 1, 0]);

    for params in [&[][..], &[0; 3], &[0; 8], &[0, 0, 0, 0, 10, 0, 0], &[0, 0, 0, 0, 0, 3, 0], &[0, 0, 0, 0, 0, 0, 6]] {
        assert_eq!(class("blosc").parse_params(params).unwrap_err().kind(), ErrorKind::Inval, "{params:?}");
    }
    for (member, wrong) in [
        ("cname", json!("lzma")),
        ("cname", json!(1)),
        ("clevel", json!([])),
        ("shuffle", json!(3)),
        ("shuffle", json!("bits")),
        ("blocksize", json!(-1)),
        ("typesize", json!(1.5)),
    ] {
        let error = class("blosc").parse_json(&json!({member: wrong}), V2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Filter);
        assert!(error.to_string().contains(&format!("{member:?}")), "{error}");
    }
}

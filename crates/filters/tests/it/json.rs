//! Descriptions and parameters, in both directions.

use nczarr_codec::ZarrFormat::{V2, V3};
use nczarr_model::ErrorKind;
use serde_json::json;

use crate::{bound, class};

/// Each case: name, element size, V2 input, V2 output, V3 output, parameters.
macro_rules! table {
    ($($name:literal $item:literal: $input:tt => $v2:tt, $v3:tt, [$($param:expr),*];)*) => {
        $({
            let input = json!($input);
            let filter = bound(class($name).parse_json(&input, V2).unwrap(), $item);
            assert_eq!(filter.to_json(V2).to_string(), json!($v2).to_string(), "{input}");
            assert_eq!(filter.to_json(V3).to_string(), json!($v3).to_string(), "{input}");
            let params: &[u32] = &[$($param),*];
            assert_eq!(&*filter.params(), params, "{input}");
            // Parameters and both JSON forms describe the same filter.
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
    let filter = class("numcodecs.zstd")
        .parse_json(&json!({"id": "zstd", "level": "1", "checksum": true}), V2)
        .unwrap();
    assert_eq!(filter.to_json(V2), json!({"id": "zstd", "level": 1, "checksum": true}));
    assert_eq!(filter.to_json(V3)["configuration"], json!({"level": 1, "checksum": true}));
    assert_eq!(&*class("zstd").parse_params(&[]).unwrap().params(), [3]);
    assert_eq!(class("zstd").parse_params(&[1, 2]).unwrap_err().kind(), ErrorKind::Inval);
    for level in [22, -131_072] {
        assert!(class("zstd").parse_params(&[i32::cast_unsigned(level)]).is_ok());
    }
    for level in [23, -131_073] {
        let error = class("zstd").parse_params(&[i32::cast_unsigned(level)]).unwrap_err();
        assert!(
            error.kind() == ErrorKind::Inval && error.to_string().contains(&level.to_string()),
            "{error}"
        );
        // Decoding needs no level.
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
    assert_eq!(filter.stage(), nczarr_codec::Stage::Transpose { item: 2 });
    assert_eq!(&*filter.working_params(), [2]);
    for wrong in [json!(-1), json!("x"), json!(u64::MAX), json!({})] {
        let error = class("shuffle").parse_json(&json!({"elementsize": wrong}), V2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Filter);
        assert!(error.to_string().contains("\"elementsize\""), "{error}");
    }
    // Before `bind` a shuffle has no element size, and must not guess.
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
    // The value -1 is kept. It means bit shuffle for elements of one byte, and byte shuffle for all others.
    for (item, code, name) in [(1, 2, "bitshuffle"), (2, 1, "shuffle"), (8, 1, "shuffle")] {
        let filter = bound(class("blosc").parse_json(&json!({"shuffle": -1}), V2).unwrap(), item);
        assert_eq!(filter.to_json(V2)["shuffle"], json!(-1));
        assert_eq!(filter.to_json(V3)["configuration"]["shuffle"], json!(name));
        assert_eq!(filter.params()[5], code);
        let absent = bound(class("blosc").parse_json(&json!({"name": "blosc"}), V3).unwrap(), item);
        assert_eq!(absent.params()[5], code);
    }
    // An element size of V3 is used.
    let v3 = json!({"name": "blosc", "configuration": {"cname": "lz4", "shuffle": "shuffle", "typesize": 2}});
    let filter = bound(class("blosc").parse_json(&v3, V3).unwrap(), 8);
    assert_eq!(&*filter.working_params(), [2, 2, 2, 8000, 5, 1, 1]);
    // The parameters as HDF5 stores them have no block size.
    let filter = class("blosc").parse_params(&[2, 2, 4, 4096, 1, 2, 4]).unwrap();
    assert_eq!(&*filter.params(), [0, 0, 0, 0, 1, 2, 4]);
    assert_eq!(&*filter.working_params(), [2, 2, 4, 4096, 1, 2, 4]);
    assert_eq!(&*class("blosc").parse_params(&[0; 4]).unwrap().params(), [0, 0, 0, 0, 5, 1, 0]);

    for params in
        [&[][..], &[0; 3], &[0; 8], &[0, 0, 0, 0, 10, 0, 0], &[0, 0, 0, 0, 0, 3, 0], &[0, 0, 0, 0, 0, 0, 6]]
    {
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

#[test]
#[cfg(all(feature = "bzip2", feature = "lz4"))]
fn bzip2_and_lz4() {
    table! {
        "bz2" 4: {"id": "bz2", "level": 9} => {"id": "bz2", "level": 9}, {"name": "numcodecs.bz2", "configuration": {"level": 9}}, [9];
        "bzip2" 4: {"id": "bz2"} => {"id": "bz2", "level": 1}, {"name": "numcodecs.bz2", "configuration": {"level": 1}}, [1];
        "numcodecs.bz2" 4: {"id": "bz2", "level": "5"} => {"id": "bz2", "level": 5}, {"name": "numcodecs.bz2", "configuration": {"level": 5}}, [5];
        "bz2" 4: {"id": "bz2", "level": 12.0} => {"id": "bz2", "level": 9}, {"name": "numcodecs.bz2", "configuration": {"level": 9}}, [9];
        "lz4" 4: {"id": "lz4", "acceleration": 1} => {"id": "lz4", "acceleration": 1}, {"name": "numcodecs.lz4", "configuration": {"acceleration": 1}}, [];
        "lz4" 4: {"id": "lz4"} => {"id": "lz4", "acceleration": 1}, {"name": "numcodecs.lz4", "configuration": {"acceleration": 1}}, [];
        "lz4" 4: {"id": "lz4", "acceleration": 10.0} => {"id": "lz4", "acceleration": 10}, {"name": "numcodecs.lz4", "configuration": {"acceleration": 10}}, [0, 10];
        "numcodecs.lz4" 4: {"id": "lz4", "acceleration": -3} => {"id": "lz4", "acceleration": 1}, {"name": "numcodecs.lz4", "configuration": {"acceleration": 1}}, [];
    }
    assert_eq!(&*class("bzip2").parse_params(&[]).unwrap().params(), [9]);
    // The block size of HDF5's filter means nothing in Zarr. It is kept for HDF5 files.
    assert_eq!(&*class("lz4").parse_params(&[1 << 20]).unwrap().params(), [1 << 20]);
    for (name, params) in [
        ("bzip2", &[0][..]),
        ("bzip2", &[10]),
        ("bzip2", &[1, 1]),
        ("lz4", &[0, 0]),
        ("lz4", &[0, 65_538]),
        ("lz4", &[0, 1, 1]),
    ] {
        assert_eq!(
            class(name).parse_params(params).unwrap_err().kind(),
            ErrorKind::Inval,
            "{name} {params:?}"
        );
    }
}

#[test]
#[cfg(feature = "lzma")]
fn lzma() {
    table! {
        "lzma" 4: {"id": "lzma"}
            => {"id": "lzma", "format": 1, "check": -1, "preset": null, "filters": null},
               {"name": "numcodecs.lzma", "configuration": {"format": 1, "check": -1, "preset": null, "filters": null}}, [];
        "lzma" 4: {"id": "lzma", "format": 1.0, "check": -1, "preset": "9", "filters": []}
            => {"id": "lzma", "format": 1, "check": -1, "preset": 9, "filters": null},
               {"name": "numcodecs.lzma", "configuration": {"format": 1, "check": -1, "preset": 9, "filters": null}}, [9];
        "lzma" 4: {"id": "lzma", "preset": 6, "delta": 1}
            => {"id": "lzma", "preset": 6, "delta": 1},
               {"name": "numcodecs.lzma", "configuration": {"preset": 6, "delta": 1}}, [1, u32::MAX, 6, 1];
        "lzma" 4: {"id": "lzma", "format": 2, "check": 10}
            => {"id": "lzma", "format": 2, "check": 10, "preset": null, "filters": null},
               {"name": "numcodecs.lzma", "configuration": {"format": 2, "check": 10, "preset": null, "filters": null}},
               [2, 10, u32::MAX, 0];
        "numcodecs.lzma" 4: {"id": "lzma", "format": 3, "check": -1, "preset": null, "filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]}
            => {"id": "lzma", "format": 3, "check": -1, "preset": null, "filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]},
               {"name": "numcodecs.lzma", "configuration":
                    {"format": 3, "check": -1, "preset": null, "filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]}},
               [3, u32::MAX, u32::MAX, 0, 3, 512, 4, 33, 1, 1];
        "lzma" 4: {"id": "lzma", "format": 3, "check": -1, "preset": null, "filters": [{"id": 0x4000_0000_0000_0001u64, "lc": 0, "pb": 1}]}
            => {"id": "lzma", "format": 3, "check": -1, "preset": null, "filters": [{"id": 0x4000_0000_0000_0001u64, "lc": 0, "pb": 1}]},
               {"name": "numcodecs.lzma", "configuration":
                    {"format": 3, "check": -1, "preset": null, "filters": [{"id": 0x4000_0000_0000_0001u64, "lc": 0, "pb": 1}]}},
               [3, u32::MAX, u32::MAX, 0, 1, 20, 0, 1];
    }
    for params in [
        &[10][..],
        &[32],
        &[u32::MAX - 1],
        &[1, 0],
        &[1, 0, 6],
        &[0, 0, 6, 0],
        &[4, 0, 6, 0],
        &[1, 2, 6, 0],
        &[1, 0, 6, 257],
        &[2, 0, 6, 1],
        &[3, 0, 6, 0],
        &[1, 0, 6, 1, 33, 0],
        &[1, 0, 6, 0, 33],
        &[1, 0, 6, 0, 33, 1],
        &[1, 0, 6, 0, 2, 0],
        &[1, 0, 6, 0, 33, 1 << 11],
    ] {
        assert_eq!(class("lzma").parse_params(params).unwrap_err().kind(), ErrorKind::Inval, "{params:?}");
    }
    for (member, wrong) in [
        ("format", json!(0)),
        ("format", json!("xz")),
        ("check", json!([])),
        ("preset", json!(-1)),
        ("delta", json!(257)),
        ("filters", json!({})),
    ] {
        let error = class("lzma").parse_json(&json!({member: wrong}), V2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Filter);
        assert!(error.to_string().contains(&format!("{member:?}")), "{error}");
    }
    for (filters, member) in [
        (json!(null), "filters"),
        (json!([]), "filters"),
        (json!([3]), "description"),
        (json!([{}]), "id"),
        (json!([{"id": 2}]), "id"),
        (json!([{"id": 33, "dict_size": -1}]), "dict_size"),
    ] {
        let error = class("lzma").parse_json(&json!({"format": 3, "filters": filters}), V2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Filter);
        assert!(error.to_string().contains(member), "{error}");
    }
    // Settings that the library refuses are errors only when used: xz decodes without them.
    for codec in [
        json!({"id": "lzma", "preset": 77}),
        json!({"id": "lzma", "check": 7}),
        json!({"id": "lzma", "filters": [{"id": 3}]}),
        json!({"id": "lzma", "filters": [{"id": 33, "lc": 5}]}),
        json!({"id": "lzma", "filters": [{"id": 3, "dist": 0}, {"id": 33}]}),
        json!({"id": "lzma", "filters": [{"id": 33}, {"id": 33}]}),
        json!({"id": "lzma", "format": 2, "filters": [{"id": 33}]}),
    ] {
        let filter = crate::v2(codec.clone(), 4);
        assert_eq!(crate::encode(&*filter, b"abcd").unwrap_err().kind(), ErrorKind::Filter, "{codec}");
        if codec["format"].is_null() {
            let stream = crate::encode(&*crate::v2(json!({"id": "lzma"}), 4), b"abcd").unwrap();
            assert_eq!(crate::decode(&*filter, &stream, 4).unwrap(), b"abcd", "{codec}");
        }
    }
}

#[test]
#[cfg(all(feature = "crc32", feature = "crc32c", feature = "adler32", feature = "jenkins-lookup3"))]
fn checksums() {
    table! {
        "crc32" 4: {"id": "crc32"} => {"id": "crc32"}, {"name": "numcodecs.crc32", "configuration": {}}, [];
        "crc32" 4: {"id": "crc32", "location": "end"}
            => {"id": "crc32", "location": "end"}, {"name": "numcodecs.crc32", "configuration": {"location": "end"}}, [1];
        "numcodecs.adler32" 4: {"id": "adler32", "location": "start"}
            => {"id": "adler32", "location": "start"}, {"name": "numcodecs.adler32", "configuration": {"location": "start"}}, [0];
        "crc32c" 4: {"id": "crc32c", "location": null} => {"id": "crc32c"}, {"name": "crc32c", "configuration": {}}, [];
        "crc32c" 4: {"id": "crc32c", "location": "start"}
            => {"id": "crc32c", "location": "start"}, {"name": "numcodecs.crc32c", "configuration": {"location": "start"}}, [0];
        "jenkins_lookup3" 4: {"id": "jenkins_lookup3"}
            => {"id": "jenkins_lookup3", "initval": 0, "prefix": null},
               {"name": "numcodecs.jenkins_lookup3", "configuration": {"initval": 0, "prefix": null}}, [0];
        "jenkins_lookup3" 4: {"id": "jenkins_lookup3", "initval": 7.0, "prefix": [0, 255]}
            => {"id": "jenkins_lookup3", "initval": 7, "prefix": [0, 255]},
               {"name": "numcodecs.jenkins_lookup3", "configuration": {"initval": 7, "prefix": [0, 255]}}, [7, 0, 255];
    }
    for (name, params) in
        [("crc32", &[2][..]), ("crc32c", &[0, 0]), ("adler32", &[9]), ("jenkins_lookup3", &[0, 256])]
    {
        assert_eq!(class(name).parse_params(params).unwrap_err().kind(), ErrorKind::Inval, "{name}");
    }
    for (name, member, wrong) in [
        ("crc32", "location", json!("middle")),
        ("crc32c", "location", json!(1)),
        ("jenkins_lookup3", "initval", json!(-1)),
        ("jenkins_lookup3", "initval", json!(1u64 << 32)),
        ("jenkins_lookup3", "prefix", json!("text")),
        ("jenkins_lookup3", "prefix", json!([256])),
    ] {
        let error = class(name).parse_json(&json!({member: wrong}), V2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Filter);
        assert!(error.to_string().contains(&format!("{member:?}")), "{error}");
    }
}

//! Round trips with all parameters, lengths and data.

use nczarr_codec::{Filter, Json};
use proptest::prelude::*;
use serde_json::json;

use crate::{decode, encode, noise, sample, v2};

/// Returns every filter of this build with every kind of parameter, bound to such elements.
pub(crate) fn all_filters(item: usize) -> Vec<Box<dyn Filter>> {
    let mut codecs: Vec<Json> = Vec::new();
    if cfg!(feature = "shuffle") {
        codecs.push(json!({"id": "shuffle", "elementsize": 0}));
    }
    if cfg!(feature = "fletcher32") {
        codecs.push(json!({"id": "fletcher32"}));
    }
    if cfg!(feature = "szip") && [1, 2, 4, 8].contains(&item) {
        for mask in [4, 32] {
            for block in [2, 8, 32] {
                codecs.push(json!({"id": "szip", "mask": mask, "pixels-per-block": block}));
            }
        }
    }
    if cfg!(feature = "deflate") {
        for level in [0, 1, 5, 9] {
            codecs.push(json!({"id": "zlib", "level": level}));
            codecs.push(json!({"id": "gzip", "level": level}));
        }
    }
    if cfg!(feature = "zstd") {
        for level in [-131_072, -5, 0, 3, 22, 1000] {
            codecs.push(json!({"id": "zstd", "level": level, "checksum": level == 3}));
        }
    }
    if cfg!(feature = "blosc") {
        let snappy = cfg!(feature = "blosc-snappy").then_some("snappy");
        for cname in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"].into_iter().chain(snappy) {
            for shuffle in [-1, 0, 1, 2] {
                for (clevel, blocksize) in [(0, 0), (1, 0), (5, 1), (5, 1000), (9, u32::MAX)] {
                    codecs.push(json!({"id": "blosc", "cname": cname, "clevel": clevel, "shuffle": shuffle, "blocksize": blocksize}));
                }
            }
        }
    }
    if cfg!(feature = "bzip2") {
        codecs.extend([1, 9].map(|level| json!({"id": "bz2", "level": level})));
    }
    if cfg!(feature = "lz4") {
        codecs.extend([1, 10, 65_537].map(|acceleration| json!({"id": "lz4", "acceleration": acceleration})));
    }
    if cfg!(feature = "lzma") {
        let (delta, lzma2) = (json!({"id": 3, "dist": 4}), json!({"id": 33, "preset": 1}));
        codecs.extend([
            json!({"id": "lzma"}),
            json!({"id": "lzma", "check": 0, "preset": 0}),
            json!({"id": "lzma", "check": 10, "preset": 9}),
            json!({"id": "lzma", "preset": 2, "delta": 8}),
            json!({"id": "lzma", "check": 1, "filters": [{"id": 4}, delta, lzma2]}),
            json!({"id": "lzma", "format": 2, "preset": 1}),
            json!({"id": "lzma", "format": 2, "filters": [{"id": 0x4000_0000_0000_0001u64, "preset": 3, "lc": 0, "lp": 2}]}),
            json!({"id": "lzma", "format": 3, "filters": [delta, {"id": 33, "dict_size": 5000, "mode": 1, "mf": 3, "depth": 9}]}),
        ]);
    }
    for (built, id) in [
        (cfg!(feature = "crc32"), "crc32"),
        (cfg!(feature = "crc32c"), "crc32c"),
        (cfg!(feature = "adler32"), "adler32"),
    ] {
        if built {
            codecs.extend(["start", "end"].map(|location| json!({"id": id, "location": location})));
        }
    }
    if cfg!(feature = "jenkins-lookup3") {
        codecs.push(json!({"id": "jenkins_lookup3"}));
        codecs.push(json!({"id": "jenkins_lookup3", "initval": 4_000_000_000u32, "prefix": [1, 2, 255]}));
    }
    codecs.into_iter().map(|codec| v2(codec, item)).collect()
}

fn check(filter: &dyn Filter, data: &[u8]) {
    let len = data.len();
    let stream = encode(filter, data).unwrap_or_else(|error| panic!("{filter:?}, {len} bytes: {error}"));
    for capacity in [len, len + 1] {
        let back = decode(filter, &stream, capacity)
            .unwrap_or_else(|error| panic!("{filter:?}, {len} bytes: {error}"));
        assert!(back == data, "{filter:?}, {len} bytes");
    }
    if len > 0 {
        assert!(decode(filter, &stream, len - 1).is_err(), "{filter:?}, {len} bytes into one less");
        assert!(decode(filter, &stream, 0).is_err(), "{filter:?}, {len} bytes into none");
    }
    // Too little room is an error, not a short stream or a write beyond it.
    let mut memory = vec![0xa5; stream.len() + 8];
    let (inside, guard) = memory.split_at_mut(stream.len().saturating_sub(1));
    if stream.len() > 1 && filter.encode(data, &mut nczarr_codec::OutBuf::from_slice(inside)).is_ok() {
        panic!("{filter:?}: {len} bytes fit {} as well", stream.len() - 1);
    }
    assert!(guard.iter().all(|&byte| byte == 0xa5), "{filter:?} wrote beyond its output");
}

#[test]
fn all_parameters_with_lengths_that_matter() {
    let (text, noise) = (sample(20_000), noise(80_000));
    for item in [1, 2, 3, 4, 16, 17, 255, 256] {
        for filter in all_filters(item) {
            for len in [0, 1, 16, 127, 128, 4 * 255, 4099] {
                for data in [&text, &noise] {
                    check(&*filter, &data[..len]);
                }
            }
        }
    }
    for item in [1, 8] {
        for filter in all_filters(item).iter().step_by(2) {
            for data in [&text, &noise] {
                check(&**filter, data);
            }
        }
    }
}

#[test]
fn threads_do_not_disturb_one_another() {
    let data = sample(20_000);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for filter in all_filters(4).iter().step_by(7) {
                    check(&**filter, &data);
                }
            });
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_data(data in proptest::collection::vec(0u8..4, 0..3000), item in 1usize..20, which in any::<prop::sample::Index>()) {
        let filters = all_filters(item);
        if !filters.is_empty() {
            check(&**which.get(&filters), &data);
        }
    }
}

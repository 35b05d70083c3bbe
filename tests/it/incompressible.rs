//! Incompressible data give stored chunks that are larger than the data. This is not an error.

use nczarr::{CreateOptions, OpenOptions};

/// Bytes that do not compress.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let bytes = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    });
    bytes.take(len).collect()
}

#[test]
fn chunks_that_do_not_shrink_are_stored() {
    let values = noise(10_000);
    let alone: &[u32] = &[2, u32::MAX, u32::MAX, 0];
    let filters: &[(&str, &[u32])] = &[
        ("deflate", &[9]),
        ("gzip", &[9]),
        ("zstd", &[3]),
        ("blosc", &[0, 0, 0, 0, 5, 1, 1]),
        ("bzip2", &[9]),
        ("lz4", &[]),
        ("lzma", &[6]),
        // The LZMA encoder has no size bound, so its output buffer grows.
        ("lzma", alone),
        ("crc32", &[]),
        ("jenkins_lookup3", &[]),
    ];
    for (filter, params) in filters {
        for chunk in [1, 13, 10_000] {
            let url = format!("memory://incompressible-{filter}-{}-{chunk}#mode=nczarr", params.len());
            let file = CreateOptions::new().create(&url).unwrap();
            file.add_dimension("x", chunk).unwrap();
            let v = file.add_variable::<u8>("v", &["x"]).unwrap();
            v.set_chunking(&[chunk]).unwrap();
            // A second filter receives compressed data.
            v.set_filter(filter, params).unwrap();
            if *filter != "gzip" {
                v.set_filter("gzip", &[1]).unwrap();
            }
            v.put(&values[..chunk as usize], ..).unwrap();
            file.close().unwrap();
            let v = OpenOptions::new().open(&url).unwrap().variable("v").unwrap();
            assert_eq!(
                v.get::<u8>(..).unwrap().as_slice(),
                &values[..chunk as usize],
                "{filter} {params:?} {chunk}"
            );
        }
    }
}

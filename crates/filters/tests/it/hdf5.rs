//! Compares the table of HDF5 ids with the filters.

use nczarr_codec::ZarrFormat;
use nczarr_filters::HDF5_FILTERS;

#[test]
fn the_hdf5_table_matches_the_filters() {
    assert!(HDF5_FILTERS.is_sorted_by(|a, b| a.id < b.id));
    for class in nczarr_filters::BUILTIN {
        let info = class.info();
        let Some(id) = info.hdf5_id else { continue };
        let row = HDF5_FILTERS
            .iter()
            .find(|row| row.id == id)
            .unwrap_or_else(|| panic!("no row for {}", info.name));
        assert_eq!((info.name, true, class.can_encode()), (row.name, row.read, row.written));
        let Some((v2, v3)) = row.codec else { continue };
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
    for row in HDF5_FILTERS.iter().filter(|row| !row.read) {
        assert!(
            nczarr_filters::BUILTIN.iter().all(|class| class.info().hdf5_id != Some(row.id)),
            "{}",
            row.name
        );
    }
}

/// Noise gets longer and decodes. A filter that does not shrink a chunk is not an error.
#[test]
fn incompressible_data_round_trip() {
    for filter in crate::round_trip::all_filters(4) {
        for len in [4, 64, 4000] {
            let data = crate::noise(len);
            let stream = crate::encode(&*filter, &data).unwrap();
            let back = crate::decode(&*filter, &stream, len).unwrap();
            assert!(back == data, "{filter:?}, {len} bytes");
        }
    }
}

/// Filters of HDF5 files have no codec. Some only decode.
#[test]
#[cfg(feature = "hdf5")]
fn filters_of_hdf5_alone_have_no_codec() {
    let number = [8, 0, 1000, 1, 4, 0, 17, 3];
    let scale: Vec<u32> = [2, 0, 1000, 0, 4, 1, 0, 1].into_iter().chain([0; 12]).collect();
    for (name, params) in [("lzf", &[][..]), ("nbit", &number), ("scaleoffset", &scale)] {
        let class = crate::class(name);
        let filter = crate::bound(class.parse_params(params).unwrap(), 4);
        assert!(filter.to_json(ZarrFormat::V2).is_null() && filter.to_json(ZarrFormat::V3).is_null());
        let outcome = crate::encode(&*filter, &[0; 4000]);
        assert_eq!(outcome.is_ok(), class.can_encode(), "{name}");
    }
    // Parameters that are missing, invalid or too deeply nested.
    let nested: Vec<u32> = [0, 0, 1].into_iter().chain([2, 4].repeat(40)).chain([4, 4]).collect();
    for (name, params) in [
        ("nbit", &[][..]),
        ("nbit", &[8, 0, 1000, 1, 4, 0, 33, 0]),
        ("nbit", &[8, 0, 1000, 1, 4, 0, 20, u32::MAX]),
        ("nbit", &[8, 0, 1000, 1, u32::MAX, 0, 0, 0]),
        ("nbit", &[8, 0, 1, 2, 7, 4, 2]),
        ("nbit", &[8, 0, 1, 3, 8, 2, 0, 4, 8, 0, 4, 8]),
        ("nbit", &[8, 0, 1, 3, 8, 60_000, 0, 4, 8]),
        ("nbit", &nested),
        ("scaleoffset", &[2, 0]),
        ("scaleoffset", &[0; 20]),
        ("lzf", &[1, 2, 3, 4]),
    ] {
        assert_eq!(
            crate::class(name).parse_params(params).unwrap_err().kind(),
            nczarr_model::ErrorKind::Inval,
            "{params:?}"
        );
    }
    // A chunk of elements of another size.
    let mut filter = crate::class("nbit").parse_params(&[8, 0, 999, 1, 4, 0, 17, 3]).unwrap();
    let item = nczarr_codec::ItemType::bytes(4);
    let chunk = nczarr_codec::ChunkInfo::new(item, 1000).item_size(4).chunk_bytes(4000).big_endian(false);
    assert_eq!(filter.bind(&chunk).unwrap_err().kind(), nczarr_model::ErrorKind::Filter);
}

/// LZF round trips: runs and matches of every length, noise, and overlapping matches.
#[test]
#[cfg(feature = "hdf5")]
fn lzf_comes_back() {
    let filter = crate::bound(crate::class("lzf").parse_params(&[]).unwrap(), 4);
    let mut data = vec![Vec::new(), vec![7; 100_000], crate::noise(20_000), crate::sample(5000)];
    data.extend((1..700).map(|len| [crate::noise(len), vec![9; len], crate::noise(len)].concat()));
    data.push([crate::noise(9000), crate::noise(9000)].concat());
    data.push([crate::noise(8192), crate::noise(8192)].concat());
    for data in data {
        let stream = crate::encode(&*filter, &data).unwrap();
        assert!(crate::decode(&*filter, &stream, data.len()).unwrap() == data, "{} bytes", data.len());
        if data.len() > 1 {
            assert!(crate::decode(&*filter, &stream, data.len() - 1).is_err());
        }
    }
    let short = crate::encode(&*filter, &[7; 100_000]).unwrap();
    assert!(short.len() < 1200, "{} bytes", short.len());
    // A match before the start of the data, and a truncated run.
    for stream in [&[0x20, 0x00][..], &[0, 1, 0x20, 1], &[5, 1, 2], &[0, 1, 0xe0], &[0, 1, 0xe0, 1], &[0x1f]]
    {
        assert_eq!(
            crate::decode(&*filter, stream, 1000).unwrap_err().kind(),
            nczarr_model::ErrorKind::Filter,
            "{stream:?}"
        );
    }
}

#[cfg(feature = "lz4")]
mod lz4 {
    use nczarr_model::ErrorKind;

    use crate::{bound, class, decode, encode, noise, sample};

    /// Makes a stream by the documented format: the size, the block size, and the given blocks.
    fn framed(size: u64, block: u32, blocks: &[&[u8]]) -> Vec<u8> {
        let mut stream = [&size.to_be_bytes()[..], &block.to_be_bytes()].concat();
        for stored in blocks {
            stream.extend((stored.len() as u32).to_be_bytes());
            stream.extend(*stored);
        }
        stream
    }

    /// Nine literal bytes and a match of seven; the last five bytes are literals.
    const SMALL: &[u8] = b"\x93abcdefghi\x09\x00\x50vwxyz";
    const DECODED: &[u8] = b"abcdefghiabcdefgvwxyz";

    #[test]
    fn hdf5_lz4_streams_have_blocks() {
        let lz4 = bound(class("lz4").parse_hdf5(&[]).unwrap(), 4);
        // Streams of one block, of two blocks with a raw last one, and of raw blocks only.
        let two = [DECODED, b"raw"].concat();
        for (stream, expected) in [
            (framed(21, 21, &[SMALL]), DECODED),
            (framed(21, 1 << 30, &[SMALL]), DECODED),
            (framed(24, 21, &[SMALL, b"raw"]), &two),
            (framed(24, 10, &[b"abcdefghia", b"bcdefgvwxy", b"zraw"]), &two),
            (framed(0, 0, &[]), b""),
        ] {
            assert_eq!(decode(&*lz4, &stream, expected.len()).unwrap(), expected);
            // The declared size, or an error.
            if !expected.is_empty() {
                assert_eq!(decode(&*lz4, &stream, expected.len() - 1).unwrap_err().kind(), ErrorKind::Filter);
            }
            for end in 0..stream.len() {
                assert!(decode(&*lz4, &stream[..end], expected.len()).is_err(), "{end} of {}", stream.len());
            }
        }
        for hostile in [
            framed(u64::MAX, 21, &[SMALL]),
            framed(22, 22, &[SMALL]),
            framed(21, 0, &[SMALL]),
            framed(21, 1, &[SMALL]),
            framed(20, 20, &[SMALL]),
        ] {
            assert_eq!(decode(&*lz4, &hostile, 64).unwrap_err().kind(), ErrorKind::Filter, "{hostile:?}");
        }
    }

    /// Streams of HDF5's own filter: `vectors/lz4-hdf5.bin`, in blocks of 400 bytes, and noise in one.
    #[test]
    fn streams_of_hdf5s_own_filter_are_read_and_made() {
        let vector = include_bytes!("../vectors/lz4-hdf5.bin").as_slice();
        let data = [sample(250), noise(600)].concat();
        let lz4 = bound(class("lz4").parse_hdf5(&[400]).unwrap(), 4);
        assert_eq!(decode(&*lz4, vector, data.len()).unwrap(), data);
        let made = encode(&*lz4, &data).unwrap();
        assert_eq!(made, vector);
    }

    #[test]
    fn blocks_of_every_size_come_back() {
        for block in [0, 1, 2, 7, 100, 4096, u32::MAX] {
            for acceleration in [1, 20] {
                let lz4 = bound(class("lz4").parse_hdf5(&[block, acceleration]).unwrap(), 4);
                for data in
                    [vec![], vec![7], noise(1), noise(5000), sample(3000), [noise(99), vec![3; 999]].concat()]
                {
                    let stream = encode(&*lz4, &data).unwrap();
                    assert!(
                        decode(&*lz4, &stream, data.len()).unwrap() == data,
                        "blocks of {block}, {} bytes",
                        data.len()
                    );
                }
                // In Zarr the same parameters make one block, as in numcodecs.
                let other = bound(class("lz4").parse_params(&[block, acceleration]).unwrap(), 4);
                assert_eq!(other.params(), lz4.params());
                let stream = encode(&*other, &sample(100)).unwrap();
                assert_eq!(stream[..4], 400_u32.to_le_bytes());
                assert!(decode(&*lz4, &stream, 400).is_err());
            }
        }
    }
}

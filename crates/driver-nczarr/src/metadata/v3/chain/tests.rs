use super::*;
use crate::metadata::json::parse;
use crate::metadata::types::dtype::DTypeKind;
use crate::metadata::v3::tests::registry;

fn json(text: &str) -> Json {
    parse(text.as_bytes(), &nczarr_dispatch::Limits::default()).unwrap()
}

fn chain(data_type: &str, codecs: &str, chunks: &[u64]) -> (DataType, CodecChain) {
    read(&Json::string(data_type), &json(codecs), chunks, &registry()).unwrap()
}

/// Returns the kind and the text of the chain's first problem.
fn problem(data_type: &str, codecs: &str, chunks: &[u64]) -> (ErrorKind, String) {
    let (_, chain) = chain(data_type, codecs, chunks);
    let error = chain.first_problem().unwrap_or_else(|| panic!("{codecs}: no problem"));
    (error.kind(), error.to_string())
}

const LITTLE: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;

#[test]
fn orders_of_bytes() {
    for (codecs, text) in [
        (r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#, "<i4"),
        (r#"[{"name":"bytes","configuration":{"endian":"big"}}]"#, ">i4"),
        (r#"[{"name":"bytes"}]"#, "<i4"),
        (r#"[{"name":"bytes","configuration":{}}]"#, "<i4"),
        (r#"["bytes"]"#, "<i4"),
    ] {
        let (data, chain) = chain("int32", codecs, &[2]);
        assert!(chain.problem.is_none(), "{codecs}: {chain:?}");
        assert_eq!(data.dtype.text, text, "{codecs}");
    }
    assert_eq!(
        problem("int32", r#"[{"name":"bytes","configuration":{"endian":"middle"}}]"#, &[2]).0,
        ErrorKind::NcZarr
    );
}

#[test]
fn codecs_map_to_registered_filters() {
    for (codec, name, id, params) in [
        (r#"{"name":"gzip","configuration":{"level":5}}"#, "gzip", None, &[5][..]),
        (
            r#"{"name":"zstd","configuration":{"level":-3,"checksum":true}}"#,
            "zstd",
            Some(32015),
            &[4_294_967_293],
        ),
        (r#"{"name":"crc32c"}"#, "crc32c", None, &[]),
        (r#""crc32c""#, "crc32c", None, &[]),
        (r#"{"name":"numcodecs.zlib","configuration":{"level":2}}"#, "deflate", Some(1), &[2]),
        (r#"{"name":"zlib","configuration":{"level":2}}"#, "deflate", Some(1), &[2]),
        (r#"{"name":"shuffle"}"#, "shuffle", Some(2), &[]),
        (r#"{"name":"numcodecs.shuffle","configuration":{"elementsize":4}}"#, "shuffle", Some(2), &[]),
        (r#"{"name":"fletcher32"}"#, "fletcher32", Some(3), &[]),
        (r#"{"name":"bz2","configuration":{"level":9}}"#, "bzip2", Some(307), &[9]),
        (
            r#"{"name":"blosc","configuration":{"cname":"zstd","clevel":3,"shuffle":"bitshuffle","typesize":4,"blocksize":0}}"#,
            "blosc",
            Some(32001),
            &[0, 0, 0, 0, 3, 2, 5],
        ),
        (
            r#"{"name":"blosc","configuration":{"cname":"lz4","clevel":3,"shuffle":1,"blocksize":0}}"#,
            "blosc",
            Some(32001),
            &[0, 0, 0, 0, 3, 1, 1],
        ),
    ] {
        let (_, chain) = chain("int32", &format!("[{LITTLE},{codec}]"), &[4]);
        assert!(chain.problem.is_none(), "{codec}: {:?}", chain.problem);
        let [spec] = &chain.specs[..] else { panic!("{codec}: {chain:?}") };
        assert_eq!((spec.name.as_str(), spec.hdf5_id, &spec.params[..]), (name, id, params), "{codec}");
        // The model has V2's description, which has the same meaning.
        let v2 = crate::metadata::codecs::filters::filter(&json(spec.codec.as_ref().unwrap()), &registry())
            .unwrap();
        assert_eq!(v2.params(), chain.filters[0].params());
    }
}

#[test]
fn element_filters_work_in_the_stored_byte_order() {
    for (endian, order) in [("little", '<'), ("big", '>')] {
        for (codec, v2) in [
            (
                r#"{"name":"numcodecs.delta","configuration":{"dtype":"<i4","astype":"int16"}}"#,
                r#"{"id":"delta","dtype":"?i4","astype":"?i2"}"#,
            ),
            (
                r#"{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":1,"scale":2,"dtype":">i4","astype":"|u1"}}"#,
                r#"{"id":"fixedscaleoffset","offset":1,"scale":2,"dtype":"?i4","astype":"|u1"}"#,
            ),
            (
                r#"{"name":"numcodecs.astype","configuration":{"encode_dtype":"int64","decode_dtype":"i4"}}"#,
                r#"{"id":"astype","encode_dtype":"?i8","decode_dtype":"?i4"}"#,
            ),
        ] {
            let codecs = format!(r#"[{codec},{{"name":"bytes","configuration":{{"endian":"{endian}"}}}}]"#);
            let (_, chain) = chain("int32", &codecs, &[4]);
            assert!(chain.problem.is_none(), "{codec}: {:?}", chain.problem);
            let found = json(chain.specs[0].codec.as_ref().unwrap()).to_serde();
            let expected = json(&v2.replace('?', &order.to_string())).to_serde();
            for (member, value) in expected.as_object().unwrap() {
                assert_eq!(found[member].to_string(), value.to_string(), "{codec} {member}");
            }
        }
    }
    assert_eq!(numpy("complex64", false), "complex64");
    assert_eq!(numpy("bool", true), "|b1");
    assert_eq!(numpy("float16", true), ">f2");
}

#[test]
fn transpositions() {
    let transpose = |order: &str| format!(r#"{{"name":"transpose","configuration":{{"order":{order}}}}}"#);
    for (orders, axes) in [
        (&["[0,1,2]"][..], vec![0, 1, 2]),
        (&["[2,1,0]"], vec![2, 1, 0]),
        (&["\"F\""], vec![2, 1, 0]),
        (&["\"C\""], vec![0, 1, 2]),
        (&["[1,2,0]"], vec![1, 2, 0]),
        // Axis i of the result is axis order[i] of the input.
        (&["[1,2,0]", "[1,2,0]"], vec![2, 0, 1]),
        (&["[1,2,0]", "[2,0,1]"], vec![0, 1, 2]),
        (&["[2,1,0]", "[1,0,2]"], vec![1, 2, 0]),
    ] {
        let codecs: Vec<_> = orders.iter().map(|order| transpose(order)).collect();
        let (data, chain) = chain("int32", &format!("[{},{LITTLE}]", codecs.join(",")), &[2, 3, 4]);
        assert!(chain.problem.is_none(), "{orders:?}");
        assert_eq!(chain.order.axes(3), axes, "{orders:?}");
        let written = write(&chain, &data, 3).unwrap();
        let (_, again) = read(&Json::string("int32"), &written, &[2, 3, 4], &registry()).unwrap();
        assert_eq!(again.order, chain.order);
    }
    for order in ["[0,1]", "[0,0,1]", "[1,2,3]", "[0,1,-1]", "null", "\"A\"", "[0,1,\"2\"]", "[0,1,2,2]"] {
        let (kind, text) = problem("int32", &format!("[{},{LITTLE}]", transpose(order)), &[2, 3, 4]);
        assert!(
            kind == ErrorKind::NcZarr && text.contains("transpose") && text.contains("permutation"),
            "{text}"
        );
    }
}

#[test]
fn elements_of_variable_length() {
    for (data_type, codec, list) in [
        ("string", r#"{"name":"vlen-utf8","configuration":{}}"#, None),
        ("string", r#""vlen-utf8""#, None),
        ("bytes", r#"{"name":"vlen-bytes"}"#, Some(NcType::UByte)),
        ("variable_length_bytes", r#"{"name":"vlen-bytes"}"#, Some(NcType::UByte)),
    ] {
        let (data, chain) = chain(data_type, &format!(r#"[{codec},{{"name":"gzip"}}]"#), &[4]);
        assert!(chain.problem.is_none() && chain.element.is_some(), "{codec}: {:?}", chain.problem);
        assert_eq!((data.dtype.kind, chain.list, chain.filters.len()), (DTypeKind::Object, list, 1));
        let written = write(&chain, &data, 1).unwrap();
        let (_, again) = read(&Json::string(data_type), &written, &[4], &registry()).unwrap();
        assert!(again.problem.is_none() && again.element.is_some());
    }
    for (data_type, codec, found) in [
        ("string", r#"{"name":"vlen-bytes"}"#, ErrorKind::BadType),
        ("bytes", r#"{"name":"vlen-utf8"}"#, ErrorKind::BadType),
        ("string", r#"{"name":"numcodecs.pickle"}"#, ErrorKind::BadType),
        ("string", LITTLE, ErrorKind::NcZarr),
        ("int32", r#"{"name":"vlen-utf8"}"#, ErrorKind::NoFilter),
    ] {
        assert_eq!(problem(data_type, &format!("[{codec}]"), &[4]).0, found, "{data_type} {codec}");
    }
}

#[test]
fn shards() {
    let text = r#"[{"name":"transpose","configuration":{"order":[1,2,0]}},
        {"name":"sharding_indexed","configuration":{"chunk_shape":[3,2,1],
            "codecs":[{"name":"transpose","configuration":{"order":[2,1,0]}},
                      {"name":"bytes","configuration":{"endian":"big"}},{"name":"gzip","configuration":{"level":1}}],
            "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}],
            "index_location":"start"}},
        {"name":"crc32c"}]"#;
    let (data, chain) = chain("int16", text, &[4, 6, 8]);
    assert!(chain.first_problem().is_none(), "{:?}", chain.first_problem());
    assert_eq!(data.dtype.text, ">i2");
    assert_eq!((chain.order.axes(3), chain.filters.len()), (vec![1, 2, 0], 1));
    let shards = chain.shards.as_ref().unwrap();
    // Axis 0 of the shard is axis 1 of the array, and so on.
    assert_eq!(shards.chunk_shape, [1, 3, 2]);
    assert_eq!(shards.chain.order.axes(3), [0, 2, 1]);
    assert!(shards.index.at_start && !shards.index.big_endian && shards.index.extra == 4);
    assert_eq!(
        chain.all_specs().iter().map(|spec| spec.name.as_str()).collect::<Vec<_>>(),
        ["gzip", "crc32c"]
    );
    let written = write(&chain, &data, 3).unwrap();
    let (_, again) = read(&Json::string("int16"), &written, &[4, 6, 8], &registry()).unwrap();
    assert_eq!(write(&again, &data, 3).unwrap(), written);
    assert_eq!(format!("{:?}", again.shards), format!("{:?}", chain.shards));
    // Nested shards.
    let nested = format!(
        r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[4],"codecs":
            [{{"name":"sharding_indexed","configuration":{{"chunk_shape":[2],"codecs":[{LITTLE}],"index_codecs":["bytes"]}}}}],
            "index_codecs":["bytes","crc32c"]}}}}]"#
    );
    let (_, nested) = super::tests::chain("int16", &nested, &[8]);
    assert!(nested.first_problem().is_none());
    let inner = nested.shards.as_ref().unwrap().chain.shards.as_ref().unwrap();
    assert_eq!((&inner.chunk_shape[..], inner.index.extra, inner.index.at_start), (&[2][..], 0, false));
}

#[test]
fn invalid_shards_are_errors() {
    let good = format!(
        r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":[2,3],"codecs":[{LITTLE}],"index_codecs":[{LITTLE},{{"name":"crc32c"}}],"index_location":"end"}}}}"#
    );
    assert!(chain("int32", &format!("[{good}]"), &[4, 6]).1.first_problem().is_none());
    let crc = r#",{"name":"crc32c"}"#;
    for (from, to, says) in [
        ("[2,3]", "[3,3]", "chunk_shape"),
        ("[2,3]", "[2]", "chunk_shape"),
        ("[2,3]", "[0,3]", "chunk_shape"),
        ("[2,3]", "[2,-3]", "chunk_shape"),
        ("[2,3]", "4", "chunk_shape"),
        ("\"end\"", "\"middle\"", "index_location"),
        ("\"end\"", "1", "index_location"),
        (crc, r#",{"name":"gzip"}"#, "index_codecs"),
        (crc, r#",{"name":"nothing"}"#, "nothing"),
        ("index_codecs", "other", "index_codecs"),
        ("\"codecs\"", "\"others\"", "codecs"),
    ] {
        let (_, text) = problem("int32", &format!("[{}]", good.replacen(from, to, 1)), &[4, 6]);
        assert!(text.contains(says), "{to}: {text}");
    }
}

#[test]
fn invalid_chains_are_errors() {
    let gzip = r#"{"name":"gzip","configuration":{"level":1}}"#;
    let delta = r#"{"name":"numcodecs.delta","configuration":{"dtype":"<i4"}}"#;
    let transpose = r#"{"name":"transpose","configuration":{"order":[1,0]}}"#;
    for (codecs, kind, says) in [
        (String::new(), ErrorKind::NcZarr, "encodes an array"),
        (gzip.to_owned(), ErrorKind::NcZarr, "gets an array"),
        (format!("{gzip},{LITTLE}"), ErrorKind::NcZarr, "gets an array"),
        (format!("{LITTLE},{LITTLE}"), ErrorKind::NcZarr, "gets bytes"),
        (format!("{LITTLE},{transpose}"), ErrorKind::NcZarr, "gets bytes"),
        (format!("{LITTLE},{delta}"), ErrorKind::NcZarr, "gets bytes"),
        (format!("{delta},{transpose},{LITTLE}"), ErrorKind::Filter, "order of elements"),
        (format!("{LITTLE},{{\"name\":\"x\"}}"), ErrorKind::NoFilter, "\"x\""),
        (format!("{LITTLE},{{\"name\":\"packbits\"}}"), ErrorKind::NoFilter, "packbits"),
        (
            format!("{{\"name\":\"delta\",\"configuration\":{{\"dtype\":\"<i4\"}}}},{LITTLE}"),
            ErrorKind::NoFilter,
            "delta",
        ),
        (format!("{LITTLE},3"), ErrorKind::NcZarr, "a name"),
        (format!("{LITTLE},{{\"id\":\"zlib\"}}"), ErrorKind::NcZarr, "a name"),
        (format!("{LITTLE},{{\"name\":\"gzip\",\"configuration\":[]}}"), ErrorKind::NcZarr, "configuration"),
        (
            format!("{LITTLE},{{\"name\":\"gzip\",\"configuration\":{{\"level\":\"high\"}}}}"),
            ErrorKind::Filter,
            "level",
        ),
    ] {
        let (found, text) = problem("int32", &format!("[{codecs}]"), &[2, 2]);
        assert!(found == kind && text.contains(says), "{codecs}: {found:?} {text}");
    }
    let error = read(&Json::string("int32"), &Json::Null, &[2], &registry()).unwrap_err();
    assert!(error.to_string().contains("codecs"), "{error}");
}

#[test]
fn optional_codecs_are_skipped() {
    let codecs = format!(
        r#"[{LITTLE},{{"name":"unheard-of","must_understand":false}},{{"name":"gzip","must_understand":false}}]"#
    );
    let (_, found) = chain("int32", &codecs, &[2]);
    assert!(found.problem.is_none());
    assert_eq!(found.filters.len(), 1);
    let codecs = format!(r#"[{LITTLE},{{"name":"unheard-of","must_understand":true}}]"#);
    assert_eq!(problem("int32", &codecs, &[2]).0, ErrorKind::NoFilter);
}

#[test]
fn written_chains_name_the_byte_order_of_multibyte_types() {
    for (data_type, codecs, expected) in [
        ("int8", r#"["bytes"]"#, r#"[{"name":"bytes","configuration":{}}]"#),
        ("int16", r#"["bytes"]"#, r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#),
        (
            "float64",
            r#"[{"name":"numcodecs.astype","configuration":{"encode_dtype":"<f4","decode_dtype":"<f8"}},"bytes"]"#,
            r#"[{"name":"numcodecs.astype","configuration":{"encode_dtype":"<f4","decode_dtype":"<f8"}},{"name":"bytes","configuration":{"endian":"little"}}]"#,
        ),
    ] {
        let (data, chain) = chain(data_type, codecs, &[2]);
        assert_eq!(write(&chain, &data, 1).unwrap().to_serde(), json(expected).to_serde());
    }
    // V3 allows no array codec after a codec of bytes.
    let (data, mut chain) = chain(
        "int32",
        &format!(
            r#"[{{"name":"numcodecs.bitround","configuration":{{"keepbits":3}}}},{LITTLE},{{"name":"gzip"}}]"#
        ),
        &[2],
    );
    chain.filters.reverse();
    assert_eq!(write(&chain, &data, 1).unwrap_err().kind(), ErrorKind::Filter);
}

/// Codecs that replace `bytes`, and one that changes the shape.
mod of_arrays {
    use std::borrow::Cow;

    use nczarr_codec::{ChunkInfo, FilterInfo, OutBuf};

    use super::*;

    static TO_BYTES: FilterInfo = FilterInfo {
        kind: CodecKind::ArrayToBytes,
        v3_names: Some(&["packed"]),
        ..FilterInfo::new("own.packed", "bytes as they are")
    };
    static ORDERED: FilterInfo = FilterInfo {
        kind: CodecKind::ArrayToArray { ordered: true },
        ..FilterInfo::new("turned", "elements in another order")
    };

    struct Class(&'static FilterInfo);

    #[derive(Debug, Clone)]
    struct Plain(&'static FilterInfo);

    impl FilterClass for Class {
        fn info(&self) -> &FilterInfo {
            self.0
        }
        fn parse_params(&self, _: &[u32]) -> Result<Box<dyn Filter>> {
            Ok(Box::new(Plain(self.0)))
        }
        fn parse_json(&self, _: &Serde, _: ZarrFormat) -> Result<Box<dyn Filter>> {
            self.parse_params(&[])
        }
    }

    impl Filter for Plain {
        fn info(&self) -> &FilterInfo {
            self.0
        }
        fn params(&self) -> Cow<'_, [u32]> {
            Cow::Borrowed(&[])
        }
        fn to_json(&self, format: ZarrFormat) -> Serde {
            let name = self.0.v3_names.map_or(self.0.name, |names| names[0]);
            match format {
                ZarrFormat::V2 => serde_json::json!({"id": self.0.name}),
                ZarrFormat::V3 => serde_json::json!({"name": name, "configuration": {}}),
            }
        }
        fn bind(&mut self, _: &ChunkInfo<'_>) -> Result<()> {
            Ok(())
        }
        fn encode_bound(&self, decoded: usize) -> Option<usize> {
            Some(decoded)
        }
        fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
            dst.put(src)
        }
        fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
            dst.put(src)
        }
    }

    fn both() -> Registry {
        registry().with_filter(Class(&TO_BYTES)).with_filter(Class(&ORDERED))
    }

    fn read_both(data_type: &str, codecs: &str, chunks: &[u64]) -> (DataType, CodecChain) {
        read(&Json::string(data_type), &json(codecs), chunks, &both()).unwrap()
    }

    #[test]
    fn a_registered_codec_can_replace_bytes() {
        let transpose = r#"{"name":"transpose","configuration":{"order":[1,0]}}"#;
        let gzip = r#"{"name":"gzip","configuration":{"level":1}}"#;
        let packed = r#"{"name":"packed","configuration":{}}"#;
        let turned = r#"{"name":"turned","configuration":{}}"#;
        for codecs in [
            format!("[{packed}]"),
            format!("[{transpose},{packed},{gzip}]"),
            format!("[{transpose},{turned},{packed},{gzip}]"),
            format!(
                r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[2,2],"codecs":[{transpose},{packed},{gzip}],"index_codecs":[{LITTLE}],"index_location":"end"}}}}]"#
            ),
        ] {
            let (data, chain) = read_both("int32", &codecs, &[4, 4]);
            assert!(chain.first_problem().is_none(), "{codecs}: {:?}", chain.first_problem());
            assert!(!data.dtype.big_endian);
            assert_eq!(text(&write(&chain, &data, 2).unwrap()), text(&json(&codecs)), "{codecs}");
            assert_eq!(chain.innermost().filters.iter().filter(|f| f.info().name == "own.packed").count(), 1);
        }
    }

    #[test]
    fn a_chain_has_one_codec_that_makes_bytes() {
        for (data_type, codecs, expected) in [
            ("int32", format!(r#"["packed",{LITTLE}]"#), "needs an array"),
            ("int32", format!(r#"[{LITTLE},"packed"]"#), "needs an array"),
            ("int32", r#"["packed","packed"]"#.to_owned(), "needs an array"),
            ("int32", r#"["packed","turned"]"#.to_owned(), "needs an array"),
            ("int32", r#"["gzip","packed"]"#.to_owned(), "needs bytes"),
            ("int32", r#"["turned"]"#.to_owned(), "no codec that encodes an array"),
            ("int32", r#"["own.packed"]"#.to_owned(), "not a known codec of Zarr V3"),
            ("string", r#"["packed"]"#.to_owned(), "variable length"),
            (
                "int32",
                format!(r#"["turned",{{"name":"transpose","configuration":{{"order":[0]}}}},{LITTLE}]"#),
                "depends on the order",
            ),
        ] {
            let (_, chain) = read_both(data_type, &codecs, &[4]);
            let error = chain.first_problem().unwrap_or_else(|| panic!("{codecs}: no problem")).to_string();
            assert!(error.contains(expected), "{codecs}: {error}");
        }
    }

    #[test]
    fn a_packed_chain_records_no_byte_order() {
        let (mut data, mut chain) = read_both("int32", r#"["packed"]"#, &[4]);
        write(&chain, &data, 1).unwrap();
        data.dtype.big_endian = true;
        chain.big_endian = true;
        let error = write(&chain, &data, 1).unwrap_err();
        assert!(error.kind() == ErrorKind::Filter && error.to_string().contains("byte order"), "{error}");
    }
}

//! The damaged stores, and the names that each error must contain.

use std::fs;
use std::io::Write as _;
use std::path::Path;

/// One store that the library must refuse.
pub struct Case {
    /// The damage.
    pub what: String,
    /// Size in bytes of the largest chunk that the store declares.
    pub declared: usize,
    /// The names that the error must contain.
    pub names: Vec<&'static str>,
    /// Makes the store.
    pub make: Box<dyn Fn(&Path)>,
}

fn case(what: impl Into<String>, names: &[&'static str], make: impl Fn(&Path) + 'static) -> Case {
    Case { what: what.into(), declared: 0, names: names.to_vec(), make: Box::new(make) }
}

fn put(store: &Path, key: &str, bytes: impl AsRef<[u8]>) {
    let path = store.join(key);
    fs::create_dir_all(path.parent().expect("a key lies in the store")).expect("a folder");
    fs::write(path, bytes).expect("an object");
}

const GROUP: &str = r#"{"zarr_format": 2}"#;

/// The metadata of four ints in one chunk, with one member replaced or added.
fn ints(member: &str, value: &str) -> String {
    let mut members = vec![
        ("zarr_format", "2"),
        ("shape", "[4]"),
        ("chunks", "[4]"),
        ("dtype", "\"<i4\""),
        ("fill_value", "0"),
        ("order", "\"C\""),
        ("compressor", "null"),
        ("filters", "null"),
    ];
    match members.iter_mut().find(|(name, _)| *name == member) {
        Some((_, old)) => *old = value,
        None if member.is_empty() => {}
        None => members.push((member, value)),
    }
    let members: Vec<_> = members
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("\"{name}\": {value}"))
        .collect();
    format!("{{{}}}", members.join(", "))
}

/// Makes a store with the variable `v`, this metadata and this chunk.
fn store(path: &Path, zarray: &str, chunk: &[u8]) {
    put(path, ".zgroup", GROUP);
    put(path, "v/.zarray", zarray);
    put(path, "v/0", chunk);
}

/// Makes an NCZarr store with the variable `v`. The caller can replace its documents afterwards.
fn nczarr(path: &Path) {
    store(path, &ints("", ""), &[0; 16]);
    put(
        path,
        ".zattrs",
        r#"{"_nczarr_superblock": {"version": "2.0.0"},
            "_nczarr_group": {"dimensions": {"x": 4}, "arrays": ["v"], "groups": []}}"#,
    );
    put(path, "v/.zattrs", r#"{"_nczarr_array": {"dimension_references": ["/x"], "storage": "chunked"}}"#);
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory")
}

/// All cases.
pub fn all() -> Vec<Case> {
    [chunks(), coded(), members(), sizes(), trees(), documents(), places(), shards()]
        .into_iter()
        .flatten()
        .collect()
}

/// Makes a Zarr V3 store with the array `v` of length `len`, in shards of `shard_len` with chunks of four
/// ints. `codecs` replaces the codecs. `shard` is the only data object.
fn sharded(path: &Path, len: u64, shard_len: u64, codecs: Option<&str>, shard: &[u8]) {
    const SHARDS: &str = r#"[{"name": "sharding_indexed", "configuration": {"chunk_shape": [4],
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}]"#;
    let codecs = codecs.unwrap_or(SHARDS);
    put(path, "zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#);
    let document = format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": [{len}], "data_type": "int32", "fill_value": 0,
            "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [{shard_len}]}}}},
            "chunk_key_encoding": {{"name": "default"}}, "codecs": {codecs}}}"#
    );
    put(path, "v/zarr.json", document);
    put(path, "v/c/0", shard);
}

/// Shards with a false index, and shards of random bytes.
fn shards() -> Vec<Case> {
    let entries =
        |entries: [u64; 4]| entries.iter().flat_map(|entry| entry.to_le_bytes()).collect::<Vec<u8>>();
    let mut cases = Vec::new();
    // The index follows 32 bytes of chunks, and the whole shard has 64 bytes.
    for (what, index) in [
        ("a chunk behind the shard", [0, 16, 64, 16]),
        ("a chunk that begins in the shard and ends behind it", [0, 16, 56, 16]),
        ("a chunk at the end of all numbers", [0, 16, u64::MAX - 7, 16]),
        ("a chunk longer than all numbers", [0, 16, 16, u64::MAX - 1]),
        ("a chunk of half a shard's length too much", [0, 48, 16, 16]),
        ("a chunk that is too short", [0, 16, 16, 15]),
        ("a chunk without bytes", [0, 16, 16, 0]),
        ("half of an entry that says there is none", [0, 16, u64::MAX, 16]),
    ] {
        let shard = [vec![1; 32], entries(index)].concat();
        cases.push(case(what, &["v/c/0"], move |path| sharded(path, 8, 8, None, &shard)));
    }
    for len in [0, 1, 31] {
        let what = format!("a shard of {len} bytes, less than its index");
        cases.push(case(what, &["v/c/0"], move |path| sharded(path, 8, 8, None, &vec![0; len])));
    }
    let of = |configuration: &str| {
        format!(r#"[{{"name": "sharding_indexed", "configuration": {{{configuration}}}}}]"#)
    };
    const BYTES: &str = r#"[{"name": "bytes", "configuration": {"endian": "little"}}]"#;
    for (what, configuration) in [
        ("chunks of no length", format!(r#""chunk_shape": [0], "codecs": {BYTES}, "index_codecs": {BYTES}"#)),
        (
            "chunks that divide no shard",
            format!(r#""chunk_shape": [3], "codecs": {BYTES}, "index_codecs": {BYTES}"#),
        ),
        (
            "chunks of more dimensions",
            format!(r#""chunk_shape": [4, 1], "codecs": {BYTES}, "index_codecs": {BYTES}"#),
        ),
        ("no codecs of the index", format!(r#""chunk_shape": [4], "codecs": {BYTES}"#)),
        (
            "an index that is compressed",
            format!(
                r#""chunk_shape": [4], "codecs": {BYTES}, "index_codecs": [{{"name": "bytes"}}, {{"name": "gzip", "configuration": {{"level": 1}}}}]"#
            ),
        ),
    ] {
        let codecs = of(&configuration);
        cases.push(case(what, &["v/zarr.json"], move |path| sharded(path, 8, 8, Some(&codecs), &[0; 64])));
    }
    let mut deep = BYTES.to_owned();
    for _ in 0..2000 {
        deep = of(&format!(r#""chunk_shape": [4], "codecs": {deep}, "index_codecs": {BYTES}"#));
    }
    cases.push(case("shards in shards without end", &["v/zarr.json"], move |path| {
        sharded(path, 8, 8, Some(&deep), &[0; 64]);
    }));
    for (what, len, shard) in [
        ("a shard of more chunks than its index can have", 8, 1 << 60),
        ("an array of more bytes than there are", u64::MAX / 2, 8),
    ] {
        cases.push(case(what, &["v"], move |path| sharded(path, len, shard, None, &[0; 64])));
    }
    cases
}

/// Chunks without a codec and without the declared length.
fn chunks() -> Vec<Case> {
    let lengths = [0, 1, 15, 17, 32, 1 << 20];
    let plain = lengths.map(|len| {
        case(format!("a chunk of {len} bytes for 16"), &["v/0"], move |path| {
            store(path, &ints("", ""), &vec![7; len])
        })
    });
    let texts: [(&str, &[u8]); 5] = [
        ("no count", b"\x01\0"),
        ("a count of 2^32 - 1", b"\xff\xff\xff\xff"),
        ("more strings than elements", b"\x05\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
        ("a string longer than the chunk", b"\x04\0\0\0\xff\xff\xff\x7fab"),
        ("bytes behind the last string", b"\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0extra"),
    ];
    let texts = texts.map(|(what, bytes)| {
        case(format!("vlen-utf8: {what}"), &["v/0"], move |path| {
            let zarray = ints("dtype", r#""|O""#)
                .replace(r#""filters": null"#, r#""filters": [{"id": "vlen-utf8"}]"#)
                .replace(r#""fill_value": 0"#, r#""fill_value": """#);
            store(path, &zarray, bytes);
        })
    });
    plain.into_iter().chain(texts).collect()
}

/// Chunks whose stream is damaged, has another length, or is far too large.
fn coded() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |what: String, codec: &'static str, bytes: Vec<u8>| {
        cases.push(case(what, &["v/0"], move |path| store(path, &ints("compressor", codec), &bytes)));
    };
    const ZLIB: &str = r#"{"id": "zlib", "level": 1}"#;
    const GZIP: &str = r#"{"id": "gzip", "level": 1}"#;
    const ZSTD: &str = r#"{"id": "zstd", "level": 1}"#;
    const BLOSC: &str = r#"{"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}"#;
    for (name, codec, encode) in [("zlib", ZLIB, zlib as fn(&[u8]) -> Vec<u8>), ("gzip", GZIP, gzip)] {
        let good = encode(&[7; 16]);
        add(format!("{name}: cut short"), codec, good[..good.len() - 3].to_vec());
        add(format!("{name}: another check sum"), codec, {
            let mut bytes = good.clone();
            let at = bytes.len() - if name == "gzip" { 6 } else { 2 };
            bytes[at] ^= 1;
            bytes
        });
        add(format!("{name}: 12 bytes for 16"), codec, encode(&[7; 12]));
        add(format!("{name}: 20 bytes for 16"), codec, encode(&[7; 20]));
        add(format!("{name}: 256 MiB for 16 bytes"), codec, encode(&vec![0; 256 << 20]));
    }
    for (name, codec) in [("zlib", ZLIB), ("gzip", GZIP), ("zstd", ZSTD), ("blosc", BLOSC)] {
        add(format!("{name}: nothing"), codec, Vec::new());
        add(format!("{name}: garbage"), codec, b"this is no stream at all, is it".to_vec());
    }
    // A zstd frame that declares 2^40 bytes and has one block that repeats a byte (RFC 8878).
    let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0];
    bomb.extend((1u64 << 40).to_le_bytes());
    bomb.extend([0x03, 0x00, 0x10, 0x00]);
    add("zstd: a frame of 2^40 bytes".to_owned(), ZSTD, bomb);
    // The header of blosc: version, compressor, flags, item size, bytes, block bytes, stored bytes.
    let blosc = |bytes: u32, block: u32, stored: u32| {
        let mut header = vec![2, 1, 0x21, 4];
        header.extend(bytes.to_le_bytes());
        header.extend(block.to_le_bytes());
        header.extend(stored.to_le_bytes());
        header
    };
    add("blosc: a header that declares 2 GiB".to_owned(), BLOSC, blosc(0x7fff_ffff, 0x7fff_ffff, 16));
    add("blosc: blocks of no bytes".to_owned(), BLOSC, blosc(16, 0, 16));
    add("blosc: more stored than there is".to_owned(), BLOSC, blosc(16, 16, 1 << 20));
    let mut checked = vec![7; 16];
    checked.extend([1, 2, 3, 4]);
    cases.push(case("fletcher32: another sum", &["v/0"], move |path| {
        store(path, &ints("filters", r#"[{"id": "fletcher32"}]"#), &checked);
    }));
    cases.push(case("a codec's member of another kind", &["v/.zarray", "zlib", "level"], |path| {
        store(path, &ints("compressor", r#"{"id": "zlib", "level": {}}"#), &[0; 16]);
    }));
    cases.push(case("an unknown codec", &["nosuch"], |path| {
        store(path, &ints("compressor", r#"{"id": "nosuch"}"#), &[0; 16]);
    }));
    cases.push(case("an unknown filter", &["nosuch"], |path| {
        store(path, &ints("filters", r#"[{"id": "nosuch"}]"#), &[0; 16]);
    }));
    cases
}

/// Members of array metadata with values of a wrong kind.
fn members() -> Vec<Case> {
    let wrong: [(&str, &[&str]); 8] = [
        ("zarr_format", &["1", "\"two\"", "null"]),
        (
            "shape",
            &[
                "",
                "4",
                "\"4\"",
                "[-1]",
                "[4.5]",
                "[\"4\"]",
                "[null]",
                "{}",
                "[4, 4]",
                "[18446744073709551616]",
            ],
        ),
        ("chunks", &["", "4", "[0]", "[-4]", "[4, 4]", "[]", "[1e300]", "null", "true"]),
        (
            "dtype",
            &["", "4", "\"\"", "\"i\"", "\"<i3\"", "\"<i99999999999999999999\"", "\"|S-1\"", "{}", "null"],
        ),
        ("order", &["\"Q\"", "5"]),
        ("fill_value", &["\"abc\"", "{}", "[1, 2]", "1.5", "99999999999"]),
        ("compressor", &["\"zlib\"", "5", "[]", "{}", "{\"id\": 5}"]),
        ("filters", &["5", "\"shuffle\"", "{}", "[5]", "[{}]", "[null]"]),
    ];
    let mut cases = Vec::new();
    for (member, values) in wrong {
        for value in values {
            let what = format!("{member}: {}", if value.is_empty() { "missing" } else { value });
            cases.push(case(what, &["v/.zarray", member], move |path| {
                store(path, &ints(member, value), &[0; 16])
            }));
        }
    }
    cases
}

/// Sizes that no machine can hold.
fn sizes() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |what: &str, names: &[&'static str], shape: String, chunks: String, dtype: &str| {
        let zarray = ints("shape", &shape)
            .replace("\"chunks\": [4]", &format!("\"chunks\": {chunks}"))
            .replace("\"<i4\"", &format!("\"{dtype}\""));
        cases.push(case(what, names, move |path| store(path, &zarray, &[0; 16])));
    };
    let huge = 1u64 << 63;
    add("2^63 elements", &["v"], format!("[{huge}]"), "[4]".to_owned(), "<i4");
    add("2^64 - 1 elements", &["v"], format!("[{}]", u64::MAX), "[4]".to_owned(), "<i4");
    add("2^126 elements", &["v"], format!("[{huge}, {huge}]"), "[4, 4]".to_owned(), "<i4");
    add("a chunk of 2^63 elements", &["/v", "chunks"], "[4]".to_owned(), format!("[{huge}]"), "<i4");
    add("a chunk of 2^40 elements", &["/v", "chunks"], "[4]".to_owned(), format!("[{}]", 1u64 << 40), "<i4");
    add(
        "a chunk whose size wraps to 0",
        &["/v", "chunks"],
        "[4, 4]".to_owned(),
        format!("[{0}, {0}]", 1u64 << 32),
        "<i4",
    );
    add("text of 2^60 bytes", &["v/.zarray"], "[4]".to_owned(), "[4]".to_owned(), "|S1152921504606846976");
    add("text of 2^62 points", &["v/.zarray"], "[4]".to_owned(), "[4]".to_owned(), "<U4611686018427387904");
    let many = format!("[{}]", vec!["1"; 2000].join(", "));
    add("2000 dimensions", &["v/.zarray", "shape"], many.clone(), many, "<i4");
    cases
}

/// Hierarchies that lead out of the store or to missing objects.
fn trees() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut group = |what: &str, names: &[&'static str], group: &'static str| {
        cases.push(case(what, names, move |path| {
            nczarr(path);
            put(
                path,
                ".zattrs",
                format!(r#"{{"_nczarr_superblock": {{"version": "2.0.0"}}, "_nczarr_group": {group}}}"#),
            );
        }));
    };
    group("an array called ..", &[".."], r#"{"dimensions": {"x": 4}, "arrays": [".."], "groups": []}"#);
    group("an array called ../v", &["../v"], r#"{"dimensions": {"x": 4}, "arrays": ["../v"], "groups": []}"#);
    group("a group called ..", &[".."], r#"{"dimensions": {"x": 4}, "arrays": ["v"], "groups": [".."]}"#);
    group("a group called .", &["\".\""], r#"{"dimensions": {"x": 4}, "arrays": ["v"], "groups": ["."]}"#);
    group("a group called a/b", &["a/b"], r#"{"dimensions": {"x": 4}, "arrays": ["v"], "groups": ["a/b"]}"#);
    group(
        "a listed array that is not there",
        &["w"],
        r#"{"dimensions": {"x": 4}, "arrays": ["v", "w"], "groups": []}"#,
    );
    group("an array listed twice", &["v"], r#"{"dimensions": {"x": 4}, "arrays": ["v", "v"], "groups": []}"#);
    group(
        "arrays that are no list",
        &[".zattrs", "arrays"],
        r#"{"dimensions": {"x": 4}, "arrays": 5, "groups": []}"#,
    );
    group(
        "an array that is no name",
        &[".zattrs", "arrays"],
        r#"{"dimensions": {"x": 4}, "arrays": [5], "groups": []}"#,
    );
    group(
        "dimensions that are a list",
        &[".zattrs", "dimensions"],
        r#"{"dimensions": [4], "arrays": ["v"], "groups": []}"#,
    );
    group(
        "a dimension of -4",
        &[".zattrs", "dimensions.x"],
        r#"{"dimensions": {"x": -4}, "arrays": ["v"], "groups": []}"#,
    );
    group(
        "a dimension that is text",
        &[".zattrs", "dimensions.x"],
        r#"{"dimensions": {"x": "4"}, "arrays": ["v"], "groups": []}"#,
    );
    group(
        "a dimension of another length",
        &["x", "5"],
        r#"{"dimensions": {"x": 5}, "arrays": ["v"], "groups": []}"#,
    );
    let mut array = |what: &str, names: &[&'static str], array: &'static str| {
        cases.push(case(what, names, move |path| {
            nczarr(path);
            put(path, "v/.zattrs", format!(r#"{{"_nczarr_array": {array}}}"#));
        }));
    };
    array("an unknown dimension", &["v/.zattrs", "/nosuch"], r#"{"dimension_references": ["/nosuch"]}"#);
    array(
        "two dimensions for one",
        &["v/.zattrs", "dimension_references"],
        r#"{"dimension_references": ["/x", "/x"]}"#,
    );
    array(
        "dimensions that are a number",
        &["v/.zattrs", "dimension_references"],
        r#"{"dimension_references": 5}"#,
    );
    array(
        "a dimension that is a number",
        &["v/.zattrs", "dimension_references"],
        r#"{"dimension_references": [5]}"#,
    );
    array("no object", &["v/.zattrs", "_nczarr_array"], "5");
    cases
}

/// Documents that are not JSON, or are too large.
fn documents() -> Vec<Case> {
    let mut cases = Vec::new();
    for key in [".zgroup", ".zattrs", ".zmetadata", "v/.zarray", "v/.zattrs"] {
        let bad: [(&str, Vec<u8>); 8] = [
            ("empty", Vec::new()),
            ("no JSON", b"zarr".to_vec()),
            ("cut short", b"{\"zarr_format\": 2".to_vec()),
            ("more behind it", b"{\"zarr_format\": 2} {}".to_vec()),
            ("no UTF-8", b"{\"a\": \"\xff\"}".to_vec()),
            ("a list", b"[]".to_vec()),
            ("200,000 lists deep", [vec![b'['; 200_000], vec![b']'; 200_000]].concat()),
            (
                "200,000 objects deep",
                ["{\"a\":".repeat(200_000).into_bytes(), b"1".to_vec(), vec![b'}'; 200_000]].concat(),
            ),
        ];
        for (what, bytes) in bad {
            cases.push(case(format!("{key}: {what}"), &[key], move |path| {
                nczarr(path);
                put(path, key, &bytes);
            }));
        }
        cases.push(case(format!("{key}: 65 MiB"), &[key], move |path| {
            nczarr(path);
            put(path, key, "");
            fs::File::options()
                .write(true)
                .open(path.join(key))
                .and_then(|file| file.set_len(65 << 20))
                .expect("room");
        }));
    }
    for (what, document) in [
        ("metadata that is a list", r#"{"zarr_consolidated_format": 1, "metadata": []}"#),
        ("no metadata", r#"{"zarr_consolidated_format": 1}"#),
        ("an unknown version", r#"{"zarr_consolidated_format": 9, "metadata": {}}"#),
        ("a document that is text", r#"{"zarr_consolidated_format": 1, "metadata": {".zgroup": "text"}}"#),
        (
            "a key that leaves the store",
            r#"{"zarr_consolidated_format": 1, "metadata": {".zgroup": {"zarr_format": 2}, "../v/.zarray": {}}}"#,
        ),
    ] {
        cases.push(case(format!(".zmetadata: {what}"), &[".zmetadata"], move |path| {
            store(path, &ints("", ""), &[0; 16]);
            put(path, ".zmetadata", document);
        }));
    }
    cases
}

/// Directories, links and other things in the place of an object.
fn places() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.push(case("a folder for a chunk", &["v/0"], |path| {
        store(path, &ints("", ""), &[]);
        fs::remove_file(path.join("v/0")).expect("the chunk");
        put(path, "v/0/x", "x");
    }));
    #[cfg(unix)]
    for key in [".zgroup", "v/.zarray", "v/0"] {
        use std::os::unix::fs::symlink;
        let replace = move |path: &Path| {
            nczarr(path);
            fs::remove_file(path.join(key)).expect("the object");
            path.join(key)
        };
        cases.push(case(format!("a link out of the store for {key}"), &[key], move |path| {
            let outside = path.with_extension("outside");
            fs::write(&outside, [0; 16]).expect("a file");
            symlink(outside, replace(path)).expect("a link");
        }));
        cases.push(case(format!("a link to itself for {key}"), &[key], move |path| {
            let place = replace(path);
            symlink(&place, &place).expect("a link");
        }));
        cases.push(case(format!("a pipe for {key}"), &[key], move |path| {
            let made = std::process::Command::new("mkfifo").arg(replace(path)).status();
            assert!(made.is_ok_and(|status| status.success()), "mkfifo");
        }));
    }
    cases
}

//! Targets for decoders: every filter and every element codec of the registry.
//!
//! Seeds are streams that our own encoders made. A target without seeds panics, so tests detect a new filter
//! or codec without seeds.

use std::sync::Arc;

use nczarr::codec::{ChunkInfo, ElementCodec, Filter, FilterClass, ItemKind, ItemType, Json, ZarrFormat};
use nczarr::{NcString, OutBuf, Registry};
use serde_json::json;

use super::rng::Rng;
use super::{Case, Entry, Outcome, Target, judged, mutate};

/// Filters that can decode to other data than they encoded.
const LOSSY: &[&str] = &[
    "fixedscaleoffset",
    "quantize",
    "bitround",
    "packbits",
    "astype",
    "categorize",
    "cast_value",
    "scale_offset",
];

/// Number of bytes after an output that the decoder must not change.
const GUARD: usize = 64;
const UNTOUCHED: u8 = 0xa5;

/// A stream, and the filter that made it.
struct Stream {
    filter: Box<dyn Filter>,
    /// Whether decoding returns the original data.
    exact: bool,
    about: String,
    data: Vec<u8>,
    encoded: Vec<u8>,
}

struct Filters {
    streams: Vec<Stream>,
}

/// Descriptions to try. A filter refuses those that it does not accept.
fn descriptions(name: &str) -> Vec<Json> {
    let mut all = vec![json!({"id": name})];
    all.extend([1, 4, 9].map(|level| json!({"id": name, "level": level})));
    match name {
        "shuffle" => all.extend([1, 2, 4, 7].map(|size| json!({"id": name, "elementsize": size}))),
        "szip" => {
            for mask in [4, 32, 4 | 8, 32 | 16] {
                all.extend(
                    [4, 8, 32].map(|pixels| json!({"id": name, "mask": mask, "pixels-per-block": pixels})),
                );
            }
        }
        "blosc" => {
            for cname in ["blosclz", "lz4", "lz4hc", "zlib", "zstd", "snappy"] {
                all.extend([0, 1, 2].map(
                    |shuffle| json!({"id": name, "cname": cname, "clevel": 5, "shuffle": shuffle, "blocksize": 0}),
                ));
                all.push(json!({"id": name, "cname": cname, "clevel": 9, "shuffle": 1, "blocksize": 64}));
            }
        }
        "lz4" => all.push(json!({"id": name, "acceleration": 10})),
        "lzma" => {
            let lzma2 = json!([{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]);
            all.push(json!({"id": name, "format": 2, "check": -1, "preset": null, "filters": null}));
            all.push(json!({"id": name, "format": 1, "check": 1, "preset": 1, "filters": null}));
            all.push(json!({"id": name, "format": 1, "check": -1, "preset": null, "filters": lzma2}));
            all.push(json!({"id": name, "format": 3, "check": -1, "preset": null, "filters": lzma2}));
        }
        "delta" => all.extend(["|i1", "<i4", ">u4", "<i8"].map(|dtype| json!({"id": name, "dtype": dtype}))),
        "fixedscaleoffset" => {
            for (dtype, astype) in [("<f4", "|u1"), ("<f8", "<i2"), ("<f8", ">i4")] {
                all.push(json!({"id": name, "scale": 10, "offset": 1, "dtype": dtype, "astype": astype}));
            }
        }
        "quantize" => {
            all.extend(["<f4", "<f8"].map(|dtype| json!({"id": name, "digits": 2, "dtype": dtype})))
        }
        "bitround" => all.extend([1, 10, 23].map(|bits| json!({"id": name, "keepbits": bits}))),
        "astype" => {
            for (encode, decode) in [("<i2", "<i4"), (">f4", "<f8"), ("|u1", "<f4")] {
                all.push(json!({"id": name, "encode_dtype": encode, "decode_dtype": decode}));
            }
        }
        "categorize" => all.push(json!({"id": name, "labels": ["ab", "é"], "dtype": "<U3", "astype": "|u1"})),
        "cast_value" => {
            for (ty, range) in
                [("uint8", "clamp"), ("int16", "wrap"), ("float32", "error"), ("uint64", "wrap")]
            {
                all.push(json!({"id": name, "data_type": ty, "out_of_range": range}));
            }
        }
        "scale_offset" => all.extend([2, 10].map(|scale| json!({"id": name, "scale": scale, "offset": 1}))),
        _ => all.extend(["start", "end"].map(|place| json!({"id": name, "location": place}))),
    }
    all
}

fn chunks() -> Vec<ChunkInfo<'static>> {
    let kinds = [
        (ItemKind::Bool, 1, false),
        (ItemKind::Int, 1, false),
        (ItemKind::UInt, 4, true),
        (ItemKind::Int, 4, false),
        (ItemKind::Int, 8, false),
        (ItemKind::Float, 4, false),
        (ItemKind::Float, 8, false),
        (ItemKind::Bytes, 12, false),
    ];
    let mut all = Vec::new();
    for (kind, size, big_endian) in kinds {
        for elements in [1, 16, 300] {
            let (item, chunk_bytes) = (ItemType { kind, size, big_endian }, size * elements);
            let row = if elements == 300 { 20 } else { elements };
            all.push(
                ChunkInfo::new(item, elements)
                    .item_size(size)
                    .chunk_bytes(chunk_bytes)
                    .row(row)
                    .array_row(Some(row))
                    .big_endian(big_endian),
            );
        }
    }
    all
}

/// Realistic data for elements of a kind.
fn data(rng: &mut Rng, chunk: &ChunkInfo<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(chunk.chunk_bytes);
    let (few, step) = (rng.one_in(2), rng.below(3));
    for at in 0..chunk.elements {
        let number = if few { rng.below(3) } else { at * step };
        let item = match (chunk.item.kind, chunk.item.size) {
            (ItemKind::Bool, _) => vec![(number % 2) as u8],
            (ItemKind::Float, 4) => (number as f32 * 0.5).to_le_bytes().to_vec(),
            (ItemKind::Float, _) => (number as f64 * 0.5).to_le_bytes().to_vec(),
            (ItemKind::Bytes, 12) => b"a\0\0\0b\0\0\0\0\0\0\0".to_vec(),
            (_, size) if chunk.big_endian => number.to_be_bytes()[8 - size..].to_vec(),
            (_, size) => number.to_le_bytes()[..size].to_vec(),
        };
        bytes.extend(item);
    }
    bytes
}

fn encoded(filter: &dyn Filter, data: &[u8]) -> nczarr::Result<Vec<u8>> {
    let mut memory = vec![0; filter.encode_bound(data.len()).unwrap_or(data.len() * 4 + 4096)];
    let mut out = OutBuf::from_slice(&mut memory);
    filter.encode(data, &mut out)?;
    Ok(out.filled().to_vec())
}

/// Runs a decoder into memory and checks a guard after it.
fn into_guarded(
    capacity: usize,
    decode: impl FnOnce(&mut OutBuf<'_>) -> nczarr::Result<()>,
) -> Result<nczarr::Result<Vec<u8>>, String> {
    let mut memory = vec![UNTOUCHED; capacity + GUARD];
    let (memory, guard) = memory.split_at_mut(capacity);
    let mut out = OutBuf::from_slice(memory);
    let decoded = decode(&mut out).map(|()| out.filled().to_vec());
    if guard.iter().any(|&byte| byte != UNTOUCHED) {
        return Err("bytes behind the output were written".to_owned());
    }
    judged(decoded.as_ref().map_err(Clone::clone))?;
    Ok(decoded)
}

impl Filters {
    fn of(class: &dyn FilterClass) -> Self {
        let name = class.info().name;
        let mut rng = Rng::of(name, 0, 0);
        let mut streams = Vec::new();
        let parsed =
            descriptions(name).into_iter().filter_map(|json| class.parse_json(&json, ZarrFormat::V2).ok());
        for filter in parsed.chain(class.parse_params(&[])) {
            for chunk in chunks() {
                let mut filter = filter.clone();
                if filter.bind(&chunk).is_err() {
                    continue;
                }
                let data = data(&mut rng, &chunk);
                if let Ok(encoded) = encoded(&*filter, &data) {
                    // `delta` of floats loses precision.
                    let rounded = name == "delta" && chunk.item.kind == ItemKind::Float;
                    let exact = !rounded && !LOSSY.contains(&name);
                    let about = format!(
                        "{}, {:?} of {} bytes",
                        filter.to_json(ZarrFormat::V2),
                        chunk.item,
                        data.len()
                    );
                    streams.push(Stream { filter, exact, about, data, encoded });
                }
            }
        }
        assert!(!streams.is_empty(), "no stream of the filter {name}");
        Self { streams }
    }
}

impl Target for Filters {
    fn case(&self, rng: &mut Rng) -> Case<'_> {
        let stream = rng.of_these(&self.streams);
        if rng.one_in(8) {
            let note = format!("to encode: {}", stream.about);
            return Case::of_bytes(note, rng.bytes(stream.data.len()), move |data| {
                there_and_back(stream, data)
            });
        }
        let len = stream.data.len();
        let source = match rng.below(8) {
            0 => {
                let len = rng.below(len * 2 + 40);
                rng.bytes(len)
            }
            1 => {
                let other = &rng.of_these(&self.streams).encoded;
                let (at, from) = (rng.below(stream.encoded.len() + 1), rng.below(other.len() + 1));
                [&stream.encoded[..at], &other[from..]].concat()
            }
            2 => stream.encoded.clone(),
            _ => {
                let mut source = stream.encoded.clone();
                mutate::bytes(rng, &mut source);
                source
            }
        };
        let declared = match rng.below(8) {
            0 => len.saturating_sub(1),
            1 => len + 1,
            2 => rng.below(len + 1),
            3 => len * 3 + rng.below(1 << 14),
            _ => len,
        };
        let (start, end) = (rng.below(declared + 1), rng.below(declared + 1));
        let wanted = start.min(end)..start.max(end);
        let note = format!("{} declared, parts {wanted:?}: {}", declared, stream.about);
        Case::of_bytes(note, source, move |source| {
            let filter = &stream.filter;
            let whole = into_guarded(declared, |out| filter.decode(source, out))?;
            if source == stream.encoded
                && declared >= len
                && stream.exact
                && !matches!(&whole, Ok(whole) if *whole == stream.data)
            {
                return Err(format!("a sound stream is decoded as {whole:?}"));
            }
            let part = into_guarded(wanted.len(), |out| {
                filter.decode_ranges(source, declared, std::slice::from_ref(&wanted), out).unwrap_or(Ok(()))
            })?;
            // A filter that cannot decode parts leaves them empty.
            if let (Ok(whole), Ok(part)) = (&whole, &part)
                && whole.len() == declared
                && part.len() == wanted.len()
                && *part != whole[wanted]
            {
                return Err("parts are decoded as something else than the whole".to_owned());
            }
            Ok(whole.is_ok())
        })
    }
}

fn there_and_back(stream: &Stream, data: &[u8]) -> Outcome {
    let exact = stream.exact;
    let encoded = match encoded(&*stream.filter, data) {
        Ok(encoded) => encoded,
        Err(error) if exact => return Err(format!("cannot be encoded: {error}")),
        Err(_) => return Ok(false),
    };
    match into_guarded(data.len(), |out| stream.filter.decode(&encoded, out))? {
        Ok(decoded) if decoded.len() == data.len() && (!exact || decoded == data) => Ok(true),
        Err(_) if !exact => Ok(false),
        Ok(decoded) => {
            Err(format!("{} bytes, of them other ones, come back for {}", decoded.len(), data.len()))
        }
        Err(error) => Err(format!("an encoded stream cannot be decoded: {error}")),
    }
}

/// A stream of an element codec and its elements.
struct Texts {
    codec: Box<dyn ElementCodec>,
    elements: Vec<NcString>,
    encoded: Vec<u8>,
}

struct Elements {
    streams: Vec<Texts>,
}

impl Elements {
    fn of(registry: &Registry, name: &str) -> Self {
        let class = registry.element(name).expect("it is in the registry");
        let descriptions = [
            json!({"id": name}),
            json!({"id": name, "dtype": "<i4"}),
            json!({"id": name, "dtype": ">f8"}),
            json!({"id": name, "ensure_ascii": false}),
            json!({"id": name, "use_bin_type": false}),
            json!({"id": name, "labels": ["", "ab", "é"], "dtype": "|O", "astype": "|u1"}),
        ];
        let mut streams = Vec::new();
        for description in descriptions {
            let Ok(codec) = class.parse(&description) else { continue };
            for texts in
                [&[][..], &[""], &["ab", "é", "", "ab"], &["\"\\\u{1}\u{10ffff}12345678901234"], &["ab"; 40]]
            {
                let size = codec.item().map_or(1, |item| item.size);
                let padded = |text: &&str| {
                    let mut bytes = text.as_bytes().to_vec();
                    bytes.resize(bytes.len().next_multiple_of(size), 0);
                    NcString::from(bytes)
                };
                let elements: Vec<_> = texts.iter().map(padded).collect();
                let mut encoded = Vec::new();
                if codec.encode(&elements, &mut encoded).is_ok() {
                    streams.push(Texts { codec: codec.clone(), elements, encoded });
                }
            }
        }
        assert!(!streams.is_empty(), "no stream of the element codec {name}");
        Self { streams }
    }
}

impl Target for Elements {
    fn case(&self, rng: &mut Rng) -> Case<'_> {
        let stream = rng.of_these(&self.streams);
        let mut source = stream.encoded.clone();
        match rng.below(8) {
            0 => {
                let len = rng.below(200);
                source = rng.bytes(len);
            }
            1 => {}
            _ => mutate::bytes(rng, &mut source),
        }
        let sound = stream.elements.len();
        let count = *rng.of_these(&[
            sound,
            sound,
            sound,
            sound + 1,
            sound.saturating_sub(1),
            1 << 20,
            usize::MAX >> 8,
        ]);
        let limit = *rng.of_these(&[1 << 20, 1 << 20, 1 << 12, 100, 0]);
        let note = format!("{count} elements in {limit} bytes: {}", stream.codec.to_json());
        Case::of_bytes(note, source, move |source| {
            let decoded = stream.codec.decode(source, count, limit);
            judged(decoded.as_ref().map_err(Clone::clone))?;
            if source == stream.encoded
                && count == sound
                && limit == 1 << 20
                && !matches!(&decoded, Ok(all) if *all == stream.elements)
            {
                return Err(format!("a sound stream is decoded as {decoded:?}"));
            }
            match decoded {
                Ok(elements) if elements.len() != count => {
                    Err(format!("{} elements for {count}", elements.len()))
                }
                decoded => Ok(decoded.is_ok()),
            }
        })
    }
}

pub(super) fn entries(registry: &Arc<Registry>) -> Vec<Entry> {
    let mut all = Vec::new();
    // A filter that cannot encode has no seeds. Other tests damage files that other programs wrote with it.
    for class in registry.filters().filter(|class| class.can_encode()) {
        let class = Arc::clone(class);
        all.push(Entry::new(format!("filter/{}", class.info().name), move || Filters::of(&*class)));
    }
    for class in registry.elements() {
        let (Some(&name), registry) = (class.names().first(), Arc::clone(registry)) else { continue };
        // This codec decodes nothing, because the library refuses its description.
        if name != "pickle" {
            all.push(Entry::new(format!("element/{name}"), move || Elements::of(&registry, name)));
        }
    }
    all
}

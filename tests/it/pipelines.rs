//! One to four random filters with random parameters encode random data and decode them unchanged.
//!
//! The tests use all compatible filters that a Zarr V2 document can name. They also copy to a new dataset,
//! whose documents come from the filters. Lossy filters get data that they preserve.

use std::collections::BTreeSet;
use std::fs;

use nczarr::Variable;
use serde_json::{Value, json};

/// A small deterministic random number generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 16) % end
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }
}

/// The elements between two filters: NumPy's letter and size. With `small` they are integers up to 1000.
#[derive(Debug, Clone, Copy)]
struct Items {
    letter: char,
    size: u64,
    big: bool,
    small: bool,
}

impl Items {
    const BYTES: Self = Self { letter: 'u', size: 1, big: false, small: false };

    fn dtype(self) -> String {
        let order = if self.size == 1 { '|' } else { ['<', '>'][usize::from(self.big)] };
        format!("{order}{}{}", self.letter, self.size)
    }

    /// Another type that can hold the values.
    fn wider(self, random: &mut Random) -> Self {
        let floats: &[u64] = match (self.small, self.size) {
            // Values up to 1000 do not fit in one byte.
            (true, _) => &[2, 4, 8],
            (false, 1 | 2) => &[4, 8],
            (false, 4) => &[8],
            _ => &[],
        };
        let ints: Vec<u64> =
            [1, 2, 4, 8].into_iter().filter(|&size| size > self.size || self.size == 1).collect();
        let letters: &[char] = match self.letter {
            'f' => &['f'],
            _ if ints.is_empty() || random.below(2) == 0 && !floats.is_empty() => &['f'],
            letter => &[letter],
        };
        let letter = random.pick(letters);
        let size = match letter {
            'f' if self.letter == 'f' && !self.small => self.size,
            'f' if floats.is_empty() => return self,
            'f' => random.pick(floats),
            _ => random.pick(&ints),
        };
        Self { letter, size, big: random.below(2) == 0, ..self }
    }
}

const COMPRESSORS: u64 = 14;

/// A random filter of bytes.
fn compressor(random: &mut Random) -> Value {
    match random.below(COMPRESSORS) {
        0 => json!({"id": "zlib", "level": random.below(10)}),
        1 => json!({"id": "gzip", "level": random.below(10)}),
        2 => json!({"id": "bz2", "level": 1 + random.below(9)}),
        3 => json!({"id": "lz4", "acceleration": 1 + random.below(9)}),
        4 => json!({"id": "lzma", "format": 1, "check": -1, "preset": random.below(4), "filters": null}),
        5 => json!({"id": "zstd", "level": random.below(9), "checksum": random.below(2) == 0}),
        6 => {
            let cname = random.pick(&["blosclz", "lz4", "lz4hc", "zlib", "zstd"]);
            let shuffle = random.pick(&[-1, 0, 1, 2]);
            json!({"id": "blosc", "cname": cname, "clevel": random.below(10), "shuffle": shuffle, "blocksize": 0})
        }
        7 => json!({"id": "shuffle", "elementsize": 1 + random.below(9)}),
        8 => json!({"id": "fletcher32"}),
        9 => json!({"id": "crc32", "location": random.pick(&["start", "end"])}),
        10 => json!({"id": "crc32c", "location": random.pick(&["start", "end"])}),
        11 => json!({"id": "adler32"}),
        12 => json!({"id": "jenkins_lookup3", "initval": random.below(9), "prefix": null}),
        _ => json!({"id": "zlib"}),
    }
}

/// Returns a filter that fits, and the elements that it makes.
fn filter(random: &mut Random, items: Items) -> (Value, Items) {
    let dtype = items.dtype();
    let number = items.letter != 'b';
    match random.below(8) {
        // The filter treats elements as integers of their size and restores each one exactly.
        0 | 1 => {
            let (letter, big) = (random.pick(&['i', 'u']), random.below(2) == 0);
            let from = Items { letter, big, small: false, ..items };
            let size = random.pick(&[1, 2, 4, 8]).max(items.size);
            let to = Items { size, big: random.below(2) == 0, ..from };
            match random.below(3) {
                0 if matches!(items.letter, 'i' | 'u') => {
                    (json!({"id": "delta", "dtype": dtype}), Items { small: false, ..items })
                }
                _ => (json!({"id": "delta", "dtype": from.dtype(), "astype": to.dtype()}), to),
            }
        }
        2 if items.letter == 'f' && items.small => {
            (json!({"id": "delta", "dtype": dtype, "astype": dtype}), Items { small: false, ..items })
        }
        3 if number => {
            let to = items.wider(random);
            (json!({"id": "astype", "decode_dtype": dtype, "encode_dtype": to.dtype()}), to)
        }
        4 if items.letter == 'f' && items.small && items.size > 2 => {
            let to =
                Items { letter: 'i', size: random.pick(&[4, 8]), big: random.below(2) == 0, small: false };
            let (offset, scale) =
                (random.below(200) as i64 - 100, random.pick(&[json!(1), json!(2.0), json!(-8)]));
            let offset = if random.below(2) == 0 { json!(offset) } else { json!(offset as f64) };
            let codec = json!({"id": "fixedscaleoffset", "scale": scale, "offset": offset, "dtype": dtype,
                "astype": to.dtype()});
            (codec, to)
        }
        5 if items.letter == 'f' && items.small && items.size > 2 => {
            let to = Items { size: random.pick(&[4, 8]), big: random.below(2) == 0, ..items };
            (json!({"id": "quantize", "digits": random.below(4), "dtype": dtype, "astype": to.dtype()}), to)
        }
        6 if items.letter == 'f' && items.small => {
            let mantissa =
                [(2, 10), (4, 23), (8, 52)].into_iter().find(|(size, _)| *size == items.size).unwrap().1;
            (json!({"id": "bitround", "keepbits": mantissa - random.below(mantissa - 8)}), items)
        }
        7 if !number => (json!({"id": "packbits"}), Items::BYTES),
        _ => (compressor(random), Items::BYTES),
    }
}

/// The elements of an array as bytes in memory order.
fn data(random: &mut Random, items: Items, count: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..count {
        let any = random.next();
        let most = if items.size == 1 { 100 } else { 1000 };
        let small = (any % most) as i64;
        match (items.letter, items.size) {
            ('b', _) => bytes.push((any & 1) as u8),
            ('f', 2 | 4) => bytes.extend((small as f32 - 500.0).to_ne_bytes()),
            ('f', _) => bytes.extend((small as f64 - 500.0).to_ne_bytes()),
            (_, size) => {
                let value = if items.small { small } else { any as i64 };
                let all = value.to_le_bytes();
                let mut element = all[..size as usize].to_vec();
                if cfg!(target_endian = "big") {
                    element.reverse();
                }
                bytes.extend(element);
            }
        }
    }
    bytes
}

fn write(store: &std::path::Path, array: &Value) {
    fs::create_dir_all(store.join("v")).unwrap();
    fs::write(store.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    fs::write(store.join("v/.zarray"), array.to_string()).unwrap();
}

/// Makes the document of an array with these codecs. The last codec can be the compressor.
fn document(random: &mut Random, dtype: &str, fill: Value, mut codecs: Vec<Value>) -> (Value, [u64; 2]) {
    let shape = [1 + random.below(20), 1 + random.below(12)];
    let chunks = [1 + random.below(shape[0]), 1 + random.below(shape[1])];
    let ends = !dtype.ends_with('O') || codecs.len() > 1;
    let compressor = (ends && random.below(2) == 0).then(|| codecs.pop()).flatten();
    let order = random.pick(&["C", "F"]);
    let document = json!({"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype, "fill_value": fill,
        "order": order, "compressor": compressor, "filters": codecs});
    (document, shape)
}

fn raw(variable: &Variable, len: usize) -> Vec<u8> {
    let mut found = vec![0; len];
    variable.get_raw(&mut found, ..).unwrap();
    found
}

fn numbers(seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (letter, size) = random.pick(&[
        ('b', 1),
        ('i', 1),
        ('u', 1),
        ('i', 2),
        ('u', 2),
        ('i', 4),
        ('u', 4),
        ('i', 8),
        ('u', 8),
        ('f', 4),
        ('f', 8),
        ('f', 2),
        ('f', 8),
    ]);
    let big = size > 1 && random.below(2) == 0;
    let first = Items { letter, size, big, small: letter == 'f' || random.below(2) == 0 };
    let mut items = first;
    let codecs: Vec<Value> = (0..1 + random.below(4))
        .map(|_| {
            let (codec, next) = filter(&mut random, items);
            items = next;
            codec
        })
        .collect();
    let fill = if letter == 'b' { json!(false) } else { json!(0) };
    let (array, shape) = document(&mut random, &first.dtype(), fill, codecs);
    println!("seed {seed}: {array}");
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("x.zarr");
    write(&store, &array);
    let path = store.display().to_string();
    let values = data(&mut random, first, shape[0] * shape[1]);
    let file = nczarr::append(&path).unwrap();
    file.variable("v").unwrap().put_raw(&values, ..).unwrap();
    file.close().unwrap();
    let file = nczarr::open(&path).unwrap();
    let variable = file.variable("v").unwrap();
    assert_eq!(raw(&variable, values.len()), values);
    // In a new dataset the filters describe themselves. Booleans and float16 have another type there, and a
    // filter that was defined twice occurs once.
    let names: BTreeSet<_> = variable.filters().into_iter().map(|filter| filter.name).collect();
    let same = letter != 'b' && (letter, size) != ('f', 2) && names.len() == variable.filters().len();
    for modes in if same { &["nczarr", "zarr"][..] } else { &[] } {
        let path = format!("file://{}/{modes}#mode={modes},file", folder.path().display());
        let copy = nczarr::create(&path).unwrap();
        for dim in variable.dimensions() {
            if copy.dimension(&dim.name()).is_err() {
                copy.add_dimension(&dim.name(), dim.len()).unwrap();
            }
        }
        copy.copy_variable(&variable).unwrap();
        copy.close().unwrap();
        let copy = nczarr::open(&path).unwrap();
        let copied = copy.variable("v").unwrap();
        assert_eq!(raw(&copied, values.len()), values, "as {modes}");
        assert_eq!(copied.filters().len(), variable.filters().len());
    }
}

#[test]
fn numbers_come_back_through_any_pipeline() {
    for seed in 0..300 {
        numbers(seed);
    }
}

fn texts(seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let labels = ["red", "grün", "水", "🌊"];
    let codes = random.pick(&["|u1", "<u2", ">i4", "<f4"]);
    let categories = json!({"id": "categorize", "labels": labels, "dtype": "|O", "astype": codes});
    let (dtype, first) = match random.below(5) {
        0 => ("<U4", json!({"id": "categorize", "labels": labels, "dtype": "<U4", "astype": codes})),
        1 => ("|O", categories),
        2 => ("|O", json!({"id": "json2", "encoding": "utf-8", "ensure_ascii": random.below(2) == 0})),
        3 => ("|O", json!({"id": "msgpack2", "use_bin_type": random.below(2) == 0})),
        _ => ("|O", json!({"id": "vlen-utf8"})),
    };
    let mut codecs = vec![first];
    codecs.extend((0..random.below(4)).map(|_| compressor(&mut random)));
    let (array, shape) = document(&mut random, dtype, json!(""), codecs);
    println!("seed {seed}: {array}");
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &array);
    let path = format!("file://{}#mode=zarr,file", folder.path().display());
    let values: Vec<&str> =
        (0..shape[0] * shape[1]).map(|_| random.pick(&["", "red", "grün", "水", "🌊"])).collect();
    let file = nczarr::append(&path).unwrap();
    file.variable("v").unwrap().put_strings(&values, ..).unwrap();
    file.close().unwrap();
    let found = nczarr::open(&path).unwrap().variable("v").unwrap().get_strings(..).unwrap();
    assert!(found.iter().eq(&values));
}

#[test]
fn text_comes_back_through_any_pipeline() {
    for seed in 0..150 {
        texts(seed);
    }
}

#[test]
fn a_pickle_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        &json!({"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|O", "fill_value": null, "order": "C",
            "compressor": null, "filters": [{"id": "pickle", "protocol": 4}]}),
    );
    fs::write(folder.path().join("v/0"), b"\x80\x04N.").unwrap();
    let file = nczarr::open(format!("file://{}#mode=zarr,file", folder.path().display())).unwrap();
    let error = file.variable("v").unwrap().get_strings(..).unwrap_err();
    assert!(error.to_string().contains("\"pickle\" is refused"), "{error}");
}

//! Mutates bytes, and JSON documents as trees.
//!
//! The mutations do not know the format of the bytes, but they use numbers and words that often cause errors
//! in readers.

use serde_json::{Map, Value, json};

use super::rng::Rng;

/// Numbers at and near the limits of types.
const EXTREMES: &[u64] = &[
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];

/// Words that have a meaning for some reader, and unusual words.
const WORDS: &[&str] = &[
    "",
    ".",
    "..",
    "/",
    "//",
    "a/b",
    "../v",
    "\0",
    "é",
    "\u{fffd}",
    "\u{10ffff}",
    "NaN",
    "Infinity",
    "-Infinity",
    "0x",
    "0x7fc00000",
    "<i4",
    ">f8",
    "|b1",
    "|S0",
    "|S9999999999",
    "<U4",
    "<U1073741824",
    "|O",
    "<M8[ns]",
    "<m8[7D]",
    "<c16",
    "|V8",
    "<f2",
    "<i3",
    "|u1",
    "C",
    "F",
    "zlib",
    "gzip",
    "blosc",
    "zstd",
    "bz2",
    "lzma",
    "lz4",
    "shuffle",
    "fletcher32",
    "delta",
    "vlen-utf8",
    "vlen-bytes",
    "vlen-array",
    "json2",
    "msgpack2",
    "pickle",
    "packbits",
    "/x",
    "x",
    "time",
    "chunked",
    "contiguous",
    "compact",
    "scalar",
    "2.0.0",
    "1.0.0",
    "99",
    "4294967296",
    "AAAA",
    "====",
    "_FillValue",
    "_ARRAY_DIMENSIONS",
    "_nczarr_array",
    "_nczarr_group",
    "_nczarr_attrs",
    "_nczarr_superblock",
    "zarr_consolidated_format",
];

/// Changes bytes in one to four places.
pub fn bytes(rng: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..=rng.below(4) {
        change(rng, bytes);
    }
}

fn change(rng: &mut Rng, bytes: &mut Vec<u8>) {
    // Half of the changes hit the two ends of a stream, which contain headers and checksums.
    let at = match rng.below(4) {
        0 => rng.below(bytes.len().min(32)),
        1 => bytes.len() - rng.below(bytes.len().min(32)).min(bytes.len()),
        _ => rng.below(bytes.len()),
    };
    let rest = bytes.len() - at.min(bytes.len());
    let many = rng.below(16).min(rest);
    match rng.below(9) {
        0 | 1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << rng.below(8);
            }
        }
        2 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = rng.number() as u8;
            }
        }
        3 | 4 => {
            let number = rng.of_these(EXTREMES).wrapping_sub(u64::from(rng.one_in(3)));
            let width = 1usize << rng.below(4);
            let big = number.to_be_bytes();
            let number = if rng.one_in(2) {
                big[8 - width..].to_vec()
            } else {
                number.to_le_bytes()[..width].to_vec()
            };
            for (place, byte) in bytes.iter_mut().skip(at).zip(number) {
                *place = byte;
            }
        }
        5 => bytes.truncate(at),
        6 => drop(bytes.drain(at..at + many)),
        7 => {
            let new = if rng.one_in(2) { rng.bytes(many) } else { vec![0; many] };
            drop(bytes.splice(at..at, new));
        }
        _ => {
            let from = rng.below(bytes.len());
            let copied = bytes[from..(from + many).min(bytes.len())].to_vec();
            drop(bytes.splice(at..at, copied));
        }
    }
}

/// Mutates a JSON document as a tree. Invalid JSON, and a random part of all documents, is mutated as bytes.
pub fn document(rng: &mut Rng, text: &[u8]) -> Vec<u8> {
    let tree = if rng.one_in(4) { None } else { serde_json::from_slice::<Value>(text).ok() };
    let Some(mut tree) = tree else {
        let mut text = text.to_vec();
        bytes(rng, &mut text);
        return text;
    };
    for _ in 0..=rng.below(3) {
        let count = count(&tree);
        let at = rng.below(count);
        let other = pick(&tree, &mut rng.below(count)).cloned().unwrap_or_default();
        if let Some(node) = pick_mut(&mut tree, &mut { at }) {
            alter(rng, node, other);
        }
    }
    let mut text = tree.to_string().into_bytes();
    if rng.one_in(16) {
        bytes(rng, &mut text);
    }
    if rng.one_in(32) {
        // Repeats the members in the text, because a tree cannot hold duplicate members.
        let again: Vec<u8> = text.iter().skip(1).copied().collect();
        text.pop();
        text.push(b',');
        text.extend(again);
    }
    text
}

fn count(node: &Value) -> usize {
    1 + match node {
        Value::Array(items) => items.iter().map(count).sum::<usize>(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

fn pick<'a>(node: &'a Value, at: &mut usize) -> Option<&'a Value> {
    if *at == 0 {
        return Some(node);
    }
    *at -= 1;
    match node {
        Value::Array(items) => items.iter().find_map(|item| pick(item, at)),
        Value::Object(members) => members.values().find_map(|item| pick(item, at)),
        _ => None,
    }
}

fn pick_mut<'a>(node: &'a mut Value, at: &mut usize) -> Option<&'a mut Value> {
    if *at == 0 {
        return Some(node);
    }
    *at -= 1;
    match node {
        Value::Array(items) => items.iter_mut().find_map(|item| pick_mut(item, at)),
        Value::Object(members) => members.values_mut().find_map(|item| pick_mut(item, at)),
        _ => None,
    }
}

/// A value that the document does not expect.
fn odd(rng: &mut Rng) -> Value {
    let extreme = *rng.of_these(EXTREMES);
    match rng.below(12) {
        0 => Value::Null,
        1 => json!(rng.one_in(2)),
        2 | 3 => json!(extreme),
        4 => json!((extreme as i64).wrapping_neg()),
        5 => json!(*rng.of_these(&[0.5, -0.0, 1e300, -1e-300, 1e19, 1.5e9, f64::MAX])),
        6 | 7 => json!(*rng.of_these(WORDS)),
        8 => json!([]),
        9 => json!({}),
        10 => {
            let depth = *rng.of_these(&[2, 10, 100, 127, 128, 129, 200]);
            (0..depth).fold(json!(1), |inner, _| json!([inner]))
        }
        _ => json!(vec![rng.below(5); rng.below(40)]),
    }
}

fn alter(rng: &mut Rng, node: &mut Value, other: Value) {
    match (rng.below(8), node) {
        (0..4, Value::Object(members)) => alter_members(rng, members, other),
        (0..4, Value::Array(items)) => match rng.below(5) {
            0 if !items.is_empty() => drop(items.remove(rng.below(items.len()))),
            1 => items.insert(rng.below(items.len() + 1), other),
            2 => items.push(odd(rng)),
            3 if !items.is_empty() => {
                let (one, two) = (rng.below(items.len()), rng.below(items.len()));
                items.swap(one, two);
            }
            _ => items.extend(items.clone()),
        },
        (0..3, Value::String(text)) => {
            let at = (0..=rng.below(text.len() + 1)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            match rng.below(3) {
                0 => text.truncate(at),
                1 => text.insert_str(at, rng.of_these::<&str>(WORDS)),
                _ => *text = text.chars().rev().collect(),
            }
        }
        (0..4, Value::Number(number)) => {
            let by = *rng.of_these(&[-2, -1, 1, 2, 7, 1 << 20, 1 << 40]);
            if let Some(found) = number.as_i64() {
                *number = found.wrapping_add(by).into();
            }
        }
        (4, node) => *node = other,
        (_, node) => *node = odd(rng),
    }
}

fn alter_members(rng: &mut Rng, members: &mut Map<String, Value>, other: Value) {
    let names: Vec<_> = members.keys().cloned().collect();
    if names.is_empty() || rng.one_in(5) {
        members.insert((*rng.of_these(WORDS)).to_owned(), other);
        return;
    }
    let (one, two) = (rng.of_these(&names), rng.of_these(&names));
    match rng.below(4) {
        0 => drop(members.shift_remove(one)),
        1 => {
            let (first, second) = (members[one].clone(), members[two].clone());
            members.insert(one.clone(), second);
            members.insert(two.clone(), first);
        }
        2 => {
            if let Some(value) = members.shift_remove(one) {
                members.insert((*rng.of_these(WORDS)).to_owned(), value);
            }
        }
        _ => drop(members.insert(one.clone(), odd(rng))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_too_short_to_be_changed() {
        for len in 0..4 {
            for number in 0..2000 {
                bytes(&mut Rng::of("bytes", 1, number), &mut vec![7; len]);
                document(&mut Rng::of("document", 1, number), &b"{\"a\": [1, \"\"]}"[..len]);
            }
        }
    }

    #[test]
    fn a_document_is_changed_in_most_cases() {
        let text = br#"{"zarr_format":2,"shape":[4,3],"filters":null,"x":{"y":"z"}}"#;
        let changed =
            (0..1000).filter(|&number| document(&mut Rng::of("document", 1, number), text) != text).count();
        assert!(changed > 900, "{changed}");
    }
}

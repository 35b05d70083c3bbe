//! [`Dtype`]: the element types in codec descriptions (`<i4`, `|b1`, `float32` …).
//!
//! It keeps the original text. It supports only numbers and booleans, because filters compute with nothing
//! else.
//!
//! Source: NumPy's type strings; Zarr V3's names of its core types.

use nczarr_codec::{ItemKind, ItemType, Json};

/// A type of numbers or booleans, and its spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dtype {
    text: String,
    pub(crate) item: ItemType,
}

impl Dtype {
    /// Parses a type name. One without byte order is little-endian.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (order, name) = match text.as_bytes().first()? {
            b'<' | b'>' | b'|' | b'=' => text.split_at(1),
            _ => ("", text),
        };
        let (kind, size) = match name {
            "b1" => (ItemKind::Bool, 1),
            "i1" => (ItemKind::Int, 1),
            "i2" => (ItemKind::Int, 2),
            "i4" => (ItemKind::Int, 4),
            "i8" => (ItemKind::Int, 8),
            "u1" => (ItemKind::UInt, 1),
            "u2" => (ItemKind::UInt, 2),
            "u4" => (ItemKind::UInt, 4),
            "u8" => (ItemKind::UInt, 8),
            "f2" => (ItemKind::Float, 2),
            "f4" => (ItemKind::Float, 4),
            "f8" => (ItemKind::Float, 8),
            _ if !order.is_empty() => return None,
            "bool" => (ItemKind::Bool, 1),
            "int8" => (ItemKind::Int, 1),
            "int16" => (ItemKind::Int, 2),
            "int32" => (ItemKind::Int, 4),
            "int64" => (ItemKind::Int, 8),
            "uint8" => (ItemKind::UInt, 1),
            "uint16" => (ItemKind::UInt, 2),
            "uint32" => (ItemKind::UInt, 4),
            "uint64" => (ItemKind::UInt, 8),
            "float16" => (ItemKind::Float, 2),
            "float32" => (ItemKind::Float, 4),
            "float64" => (ItemKind::Float, 8),
            _ => return None,
        };
        let item = ItemType { kind, size, big_endian: order == ">" && size > 1 };
        Some(Self { text: text.to_owned(), item })
    }

    /// Returns the description of a type, if it is numeric.
    #[cfg(any(feature = "numeric", test))]
    pub(crate) fn of(item: ItemType) -> Option<Self> {
        let letter = match item.kind {
            ItemKind::Bool => 'b',
            ItemKind::Int => 'i',
            ItemKind::UInt => 'u',
            ItemKind::Float => 'f',
            _ => return None,
        };
        let order = match (item.size, item.big_endian) {
            (1, _) => '|',
            (_, false) => '<',
            (_, true) => '>',
        };
        Self::parse(&format!("{order}{letter}{}", item.size))
    }

    /// Returns its spelling as JSON.
    pub(crate) fn json(&self) -> Json {
        Json::String(self.text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_generations() {
        let item = |kind, size, big_endian| Some(ItemType { kind, size, big_endian });
        for (text, expected) in [
            ("<i4", item(ItemKind::Int, 4, false)),
            (">i4", item(ItemKind::Int, 4, true)),
            ("i4", item(ItemKind::Int, 4, false)),
            ("=f2", item(ItemKind::Float, 2, false)),
            (">f8", item(ItemKind::Float, 8, true)),
            ("|b1", item(ItemKind::Bool, 1, false)),
            (">u1", item(ItemKind::UInt, 1, false)),
            ("float32", item(ItemKind::Float, 4, false)),
            ("bool", item(ItemKind::Bool, 1, false)),
            ("", None),
            ("<", None),
            ("<i3", None),
            ("<float32", None),
            ("|O", None),
            ("<c8", None),
            ("<U5", None),
            ("<M8[ns]", None),
            ("ä", None),
        ] {
            let found = Dtype::parse(text);
            assert_eq!(found.as_ref().map(|dtype| dtype.item), expected, "{text}");
            if let Some(found) = found {
                assert_eq!(found.json(), text);
                assert_eq!(Dtype::of(found.item).unwrap().item, found.item);
            }
        }
        assert_eq!(Dtype::of(ItemType::BYTES), None);
        assert_eq!(Dtype::of(ItemType { kind: ItemKind::Float, size: 16, big_endian: false }), None);
    }
}

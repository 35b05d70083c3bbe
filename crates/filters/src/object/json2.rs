//! Text as JSON (codec id `json2`).
//!
//! * Zarr V2: `{"id": "json2", "encoding": "utf-8", …}` with the parameters of Python's encoder, which are
//!   kept
//! * Stored: `["a",null,"|O",[2]]`
//!
//! The output is compact, and ASCII unless `ensure_ascii` is false. Decoding ignores the parameters.

use std::fmt;

use nczarr_codec::{ElementChunk, ElementClass, ElementCodec, ElementPlugin, Json, inventory};
use nczarr_model::{ErrorKind, NcString, Result};
use serde_json::json;

use super::{MemoryBudget, NestedOrder, ObjectNode, elements, text, token};

const NAME: &str = "json2";

/// The class of `json2`.
pub struct Json2Class;

inventory::submit! { ElementPlugin(&Json2Class) }

impl ElementClass for Json2Class {
    fn names(&self) -> &'static [&'static str] {
        static NAMES: [&str; 2] = ["json2", "numcodecs.json2"];
        &NAMES
    }

    fn about(&self) -> &'static str {
        "text of any length, as a list in JSON"
    }

    fn parse(&self, codec: &Json) -> Result<Box<dyn ElementCodec>> {
        let members = codec.get("configuration").filter(|_| crate::json::is_v3(codec)).unwrap_or(codec);
        match members.get("encoding") {
            None | Some(Json::Null) => {}
            Some(Json::String(name)) if is_utf8(name) => {}
            Some(other) => {
                return Err(ErrorKind::Filter
                    .context(format!("json2: expected \"encoding\" to be utf-8, found {other}")));
            }
        }
        let ascii = members.get("ensure_ascii") != Some(&Json::Bool(false));
        let codec = if codec.is_object() { codec.clone() } else { json!({"id": NAME}) };
        Ok(Box::new(Json2 { codec, ascii, order: NestedOrder::default() }))
    }
}

/// Whether an encoding of this name is UTF-8.
fn is_utf8(name: &str) -> bool {
    ["utf-8", "utf8", "utf_8"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

#[derive(Debug, Clone)]
struct Json2 {
    codec: Json,
    ascii: bool,
    order: NestedOrder,
}

impl ElementCodec for Json2 {
    fn name(&self) -> &str {
        NAME
    }

    fn to_json(&self) -> Json {
        self.codec.clone()
    }

    fn bind(&mut self, chunk: &ElementChunk<'_>) -> Result<()> {
        self.order = NestedOrder::of(chunk);
        Ok(())
    }

    fn encode(&self, elements: &[NcString], out: &mut Vec<u8>) -> Result<()> {
        let failed =
            |error| ErrorKind::Internal.context("json2: text that does not become JSON").caused_by(error);
        out.clear();
        out.push(b'[');
        for (index, element) in elements.iter().enumerate() {
            let quoted = serde_json::to_string(text(NAME, index, element)?).map_err(failed)?;
            if self.ascii {
                escape(&quoted, out)
            } else {
                out.extend_from_slice(quoted.as_bytes())
            }
            out.push(b',');
        }
        out.extend_from_slice(format!("\"|O\",[{}]]", elements.len()).as_bytes());
        Ok(())
    }

    fn decode(&self, src: &[u8], count: usize, limit: usize) -> Result<Vec<NcString>> {
        let failed = |error: serde_json::Error| ErrorKind::Filter.context(format!("{NAME}: {error}"));
        let mut budget = MemoryBudget::new(limit);
        let mut reader = serde_json::Deserializer::from_slice(src);
        let node =
            serde_core::de::DeserializeSeed::deserialize(Seed(&mut budget), &mut reader).map_err(failed)?;
        reader.end().map_err(failed)?;
        match node {
            ObjectNode::List(list) => elements(NAME, list, count, self.order),
            other => {
                Err(ErrorKind::Filter.context(format!("{NAME}: expected a list, found {}", other.kind())))
            }
        }
    }
}

/// Appends JSON text with non-ASCII characters as `\u`. Only strings contain such characters.
fn escape(json: &str, out: &mut Vec<u8>) {
    for character in json.chars() {
        if character.is_ascii() {
            out.push(character as u8);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
        }
    }
}

/// Reads one value within the budget.
struct Seed<'b>(&'b mut MemoryBudget);

impl Seed<'_> {
    fn take<E: serde_core::de::Error>(&mut self, text: usize) -> std::result::Result<(), E> {
        self.0.take(text).map_err(E::custom)
    }
}

impl<'de> serde_core::de::DeserializeSeed<'de> for Seed<'_> {
    type Value = ObjectNode;

    fn deserialize<D: serde_core::Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<ObjectNode, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> serde_core::de::Visitor<'de> for Seed<'_> {
    type Value = ObjectNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: serde_core::de::Error>(mut self, value: bool) -> std::result::Result<ObjectNode, E> {
        self.take(0)?;
        Ok(ObjectNode::Bool(value))
    }

    fn visit_i64<E: serde_core::de::Error>(mut self, value: i64) -> std::result::Result<ObjectNode, E> {
        self.take(0)?;
        Ok(ObjectNode::Token(value.to_string()))
    }

    fn visit_u64<E: serde_core::de::Error>(mut self, value: u64) -> std::result::Result<ObjectNode, E> {
        self.take(0)?;
        Ok(ObjectNode::Number(value))
    }

    fn visit_f64<E: serde_core::de::Error>(mut self, value: f64) -> std::result::Result<ObjectNode, E> {
        self.take(0)?;
        Ok(ObjectNode::Token(token(value)))
    }

    fn visit_unit<E: serde_core::de::Error>(mut self) -> std::result::Result<ObjectNode, E> {
        self.take(0)?;
        Ok(ObjectNode::Null)
    }

    fn visit_str<E: serde_core::de::Error>(mut self, text: &str) -> std::result::Result<ObjectNode, E> {
        self.take(text.len())?;
        Ok(ObjectNode::Text(text.into()))
    }

    fn visit_seq<A: serde_core::de::SeqAccess<'de>>(
        mut self,
        mut list: A,
    ) -> std::result::Result<ObjectNode, A::Error> {
        self.take(0)?;
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element_seed(Seed(self.0))? {
            nodes.push(node);
        }
        Ok(ObjectNode::List(nodes))
    }

    fn visit_map<A: serde_core::de::MapAccess<'de>>(
        mut self,
        mut map: A,
    ) -> std::result::Result<ObjectNode, A::Error> {
        self.take(0)?;
        let mut members = Vec::new();
        while let Some(name) = map.next_key::<std::borrow::Cow<'_, str>>()? {
            self.take(name.len())?;
            members.push((NcString::from(&*name), map.next_value_seed(Seed(self.0))?));
        }
        Ok(ObjectNode::Map(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1 << 20;

    fn codec(json: Json) -> Box<dyn ElementCodec> {
        Json2Class.parse(&json).unwrap()
    }

    fn plain() -> Box<dyn ElementCodec> {
        codec(json!({"id": "json2"}))
    }

    #[test]
    fn encoded_bytes_equal_numcodecs() {
        let elements = ["", "a\"\n", "水🌊"].map(NcString::from);
        // numcodecs.JSON().encode(np.array(["", "a\"\n", "水🌊"], object))
        let foreign = br#"["","a\"\n","\u6c34\ud83c\udf0a","|O",[3]]"#;
        let mut out = b"old".to_vec();
        plain().encode(&elements, &mut out).unwrap();
        assert_eq!(out, foreign);
        assert_eq!(plain().decode(foreign, 3, LIMIT).unwrap(), elements);
        let utf8 = codec(json!({"id": "json2", "ensure_ascii": false}));
        utf8.encode(&elements, &mut out).unwrap();
        assert_eq!(out, "[\"\",\"a\\\"\\n\",\"水🌊\",\"|O\",[3]]".as_bytes());
        assert_eq!(plain().decode(&out, 3, LIMIT).unwrap(), elements);
        // numcodecs.JSON(indent=1) of an array of two dimensions, and of a scalar.
        let foreign = b"[\n [\n  \"a\",\n  null\n ],\n \"|O\",\n [\n  1,\n  2\n ]\n]";
        assert_eq!(plain().decode(foreign, 2, LIMIT).unwrap(), ["a", ""].map(NcString::from));
        assert_eq!(plain().decode(br#"["x","|O",[]]"#, 1, LIMIT).unwrap(), [NcString::from("x")]);
    }

    #[test]
    fn objects_that_are_no_text_are_read_as_json() {
        // numcodecs.JSON().encode(np.array([[1, "a"], True, {"k": None}, -1, 1.5, None], object)), without
        // the last shape
        let foreign = br#"[[1,"a"],true,{"k":null},-1,1.5,null,"|O",[6]]"#;
        let expected = [r#"[1,"a"]"#, "true", r#"{"k":null}"#, "-1", "1.5", ""].map(NcString::from);
        assert_eq!(plain().decode(foreign, 6, LIMIT).unwrap(), expected);
    }

    #[test]
    fn malformed_lists_are_errors() {
        for (stored, about) in [
            (&b""[..], "EOF"),
            (b"3", "expected a list"),
            (b"[\"a\",\"|O\",[1]", "EOF"),
            (b"[\"a\",\"|O\",[1]] 3", "trailing"),
            (b"[\"\xff\",\"|O\",[1]]", "unicode"),
            (b"[NaN,\"|O\",[1]]", "json2"),
            (b"[\"a\",\"|O\",[-1]]", "whole numbers"),
            (b"[\"a\",\"b\",\"|O\",[2]]", "expected 1 elements"),
        ] {
            let error = plain().decode(stored, 1, LIMIT).unwrap_err();
            assert!(error.kind() == ErrorKind::Filter && error.to_string().contains(about), "{error}");
        }
        let deep = vec![b'['; 100_000];
        assert!(plain().decode(&deep, 1, LIMIT).is_err());
        let many = [b"[".to_vec(), b"0,".repeat(1000), b"\"|O\",[1000]]".to_vec()].concat();
        assert!(plain().decode(&many, 1000, 1000).unwrap_err().to_string().contains("limit of 1000 bytes"));
        assert!(plain().encode(&[NcString::from(&b"\xff"[..])], &mut Vec::new()).is_err());
    }

    #[test]
    fn the_description_is_kept() {
        for json in [
            json!({"id": "json2"}),
            json!({"id": "json2", "encoding": "UTF-8", "separators": [",", ":"], "indent": null, "strict": true}),
            json!({"name": "numcodecs.json2", "configuration": {"ensure_ascii": false}}),
        ] {
            assert_eq!(codec(json.clone()).to_json(), json);
        }
        for wrong in [json!({"id": "json2", "encoding": "latin-1"}), json!({"encoding": 8})] {
            assert!(Json2Class.parse(&wrong).is_err(), "{wrong}");
        }
    }

    proptest::proptest! {
        #[test]
        fn encoded_strings_decode_back(texts in proptest::collection::vec(".*", 0..30), ascii: bool) {
            let elements: Vec<NcString> = texts.into_iter().map(NcString::from).collect();
            let codec = codec(json!({"id": "json2", "ensure_ascii": ascii}));
            let mut out = Vec::new();
            codec.encode(&elements, &mut out).unwrap();
            proptest::prop_assert!(!ascii || out.is_ascii());
            proptest::prop_assert_eq!(codec.decode(&out, elements.len(), LIMIT).unwrap(), elements);
        }
    }
}

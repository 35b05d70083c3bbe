//! Text as MessagePack (codec id `msgpack2`).
//!
//! * Zarr V2: `{"id": "msgpack2", "raw": false, "use_single_float": false, "use_bin_type": true}`, kept as
//!   read
//! * Stored: the list of `json2` in MessagePack
//!
//! Text must be UTF-8 unless `raw` is set, which reads it as bytes. MessagePack's binary type is not text.

use nczarr_codec::{ElementChunk, ElementClass, ElementCodec, ElementPlugin, Json, inventory};
use nczarr_model::{ErrorKind, NcString, Result};
use serde_json::json;

use super::msgpack::{put_list, put_number, put_text, read};
use super::{MemoryBudget, NestedOrder, ObjectNode, elements, text};

const NAME: &str = "msgpack2";

/// The class of `msgpack2`.
pub struct Msgpack2Class;

inventory::submit! { ElementPlugin(&Msgpack2Class) }

impl ElementClass for Msgpack2Class {
    fn names(&self) -> &'static [&'static str] {
        static NAMES: [&str; 2] = ["msgpack2", "numcodecs.msgpack2"];
        &NAMES
    }

    fn about(&self) -> &'static str {
        "text of any length, as a list in MessagePack"
    }

    fn parse(&self, codec: &Json) -> Result<Box<dyn ElementCodec>> {
        let members = codec.get("configuration").filter(|_| crate::json::is_v3(codec)).unwrap_or(codec);
        let flag = |member: &str, default: bool| match members.get(member) {
            None | Some(Json::Null) => Ok(default),
            Some(Json::Bool(flag)) => Ok(*flag),
            Some(other) => Err(ErrorKind::Filter
                .context(format!("{NAME}: expected {member:?} to be true or false, found {other}"))),
        };
        let (raw, old) = (flag("raw", false)?, !flag("use_bin_type", true)?);
        let codec = if codec.is_object() { codec.clone() } else { json!({"id": NAME}) };
        Ok(Box::new(Msgpack2 { codec, raw, old, order: NestedOrder::default() }))
    }
}

#[derive(Debug, Clone)]
struct Msgpack2 {
    codec: Json,
    /// Text may be any bytes.
    raw: bool,
    /// Use the text format from before the binary type.
    old: bool,
    order: NestedOrder,
}

impl ElementCodec for Msgpack2 {
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
        let number = |number: usize, what: &str| {
            u32::try_from(number)
                .map_err(|_| ErrorKind::Filter.context(format!("{NAME}: {number} {what} do not fit 32 bits")))
        };
        out.clear();
        put_list(out, number(elements.len().saturating_add(2), "elements")?);
        for (index, element) in elements.iter().enumerate() {
            if !self.raw {
                text(NAME, index, element)?;
            }
            let bytes = element.as_bytes();
            put_text(out, bytes, number(bytes.len(), "bytes of one element")?, self.old);
        }
        put_text(out, b"|O", 2, self.old);
        put_list(out, 1);
        put_number(out, number(elements.len(), "elements")?);
        Ok(())
    }

    fn decode(&self, src: &[u8], count: usize, limit: usize) -> Result<Vec<NcString>> {
        let mut budget = MemoryBudget::new(limit);
        let node =
            read(src, &mut budget).map_err(|what| ErrorKind::Filter.context(format!("{NAME}: {what}")))?;
        let ObjectNode::List(list) = node else {
            return Err(ErrorKind::Filter.context(format!("{NAME}: expected a list, found {}", node.kind())));
        };
        let elements = elements(NAME, list, count, self.order)?;
        if !self.raw {
            elements
                .iter()
                .enumerate()
                .try_for_each(|(index, element)| text(NAME, index, element).map(drop))?;
        }
        Ok(elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1 << 20;

    fn codec(json: Json) -> Box<dyn ElementCodec> {
        Msgpack2Class.parse(&json).unwrap()
    }

    fn plain() -> Box<dyn ElementCodec> {
        codec(json!({"id": "msgpack2"}))
    }

    #[test]
    fn encoded_bytes_equal_numcodecs() {
        let elements = ["", "ab", "水"].map(NcString::from);
        // numcodecs.MsgPack().encode(np.array(["", "ab", "水"], object))
        let foreign = b"\x95\xa0\xa2ab\xa3\xe6\xb0\xb4\xa2|O\x91\x03";
        let mut out = b"old".to_vec();
        plain().encode(&elements, &mut out).unwrap();
        assert_eq!(out, foreign);
        assert_eq!(plain().decode(foreign, 3, LIMIT).unwrap(), elements);
        // A two-dimensional array with None.
        let nested = b"\x94\x92\xa1a\xc0\x92\xa1c\xa1d\xa2|O\x92\x02\x02";
        assert_eq!(plain().decode(nested, 4, LIMIT).unwrap(), ["a", "", "c", "d"].map(NcString::from));
        // Text lengths of every size, and many elements.
        for (len, head) in [
            (31, &b"\xbf"[..]),
            (32, b"\xd9\x20"),
            (255, b"\xd9\xff"),
            (256, b"\xda\x01\x00"),
            (65_536, b"\xdb\x00\x01\x00\x00"),
        ] {
            let text = NcString::from("x".repeat(len));
            plain().encode(std::slice::from_ref(&text), &mut out).unwrap();
            assert_eq!(out[1..=head.len()], *head, "{len}");
            assert_eq!(plain().decode(&out, 1, LIMIT).unwrap(), [text]);
        }
        codec(json!({"id": "msgpack2", "use_bin_type": false}))
            .encode(&["x".repeat(32).into()], &mut out)
            .unwrap();
        assert_eq!(out[1..4], *b"\xda\x00\x20");
        for count in [13, 14, 200, 70_000] {
            let elements = vec![NcString::from("y"); count];
            plain().encode(&elements, &mut out).unwrap();
            assert_eq!(plain().decode(&out, count, 1 << 24).unwrap(), elements);
        }
    }

    #[test]
    fn objects_that_are_no_text_are_read_as_json() {
        // numcodecs.MsgPack().encode(np.array([[1, "a"], True, {"k": None}, -1, 1.5, -300], object))
        let foreign =
            b"\x98\x92\x01\xa1a\xc3\x81\xa1k\xc0\xff\xcb\x3f\xf8\0\0\0\0\0\0\xd1\xfe\xd4\xa2|O\x91\x06";
        let expected = [r#"[1,"a"]"#, "true", r#"{"k":null}"#, "-1", "1.5", "-300"].map(NcString::from);
        assert_eq!(plain().decode(foreign, 6, LIMIT).unwrap(), expected);
    }

    #[test]
    fn malformed_lists_are_errors() {
        let good = b"\x95\xa0\xa2ab\xa3\xe6\xb0\xb4\xa2|O\x91\x03";
        for end in 0..good.len() {
            assert!(plain().decode(&good[..end], 3, LIMIT).is_err(), "cut at {end}");
        }
        for (stored, about) in [
            (&b"\x03"[..], "expected a list"),
            (b"\x93\xa1a\xa2|O\x91\x01\x00", "1 bytes are left over"),
            (b"\x93\xc4\x01a\xa2|O\x91\x01", "found bytes"),
            (b"\x93\x81\x01\x02\xa2|O\x91\x01", "expected a name at byte 2, found a number"),
            (b"\x93\x91\xa1\xff\xa2|O\x91\x01", "text in it is not UTF-8"),
            (b"\x93\xa1\xff\xa2|O\x91\x01", "element 0 is not UTF-8"),
            (b"\xdd\xff\xff\xff\xff\xa0", "bytes at byte"),
            (b"\xdb\xff\xff\xff\xff\xa0", "expected 4294967295 bytes"),
        ] {
            let error = plain().decode(stored, 1, LIMIT).unwrap_err();
            assert!(error.kind() == ErrorKind::Filter && error.to_string().contains(about), "{error}");
        }
        assert!(
            plain().decode(&vec![0x91; 100_000], 1, LIMIT).unwrap_err().to_string().contains("64 levels")
        );
        let many = [b"\xdc\x03\xea".to_vec(), vec![0; 1000], b"\xa2|O\x91\xcd\x03\xe8".to_vec()].concat();
        assert!(plain().decode(&many, 1000, 1000).unwrap_err().to_string().contains("limit of 1000 bytes"));
        let raw = codec(json!({"id": "msgpack2", "raw": true}));
        assert_eq!(
            raw.decode(b"\x93\xa1\xff\xa2|O\x91\x01", 1, LIMIT).unwrap(),
            [NcString::from(&b"\xff"[..])]
        );
        assert!(Msgpack2Class.parse(&json!({"id": "msgpack2", "raw": 1})).is_err());
    }

    proptest::proptest! {
        #[test]
        fn encoded_strings_decode_back(texts in proptest::collection::vec(".*", 0..30), old: bool) {
            let elements: Vec<NcString> = texts.into_iter().map(NcString::from).collect();
            let codec = codec(json!({"id": "msgpack2", "use_bin_type": !old}));
            let mut out = Vec::new();
            codec.encode(&elements, &mut out).unwrap();
            proptest::prop_assert_eq!(codec.decode(&out, elements.len(), LIMIT).unwrap(), elements);
        }

        #[test]
        fn no_bytes_make_it_panic(src in proptest::collection::vec(proptest::num::u8::ANY, 0..64), count in 0usize..8) {
            let _ = plain().decode(&src, count, LIMIT);
        }
    }
}

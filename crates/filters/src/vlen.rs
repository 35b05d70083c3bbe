//! Elements of variable length as bytes (codecs `vlen-utf8`, `vlen-bytes` and `vlen-array`).
//!
//! * Zarr V2: `{"id": "vlen-utf8"}`; Zarr V3: `{"name": "vlen-utf8", "configuration": {}}`
//! * `vlen-array` also names the type of the numbers in its lists: `{"id": "vlen-array", "dtype": "<f8"}`
//! * Stored: the number of elements, then for each its length and its bytes; numbers are 32 bits,
//!   little-endian
//!
//! All three store equal bytes. `vlen-utf8` refuses text that is not UTF-8, in both directions. Stricter than
//! numcodecs: the count must be the declared one, and no byte may be left over.

use nczarr_codec::{ElementClass, ElementCodec, ElementPlugin, ItemType, Json, ZarrFormat, inventory};
use nczarr_model::{ErrorKind, NcString, NcType, Result};
use serde_json::json;

use crate::dtype::Dtype;
use crate::json::{CodecMembers, describe, is_v3};

/// The class of `vlen-utf8`.
pub struct VlenUtf8Class;

/// The class of `vlen-bytes`.
pub struct VlenBytesClass;

/// The class of `vlen-array`.
pub struct VlenArrayClass;

inventory::submit! { ElementPlugin(&VlenArrayClass) }
inventory::submit! { ElementPlugin(&VlenUtf8Class) }
inventory::submit! { ElementPlugin(&VlenBytesClass) }

impl ElementClass for VlenUtf8Class {
    fn names(&self) -> &'static [&'static str] {
        static NAMES: [&str; 2] = ["vlen-utf8", "numcodecs.vlen-utf8"];
        &NAMES
    }

    fn about(&self) -> &'static str {
        "text of any length, in UTF-8"
    }

    fn parse(&self, codec: &Json) -> Result<Box<dyn ElementCodec>> {
        Ok(Box::new(Vlen { name: "vlen-utf8", utf8: true, item: None, dtype: None, v3: is_v3(codec) }))
    }
}

impl ElementClass for VlenBytesClass {
    fn names(&self) -> &'static [&'static str] {
        static NAMES: [&str; 2] = ["vlen-bytes", "numcodecs.vlen-bytes"];
        &NAMES
    }

    fn about(&self) -> &'static str {
        "bytes of any length"
    }

    fn parse(&self, codec: &Json) -> Result<Box<dyn ElementCodec>> {
        let item = Some(ItemType::of(NcType::UByte, false));
        Ok(Box::new(Vlen { name: "vlen-bytes", utf8: false, item, dtype: None, v3: is_v3(codec) }))
    }
}

impl ElementClass for VlenArrayClass {
    fn names(&self) -> &'static [&'static str] {
        static NAMES: [&str; 2] = ["vlen-array", "numcodecs.vlen-array"];
        &NAMES
    }

    fn about(&self) -> &'static str {
        "lists of numbers, of any length"
    }

    fn parse(&self, codec: &Json) -> Result<Box<dyn ElementCodec>> {
        let v3 = is_v3(codec);
        let members =
            CodecMembers::of("vlen-array", codec, if v3 { ZarrFormat::V3 } else { ZarrFormat::V2 })?;
        let found = members.get("dtype").unwrap_or(&Json::Null);
        let dtype = found.as_str().and_then(Dtype::parse);
        let dtype = dtype.ok_or_else(|| members.wrong("dtype", "a type of numbers", found))?;
        let item = Some(dtype.item);
        Ok(Box::new(Vlen { name: "vlen-array", utf8: false, item, dtype: Some(dtype), v3 }))
    }
}

#[derive(Debug, Clone)]
struct Vlen {
    name: &'static str,
    utf8: bool,
    /// The type of list items; `None` for text.
    item: Option<ItemType>,
    /// The type, as spelled in the description.
    dtype: Option<Dtype>,
    v3: bool,
}

impl Vlen {
    /// Checks that an element is valid for the codec.
    fn legal(&self, index: usize, element: &[u8]) -> Result<()> {
        self.whole(index, element)?;
        if !self.utf8 {
            return Ok(());
        }
        std::str::from_utf8(element).map(drop).map_err(|error| {
            let at = error.valid_up_to();
            ErrorKind::Filter
                .context(format!("{}: element {index} is not UTF-8 at byte {at}", self.name))
                .caused_by(error)
        })
    }

    /// Checks that an element is a list of whole items.
    fn whole(&self, index: usize, element: &[u8]) -> Result<()> {
        let size = self.item.map_or(1, |item| item.size);
        match element.len() % size {
            0 => Ok(()),
            _ => Err(ErrorKind::Filter.context(format!(
                "{}: element {index}: {} bytes are not a multiple of the item size {size}",
                self.name,
                element.len()
            ))),
        }
    }
}

impl ElementCodec for Vlen {
    fn name(&self) -> &str {
        self.name
    }

    fn item(&self) -> Option<ItemType> {
        self.item
    }

    fn to_json(&self) -> Json {
        let name = match (&self.dtype, self.v3) {
            (Some(_), true) => "numcodecs.vlen-array",
            _ => self.name,
        };
        let members = self.dtype.as_ref().map_or_else(|| json!({}), |dtype| json!({"dtype": dtype.json()}));
        describe(if self.v3 { ZarrFormat::V3 } else { ZarrFormat::V2 }, self.name, name, members)
    }

    fn check(&self, element: &NcString) -> Result<()> {
        u32::try_from(element.as_bytes().len())
            .map_err(|_| ErrorKind::Filter.context(format!("{}: an element beyond 32 bits", self.name)))?;
        self.legal(0, element.as_bytes())
    }

    fn encode(&self, elements: &[NcString], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        let number = |n: usize, what: &str| {
            u32::try_from(n).map_err(|_| {
                ErrorKind::Filter.context(format!("{}: {n} {what} do not fit 32 bits", self.name))
            })
        };
        out.extend_from_slice(&number(elements.len(), "elements")?.to_le_bytes());
        for (index, element) in elements.iter().enumerate() {
            let bytes = element.as_bytes();
            self.legal(index, bytes)?;
            out.extend_from_slice(&number(bytes.len(), "bytes of one element")?.to_le_bytes());
            out.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn decode(&self, src: &[u8], count: usize, limit: usize) -> Result<Vec<NcString>> {
        let name = self.name;
        let failed = |what: String| ErrorKind::Filter.context(format!("{name}: {what}"));
        let Some((found, mut rest)) = number(src) else {
            return Err(failed(format!("expected a count in the first 4 bytes, found {} bytes", src.len())));
        };
        if found != count {
            return Err(failed(format!("expected {count} elements, found {found}")));
        }
        // Every element takes at least 4 bytes, so the input limits the allocation below.
        if rest.len() / 4 < count {
            return Err(failed(format!("{} bytes are too few for {count} elements", src.len())));
        }
        // The memory of all elements is known before any is allocated.
        let text = rest.len() - count * 4;
        let memory = count.checked_mul(size_of::<NcString>()).and_then(|bytes| bytes.checked_add(text));
        if memory.is_none_or(|memory| memory > limit) {
            return Err(failed(format!(
                "{count} elements with {text} bytes of text exceed the limit of {limit} bytes"
            )));
        }
        let mut elements = Vec::with_capacity(count);
        for index in 0..count {
            let element = number(rest).and_then(|(len, after)| after.split_at_checked(len));
            let Some((bytes, after)) = element else {
                let at = src.len() - rest.len();
                return Err(failed(format!(
                    "element {index} at byte {at} reaches beyond the {} bytes",
                    src.len()
                )));
            };
            self.whole(index, bytes)?;
            if self.utf8
                && let Err(error) = std::str::from_utf8(bytes)
            {
                let at = src.len() - after.len() - bytes.len() + error.valid_up_to();
                return Err(failed(format!("element {index} is not UTF-8 at byte {at}")).caused_by(error));
            }
            elements.push(NcString::from(bytes));
            rest = after;
        }
        match rest.len() {
            0 => Ok(elements),
            extra => Err(failed(format!("{extra} bytes are left over after {count} elements"))),
        }
    }
}

fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((usize::try_from(u32::from_le_bytes(*number)).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1 << 20;

    fn utf8() -> Box<dyn ElementCodec> {
        VlenUtf8Class.parse(&json!({"id": "vlen-utf8"})).unwrap()
    }

    fn strings(texts: &[&str]) -> Vec<NcString> {
        texts.iter().map(|&text| NcString::from(text)).collect()
    }

    /// `numcodecs.VLenUTF8().encode(["", "a", "héllo", "日本"])`.
    const FOREIGN: &[u8] =
        b"\x04\0\0\0\0\0\0\0\x01\0\0\0a\x06\0\0\0h\xc3\xa9llo\x06\0\0\0\xe6\x97\xa5\xe6\x9c\xac";

    #[test]
    fn encoded_bytes_equal_numcodecs() {
        let elements = strings(&["", "a", "héllo", "日本"]);
        let mut out = b"old".to_vec();
        utf8().encode(&elements, &mut out).unwrap();
        assert_eq!(out, FOREIGN);
        assert_eq!(utf8().decode(FOREIGN, 4, LIMIT).unwrap(), elements);
        utf8().encode(&[], &mut out).unwrap();
        assert_eq!(out, [0; 4]);
        assert!(utf8().decode(&[0; 4], 0, 0).unwrap().is_empty());
    }

    #[test]
    fn invalid_utf8_is_an_error_in_both_directions() {
        let elements = vec![NcString::from("fine"), NcString::from(vec![b'a', 0xff])];
        let bytes = VlenBytesClass.parse(&json!({"name": "vlen-bytes"})).unwrap();
        let mut out = Vec::new();
        bytes.encode(&elements, &mut out).unwrap();
        assert_eq!(bytes.decode(&out, 2, LIMIT).unwrap(), elements);
        let error = utf8().decode(&out, 2, LIMIT).unwrap_err();
        assert!(error.to_string().contains("element 1 is not UTF-8 at byte 17"), "{error}");
        let error = utf8().encode(&elements, &mut out).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Filter);
        assert!(error.to_string().contains("element 1 is not UTF-8 at byte 1"), "{error}");
    }

    #[test]
    fn every_wrong_length_is_an_error() {
        for end in 0..FOREIGN.len() {
            assert!(utf8().decode(&FOREIGN[..end], 4, LIMIT).is_err(), "cut at {end}");
        }
        let longer = [FOREIGN, b"\0"].concat();
        assert!(utf8().decode(&longer, 4, LIMIT).unwrap_err().to_string().contains("1 bytes are left over"));
        for count in [0, 3, 5, usize::MAX] {
            assert!(utf8().decode(FOREIGN, count, LIMIT).is_err(), "{count} elements");
        }
        for at in 0..FOREIGN.len() {
            for bit in 0..8 {
                let mut damaged = FOREIGN.to_vec();
                damaged[at] ^= 1 << bit;
                if let Ok(elements) = utf8().decode(&damaged, 4, LIMIT) {
                    assert_eq!(elements.len(), 4);
                }
            }
        }
    }

    #[test]
    fn the_limit_holds_before_anything_is_allocated() {
        let mut bomb = u32::MAX.to_le_bytes().to_vec();
        assert!(utf8().decode(&bomb, u32::MAX as usize, usize::MAX).is_err());
        bomb = vec![0; 4 + 4 * 1000];
        bomb[..4].copy_from_slice(&1000u32.to_le_bytes());
        let need = 1000 * size_of::<NcString>();
        assert_eq!(utf8().decode(&bomb, 1000, need).unwrap().len(), 1000);
        assert!(utf8().decode(&bomb, 1000, need - 1).unwrap_err().to_string().contains("limit"));
    }

    #[test]
    fn lists_of_numbers() {
        let json = json!({"id": "vlen-array", "dtype": "<i2"});
        let codec = VlenArrayClass.parse(&json).unwrap();
        assert_eq!(codec.to_json(), json);
        assert_eq!(codec.item(), Some(ItemType::of(NcType::Short, false)));
        // numcodecs.VLenArray("<i2").encode([[1, 2], [], [-1]])
        let foreign = b"\x03\0\0\0\x04\0\0\0\x01\0\x02\0\0\0\0\0\x02\0\0\0\xff\xff";
        let elements = [&b"\x01\0\x02\0"[..], b"", b"\xff\xff"].map(NcString::from);
        assert_eq!(codec.decode(foreign, 3, LIMIT).unwrap(), elements);
        let mut out = Vec::new();
        codec.encode(&elements, &mut out).unwrap();
        assert_eq!(out, foreign);
        let odd = [NcString::from(&b"abc"[..])];
        assert!(codec.encode(&odd, &mut out).unwrap_err().to_string().contains("element 0: 3 bytes"));
        assert!(codec.decode(b"\x01\0\0\0\x03\0\0\0abc", 1, LIMIT).is_err());
        let v3 = json!({"name": "numcodecs.vlen-array", "configuration": {"dtype": "float32"}});
        assert_eq!(VlenArrayClass.parse(&v3).unwrap().to_json(), v3);
        for wrong in [json!({"id": "vlen-array"}), json!({"dtype": "|O"}), json!("vlen-array")] {
            assert_eq!(VlenArrayClass.parse(&wrong).unwrap_err().kind(), ErrorKind::Filter);
        }
    }

    #[test]
    fn the_description_keeps_its_generation() {
        for json in [json!({"id": "vlen-utf8"}), json!({"name": "vlen-utf8", "configuration": {}})] {
            assert_eq!(VlenUtf8Class.parse(&json).unwrap().to_json(), json);
        }
        let short = VlenBytesClass.parse(&json!("vlen-bytes")).unwrap();
        assert_eq!(short.to_json(), json!({"name": "vlen-bytes", "configuration": {}}));
        assert_eq!(short.name(), "vlen-bytes");
    }

    proptest::proptest! {
        #[test]
        fn encoded_strings_decode_back(texts in proptest::collection::vec(".*", 0..40)) {
            let elements: Vec<NcString> = texts.into_iter().map(NcString::from).collect();
            let mut out = Vec::new();
            utf8().encode(&elements, &mut out).unwrap();
            proptest::prop_assert_eq!(utf8().decode(&out, elements.len(), LIMIT).unwrap(), elements);
        }

        #[test]
        fn no_bytes_make_it_panic(src in proptest::collection::vec(proptest::num::u8::ANY, 0..64), count in 0usize..8) {
            let _ = utf8().decode(&src, count, LIMIT);
        }
    }
}

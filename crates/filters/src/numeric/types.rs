//! [`FilterTypes`]: the decoded and the encoded type of a filter's elements, as its description names them.

use nczarr_codec::{ChunkInfo, ItemKind, ItemType, Json};
use nczarr_model::{Error, ErrorKind, Result};
use serde_json::Map;

use super::number::NumberFormat;
use crate::dtype::Dtype;
use crate::json::CodecMembers;

/// The types that a filter computes with.
type Allowed = fn(ItemKind) -> bool;

/// Integers and floats.
pub(super) const NUMBERS: Allowed = |kind| matches!(kind, ItemKind::Int | ItemKind::UInt | ItemKind::Float);
/// Floats.
pub(super) const FLOATS: Allowed = |kind| kind == ItemKind::Float;
/// Integers, floats and booleans.
pub(super) const ANY: Allowed = |kind| kind != ItemKind::Bytes;

/// The two types of a filter.
#[derive(Debug, Clone)]
pub(super) struct FilterTypes {
    filter: &'static str,
    /// The names of their members in a description.
    members: [&'static str; 2],
    allowed: Allowed,
    decoded: Option<Dtype>,
    /// `None`: as the decoded type.
    encoded: Option<Dtype>,
    forms: Option<(NumberFormat, NumberFormat)>,
}

impl FilterTypes {
    /// Parses the types of a description. Both may be missing.
    pub(super) fn read(
        filter: &'static str,
        description: &CodecMembers<'_>,
        members: [&'static str; 2],
        allowed: Allowed,
    ) -> Result<Self> {
        let [decoded, encoded] = members.map(|member| named(description, member, allowed));
        Self::new(filter, members, allowed, [decoded?, encoded?])
    }

    /// Parses the types of parameters: none, the decoded one, or both.
    pub(super) fn of_words(
        filter: &'static str,
        words: &[u32],
        members: [&'static str; 2],
        allowed: Allowed,
    ) -> Result<Self> {
        let mut found = [None, None];
        if words.len() > found.len() {
            return Err(
                ErrorKind::Inval.context(format!("{filter}: expected at most two types, found {words:?}"))
            );
        }
        for (found, &word) in found.iter_mut().zip(words) {
            *found = Some(of_word(word).filter(|dtype| allowed(dtype.item.kind)).ok_or_else(|| {
                ErrorKind::Inval.context(format!("{filter}: expected a type of elements, found {word:#010x}"))
            })?);
        }
        Self::new(filter, members, allowed, found)
    }

    fn new(
        filter: &'static str,
        members: [&'static str; 2],
        allowed: Allowed,
        [decoded, encoded]: [Option<Dtype>; 2],
    ) -> Result<Self> {
        let mut types = Self { filter, members, allowed, decoded, encoded, forms: None };
        if let Some(decoded) = &types.decoded {
            types.forms = Some(types.forms_of(decoded)?);
        }
        Ok(types)
    }

    fn forms_of(&self, decoded: &Dtype) -> Result<(NumberFormat, NumberFormat)> {
        let encoded = self.encoded.as_ref().unwrap_or(decoded);
        match (NumberFormat::new(decoded.item), NumberFormat::new(encoded.item)) {
            (Some(decoded), Some(encoded)) => Ok((decoded, encoded)),
            _ => Err(ErrorKind::Internal.context(format!("{}: unsupported types", self.filter))),
        }
    }

    /// Sets the decoded type if the description does not name it.
    pub(super) fn bind(&mut self, chunk: &ChunkInfo<'_>) -> Result<()> {
        if self.decoded.is_none() {
            let known = Dtype::of(chunk.item).filter(|dtype| (self.allowed)(dtype.item.kind));
            let Some(dtype) = known else {
                let ItemType { kind, size, .. } = chunk.item;
                return Err(ErrorKind::Filter.context(format!(
                    "{}: expected {:?}, for elements of {size} bytes ({kind:?}) do not tell",
                    self.filter, self.members[0]
                )));
            };
            self.forms = Some(self.forms_of(&dtype)?);
            self.decoded = Some(dtype);
        }
        Ok(())
    }

    /// Returns the decoded and the encoded format.
    pub(super) fn forms(&self) -> Result<(&NumberFormat, &NumberFormat)> {
        match &self.forms {
            Some((decoded, encoded)) => Ok((decoded, encoded)),
            None => Err(unbound(self.filter)),
        }
    }

    /// Returns the type that the next filter gets.
    pub(super) fn encoded_item(&self) -> ItemType {
        self.forms.as_ref().map_or(ItemType::BYTES, |(_, encoded)| encoded.item)
    }

    /// Returns the largest encoded size of `decoded` bytes.
    pub(super) fn encode_bound(&self, decoded: usize) -> Option<usize> {
        let (from, to) = self.forms.as_ref()?;
        decoded.div_ceil(from.item.size).checked_mul(to.item.size)
    }

    /// Adds the known types to a description.
    pub(super) fn describe(&self, description: &mut Map<String, Json>) {
        for (member, dtype) in self.members.into_iter().zip([&self.decoded, &self.encoded]) {
            if let Some(dtype) = dtype {
                description.insert(member.to_owned(), dtype.json());
            }
        }
    }

    /// Returns the types as parameters.
    pub(super) fn words(&self) -> Vec<u32> {
        // The encoded type alone has no position.
        let decoded = self.decoded.as_ref().map(word);
        decoded.into_iter().chain(self.encoded.as_ref().filter(|_| decoded.is_some()).map(word)).collect()
    }
}

/// Makes the error of a filter that is used before `bind`.
pub(super) fn unbound(filter: &str) -> Error {
    ErrorKind::Internal.context(format!("{filter}: used before the type of the elements was known"))
}

/// Returns the type that a member names, if present.
pub(super) fn named(description: &CodecMembers<'_>, member: &str, allowed: Allowed) -> Result<Option<Dtype>> {
    let Some(found) = description.get(member) else { return Ok(None) };
    let dtype = found.as_str().and_then(Dtype::parse).filter(|dtype| allowed(dtype.item.kind));
    dtype.map(Some).ok_or_else(|| description.wrong(member, "a type this filter computes with", found))
}

/// Returns a type as one parameter.
pub(super) fn word(dtype: &Dtype) -> u32 {
    let ItemType { kind, size, big_endian } = dtype.item;
    let letter = match kind {
        ItemKind::Bool => b'b',
        ItemKind::Int => b'i',
        ItemKind::UInt => b'u',
        _ => b'f',
    };
    let order = match (size, big_endian) {
        (1, _) => b'|',
        (_, false) => b'<',
        (_, true) => b'>',
    };
    u32::from(letter) << 24 | u32::from(order) << 16 | size as u32
}

/// Returns the type of one parameter.
pub(super) fn of_word(found: u32) -> Option<Dtype> {
    let [letter, order, ..] = found.to_be_bytes();
    let dtype = Dtype::parse(&format!("{}{}{}", char::from(order), char::from(letter), found & 0xffff))?;
    (word(&dtype) == found).then_some(dtype)
}

/// Returns a float as two parameters, low word first.
pub(super) fn float_words(value: f64) -> [u32; 2] {
    let bits = value.to_bits();
    [bits as u32, (bits >> 32) as u32]
}

/// Returns the float of two parameters.
pub(super) fn float_of(low: u32, high: u32) -> f64 {
    f64::from_bits(u64::from(high) << 32 | u64::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_one_word() {
        for text in ["<i4", ">f8", "|u1", "|b1", "<f2", ">u2"] {
            let dtype = Dtype::parse(text).unwrap();
            assert_eq!(of_word(word(&dtype)), Some(dtype));
        }
        assert_eq!(word(&Dtype::parse("<i4").unwrap()), 0x693c_0004);
        // Only the canonical spelling is accepted.
        for other in [0, u32::MAX, 0x693c_0001, 0x693c_0003, 0x697c_0004, 0x6930_0004] {
            assert_eq!(of_word(other), None, "{other:#x}");
        }
        let [low, high] = float_words(-0.1);
        assert_eq!(float_of(low, high), -0.1);
    }
}

//! Bob Jenkins' lookup3 hash as a checksum (codec id `jenkins_lookup3`), at the end of the bytes.
//!
//! * HDF5: not a filter, but its metadata use the same algorithm. Parameters here: `[initval, byte of the
//!   prefix, …]`
//! * Zarr V2: `{"id": "jenkins_lookup3", "initval": 0, "prefix": null}`; the prefix, a list of bytes, is
//!   hashed before the data and not stored
//!
//! Source: numcodecs `jenkins_lookup3`; HDF5's `H5_checksum_lookup3`.

use std::borrow::Cow;

use nczarr_codec::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory};
use nczarr_model::{ErrorKind, Result};
use serde_json::json;

use super::{ChecksumLocation, append, verify};
use crate::json::{CodecMembers, describe};

static INFO: FilterInfo = FilterInfo {
    aliases: &["numcodecs.jenkins_lookup3"],
    ..FilterInfo::new(
        "jenkins_lookup3",
        "appends Jenkins' lookup3 checksum and verifies it; optional parameters: the first value, bytes hashed first",
    )
};

/// The class of the lookup3 checksum.
pub struct JenkinsLookup3Class;

inventory::submit! { FilterPlugin(&JenkinsLookup3Class) }

impl FilterClass for JenkinsLookup3Class {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        let (initval, prefix) =
            params.split_first().map_or((0, &[][..]), |(initval, prefix)| (*initval, prefix));
        let bytes = prefix.iter().map(|&byte| u8::try_from(byte)).collect::<Result<Vec<_>, _>>();
        match bytes {
            Ok(prefix) => Ok(Box::new(Jenkins { initval, prefix })),
            Err(_) => Err(ErrorKind::Inval.context(format!(
                "{}: expected the parameters after the first to be bytes, found {params:?}",
                INFO.name
            ))),
        }
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let members = CodecMembers::of(INFO.name, codec, format)?;
        let initval = members.int("initval")?.unwrap_or(0);
        let initval = u32::try_from(initval)
            .map_err(|_| members.wrong("initval", "an unsigned 32-bit integer", &json!(initval)))?;
        let prefix = match members.get("prefix") {
            None => Vec::new(),
            Some(value) => {
                let byte = |byte: &Json| byte.as_u64().and_then(|byte| u8::try_from(byte).ok());
                let bytes =
                    value.as_array().and_then(|bytes| bytes.iter().map(byte).collect::<Option<Vec<_>>>());
                bytes.ok_or_else(|| members.wrong("prefix", "null or a list of bytes", value))?
            }
        };
        Ok(Box::new(Jenkins { initval, prefix }))
    }
}

#[derive(Debug, Clone)]
struct Jenkins {
    initval: u32,
    /// Hashed before the data.
    prefix: Vec<u8>,
}

impl Jenkins {
    fn sum(&self, data: &[u8]) -> u32 {
        // The algorithm starts with the low 32 bits of the length.
        let mut hash = Lookup3::new(self.initval, self.prefix.len().wrapping_add(data.len()) as u32);
        hash.update(&self.prefix);
        hash.update(data);
        hash.finish()
    }
}

impl Filter for Jenkins {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        let prefix = self.prefix.iter().map(|&byte| u32::from(byte));
        Cow::Owned(std::iter::once(self.initval).chain(prefix).collect())
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        let prefix = if self.prefix.is_empty() { Json::Null } else { json!(self.prefix) };
        let members = json!({"initval": self.initval, "prefix": prefix});
        describe(format, INFO.name, "numcodecs.jenkins_lookup3", members)
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        decoded.checked_add(4)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        append(ChecksumLocation::End, self.sum(src), src, dst)
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        verify(INFO.name, ChecksumLocation::End, src, |data| self.sum(data), dst)
    }
}

/// The hash, fed piece by piece.
struct Lookup3 {
    state: [u32; 3],
    /// Up to 12 unmixed bytes. The last ones are mixed in another way.
    waiting: [u8; 12],
    len: usize,
}

impl Lookup3 {
    fn new(initval: u32, len: u32) -> Self {
        let first = 0xdead_beef_u32.wrapping_add(len).wrapping_add(initval);
        Self { state: [first; 3], waiting: [0; 12], len: 0 }
    }

    fn update(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            if self.len == 12 {
                let block = self.waiting;
                self.mix(&block);
                self.len = 0;
            }
            // Whole blocks are mixed in place, except the last one.
            while self.len == 0
                && data.len() > 12
                && let Some((block, rest)) = data.split_first_chunk()
            {
                self.mix(block);
                data = rest;
            }
            let taken = data.len().min(12 - self.len);
            self.waiting[self.len..self.len + taken].copy_from_slice(&data[..taken]);
            self.len += taken;
            data = &data[taken..];
        }
    }

    fn add(&mut self, block: &[u8; 12]) {
        for (word, bytes) in self.state.iter_mut().zip(block.as_chunks::<4>().0) {
            *word = word.wrapping_add(u32::from_le_bytes(*bytes));
        }
    }

    fn mix(&mut self, block: &[u8; 12]) {
        self.add(block);
        let [mut a, mut b, mut c] = self.state;
        for turns in [[4, 6, 8], [16, 19, 4]] {
            a = a.wrapping_sub(c) ^ c.rotate_left(turns[0]);
            c = c.wrapping_add(b);
            b = b.wrapping_sub(a) ^ a.rotate_left(turns[1]);
            a = a.wrapping_add(c);
            c = c.wrapping_sub(b) ^ b.rotate_left(turns[2]);
            b = b.wrapping_add(a);
        }
        self.state = [a, b, c];
    }

    fn finish(mut self) -> u32 {
        if self.len == 0 {
            return self.state[2];
        }
        let mut block = self.waiting;
        block[self.len..].fill(0);
        self.add(&block);
        let [mut a, mut b, mut c] = self.state;
        c = (c ^ b).wrapping_sub(b.rotate_left(14));
        a = (a ^ c).wrapping_sub(c.rotate_left(11));
        b = (b ^ a).wrapping_sub(a.rotate_left(25));
        c = (c ^ b).wrapping_sub(b.rotate_left(16));
        a = (a ^ c).wrapping_sub(c.rotate_left(4));
        b = (b ^ a).wrapping_sub(a.rotate_left(14));
        (c ^ b).wrapping_sub(b.rotate_left(24))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known values of the algorithm's author, for texts and initial values.
    #[test]
    fn known_values() {
        let four = b"Four score and seven years ago";
        for (text, initval, sum) in [
            (&b""[..], 0, 0xdead_beef),
            (b"", 0xdead_beef, 0xbd5b_7dde),
            (four, 0, 0x1777_0551),
            (four, 1, 0xcd62_8161),
        ] {
            assert_eq!(Jenkins { initval, prefix: Vec::new() }.sum(text), sum, "{text:?} {initval}");
        }
    }

    #[test]
    fn a_prefix_is_hashed_as_if_it_were_data() {
        let data: Vec<u8> = (0..100).collect();
        for len in 0..data.len() {
            let whole = Jenkins { initval: 7, prefix: Vec::new() }.sum(&data[..len]);
            for cut in 0..=len {
                let parts = Jenkins { initval: 7, prefix: data[..cut].to_vec() };
                assert_eq!(parts.sum(&data[cut..len]), whole, "{cut} of {len}");
            }
        }
    }
}

//! Members that are packed with LZMA or xz, over liblzma.
//!
//! Source: the ZIP file format specification (APPNOTE 6.3), section 5.8.

use std::io::{Cursor, Error, Read, Result};

use liblzma::read::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use zip::CompressionMethod;

/// Most memory of an xz decoder in bytes: twice that of the largest preset.
const MEMORY: u64 = 128 << 20;

/// The smallest dictionary of LZMA in bytes.
const MIN_DICTIONARY: u32 = 4096;

/// Whether this module unpacks a method.
pub(crate) fn unpacks(method: CompressionMethod) -> bool {
    matches!(method, CompressionMethod::LZMA | CompressionMethod::XZ)
}

/// Returns a reader of the `len` bytes of a member.
///
/// # Errors
/// `InvalidData` for a damaged header.
pub(crate) fn unpacked<'r>(
    method: CompressionMethod,
    mut packed: impl Read + 'r,
    len: u64,
) -> Result<Box<dyn Read + 'r>> {
    if method == CompressionMethod::XZ {
        let stream = Stream::new_stream_decoder(MEMORY, CONCATENATED).map_err(Error::from)?;
        return Ok(Box::new(XzDecoder::new_stream(packed, stream)));
    }
    // The version of the encoder, the number of properties, and the properties: coding, and dictionary size.
    let mut head = [0; 9];
    packed.read_exact(&mut head)?;
    let [_, _, 5, 0, coding, dictionary @ ..] = head else {
        let found = u16::from_le_bytes([head[2], head[3]]);
        return Err(Error::new(
            std::io::ErrorKind::InvalidData,
            format!("wrong number of LZMA properties (expected 5, found {found})"),
        ));
    };
    // A dictionary needs no more bytes than the member has.
    let enough = u32::try_from(len).unwrap_or(u32::MAX).max(MIN_DICTIONARY);
    let dictionary = u32::from_le_bytes(dictionary).min(enough);
    let mut alone = vec![coding];
    alone.extend(dictionary.to_le_bytes());
    alone.extend(len.to_le_bytes());
    let stream = Stream::new_lzma_decoder(u64::MAX).map_err(Error::from)?;
    Ok(Box::new(XzDecoder::new_stream(Cursor::new(alone).chain(packed), stream)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use liblzma::read::XzEncoder;
    use liblzma::stream::LzmaOptions;
    use proptest::prelude::*;

    /// Packs bytes as archivers do, and states a dictionary of 4 GiB.
    fn packed(bytes: &[u8]) -> Vec<u8> {
        let stream = Stream::new_lzma_encoder(&LzmaOptions::new_preset(1).unwrap()).unwrap();
        let mut alone = Vec::new();
        XzEncoder::new_stream(bytes, stream).read_to_end(&mut alone).unwrap();
        let mut member = vec![9, 4, 5, 0, alone[0]];
        member.extend([0xff; 4]);
        member.extend(&alone[13..]);
        member
    }

    fn unpack(method: CompressionMethod, packed: &[u8], len: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        unpacked(method, packed, len)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    proptest! {
        #[test]
        fn members_come_back_whole_or_not_at_all(
            bytes in prop::collection::vec(prop::sample::select(vec![0u8, 1, 7]), 0..3000),
            cut in any::<prop::sample::Index>(),
        ) {
            let member = packed(&bytes);
            let len = bytes.len() as u64;
            prop_assert_eq!(&unpack(CompressionMethod::LZMA, &member, len).unwrap(), &bytes);
            let short = unpack(CompressionMethod::LZMA, &member[..cut.index(member.len())], len);
            prop_assert!(short.map_or(true, |found| found == bytes), "only the end marker may be missing");
        }
    }

    #[test]
    fn a_damaged_member_is_an_error() {
        let member = packed(&[3; 100]);
        for at in [2, 3, 4] {
            let mut bad = member.clone();
            bad[at] = 0xe1;
            assert!(unpack(CompressionMethod::LZMA, &bad, 100).is_err(), "byte {at}");
        }
        assert!(unpack(CompressionMethod::LZMA, &member, 5000).is_err(), "fewer bytes than stated");
        assert!(unpack(CompressionMethod::XZ, &member, 100).is_err());
        assert!(unpack(CompressionMethod::LZMA, b"", 0).is_err());
    }
}

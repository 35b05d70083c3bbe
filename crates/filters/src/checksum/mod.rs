//! Checksums of four bytes, little-endian, before or after their data: numcodecs' `checksum32` family.
//!
//! * HDF5: none is a registered filter. Parameters here: `[]`, `[0]` for the start, `[1]` for the end; see
//!   `jenkins_lookup3` for its own
//! * Zarr V2: `{"id": "crc32", "location": "end"}`. Older documents lack `location`. The default is the start
//!   for `crc32` and `adler32`, the end for `crc32c`. It is written back only if it was present.
//!
//! Source: numcodecs `checksum32`.

#[cfg(feature = "adler32")]
mod adler32;
#[cfg(feature = "crc32")]
mod crc32;
#[cfg(feature = "crc32c")]
mod crc32c;
#[cfg(feature = "jenkins-lookup3")]
mod jenkins;
#[cfg(any(feature = "crc32", feature = "crc32c", feature = "adler32"))]
mod located;

#[cfg(feature = "adler32")]
pub use adler32::Adler32Class;
#[cfg(feature = "crc32")]
pub use crc32::Crc32Class;
#[cfg(feature = "crc32c")]
pub use crc32c::Crc32cClass;
#[cfg(feature = "jenkins-lookup3")]
pub use jenkins::JenkinsLookup3Class;

use nczarr_codec::OutBuf;
use nczarr_model::{ErrorKind, Result};

/// Location of the checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChecksumLocation {
    #[cfg(any(feature = "crc32", feature = "crc32c", feature = "adler32"))]
    Start,
    End,
}

/// Appends `src` and its checksum.
fn append(location: ChecksumLocation, sum: u32, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    match location {
        #[cfg(any(feature = "crc32", feature = "crc32c", feature = "adler32"))]
        ChecksumLocation::Start => dst.put(&sum.to_le_bytes()).and_then(|()| dst.put(src)),
        ChecksumLocation::End => dst.put(src).and_then(|()| dst.put(&sum.to_le_bytes())),
    }
}

/// Appends the data in `src` after checking the checksum.
fn verify(
    name: &str,
    location: ChecksumLocation,
    src: &[u8],
    sum: impl FnOnce(&[u8]) -> u32,
    dst: &mut OutBuf<'_>,
) -> Result<()> {
    let parts = match location {
        #[cfg(any(feature = "crc32", feature = "crc32c", feature = "adler32"))]
        ChecksumLocation::Start => src.split_first_chunk::<4>().map(|(stored, data)| (data, stored)),
        ChecksumLocation::End => src.split_last_chunk::<4>(),
    };
    let Some((data, stored)) = parts else {
        return Err(ErrorKind::Filter.context(format!(
            "{name}: expected at least the 4 bytes of the checksum, found {} bytes",
            src.len()
        )));
    };
    let (stored, computed) = (u32::from_le_bytes(*stored), sum(data));
    if stored != computed {
        return Err(ErrorKind::Filter.context(format!(
            "{name}: the data is damaged: expected checksum {stored:#010x}, found {computed:#010x}"
        )));
    }
    dst.put(data)
}

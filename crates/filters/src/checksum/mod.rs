//! Checksums of four bytes, little-endian, before or after the bytes they are of; numcodecs' `checksum32` family.
//!
//! * HDF5: none of them is a registered filter. Parameters here: `[]`, `[0]` in front, `[1]` at the end; those of
//!   `jenkins_lookup3` stand in its own file
//! * Zarr V2: `{"id": "crc32", "location": "end"}`; `location` is absent from older documents, and what that means
//!   differs: in front for `crc32` and `adler32`, at the end for `crc32c`. It is written back only if it was there
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

use nczarr_dispatch::OutBuf;
use nczarr_model::{ErrorKind, Result};

/// Where the checksum stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    #[cfg(any(feature = "crc32", feature = "crc32c", feature = "adler32"))]
    Start,
    End,
}

/// Appends `src` and its checksum.
fn append(location: Location, sum: u32, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    match location {
        #[cfg(any(feature = "crc32", feature = "crc32c", feature = "adler32"))]
        Location::Start => dst.put(&sum.to_le_bytes()).and_then(|()| dst.put(src)),
        Location::End => dst.put(src).and_then(|()| dst.put(&sum.to_le_bytes())),
    }
}

/// Appends what `src` holds beside its checksum, if that is right.
fn verify(
    name: &str,
    location: Location,
    src: &[u8],
    sum: impl FnOnce(&[u8]) -> u32,
    dst: &mut OutBuf<'_>,
) -> Result<()> {
    let parts = match location {
        #[cfg(any(feature = "crc32", feature = "crc32c", feature = "adler32"))]
        Location::Start => src.split_first_chunk::<4>().map(|(stored, data)| (data, stored)),
        Location::End => src.split_last_chunk::<4>(),
    };
    let Some((data, stored)) = parts else {
        return Err(ErrorKind::Filter
            .context(format!("{name}: expected at least the 4 bytes of the checksum, found {} bytes", src.len())));
    };
    let (stored, computed) = (u32::from_le_bytes(*stored), sum(data));
    if stored != computed {
        return Err(ErrorKind::Filter.context(format!(
            "{name}: the data is damaged: expected checksum {stored:#010x}, found {computed:#010x}"
        )));
    }
    dst.put(data)
}

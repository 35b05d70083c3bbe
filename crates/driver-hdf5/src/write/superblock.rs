//! The superblock, version 2: where the root group is, and where the file ends.
//!
//! Its 48 bytes are written in one go and last, so that a file is what it was until all of its new metadata are there.
//!
//! Source: HDF5 File Format Specification 3.0, II.A.

use super::bytes::{Put, UNDEFINED};

/// Its length.
pub(super) const LEN: u64 = 48;

/// Its version.
pub(super) const VERSION: u8 = 2;

/// The first bytes of every HDF5 file.
pub(super) const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// The superblock of a file with its root group at `root`, which ends at `end`.
pub(super) fn write(root: u64, end: u64) -> Vec<u8> {
    let mut out = SIGNATURE.to_vec();
    // Addresses and lengths of 8 bytes; the file is closed.
    out.extend([VERSION, 8, 8, 0]);
    out.u64(0);
    out.u64(UNDEFINED);
    out.u64(end);
    out.u64(root);
    out.checksum(0);
    out
}

//! Writes the superblock, version 2: the address of the root group, and the end of the file.
//!
//! It is written in one write of 48 bytes, after everything else. Until then the file keeps its earlier
//! content.
//!
//! Source: HDF5 File Format Specification 3.0, II.A.

use super::bytes::{PutBytes, UNDEFINED};

/// Its length in bytes.
pub(super) const LEN: u64 = 48;

/// Its version.
pub(super) const VERSION: u8 = 2;

/// The first bytes of every HDF5 file.
pub(super) const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// Returns the superblock of a file with its root group at `root`, which ends at `end`.
pub(super) fn write(root: u64, end: u64) -> Vec<u8> {
    let mut out = SIGNATURE.to_vec();
    // Addresses and lengths have 8 bytes; the file is closed.
    out.extend([VERSION, 8, 8, 0]);
    out.u64(0);
    out.u64(UNDEFINED);
    out.u64(end);
    out.u64(root);
    out.checksum(0);
    out
}

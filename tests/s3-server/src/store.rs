//! [`Store`] holds the objects.

use std::collections::BTreeMap;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

/// One object.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) bytes: Bytes,
    /// The ETag with its quotes.
    pub(crate) etag: String,
}

impl Object {
    /// Equal bytes have equal ETags, as in S3.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let digest = Sha256::digest(&bytes);
        Self { etag: format!("\"{}\"", hex(&digest[..16])), bytes: bytes.into() }
    }
}

/// One bucket.
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    pub(crate) objects: BTreeMap<String, Object>,
    /// Requests without a signature can read and write.
    pub(crate) anonymous: bool,
    /// A plain web server's folder: readable by all clients, without listings and writes.
    pub(crate) web: bool,
    /// Refuses listings and reads of missing keys.
    pub(crate) unlisted: bool,
}

/// An upload that has begun.
#[derive(Debug)]
pub(crate) struct Upload {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) parts: BTreeMap<u32, Object>,
}

/// All buckets and uploads.
#[derive(Debug, Default)]
pub(crate) struct Store {
    pub(crate) buckets: BTreeMap<String, Bucket>,
    pub(crate) uploads: BTreeMap<String, Upload>,
    pub(crate) begun: u64,
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of object `number`. They differ between objects and do not repeat.
pub fn content(number: usize, len: usize) -> Vec<u8> {
    let mut state = number as u64 + 1;
    let next = |state: &mut u64| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 56) as u8
    };
    (0..len).map(|_| next(&mut state)).collect()
}

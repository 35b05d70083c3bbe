//! The log of requests ([`Entry`]) and sums over it ([`Counts`]).

use std::collections::BTreeMap;

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// GET of an object, whole or a range.
    Get,
    /// HEAD of an object or a bucket.
    Head,
    /// PUT of an object.
    Put,
    /// PUT with `If-Match` or `If-None-Match`.
    PutIf,
    /// PUT that copies another object.
    Copy,
    /// DELETE of one object, or of several.
    Delete,
    /// A page of a listing.
    List,
    /// Begins an upload in parts.
    UploadBegin,
    /// One part of an upload.
    UploadPart,
    /// Ends an upload.
    UploadEnd,
    /// Cancels an upload.
    UploadAbort,
    /// Anything else.
    Other,
}

/// One request and its answer.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The kind of the request.
    pub op: Op,
    /// The bucket, empty if there is none.
    pub bucket: String,
    /// The object's key, or the prefix of a listing.
    pub key: String,
    /// The header `Range`, if there is one.
    pub range: Option<String>,
    /// The status of the answer, or 0 without an answer.
    pub status: u16,
    /// Bytes of the request's body.
    pub received: u64,
    /// Bytes of the answer's body.
    pub sent: u64,
    /// The fault that affected the request.
    pub fault: Option<crate::Fault>,
    /// All headers of the request, names in lower case.
    pub headers: Vec<(String, String)>,
}

impl Entry {
    /// The value of a header of the request, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Sums over a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of requests of each kind.
    pub by_op: BTreeMap<Op, u64>,
    /// Bytes of all bodies received.
    pub received: u64,
    /// Bytes of all bodies sent.
    pub sent: u64,
    /// The largest number of simultaneous requests.
    pub at_once: usize,
}

impl Counts {
    /// The number of all requests.
    pub fn total(&self) -> u64 {
        self.by_op.values().sum()
    }

    /// The number of requests of one kind.
    pub fn of(&self, op: Op) -> u64 {
        self.by_op.get(&op).copied().unwrap_or(0)
    }
}

//! What was asked of the server: [`Entry`], and sums of them: [`Counts`].

use std::collections::BTreeMap;

/// What a request does.
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
    /// DELETE of an object, or of many.
    Delete,
    /// A page of a listing.
    List,
    /// Begins an upload in parts.
    UploadBegin,
    /// One part of an upload.
    UploadPart,
    /// Ends an upload.
    UploadEnd,
    /// Takes an upload back.
    UploadAbort,
    /// Anything else.
    Other,
}

/// One request, and what was answered.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What it does.
    pub op: Op,
    /// The bucket, empty if there is none.
    pub bucket: String,
    /// The object's key; of a listing the prefix.
    pub key: String,
    /// The header `Range`, if there is one.
    pub range: Option<String>,
    /// The status that was answered; 0 if none was.
    pub status: u16,
    /// Bytes of the request's body.
    pub received: u64,
    /// Bytes of the body that was answered.
    pub sent: u64,
    /// What was made to go wrong.
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
    /// Requests by what they do.
    pub by_op: BTreeMap<Op, u64>,
    /// Bytes of all bodies received.
    pub received: u64,
    /// Bytes of all bodies sent.
    pub sent: u64,
    /// The most requests that were being answered at one time.
    pub at_once: usize,
}

impl Counts {
    /// How many requests there were in all.
    pub fn total(&self) -> u64 {
        self.by_op.values().sum()
    }

    /// How many there were of one kind.
    pub fn of(&self, op: Op) -> u64 {
        self.by_op.get(&op).copied().unwrap_or(0)
    }
}

//! Faults of the server, [`Fault`], and the requests that they affect, [`Rule`].

use crate::log::Op;

/// A fault that affects one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The server does nothing and answers with this status and S3's error document of this code.
    Status(u16, &'static str),
    /// The server does nothing and answers with this status and an HTML page, as a proxy would.
    Page(u16),
    /// The server does nothing and answers success with an error document as its body.
    ErrorBody,
    /// The server does nothing and resets the connection.
    Reset,
    /// The server does nothing and closes the connection without an answer.
    Close,
    /// The server does nothing and never answers.
    Stall,
    /// The server does nothing and sends bytes that are not HTTP.
    Garbage,
    /// The server does nothing and redirects the client.
    Redirect(u16, String),
    /// The server performs the request but resets the connection before it answers.
    LostReply,
    /// The server performs the request but closes the connection in the middle of the body.
    CutBody,
    /// The server performs the request but resets the connection in the middle of the body.
    ResetBody,
    /// The server performs the request but stops sending after half of the body.
    StallBody,
    /// The server performs the request and sends the body in small pieces, with the configured pause between
    /// them.
    Drip,
    /// The body of a range is shorter than requested. Its length and `Content-Range` agree with each other.
    ShortRange,
    /// The body of a range is shorter than its `Content-Range` says. The length agrees with the body.
    LyingRange,
    /// The body of a range is longer than requested and longer than its `Content-Range` says.
    OverlongRange,
    /// The answer contains another range, and its `Content-Range` names that range.
    OtherRange,
    /// The answer contains a range but no `Content-Range`.
    NoContentRange,
    /// `Content-Range` is not valid.
    BadContentRange,
    /// The server ignores the range and answers with the whole object and status 200.
    RangeIgnored,
    /// Before the request another client replaces the object by one of the same length.
    Replaced,
    /// Like [`Fault::Replaced`], but the new object is longer.
    Grown,
    /// Before the request another client removes the object.
    Removed,
    /// The server ignores the conditions of writes.
    Unconditional,
    /// The answer has no ETag.
    NoETag,
    /// The body uses chunked encoding without a length.
    Chunked,
    /// The body uses chunked encoding, and the last chunk is missing.
    ChunkedCut,
    /// The answer has no length, so the body ends with the connection.
    NoLength,
    /// The body is compressed with gzip, and the answer says so.
    Gzip,
    /// The answer names an unknown content encoding.
    OddEncoding,
    /// The token of a listing page leads to the same page once more.
    RepeatedPage,
    /// A listing page contains each entry twice.
    DoubledEntries,
    /// A listing page has its entries in reverse order.
    Reversed,
    /// A listing page is empty but says that there are more entries.
    EmptyPage,
    /// A listing page says that there are more entries but has no token.
    NoToken,
    /// The token of each listing page leads to the same page forever.
    EndlessPage,
    /// The document ends in the middle, and its length agrees.
    CutDocument,
}

/// A fault, the requests that it affects, and how often it happens.
#[derive(Debug, Clone)]
pub struct Rule {
    pub(crate) fault: Fault,
    ops: Vec<Op>,
    key: Option<String>,
    ranged: Option<bool>,
    skip: u64,
    times: u64,
    chance: Option<(u64, u32)>,
    matched: u64,
}

impl Rule {
    /// Makes a rule that applies the fault to every request.
    pub fn new(fault: Fault) -> Self {
        Self {
            fault,
            ops: Vec::new(),
            key: None,
            ranged: None,
            skip: 0,
            times: u64::MAX,
            chance: None,
            matched: 0,
        }
    }

    /// Limits the rule to requests of this kind. Further calls add kinds.
    #[must_use]
    pub fn on(mut self, op: Op) -> Self {
        self.ops.push(op);
        self
    }

    /// Limits the rule to requests whose key or prefix has this ending.
    #[must_use]
    pub fn key(mut self, end: &str) -> Self {
        self.key = Some(end.to_owned());
        self
    }

    /// Limits the rule to requests with a range, or to requests without.
    #[must_use]
    pub fn ranged(mut self, ranged: bool) -> Self {
        self.ranged = Some(ranged);
        self
    }

    /// Skips the first `skip` matching requests.
    #[must_use]
    pub fn after(mut self, skip: u64) -> Self {
        self.skip = skip;
        self
    }

    /// Limits the number of faults.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = times;
        self
    }

    /// Applies the fault to `of_thousand` of a thousand matching requests. The seed decides which.
    #[must_use]
    pub fn chance(mut self, seed: u64, of_thousand: u32) -> Self {
        self.chance = Some((seed, of_thousand));
        self
    }

    /// Whether the fault happens at this request.
    pub(crate) fn strikes(&mut self, op: Op, key: &str, ranged: bool) -> bool {
        let matches = (self.ops.is_empty() || self.ops.contains(&op))
            && self.key.as_ref().is_none_or(|end| key.ends_with(end.as_str()))
            && self.ranged.is_none_or(|want| want == ranged);
        if !matches || self.times == 0 {
            return false;
        }
        let number = self.matched;
        self.matched += 1;
        let lot = |(seed, of): (u64, u32)| mix(seed ^ mix(number)) % 1000 < u64::from(of);
        let strikes = number >= self.skip && self.chance.is_none_or(lot);
        self.times -= u64::from(strikes);
        strikes
    }
}

/// Returns a pseudo-random number from another number (SplitMix64).
pub(crate) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

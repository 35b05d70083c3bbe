//! What goes wrong, [`Fault`], and when, [`Rule`].

use crate::log::Op;

/// What is made to go wrong with one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is done; this status is answered, with S3's error document of this code.
    Status(u16, &'static str),
    /// Nothing is done; this status is answered, with a page of HTML as some proxy in between would make it.
    Page(u16),
    /// Nothing is done; success is answered, with an error document as its body.
    ErrorBody,
    /// Nothing is done; the connection is reset.
    Reset,
    /// Nothing is done; the connection is closed without an answer.
    Close,
    /// Nothing is done, and nothing is ever answered.
    Stall,
    /// Nothing is done; what is answered is not HTTP.
    Garbage,
    /// Nothing is done; the client is sent elsewhere.
    Redirect(u16, String),
    /// It is done, and the connection is reset instead of an answer.
    LostReply,
    /// It is done, and the connection is closed in the middle of the body.
    CutBody,
    /// It is done, and the connection is reset in the middle of the body.
    ResetBody,
    /// It is done, and nothing more comes after half the body.
    StallBody,
    /// It is done, and the body comes in small pieces, with the server's pause between them.
    Drip,
    /// The body of a range is shorter than what was asked for; its length and `Content-Range` agree with one
    /// another.
    ShortRange,
    /// The body of a range is shorter than what its `Content-Range` says; its length agrees with the body.
    LyingRange,
    /// The body of a range is longer than what was asked for and than what its `Content-Range` says.
    OverlongRange,
    /// The range of another place is answered, and `Content-Range` says so.
    OtherRange,
    /// A range is answered without `Content-Range`.
    NoContentRange,
    /// `Content-Range` cannot be read.
    BadContentRange,
    /// What was asked for as a range is answered whole, with status 200.
    RangeIgnored,
    /// Before the request is looked at, somebody replaces the object by one of the same length.
    Replaced,
    /// As [`Fault::Replaced`], by one that is longer.
    Grown,
    /// Before the request is looked at, somebody removes the object.
    Removed,
    /// Conditions of writes are left aside.
    Unconditional,
    /// The answer has no ETag.
    NoETag,
    /// The body comes in chunks, without a length.
    Chunked,
    /// The body comes in chunks, and the last is missing.
    ChunkedCut,
    /// The body ends where the connection does.
    NoLength,
    /// The body is compressed, and says so.
    Gzip,
    /// The body says it is compressed in a way nobody knows.
    OddEncoding,
    /// A page of a listing comes twice: its token leads to the same page again, once.
    RepeatedPage,
    /// A page lists each entry twice.
    DoubledEntries,
    /// The entries of a page come in reverse.
    Reversed,
    /// A page is empty, and says that there is more.
    EmptyPage,
    /// A page says that there is more, without a token.
    NoToken,
    /// Every page leads to itself.
    EndlessPage,
    /// The document ends in the middle, with a length that agrees.
    CutDocument,
}

/// When a fault happens: at requests that match, as many times as it says.
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
    /// At every request.
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

    /// At requests of this kind, or another that was named.
    #[must_use]
    pub fn on(mut self, op: Op) -> Self {
        self.ops.push(op);
        self
    }

    /// At requests whose key (or prefix) ends so.
    #[must_use]
    pub fn key(mut self, end: &str) -> Self {
        self.key = Some(end.to_owned());
        self
    }

    /// At requests with a range, or without.
    #[must_use]
    pub fn ranged(mut self, ranged: bool) -> Self {
        self.ranged = Some(ranged);
        self
    }

    /// Not at the first so many of the requests that match.
    #[must_use]
    pub fn after(mut self, skip: u64) -> Self {
        self.skip = skip;
        self
    }

    /// At so many requests at most.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = times;
        self
    }

    /// At some of the requests that match: so many of a thousand, which ones the seed says.
    #[must_use]
    pub fn chance(mut self, seed: u64, of_thousand: u32) -> Self {
        self.chance = Some((seed, of_thousand));
        self
    }

    /// Whether it happens at a request.
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

/// A number that looks like chance, made of another (SplitMix64).
pub(crate) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

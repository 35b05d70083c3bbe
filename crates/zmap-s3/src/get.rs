//! Reading one object: one GET, whole or a range, and a close look at what comes back.
//!
//! Length, place and ETag of every answer are checked against what was asked: what was cut short, moved or made by
//! something in between is never taken for the object.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG};

use tokio::time::timeout;

use crate::ask::Answer;
use crate::body::{Body, Held, Way};
use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::head::Framing;
use crate::remote::Remote;

/// What of an object is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    All,
    /// From here to the end.
    From(u64),
    /// So many bytes from here, at least one.
    Span(u64, u64),
    /// The last bytes, at least one.
    Last(u64),
}

impl Want {
    /// The range that shows whether an object exists. Some servers ignore the 0 at the end of `bytes=0-0`.
    pub(crate) const PRESENCE: Self = Self::Span(0, 2);
}

/// What was found of an object.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) bytes: Bytes,
    /// The bytes, if they are still to be taken.
    pub(crate) held: Option<Held>,
    pub(crate) etag: Arc<str>,
    /// Bytes of the whole object.
    pub(crate) total: u64,
}

/// An answer whose head fits.
enum Begun {
    /// A body follows.
    Body { answer: Answer, length: u64, etag: Arc<str>, total: u64 },
    /// The object of so many bytes ends before the range.
    Nothing(u64),
}

/// So much is read of an object, and it is an error if there is more.
pub(crate) type Limit = u64;

/// Why an object was not read.
#[derive(Debug)]
pub(crate) enum Missed {
    /// There is none.
    Absent,
    /// There is more of it than the limit: so many bytes.
    TooLong(u64),
    /// It is another one than it was.
    Changed,
    Failed(Failure),
}

impl From<Failure> for Missed {
    fn from(failure: Failure) -> Self {
        if failure.is_absence() { Self::Absent } else { Self::Failed(failure) }
    }
}

impl Remote {
    /// Reads (a part of) an object, patiently.
    pub(crate) async fn get(
        &self,
        object: &str,
        want: Want,
        limit: Limit,
        deadline: &mut Deadline,
    ) -> Result<Result<Found, Missed>, (Failure, u32)> {
        self.patiently_get(object, (want, limit, None), Way::Lent, deadline).await
    }

    /// As [`Remote::get`], of an object whose bytes may be left for another thread to take: [`Found::held`].
    pub(crate) async fn get_held(
        &self,
        object: &str,
        want: Want,
        limit: Limit,
        deadline: &mut Deadline,
    ) -> Result<Result<Found, Missed>, (Failure, u32)> {
        self.patiently_get(object, (want, limit, None), Way::Held, deadline).await
    }

    /// As [`Remote::get`], of the state of the object that has this ETag, into memory that is not asked back.
    pub(crate) async fn get_of(
        &self,
        object: &str,
        want: Want,
        limit: Limit,
        state: Option<&str>,
        deadline: &mut Deadline,
    ) -> Result<Result<Found, Missed>, (Failure, u32)> {
        self.patiently_get(object, (want, limit, state), Way::Own, deadline).await
    }

    async fn patiently_get(
        &self,
        object: &str,
        asked: (Want, Limit, Option<&str>),
        way: Way,
        deadline: &mut Deadline,
    ) -> Result<Result<Found, Missed>, (Failure, u32)> {
        let mut tries = self.tries();
        loop {
            // The time of a body depends on the bytes that come, so bodies keep the deadline themselves.
            let outcome = match timeout(deadline.left(), self.begin_get(object, asked)).await {
                Ok(Ok(Begun::Body { answer, length, etag, total })) => {
                    let body = self.body(answer, length, way, deadline).await;
                    Ok(body.map(|body| match body {
                        Body::Here(bytes) => Ok(Found { bytes, held: None, etag, total }),
                        Body::Held(held) => Ok(Found { bytes: Bytes::new(), held: Some(held), etag, total }),
                    }))
                }
                Ok(Ok(Begun::Nothing(total))) => {
                    Ok(Ok(Ok(Found { bytes: Bytes::new(), held: None, etag: "".into(), total })))
                }
                Ok(Err(Missed::Failed(failure))) => Ok(Err(failure)),
                Ok(Err(missed)) => Ok(Ok(Err(missed))),
                Err(late) => Err(late),
            };
            if let Some(done) = tries.settle(outcome, deadline).await? {
                return Ok(done);
            }
        }
    }

    /// Asks once, and judges the head of the answer.
    async fn begin_get(
        &self,
        object: &str,
        (want, limit, state): (Want, Limit, Option<&str>),
    ) -> Result<Begun, Missed> {
        let range = match want {
            Want::All => None,
            Want::From(from) => Some(format!("bytes={from}-")),
            Want::Span(from, len) => Some(format!("bytes={from}-{}", from.saturating_add(len - 1))),
            Want::Last(len) => Some(format!("bytes=-{len}")),
        };
        let answer = match self.answer(0, self.ask(object, range.as_deref(), state)).await {
            Ok(answer) => answer,
            Err(failure) if state.is_some() && (failure.status == 412 || failure.is_absence()) => {
                return Err(Missed::Changed);
            }
            // The object is there, and ends before.
            Err(failure) if failure.status == 416 && want != Want::All => {
                let beyond = |total| match want {
                    Want::From(from) | Want::Span(from, _) => from >= total,
                    Want::All | Want::Last(_) => total == 0,
                };
                // Not every server says where the end is; that the range is behind it is not just believed.
                let total = match failure.total {
                    Some(total) => total,
                    None => self.length(object).await?,
                };
                if !beyond(total) {
                    return Err(Failure { transient: true, ..failure }.into());
                }
                // Who knows a state knows its length too, and asks for nothing behind it.
                if state.is_some() {
                    return Err(Missed::Changed);
                }
                return Ok(Begun::Nothing(total));
            }
            Err(failure) => return Err(failure.into()),
        };
        let etag: Arc<str> = match answer.field(ETAG)? {
            Some(etag) if !etag.is_empty() => etag.into(),
            _ => return Err(Failure::damaged("the answer has no ETag, so it is not the object").into()),
        };
        // Not every server heeds the condition.
        if state.is_some_and(|state| *state != *etag) {
            return Err(Missed::Changed);
        }
        if let Some(encoding) = answer.field(CONTENT_ENCODING)?.filter(|encoding| !encoding.is_empty())
            && !encoding.eq_ignore_ascii_case("identity")
            && !encoding.eq_ignore_ascii_case("aws-chunked")
        {
            return Err(Failure::refused(format!("the body is encoded ({encoding}), which is not the object")).into());
        }
        let Some(length) = answer.field(CONTENT_LENGTH)?.and_then(|length| length.parse::<u64>().ok()) else {
            return Err(Failure::damaged("the answer does not tell its length, so its end cannot be told").into());
        };
        let total = match (want, answer.field(CONTENT_RANGE)?) {
            (Want::All, None) => length,
            (Want::All, Some(_)) => return Err(Failure::damaged("a part was answered, the whole was asked for").into()),
            (_, None) => {
                return Err(Failure::damaged("a range was asked for, and the answer says nothing of one").into());
            }
            (want, Some(range)) => fits(want, range, length)?,
        };
        if length > limit {
            return Err(Missed::TooLong(length));
        }
        if answer.framing != Framing::Length(length) {
            return Err(Failure::damaged("the answer ends elsewhere than it says").into());
        }
        Ok(Begun::Body { answer, length, etag, total })
    }

    /// The length of an object, of which no range could be had.
    async fn length(&self, object: &str) -> Result<u64, Failure> {
        let request = self.client.head_object().bucket(&self.access.bucket).key(object);
        let answer = self.answer(0, async { request.send().await.map_err(Failure::of) }).await?;
        let length = answer.content_length().and_then(|length| u64::try_from(length).ok());
        length.ok_or_else(|| Failure::damaged("the answer does not tell how long the object is"))
    }
}

/// Whether `Content-Range` and length are an answer to `want`; the length of the whole object.
fn fits(want: Want, range: &str, length: u64) -> Result<u64, Failure> {
    let bad =
        |what: &str| Failure::damaged(format!("{want:?} was asked for, Content-Range {range:?} answered: {what}"));
    let parse = || {
        let (span, total) = range.trim().strip_prefix("bytes")?.trim_start().split_once('/')?;
        let (first, last) = span.split_once('-')?;
        let number = |text: &str| text.trim().parse::<u64>().ok();
        Some((number(first)?, number(last)?, number(total)?))
    };
    let (first, last, total) = parse().ok_or_else(|| bad("it cannot be read"))?;
    if last < first || last >= total {
        return Err(bad("it makes no sense"));
    }
    if last - first + 1 != length {
        return Err(bad(&format!("the body has {length} bytes")));
    }
    let (expected_first, expected_last) = match want {
        Want::All => (0, total - 1),
        Want::From(from) => (from, total - 1),
        Want::Span(from, len) => (from, (total - 1).min(from.saturating_add(len - 1))),
        Want::Last(len) => (total.saturating_sub(len), total - 1),
    };
    if (first, last) != (expected_first, expected_last) {
        return Err(bad("another range"));
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_fit_and_that_do_not() {
        for (want, range, length, total) in [
            (Want::Span(2, 3), "bytes 2-4/10", 3, Some(10)),
            (Want::Span(8, 5), "bytes 8-9/10", 2, Some(10)),
            (Want::From(4), "bytes 4-9/10", 6, Some(10)),
            (Want::Last(4), "bytes 6-9/10", 4, Some(10)),
            (Want::Last(40), "bytes 0-9/10", 10, Some(10)),
            (Want::Span(2, 3), "bytes 2-3/10", 2, None),
            (Want::Span(2, 3), "bytes 3-5/10", 3, None),
            (Want::Span(2, 3), "bytes 2-4/10", 4, None),
            (Want::Span(2, 3), "bytes 2-4/*", 3, None),
            (Want::Span(2, 3), "bytes 2-4/4", 3, None),
            (Want::Span(2, 3), "2-4/10", 3, None),
            (Want::Last(4), "bytes 5-8/10", 4, None),
            (Want::From(4), "bytes 4-8/10", 5, None),
            (Want::Span(0, 1), "bytes 1-0/10", 0, None),
            (Want::Span(0, u64::MAX), "bytes 0-9/10", 10, Some(10)),
        ] {
            assert_eq!(fits(want, range, length).ok(), total, "{want:?} {range}");
        }
    }
}

//! Reads one object by one GET, whole or a range, and checks the response.
//!
//! Length, range and ETag of every response are checked. A response that was cut, moved or made by a proxy is
//! never taken for the object.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG};

use tokio::time::timeout;

use crate::body::{Body, BodyMemory, PendingBody};
use crate::deadline::Deadline;
use crate::failure::RequestFailure;
use crate::remote::RemoteBucket;
use crate::response_head::BodyFraming;
use crate::signed_request::Response;

/// The requested part of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GetRange {
    All,
    /// From this offset to the end.
    From(u64),
    /// Offset and length, at least one byte.
    Span(u64, u64),
    /// The last bytes, at least one.
    Last(u64),
}

impl GetRange {
    /// A range that shows whether an object exists. Some servers ignore the 0 at the end of `bytes=0-0`.
    pub(crate) const PRESENCE: Self = Self::Span(0, 2);
}

/// The fetched part of an object.
#[derive(Debug)]
pub(crate) struct FetchedObject {
    pub(crate) bytes: Bytes,
    /// The body, if it was not read yet.
    pub(crate) held: Option<PendingBody>,
    pub(crate) etag: Arc<str>,
    /// Length of the whole object in bytes.
    pub(crate) total: u64,
}

/// A valid response head.
enum ResponseBegin {
    /// A body follows.
    Body { answer: Response, length: u64, etag: Arc<str>, total: u64 },
    /// The object ends before the range; its length.
    Nothing(u64),
}

/// Most bytes to read of an object. More is an error.
pub(crate) type ReadLimit = u64;

/// The reason why an object was not read.
#[derive(Debug)]
pub(crate) enum ReadMiss {
    /// It does not exist.
    Absent,
    /// It exceeds the limit; its length.
    TooLong(u64),
    /// It changed.
    Changed,
    Failed(RequestFailure),
}

/// The part of an object to read, its limit, and the required state by its ETag.
#[derive(Debug, Clone, Copy)]
struct GetRequest<'s> {
    want: GetRange,
    limit: ReadLimit,
    state: Option<&'s str>,
}

impl From<RequestFailure> for ReadMiss {
    fn from(failure: RequestFailure) -> Self {
        if failure.is_absence() { Self::Absent } else { Self::Failed(failure) }
    }
}

impl RemoteBucket {
    /// Reads an object or a part of it, with retries.
    pub(crate) async fn get(
        &self,
        object: &str,
        want: GetRange,
        limit: ReadLimit,
        deadline: &mut Deadline,
    ) -> Result<Result<FetchedObject, ReadMiss>, (RequestFailure, u32)> {
        self.get_with_retries(object, GetRequest { want, limit, state: None }, BodyMemory::Lent, deadline)
            .await
    }

    /// As [`RemoteBucket::get`]. The body may be left for another thread: [`FetchedObject::held`].
    pub(crate) async fn get_held(
        &self,
        object: &str,
        want: GetRange,
        limit: ReadLimit,
        deadline: &mut Deadline,
    ) -> Result<Result<FetchedObject, ReadMiss>, (RequestFailure, u32)> {
        self.get_with_retries(object, GetRequest { want, limit, state: None }, BodyMemory::Held, deadline)
            .await
    }

    /// As [`RemoteBucket::get`], for the state with this ETag, into memory for the caller to keep.
    pub(crate) async fn get_of(
        &self,
        object: &str,
        want: GetRange,
        limit: ReadLimit,
        state: Option<&str>,
        deadline: &mut Deadline,
    ) -> Result<Result<FetchedObject, ReadMiss>, (RequestFailure, u32)> {
        self.get_with_retries(object, GetRequest { want, limit, state }, BodyMemory::Own, deadline).await
    }

    async fn get_with_retries(
        &self,
        object: &str,
        request: GetRequest<'_>,
        way: BodyMemory,
        deadline: &mut Deadline,
    ) -> Result<Result<FetchedObject, ReadMiss>, (RequestFailure, u32)> {
        let mut tries = self.tries();
        loop {
            // The time for a body depends on the bytes received, so reading it keeps the deadline.
            let outcome = match timeout(deadline.left(), self.begin_get(object, request)).await {
                Ok(Ok(ResponseBegin::Body { answer, length, etag, total })) => {
                    let body = self.body(answer, length, way, deadline).await;
                    Ok(body.map(|body| match body {
                        Body::Here(bytes) => Ok(FetchedObject { bytes, held: None, etag, total }),
                        Body::Held(held) => {
                            Ok(FetchedObject { bytes: Bytes::new(), held: Some(held), etag, total })
                        }
                    }))
                }
                Ok(Ok(ResponseBegin::Nothing(total))) => {
                    Ok(Ok(Ok(FetchedObject { bytes: Bytes::new(), held: None, etag: "".into(), total })))
                }
                Ok(Err(ReadMiss::Failed(failure))) => Ok(Err(failure)),
                Ok(Err(missed)) => Ok(Ok(Err(missed))),
                Err(late) => Err(late),
            };
            if let Some(done) = tries.settle(outcome, deadline).await? {
                return Ok(done);
            }
        }
    }

    /// Sends one request, and checks the head of the response.
    async fn begin_get(&self, object: &str, request: GetRequest<'_>) -> Result<ResponseBegin, ReadMiss> {
        let GetRequest { want, limit, state } = request;
        let range = match want {
            GetRange::All => None,
            GetRange::From(from) => Some(format!("bytes={from}-")),
            GetRange::Span(from, len) => Some(format!("bytes={from}-{}", from.saturating_add(len - 1))),
            GetRange::Last(len) => Some(format!("bytes=-{len}")),
        };
        let answer = match self.answer(0, self.ask(object, range.as_deref(), state)).await {
            Ok(answer) => answer,
            Err(failure) if state.is_some() && (failure.status == 412 || failure.is_absence()) => {
                return Err(ReadMiss::Changed);
            }
            // The object exists and ends before the range.
            Err(failure) if failure.status == 416 && want != GetRange::All => {
                let beyond = |total| match want {
                    GetRange::From(from) | GetRange::Span(from, _) => from >= total,
                    GetRange::All | GetRange::Last(_) => total == 0,
                };
                // Some servers omit the length. Then it is checked that the range is beyond it.
                let total = match failure.total {
                    Some(total) => total,
                    None => self.length(object).await?,
                };
                if !beyond(total) {
                    return Err(RequestFailure { transient: true, ..failure }.into());
                }
                // A caller that has a state knows its length, and requests nothing beyond it.
                if state.is_some() {
                    return Err(ReadMiss::Changed);
                }
                return Ok(ResponseBegin::Nothing(total));
            }
            Err(failure) => return Err(failure.into()),
        };
        let etag: Arc<str> = match answer.field(ETAG)? {
            Some(etag) if !etag.is_empty() => etag.into(),
            _ => {
                return Err(
                    RequestFailure::damaged("the response has no ETag, so it is not the object").into()
                );
            }
        };
        // Some servers ignore the condition.
        if state.is_some_and(|state| *state != *etag) {
            return Err(ReadMiss::Changed);
        }
        if let Some(encoding) = answer.field(CONTENT_ENCODING)?.filter(|encoding| !encoding.is_empty())
            && !encoding.eq_ignore_ascii_case("identity")
            && !encoding.eq_ignore_ascii_case("aws-chunked")
        {
            return Err(RequestFailure::refused(format!(
                "the body is encoded ({encoding}), so it is not the object"
            ))
            .into());
        }
        let Some(length) = answer.field(CONTENT_LENGTH)?.and_then(|length| length.parse::<u64>().ok()) else {
            return Err(RequestFailure::damaged("the response has no length, so its end is unknown").into());
        };
        let total = match (want, answer.field(CONTENT_RANGE)?) {
            (GetRange::All, None) => length,
            (GetRange::All, Some(_)) => {
                return Err(RequestFailure::damaged(
                    "the response is a range, but the whole object was requested",
                )
                .into());
            }
            (_, None) => {
                return Err(RequestFailure::damaged(
                    "the response has no Content-Range, but a range was requested",
                )
                .into());
            }
            (want, Some(range)) => fits(want, range, length)?,
        };
        if length > limit {
            return Err(ReadMiss::TooLong(length));
        }
        if answer.framing != BodyFraming::Length(length) {
            return Err(RequestFailure::damaged("the response's range does not match its length").into());
        }
        Ok(ResponseBegin::Body { answer, length, etag, total })
    }

    /// Returns the length of an object whose range was refused.
    async fn length(&self, object: &str) -> Result<u64, RequestFailure> {
        let request = self.client.head_object().bucket(&self.access.bucket).key(object);
        let answer = self.answer(0, async { request.send().await.map_err(RequestFailure::of) }).await?;
        let length = answer.content_length().and_then(|length| u64::try_from(length).ok());
        length.ok_or_else(|| RequestFailure::damaged("the response does not state the length of the object"))
    }
}

/// Checks `Content-Range` and length against the request. Returns the length of the whole object.
fn fits(want: GetRange, range: &str, length: u64) -> Result<u64, RequestFailure> {
    let bad = |what: &str| {
        RequestFailure::damaged(format!(
            "wrong range (expected {want:?}, found Content-Range {range:?}): {what}"
        ))
    };
    let parse = || {
        let (span, total) = range.trim().strip_prefix("bytes")?.trim_start().split_once('/')?;
        let (first, last) = span.split_once('-')?;
        let number = |text: &str| text.trim().parse::<u64>().ok();
        Some((number(first)?, number(last)?, number(total)?))
    };
    let (first, last, total) = parse().ok_or_else(|| bad("it is unreadable"))?;
    if last < first || last >= total {
        return Err(bad("it is invalid"));
    }
    if last - first + 1 != length {
        return Err(bad(&format!("the body has {length} bytes")));
    }
    let (expected_first, expected_last) = match want {
        GetRange::All => (0, total - 1),
        GetRange::From(from) => (from, total - 1),
        GetRange::Span(from, len) => (from, (total - 1).min(from.saturating_add(len - 1))),
        GetRange::Last(len) => (total.saturating_sub(len), total - 1),
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
            (GetRange::Span(2, 3), "bytes 2-4/10", 3, Some(10)),
            (GetRange::Span(8, 5), "bytes 8-9/10", 2, Some(10)),
            (GetRange::From(4), "bytes 4-9/10", 6, Some(10)),
            (GetRange::Last(4), "bytes 6-9/10", 4, Some(10)),
            (GetRange::Last(40), "bytes 0-9/10", 10, Some(10)),
            (GetRange::Span(2, 3), "bytes 2-3/10", 2, None),
            (GetRange::Span(2, 3), "bytes 3-5/10", 3, None),
            (GetRange::Span(2, 3), "bytes 2-4/10", 4, None),
            (GetRange::Span(2, 3), "bytes 2-4/*", 3, None),
            (GetRange::Span(2, 3), "bytes 2-4/4", 3, None),
            (GetRange::Span(2, 3), "2-4/10", 3, None),
            (GetRange::Last(4), "bytes 5-8/10", 4, None),
            (GetRange::From(4), "bytes 4-8/10", 5, None),
            (GetRange::Span(0, 1), "bytes 1-0/10", 0, None),
            (GetRange::Span(0, u64::MAX), "bytes 0-9/10", 10, Some(10)),
        ] {
            assert_eq!(fits(want, range, length).ok(), total, "{want:?} {range}");
        }
    }
}

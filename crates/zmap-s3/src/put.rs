//! Writing one object: one PUT (above what one may hold in parts: `parts`); conditionally by `If-Match` and
//! `If-None-Match`.
//!
//! After an answer that was lost, the next try may meet what the first one stored: then the object is read once, and bytes
//! that are equal are ours. A 409 is a race that is not over: the same is sent again.

use std::sync::Arc;

use aws_sdk_s3::primitives::ByteStream;
use bytes::Bytes;

use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::get::Want;
use crate::remote::{Remote, patiently};

/// The most that an object may hold.
pub(crate) const MOST: u64 = 5 << 40;

/// What a write expects to find.
#[derive(Debug, Clone)]
pub(crate) enum Only {
    /// Anything.
    Always,
    /// No object.
    Absent,
    /// The object with this ETag.
    Is(Arc<str>),
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Put {
    /// Done; this is its ETag.
    Done(Arc<str>),
    /// The object is not as expected.
    Lost,
}

impl Only {
    pub(crate) fn none_match(&self) -> Option<String> {
        matches!(self, Self::Absent).then(|| "*".to_owned())
    }

    pub(crate) fn is_match(&self) -> Option<String> {
        match self {
            Self::Is(etag) => Some(etag.to_string()),
            _ => None,
        }
    }

    /// What a failure of the last step means: that the race is lost, or nothing.
    fn lost(&self, failure: &Failure) -> bool {
        match self {
            Self::Always => false,
            Self::Absent => failure.status == 412,
            Self::Is(_) => failure.status == 412 || failure.is_absence(),
        }
    }
}

impl Remote {
    /// Stores an object, patiently. The caller has seen that it is no longer than [`MOST`].
    pub(crate) async fn put(
        self: &Arc<Self>,
        object: &str,
        value: Bytes,
        only: &Only,
        deadline: Deadline,
    ) -> Result<Put, (Failure, u32)> {
        let size = value.len() as u64;
        if size > self.access.multipart_above {
            return self.put_parts(object, value, only, deadline).await;
        }
        patiently!(self, deadline, |unsure| {
            let request = self
                .client
                .put_object()
                .bucket(&self.access.bucket)
                .key(object)
                .set_if_match(only.is_match())
                .set_if_none_match(only.none_match())
                .body(ByteStream::from(value.clone()));
            let answer = self.answer(size, async { request.send().await.map_err(Failure::of) }).await;
            match answer {
                Ok(answer) => stored(answer.e_tag()).map(Put::Done),
                Err(failure) => self.settle(object, &value, only, failure, unsure.then_some(deadline)).await,
            }
        })
    }

    /// The outcome of a failed write: done after all, lost, or the failure. `unsure`: a try before may have done its work;
    /// until then it is to be found out.
    pub(crate) async fn settle(
        &self,
        object: &str,
        value: &Bytes,
        only: &Only,
        failure: Failure,
        unsure: Option<Deadline>,
    ) -> Result<Put, Failure> {
        if only.lost(&failure) {
            // What came between may have been this write itself, whose answer was lost.
            return match unsure {
                Some(deadline) => self.is_ours(object, value, deadline).await,
                None => Ok(Put::Lost),
            };
        }
        let racing = failure.status == 409 && !matches!(only, Only::Always);
        Err(Failure { transient: failure.transient || racing, ..failure })
    }

    /// Whether the object holds these bytes: what became of a write whose answer was lost.
    pub(crate) async fn is_ours(&self, object: &str, value: &Bytes, mut deadline: Deadline) -> Result<Put, Failure> {
        let found = self.get(object, Want::All, value.len() as u64, &mut deadline).await;
        match found.map_err(|(failure, _)| failure)? {
            Ok(found) => Ok(if found.bytes == *value { Put::Done(found.etag) } else { Put::Lost }),
            Err(crate::get::Missed::Failed(failure)) => Err(failure),
            Err(_) => Ok(Put::Lost),
        }
    }

    /// Copies an object in the server.
    pub(crate) async fn copy(&self, from: &str, to: &str) -> Result<(), (Failure, u32)> {
        let source = escaped(&format!("{}/{from}", self.access.bucket));
        patiently!(self, self.deadline(0), |_| {
            let request = self.client.copy_object().bucket(&self.access.bucket).key(to).copy_source(&source);
            let answer = self.answer(0, async { request.send().await.map_err(Failure::of) }).await?;
            stored(answer.copy_object_result().and_then(|result| result.e_tag())).map(drop)
        })
    }

    /// Removes an object, whether it is there or not.
    pub(crate) async fn delete(&self, object: &str, deadline: Deadline) -> Result<(), (Failure, u32)> {
        patiently!(self, deadline, |_| {
            let request = self.client.delete_object().bucket(&self.access.bucket).key(object);
            self.answer(0, async { request.send().await.map_err(Failure::of) }).await.map(drop)
        })
    }
}

/// The ETag of what was stored: an answer without one is not S3's.
pub(crate) fn stored(etag: Option<&str>) -> Result<Arc<str>, Failure> {
    match etag {
        Some(etag) if !etag.is_empty() => Ok(etag.into()),
        _ => Err(Failure::damaged("the answer has no ETag, so whether it was stored is open")),
    }
}

/// A bucket and key as they stand in a header.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/');
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            byte if plain(byte) => escaped.push(char::from(byte)),
            byte => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

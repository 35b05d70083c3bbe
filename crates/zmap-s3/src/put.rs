//! Writes one object by one PUT, or in parts if it is too large (`parts`); conditionally by `If-Match` and
//! `If-None-Match`.
//!
//! After a lost response, a retry may meet the object stored by the first attempt. Then the object is read
//! once. If its bytes are equal, the write has succeeded. A 409 is an undecided race, so the request is
//! repeated.

use std::sync::Arc;

use aws_sdk_s3::primitives::ByteStream;
use bytes::Bytes;

use crate::deadline::Deadline;
use crate::failure::RequestFailure;
use crate::get::GetRange;
use crate::remote::{RemoteBucket, with_retries};

/// Largest object in bytes.
pub(crate) const MOST: u64 = 5 << 40;

/// The condition of a write.
#[derive(Debug, Clone)]
pub(crate) enum WriteCondition {
    /// None.
    Always,
    /// No object exists.
    Absent,
    /// The object has this ETag.
    Is(Arc<str>),
}

/// The outcome of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PutOutcome {
    /// Stored, with this ETag.
    Done(Arc<str>),
    /// The condition failed.
    Lost,
}

impl WriteCondition {
    pub(crate) fn none_match(&self) -> Option<String> {
        matches!(self, Self::Absent).then(|| "*".to_owned())
    }

    pub(crate) fn is_match(&self) -> Option<String> {
        match self {
            Self::Is(etag) => Some(etag.to_string()),
            _ => None,
        }
    }

    /// Whether a failure of the last step means a lost race.
    fn lost(&self, failure: &RequestFailure) -> bool {
        match self {
            Self::Always => false,
            Self::Absent => failure.status == 412,
            Self::Is(_) => failure.status == 412 || failure.is_absence(),
        }
    }
}

impl RemoteBucket {
    /// Stores an object with retries. The caller has checked that it is at most [`MOST`] bytes.
    pub(crate) async fn put(
        self: &Arc<Self>,
        object: &str,
        value: Bytes,
        only: &WriteCondition,
        deadline: Deadline,
    ) -> Result<PutOutcome, (RequestFailure, u32)> {
        let size = value.len() as u64;
        if size > self.access.multipart_above {
            return self.put_parts(object, value, only, deadline).await;
        }
        with_retries!(self, deadline, |unsure| {
            let request = self
                .client
                .put_object()
                .bucket(&self.access.bucket)
                .key(object)
                .set_if_match(only.is_match())
                .set_if_none_match(only.none_match())
                .body(ByteStream::from(value.clone()));
            let answer = self.answer(size, async { request.send().await.map_err(RequestFailure::of) }).await;
            match answer {
                Ok(answer) => stored(answer.e_tag()).map(PutOutcome::Done),
                Err(failure) => self.settle(object, &value, only, failure, unsure.then_some(deadline)).await,
            }
        })
    }

    /// Decides a failed write: stored after all, lost, or failed. `unsure`: an earlier attempt may have
    /// succeeded; then this is checked.
    pub(crate) async fn settle(
        &self,
        object: &str,
        value: &Bytes,
        only: &WriteCondition,
        failure: RequestFailure,
        unsure: Option<Deadline>,
    ) -> Result<PutOutcome, RequestFailure> {
        if only.lost(&failure) {
            // The stored object may be of this write, whose response was lost.
            return match unsure {
                Some(deadline) => self.is_ours(object, value, deadline).await,
                None => Ok(PutOutcome::Lost),
            };
        }
        let racing = failure.status == 409 && !matches!(only, WriteCondition::Always);
        Err(RequestFailure { transient: failure.transient || racing, ..failure })
    }

    /// Whether the object holds these bytes, after a lost response.
    pub(crate) async fn is_ours(
        &self,
        object: &str,
        value: &Bytes,
        mut deadline: Deadline,
    ) -> Result<PutOutcome, RequestFailure> {
        let found = self.get(object, GetRange::All, value.len() as u64, &mut deadline).await;
        match found.map_err(|(failure, _)| failure)? {
            Ok(found) => {
                Ok(if found.bytes == *value { PutOutcome::Done(found.etag) } else { PutOutcome::Lost })
            }
            Err(crate::get::ReadMiss::Failed(failure)) => Err(failure),
            Err(_) => Ok(PutOutcome::Lost),
        }
    }

    /// Copies an object on the server.
    pub(crate) async fn copy(&self, from: &str, to: &str) -> Result<(), (RequestFailure, u32)> {
        let source = escaped(&format!("{}/{from}", self.access.bucket));
        with_retries!(self, self.deadline(0), |_| {
            let request = self.client.copy_object().bucket(&self.access.bucket).key(to).copy_source(&source);
            let answer = self.answer(0, async { request.send().await.map_err(RequestFailure::of) }).await?;
            stored(answer.copy_object_result().and_then(|result| result.e_tag())).map(drop)
        })
    }

    /// Removes an object, whether it exists or not.
    pub(crate) async fn delete(&self, object: &str, deadline: Deadline) -> Result<(), (RequestFailure, u32)> {
        with_retries!(self, deadline, |_| {
            let request = self.client.delete_object().bucket(&self.access.bucket).key(object);
            self.answer(0, async { request.send().await.map_err(RequestFailure::of) }).await.map(drop)
        })
    }
}

/// Returns the ETag of a stored object. S3 always sends one.
pub(crate) fn stored(etag: Option<&str>) -> Result<Arc<str>, RequestFailure> {
    match etag {
        Some(etag) if !etag.is_empty() => Ok(etag.into()),
        _ => Err(RequestFailure::damaged(
            "the response has no ETag, so the write may or may not have succeeded",
        )),
    }
}

/// Escapes bucket and key for a header.
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

//! Uploads a large object in parts, several at once, each with its own retries. A failed upload is aborted.
//!
//! The object appears when the upload is completed. That request carries the condition of a conditional
//! write. If its response is lost, a retry finds no upload. Then the object is read, as after any lost
//! response.

use std::sync::Arc;

use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use bytes::Bytes;
use nczarr_runtime::carrying_signal;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::Dispatch;
use tracing::instrument::WithSubscriber as _;

use crate::deadline::Deadline;
use crate::failure::RequestFailure;
use crate::list::OWN;
use crate::put::{PutOutcome, WriteCondition, stored};
use crate::remote::{RemoteBucket, pause, random, with_retries};

/// Most parts of an upload.
const PARTS: u64 = 10_000;
/// Smallest part except the last in bytes, by Amazon's rules.
const LEAST_PART: u64 = 5 << 20;
/// Most parts of an object in flight.
const AT_ONCE: usize = 4;
/// Attempts to abort an upload.
const TAKING_BACK: u32 = 4;
/// Completing an upload takes longer for large objects, but this many times less than sending.
const FASTER: u64 = 64;

/// Whether Amazon accepts parts of this size.
pub(crate) fn is_part(bytes: u64) -> bool {
    bytes >= LEAST_PART
}

impl RemoteBucket {
    /// Stores an object in parts.
    pub(crate) async fn put_parts(
        self: &Arc<Self>,
        object: &str,
        value: Bytes,
        only: &WriteCondition,
        deadline: Deadline,
    ) -> Result<PutOutcome, (RequestFailure, u32)> {
        if !matches!(only, WriteCondition::Always) && !self.parts_conditional(deadline).await? {
            let what = "the server leaves conditions aside where an object is sent in parts, so what others write could \
                        be lost; if nobody else writes, open the dataset as exclusive";
            return Err((RequestFailure::refused(what), 1));
        }
        let size = value.len() as u64;
        let part = self.access.part.max(1).max(size.div_ceil(PARTS));
        let upload = self.begin_upload(object, deadline).await?;
        let done = async {
            let parts = self.send_parts(object, &upload, &value, part, deadline).await?;
            self.end_upload(object, &upload, &value, parts, only, deadline).await
        };
        let done = done.await;
        if !matches!(done, Ok(PutOutcome::Done(_))) {
            self.take_back(object, &upload, deadline).await;
        }
        done
    }

    async fn begin_upload(&self, object: &str, deadline: Deadline) -> Result<String, (RequestFailure, u32)> {
        with_retries!(self, deadline, |_| {
            let request = self.client.create_multipart_upload().bucket(&self.access.bucket).key(object);
            let answer = self.answer(0, async { request.send().await.map_err(RequestFailure::of) }).await?;
            let id = answer.upload_id().filter(|id| !id.is_empty()).map(str::to_owned);
            id.ok_or_else(|| RequestFailure::damaged("the response has no upload id"))
        })
    }

    /// Sends all parts in order.
    async fn send_parts(
        self: &Arc<Self>,
        object: &str,
        upload: &str,
        value: &Bytes,
        part: u64,
        deadline: Deadline,
    ) -> Result<Vec<CompletedPart>, (RequestFailure, u32)> {
        let step = usize::try_from(part.max(1)).unwrap_or(usize::MAX);
        let count = value.len().div_ceil(step);
        let mut parts: Vec<Option<CompletedPart>> = vec![None; count];
        let (mut next, mut under) = (0, JoinSet::new());
        loop {
            while under.len() < AT_ONCE && next < count {
                let start = next * step;
                let bytes = value.slice(start..value.len().min(start.saturating_add(step)));
                let (remote, object, upload, index) =
                    (Arc::clone(self), object.to_owned(), upload.to_owned(), next);
                let sent = async move {
                    remote.send_part(&object, &upload, index, bytes, deadline).await.map(|part| (index, part))
                };
                under.spawn(carrying_signal(sent).with_subscriber(Dispatch::none()));
                next += 1;
            }
            let Some(sent) = under.join_next().await else { break };
            match sent {
                Ok(Ok((index, part))) => parts[index] = Some(part),
                Ok(Err(failure)) => {
                    // No part may be in flight when the upload is aborted.
                    under.shutdown().await;
                    return Err(failure);
                }
                Err(lost) => return Err((RequestFailure::refused(format!("a part failed: {lost}")), 1)),
            }
        }
        Ok(parts.into_iter().flatten().collect())
    }

    async fn send_part(
        &self,
        object: &str,
        upload: &str,
        index: usize,
        bytes: Bytes,
        deadline: Deadline,
    ) -> Result<CompletedPart, (RequestFailure, u32)> {
        let (number, size) = (index as i32 + 1, bytes.len() as u64);
        let etag = with_retries!(self, deadline, |_| {
            let request = self
                .client
                .upload_part()
                .bucket(&self.access.bucket)
                .key(object)
                .upload_id(upload)
                .part_number(number)
                .body(ByteStream::from(bytes.clone()));
            let answer =
                self.answer(size, async { request.send().await.map_err(RequestFailure::of) }).await?;
            stored(answer.e_tag())
        })?;
        Ok(CompletedPart::builder().part_number(number).e_tag(&*etag).build())
    }

    async fn end_upload(
        &self,
        object: &str,
        upload: &str,
        value: &Bytes,
        parts: Vec<CompletedPart>,
        only: &WriteCondition,
        deadline: Deadline,
    ) -> Result<PutOutcome, (RequestFailure, u32)> {
        let all = CompletedMultipartUpload::builder().set_parts(Some(parts)).build();
        let size = value.len() as u64;
        with_retries!(self, deadline, |unsure| {
            let request = self
                .client
                .complete_multipart_upload()
                .bucket(&self.access.bucket)
                .key(object)
                .upload_id(upload)
                .set_if_match(only.is_match())
                .set_if_none_match(only.none_match())
                .multipart_upload(all.clone());
            let answer =
                self.answer(size / FASTER, async { request.send().await.map_err(RequestFailure::of) }).await;
            match answer {
                Ok(answer) => stored(answer.e_tag()).map(PutOutcome::Done),
                // After a lost response a missing upload was completed by it.
                Err(failure) if unsure && failure.code == "NoSuchUpload" => {
                    match self.is_ours(object, value, deadline).await? {
                        PutOutcome::Lost => Err(failure),
                        done => Ok(done),
                    }
                }
                Err(failure) => self.settle(object, value, only, failure, unsure.then_some(deadline)).await,
            }
        })
    }

    /// Aborts an upload, because its parts cost money. A failure to abort does not replace the error. After
    /// the deadline it has as much time as a connection.
    async fn take_back(&self, object: &str, upload: &str, deadline: Deadline) {
        let time = deadline.left().max(self.access.connect.unwrap_or(self.access.retries.stall));
        drop(timeout(time, self.abort(object, upload)).await);
    }

    async fn abort(&self, object: &str, upload: &str) {
        for tries in 1..=TAKING_BACK {
            let request = self
                .client
                .abort_multipart_upload()
                .bucket(&self.access.bucket)
                .key(object)
                .upload_id(upload);
            match self.answer(0, async { request.send().await.map_err(RequestFailure::of) }).await {
                Err(failure) if failure.transient => sleep(pause(self.access.retries.pause, tries)).await,
                _ => return,
            }
        }
    }

    /// Tests once whether the server checks conditions when an upload is completed.
    async fn parts_conditional(self: &Arc<Self>, deadline: Deadline) -> Result<bool, (RequestFailure, u32)> {
        let heed = self.parts_conditional.get_or_try_init(|| async {
            let name = format!("{OWN}{:016x}", random());
            let object =
                if self.access.key.is_empty() { name } else { format!("{}/{name}", self.access.key) };
            let (first, second) = (Bytes::from_static(b"1"), Bytes::from_static(b"2"));
            with_retries!(self, deadline, |_| {
                let body = ByteStream::from(first.clone());
                let request = self.client.put_object().bucket(&self.access.bucket).key(&object).body(body);
                self.answer(1, async { request.send().await.map_err(RequestFailure::of) }).await.map(drop)
            })?;
            let upload = self.begin_upload(&object, deadline).await?;
            let ended = async {
                let parts = self.send_parts(&object, &upload, &second, 1, deadline).await?;
                self.end_upload(&object, &upload, &second, parts, &WriteCondition::Absent, deadline).await
            };
            let ended = ended.await;
            self.take_back(&object, &upload, deadline).await;
            self.delete(&object, deadline).await?;
            Ok(ended? == PutOutcome::Lost)
        });
        heed.await.copied()
    }
}

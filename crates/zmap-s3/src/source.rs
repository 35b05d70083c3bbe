//! [`S3Source`]: one object that is a whole dataset (an archive or a classic file), read by ranges.
//!
//! The ETag of the first response fixes the state of the object. Every later request asks for that state
//! (`If-Match`), and its response is checked. Long ranges are read in several concurrent requests.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::stoppable;
use nczarr_storage::ByteRange;
use nczarr_storage::source::{ByteSource, InitialRead, ReadCallback};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tracing::Dispatch;
use tracing::instrument::WithSubscriber as _;

use crate::access::Access;
use crate::get::{FetchedObject, GetRange, ReadMiss};
use crate::map::{changed, too_long};
use crate::remote::RemoteBucket;
use crate::runtime;

/// Bytes of one request. More are read by several.
const PIECE: u64 = 8 << 20;

/// One object in S3, for reading.
#[derive(Clone)]
pub struct S3Source {
    remote: Arc<RemoteBucket>,
    object: Arc<str>,
    etag: Arc<str>,
    len: u64,
    /// Offset and bytes read at opening.
    kept: Arc<(u64, Bytes)>,
    /// One permit for each request that may be in flight.
    turns: Arc<Semaphore>,
}

impl S3Source {
    /// Opens the object at `access` and reads a part of it in one request. The part is kept.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if it does not exist; `NC_EURL` if the URL names only the bucket; errors of the server.
    pub fn open(access: Access, part: InitialRead) -> Result<Self> {
        if access.key.is_empty() {
            return Err(
                ErrorKind::Url.context(format!("{}: the URL has a bucket but no object", access.shown))
            );
        }
        let (want, limit) = match part {
            InitialRead::Head(len) => (GetRange::Span(0, len.max(1)), len.max(1)),
            InitialRead::Tail(len) => (GetRange::Last(len.max(1)), len.max(1)),
        };
        let turns = Arc::new(Semaphore::new(access.in_flight.max(1)));
        let object: Arc<str> = access.key.as_str().into();
        let remote = RemoteBucket::new(access)?;
        let asking = (Arc::clone(&remote), Arc::clone(&object));
        let asked = async move { read(&asking.0, &asking.1, want, limit, None).await };
        let found = runtime::wait(&remote.handle, stoppable(asked))???;
        let Some(FetchedObject { bytes, total, etag, .. }) = found else {
            return Err(ErrorKind::NotFound
                .context(format!("{}: no dataset found", remote.describe("read", &object))));
        };
        let start = if let GetRange::Last(_) = want { total - bytes.len() as u64 } else { 0 };
        Ok(Self { remote, object, etag, len: total, kept: Arc::new((start, bytes)), turns })
    }

    /// Returns bytes that were kept.
    fn kept_bytes(&self, from: u64, to: u64) -> Option<Vec<u8>> {
        let (start, bytes) = &*self.kept;
        let from = usize::try_from(from.checked_sub(*start)?).ok()?;
        let to = usize::try_from(to.checked_sub(*start)?).ok()?;
        bytes.get(from..to).map(<[u8]>::to_vec)
    }

    /// Reads a range that lies within the object and is not empty.
    async fn get(self, from: u64, to: u64) -> Result<Vec<u8>> {
        if to - from <= PIECE {
            return Ok(self.piece(from, to).await?.into());
        }
        let mut out = Vec::new();
        let len = usize::try_from(to - from).ok().filter(|&len| out.try_reserve_exact(len).is_ok());
        len.ok_or_else(|| ErrorKind::NoMem.context(format!("no memory for {} bytes", to - from)))?;
        let mut asked = JoinSet::new();
        for at in (from..to).step_by(PIECE as usize) {
            let source = self.clone();
            let piece = async move { source.piece(at, to.min(at + PIECE)).await.map(|piece| (at, piece)) };
            asked.spawn(piece.with_subscriber(Dispatch::none()));
        }
        out.resize((to - from) as usize, 0);
        while let Some(one) = asked.join_next().await {
            let (at, piece) = one
                .map_err(|error| ErrorKind::Internal.context("a request was abandoned").caused_by(error))??;
            let at = (at - from) as usize;
            out[at..at + piece.len()].copy_from_slice(&piece);
        }
        Ok(out)
    }

    /// Reads exactly these bytes in one request.
    async fn piece(&self, from: u64, to: u64) -> Result<Bytes> {
        let _turn = self.turns.acquire().await;
        let found =
            read(&self.remote, &self.object, GetRange::Span(from, to - from), to - from, Some(&self.etag))
                .await?;
        match found {
            Some(found) if found.bytes.len() as u64 == to - from && found.total == self.len => {
                Ok(found.bytes)
            }
            // In the same state there would be as many bytes.
            _ => Err(changed(&self.remote.describe("read", &self.object))),
        }
    }
}

/// Sends one request; `None`: the object does not exist.
async fn read(
    remote: &RemoteBucket,
    object: &str,
    want: GetRange,
    limit: u64,
    etag: Option<&str>,
) -> Result<Option<FetchedObject>> {
    let what = || remote.describe("read", object);
    let got = remote.get_of(object, want, limit, etag, &mut remote.deadline(0)).await;
    match got.map_err(|(failure, tries)| failure.into_error(&what(), tries))? {
        Ok(found) => Ok(Some(found)),
        Err(ReadMiss::Absent) => Ok(None),
        Err(ReadMiss::Changed) => Err(changed(&what())),
        Err(ReadMiss::TooLong(len)) => Err(too_long(&what(), len, limit)),
        Err(ReadMiss::Failed(failure)) => Err(failure.into_error(&what(), 1)),
    }
}

/// Shows the location, without credentials.
impl fmt::Debug for S3Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Source")
            .field("access", &self.remote.access)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl ByteSource for S3Source {
    fn len(&self) -> u64 {
        self.len
    }

    fn prefetched_range(&self) -> Range<u64> {
        let (start, bytes) = &*self.kept;
        *start..*start + bytes.len() as u64
    }

    fn start_read(&self, range: ByteRange, then: ReadCallback) {
        let from = range.offset.min(self.len);
        let to = range.len.map_or(self.len, |len| range.offset.saturating_add(len).min(self.len)).max(from);
        let stretch_at_hand = if from == to { Some(Vec::new()) } else { self.kept_bytes(from, to) };
        if let Some(bytes) = stretch_at_hand {
            return then(Ok(bytes));
        }
        let read = stoppable(self.clone().get(from, to));
        let handle = self.remote.handle.clone();
        let span = runtime::request_span("read", &self.object);
        let read = async move {
            let _open = span;
            then(read.await.and_then(|read| read));
        };
        drop(handle.spawn(read.with_subscriber(Dispatch::none())));
    }
}

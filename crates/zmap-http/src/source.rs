//! [`HttpSource`]: one file, read by ranges.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::source::{ByteSource, InitialRead, ReadCallback};
use nczarr_storage::threads::stoppable;
use nczarr_storage::{ByteRange, Target};
use tokio::task::JoinSet;
use tracing::Instrument as _;
use tracing::instrument::WithSubscriber as _;

use crate::fetch::{FileRequest, Requester, fetch};
use crate::response::{FileState, RequestedPart};
use crate::server_url::ServerUrl;
use crate::{Config, Settings};

/// Largest file, in bytes, that is kept whole if the server gives no ranges.
const WHOLE: u64 = 64 << 20;

/// Bytes of one request. More are read by several.
const PIECE: u64 = 8 << 20;

/// A file on a web server.
#[derive(Clone)]
pub struct HttpSource {
    place: ServerUrl,
    asker: Requester,
    state: FileState,
    len: u64,
    /// Offset and bytes read at opening.
    kept: Arc<(u64, Vec<u8>)>,
}

impl fmt::Debug for HttpSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSource")
            .field("place", &self.place)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl HttpSource {
    /// Opens the file at the URL of a target and reads a part of it, which is kept. If the server gives no
    /// ranges, a file of up to 64 MiB is read and kept whole.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if it does not exist; errors of the server.
    pub fn open(target: &Target, part: InitialRead, config: &Config) -> Result<Self> {
        Self::with_settings(target, part, config, &Settings::default())
    }

    /// As [`HttpSource::open`], with rc file settings.
    ///
    /// # Errors
    /// As [`HttpSource::open`]; `NC_ERCFILE` if certificates are unreadable.
    pub fn with_settings(
        target: &Target,
        part: InitialRead,
        config: &Config,
        settings: &Settings,
    ) -> Result<Self> {
        let place = ServerUrl::of(target)?.or_credentials(settings);
        let asker = Requester::new(&place, config, settings)?;
        let (want, limit) = match part {
            InitialRead::Head(len) => (RequestedPart::Range(0, len.max(1)), len.max(1)),
            InitialRead::Tail(len) => (RequestedPart::Tail(len.max(1)), len.max(1)),
        };
        let question = FileRequest { place: place.clone(), want, limit, state: None, whole: Some(WHOLE) };
        let got = asker.client.wait(fetch(asker.clone(), question))?;
        let got = got.ok_or_else(|| ErrorKind::NotFound.context(format!("{place}: no dataset found")))?;
        let len = got.state.total.ok_or_else(|| {
            ErrorKind::Curl.context(format!("{place}: the server does not state the length"))
        })?;
        let kept = Arc::new((got.offset, got.bytes));
        Ok(Self { place, asker, state: got.state, len, kept })
    }

    /// Returns bytes that were kept.
    fn stretch_at_hand(&self, from: u64, to: u64) -> Option<Vec<u8>> {
        let (start, bytes) = &*self.kept;
        let from = usize::try_from(from.checked_sub(*start)?).ok()?;
        let to = usize::try_from(to.checked_sub(*start)?).ok()?;
        bytes.get(from..to).map(<[u8]>::to_vec)
    }

    /// Reads a range in concurrent pieces.
    async fn get(self, from: u64, to: u64) -> Result<Vec<u8>> {
        let mut asked = JoinSet::new();
        let mut at = from;
        while at < to {
            let len = PIECE.min(to - at);
            let (place, state) = (self.place.clone(), Some(self.state.clone()));
            let question =
                FileRequest { place, want: RequestedPart::Range(at, len), limit: len, state, whole: None };
            let asker = self.asker.clone();
            let read = async move { (question.want, fetch(asker, question).await) };
            asked.spawn(read.in_current_span().with_current_subscriber());
            at += len;
        }
        let mut pieces = Vec::new();
        while let Some(one) = asked.join_next().await {
            let (want, got) =
                one.map_err(|error| ErrorKind::Internal.context("a request was abandoned").caused_by(error))?;
            // With an earlier state, absence is already an error.
            let got = got?.ok_or_else(|| ErrorKind::Internal.context("a response without bytes"))?;
            if want != RequestedPart::Range(got.offset, got.bytes.len() as u64) {
                let what = format!(
                    "{}: wrong length (expected {want:?}, found {} bytes)",
                    self.place,
                    got.bytes.len()
                );
                return Err(ErrorKind::Io.context(what));
            }
            pieces.push((got.offset, got.bytes));
        }
        if pieces.len() == 1 {
            return Ok(pieces.pop().map(|(_, bytes)| bytes).unwrap_or_default());
        }
        pieces.sort_unstable_by_key(|(offset, _)| *offset);
        let mut all = Vec::new();
        let len = usize::try_from(to - from).ok().filter(|&len| all.try_reserve_exact(len).is_ok());
        len.ok_or_else(|| ErrorKind::NoMem.context(format!("no memory for {} bytes", to - from)))?;
        pieces.into_iter().for_each(|(_, bytes)| all.extend_from_slice(&bytes));
        Ok(all)
    }
}

impl ByteSource for HttpSource {
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
        if let Some(bytes) = self.stretch_at_hand(from, to) {
            return then(Ok(bytes));
        }
        let read = stoppable(self.clone().get(from, to));
        self.asker.client.spawn(async move { then(read.await.and_then(|read| read)) });
    }
}

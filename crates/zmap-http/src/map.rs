//! [`HttpMap`]: the files below a URL as a map.

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::batch::{
    FetchRequest, FetchResult, InFlightLimits, Ranges, ReadJob, coalesce, gather, read_overlapped,
};
use nczarr_storage::threads::stoppable;
use nczarr_storage::{ByteRange, Forbidden, Key, ListMode, MapCaps, ObjectInfo, ReadOptions, Target, ZMap};
use tokio::task::JoinSet;
use tracing::Instrument as _;
use tracing::instrument::WithSubscriber as _;

use crate::deadline::ReadDeadline;
use crate::fetch::{FileBytes, FileRequest, Requester, fetch};
use crate::response::{RequestedPart, changed};
use crate::server_url::ServerUrl;
use crate::{Config, Settings};

/// Attempts to read several parts of a file that changes in between.
const TRIES: usize = 4;

/// A dataset on a plain web server, for reading.
#[derive(Clone)]
pub struct HttpMap {
    root: ServerUrl,
    asker: Requester,
}

impl std::fmt::Debug for HttpMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpMap").field("root", &self.root).finish_non_exhaustive()
    }
}

impl HttpMap {
    /// Makes a map of the files below the URL of a target, without a request.
    ///
    /// # Errors
    /// `NC_EURL` if it is not a URL of a web server.
    pub fn new(target: &Target, config: &Config) -> Result<Self> {
        Self::with_settings(target, config, &Settings::default())
    }

    /// As [`HttpMap::new`], with rc file settings.
    ///
    /// # Errors
    /// As [`HttpMap::new`]; `NC_ERCFILE` if certificates are unreadable.
    pub fn with_settings(target: &Target, config: &Config, settings: &Settings) -> Result<Self> {
        let root = ServerUrl::of(target)?.or_credentials(settings);
        let asker = Requester::new(&root, config, settings)?;
        Ok(Self { root, asker })
    }

    fn question(&self, key: &Key, want: RequestedPart, limit: u64) -> FileRequest {
        let place = if key.is_root() { self.root.clone() } else { self.root.below(key.as_str()) };
        FileRequest { place, want, limit, state: None, whole: None }
    }

    fn ask(&self, key: &Key, want: RequestedPart, limit: u64) -> Result<Option<FileBytes>> {
        if key.is_root() {
            // The folder itself is not an object, whatever the server sends for it.
            return Ok(None);
        }
        let got = self.asker.client.wait(fetch(self.asker.clone(), self.question(key, want, limit)));
        got.map_err(Forbidden::with_advice)
    }

    /// Reads the bytes of a ticket.
    async fn get(self, wanted: FetchRequest) -> FetchResult {
        if wanted.versioned {
            return Err(ErrorKind::Perm.context(format!("key {}: a web server has no versions", wanted.key)));
        }
        if wanted.key.is_root() {
            return Ok(None);
        }
        let limit = wanted.limit as u64;
        let parts = wanted.parts()?;
        let want = match (&wanted.ranges, &parts) {
            (_, Some(parts)) if !parts.is_empty() => return self.get_parts(&wanted, parts).await,
            (Ranges::One(range), _) => want_of(*range, limit),
            (Ranges::Suffix(0), _) | (_, Some(_)) => None,
            (Ranges::Suffix(len), _) => Some(RequestedPart::Tail(*len)),
            _ => Some(RequestedPart::All),
        };
        let is_there = want.is_none();
        let question = self.question(
            &wanted.key,
            want.unwrap_or(RequestedPart::Range(0, 1)),
            limit.max(u64::from(is_there)),
        );
        let got = fetch(self.asker.clone(), question).await?;
        Ok(got.map(|got| (if is_there { Vec::new() } else { got.bytes }, None)))
    }

    /// Reads several parts concurrently, near ones together, and again if the file changed in between.
    async fn get_parts(self, wanted: &FetchRequest, parts: &[ByteRange]) -> FetchResult {
        let stretches = coalesce(parts, self.asker.config.gap);
        let clock = ReadDeadline::start(&self.asker.config);
        for _ in 0..TRIES {
            let mut asked = JoinSet::new();
            for (number, stretch) in stretches.iter().enumerate() {
                let len = stretch.len.unwrap_or(0);
                let question = self.question(&wanted.key, RequestedPart::Range(stretch.offset, len), len);
                let asker = self.asker.clone();
                let read = async move { (number, fetch(asker, question).await) };
                asked.spawn(read.in_current_span().with_current_subscriber());
            }
            let mut found: Vec<Option<FileBytes>> = stretches.iter().map(|_| None).collect();
            let mut absent = 0;
            while let Some(one) = asked.join_next().await {
                let (number, got) = one.map_err(|error| {
                    ErrorKind::Internal.context("a request was abandoned").caused_by(error)
                })?;
                match got? {
                    Some(got) => found[number] = Some(got),
                    None => absent += 1,
                }
            }
            if absent == stretches.len() {
                return Ok(None);
            }
            let found: Vec<FileBytes> = found.into_iter().flatten().collect();
            let first = found.first().map(|got| &got.state);
            if absent == 0 && found.iter().all(|got| first.is_none_or(|first| first.is_same(&got.state))) {
                let pieces: Vec<(u64, Vec<u8>)> =
                    found.into_iter().map(|got| (got.offset, got.bytes)).collect();
                return gather(&wanted.key, parts, &pieces).map(|bytes| Some((bytes, None)));
            }
            if clock.left().is_zero() {
                break;
            }
        }
        Err(changed().at(self.root.below(wanted.key.as_str())))
    }
}

/// Returns the part to request for a range with a limit; `None` if it has no byte.
fn want_of(range: ByteRange, limit: u64) -> Option<RequestedPart> {
    match (range.offset, range.len) {
        (_, Some(0)) => None,
        (0, None) => Some(RequestedPart::All),
        (offset, None) => Some(RequestedPart::Range(offset, u64::MAX - offset)),
        (offset, Some(len)) => Some(RequestedPart::Range(offset, len.min(limit.saturating_add(1)))),
    }
}

impl ZMap for HttpMap {
    fn caps(&self) -> MapCaps {
        MapCaps::new().range_read(true).remote(true)
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        let Some(got) = self.ask(key, RequestedPart::Range(0, 1), 1)? else { return Ok(None) };
        if let Some(total) = got.state.total {
            return Ok(Some(total));
        }
        // The server does not state the length, so the bytes are counted.
        let got = self.ask(key, RequestedPart::All, u64::MAX)?;
        Ok(got.map(|got| got.bytes.len() as u64))
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        out.clear();
        let want = want_of(options.range, u64::MAX);
        let Some(got) = self.ask(key, want.unwrap_or(RequestedPart::Range(0, 1)), u64::MAX)? else {
            return Ok(None);
        };
        if want.is_some() {
            *out = got.bytes;
        }
        Ok(Some(ObjectInfo::default()))
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        // Callers have another way then, and a server has no names that no key can have.
        if matches!(mode, ListMode::InvalidNames | ListMode::KeysInOneRequest) {
            return Ok(None);
        }
        let what = "a web server cannot be listed; the dataset needs consolidated metadata or NCZarr's lists";
        Err(ErrorKind::Perm.context(what).at(self.root.below(prefix.as_str())))
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        let most = InFlightLimits { requests: self.asker.config.requests, bytes: self.asker.config.bytes };
        read_overlapped(job, most, &mut |wanted, reply| {
            let read = stoppable(self.clone().get(wanted));
            self.asker.client.spawn(async move {
                reply.send(read.await.and_then(|found| found.map_err(Forbidden::with_advice)));
            });
        });
    }
}

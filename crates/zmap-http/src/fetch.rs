//! [`fetch`]: one request, retried where that may help, until there is a response or the time is up.

use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, COOKIE, HeaderValue, IF_RANGE, PROXY_AUTHORIZATION, RANGE, USER_AGENT,
};
use hyper::{Method, Request, Response, StatusCode};
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::{is_timeout, trace};
use nczarr_storage::Forbidden;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::Instrument as _;

use crate::client::{SharedClient, TlsSettings};
use crate::deadline::ReadDeadline;
use crate::permanent::permanent_reason;
use crate::resolver::is_link_local;
use crate::response::{FileState, RequestedPart, ResponseVerdict, changed, check, judge};
use crate::server_url::ServerUrl;
use crate::{Config, Settings};

/// Most memory allocated for a body before it arrives.
const LIKELY: u64 = 64 << 20;

/// Sends requests for a dataset.
#[derive(Clone)]
pub(crate) struct Requester {
    pub(crate) client: SharedClient,
    pub(crate) config: Arc<Config>,
    /// One permit for each request that may be in flight.
    pub(crate) turns: Arc<Semaphore>,
    /// The `User-Agent`.
    agent: HeaderValue,
    settings: Arc<Settings>,
}

impl Requester {
    pub(crate) fn new(place: &ServerUrl, config: &Config, settings: &Settings) -> Result<Self> {
        let config = &settings.over(config);
        let secure = TlsSettings { trust: settings.trust.clone(), identity: settings.identity.clone() };
        let client =
            SharedClient::shared(config, (place.scheme == "https").then_some(&secure), &settings.proxies)?;
        let own = HeaderValue::from_static(concat!("nczarr/", env!("CARGO_PKG_VERSION")));
        let agent = settings.agent.clone().unwrap_or(own);
        let turns = Arc::new(Semaphore::new(config.requests.max(1)));
        Ok(Self { client, config: Arc::new(*config), turns, agent, settings: Arc::new(settings.clone()) })
    }

    /// Returns the client for a redirect target. A client certificate goes only to its own server.
    fn client_for(&self, place: &ServerUrl) -> Result<SharedClient> {
        let trust = self.settings.trust.clone();
        let secure = match place.scheme {
            "https" => Some(TlsSettings { trust, identity: self.settings.wallet.identity_of_other(place)? }),
            _ => None,
        };
        SharedClient::shared(&self.config, secure.as_ref(), &self.settings.proxies)
    }
}

/// The bytes of a response.
#[derive(Debug)]
pub(crate) struct FileBytes {
    pub(crate) bytes: Vec<u8>,
    /// Their offset in the file.
    pub(crate) offset: u64,
    pub(crate) state: FileState,
}

/// A request for a file or a part of it.
#[derive(Debug, Clone)]
pub(crate) struct FileRequest {
    pub(crate) place: ServerUrl,
    pub(crate) want: RequestedPart,
    /// More bytes are an error.
    pub(crate) limit: u64,
    /// The required state of the file.
    pub(crate) state: Option<FileState>,
    /// If the server ignores the range, a whole file of at most this many bytes is accepted.
    pub(crate) whole: Option<u64>,
}

/// The reason for a missing response.
enum FetchFailure {
    Again(Error, Option<Duration>),
    Failed(Error),
}

/// Sends a request until there is a response. `None`: the file does not exist.
///
/// # Errors
/// `NC_EAUTH` if the server refuses the request; `NC_EIO` if the file exceeds the limit or changed;
/// `NCZ_ETIMEOUT` if the
/// server does not answer in time; `NC_ECURL` for other failures.
///
/// The span of the request is named `request`, with the URL and the wanted part.
pub(crate) async fn fetch(asker: Requester, question: FileRequest) -> Result<Option<FileBytes>> {
    let (place, want) = (&question.place, &question.want);
    let span = tracing::debug_span!(target: trace::MAPS, "request", %place, ?want);
    ask_until_answered(asker, question).instrument(span).await
}

async fn ask_until_answered(asker: Requester, question: FileRequest) -> Result<Option<FileBytes>> {
    let config = &asker.config;
    let _turn = asker.turns.acquire().await;
    let mut clock = ReadDeadline::start(config);
    let mut tries = 0;
    let at = |error: Error| error.at(&question.place);
    loop {
        tries += 1;
        let (error, after) = match attempt(&asker, &question, &mut clock).await {
            Ok(got) => return Ok(got),
            Err(FetchFailure::Failed(error)) => return Err(at(error)),
            Err(FetchFailure::Again(error, after)) => (error, after),
        };
        let pause = after.unwrap_or_default().max(pause(config.pause, tries));
        let is_late = pause >= clock.left();
        if tries >= config.tries || is_late {
            let why = if is_late { "timed out" } else { "no attempts are left" };
            let kind = if is_late { ErrorKind::Timeout } else { error.kind() };
            return Err(at(kind.context(format!("{why} after {tries} attempts")).caused_by(error)));
        }
        tracing::debug!(place = %question.place, tries, %error, "asking again");
        tokio::time::sleep(pause).await;
    }
}

/// Returns a random part of a pause that doubles with each retry.
fn pause(first: Duration, tries: u32) -> Duration {
    let most = first.saturating_mul(1 << (tries - 1).min(6));
    let lot = RandomState::new().hash_one(tries);
    most.mul_f64((lot >> 11) as f64 / (1u64 << 53) as f64)
}

async fn attempt(
    asker: &Requester,
    question: &FileRequest,
    clock: &mut ReadDeadline,
) -> Result<Option<FileBytes>, FetchFailure> {
    let config = &asker.config;
    let mut place = question.place.clone();
    for _ in 0..=config.redirects {
        let answer = timeout(
            clock.left().min(config.idle.saturating_add(config.connect)),
            head(asker, question, &place),
        )
        .await;
        let (answer, sent) = match answer {
            Ok(answer) => answer?,
            Err(_) => {
                return Err(FetchFailure::Again(
                    ErrorKind::Timeout.context("no response from the server"),
                    None,
                ));
            }
        };
        let most = question.limit.saturating_add(1);
        match judge(&answer, question.want, most, question.whole.is_some()) {
            ResponseVerdict::Take { skip, take, offset, length, state } => {
                check(question.state.as_ref(), &state).map_err(FetchFailure::Failed)?;
                if question.want == RequestedPart::All && length.is_some_and(|length| length > question.limit)
                {
                    return Err(FetchFailure::Failed(too_long(question.limit)));
                }
                let (bytes, whole) = body(answer, config.idle, clock, (skip, take.min(most)), length).await?;
                let found = bytes.len() as u64;
                if found > question.limit {
                    return Err(FetchFailure::Failed(too_long(question.limit)));
                }
                let state = FileState { total: state.total.or(whole), ..state };
                return Ok(Some(FileBytes { bytes, offset, state }));
            }
            ResponseVerdict::Whole { length, state } => {
                let limit = question.whole.unwrap_or(0);
                if length.is_some_and(|length| length > limit) {
                    return Err(FetchFailure::Failed(no_parts(limit)));
                }
                let (bytes, whole) =
                    body(answer, config.idle, clock, (0, limit.saturating_add(1)), length).await?;
                let Some(total) = whole.filter(|&total| total <= limit) else {
                    return Err(FetchFailure::Failed(no_parts(limit)));
                };
                let state = FileState { total: Some(total), ..state };
                return Ok(Some(FileBytes { bytes, offset: 0, state }));
            }
            ResponseVerdict::Nothing(state) => {
                // Such a response often has no ETag or date, so the length decides.
                let before = question.state.as_ref().and_then(|before| before.total);
                if before.is_some() && before != state.total {
                    return Err(FetchFailure::Failed(changed()));
                }
                let offset = match question.want {
                    RequestedPart::Range(from, _) => from,
                    _ => 0,
                };
                return Ok(Some(FileBytes { bytes: Vec::new(), offset, state }));
            }
            // The file existed before and was removed.
            ResponseVerdict::Absent if question.state.is_some() => {
                return Err(FetchFailure::Failed(changed()));
            }
            ResponseVerdict::Absent => return Ok(None),
            ResponseVerdict::Again(error, after) => {
                return Err(FetchFailure::Again(error, after.map(Duration::from_secs)));
            }
            ResponseVerdict::Failed(error) => {
                let is_refused = matches!(answer.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
                return Err(FetchFailure::Failed(if is_refused {
                    refused(&place, sent, &error)
                } else {
                    error
                }));
            }
            ResponseVerdict::Elsewhere(location) => {
                place = place
                    .follow(&location)
                    .map_err(|why| FetchFailure::Failed(ErrorKind::Curl.context(why)))?;
                // A login redirects back to the dataset's own server.
                if place.is_beside(&question.place) {
                    place.credentials = question.place.credentials.clone();
                }
                tracing::debug!(from = %question.place, to = %place, "redirected");
            }
        }
    }
    let what = format!("more than {} redirects", config.redirects);
    Err(FetchFailure::Failed(ErrorKind::Curl.context(what)))
}

fn too_long(limit: u64) -> Error {
    ErrorKind::Io.context(format!("too long (expected at most {limit} bytes)"))
}

fn no_parts(limit: u64) -> Error {
    ErrorKind::Curl.context(format!(
        "the server ignores range requests, and the file exceeds the {limit} bytes that are read whole"
    ))
}

/// Makes the error for a refused request, with the server's name and the kind of credentials sent.
fn refused(place: &ServerUrl, sent: &str, error: &Error) -> Error {
    let what = format!("{}://{} refused the request: {error}; sent: {sent}", place.scheme, place.host);
    let outer = ErrorKind::Auth.context(what);
    // The server may refuse a file that does not exist.
    if Forbidden::is_cause_of(error) { outer.caused_by(Forbidden) } else { outer }
}

/// Sends a request and waits for the response head. Returns also the kind of credentials sent.
async fn head(
    asker: &Requester,
    question: &FileRequest,
    place: &ServerUrl,
) -> Result<(Response<Incoming>, &'static str), FetchFailure> {
    let uri = place.uri().map_err(FetchFailure::Failed)?;
    if !asker.config.link_local && beside(uri.host().unwrap_or_default()) {
        let what = format!("{place}: link-local addresses are not allowed");
        return Err(FetchFailure::Failed(ErrorKind::Access.context(what)));
    }
    let proxy = asker.settings.proxies.authorization(&uri);
    let mut request = Request::builder().method(Method::GET).uri(uri);
    request = request.header(ACCEPT_ENCODING, "identity");
    request = request.header(USER_AGENT, &asker.agent);
    let (settings, is_own) = (&asker.settings, place.is_beside(&question.place));
    let (credentials, headers) = if is_own {
        (place.credentials.clone(), settings.headers.clone())
    } else {
        (
            settings.wallet.of_other(place).map_err(FetchFailure::Failed)?,
            settings.wallet.headers_of_other(place).map_err(FetchFailure::Failed)?,
        )
    };
    let sent = match &credentials {
        None if headers.iter().any(|(name, _)| *name == AUTHORIZATION) => "a header of the rc files",
        None => "no credentials",
        Some(value) if value.as_bytes().starts_with(b"Bearer ") => "a token",
        Some(_) => "a password",
    };
    let named =
        [(AUTHORIZATION, credentials), (COOKIE, settings.jar.of(place)), (PROXY_AUTHORIZATION, proxy)];
    for (name, value) in named.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        request = request.header(name, value);
    }
    for (name, value) in headers {
        // Credentials of the URL have precedence.
        if request.headers_ref().is_some_and(|known| !known.contains_key(&name)) {
            request = request.header(name, value);
        }
    }
    match question.want {
        RequestedPart::All => {}
        // The range was checked to have at least one byte.
        RequestedPart::Range(from, len) => {
            let range = match from.checked_add(len - 1).filter(|&last| last < u64::MAX) {
                Some(last) => format!("bytes={from}-{last}"),
                None => format!("bytes={from}-"),
            };
            request = request.header(RANGE, range);
        }
        RequestedPart::Tail(len) => request = request.header(RANGE, format!("bytes=-{len}")),
    }
    // Weak ETags do not distinguish ranges. They are compared here.
    if let Some(etag) = question.state.as_ref().and_then(|state| state.etag.as_deref())
        && !etag.starts_with("W/")
        && question.want != RequestedPart::All
    {
        request = request.header(IF_RANGE, etag);
    }
    let request = request.body(Empty::<Bytes>::new());
    let request = request
        .map_err(|error| FetchFailure::Failed(ErrorKind::Url.context("no request").caused_by(error)))?;
    let client =
        if is_own { asker.client.clone() } else { asker.client_for(place).map_err(FetchFailure::Failed)? };
    let answer = client.ask(request).await.map_err(|error| {
        if let Some(reason) = permanent_reason(&error) {
            return FetchFailure::Failed(ErrorKind::Curl.context(reason).caused_by(error));
        }
        let what = if error.is_connect() { "no connection to the server" } else { "the connection broke" };
        let kind = if is_timeout(&error) { ErrorKind::Timeout } else { ErrorKind::Curl };
        FetchFailure::Again(kind.context(what).caused_by(error), None)
    })?;
    settings.jar.keep(place, answer.headers());
    Ok((answer, sent))
}

/// Whether a host is written as a link-local address.
fn beside(host: &str) -> bool {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.parse::<IpAddr>().is_ok_and(is_link_local)
}

/// Reads a body: skips bytes, takes bytes, and stops. Returns also its length if it was read to the end.
async fn body(
    answer: Response<Incoming>,
    idle: Duration,
    clock: &mut ReadDeadline,
    (mut skip, take): (u64, u64),
    length: Option<u64>,
) -> Result<(Vec<u8>, Option<u64>), FetchFailure> {
    let again = |what: String| FetchFailure::Again(ErrorKind::Curl.context(what), None);
    // Beyond a likely size, memory grows only with received bytes.
    let expected = take.min(length.unwrap_or(0).saturating_sub(skip)).min(LIKELY);
    let mut bytes = Vec::new();
    let room = usize::try_from(expected).ok().filter(|&room| bytes.try_reserve_exact(room).is_ok());
    room.ok_or_else(|| {
        FetchFailure::Failed(ErrorKind::NoMem.context(format!("no memory for {expected} bytes")))
    })?;
    let (mut body, mut seen) = (answer.into_body(), 0u64);
    loop {
        let frame = match timeout(clock.left().min(idle), body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => break,
            Ok(Some(Err(error))) => {
                let what = format!("the response broke off after {seen} bytes");
                return Err(FetchFailure::Again(ErrorKind::Curl.context(what).caused_by(error), None));
            }
            Err(_) => {
                let what = format!("the response stalled after {seen} bytes");
                return Err(FetchFailure::Again(ErrorKind::Timeout.context(what), None));
            }
        };
        let Some(data) = frame.data_ref() else { continue };
        seen += data.len() as u64;
        clock.extend(data.len());
        let skipped = skip.min(data.len() as u64);
        skip -= skipped;
        let rest = &data[skipped as usize..];
        let room = (take - bytes.len() as u64).min(rest.len() as u64);
        bytes
            .try_reserve(room as usize)
            .map_err(|_| FetchFailure::Failed(ErrorKind::NoMem.context("no memory for a response")))?;
        bytes.extend_from_slice(&rest[..room as usize]);
        // A body that is too long is not read to its end, and neither is the rest behind a part.
        if bytes.len() as u64 == take && length.is_none_or(|length| seen < length) {
            return Ok((bytes, None));
        }
    }
    if length.is_some_and(|length| length != seen) {
        return Err(again(format!("the response ended early, after {seen} bytes")));
    }
    Ok((bytes, Some(seen)))
}

//! [`fetch`]: one question, asked again where that may help, until there is an answer or the time is up.

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
use nczarr_dispatch::Forbidden;
use nczarr_model::{Error, ErrorKind, Result};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::client::{Client, Secure, is_link_local};
use crate::clock::Clock;
use crate::judge::{State, Verdict, Want, changed, check, judge};
use crate::lasting::lasting;
use crate::place::Place;
use crate::{Config, Settings};

/// Memory that is taken for a body before any of it has come.
const LIKELY: u64 = 64 << 20;

/// Who asks.
#[derive(Clone)]
pub(crate) struct Asker {
    pub(crate) client: Client,
    pub(crate) config: Arc<Config>,
    /// One for each request that may be under way.
    pub(crate) turns: Arc<Semaphore>,
    /// What this says it is.
    agent: HeaderValue,
    settings: Arc<Settings>,
}

impl Asker {
    pub(crate) fn new(place: &Place, config: &Config, settings: &Settings) -> Result<Self> {
        let config = &settings.over(config);
        let secure = Secure { trust: settings.trust.clone(), identity: settings.identity.clone() };
        let client = Client::shared(config, (place.scheme == "https").then_some(&secure), &settings.proxies)?;
        let own = HeaderValue::from_static(concat!("nczarr/", env!("CARGO_PKG_VERSION")));
        let agent = settings.agent.clone().unwrap_or(own);
        let turns = Arc::new(Semaphore::new(config.requests.max(1)));
        Ok(Self { client, config: Arc::new(*config), turns, agent, settings: Arc::new(settings.clone()) })
    }

    /// The client for a redirect target. A client certificate goes only to the server it is for.
    fn client_for(&self, place: &Place) -> Result<Client> {
        let trust = self.settings.trust.clone();
        let secure = match place.scheme {
            "https" => Some(Secure { trust, identity: self.settings.wallet.identity_of_other(place)? }),
            _ => None,
        };
        Client::shared(&self.config, secure.as_ref(), &self.settings.proxies)
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) bytes: Vec<u8>,
    /// Where they begin.
    pub(crate) offset: u64,
    pub(crate) state: State,
}

/// A question.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) place: Place,
    pub(crate) want: Want,
    /// More bytes than this are an error.
    pub(crate) limit: u64,
    /// The state of which the answer must be.
    pub(crate) state: Option<State>,
    /// Where the server sends all of the file instead of a part, all of it is taken, up to so many bytes.
    pub(crate) whole: Option<u64>,
}

/// Why there is no answer.
enum Miss {
    Again(Error, Option<Duration>),
    Failed(Error),
}

/// Asks until there is an answer. `None`: nothing is there.
///
/// # Errors
/// `NC_EAUTH` if the server refuses the request; `NC_EIO` if the file is longer than the limit, or changed; `NC_ECURL` for all
/// else that goes wrong on the way.
pub(crate) async fn fetch(asker: Asker, question: Question) -> Result<Option<Got>> {
    let config = &asker.config;
    let _turn = asker.turns.acquire().await;
    let mut clock = Clock::start(config);
    let mut tries = 0;
    let at = |error: Error| error.at(&question.place);
    loop {
        tries += 1;
        let (error, after) = match attempt(&asker, &question, &mut clock).await {
            Ok(got) => return Ok(got),
            Err(Miss::Failed(error)) => return Err(at(error)),
            Err(Miss::Again(error, after)) => (error, after),
        };
        let pause = after.unwrap_or_default().max(pause(config.pause, tries));
        let is_late = pause >= clock.left();
        if tries >= config.tries || is_late {
            let why = if is_late { "the time is up" } else { "it is given up" };
            return Err(at(ErrorKind::Curl.context(format!("asked {tries} times, {why}")).caused_by(error)));
        }
        tracing::debug!(place = %question.place, tries, %error, "asking again");
        tokio::time::sleep(pause).await;
    }
}

/// A random part of a pause that doubles with each repetition.
fn pause(first: Duration, tries: u32) -> Duration {
    let most = first.saturating_mul(1 << (tries - 1).min(6));
    let lot = RandomState::new().hash_one(tries);
    most.mul_f64((lot >> 11) as f64 / (1u64 << 53) as f64)
}

async fn attempt(asker: &Asker, question: &Question, clock: &mut Clock) -> Result<Option<Got>, Miss> {
    let config = &asker.config;
    let mut place = question.place.clone();
    for _ in 0..=config.redirects {
        let answer =
            timeout(clock.left().min(config.idle.saturating_add(config.connect)), head(asker, question, &place)).await;
        let (answer, sent) = match answer {
            Ok(answer) => answer?,
            Err(_) => return Err(Miss::Again(ErrorKind::Curl.context("the server does not answer"), None)),
        };
        let most = question.limit.saturating_add(1);
        match judge(&answer, question.want, most, question.whole.is_some()) {
            Verdict::Take { skip, take, offset, length, state } => {
                check(question.state.as_ref(), &state).map_err(Miss::Failed)?;
                if question.want == Want::All && length.is_some_and(|length| length > question.limit) {
                    return Err(Miss::Failed(too_long(question.limit)));
                }
                let (bytes, whole) = body(answer, config.idle, clock, (skip, take.min(most)), length).await?;
                let found = bytes.len() as u64;
                if found > question.limit {
                    return Err(Miss::Failed(too_long(question.limit)));
                }
                let state = State { total: state.total.or(whole), ..state };
                return Ok(Some(Got { bytes, offset, state }));
            }
            Verdict::Whole { length, state } => {
                let limit = question.whole.unwrap_or(0);
                if length.is_some_and(|length| length > limit) {
                    return Err(Miss::Failed(no_parts(limit)));
                }
                let (bytes, whole) = body(answer, config.idle, clock, (0, limit.saturating_add(1)), length).await?;
                let Some(total) = whole.filter(|&total| total <= limit) else {
                    return Err(Miss::Failed(no_parts(limit)));
                };
                let state = State { total: Some(total), ..state };
                return Ok(Some(Got { bytes, offset: 0, state }));
            }
            Verdict::Nothing(state) => {
                // Such an answer often has no marks: the length tells.
                let before = question.state.as_ref().and_then(|before| before.total);
                if before.is_some() && before != state.total {
                    return Err(Miss::Failed(changed()));
                }
                let offset = match question.want {
                    Want::Range(from, _) => from,
                    _ => 0,
                };
                return Ok(Some(Got { bytes: Vec::new(), offset, state }));
            }
            // What was there before was removed.
            Verdict::Absent if question.state.is_some() => return Err(Miss::Failed(changed())),
            Verdict::Absent => return Ok(None),
            Verdict::Again(error, after) => return Err(Miss::Again(error, after.map(Duration::from_secs))),
            Verdict::Failed(error) => {
                let is_refused = matches!(answer.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
                return Err(Miss::Failed(if is_refused { refused(&place, sent, &error) } else { error }));
            }
            Verdict::Elsewhere(location) => {
                place = place.follow(&location).map_err(|why| Miss::Failed(ErrorKind::Curl.context(why)))?;
                // A login leads back to the dataset's own server.
                if place.is_beside(&question.place) {
                    place.credentials = question.place.credentials.clone();
                }
                tracing::debug!(from = %question.place, to = %place, "sent elsewhere");
            }
        }
    }
    let what = format!("sent elsewhere more than {} times", config.redirects);
    Err(Miss::Failed(ErrorKind::Curl.context(what)))
}

fn too_long(limit: u64) -> Error {
    ErrorKind::Io.context(format!("longer than the {limit} bytes it may have"))
}

fn no_parts(limit: u64) -> Error {
    ErrorKind::Curl.context(format!(
        "the server does not answer requests for parts (Range), and the file is longer than the {limit} bytes that are \
         read whole"
    ))
}

/// The error of a server that refuses a request: its name, and the kind of credentials that it got.
fn refused(place: &Place, sent: &str, error: &Error) -> Error {
    let what = format!("{}://{} refused the request: {error}; {sent} was sent", place.scheme, place.host);
    let outer = ErrorKind::Auth.context(what);
    // It may say so of a file that does not exist.
    if Forbidden::is_cause_of(error) { outer.caused_by(Forbidden) } else { outer }
}

/// Asks, and waits for the head of the answer. Returns the kind of credentials that were sent too.
async fn head(asker: &Asker, question: &Question, place: &Place) -> Result<(Response<Incoming>, &'static str), Miss> {
    let uri = place.uri().map_err(Miss::Failed)?;
    if !asker.config.link_local && beside(uri.host().unwrap_or_default()) {
        let what = format!("{place}: an address that only machines beside this one have; it is not asked");
        return Err(Miss::Failed(ErrorKind::Access.context(what)));
    }
    let proxy = asker.settings.proxies.authorization(&uri);
    let mut request = Request::builder().method(Method::GET).uri(uri);
    request = request.header(ACCEPT_ENCODING, "identity");
    request = request.header(USER_AGENT, &asker.agent);
    let (settings, is_own) = (&asker.settings, place.is_beside(&question.place));
    let (credentials, headers) = match is_own {
        true => (place.credentials.clone(), settings.headers.clone()),
        false => (
            settings.wallet.of_other(place).map_err(Miss::Failed)?,
            settings.wallet.headers_of_other(place).map_err(Miss::Failed)?,
        ),
    };
    let sent = match &credentials {
        None if headers.iter().any(|(name, _)| *name == AUTHORIZATION) => "a field of the rc files",
        None => "no password and no token",
        Some(value) if value.as_bytes().starts_with(b"Bearer ") => "a token",
        Some(_) => "a password",
    };
    let named = [(AUTHORIZATION, credentials), (COOKIE, settings.jar.of(place)), (PROXY_AUTHORIZATION, proxy)];
    for (name, value) in named.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        request = request.header(name, value);
    }
    for (name, value) in headers {
        // Credentials of the URL come first.
        if request.headers_ref().is_some_and(|known| !known.contains_key(&name)) {
            request = request.header(name, value);
        }
    }
    match question.want {
        Want::All => {}
        // Judged to be at least one byte.
        Want::Range(from, len) => {
            let range = match from.checked_add(len - 1).filter(|&last| last < u64::MAX) {
                Some(last) => format!("bytes={from}-{last}"),
                None => format!("bytes={from}-"),
            };
            request = request.header(RANGE, range);
        }
        Want::Tail(len) => request = request.header(RANGE, format!("bytes=-{len}")),
    }
    // Weak marks do not tell ranges apart; they are compared here.
    if let Some(etag) = question.state.as_ref().and_then(|state| state.etag.as_deref())
        && !etag.starts_with("W/")
        && question.want != Want::All
    {
        request = request.header(IF_RANGE, etag);
    }
    let request = request.body(Empty::<Bytes>::new());
    let request = request.map_err(|error| Miss::Failed(ErrorKind::Url.context("no request").caused_by(error)))?;
    let client = if is_own { asker.client.clone() } else { asker.client_for(place).map_err(Miss::Failed)? };
    let answer = client.ask(request).await.map_err(|error| {
        if let Some(reason) = lasting(&error) {
            return Miss::Failed(ErrorKind::Curl.context(reason).caused_by(error));
        }
        let kind = if error.is_connect() { "no connection" } else { "the connection broke" };
        Miss::Again(ErrorKind::Curl.context(kind).caused_by(error), None)
    })?;
    settings.jar.keep(place, answer.headers());
    Ok((answer, sent))
}

/// Whether a host is written as an address that only machines beside this one have.
fn beside(host: &str) -> bool {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.parse::<IpAddr>().is_ok_and(is_link_local)
}

/// Reads a body: leaves out what is skipped, takes what is to be taken, and no more. Answers its length too, if it was
/// read to its end.
async fn body(
    answer: Response<Incoming>,
    idle: Duration,
    clock: &mut Clock,
    (mut skip, take): (u64, u64),
    length: Option<u64>,
) -> Result<(Vec<u8>, Option<u64>), Miss> {
    let again = |what: String| Miss::Again(ErrorKind::Curl.context(what), None);
    // Memory is taken as bytes come, beyond what may well be right.
    let expected = take.min(length.unwrap_or(0).saturating_sub(skip)).min(LIKELY);
    let mut bytes = Vec::new();
    let room = usize::try_from(expected).ok().filter(|&room| bytes.try_reserve_exact(room).is_ok());
    room.ok_or_else(|| Miss::Failed(ErrorKind::NoMem.context(format!("no memory for {expected} bytes"))))?;
    let (mut body, mut seen) = (answer.into_body(), 0u64);
    loop {
        let frame = match timeout(clock.left().min(idle), body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => break,
            Ok(Some(Err(error))) => {
                let what = format!("the answer broke off behind {seen} bytes");
                return Err(Miss::Again(ErrorKind::Curl.context(what).caused_by(error), None));
            }
            Err(_) => return Err(again(format!("no more came behind {seen} bytes"))),
        };
        let Some(data) = frame.data_ref() else { continue };
        seen += data.len() as u64;
        clock.came(data.len());
        let skipped = skip.min(data.len() as u64);
        skip -= skipped;
        let rest = &data[skipped as usize..];
        let room = (take - bytes.len() as u64).min(rest.len() as u64);
        bytes
            .try_reserve(room as usize)
            .map_err(|_| Miss::Failed(ErrorKind::NoMem.context("no memory for an answer")))?;
        bytes.extend_from_slice(&rest[..room as usize]);
        // What is longer than it may be is not read to its end; nor is what follows a part.
        if bytes.len() as u64 == take && length.is_none_or(|length| seen < length) {
            return Ok((bytes, None));
        }
    }
    if length.is_some_and(|length| length != seen) {
        return Err(again(format!("the answer ended behind {seen} bytes")));
    }
    Ok((bytes, Some(seen)))
}

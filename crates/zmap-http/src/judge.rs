//! What an answer means: [`judge`] its head; [`State`], which state of a file it is from.

use hyper::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED, LOCATION,
};
use hyper::{Response, StatusCode};
use nczarr_dispatch::Forbidden;
use nczarr_model::{ErrorKind, Result};

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// All of it.
    All,
    /// So many bytes, at least one, from there on; fewer where it ends.
    Range(u64, u64),
    /// So many bytes, at least one, before the end; fewer if there are.
    Tail(u64),
}

/// Marks of one state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) etag: Option<String>,
    pub(crate) modified: Option<String>,
    /// How long it is, if the answer says so.
    pub(crate) total: Option<u64>,
}

impl State {
    fn of(headers: &HeaderMap, total: Option<u64>) -> Self {
        let text = |name| text(headers, &name).map(str::to_owned);
        Self { etag: text(ETAG), modified: text(LAST_MODIFIED), total }
    }

    /// Whether another answer may be from the same state: it has the same marks, as far as both have any, and has the one
    /// that tells most if this has it.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let same = |ours: &Option<String>, theirs: &Option<String>| ours == theirs;
        let length = self.total.is_none() || other.total.is_none() || self.total == other.total;
        length && same(&self.etag, &other.etag) && (self.etag.is_some() || same(&self.modified, &other.modified))
    }
}

/// What becomes of an answer, by its head.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The body is wanted: so many bytes of it are skipped, so many more taken; it begins at the offset, and if it is to
    /// be read to its end it has that length.
    Take {
        skip: u64,
        take: u64,
        offset: u64,
        length: Option<u64>,
        state: State,
    },
    /// All of the file comes instead of the part that was asked for.
    Whole {
        length: Option<u64>,
        state: State,
    },
    /// There is nothing in the range; the file ends before.
    Nothing(State),
    Absent,
    Elsewhere(String),
    /// It may be better next time; and when that may be, in seconds, if it says so.
    Again(nczarr_model::Error, Option<u64>),
    Failed(nczarr_model::Error),
}

/// Judges the head of an answer. No more than `most` bytes are wanted. `or_whole`: all of the file will do as well.
pub(crate) fn judge<B>(answer: &Response<B>, want: Want, most: u64, or_whole: bool) -> Verdict {
    let (status, headers) = (answer.status(), answer.headers());
    let told = || {
        let reason = status.canonical_reason().unwrap_or("no status of HTTP");
        format!("the server answered {} ({reason})", status.as_u16())
    };
    match status {
        StatusCode::OK | StatusCode::PARTIAL_CONTENT => {}
        StatusCode::NOT_FOUND | StatusCode::GONE => return Verdict::Absent,
        StatusCode::RANGE_NOT_SATISFIABLE => return beyond(headers, want),
        StatusCode::MOVED_PERMANENTLY
        | StatusCode::FOUND
        | StatusCode::SEE_OTHER
        | StatusCode::TEMPORARY_REDIRECT
        | StatusCode::PERMANENT_REDIRECT => {
            return match text(headers, &LOCATION) {
                Some(location) => Verdict::Elsewhere(location.to_owned()),
                None => Verdict::Failed(ErrorKind::Curl.context(format!("{}, and not where", told()))),
            };
        }
        StatusCode::FORBIDDEN => return Verdict::Failed(ErrorKind::Auth.context(told()).caused_by(Forbidden)),
        StatusCode::UNAUTHORIZED | StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            return Verdict::Failed(ErrorKind::Auth.context(told()));
        }
        _ if status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429) => {
            let after = headers.get("retry-after").and_then(|after| after.to_str().ok()?.trim().parse().ok());
            return Verdict::Again(ErrorKind::Curl.context(told()), after);
        }
        _ => return Verdict::Failed(ErrorKind::Curl.context(told())),
    }
    if let Some(encoding) = text(headers, &CONTENT_ENCODING)
        && !encoding.eq_ignore_ascii_case("identity")
    {
        let what = format!("the server compressed its answer ({encoding}) though it was asked not to");
        return Verdict::Failed(ErrorKind::Curl.context(what));
    }
    if is_page(headers) {
        let what = "the server answered a page for people to read where a file was asked for";
        return Verdict::Again(ErrorKind::Curl.context(what), None);
    }
    let length = text(headers, &CONTENT_LENGTH).and_then(|length| length.parse().ok());
    let chunked = headers.contains_key("transfer-encoding");
    if length.is_none() && !chunked {
        // Nobody could tell such an answer from one that was cut.
        let what = "the server does not say how long its answer is";
        return Verdict::Failed(ErrorKind::Curl.context(what));
    }
    match (status == StatusCode::PARTIAL_CONTENT, want) {
        (true, Want::All) => Verdict::Failed(ErrorKind::Curl.context("all was asked for, a part was answered")),
        (true, _) => part(headers, want, length),
        (false, _) => {
            // What was asked for as a range may come whole.
            let state = State::of(headers, length);
            if want != Want::All && or_whole {
                return Verdict::Whole { length, state };
            }
            if want != Want::All && state.etag.is_none() && state.modified.is_none() {
                // Parts that are cut out of several such answers may be of different files. The next answer is no other.
                let what = "the server does not answer requests for parts (Range): it sent all of the file, without \
                            ETag or Last-Modified";
                return Verdict::Failed(ErrorKind::Curl.context(what));
            }
            let (skip, take) = match (want, length) {
                (Want::All, _) => (0, most),
                (Want::Range(from, len), _) => (from, len),
                (Want::Tail(len), Some(total)) => (total.saturating_sub(len), len),
                (Want::Tail(_), None) => {
                    let what =
                        "the server does not answer requests for parts (Range), and does not say how long the file is";
                    return Verdict::Failed(ErrorKind::Curl.context(what));
                }
            };
            match length.is_some_and(|length| length <= skip && want != Want::All) {
                true => Verdict::Nothing(state),
                false => Verdict::Take { skip, take, offset: skip, length, state },
            }
        }
    }
}

/// Judges a part: it is the one that was asked for, or nothing.
fn part(headers: &HeaderMap, want: Want, length: Option<u64>) -> Verdict {
    let again = |what: String| Verdict::Again(ErrorKind::Curl.context(what), None);
    let Some((first, last, total)) = text(headers, &CONTENT_RANGE).and_then(range) else {
        return again("a part was answered, and not which one".to_owned());
    };
    let told = format!("bytes {first} to {last}");
    let (from, len) = match (want, total) {
        (Want::Range(from, len), _) => (from, len),
        (Want::Tail(len), Some(total)) => (total.saturating_sub(len), len.min(total)),
        _ => return again(format!("{told} were answered, and not of how many")),
    };
    let end = match total {
        Some(total) => from.saturating_add(len).min(total),
        None => from.saturating_add(len),
    };
    if first != from || last.checked_add(1) != Some(end) {
        return again(format!("bytes from {from} to {} were asked for, {told} answered", end.saturating_sub(1)));
    }
    let take = end - first;
    if length.is_some_and(|length| length != take) {
        return again(format!("{told} were answered, in a body of another length"));
    }
    Verdict::Take { skip: 0, take, offset: first, length: Some(take), state: State::of(headers, total) }
}

/// Judges that a range cannot be satisfied: it lies behind the end, or that is not true.
fn beyond(headers: &HeaderMap, want: Want) -> Verdict {
    let total = text(headers, &CONTENT_RANGE).and_then(|text| text.strip_prefix("bytes */")?.parse::<u64>().ok());
    match (total, want) {
        (Some(total), Want::Range(from, _)) if from >= total => Verdict::Nothing(State::of(headers, Some(total))),
        (Some(0), Want::Tail(_)) => Verdict::Nothing(State::of(headers, Some(0))),
        (total, _) => {
            let total = total.map_or_else(|| "it does not say how many".to_owned(), |total| total.to_string());
            let what = format!("the server says that it has no such range; of bytes it has: {total}");
            Verdict::Again(ErrorKind::Curl.context(what), None)
        }
    }
}

/// First byte, last byte and length of the whole, if it is told.
fn range(text: &str) -> Option<(u64, u64, Option<u64>)> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
    let total = if total == "*" { None } else { Some(total.parse().ok()?) };
    (first <= last && total.is_none_or(|total| last < total)).then_some((first, last, total))
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// Whether an answer is a page or an error document: some servers and what stands before them answer those as if they were
/// what was asked for.
fn is_page(headers: &HeaderMap) -> bool {
    let kind = text(headers, &CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    ["text/html", "application/xhtml+xml", "application/xml", "text/xml"]
        .iter()
        .any(|page| kind.eq_ignore_ascii_case(page))
}

/// The error for a file that is not what it was.
pub(crate) fn changed() -> nczarr_model::Error {
    ErrorKind::Io.context("the file was changed while it was read")
}

/// Checks that an answer is from a state of the file that was read before.
pub(crate) fn check(before: Option<&State>, now: &State) -> Result<()> {
    if before.is_none_or(|before| before.is_same(now)) { Ok(()) } else { Err(changed()) }
}

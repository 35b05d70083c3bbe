//! Judges responses: [`judge`] by the head; [`FileState`] identifies the state of a file.

use hyper::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, HeaderName,
    LAST_MODIFIED, LOCATION,
};
use hyper::{Response, StatusCode};
use nczarr_model::{ErrorKind, Result};
use nczarr_storage::Forbidden;

/// The requested part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestedPart {
    /// All of it.
    All,
    /// Offset and length, at least one byte. At the end of the file there are fewer.
    Range(u64, u64),
    /// The last bytes, at least one; fewer if the file is shorter.
    Tail(u64),
}

/// Properties that identify one state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileState {
    pub(crate) etag: Option<String>,
    pub(crate) modified: Option<String>,
    /// Length in bytes, if the response states it.
    pub(crate) total: Option<u64>,
}

impl FileState {
    fn of(headers: &HeaderMap, total: Option<u64>) -> Self {
        let text = |name| text(headers, &name).map(str::to_owned);
        Self { etag: text(ETAG), modified: text(LAST_MODIFIED), total }
    }

    /// Whether another response may be from the same state. All properties that both have must be equal. The
    /// strongest property of this one must be present in the other.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let same = |ours: &Option<String>, theirs: &Option<String>| ours == theirs;
        let length = self.total.is_none() || other.total.is_none() || self.total == other.total;
        length
            && same(&self.etag, &other.etag)
            && (self.etag.is_some() || same(&self.modified, &other.modified))
    }
}

/// The decision on a response, by its head.
#[derive(Debug)]
pub(crate) enum ResponseVerdict {
    /// Read the body: skip bytes, then take bytes. The taken bytes start at the given offset. If the body is
    /// read to its end, it must have the given length.
    Take {
        skip: u64,
        take: u64,
        offset: u64,
        length: Option<u64>,
        state: FileState,
    },
    /// The response has the whole file instead of the requested part.
    Whole {
        length: Option<u64>,
        state: FileState,
    },
    /// The file ends before the range.
    Nothing(FileState),
    Absent,
    Elsewhere(String),
    /// A retry may help, perhaps after the given number of seconds.
    Again(nczarr_model::Error, Option<u64>),
    Failed(nczarr_model::Error),
}

/// Judges the head of a response. `most`: the most bytes to take. `or_whole`: the whole file is acceptable
/// for a part.
pub(crate) fn judge<B>(
    answer: &Response<B>,
    want: RequestedPart,
    most: u64,
    or_whole: bool,
) -> ResponseVerdict {
    let (status, headers) = (answer.status(), answer.headers());
    let message = || {
        let reason = status.canonical_reason().unwrap_or("not an HTTP status");
        format!("the server answered {} ({reason})", status.as_u16())
    };
    match status {
        StatusCode::OK | StatusCode::PARTIAL_CONTENT => {}
        StatusCode::NOT_FOUND | StatusCode::GONE => return ResponseVerdict::Absent,
        StatusCode::RANGE_NOT_SATISFIABLE => return beyond(headers, want),
        StatusCode::MOVED_PERMANENTLY
        | StatusCode::FOUND
        | StatusCode::SEE_OTHER
        | StatusCode::TEMPORARY_REDIRECT
        | StatusCode::PERMANENT_REDIRECT => {
            return match text(headers, &LOCATION) {
                Some(location) => ResponseVerdict::Elsewhere(location.to_owned()),
                None => ResponseVerdict::Failed(
                    ErrorKind::Curl.context(format!("{} without a new URL", message())),
                ),
            };
        }
        StatusCode::FORBIDDEN => {
            return ResponseVerdict::Failed(ErrorKind::Auth.context(message()).caused_by(Forbidden));
        }
        StatusCode::UNAUTHORIZED | StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            return ResponseVerdict::Failed(ErrorKind::Auth.context(message()));
        }
        _ if status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429) => {
            let after = headers.get("retry-after").and_then(|after| after.to_str().ok()?.trim().parse().ok());
            return ResponseVerdict::Again(ErrorKind::Curl.context(message()), after);
        }
        _ => return ResponseVerdict::Failed(ErrorKind::Curl.context(message())),
    }
    if let Some(encoding) = text(headers, &CONTENT_ENCODING)
        && !encoding.eq_ignore_ascii_case("identity")
    {
        let what = format!("the server compressed its response ({encoding}) against the request");
        return ResponseVerdict::Failed(ErrorKind::Curl.context(what));
    }
    if is_page(headers) {
        let what = "the server sent a web page instead of the file";
        return ResponseVerdict::Again(ErrorKind::Curl.context(what), None);
    }
    let length = text(headers, &CONTENT_LENGTH).and_then(|length| length.parse().ok());
    let chunked = headers.contains_key("transfer-encoding");
    if length.is_none() && !chunked {
        // A truncated response could not be detected.
        let what = "the server does not state the length of its response";
        return ResponseVerdict::Failed(ErrorKind::Curl.context(what));
    }
    match (status == StatusCode::PARTIAL_CONTENT, want) {
        (true, RequestedPart::All) => ResponseVerdict::Failed(
            ErrorKind::Curl.context("the server sent a part, but the whole file was requested"),
        ),
        (true, _) => part(headers, want, length),
        (false, _) => {
            // A server may answer a range request with the whole file.
            let state = FileState::of(headers, length);
            if want != RequestedPart::All && or_whole {
                return ResponseVerdict::Whole { length, state };
            }
            if want != RequestedPart::All && state.etag.is_none() && state.modified.is_none() {
                // Parts of several such responses may come from different files. Another response will be no
                // better.
                let what = "the server ignores range requests: it sent the whole file, without ETag or Last-Modified";
                return ResponseVerdict::Failed(ErrorKind::Curl.context(what));
            }
            let (skip, take) = match (want, length) {
                (RequestedPart::All, _) => (0, most),
                (RequestedPart::Range(from, len), _) => (from, len),
                (RequestedPart::Tail(len), Some(total)) => (total.saturating_sub(len), len),
                (RequestedPart::Tail(_), None) => {
                    let what = "the server ignores range requests, and does not state the length of the file";
                    return ResponseVerdict::Failed(ErrorKind::Curl.context(what));
                }
            };
            if length.is_some_and(|length| length <= skip && want != RequestedPart::All) {
                ResponseVerdict::Nothing(state)
            } else {
                ResponseVerdict::Take { skip, take, offset: skip, length, state }
            }
        }
    }
}

/// Judges a partial response: it must be the requested part.
fn part(headers: &HeaderMap, want: RequestedPart, length: Option<u64>) -> ResponseVerdict {
    let again = |what: String| ResponseVerdict::Again(ErrorKind::Curl.context(what), None);
    let Some((first, last, total)) = text(headers, &CONTENT_RANGE).and_then(range) else {
        return again("the server sent a part without stating its range".to_owned());
    };
    let sent_range = format!("bytes {first} to {last}");
    let (from, len) = match (want, total) {
        (RequestedPart::Range(from, len), _) => (from, len),
        (RequestedPart::Tail(len), Some(total)) => (total.saturating_sub(len), len.min(total)),
        _ => return again(format!("the server sent {sent_range} without stating the total length")),
    };
    let end = match total {
        Some(total) => from.saturating_add(len).min(total),
        None => from.saturating_add(len),
    };
    if first != from || last.checked_add(1) != Some(end) {
        return again(format!(
            "wrong range (expected bytes {from} to {}, found {sent_range})",
            end.saturating_sub(1)
        ));
    }
    let take = end - first;
    if length.is_some_and(|length| length != take) {
        return again(format!("the server sent {sent_range} in a body of another length"));
    }
    ResponseVerdict::Take {
        skip: 0,
        take,
        offset: first,
        length: Some(take),
        state: FileState::of(headers, total),
    }
}

/// Judges the response that a range cannot be satisfied: the range must be beyond the end.
fn beyond(headers: &HeaderMap, want: RequestedPart) -> ResponseVerdict {
    let total =
        text(headers, &CONTENT_RANGE).and_then(|text| text.strip_prefix("bytes */")?.parse::<u64>().ok());
    match (total, want) {
        (Some(total), RequestedPart::Range(from, _)) if from >= total => {
            ResponseVerdict::Nothing(FileState::of(headers, Some(total)))
        }
        (Some(0), RequestedPart::Tail(_)) => ResponseVerdict::Nothing(FileState::of(headers, Some(0))),
        (total, _) => {
            let total = total.map_or_else(|| "an unknown number".to_owned(), |total| total.to_string());
            let what = format!("the server has no such range; length of the file: {total}");
            ResponseVerdict::Again(ErrorKind::Curl.context(what), None)
        }
    }
}

/// Parses first byte, last byte, and total length if present.
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

/// Whether a response is a web page or an error document. Some servers and gateways send those with status
/// 200.
fn is_page(headers: &HeaderMap) -> bool {
    let kind = text(headers, &CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    ["text/html", "application/xhtml+xml", "application/xml", "text/xml"]
        .iter()
        .any(|page| kind.eq_ignore_ascii_case(page))
}

/// Makes the error for a file that changed.
pub(crate) fn changed() -> nczarr_model::Error {
    ErrorKind::Io.context("the file changed while it was read")
}

/// Checks that a response is from the earlier state of the file.
pub(crate) fn check(before: Option<&FileState>, now: &FileState) -> Result<()> {
    if before.is_none_or(|before| before.is_same(now)) { Ok(()) } else { Err(changed()) }
}

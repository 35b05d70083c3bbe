//! [`RequestFailure`]: the failure of a request, and whether a retry may help.
//!
//! Only a 404 with `NoSuchKey` means absence. A retry may help after failures below HTTP, 408, 429, 5xx and
//! Amazon's codes for "later". Everything else is final.

use std::fmt;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use nczarr_model::{Error, ErrorKind};
use nczarr_runtime::is_timeout;
use nczarr_storage::Forbidden;

use crate::permanent::permanent_reason;

/// The code of a failure to get credentials.
const NO_KEYS: &str = "NoKeys";
/// Most characters quoted from a server.
const TEXT: usize = 300;

/// The failure of a request.
#[derive(Debug, Clone)]
pub(crate) struct RequestFailure {
    /// HTTP status; 0: there was no response.
    pub(crate) status: u16,
    /// The server's error code, perhaps empty.
    pub(crate) code: String,
    /// A description for people.
    pub(crate) text: String,
    /// A retry may help.
    pub(crate) transient: bool,
    /// The request may have had its effect.
    pub(crate) unsure: bool,
    /// The length of the object in bytes, if a range beyond its end was refused.
    pub(crate) total: Option<u64>,
    /// A hint for the message, perhaps empty.
    pub(crate) note: &'static str,
    /// No answer came in time.
    pub(crate) late: bool,
}

/// The content of an error response.
pub(crate) struct ErrorResponse<'h> {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) text: String,
    /// The region of the bucket.
    pub(crate) region: Option<&'h str>,
    /// `Content-Range`.
    pub(crate) range: Option<&'h str>,
}

impl RequestFailure {
    /// Makes the failure for an invalid response, as if damaged in transit.
    pub(crate) fn damaged(text: impl Into<String>) -> Self {
        Self { status: 200, ..Self::unsent(text.into()) }
    }

    /// Makes a failure that no retry can help.
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self { status: 200, transient: false, unsure: false, ..Self::unsent(text.into()) }
    }

    /// Makes the failure for a timeout.
    pub(crate) fn stalled(text: impl Into<String>) -> Self {
        Self { late: true, ..Self::unsent(text.into()) }
    }

    /// Makes the failure for a broken connection, or for unreachable credentials.
    pub(crate) fn unsent(text: String) -> Self {
        Self {
            status: 0,
            code: String::new(),
            text,
            transient: true,
            unsure: true,
            total: None,
            note: "",
            late: false,
        }
    }

    /// Makes the failure for missing credentials. The SDK retried already, and its first failure explains
    /// most.
    pub(crate) fn no_keys(text: String) -> Self {
        Self { code: NO_KEYS.to_owned(), transient: false, unsure: false, ..Self::unsent(text) }
    }

    /// Makes the failure to connect.
    pub(crate) fn unconnected(error: &(dyn std::error::Error + 'static)) -> Self {
        match permanent_reason(error) {
            Some(reason) => Self::refused(format!("{reason}: {}", chain(error))),
            None => Self { late: is_timeout(error), ..Self::unsent(chain(error)) },
        }
    }

    /// Makes the failure for an incomplete or unreadable response. It may or may not have stated an absence.
    pub(crate) fn unreadable(status: u16, text: String) -> Self {
        let transient = matches!(status, 200..=299 | 404 | 408 | 429 | 500..=599);
        Self { status, transient, ..Self::unsent(text) }
    }

    /// Makes the failure for an error response.
    pub(crate) fn from_response(said: ErrorResponse<'_>) -> Self {
        let ErrorResponse { status, code, mut text, region, range } = said;
        // For another region the error states it. There is no redirect, because the signature is for this
        // region.
        let region = region.filter(|_| matches!(status, 300..=400));
        if let Some(region) =
            region.filter(|name| name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-'))
        {
            text.push_str(&format!(" (the bucket is in region {region}: #aws.region={region})"));
        }
        let later = ["SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "Throttling"];
        // A success with an error inside is not a success, and may or may not become one.
        let transient =
            matches!(status, 200..=299 | 408 | 429 | 500 | 502 | 503 | 504) || later.contains(&code.as_str());
        let total = range.and_then(|range| range.rsplit_once("*/")?.1.trim().parse().ok());
        Self {
            status,
            code,
            text,
            transient,
            unsure: !(300..500).contains(&status) || status == 408,
            total,
            note: "",
            late: false,
        }
    }

    /// Makes the failure for an error of the SDK.
    pub(crate) fn of<E>(error: SdkError<E, HttpResponse>) -> Self
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        match &error {
            SdkError::ServiceError(service) => {
                let status = service.raw().status().as_u16();
                let code = service.err().code().unwrap_or_default().to_owned();
                let text = service.err().message().unwrap_or_default().to_owned();
                let field = |name: &str| service.raw().headers().get(name);
                let (region, range) = (field("x-amz-bucket-region"), field("content-range"));
                Self::from_response(ErrorResponse { status, code, text, region, range })
            }
            SdkError::ResponseError(answer) => {
                Self::unreadable(answer.raw().status().as_u16(), chain(&error))
            }
            SdkError::ConstructionFailure(_) => {
                Self { transient: false, unsure: false, ..Self::unsent(chain(&error)) }
            }
            SdkError::DispatchFailure(_) if has_credentials_error(&error) => Self::no_keys(chain(&error)),
            SdkError::DispatchFailure(dispatch) => {
                if let Some(reason) = permanent_reason(&error) {
                    return Self::refused(format!("{reason}: {}", chain(&error)));
                }
                let transient = dispatch.is_io() || dispatch.is_timeout() || dispatch.is_other();
                Self { transient, late: dispatch.is_timeout(), ..Self::unsent(chain(&error)) }
            }
            SdkError::TimeoutError(_) => Self::stalled(chain(&error)),
            _ => Self::unsent(chain(&error)),
        }
    }

    /// Whether it states only that the object does not exist.
    pub(crate) fn is_absence(&self) -> bool {
        self.status == 404 && self.code == "NoSuchKey"
    }

    /// Whether it refuses an object without stating its existence. Other codes of a 403 concern credentials,
    /// or an existing object.
    fn is_refusal(&self) -> bool {
        self.status == 403 && matches!(self.code.as_str(), "" | "AccessDenied" | "Forbidden")
    }

    /// Makes the project's error. `what` is an operation and a location.
    pub(crate) fn into_error(self, what: &str, tries: u32) -> Error {
        let kind = match (self.status, self.code.as_str()) {
            (401 | 403, _)
            | (_, NO_KEYS | "ExpiredToken" | "InvalidAccessKeyId" | "InvalidToken" | "AccessDenied") => {
                ErrorKind::Auth
            }
            _ if self.late => ErrorKind::Timeout,
            _ => ErrorKind::S3,
        };
        let tried = if tries > 1 { format!(" ({tries} attempts)") } else { String::new() };
        let error = kind.context(format!("{what}: {self}{tried}"));
        if self.is_refusal() { error.caused_by(Forbidden) } else { error }
    }
}

impl fmt::Display for RequestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: String = self.text.chars().filter(|c| !c.is_control()).take(TEXT).collect();
        match (self.status, self.code.is_empty()) {
            (0, _) | (200, true) => f.write_str(&text)?,
            (status, true) => write!(f, "status {status} {text}")?,
            (status, false) => write!(f, "status {status} {}: {text}", self.code)?,
        }
        if self.note.is_empty() { Ok(()) } else { write!(f, "; {}", self.note) }
    }
}

/// Whether an error, or one of its causes, states that credentials are unavailable.
fn has_credentials_error(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<CredentialsError>() {
            return true;
        }
        next = error.source();
    }
    false
}

/// Returns the text of an error and of its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        next = error.source();
    }
    text
}

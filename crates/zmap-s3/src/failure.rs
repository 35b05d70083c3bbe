//! [`Failure`]: what went wrong with one request, and whether another try may help.
//!
//! Only a 404 that says `NoSuchKey` is absence. What breaks below HTTP, 408, 429, 5xx and Amazon's words for "later" are
//! worth another try; everything else is final.

use std::fmt;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use nczarr_dispatch::Forbidden;
use nczarr_model::{Error, ErrorKind};

use crate::lasting::lasting;

/// The code of a failure to come by keys.
const NO_KEYS: &str = "NoKeys";
/// So much of what a server says is repeated.
const TEXT: usize = 300;

/// What went wrong with one request.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// 0: there was no answer.
    pub(crate) status: u16,
    /// The server's word for it, perhaps empty.
    pub(crate) code: String,
    /// For people.
    pub(crate) text: String,
    /// Another try may help.
    pub(crate) transient: bool,
    /// The request may have done its work all the same.
    pub(crate) unsure: bool,
    /// How long the object is, where a range beyond its end was refused.
    pub(crate) total: Option<u64>,
    /// A remark for the message, perhaps empty.
    pub(crate) note: &'static str,
}

/// What a server says that is not what was asked for.
pub(crate) struct Said<'h> {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) text: String,
    /// Where the bucket is.
    pub(crate) region: Option<&'h str>,
    /// `Content-Range`.
    pub(crate) range: Option<&'h str>,
}

impl Failure {
    /// An answer that is not what was asked for, as if it had been damaged on its way.
    pub(crate) fn damaged(text: impl Into<String>) -> Self {
        Self {
            status: 200,
            code: String::new(),
            text: text.into(),
            transient: true,
            unsure: true,
            total: None,
            note: "",
        }
    }

    /// Something no other try mends.
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self {
            status: 200,
            code: String::new(),
            text: text.into(),
            transient: false,
            unsure: false,
            total: None,
            note: "",
        }
    }

    /// No answer, or no more of it, in time.
    pub(crate) fn stalled(text: impl Into<String>) -> Self {
        Self { status: 0, code: String::new(), text: text.into(), transient: true, unsure: true, total: None, note: "" }
    }

    /// The way there broke, or who signs could not be asked.
    pub(crate) fn unsent(text: String) -> Self {
        Self { status: 0, code: String::new(), text, transient: true, unsure: true, total: None, note: "" }
    }

    /// The signer has no keys. The SDK retried already, and its first failure explains most.
    pub(crate) fn no_keys(text: String) -> Self {
        Self { code: NO_KEYS.to_owned(), transient: false, unsure: false, ..Self::unsent(text) }
    }

    /// There was no connection.
    pub(crate) fn unconnected(error: &(dyn std::error::Error + 'static)) -> Self {
        match lasting(error) {
            Some(reason) => Self::refused(format!("{reason}: {}", chain(error))),
            None => Self::unsent(chain(error)),
        }
    }

    /// An answer that broke off before its end, or could not be read. Whether it would have told an absence is open.
    pub(crate) fn unreadable(status: u16, text: String) -> Self {
        let transient = matches!(status, 200..=299 | 404 | 408 | 429 | 500..=599);
        Self { status, code: String::new(), text, transient, unsure: true, total: None, note: "" }
    }

    /// What a server says.
    pub(crate) fn said(said: Said<'_>) -> Self {
        let Said { status, code, mut text, region, range } = said;
        // Whoever asked in another region is told, and not sent there: the signature is for this one.
        let region = region.filter(|_| matches!(status, 300..=400));
        if let Some(region) = region.filter(|name| name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')) {
            text.push_str(&format!(" (the bucket is in region {region}: #aws.region={region})"));
        }
        let later = ["SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "Throttling"];
        // Success with an error inside is no success, and whether it will be is open.
        let transient =
            matches!(status, 200..=299 | 408 | 429 | 500 | 502 | 503 | 504) || later.contains(&code.as_str());
        let total = range.and_then(|range| range.rsplit_once("*/")?.1.trim().parse().ok());
        Self { status, code, text, transient, unsure: !(300..500).contains(&status) || status == 408, total, note: "" }
    }

    /// What the SDK says.
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
                Self::said(Said { status, code, text, region, range })
            }
            SdkError::ResponseError(answer) => Self::unreadable(answer.raw().status().as_u16(), chain(&error)),
            SdkError::ConstructionFailure(_) => Self {
                status: 0,
                code: String::new(),
                text: chain(&error),
                transient: false,
                unsure: false,
                total: None,
                note: "",
            },
            SdkError::DispatchFailure(_) if has_credentials_error(&error) => Self::no_keys(chain(&error)),
            SdkError::DispatchFailure(dispatch) => {
                if let Some(reason) = lasting(&error) {
                    return Self::refused(format!("{reason}: {}", chain(&error)));
                }
                let transient = dispatch.is_io() || dispatch.is_timeout() || dispatch.is_other();
                Self {
                    status: 0,
                    code: String::new(),
                    text: chain(&error),
                    transient,
                    unsure: true,
                    total: None,
                    note: "",
                }
            }
            _ => Self::unsent(chain(&error)),
        }
    }

    /// Whether it says that there is no such object, and nothing else.
    pub(crate) fn is_absence(&self) -> bool {
        self.status == 404 && self.code == "NoSuchKey"
    }

    /// Whether it refuses an object without saying whether there is one. Other words of a 403 speak of the credentials, or
    /// of an object that is there.
    fn is_refusal(&self) -> bool {
        self.status == 403 && matches!(self.code.as_str(), "" | "AccessDenied" | "Forbidden")
    }

    /// The project's error, for `what` (an operation and where).
    pub(crate) fn into_error(self, what: &str, tries: u32) -> Error {
        let kind = match (self.status, self.code.as_str()) {
            (401 | 403, _) | (_, NO_KEYS | "ExpiredToken" | "InvalidAccessKeyId" | "InvalidToken" | "AccessDenied") => {
                ErrorKind::Auth
            }
            _ => ErrorKind::S3,
        };
        let tried = if tries > 1 { format!(" (tried {tries} times)") } else { String::new() };
        let error = kind.context(format!("{what}: {self}{tried}"));
        if self.is_refusal() { error.caused_by(Forbidden) } else { error }
    }
}

impl fmt::Display for Failure {
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

/// Whether an error says, or one that caused it, that credentials cannot be had.
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

/// The text of an error and of what caused it.
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

//! [`Secret`]: text that never prints.

use std::fmt;

/// What stands in place of a secret.
const HIDDEN: &str = "(not shown)";

/// A key, password or token. Neither `Debug` nor `Display` shows it; who must have it asks by name.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself: for the signer and nobody else.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// `text` without this secret: what a server says may repeat what it was sent.
    pub(crate) fn scrub(&self, text: String) -> String {
        // So short a text is no secret, and would cut words to pieces.
        if self.0.len() >= 4 && text.contains(&self.0) { text.replace(&self.0, HIDDEN) } else { text }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

/// Who signs requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// None were found: requests are not signed.
    Anonymous,
    /// None, on request.
    Unsigned,
    /// Fixed keys.
    Keys { id: Secret, secret: Secret, token: Option<Secret> },
    /// A profile that says how keys are come by: a role, a program, single sign-on.
    Profile(String),
    /// A role for which a token lies in a file, as `AWS_WEB_IDENTITY_TOKEN_FILE` says.
    WebIdentity,
    /// The service that `AWS_CONTAINER_CREDENTIALS_…_URI` names.
    Container,
}

impl Credentials {
    /// `text` without any of these.
    pub(crate) fn scrub(&self, text: String) -> String {
        match self {
            Self::Keys { id, secret, token } => {
                let text = id.scrub(secret.scrub(text));
                token.as_ref().map_or_else(|| text.clone(), |token| token.scrub(text.clone()))
            }
            _ => text,
        }
    }
}

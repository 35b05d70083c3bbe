//! [`Secret`]: text that is never printed.

use std::fmt;

/// The replacement for a secret.
const HIDDEN: &str = "(not shown)";

/// A key, password or token. Neither `Debug` nor `Display` shows it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text, for the signer only.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Returns `text` without this secret, because a server may repeat received text.
    pub(crate) fn scrub(&self, text: String) -> String {
        // A text this short is not a secret, and would match parts of words.
        if self.0.len() >= 4 && text.contains(&self.0) { text.replace(&self.0, HIDDEN) } else { text }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

/// The credentials for signing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// None found: requests are unsigned.
    Anonymous,
    /// Disabled by the user.
    Unsigned,
    /// Fixed keys.
    Keys { id: Secret, secret: Secret, token: Option<Secret> },
    /// A profile that refers to a role, a program or single sign-on.
    Profile(String),
    /// A role with a token file, from `AWS_WEB_IDENTITY_TOKEN_FILE`.
    WebIdentity,
    /// The service in `AWS_CONTAINER_CREDENTIALS_…_URI`.
    Container,
}

impl Credentials {
    /// Returns `text` without these credentials.
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

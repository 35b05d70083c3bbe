//! [`Target`]: what a path or URL says, before anything is looked at.

/// How the place is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheme {
    /// A plain path: no scheme was written.
    Path,
    /// `file:`.
    File,
    /// `http:`.
    Http,
    /// `https:`.
    Https,
    /// `s3:`.
    S3,
    /// `gs3:`.
    Gs3,
    /// Any other that is known: for instance a map plugin's own, in lower case.
    Other(String),
}

/// A parsed path or URL.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// How the place is reached.
    pub scheme: Scheme,
    /// For files the path as the system wants it (not percent-decoded); otherwise the path of the URL.
    pub path: String,
    /// Host, with its port if one was given.
    pub host: Option<String>,
    /// User-info of the URL. Never printed.
    pub user_info: Option<String>,
    /// Query of the URL. Never printed.
    pub query: Option<String>,
    /// The fragment's pairs after macros, inferences and negations, keys in lower case, without `mode`, in order of appearance.
    pub fragment: Vec<(String, String)>,
    /// The values of `mode` after macros, inferences and negations, each once, in order of appearance.
    pub modes: Vec<String>,
    /// What was done to get here, for people: one line per rule that changed something.
    pub steps: Vec<String>,
}

impl Target {
    /// Whether `mode` holds `value`.
    pub fn has_mode(&self, value: &str) -> bool {
        self.modes.iter().any(|mode| mode == value)
    }

    /// The value of a fragment key, given in lower case; the last one wins.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.fragment.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

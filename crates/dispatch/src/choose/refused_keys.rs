//! [`RefusedKeys`]: forbidden keys met while resolving a path. [`no_dataset_error`]: the final error.

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_url_infer::Target;

use nczarr_storage::{Forbidden, Key};

/// The maximum number of URLs in a message.
const MOST: usize = 12;

/// Forbidden keys: it is unknown whether they exist.
#[derive(Debug, Default)]
pub(super) struct RefusedKeys(Vec<(Key, Error)>);

impl RefusedKeys {
    /// Records a forbidden key.
    ///
    /// # Errors
    /// Any other error is returned.
    pub(super) fn record(&mut self, key: &Key, error: Error) -> Result<()> {
        if !Forbidden::is_cause_of(&error) {
            return Err(error);
        }
        self.0.push((key.clone(), error));
        Ok(())
    }

    /// Returns the first refusal as an error, if there is one.
    ///
    /// # Errors
    /// The first refusal.
    pub(super) fn check(self) -> Result<()> {
        self.0.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_keys(self) -> Vec<(Key, Error)> {
        self.0
    }
}

/// Returns the error for a URL without a document: it names the tried URLs and the forbidden ones.
///
/// Drivers that search for documents themselves use it too.
pub fn no_dataset_error(target: &Target, tried: &[Key], refused: &[(Key, Error)]) -> Error {
    let place = Target { modes: Vec::new(), ..target.clone() }.to_string();
    let place = place.trim_end_matches('/');
    let url = |key: &Key| if key.is_root() { place.to_owned() } else { format!("{place}/{key}") };
    let urls = |keys: &mut dyn Iterator<Item = &Key>| {
        let mut urls: Vec<String> = keys.map(url).collect();
        let more = if urls.len() > MOST { ", …" } else { "" };
        urls.truncate(MOST);
        format!("{}{more}", urls.join(", "))
    };
    let Some((_, first)) = refused.first() else {
        let tried = urls(&mut tried.iter());
        return ErrorKind::NotFound.context(format!("{target}: no dataset found; tried these URLs: {tried}"));
    };
    let forbidden = urls(&mut refused.iter().map(|(key, _)| key));
    let mut absent = tried.iter().filter(|key| !refused.iter().any(|(other, _)| other == *key)).peekable();
    let absent = match absent.peek() {
        Some(_) => format!("; absent: {}", urls(&mut absent)),
        None => String::new(),
    };
    let what = format!(
        "{target}: no document can be read; forbidden (403) or absent: {forbidden}{absent}; first \
         answer: {}",
        first.what()
    );
    first.kind().context(what).caused_by(Forbidden)
}

//! [`Refused`]: keys that the storage refused while a dataset was looked for, and [`no_dataset`], the error in the end.

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_url_infer::Target;

use crate::{Forbidden, Key};

/// The URLs that a message names, at most.
const MOST: usize = 12;

/// Keys that were refused, so that it is not known whether there is such an object.
#[derive(Debug, Default)]
pub(super) struct Refused(Vec<(Key, Error)>);

impl Refused {
    /// Takes note of a refusal.
    ///
    /// # Errors
    /// Every other failure.
    pub(super) fn take(&mut self, key: &Key, error: Error) -> Result<()> {
        if !Forbidden::caused(&error) {
            return Err(error);
        }
        self.0.push((key.clone(), error));
        Ok(())
    }

    /// The first refusal, if there is one.
    ///
    /// # Errors
    /// That refusal.
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

/// The error where no document of a dataset was found: the URLs that were tried, and those that the server refused.
///
/// A driver that looks for the documents itself uses it too.
pub fn no_dataset(target: &Target, tried: &[Key], refused: &[(Key, Error)]) -> Error {
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
        return ErrorKind::NotFound.context(format!("{target}: nothing is there; these URLs were tried: {tried}"));
    };
    let forbidden = urls(&mut refused.iter().map(|(key, _)| key));
    let mut absent = tried.iter().filter(|key| !refused.iter().any(|(other, _)| other == *key)).peekable();
    let absent = match absent.peek() {
        Some(_) => format!("; not there: {}", urls(&mut absent)),
        None => String::new(),
    };
    let what = format!(
        "{target}: no document of a dataset can be read; forbidden (403), or not there: {forbidden}{absent}; the first \
         answer: {}",
        first.what()
    );
    first.kind().context(what).caused_by(Forbidden)
}

//! [`Failure`]: the reason why a command failed, and its message.

use std::error::Error as _;
use std::io;
use std::process::ExitCode;

use nczarr_model::Error;

use crate::streams::{self, say};

/// The reason why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// A usage error; names the flag.
    Usage(String),
    /// An interrupt, with the remaining work and how to resume.
    Interrupted(String),
    /// A failure at a place.
    Failed {
        /// The place, without secrets.
        place: String,
        /// The error.
        error: Error,
    },
}

/// Turns errors of a dataset into failures.
pub fn at(url: &str) -> impl Fn(Error) -> Failure {
    move |error| Failure::Failed { place: place(url), error }
}

/// Returns the name of a dataset for messages: a path as typed, a URL without user info and query.
pub fn place(url: &str) -> String {
    match nczarr_url_infer::parse(url) {
        Ok(target) if target.scheme == nczarr_url_infer::Scheme::Path => target.path_text().into_owned(),
        Ok(mut target) => {
            target.modes.clear();
            target.to_string()
        }
        // In a malformed URL, any part may be a secret.
        Err(_) => url.split_once("://").map_or_else(|| url.to_owned(), |(scheme, _)| format!("{scheme}://…")),
    }
}

impl Failure {
    /// Prints the failure, except that the reader of standard output has gone.
    pub fn report(&self) -> ExitCode {
        match self {
            Self::Usage(what) => {
                say(what);
                ExitCode::from(2)
            }
            Self::Interrupted(what) => {
                say(what);
                ExitCode::from(crate::stop::CODE)
            }
            Self::Failed { error, .. } if is_unheard(error) => ExitCode::SUCCESS,
            Self::Failed { place, error } => {
                let hint =
                    crate::hint::of(place, error.kind()).map_or(String::new(), |hint| format!("; {hint}"));
                say(format_args!("{}{hint}", message(place, error)));
                ExitCode::FAILURE
            }
        }
    }
}

/// Formats `place: NC_E…: message`, with the place only once.
fn message(place: &str, error: &Error) -> String {
    let text = format!("{error:#}");
    let kind = error.kind().name();
    let rest = text.strip_prefix(kind).and_then(|rest| rest.strip_prefix(": "));
    match rest.and_then(|rest| rest.strip_prefix(place)).and_then(|rest| rest.strip_prefix(": ")) {
        Some(rest) => format!("{place}: {kind}: {rest}"),
        None => format!("{place}: {text}"),
    }
}

/// Returns whether the reader of standard output has gone. Other broken pipes are failures.
pub fn is_unheard(error: &Error) -> bool {
    streams::is_unheard() && is_broken_pipe(error)
}

fn is_broken_pipe(error: &Error) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use nczarr_model::ErrorKind;

    use super::*;

    #[test]
    fn places_hold_no_secrets() {
        for (url, want) in [
            ("a/b.zarr", "a/b.zarr"),
            ("https://me:hush@h.example/b?hush=1#mode=zarr", "https://h.example/b"),
            ("https://me:hush@h.example:port/b?hush", "https://…"),
        ] {
            assert_eq!(place(url), want);
        }
    }

    #[test]
    fn the_place_is_named_once() {
        let error = ErrorKind::NotFound.context("a/b: gone");
        assert_eq!(message("a/b", &error), "a/b: NC_ENOTFOUND: gone");
        assert_eq!(message("x", &error), "x: NC_ENOTFOUND: a/b: gone");
    }

    #[test]
    fn a_broken_pipe_differs_from_other_failures() {
        let io = |kind| Error::io("out", io::Error::from(kind));
        assert!(is_broken_pipe(&io(io::ErrorKind::BrokenPipe)));
        assert!(!is_broken_pipe(&io(io::ErrorKind::StorageFull)));
        // The failed pipe is not standard output.
        assert!(!is_unheard(&io(io::ErrorKind::BrokenPipe)));
    }
}

//! Checks that neither side of a copy contains the other: a copy would delete the data it must read. External
//! data files of the source count too.
//!
//! Local places are compared with links resolved, remote ones by host and path in any form of URL. One bucket
//! may still have several names, such as an address and a configured endpoint; a copy checks that by its
//! record.

use std::path::{Path, PathBuf};

use nczarr_model::{ErrorKind, Result};
use nczarr_url_infer::Scheme;
use percent_encoding::percent_decode_str;

use crate::failure;

/// Checks that source and target are disjoint by their URLs. `further`: external data files of the source.
///
/// # Errors
///
/// `NC_EINVAL` if they are not.
pub fn check(source: &str, target: &str, further: &[PathBuf]) -> Result<()> {
    if let Some(place) = local(target) {
        check_local(source, &place, further)?;
    }
    if let (Some(a), Some(b)) = (far(source), far(target))
        && a.0 == b.0
        && (a.1.starts_with(&b.1) || b.1.starts_with(&a.1))
    {
        return Err(overlap(failure::place(source), failure::place(target)));
    }
    Ok(())
}

/// Checks that a source and a resolved local place are disjoint.
///
/// # Errors
///
/// Like [`check`].
pub fn check_local(source: &str, place: &Path, further: &[PathBuf]) -> Result<()> {
    if let Some(source) =
        local(source).filter(|source| source.starts_with(place) || place.starts_with(source))
    {
        return Err(overlap(source.display(), place.display()));
    }
    match further.iter().find(|file| real(file).is_some_and(|file| file.starts_with(place))) {
        None => Ok(()),
        Some(file) => {
            let source = failure::place(source);
            Err(ErrorKind::Inval
                .context(format!("{} is one of the files that {source} is read from", file.display())))
        }
    }
}

/// The same for a source that is a plain file: its path has no special characters.
///
/// # Errors
///
/// Like [`check`].
pub fn check_file(source: &Path, target: &str) -> Result<()> {
    match (real(source), local(target)) {
        (Some(a), Some(b)) if a.starts_with(&b) || b.starts_with(&a) => {
            Err(overlap(a.display(), b.display()))
        }
        _ => Ok(()),
    }
}

/// Returns the error for overlapping places.
pub fn overlap(source: impl std::fmt::Display, target: impl std::fmt::Display) -> nczarr_model::Error {
    ErrorKind::Inval.context(format!("source and target overlap: {source} and {target}"))
}

/// Returns the resolved path of a local dataset. A missing path is resolved from its nearest existing
/// directory.
pub fn local(url: &str) -> Option<PathBuf> {
    let target = nczarr_url_infer::parse(url).ok().filter(|target| target.scheme.is_local())?;
    real(&target.path)
}

/// Resolves the links of a path, whether it exists or not.
pub fn real(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(|there| {
        let real = if there.as_os_str().is_empty() { Path::new(".") } else { there }.canonicalize().ok()?;
        let rest = path.strip_prefix(there).ok()?;
        Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
    })
}

/// Hosts of Amazon and Google that may have a bucket name as prefix.
const AMAZON: [&str; 2] = ["amazonaws.com", "amazonaws.com.cn"];
const GOOGLE: &str = "storage.googleapis.com";

/// Returns the host of a remote place and the segments of its path, the bucket first.
fn far(url: &str) -> Option<(String, Vec<String>)> {
    let target = nczarr_url_infer::parse(url).ok().filter(|target| !target.scheme.is_local())?;
    let mut host = target.host.clone().unwrap_or_default().to_ascii_lowercase();
    let mut bucket = None;
    match &target.scheme {
        Scheme::Http | Scheme::Https | Scheme::S3 | Scheme::Gs3 => {
            for port in [":80", ":443"] {
                host.truncate(host.strip_suffix(port).unwrap_or(&host).len());
            }
            let by_name = matches!(target.scheme, Scheme::S3 | Scheme::Gs3);
            let labels: Vec<&str> = host.split('.').collect();
            let at = labels.iter().rposition(|label| *label == "s3" || label.starts_with("s3-"));
            if let Some(before) =
                host.strip_suffix(GOOGLE).filter(|before| before.is_empty() || before.ends_with('.'))
            {
                bucket = Some(before.trim_end_matches('.').to_owned());
                host = GOOGLE.to_owned();
            } else if let Some(at) = at.filter(|at| labels.len() - at >= 3) {
                // The region does not distinguish buckets.
                let of_amazon = AMAZON.iter().any(|name| host.ends_with(name));
                bucket = Some(labels[..at].join("."));
                host = if of_amazon { AMAZON[0].to_owned() } else { labels[at..].join(".") };
            } else if by_name && !host.contains(['.', ':']) && host != "localhost" {
                bucket = Some(host);
                host = (if target.scheme == Scheme::Gs3 { GOOGLE } else { AMAZON[0] }).to_owned();
            }
        }
        other => host = format!("{}://{host}", other.name().unwrap_or_default()),
    }
    let is_encoded = matches!(target.scheme, Scheme::Http | Scheme::Https);
    let path = target.path_text().into_owned();
    let segments = path.split('/').map(|part| {
        if is_encoded { percent_decode_str(part).decode_utf8_lossy().into_owned() } else { part.to_owned() }
    });
    let segments = bucket.into_iter().chain(segments).filter(|part| !part.is_empty()).collect();
    Some((host, segments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bucket_in_every_form_of_a_url() {
        for (a, b) in [
            ("s3://b/a.zarr", "s3://b/a.zarr/"),
            ("s3://b/a.zarr", "s3://b/a.zarr/inner#mode=zarr"),
            ("s3://b", "s3://b/a.zarr"),
            ("s3://b/a.zarr", "https://b.s3.eu-north-1.amazonaws.com/a.zarr#mode=s3"),
            ("https://s3.amazonaws.com/b/a%2ezarr", "https://b.s3-us-west-2.amazonaws.com/a.zarr"),
            ("gs3://b/a", "https://b.storage.googleapis.com/a#mode=gs3"),
            ("http://me:hush@h:9000/b/a#mode=s3", "s3://H:9000/b/a"),
            ("https://h:443/b/a", "https://h/b/a"),
            ("memory://x", "memory://x"),
        ] {
            let error = check(a, b, &[]).unwrap_err();
            assert!(
                error.kind() == ErrorKind::Inval && !error.to_string().contains("hush"),
                "{a} {b}: {error}"
            );
            assert!(check(b, a, &[]).is_err(), "{b} {a}");
        }
        for (a, b) in [
            ("s3://b/a.zarr", "s3://b/a.zarr2"),
            ("s3://b/a", "s3://c/a"),
            ("s3://b/a", "gs3://b/a"),
            ("http://h:9000/b/a", "http://h:9001/b/a"),
            ("memory://x", "memory://y"),
            ("s3://b/a", "b/a"),
        ] {
            check(a, b, &[]).unwrap();
        }
    }
}

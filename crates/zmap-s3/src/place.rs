//! [`Place`]: which bucket, key and endpoint a URL means.
//!
//! * `s3://bucket/key`, `gs3://bucket/key`; `s3://<endpoint host>/bucket/key` where the host is one of Amazon's or Google's,
//!   has a port, is an address or `localhost`, or has dots and no endpoint is configured.
//! * `https://bucket.s3.<region>.amazonaws.com/key`, `https://s3.<region>.amazonaws.com/bucket/key`, the older forms without
//!   region or with `s3-<region>`, dotted buckets included; `https://storage.googleapis.com/bucket/key`.
//! * any other host: `https://host:port/bucket/key`; `s3.<region>.host` tells a region, and what stands before that label
//!   is the bucket.
//!
//! Requests to Amazon and Google go by https whatever was written; elsewhere `http:` means what it says. It opens nothing.
//!
//! Source: netCDF-C's handling of S3 URLs, without its errors; Amazon's list of endpoints.

use nczarr_model::{ErrorKind, Result};
use nczarr_url_infer::{Scheme, Target};

/// Where the bucket is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    /// Amazon's, whose name follows from the region.
    Amazon,
    /// Google's, by S3's protocol.
    Google,
    /// The one written in the URL: `https://host:port`.
    Endpoint(String),
}

/// What a URL says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) host: Host,
    pub(crate) bucket: String,
    /// Without `/` at either end; empty: the whole bucket.
    pub(crate) key: String,
    /// The region that the host tells.
    pub(crate) region: Option<String>,
}

/// Google's host.
const GOOGLE: &str = "storage.googleapis.com";

impl Place {
    /// What `target` means. `configured`: an endpoint was named elsewhere, so that a dotted host of `s3:` is a bucket.
    ///
    /// # Errors
    /// `NC_EURL` for a URL without a bucket, with a query, with empty segments or segments `.` and `..`.
    pub(crate) fn of(target: &Target, configured: bool) -> Result<Self> {
        let bad = |what: &str| ErrorKind::Url.context(format!("{target}: {what}"));
        let host = target.host.as_deref().ok_or_else(|| bad("it names no bucket"))?;
        if target.query.is_some() {
            return Err(bad("a URL of S3 has no query"));
        }
        let path = match target.scheme {
            Scheme::Http | Scheme::Https => percent_decoded(&target.path).ok_or_else(|| bad("bad percent-encoding"))?,
            _ => target.path.clone(),
        };
        let path = path.strip_prefix('/').unwrap_or(&path);
        let path = path.strip_suffix('/').unwrap_or(path);
        let by_name = matches!(target.scheme, Scheme::S3 | Scheme::Gs3);
        let lower = host.to_ascii_lowercase();
        let mut place = if by_name && !is_endpoint(&lower, configured) {
            let kind = if target.scheme == Scheme::Gs3 { Host::Google } else { Host::Amazon };
            Self { host: kind, bucket: host.to_owned(), key: path.to_owned(), region: None }
        } else {
            let http = target.scheme == Scheme::Http;
            let (host, bucket, region) = by_host(&lower, http);
            match bucket {
                Some(bucket) => Self { host, bucket, key: path.to_owned(), region },
                None => {
                    let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
                    Self { host, bucket: bucket.to_owned(), key: key.to_owned(), region }
                }
            }
        };
        if place.bucket.is_empty() {
            return Err(bad("it names no bucket"));
        }
        if !place.bucket.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')) {
            return Err(bad("a bucket has letters, digits, '-', '.' and '_' in its name"));
        }
        place.key =
            nczarr_dispatch::Key::new(&place.key).map_err(|error| bad("its path").caused_by(error))?.to_string();
        Ok(place)
    }
}

/// Whether the host of an `s3:` URL is an endpoint rather than a bucket.
fn is_endpoint(host: &str, configured: bool) -> bool {
    let own = host == GOOGLE || host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
    let address = host.contains(':') || host.parse::<std::net::Ipv4Addr>().is_ok();
    own || address || host == "localhost" || host.contains('.') && !configured
}

/// Host, bucket and region of a host.
fn by_host(host: &str, http: bool) -> (Host, Option<String>, Option<String>) {
    if let Some(bucket) = host.strip_suffix(GOOGLE).filter(|rest| rest.is_empty() || rest.ends_with('.')) {
        return (Host::Google, name(bucket.strip_suffix('.').unwrap_or(bucket)), None);
    }
    if let Some(rest) = host.strip_suffix(".amazonaws.com").or_else(|| host.strip_suffix(".amazonaws.com.cn")) {
        let labels: Vec<&str> = rest.split('.').collect();
        if let Some(at) = labels.iter().rposition(|label| *label == "s3" || label.starts_with("s3-")) {
            let bucket = labels[..at].join(".");
            let dashed = labels[at].strip_prefix("s3-").filter(|rest| !matches!(*rest, "accelerate" | "fips"));
            let region = labels[at + 1..].iter().copied().find(|label| !matches!(*label, "dualstack" | "fips"));
            return (Host::Amazon, name(&bucket), region.or(dashed).and_then(name));
        }
    }
    let endpoint = |host: &str| Host::Endpoint(format!("{}://{host}", if http { "http" } else { "https" }));
    let labels: Vec<&str> = host.split('.').collect();
    // With fewer labels behind it `s3` is a name like any other.
    match labels.iter().position(|label| *label == "s3").filter(|at| labels.len() - at >= 4) {
        Some(at) => (
            endpoint(&labels[at..].join(".")),
            name(&labels[..at].join(".")),
            labels.get(at + 1).copied().and_then(name),
        ),
        None => (endpoint(host), None, None),
    }
}

fn name(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// The text of a path with `%` escapes; `None` if they are none or make no text.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = tail.get(..2).and_then(|digits| str::from_utf8(digits).ok())?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = tail.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_url() {
        let endpoint = |text: &str| Host::Endpoint(text.to_owned());
        let table = [
            ("s3://bucket/key", Host::Amazon, "bucket", "key", None),
            ("s3://bucket/a/key/", Host::Amazon, "bucket", "a/key", None),
            ("s3://bucket", Host::Amazon, "bucket", "", None),
            ("s3://bucket/a%20b", Host::Amazon, "bucket", "a%20b", None),
            ("https://bucket.s3.us-west-2.amazonaws.com/key", Host::Amazon, "bucket", "key", Some("us-west-2")),
            ("https://bucket.s3.amazonaws.com/key", Host::Amazon, "bucket", "key", None),
            ("https://a.b.s3.amazonaws.com/key", Host::Amazon, "a.b", "key", None),
            ("https://a.b.s3.eu-north-1.amazonaws.com/k/l", Host::Amazon, "a.b", "k/l", Some("eu-north-1")),
            ("http://s3.us-west-2.amazonaws.com/bucket/key", Host::Amazon, "bucket", "key", Some("us-west-2")),
            ("https://s3.amazonaws.com/bucket/key", Host::Amazon, "bucket", "key", None),
            ("https://s3-us-west-2.amazonaws.com/bucket/a%20b", Host::Amazon, "bucket", "a b", Some("us-west-2")),
            ("https://b.s3-us-west-2.amazonaws.com/key", Host::Amazon, "b", "key", Some("us-west-2")),
            ("https://b.s3.dualstack.us-west-2.amazonaws.com/k", Host::Amazon, "b", "k", Some("us-west-2")),
            ("https://b.s3.cn-north-1.amazonaws.com.cn/k#mode=s3", Host::Amazon, "b", "k", Some("cn-north-1")),
            ("s3://s3.us-east-2.amazonaws.com/bucket/key", Host::Amazon, "bucket", "key", Some("us-east-2")),
            ("https://storage.googleapis.com/bucket/key", Host::Google, "bucket", "key", None),
            ("https://bucket.storage.googleapis.com/key#mode=gs3", Host::Google, "bucket", "key", None),
            ("gs3://bucket/key", Host::Google, "bucket", "key", None),
            ("gs3://storage.googleapis.com/bucket/key", Host::Google, "bucket", "key", None),
            ("https://any.host:9000/bucket/key#mode=s3", endpoint("https://any.host:9000"), "bucket", "key", None),
            ("http://any.host:9000/bucket/key#mode=s3", endpoint("http://any.host:9000"), "bucket", "key", None),
            (
                "https://s3.region1.example.com/bucket/key#mode=s3",
                endpoint("https://s3.region1.example.com"),
                "bucket",
                "key",
                Some("region1"),
            ),
            (
                "https://bucket.s3.region1.domain.example.com/key#mode=s3",
                endpoint("https://s3.region1.domain.example.com"),
                "bucket",
                "key",
                Some("region1"),
            ),
            (
                "https://another-bucket.s3.region1.domain.example.com/key#mode=s3",
                endpoint("https://s3.region1.domain.example.com"),
                "another-bucket",
                "key",
                Some("region1"),
            ),
            ("https://s3.example.com/bucket/key#mode=s3", endpoint("https://s3.example.com"), "bucket", "key", None),
            ("s3://h.example/bucket/key", endpoint("https://h.example"), "bucket", "key", None),
            ("s3://localhost:9000/bucket/key", endpoint("https://localhost:9000"), "bucket", "key", None),
            ("s3://127.0.0.1/bucket/key", endpoint("https://127.0.0.1"), "bucket", "key", None),
        ];
        for (url, host, bucket, key, region) in table {
            let place = Place::of(&nczarr_url_infer::parse(url).unwrap(), false).unwrap();
            let expected =
                Place { host, bucket: bucket.to_owned(), key: key.to_owned(), region: region.map(str::to_owned) };
            assert_eq!(place, expected, "{url}");
        }
        let dotted = Place::of(&nczarr_url_infer::parse("s3://a.b/key").unwrap(), true).unwrap();
        assert_eq!((dotted.host, dotted.bucket.as_str()), (Host::Amazon, "a.b"));
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for url in [
            "https://s3.amazonaws.com/",
            "https://h.example:9000/#mode=s3",
            "s3://bucket/a//b",
            "s3://bucket/a/../b",
            "s3://bucket/k?sig=hush",
            "https://s3.amazonaws.com/b/%zz",
            "s3://buck;et/k",
        ] {
            let error = Place::of(&nczarr_url_infer::parse(url).unwrap(), false).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Url, "{url}");
            assert!(!error.to_string().contains("hush"), "{error}");
        }
    }
}

//! [`BucketLocation`]: bucket, key and endpoint of a URL.
//!
//! * `s3://bucket/key`, `gs3://bucket/key`; `s3://<endpoint host>/bucket/key` if the host is one of Amazon or
//!   Google, has a port, is an address or `localhost`, or has dots and no endpoint is configured.
//! * `https://bucket.s3.<region>.amazonaws.com/key`, `https://s3.<region>.amazonaws.com/bucket/key`, the
//!   older forms without region or with `s3-<region>`, also with dotted buckets;
//!   `https://storage.googleapis.com/bucket/key`.
//! * any other host: `https://host:port/bucket/key`; `s3.<region>.host` has a region, and the bucket before
//!   it.
//!
//! Requests to Amazon and Google always use https. Elsewhere `http:` is kept. This module opens nothing.
//!
//! Source: netCDF-C's handling of S3 URLs, without its errors; Amazon's list of endpoints.

use nczarr_model::{ErrorKind, Result};
use nczarr_url_infer::{Scheme, Target};

/// The kind of endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EndpointHost {
    /// Amazon's, whose name follows from the region.
    Amazon,
    /// Google's, with S3's protocol.
    Google,
    /// The one in the URL: `https://host:port`.
    Endpoint(String),
}

/// The parts of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BucketLocation {
    pub(crate) host: EndpointHost,
    pub(crate) bucket: String,
    /// Without `/` at either end; empty: the whole bucket.
    pub(crate) key: String,
    /// The region in the host name.
    pub(crate) region: Option<String>,
}

/// Google's host.
const GOOGLE: &str = "storage.googleapis.com";

impl BucketLocation {
    /// Parses `target`. `configured`: an endpoint is configured elsewhere, so a dotted host of `s3:` is a
    /// bucket.
    ///
    /// # Errors
    /// `NC_EURL` for a URL without a bucket, with a query, with empty segments or segments `.` and `..`.
    pub(crate) fn of(target: &Target, configured: bool) -> Result<Self> {
        let bad = |what: &str| ErrorKind::Url.context(format!("{target}: {what}"));
        let host = target.host.as_deref().ok_or_else(|| bad("the URL has no bucket"))?;
        if target.query.is_some() {
            return Err(bad("an S3 URL cannot have a query"));
        }
        let path = match target.scheme {
            Scheme::Http | Scheme::Https => {
                percent_decoded(&target.path_text()).ok_or_else(|| bad("invalid percent-encoding"))?
            }
            _ => target.path_text().into_owned(),
        };
        let path = path.strip_prefix('/').unwrap_or(&path);
        let path = path.strip_suffix('/').unwrap_or(path);
        let by_name = matches!(target.scheme, Scheme::S3 | Scheme::Gs3);
        let lower = host.to_ascii_lowercase();
        let mut place = if by_name && !is_endpoint(&lower, configured) {
            let kind = if target.scheme == Scheme::Gs3 { EndpointHost::Google } else { EndpointHost::Amazon };
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
            return Err(bad("the URL has no bucket"));
        }
        if !place.bucket.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')) {
            return Err(bad("invalid bucket name (expected letters, digits, '-', '.' and '_')"));
        }
        place.key = nczarr_storage::Key::new(&place.key)
            .map_err(|error| bad("its path").caused_by(error))?
            .to_string();
        Ok(place)
    }
}

/// Whether the host of an `s3:` URL is an endpoint rather than a bucket.
fn is_endpoint(host: &str, configured: bool) -> bool {
    let own = host == GOOGLE || host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
    let address = host.contains(':') || host.parse::<std::net::Ipv4Addr>().is_ok();
    own || address || host == "localhost" || host.contains('.') && !configured
}

/// Returns endpoint, bucket and region of a host name.
fn by_host(host: &str, http: bool) -> (EndpointHost, Option<String>, Option<String>) {
    if let Some(bucket) = host.strip_suffix(GOOGLE).filter(|rest| rest.is_empty() || rest.ends_with('.')) {
        return (EndpointHost::Google, name(bucket.strip_suffix('.').unwrap_or(bucket)), None);
    }
    if let Some(rest) = host.strip_suffix(".amazonaws.com").or_else(|| host.strip_suffix(".amazonaws.com.cn"))
    {
        let labels: Vec<&str> = rest.split('.').collect();
        if let Some(at) = labels.iter().rposition(|label| *label == "s3" || label.starts_with("s3-")) {
            let bucket = labels[..at].join(".");
            let dashed =
                labels[at].strip_prefix("s3-").filter(|rest| !matches!(*rest, "accelerate" | "fips"));
            let region =
                labels[at + 1..].iter().copied().find(|label| !matches!(*label, "dualstack" | "fips"));
            return (EndpointHost::Amazon, name(&bucket), region.or(dashed).and_then(name));
        }
    }
    let endpoint =
        |host: &str| EndpointHost::Endpoint(format!("{}://{host}", if http { "http" } else { "https" }));
    let labels: Vec<&str> = host.split('.').collect();
    // With fewer labels behind it, `s3` is an ordinary name.
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

/// Decodes `%` escapes in a path; `None` if they are invalid.
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
        let endpoint = |text: &str| EndpointHost::Endpoint(text.to_owned());
        let table = [
            ("s3://bucket/key", EndpointHost::Amazon, "bucket", "key", None),
            ("s3://bucket/a/key/", EndpointHost::Amazon, "bucket", "a/key", None),
            ("s3://bucket", EndpointHost::Amazon, "bucket", "", None),
            ("s3://bucket/a%20b", EndpointHost::Amazon, "bucket", "a%20b", None),
            (
                "https://bucket.s3.us-west-2.amazonaws.com/key",
                EndpointHost::Amazon,
                "bucket",
                "key",
                Some("us-west-2"),
            ),
            ("https://bucket.s3.amazonaws.com/key", EndpointHost::Amazon, "bucket", "key", None),
            ("https://a.b.s3.amazonaws.com/key", EndpointHost::Amazon, "a.b", "key", None),
            (
                "https://a.b.s3.eu-north-1.amazonaws.com/k/l",
                EndpointHost::Amazon,
                "a.b",
                "k/l",
                Some("eu-north-1"),
            ),
            (
                "http://s3.us-west-2.amazonaws.com/bucket/key",
                EndpointHost::Amazon,
                "bucket",
                "key",
                Some("us-west-2"),
            ),
            ("https://s3.amazonaws.com/bucket/key", EndpointHost::Amazon, "bucket", "key", None),
            (
                "https://s3-us-west-2.amazonaws.com/bucket/a%20b",
                EndpointHost::Amazon,
                "bucket",
                "a b",
                Some("us-west-2"),
            ),
            ("https://b.s3-us-west-2.amazonaws.com/key", EndpointHost::Amazon, "b", "key", Some("us-west-2")),
            (
                "https://b.s3.dualstack.us-west-2.amazonaws.com/k",
                EndpointHost::Amazon,
                "b",
                "k",
                Some("us-west-2"),
            ),
            (
                "https://b.s3.cn-north-1.amazonaws.com.cn/k#mode=s3",
                EndpointHost::Amazon,
                "b",
                "k",
                Some("cn-north-1"),
            ),
            (
                "s3://s3.us-east-2.amazonaws.com/bucket/key",
                EndpointHost::Amazon,
                "bucket",
                "key",
                Some("us-east-2"),
            ),
            ("https://storage.googleapis.com/bucket/key", EndpointHost::Google, "bucket", "key", None),
            (
                "https://bucket.storage.googleapis.com/key#mode=gs3",
                EndpointHost::Google,
                "bucket",
                "key",
                None,
            ),
            ("gs3://bucket/key", EndpointHost::Google, "bucket", "key", None),
            ("gs3://storage.googleapis.com/bucket/key", EndpointHost::Google, "bucket", "key", None),
            (
                "https://any.host:9000/bucket/key#mode=s3",
                endpoint("https://any.host:9000"),
                "bucket",
                "key",
                None,
            ),
            (
                "http://any.host:9000/bucket/key#mode=s3",
                endpoint("http://any.host:9000"),
                "bucket",
                "key",
                None,
            ),
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
            (
                "https://s3.example.com/bucket/key#mode=s3",
                endpoint("https://s3.example.com"),
                "bucket",
                "key",
                None,
            ),
            ("s3://h.example/bucket/key", endpoint("https://h.example"), "bucket", "key", None),
            ("s3://localhost:9000/bucket/key", endpoint("https://localhost:9000"), "bucket", "key", None),
            ("s3://127.0.0.1/bucket/key", endpoint("https://127.0.0.1"), "bucket", "key", None),
        ];
        for (url, host, bucket, key, region) in table {
            let place = BucketLocation::of(&nczarr_url_infer::parse(url).unwrap(), false).unwrap();
            let expected = BucketLocation {
                host,
                bucket: bucket.to_owned(),
                key: key.to_owned(),
                region: region.map(str::to_owned),
            };
            assert_eq!(place, expected, "{url}");
        }
        let dotted = BucketLocation::of(&nczarr_url_infer::parse("s3://a.b/key").unwrap(), true).unwrap();
        assert_eq!((dotted.host, dotted.bucket.as_str()), (EndpointHost::Amazon, "a.b"));
    }

    #[test]
    fn urls_without_a_valid_object_are_refused() {
        for url in [
            "https://s3.amazonaws.com/",
            "https://h.example:9000/#mode=s3",
            "s3://bucket/a//b",
            "s3://bucket/a/../b",
            "s3://bucket/k?sig=hush",
            "https://s3.amazonaws.com/b/%zz",
            "s3://buck;et/k",
        ] {
            let error = BucketLocation::of(&nczarr_url_infer::parse(url).unwrap(), false).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Url, "{url}");
            assert!(!error.to_string().contains("hush"), "{error}");
        }
    }
}

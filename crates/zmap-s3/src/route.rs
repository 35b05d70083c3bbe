//! [`BucketRoute`]: the URL of a bucket's objects, and signatures.
//!
//! Host, path and signing names follow the SDK's rules. They are computed once for a bucket, not for each
//! request. The SDK's signer makes the signatures.

use std::fmt::Write as _;
use std::time::SystemTime;

use aws_sdk_s3::config::Credentials;
use aws_sdk_s3::config::endpoint::{DefaultResolver, Params, ResolveEndpoint as _};
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4::SigningParams;
use hyper::Request;
use hyper::header::{HeaderValue, InvalidHeaderValue};

use crate::access::Access;
use crate::failure::RequestFailure;

/// The URL of a bucket's objects.
#[derive(Debug)]
pub(crate) struct BucketRoute {
    /// Scheme, host and perhaps a path, without a final slash.
    base: String,
    pub(crate) host: HeaderValue,
    /// Region and service in signatures.
    region: String,
    service: String,
}

impl BucketRoute {
    /// Computes the route to the bucket of `access`, without a request.
    pub(crate) async fn of(access: &Access) -> Result<Self, RequestFailure> {
        let bad = |text: String| RequestFailure::refused(format!("the bucket has no endpoint: {text}"));
        let params = Params::builder()
            .bucket(&access.bucket)
            .region(&access.region)
            .set_endpoint(access.endpoint.clone())
            .force_path_style(access.endpoint.is_some() && !access.virtual_host)
            .disable_s3_express_session_auth(true)
            .build()
            .map_err(|error| bad(error.to_string()))?;
        let found = DefaultResolver::new();
        let found = found.resolve_endpoint(&params).await.map_err(|error| bad(error.to_string()))?;
        let base = found.url().trim_end_matches('/').to_owned();
        let host = base.split_once("://").and_then(|(_, rest)| rest.split('/').next()).unwrap_or_default();
        let host = HeaderValue::from_str(host).map_err(|error: InvalidHeaderValue| bad(error.to_string()))?;
        let scheme = found.auth_schemes().iter().find(|scheme| scheme.name() == "sigv4");
        let said = |name: &str| scheme.and_then(|scheme| scheme.get(name)?.as_string()).map(str::to_owned);
        if !found.auth_schemes().is_empty() && scheme.is_none() {
            return Err(bad(format!("{base}: unsupported kind of signature")));
        }
        let region = said("signingRegion").unwrap_or_else(|| access.region.clone());
        let service = said("signingName").unwrap_or_else(|| "s3".to_owned());
        Ok(Self { base, host, region, service })
    }

    /// Returns the URL of an object.
    pub(crate) fn url(&self, object: &str) -> String {
        let mut url = String::with_capacity(self.base.len() + object.len() + 16);
        url.push_str(&self.base);
        url.push('/');
        for &byte in object.as_bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                    url.push(byte.into())
                }
                _ => write!(url, "%{byte:02X}").unwrap_or_default(),
            }
        }
        url
    }

    /// Signs a request for `url`.
    pub(crate) fn sign(
        &self,
        request: &mut Request<()>,
        url: &str,
        keys: Credentials,
    ) -> Result<(), RequestFailure> {
        // The signer's error may contain secret input.
        let bad = || RequestFailure::refused("the request cannot be signed");
        let mut settings = SigningSettings::default();
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        let identity = keys.into();
        let params = SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(&self.service)
            .time(SystemTime::now())
            .settings(settings)
            .build();
        let params = params.map_err(|_| bad())?.into();
        let headers = request.headers().iter().map(|(name, value)| Ok((name.as_str(), value.to_str()?)));
        let headers: Vec<_> = headers.collect::<Result<_, hyper::header::ToStrError>>().map_err(|_| bad())?;
        let signable = SignableRequest::new("GET", url, headers.into_iter(), SignableBody::Bytes(&[]));
        let signed = sign(signable.map_err(|_| bad())?, &params).map_err(|_| bad())?;
        signed.into_parts().0.apply_to_request_http1x(request);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(url: &str) -> BucketRoute {
        let target = nczarr_url_infer::parse(url).unwrap();
        let ignored = |name: &str| (name == "NCRCENV_IGNORE").then(|| "1".to_owned());
        let access = Access::with_variables(&target, &ignored).unwrap();
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(BucketRoute::of(&access))
            .unwrap()
    }

    #[test]
    fn where_objects_lie() {
        for (url, object, host, service, region) in [
            (
                "s3://bucket/k#aws.region=eu-north-1",
                "https://bucket.s3.eu-north-1.amazonaws.com/k/a%20b",
                "bucket.s3.eu-north-1.amazonaws.com",
                "s3",
                "eu-north-1",
            ),
            (
                "https://s3.amazonaws.com/buck.et/k",
                "https://s3.us-east-1.amazonaws.com/buck.et/k/a%20b",
                "s3.us-east-1.amazonaws.com",
                "s3",
                "us-east-1",
            ),
            (
                "http://h.example:9000/bucket/k#mode=s3",
                "http://h.example:9000/bucket/k/a%20b",
                "h.example:9000",
                "s3",
                "us-east-1",
            ),
            (
                "http://h.example:9000/bucket/k#mode=s3&aws.addressing_style=virtual",
                "http://bucket.h.example:9000/k/a%20b",
                "bucket.h.example:9000",
                "s3",
                "us-east-1",
            ),
            (
                "s3://b--use1-az4--x-s3/k",
                "https://b--use1-az4--x-s3.s3express-use1-az4.us-east-1.amazonaws.com/k/a%20b",
                "b--use1-az4--x-s3.s3express-use1-az4.us-east-1.amazonaws.com",
                "s3express",
                "us-east-1",
            ),
        ] {
            let route = route(url);
            assert_eq!(route.url("k/a b"), object, "{url}");
            assert_eq!(route.host, host, "{url}");
            assert_eq!((&*route.service, &*route.region), (service, region), "{url}");
        }
        assert_eq!(
            route("http://h.example/b/k#mode=s3").url("\u{e9}+=~_-.!/%"),
            "http://h.example/b/%C3%A9%2B%3D~_-.%21/%25"
        );
    }
}

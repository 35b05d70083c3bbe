//! [`Access`]: the settings of a dataset in S3: location, region, endpoint, credentials, retries.
//!
//! Each setting is taken from the first of these that has it: URL fragment, rc files, active profile,
//! environment. No request is sent.
//!
//! Source: netCDF-C's order for region and profile; Amazon's names of variables and members.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::RcFile;
use nczarr_storage::Target;

use crate::credential_sources::{CredentialSources, switch};
use crate::location::{BucketLocation, EndpointHost};
use crate::profiles::Profiles;
use crate::proxies::Proxies;
use crate::secret::Credentials;

/// Deadline and retries of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Time for one operation with all its requests, retries and pauses. Default 2 minutes.
    pub deadline: Duration,
    /// Whether transferred bytes extend the deadline: by a second for each 128 KiB received or to be sent.
    /// Default yes; no if an rc file sets the deadline.
    pub stretch: bool,
    /// Longest wait for a connection, a response, or the next piece of one. Default 20 seconds.
    pub stall: Duration,
    /// Attempts for one request. Default 8.
    pub tries: u32,
    /// Longest pause before the second attempt. It doubles with each further attempt. Default 50 ms.
    pub pause: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(120),
            stretch: true,
            stall: Duration::from_secs(20),
            tries: 8,
            pause: Duration::from_millis(50),
        }
    }
}

/// The settings for a dataset in S3.
#[derive(Clone)]
pub struct Access {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) region: String,
    /// `None`: Amazon's endpoint for the region.
    pub(crate) endpoint: Option<String>,
    pub(crate) credentials: Credentials,
    /// The profile files: `config` and `credentials`.
    pub(crate) profile_files: [Option<PathBuf>; 2],
    /// Certificates to trust instead of the system's.
    pub(crate) ca_bundle: Option<PathBuf>,
    pub(crate) proxies: Proxies,
    /// The URL, for messages.
    pub(crate) shown: String,
    pub(crate) connect: Option<Duration>,
    /// At an endpoint other than Amazon's: the bucket is part of the host name, not of the path.
    pub virtual_host: bool,
    /// The requester pays for requests and transfers.
    pub requester_pays: bool,
    /// Deadline and retries.
    pub retries: RetryPolicy,
    /// Most requests in flight. Default 256.
    pub in_flight: usize,
    /// Most bytes in flight and not yet decoded, or encoded and not yet sent, before another object is begun.
    /// Default 256 MiB.
    pub memory: usize,
    /// Objects larger than this, in bytes, are uploaded in parts. Default and maximum: 5 GiB.
    pub multipart_above: u64,
    /// Size of a part in bytes. Default 64 MiB; larger if there would be more than 10,000 parts.
    pub part: u64,
    /// The runtime for requests. Default: a small one shared by the process.
    pub runtime: Option<tokio::runtime::Handle>,
}

impl Access {
    /// Collects the settings from `target`, the rc files, the profiles and the process environment.
    ///
    /// # Errors
    /// `NC_EURL` if the URL has no bucket; `NC_EAUTH` if a profile is missing or incomplete; `NC_ERCFILE` or
    /// `NC_ES3` if a file cannot be read.
    pub fn of(target: &Target) -> Result<Self> {
        Self::with_variables(target, &|name| std::env::var(name).ok())
    }

    /// As [`Access::of`], with another environment.
    ///
    /// # Errors
    /// As [`Access::of`].
    pub fn with_variables(target: &Target, variables: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let variables = |name: &str| variables(name).filter(|value| !value.is_empty());
        let rc = RcFile::load(&variables)?;
        let profiles = Profiles::load(&variables)?;
        let at = format!("{}{}", target.host.as_deref().unwrap_or_default(), target.path_text());
        let said = |key: &str| rc.get(key, &at).map(str::to_owned).filter(|value| !value.is_empty());
        let fragment = |key: &str| target.get(key).map(str::to_owned).filter(|value| !value.is_empty());

        let named =
            fragment("aws.profile").or_else(|| said("AWS.PROFILE")).or_else(|| variables("AWS_PROFILE"));
        let must_be = |name: &&str| !matches!(*name, "no" | "default") && !profiles.has(name);
        if let Some(name) = named.as_deref().filter(must_be) {
            return Err(profiles.missing(name).at(target));
        }
        let profile = named.clone().unwrap_or_else(|| "default".to_owned());

        let of_fragment = fragment("endpoint");
        let configured = of_fragment
            .clone()
            .or_else(|| said("AWS.ENDPOINT"))
            .or(profiles.endpoint(&profile).map_err(|error| error.at(target))?.map(str::to_owned))
            .or_else(|| variables("AWS_ENDPOINT_URL_S3"))
            .or_else(|| variables("AWS_ENDPOINT_URL"));
        let configured = configured.map(|text| endpoint(target, &text)).transpose()?;
        let place = BucketLocation::of(target, configured.is_some())?;
        let endpoint = match (&place.host, configured) {
            (_, Some(endpoint)) if of_fragment.is_some() => Some(endpoint),
            // The same host. Only the configuration has its protocol.
            (EndpointHost::Endpoint(own), Some(endpoint)) if host_of(own) == host_of(&endpoint) => {
                Some(endpoint)
            }
            (EndpointHost::Endpoint(own), _) => Some(own.clone()),
            (EndpointHost::Google, _) => Some("https://storage.googleapis.com".to_owned()),
            (EndpointHost::Amazon, configured) => configured.filter(|_| !names_amazon(target)),
        };
        let region = fragment("aws.region")
            .or_else(|| place.region.clone())
            .or_else(|| said("AWS.REGION"))
            .or_else(|| profiles.get(&profile, "region").map(str::to_owned))
            .or_else(|| variables("AWS_REGION"))
            .or_else(|| variables("AWS_DEFAULT_REGION"))
            .unwrap_or_else(|| "us-east-1".to_owned());
        if !region.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-') {
            return Err(ErrorKind::Url.context(format!("{target}: {region:?} is not the name of a region")));
        }
        let sources = CredentialSources {
            target,
            named: named.as_deref(),
            profiles: &profiles,
            said: &said,
            variables: &variables,
        };
        let credentials = sources.credentials()?;
        let payer = fragment("aws.request_payer").or_else(|| said("AWS.REQUEST_PAYER"));
        let requester_pays = match payer.or_else(|| variables("AWS_REQUEST_PAYER")).as_deref() {
            None => false,
            Some("requester") => true,
            Some(_) => {
                return Err(
                    ErrorKind::Url.context(format!("{target}: the request payer can only be \"requester\""))
                );
            }
        };
        let style = fragment("aws.addressing_style").or_else(|| said("AWS.ADDRESSING_STYLE"));
        let style = style.or_else(|| profiles.get(&profile, "s3.addressing_style").map(str::to_owned));
        let virtual_host = match style.as_deref() {
            None => {
                switch(target, "AWS_VIRTUAL_HOSTING", variables("AWS_VIRTUAL_HOSTING").as_deref())?
                    == Some(true)
            }
            Some("auto" | "path") => false,
            Some("virtual") => true,
            Some(_) => {
                let what = "unknown addressing style (expected \"path\", \"virtual\" or \"auto\")";
                return Err(ErrorKind::Url.context(format!("{target}: {what}")));
            }
        };
        let ca_bundle = said("HTTP.SSL.CAINFO")
            .or_else(|| profiles.get(&profile, "ca_bundle").map(str::to_owned))
            .or_else(|| variables("AWS_CA_BUNDLE"))
            .map(PathBuf::from);
        let mut patience = RetryPolicy::default();
        if let Some(seconds) = seconds(&said, "HTTP.TIMEOUT")? {
            patience.deadline = seconds;
            patience.stretch = false;
            patience.stall = patience.stall.min(seconds);
        }
        Ok(Self {
            bucket: place.bucket,
            key: place.key,
            region,
            endpoint,
            credentials,
            profile_files: profiles.files().clone(),
            ca_bundle,
            proxies: Proxies::of(&said, &variables).map_err(|error| error.at(target))?,
            virtual_host,
            requester_pays,
            shown: nczarr_storage::Target { modes: Vec::new(), ..target.clone() }.to_string(),
            connect: seconds(&said, "HTTP.CONNECTTIMEOUT")?,
            retries: patience,
            in_flight: 256,
            memory: 256 << 20,
            multipart_above: 5 << 30,
            part: 64 << 20,
            runtime: None,
        })
    }
}

/// Hides the credentials.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let credentials = match &self.credentials {
            Credentials::Anonymous => "anonymous",
            Credentials::Unsigned => "unsigned",
            Credentials::Keys { .. } => "keys (not shown)",
            Credentials::Profile(_) => "profile",
            Credentials::WebIdentity => "web identity",
            Credentials::Container => "container",
        };
        f.debug_struct("Access")
            .field("bucket", &self.bucket)
            .field("key", &self.key)
            .field("region", &self.region)
            .field("endpoint", &self.endpoint)
            .field("credentials", &credentials)
            .field("virtual_host", &self.virtual_host)
            .field("requester_pays", &self.requester_pays)
            .field("patience", &self.retries)
            .field("in_flight", &self.in_flight)
            .finish_non_exhaustive()
    }
}

/// Parses a configured endpoint: scheme and host, perhaps with a path. The default scheme is https.
fn endpoint(target: &Target, text: &str) -> Result<String> {
    // The text is not repeated, because it may contain a secret.
    let bad = || {
        ErrorKind::Url
            .context(format!("{target}: invalid endpoint (expected an http: or https: URL with a host)"))
    };
    let text = text.trim().trim_end_matches('/');
    let (scheme, rest) = text.split_once("://").unwrap_or(("https", text));
    let scheme = scheme.to_ascii_lowercase();
    let fits = !rest.is_empty() && !rest.contains(['@', '?', '#', ' ', '\\']) && !rest.starts_with('/');
    match scheme.as_str() {
        "http" | "https" if fits => {
            nczarr_url_infer::parse(&format!("{scheme}://{rest}#mode=s3")).map_err(|_| bad())?;
            Ok(format!("{scheme}://{rest}"))
        }
        _ => Err(bad()),
    }
}

fn host_of(endpoint: &str) -> String {
    let rest = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default().to_ascii_lowercase()
}

/// Whether the URL itself names a host of Amazon.
fn names_amazon(target: &Target) -> bool {
    let host = target.host.as_deref().unwrap_or_default().to_ascii_lowercase();
    host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn")
}

fn seconds(said: &dyn Fn(&str) -> Option<String>, key: &str) -> Result<Option<Duration>> {
    let Some(text) = said(key) else { return Ok(None) };
    match text.parse::<u32>() {
        // For curl, zero means no limit.
        Ok(0) => Ok(None),
        Ok(seconds) => Ok(Some(Duration::from_secs(seconds.into()))),
        Err(_) => Err(ErrorKind::RcFile.context(format!("{key} is not a number of seconds"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    fn access(url: &str, variables: &[(&str, &str)]) -> Result<Access> {
        let target = nczarr_url_infer::parse(url).unwrap();
        Access::with_variables(&target, &|name| {
            let found = variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            found.or_else(|| (name == "NCRCENV_IGNORE").then(|| "1".to_owned()))
        })
    }

    fn keys(id: &str, secret: &str, token: Option<&str>) -> Credentials {
        Credentials::Keys { id: Secret::new(id), secret: Secret::new(secret), token: token.map(Secret::new) }
    }

    #[test]
    fn settings_follow_their_precedence() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let config = file(
            "config",
            "[default]\nregion=r-default\naws_access_key_id=d\naws_secret_access_key=ds\n[profile p]\nregion=r-p\n\
             endpoint_url=http://p.example:1\naws_access_key_id=p\naws_secret_access_key=ps\naws_session_token=pt\n\
             [profile bare]\n",
        );
        let none = file("none", "");
        let rc = file(
            "rc",
            "AWS.PROFILE=p\nAWS.REGION=r-rc\n[h.example]AWS.REGION=r-h\nAWS.ENDPOINT=http://rc.example\n",
        );
        let base = [("AWS_CONFIG_FILE", config.as_str()), ("AWS_SHARED_CREDENTIALS_FILE", none.as_str())];
        let with = |more: &[(&'static str, &'static str)]| [&base[..], more].concat();
        let env = [("AWS_ACCESS_KEY_ID", "e"), ("AWS_SECRET_ACCESS_KEY", "es"), ("AWS_SESSION_TOKEN", "et")];
        let http = |host: &str| Some(format!("http://{host}"));
        type Row<'r> = (&'r str, Vec<(&'r str, &'r str)>, &'r str, Option<String>, Credentials);
        let table: Vec<Row<'_>> = vec![
            (
                "s3://b/k",
                vec![("AWS_CONFIG_FILE", &none), base[1]],
                "us-east-1",
                None,
                Credentials::Anonymous,
            ),
            ("s3://b/k", with(&[]), "r-default", None, keys("d", "ds", None)),
            ("s3://b/k", with(&env), "r-default", None, keys("e", "es", Some("et"))),
            ("s3://b/k", with(&[("AWS_REGION", "r-e")]), "r-default", None, keys("d", "ds", None)),
            ("s3://b/k#aws.profile=bare", with(&[("AWS_REGION", "r-e")]), "r-e", None, keys("d", "ds", None)),
            (
                "s3://b/k#aws.profile=bare",
                with(&[("AWS_DEFAULT_REGION", "r-f")]),
                "r-f",
                None,
                keys("d", "ds", None),
            ),
            ("s3://b/k#aws.profile=no", with(&env), "us-east-1", None, Credentials::Unsigned),
            ("s3://b/k", with(&[("AWS_NO_SIGN_REQUEST", "YES")]), "r-default", None, Credentials::Unsigned),
            ("s3://b/k#aws.no_sign_request=true", with(&env), "r-default", None, Credentials::Unsigned),
            (
                "s3://b/k#aws.no_sign_request=false",
                with(&[("AWS_NO_SIGN_REQUEST", "1")]),
                "r-default",
                None,
                keys("d", "ds", None),
            ),
            ("s3://u:s@b/k", with(&[("AWS_NO_SIGN_REQUEST", "1")]), "r-default", None, keys("u", "s", None)),
            ("s3://b/k#aws.profile=p", with(&env), "r-p", http("p.example:1"), keys("p", "ps", Some("pt"))),
            (
                "s3://b/k",
                with(&[("AWS_PROFILE", "p")]),
                "r-p",
                http("p.example:1"),
                keys("p", "ps", Some("pt")),
            ),
            ("s3://b/k", with(&[("AWS_PROFILE", "default")]), "r-default", None, keys("d", "ds", None)),
            (
                "s3://b/k#aws.region=r-u&endpoint=http://u.example",
                with(&[]),
                "r-u",
                http("u.example"),
                keys("d", "ds", None),
            ),
            (
                "s3://b/k",
                with(&[("AWS_ENDPOINT_URL", "http://e.example/")]),
                "r-default",
                http("e.example"),
                keys("d", "ds", None),
            ),
            (
                "s3://e.example:9/b/k",
                with(&[("AWS_ENDPOINT_URL", "http://e.example:9")]),
                "r-default",
                http("e.example:9"),
                keys("d", "ds", None),
            ),
            (
                "https://b.s3.us-west-2.amazonaws.com/k",
                with(&[("AWS_ENDPOINT_URL", "http://e.example")]),
                "us-west-2",
                None,
                keys("d", "ds", None),
            ),
            ("s3://u:s%2Fs@b/k", with(&env), "r-default", None, keys("u", "s/s", None)),
        ];
        for (url, variables, region, endpoint, credentials) in table {
            let found = access(url, &variables).unwrap();
            assert_eq!((found.region.as_str(), &found.endpoint), (region, &endpoint), "{url} {variables:?}");
            assert_eq!(found.credentials, credentials, "{url} {variables:?}");
        }
        // The rc file, where it is not ignored.
        let target = nczarr_url_infer::parse("s3://b/k").unwrap();
        let variables = [&base[..], &[("NCRCENV_RC", rc.as_str())]].concat();
        let lookup =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let found = Access::with_variables(&target, &lookup).unwrap();
        assert_eq!((found.region.as_str(), found.endpoint), ("r-rc", http("rc.example")));
        let target = nczarr_url_infer::parse("https://h.example/b/k#mode=s3").unwrap();
        let found = Access::with_variables(&target, &lookup).unwrap();
        assert_eq!((found.region.as_str(), found.endpoint.as_deref()), ("r-h", Some("https://h.example")));
    }

    #[test]
    fn incomplete_keys_and_missing_profiles() {
        for (url, variables) in
            [("s3://b/k#aws.profile=absent", &[][..]), ("s3://b/k", &[("AWS_SECRET_ACCESS_KEY", "hush")][..])]
        {
            let error = access(url, variables).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
            assert!(!error.to_string().contains("hush"), "{error}");
        }
        let files =
            [("AWS_CONFIG_FILE", "/none/config"), ("AWS_SHARED_CREDENTIALS_FILE", "/none/credentials")];
        for (url, more) in
            [("s3://b/k", Some(("AWS_PROFILE", "absent"))), ("s3://b/k#aws.profile=absent", None)]
        {
            let error =
                access(url, &files.into_iter().chain(more).collect::<Vec<_>>()).unwrap_err().to_string();
            for part in ["\"absent\"", "/none/config", "/none/credentials"] {
                assert!(error.contains(part), "{error}");
            }
        }
        for url in [
            "s3://hush@b/k",
            "s3://b/k#endpoint=ftp://hush",
            "s3://b/k#endpoint=http://hush@h",
            "s3://b/k#endpoint=http://",
            "s3://b/k#aws.region=hu/sh",
            "s3://b/k#aws.no_sign_request=hush",
            "s3://b/k#aws.request_payer=hush",
            "s3://b/k#aws.addressing_style=hush",
        ] {
            let error = access(url, &[]).unwrap_err();
            assert!(error.kind() == ErrorKind::Url && !error.to_string().contains("hush"), "{error}");
        }
    }

    #[test]
    fn requester_pays_and_addressing_style_follow_the_settings() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config");
        std::fs::write(&config, "[default]\ns3 =\n  addressing_style = virtual\nca_bundle=/by/profile.pem\n")
            .unwrap();
        let rc = folder.path().join("rc");
        std::fs::write(
            &rc,
            "AWS.REQUEST_PAYER=requester\nAWS.ADDRESSING_STYLE=path\nHTTP.SSL.CAINFO=/by/rc.pem\n",
        )
        .unwrap();
        let (config, rc) = (config.to_str().unwrap(), rc.to_str().unwrap());
        let bundle = ("AWS_CA_BUNDLE", "/by/variable.pem");
        for (url, variables, pays, virtual_host, trusted) in [
            ("s3://b/k", vec![], false, false, None),
            (
                "s3://b/k",
                vec![bundle, ("AWS_VIRTUAL_HOSTING", "TRUE")],
                false,
                true,
                Some("/by/variable.pem"),
            ),
            ("s3://b/k", vec![("AWS_REQUEST_PAYER", "requester")], true, false, None),
            ("s3://b/k", vec![bundle, ("AWS_CONFIG_FILE", config)], false, true, Some("/by/profile.pem")),
            (
                "s3://b/k",
                vec![("NCRCENV_RC", rc), ("AWS_CONFIG_FILE", config)],
                true,
                false,
                Some("/by/rc.pem"),
            ),
            ("s3://b/k#aws.request_payer=requester&aws.addressing_style=virtual", vec![], true, true, None),
        ] {
            let target = nczarr_url_infer::parse(url).unwrap();
            let lookup = |name: &str| {
                let found =
                    variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
                let ignores =
                    name == "NCRCENV_IGNORE" && !variables.iter().any(|(key, _)| *key == "NCRCENV_RC");
                found.or_else(|| ignores.then(|| "1".to_owned()))
            };
            let found = Access::with_variables(&target, &lookup).unwrap();
            let found = (found.requester_pays, found.virtual_host, found.ca_bundle);
            assert_eq!(found, (pays, virtual_host, trusted.map(PathBuf::from)), "{url} {variables:?}");
        }
    }

    #[test]
    fn debug_output_hides_secrets() {
        let found = access(
            "s3://hush1:hush2@b/k#endpoint=http://e.example",
            &[
                ("AWS_ACCESS_KEY_ID", "hush3"),
                ("AWS_SECRET_ACCESS_KEY", "hush4"),
                ("AWS_SESSION_TOKEN", "hush5"),
            ],
        );
        let text = format!("{found:?}{:#?}{:?}", found, found.as_ref().unwrap().credentials);
        assert!(!text.contains("hush") && text.contains("e.example"), "{text}");
    }
}

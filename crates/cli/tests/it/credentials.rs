//! Credentials from programs, single sign-on and roles, by profiles and the environment. Missing credentials
//! give errors. Secrets appear in no output.

use std::path::{Path, PathBuf};
use std::process::Output;

use s3_server::{Config, Mock, Reply, Server};

use crate::{ncz, out};

/// The common prefix of all secrets.
const HUSH: &str = "HUSHHUSH";
/// The file name of a session `work`: its SHA-1.
const SESSION: &str = "e274eeff768c6396088ec6eb091f4bf4d47ab1e0.json";

/// A home directory, a server with one dataset, and the credential service.
struct Place {
    home: tempfile::TempDir,
    server: Server,
    mock: Mock,
}

impl Place {
    /// `None` if this build lacks S3.
    fn new(config: &str) -> Option<Self> {
        if !out(&["plugins"]).lines().any(|line| line.starts_with("map           s3")) {
            return None;
        }
        let home = tempfile::tempdir().unwrap();
        let keys = Config::default().keys("HUSHHUSHid", "HUSHHUSHsecret", Some("HUSHHUSHtoken"));
        let place =
            Self { home, server: Server::start(keys.anonymous("public")), mock: Mock::start(service) };
        place.file(".aws/config", &config.replace("HOME", place.home.path().to_str().unwrap()));
        place.server.put("bucket", "x/.zgroup", "{\"zarr_format\": 2}");
        place.server.put("public", "x/.zgroup", "{\"zarr_format\": 2}");
        Some(place)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A program that counts its runs.
    fn program(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self
            .file(name, &format!("#!/bin/sh\necho run >> '{}/runs'\n{text}\n", self.home.path().display()));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(self.home.path().join("runs")).map_or(0, |text| text.lines().count())
    }

    /// Runs `ncz info` on the dataset, with everything logged.
    fn info(&self, bucket: &str, fragment: &str, variables: &[(&str, &str)]) -> Output {
        let mut command = ncz();
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("AWS_") || name.starts_with("NCRCENV")) {
                command.env_remove(name);
            }
        }
        command.env("HOME", self.home.path()).env("NCTRACING", "9").current_dir(self.home.path());
        for name in ["AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL_SSO"] {
            command.env(name, self.mock.url());
        }
        command.env("AWS_ENDPOINT_URL_S3", self.server.url()).envs(variables.iter().copied());
        let output =
            command.args(["info", &format!("s3://{bucket}/x#mode=zarr{fragment}")]).output().unwrap();
        for text in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(text);
            if let Some(at) = text.find(HUSH) {
                panic!("{}", &text[text.floor_char_boundary(at.saturating_sub(200))..at]);
            }
        }
        output
    }
}

/// Services that issue keys, given the token, the base keys, or the container's password.
fn service(asked: &s3_server::Asked) -> Reply {
    let form = |name: &str| asked.body.split('&').any(|pair| pair == name);
    let xml = |action: &str| {
        let keys = "<Credentials><AccessKeyId>HUSHHUSHid</AccessKeyId><SecretAccessKey>HUSHHUSHsecret</SecretAccessKey>\
                    <SessionToken>HUSHHUSHtoken</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration></Credentials>";
        let user = "<AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/r/s</Arn>\
                    <AssumedRoleId>A:s</AssumedRoleId></AssumedRoleUser>";
        let result = format!("<{action}Result>{keys}{user}</{action}Result>");
        let space = "https://sts.amazonaws.com/doc/2011-06-15/";
        Reply::new(200, format!("<{action}Response xmlns=\"{space}\">{result}</{action}Response>"))
            .with("Content-Type", "text/xml")
    };
    match asked.path.as_str() {
        "/federation/credentials" if asked.header("x-amz-sso_bearer_token") == Some("HUSHHUSHsso") => {
            Reply::new(
                200,
                "{\"roleCredentials\": {\"accessKeyId\": \"HUSHHUSHid\", \"secretAccessKey\": \"HUSHHUSHsecret\", \
             \"sessionToken\": \"HUSHHUSHtoken\", \"expiration\": 32472144000000}}",
            )
        }
        "/container" if asked.header("authorization") == Some("HUSHHUSHpassword") => Reply::new(
            200,
            "{\"AccessKeyId\": \"HUSHHUSHid\", \"SecretAccessKey\": \"HUSHHUSHsecret\", \"Token\": \"HUSHHUSHtoken\", \
             \"Expiration\": \"2999-01-01T00:00:00Z\"}",
        ),
        "/" if form("Action=AssumeRole")
            && asked.header("authorization").unwrap_or_default().contains("HUSHHUSHbase") =>
        {
            xml("AssumeRole")
        }
        "/" if form("Action=AssumeRoleWithWebIdentity") && form("WebIdentityToken=HUSHHUSHjwt") => {
            xml("AssumeRoleWithWebIdentity")
        }
        _ => Reply::new(
            403,
            "<ErrorResponse><Error><Code>AccessDenied</Code><Message>go away</Message></Error></ErrorResponse>",
        ),
    }
}

const CONFIG: &str = "\
[default]
region = us-east-1
[profile program]
credential_process = HOME/program --secret HUSHHUSHargument
[profile broken]
credential_process = HOME/broken --secret HUSHHUSHargument
[profile garbled]
credential_process = HOME/garbled
[profile sso]
sso_session = work
sso_account_id = 123456789012
sso_role_name = reader
[sso-session work]
sso_region = us-east-1
sso_start_url = https://sso.example/start
[profile role]
role_arn = arn:aws:iam::123456789012:role/r
source_profile = base
[profile base]
aws_access_key_id = HUSHHUSHbase
aws_secret_access_key = HUSHHUSHbasesecret
[profile role-of-program]
role_arn = arn:aws:iam::123456789012:role/r
source_profile = base-program
[profile base-program]
credential_process = HOME/base
[profile role-of-environment]
role_arn = arn:aws:iam::123456789012:role/r
credential_source = Environment
[profile identity]
role_arn = arn:aws:iam::123456789012:role/r
web_identity_token_file = HOME/jwt
[profile circle]
role_arn = arn:aws:iam::123456789012:role/r
source_profile = circle2
[profile circle2]
role_arn = arn:aws:iam::123456789012:role/r
source_profile = circle
";

fn json(id: &str, secret: &str, token: Option<&str>) -> String {
    let token = token.map_or_else(String::new, |token| format!(", \"SessionToken\": \"{token}\""));
    format!("echo '{{\"Version\": 1, \"AccessKeyId\": \"{id}\", \"SecretAccessKey\": \"{secret}\"{token}}}'")
}

fn begin() -> Option<Place> {
    let place = Place::new(CONFIG)?;
    place.program("program", &json("HUSHHUSHid", "HUSHHUSHsecret", Some("HUSHHUSHtoken")));
    place.program("base", &json("HUSHHUSHbase", "HUSHHUSHbasesecret", None));
    place.program("broken", "echo 'no ticket: run kinit' >&2\nexit 3");
    place.program("garbled", "echo 'HUSHHUSHid HUSHHUSHsecret'");
    place.file("jwt", "HUSHHUSHjwt");
    place.file(
        &format!(".aws/sso/cache/{SESSION}"),
        "{\"accessToken\": \"HUSHHUSHsso\", \"expiresAt\": \"2999-01-01T00:00:00Z\", \"region\": \"us-east-1\", \
         \"startUrl\": \"https://sso.example/start\"}",
    );
    Some(place)
}

#[test]
fn keys_come_by_programs_single_sign_on_and_roles() {
    let Some(place) = begin() else { return };
    let jwt = place.home.path().join("jwt");
    let container = format!("{}/container", place.mock.url());
    let identity =
        [("AWS_WEB_IDENTITY_TOKEN_FILE", jwt.to_str().unwrap()), ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r")];
    let container = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &*container),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "HUSHHUSHpassword"),
    ];
    let base = [("AWS_ACCESS_KEY_ID", "HUSHHUSHbase"), ("AWS_SECRET_ACCESS_KEY", "HUSHHUSHbasesecret")];
    let none: &[(&str, &str)] = &[];
    for (fragment, variables) in [
        ("&aws.profile=program", none),
        ("", &[("AWS_PROFILE", "program")]),
        ("&aws.profile=sso", none),
        ("&aws.profile=role", none),
        ("&aws.profile=role-of-program", none),
        ("&aws.profile=role-of-environment", &base),
        ("&aws.profile=identity", none),
        ("", &identity),
        ("", &container),
    ] {
        let output = place.info("bucket", fragment, variables);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{fragment} {variables:?}: {message}");
    }
    // An open dataset asks once.
    assert_eq!(place.runs(), 3, "programs run for one dataset each");
}

#[test]
fn the_first_failed_source_of_keys_is_reported() {
    let Some(place) = begin() else { return };
    for (profile, parts) in [
        ("broken", &["profile \"broken\"", "no ticket: run kinit"][..]),
        ("garbled", &["profile \"garbled\"", "could not parse"]),
        ("circle", &["profile \"circle\"", "circle2"]),
        ("absent", &["profile \"absent\" does not exist", ".aws/config", ".aws/credentials"]),
    ] {
        for variables in [&[][..], &[("AWS_PROFILE", profile)][..]] {
            let fragment =
                if variables.is_empty() { format!("&aws.profile={profile}") } else { String::new() };
            let output = place.info("bucket", &fragment, variables);
            let message = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success(), "{profile}");
            for part in parts {
                assert!(message.contains(part), "{profile}: {part:?} is not in {message}");
            }
            assert!(!message.contains("already taken") && !message.contains("tried"), "{profile}: {message}");
        }
    }
    assert_eq!(place.server.counts().total(), 0, "nothing is sent without keys");
    // An expired token, and a role that denies access.
    place.file(
        &format!(".aws/sso/cache/{SESSION}"),
        "{\"accessToken\": \"HUSHHUSHold\", \"expiresAt\": \"2001-01-01T00:00:00Z\"}",
    );
    for (profile, part) in [("sso", "xpired"), ("role-of-environment", "go away")] {
        let keys = [("AWS_ACCESS_KEY_ID", "other"), ("AWS_SECRET_ACCESS_KEY", "other")];
        let output = place.info("bucket", &format!("&aws.profile={profile}"), &keys);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.contains(part), "{profile}: {message}");
    }
}

#[test]
fn a_refused_unsigned_request_says_that_it_was_unsigned() {
    let Some(place) = begin() else { return };
    let keys = [("AWS_ACCESS_KEY_ID", "HUSHHUSHid"), ("AWS_SECRET_ACCESS_KEY", "HUSHHUSHother")];
    let unsigned = [keys[0], keys[1], ("AWS_NO_SIGN_REQUEST", "YES")];
    for (bucket, fragment, variables, part) in [
        ("bucket", "", &[][..], "unsigned: no credentials were found"),
        ("bucket", "&aws.no_sign_request=true", &keys, "unsigned, as requested"),
        ("bucket", "&aws.profile=no", &keys, "unsigned, as requested"),
        ("bucket", "", &unsigned, "unsigned, as requested"),
        ("bucket", "&aws.no_sign_request=false", &unsigned, "InvalidToken"),
        ("public", "", &unsigned, ""),
        ("public", "&aws.no_sign_request=1", &keys, ""),
    ] {
        let output = place.info(bucket, fragment, variables);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), part.is_empty(), "{bucket} {fragment} {variables:?}: {message}");
        assert!(message.contains(part), "{fragment} {variables:?}: {message}");
        assert_eq!(message.contains("unsigned"), part.contains("unsigned"), "{message}");
    }
    // The rc file says it too.
    place.file(".ncrc", "AWS.NO_SIGN_REQUEST=true\n");
    assert!(place.info("public", "", &keys).status.success());
}

#[test]
fn a_section_of_services_names_the_endpoint() {
    let Some(place) = Place::new("") else { return };
    let text = format!(
        "[profile own]\nservices = here\nregion = us-east-1\naws_access_key_id = HUSHHUSHid\n\
         aws_secret_access_key = HUSHHUSHsecret\naws_session_token = HUSHHUSHtoken\n\
         [services here]\nsts =\n  endpoint_url = http://127.0.0.1:1\ns3 =\n  endpoint_url = {}\n",
        place.server.url()
    );
    place.file(".aws/config", &text);
    let output = place.info("bucket", "&aws.profile=own", &[("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(Path::new(place.home.path()).exists());
}

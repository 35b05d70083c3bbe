//! Credentials appear in no log at any level, no error, no `Debug` output, and go to no other server.

use std::io::Write;
use std::sync::{Arc, Mutex};

use nczarr_storage::{ByteRange, Precondition, ZMap, ZMapExt};
use nczarr_zmap_s3::S3Map;
use s3_server::{Config, Fault, Rule, Server};

use crate::common::access_as;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The prefix by which planted secrets are found.
const PLANTED: &str = "HUSHHUSH";

#[test]
fn secrets_appear_in_no_output() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || writer.clone());
    tracing::subscriber::set_global_default(subscriber.finish()).unwrap();
    tracing::trace!("the log works");

    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let profile = file(
        "credentials",
        "[p]\naws_access_key_id=HUSHHUSHid\naws_secret_access_key=HUSHHUSHsecret\naws_session_token=HUSHHUSHtoken\n",
    );
    let rc = file(
        "rc",
        "AWS.ACCESS_KEY_ID=HUSHHUSHid\nAWS.SECRET_ACCESS_KEY=HUSHHUSHsecret\nAWS.SESSION_TOKEN=HUSHHUSHtoken\n",
    );
    let environment = [
        ("AWS_ACCESS_KEY_ID", "HUSHHUSHid"),
        ("AWS_SECRET_ACCESS_KEY", "HUSHHUSHsecret"),
        ("AWS_SESSION_TOKEN", "HUSHHUSHtoken"),
    ];
    let mut said = String::new();
    // Valid and invalid keys.
    for keys in [("HUSHHUSHid", "HUSHHUSHsecret"), ("other", "other")] {
        let token = (keys.0 != "other").then_some("HUSHHUSHtoken");
        let server = Server::start(Config::default().keys(keys.0, keys.1, token));
        let (plain, host) = (format!("{}/bucket/x#mode=s3", server.url()), server.host());
        let by_profile = [("AWS_SHARED_CREDENTIALS_FILE", profile.as_str())];
        for (url, variables) in [
            (plain.clone(), &environment[..]),
            (format!("{plain}&aws.profile=p"), &by_profile[..]),
            (plain.clone(), &[("NCRCENV_RC", rc.as_str())][..]),
            (format!("http://HUSHHUSHid:HUSHHUSHsecret@{host}/bucket/x#mode=s3"), &[][..]),
        ] {
            let access = access_as(&url, variables);
            said += &format!("{access:?}{access:#?}");
            let map = S3Map::open(access, true).unwrap();
            said += &format!("{map:?}{map:#?}");
            let key = crate::common::key("k");
            let mut out = Vec::new();
            let done = [
                map.write(&key, b"1").err(),
                map.read(&key, ByteRange::ALL, &mut out).err(),
                map.write_if(&key, b"2", &Precondition::Absent).err(),
                map.keys(&nczarr_storage::Key::root()).err(),
                map.delete(&key).err(),
            ];
            // A URL has no place for a token.
            assert_eq!(done[0].is_none(), token.is_some() && !url.contains('@'), "{url}: {done:?}");
            for error in done.into_iter().flatten() {
                said += &format!("{error}{error:?}{error:#?}");
            }
        }
        assert!(server.counts().total() > 10);
    }
    let logged = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(logged.contains("the log works"));
    for text in [&logged, &said] {
        if let Some(at) = text.find(PLANTED) {
            panic!("{}", text.get(at.saturating_sub(300)..(at + 100).min(text.len())).unwrap_or("a secret"));
        }
    }
}

#[test]
fn redirects_are_not_followed() {
    let (server, other) = (Server::start(Config::default()), Server::start(Config::default()));
    for status in [301, 302, 307, 308] {
        server.no_faults();
        server.fault(Rule::new(Fault::Redirect(status, format!("{}/bucket/x/k", other.url()))));
        let map = S3Map::open(crate::common::access(&server, "x"), true).unwrap();
        let key = crate::common::key("k");
        let error = map.read(&key, ByteRange::ALL, &mut Vec::new()).unwrap_err();
        // The error states the region of the bucket.
        assert!(error.to_string().contains("aws.region=eu-north-1"), "{status}: {error}");
        map.write(&key, b"1").unwrap_err();
        map.keys(&nczarr_storage::Key::root()).unwrap_err();
    }
    assert_eq!(other.counts().total(), 0);
}

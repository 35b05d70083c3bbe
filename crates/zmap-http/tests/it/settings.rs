//! Settings of rc files for web servers take effect, or are refused.

use std::time::Duration;

use nczarr_model::{ErrorKind, Result};
use nczarr_s3_server::{Config as Kind, Server};
use nczarr_storage::{ByteRange, Key, ZMapExt};
use nczarr_zmap_http::{Config, HttpMap, Settings};

use crate::support::{patience, target};

/// Returns the settings of an rc file with these lines, for a URL.
fn settings(target: &nczarr_storage::Target, lines: &str) -> Result<Settings> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rc");
    std::fs::write(&path, lines).unwrap();
    let path = path.to_str().unwrap().to_owned();
    Settings::with_variables(target, &|name| (name == "NCRCENV_RC").then(|| path.clone()))
}

#[test]
fn credentials_and_the_name_of_the_program_are_sent() {
    let server = Server::start(Kind::default().web("web"));
    server.put("web", "x/a", "0123456789");
    let here = server.url();
    for (url, lines, credentials, agent) in [
        (
            "web/x",
            "HTTP.CREDENTIALS.USERPASSWORD=me:pass\nHTTP.USERAGENT=mine/1",
            Some("Basic bWU6cGFzcw=="),
            "mine/1",
        ),
        (
            "web/x",
            "HTTP.CREDENTIALS.USER=me\nHTTP.CREDENTIALS.PASSWORD=pass",
            Some("Basic bWU6cGFzcw=="),
            "nczarr/",
        ),
        ("web/x", "[HERE/web]HTTP.CREDENTIALS.USERPASSWORD=me:pass", Some("Basic bWU6cGFzcw=="), "nczarr/"),
        ("web/x", "[HERE/other]HTTP.CREDENTIALS.USERPASSWORD=me:pass", None, "nczarr/"),
        ("web/x", "HTTP.VERBOSE=1\nHTTP.SSL.VALIDATE=1", None, "nczarr/"),
    ] {
        let target = target(&server, url);
        let settings = settings(&target, &lines.replace("HERE", &here)).unwrap();
        assert!(!format!("{settings:?}").contains("bWU6"));
        let map = HttpMap::with_settings(&target, &patience(), &settings).unwrap();
        server.clear_log();
        let mut bytes = Vec::new();
        assert!(map.read(&Key::new("a").unwrap(), ByteRange::ALL, &mut bytes).unwrap());
        let log = server.log();
        assert_eq!(log[0].header("authorization"), credentials, "{lines}");
        assert!(log[0].header("user-agent").unwrap().starts_with(agent), "{lines}");
    }
    // The URL has precedence.
    let url = format!("http://you:word@{}/web/x", server.host());
    let target = nczarr_url_infer::parse(&url).unwrap();
    let settings = settings(&target, "HTTP.CREDENTIALS.USERPASSWORD=me:pass").unwrap();
    let map = HttpMap::with_settings(&target, &patience(), &settings).unwrap();
    server.clear_log();
    assert!(map.exists(&Key::new("a").unwrap()).unwrap());
    assert_eq!(server.log()[0].header("authorization"), Some("Basic eW91OndvcmQ="));
}

#[test]
fn timeouts_come_from_the_rc_file() {
    let target = nczarr_url_infer::parse("http://h.example/x").unwrap();
    let of = |lines: &str| {
        let config = settings(&target, lines).unwrap().over(&Config::DEFAULT);
        (config.deadline.as_secs(), config.connect.as_secs(), config.idle.as_secs())
    };
    let Config { deadline, connect, idle, .. } = Config::DEFAULT;
    let [deadline, connect, idle] = [deadline, connect, idle].map(|time: Duration| time.as_secs());
    for (lines, expected) in [
        ("", (deadline, connect, idle)),
        ("HTTP.TIMEOUT=0", (deadline, connect, idle)),
        ("HTTP.TIMEOUT=3", (3, 3, 3)),
        ("HTTP.CONNECTTIMEOUT=2", (deadline, 2, idle)),
        ("HTTP.TIMEOUT=500\nHTTP.CONNECTTIMEOUT=1", (500, 1, idle)),
    ] {
        assert_eq!(of(lines), expected, "{lines}");
    }
}

#[test]
fn unusable_settings_are_refused() {
    let target = nczarr_url_infer::parse("https://h.example/x").unwrap();
    for (lines, key) in [
        ("HTTP.PROXY.SERVER=socks5://hush:hush@proxy:8080", "HTTP.PROXY.SERVER"),
        ("HTTP.SSL.KEY=/dev/null", "HTTP.SSL.CERTIFICATE"),
        ("HTTP.CREDENTIALS.BEARER=hush hush", "HTTP.CREDENTIALS.BEARER"),
        ("HTTP.HEADER.RANGE=hush", "HTTP.HEADER.RANGE"),
        ("HTTP.HEADER.A B=hush", "HTTP.HEADER.A B"),
        ("HTTP.HEADER.X=a\u{7f}hush", "HTTP.HEADER.X"),
        ("HTTP.NETRC=/nowhere/at/all", "HTTP.NETRC"),
        ("HTTP.SSL.VERIFYPEER=0", "HTTP.SSL.VERIFYPEER"),
        ("HTTP.SSL.CAINFO=/nowhere/at/all", "HTTP.SSL.CAINFO"),
        ("HTTP.TIMEOUT=hush", "HTTP.TIMEOUT"),
        ("HTTP.CREDENTIALS.PASSWORD=hush", "HTTP.CREDENTIALS.USER"),
        ("HTTP.USERAGENT=a\u{7f}hush", "HTTP.USERAGENT"),
    ] {
        let error = settings(&target, lines).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RcFile, "{lines}: {error}");
        let text = format!("{error} {error:?}");
        assert!(text.contains(key) && !text.contains("hush"), "{lines}: {text}");
    }
    // A certificate file without certificates trusts no server; it is not ignored.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.pem");
    std::fs::write(&path, "nothing").unwrap();
    let settings = settings(&target, &format!("HTTP.SSL.CAINFO={}", path.display())).unwrap();
    let error = HttpMap::with_settings(&target, &patience(), &settings).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RcFile, "{error}");
}

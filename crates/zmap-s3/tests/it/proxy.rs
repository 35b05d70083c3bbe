//! Requests use the proxy of the environment, also for buckets in the host name.

use nczarr_storage::{ByteRange, Key, Precondition, ZMap as _, ZMapExt};
use nczarr_zmap_s3::S3Map;
use s3_server::{Config, Proxy, Server, content};

use crate::common::{KEYS, access_as, key};

#[test]
fn every_request_goes_through_the_proxy() {
    let server = Server::start(Config::default());
    let proxy = Proxy::start(Some(server.host()));
    let at = format!("http://me:HUSH@{}", proxy.host());
    // These hosts do not exist; only the proxy resolves them.
    for (url, host) in [
        ("http://s3.invalid:81/bucket/set#mode=s3", "s3.invalid:81/bucket/set/"),
        ("http://s3.invalid/bucket/set#mode=s3&aws.addressing_style=virtual", "bucket.s3.invalid/set/"),
    ] {
        let before = proxy.log().len();
        let access = access_as(url, &[KEYS, &[("http_proxy", at.as_str())]].concat());
        assert!(!format!("{access:?}").contains("HUSH"));
        let map = S3Map::open(access, true).unwrap();
        let mut bytes = Vec::new();
        map.write(&key("a"), &content(1, 1000)).unwrap();
        map.write_if(&key("b"), b"2", &Precondition::Absent).unwrap();
        assert!(map.read(&key("a"), ByteRange::ALL, &mut bytes).unwrap() && bytes == content(1, 1000));
        assert_eq!(map.keys(&Key::root()).unwrap().len(), 2);
        assert!(map.delete(&key("a")).unwrap() && map.delete(&key("b")).unwrap());
        let log = &proxy.log()[before..];
        for method in ["GET", "PUT"] {
            assert!(
                log.iter().any(|head| head.starts_with(&format!("{method} http://{host}"))),
                "{method}: {log:?}"
            );
        }
        for head in log {
            assert!(head.to_ascii_lowercase().contains("proxy-authorization: basic bwu6sfvtsa=="), "{head}");
        }
    }
    let requests = proxy.log().len();
    let url = format!("{}/bucket/set#mode=s3", server.url());
    let variables = [KEYS, &[("http_proxy", at.as_str()), ("no_proxy", "127.0.0.1")]].concat();
    S3Map::open(access_as(&url, &variables), true).unwrap().write(&key("a"), b"1").unwrap();
    assert_eq!(proxy.log().len(), requests);
    // Encrypted requests use a tunnel.
    let mut access =
        access_as("https://s3.invalid/bucket/set#mode=s3", &[KEYS, &[("https_proxy", &at)]].concat());
    access.retries.tries = 1;
    let map = S3Map::open(access, true).unwrap();
    for error in [
        map.read(&key("a"), ByteRange::ALL, &mut Vec::new()).unwrap_err(),
        map.write(&key("a"), b"1").unwrap_err(),
    ] {
        assert!(!format!("{error}{error:?}").contains("HUSH"), "{error}");
    }
    for head in &proxy.log()[requests..] {
        assert!(head.starts_with("CONNECT s3.invalid:443 HTTP/1.1\r\n"), "{head}");
    }
    assert!(proxy.log().len() >= requests + 2);
}

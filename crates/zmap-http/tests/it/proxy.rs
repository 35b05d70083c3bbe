//! Requests use the proxy in rc files or environment.

use nczarr_s3_server::{Mock, Proxy, Reply};
use nczarr_storage::{ByteRange, Key, ZMapExt};
use nczarr_zmap_http::{HttpMap, Settings};

use crate::support::patience;

fn read(url: &str, rc: &str, variables: &[(&str, &str)]) -> nczarr_model::Result<bool> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rc");
    std::fs::write(&path, rc).unwrap();
    let target = nczarr_url_infer::parse(url).unwrap();
    let settings = Settings::with_variables(&target, &|name| match name {
        "NCRCENV_RC" => Some(path.to_str()?.to_owned()),
        _ => variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()),
    })?;
    assert!(!format!("{settings:?}").contains("HUSH"));
    let map = HttpMap::with_settings(&target, &patience(), &settings)?;
    map.read(&Key::new("a").unwrap(), ByteRange::ALL, &mut Vec::new())
}

#[test]
fn requests_go_through_the_proxy_that_is_named() {
    let server = Mock::start(|_| Reply::new(200, "0123456789").with("ETag", "\"1\""));
    let proxy = Proxy::start(Some(server.host()));
    let at = format!("http://me:HUSH@{}", proxy.host());
    let rc = format!("HTTP.PROXY.SERVER={at}\n");
    // The host does not exist; only the proxy resolves it.
    let url = "http://data.invalid:81/d/x";
    for (rc, variables) in
        [("", [("http_proxy", at.as_str())]), ("", [("all_proxy", &at)]), (&rc, [("no_proxy", "h")])]
    {
        let before = proxy.log().len();
        assert!(read(url, rc, &variables).unwrap());
        let log = proxy.log();
        assert_eq!(log.len(), before + 1, "{variables:?}");
        assert!(log[before].starts_with("GET http://data.invalid:81/d/x/a HTTP/1.1\r\n"), "{}", log[before]);
        assert!(
            log[before].to_ascii_lowercase().contains("proxy-authorization: basic bwu6sfvtsa=="),
            "{}",
            log[before]
        );
    }
    let requests = proxy.log().len();
    // Others go to the server itself.
    for variables in [
        &[("HTTP_PROXY", at.as_str())][..],
        &[("https_proxy", &at)],
        &[("http_proxy", &at), ("no_proxy", "127.0.0.1")],
        &[("http_proxy", &at), ("NO_PROXY", "*")],
    ] {
        assert!(read(&format!("{}/d/x", server.url()), "", variables).unwrap(), "{variables:?}");
    }
    assert_eq!(proxy.log().len(), requests);
    // Encrypted requests use a tunnel. The proxy learns only host and port.
    let error = read("https://data.invalid/d/x", "", &[("HTTPS_PROXY", &at)]).unwrap_err();
    let log = proxy.log();
    assert!(log[requests].starts_with("CONNECT data.invalid:443 HTTP/1.1\r\n"), "{}", log[requests]);
    assert!(log[requests].to_ascii_lowercase().contains("proxy-authorization: basic bwu6sfvtsa=="));
    assert!(!format!("{error}{error:?}").contains("HUSH"), "{error}");
}

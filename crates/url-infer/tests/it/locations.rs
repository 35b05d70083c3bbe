//! Scheme, host and path of every form of path and URL, and rejected forms.

use nczarr_model::ErrorKind;
use nczarr_url_infer::{Scheme, Target, parse};

fn other(name: &str) -> Scheme {
    Scheme::Other(name.to_owned())
}

#[test]
fn places() {
    for (text, scheme, host, path) in [
        // Plain paths.
        ("x", Scheme::Path, None, "x"),
        ("dir/x.zarr", Scheme::Path, None, "dir/x.zarr"),
        ("/abs/x.zarr/", Scheme::Path, None, "/abs/x.zarr/"),
        ("./x", Scheme::Path, None, "./x"),
        (" x ", Scheme::Path, None, " x "),
        ("a%20b?c=d", Scheme::Path, None, "a%20b?c=d"),
        ("C:\\data\\x.nc", Scheme::Path, None, "C:\\data\\x.nc"),
        ("c:/data/x.nc", Scheme::Path, None, "c:/data/x.nc"),
        ("c://data/x.nc", Scheme::Path, None, "c://data/x.nc"),
        ("a:b.nc", Scheme::Path, None, "a:b.nc"),
        ("run:12.nc", Scheme::Path, None, "run:12.nc"),
        ("http:x", Scheme::Path, None, "http:x"),
        ("file:x", Scheme::Path, None, "file:x"),
        ("file:", Scheme::Path, None, "file:"),
        ("dir/http://x", Scheme::Path, None, "dir/http://x"),
        ("1ab://x", Scheme::Path, None, "1ab://x"),
        ("ä://x", Scheme::Path, None, "ä://x"),
        ("://x", Scheme::Path, None, "://x"),
        ("#mode=zarr", Scheme::Path, None, "#mode=zarr"),
        ("run#1", Scheme::Path, None, "run#1"),
        ("run#1/x.zarr", Scheme::Path, None, "run#1/x.zarr"),
        ("run#a=b/x.zarr", Scheme::Path, None, "run#a=b/x.zarr"),
        ("x#", Scheme::Path, None, "x#"),
        ("x.zarr#zarr", Scheme::Path, None, "x.zarr"),
        ("x.zarr\\#zarr", Scheme::Path, None, "x.zarr"),
        ("a#b#mode=zarr", Scheme::Path, None, "a#b"),
        ("x#zarr#mode=nczarr", Scheme::Path, None, "x#zarr"),
        ("C:\\x.zarr#mode=zarr", Scheme::Path, None, "C:\\x.zarr"),
        // file: URLs.
        ("file:///a/b", Scheme::File, None, "/a/b"),
        ("FILE:///a/b", Scheme::File, None, "/a/b"),
        (" file:///a/b ", Scheme::File, None, "/a/b"),
        ("file:/a/b", Scheme::File, None, "/a/b"),
        ("file://x/y", Scheme::File, None, "x/y"),
        ("file://x", Scheme::File, None, "x"),
        ("file://C:/x", Scheme::File, None, "C:/x"),
        ("file:C:/x", Scheme::File, None, "C:/x"),
        ("file:///u%20b", Scheme::File, None, "/u b"),
        ("file:///100%", Scheme::File, None, "/100%"),
        ("file:///a%2", Scheme::File, None, "/a%2"),
        ("file:///a%zz%23b#zarr", Scheme::File, None, "/a%zz#b"),
        ("file:///a b?c", Scheme::File, None, "/a b?c"),
        ("file:///me@x:y", Scheme::File, None, "/me@x:y"),
        ("file:///a/#zarr", Scheme::File, None, "/a/"),
        // With a host.
        ("http://h.example/a/b", Scheme::Http, Some("h.example"), "/a/b"),
        ("HTTPS://H.Example/A", Scheme::Https, Some("H.Example"), "/A"),
        ("https://h.example", Scheme::Https, Some("h.example"), ""),
        ("https://h.example:9000/a", Scheme::Https, Some("h.example:9000"), "/a"),
        ("https://127.0.0.1:9000/a", Scheme::Https, Some("127.0.0.1:9000"), "/a"),
        ("https://[::1]:9000/a", Scheme::Https, Some("[::1]:9000"), "/a"),
        ("https://[::1]/a", Scheme::Https, Some("[::1]"), "/a"),
        ("https://h/a%20b", Scheme::Https, Some("h"), "/a%20b"),
        ("https://h/a@b:c", Scheme::Https, Some("h"), "/a@b:c"),
        ("s3://bucket/key/x.zarr", Scheme::S3, Some("bucket"), "/key/x.zarr"),
        ("s3://my_bucket", Scheme::S3, Some("my_bucket"), ""),
        ("gs3://bucket/key", Scheme::Gs3, Some("bucket"), "/key"),
        // These schemes belong to other plugins.
        ("mem://x", other("mem"), Some("x"), ""),
        ("mem:///x", other("mem"), None, "/x"),
        ("My-Map+2.0://x/y", other("my-map+2.0"), Some("x"), "/y"),
    ] {
        let target = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(
            (&target.scheme, target.host.as_deref(), &*target.path_text()),
            (&scheme, host, path),
            "{text}: {target:?}"
        );
    }
}

#[test]
fn user_info_and_query() {
    let parts = |text: &str| {
        let target = parse(text).unwrap();
        let path = target.path_text().into_owned();
        let Target { user_info, host, query, .. } = target;
        [user_info, host, query, Some(path)].map(Option::unwrap_or_default).join("|")
    };
    for (text, expected) in [
        ("https://u:p@h/a", "u:p|h||/a"),
        ("https://u@h/a", "u|h||/a"),
        ("https://u:p@q@h/a", "u:p@q|h||/a"),
        ("https://h/a?b=c&d", "|h|b=c&d|/a"),
        ("https://h?b", "|h|b|"),
        ("https://h/a?b/c?d#zarr", "|h|b/c?d|/a"),
        ("https://h/a#k=?b", "|h||/a"),
    ] {
        assert_eq!(parts(text), expected, "{text}");
    }
}

#[test]
fn refusals() {
    for (text, kind, word) in [
        ("", ErrorKind::Url, "empty"),
        ("a\0b", ErrorKind::Inval, "NUL"),
        ("file://", ErrorKind::Url, "no path"),
        ("file:///a%00b", ErrorKind::Inval, "NUL byte"),
        ("file:///#zarr&=1", ErrorKind::Url, "without a key"),
        ("https://", ErrorKind::Url, "no host"),
        ("https:///a", ErrorKind::Url, "no host"),
        ("https://u@/a", ErrorKind::Url, "no host"),
        ("s3://", ErrorKind::Url, "no host"),
        ("s3:///a", ErrorKind::Url, "no host"),
        ("mem://", ErrorKind::Url, "names nothing"),
        ("https://:80/a", ErrorKind::Url, "no host"),
        ("https://h:/a", ErrorKind::Url, "port"),
        ("https://h:x/a", ErrorKind::Url, "port"),
        ("https://h:+80/a", ErrorKind::Url, "port"),
        ("https://h:0/a", ErrorKind::Url, "port"),
        ("https://h:65536/a", ErrorKind::Url, "port"),
        ("https://[::1/a", ErrorKind::Url, "bracket"),
        ("https://[::1]x/a", ErrorKind::Url, "bracketed"),
        ("https://a b/c", ErrorKind::Url, "character"),
        ("https://a\\b/c", ErrorKind::Url, "character"),
        ("[=x]https://h/c", ErrorKind::Url, "without a key"),
        ("dods://h/a", ErrorKind::NotBuilt, "dap2"),
        ("dap4://h/a", ErrorKind::NotBuilt, "dap4"),
        ("https://h/a#dap2", ErrorKind::NotBuilt, "dap2"),
        ("https://h/a#mode=DAP4", ErrorKind::NotBuilt, "dap4"),
        ("https://h/a#mode=zarr&dap4", ErrorKind::NotBuilt, "dap4"),
        ("x#dap2", ErrorKind::NotBuilt, "dap2"),
    ] {
        let error = parse(text).expect_err(text);
        assert_eq!(error.kind(), kind, "{text}: {error}");
        assert!(error.what().contains(word), "{text}: {error}");
    }
}

//! Tests the server with a client that uses plain sockets.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::message::Request;
use crate::sign::{self, Keys};
use crate::{Config, Fault, Op, Rule, Server};

/// Sends one request. Returns the whole answer and whether the connection was reset.
fn ask(server: &Server, request: &str, body: &[u8]) -> (String, bool) {
    let mut stream = TcpStream::connect(server.host()).unwrap();
    let head = format!("{request}\r\nHost: h\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut answer = Vec::new();
    let broke = stream.read_to_end(&mut answer).is_err();
    (String::from_utf8_lossy(&answer).into_owned(), broke)
}

fn get(server: &Server, path: &str, headers: &str) -> String {
    let between = if headers.is_empty() { "" } else { "\r\n" };
    ask(server, &format!("GET {path} HTTP/1.1{between}{headers}"), b"").0
}

fn server() -> Server {
    let server = Server::start(Config::default().anonymous("open").web("web").page(2));
    server.put("open", "a/b c", "0123456789");
    server.put("web", "x/y", "0123456789");
    server
}

/// Tests the example of Amazon's documentation.
#[test]
fn a_signature_that_is_known() {
    let head = "GET /test.txt HTTP/1.1\r\nHost: examplebucket.s3.amazonaws.com\r\nRange: bytes=0-9\r\n\
        x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\r\n\
        x-amz-date: 20130524T000000Z\r\nAuthorization: AWS4-HMAC-SHA256 \
        Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,\
        SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,\
        Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41\r\n\r\n";
    let keys = |secret: &str, token: Option<&str>| Keys {
        access: "AKIAIOSFODNN7EXAMPLE".to_owned(),
        secret: secret.to_owned(),
        token: token.map(str::to_owned),
    };
    let right = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    let check =
        |head: &str, keys| sign::check(&Request::read_head(&mut head.as_bytes()).unwrap().unwrap(), &keys);
    assert_eq!(check(head, keys(right, None)), Ok(()));
    assert_eq!(check(head, keys("another", None)), Err("SignatureDoesNotMatch"));
    assert_eq!(check(head, keys(right, Some("token"))), Err("InvalidToken"));
    assert_eq!(
        check(&head.replace("bytes=0-9", "bytes=0-8"), keys(right, None)),
        Err("SignatureDoesNotMatch")
    );
    assert_eq!(
        check(&head.replace("/test.txt", "/text.txt"), keys(right, None)),
        Err("SignatureDoesNotMatch")
    );
}

#[test]
fn ranges_and_read_permissions() {
    let server = server();
    for (path, headers, status, end) in [
        ("/open/a/b%20c", "", "200 ", "0123456789"),
        ("/open/a/b%20c", "Range: bytes=2-4", "206 ", "234"),
        ("/open/a/b%20c", "Range: bytes=8-40", "206 ", "89"),
        ("/open/a/b%20c", "Range: bytes=-3", "206 ", "789"),
        ("/open/a/b%20c", "Range: bytes=-30", "206 ", "0123456789"),
        ("/open/a/b%20c", "Range: bytes=4-2", "200 ", "0123456789"),
        ("/open/a/b%20c", "Range: bytes=10-", "416 ", "</Error>"),
        ("/open/a/b%20c", "If-Match: \"x\"", "412 ", "</Error>"),
        ("/open/none", "", "404 ", "</Error>"),
        ("/web/x/y", "Range: bytes=2-4\r\nIf-Range: \"x\"", "200 ", "0123456789"),
        ("/web/none", "", "404 ", "</html>\n"),
        ("/web/", "", "404 ", "</Error>"),
        ("/bucket/a", "", "403 ", "</Error>"),
        ("/none/a", "", "404 ", "</Error>"),
    ] {
        let answer = get(&server, path, headers);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path} {headers}: {answer}");
        assert!(answer.ends_with(end), "{path} {headers}: {answer}");
    }
    let host = ask(&server, "GET /a/b%20c HTTP/1.1\r\nHost: open.here", b"").0;
    assert!(host.ends_with("0123456789"), "{host}");
    assert_eq!(server.counts().of(Op::Get), 13 + 1);
    assert_eq!(server.counts().of(Op::List), 1);
}

#[test]
fn writes_and_conditions() {
    let server = server();
    let put = |headers: &str| ask(&server, &format!("PUT /open/k HTTP/1.1{headers}"), b"new").0;
    let first = put("\r\nIf-None-Match: *");
    assert!(first.starts_with("HTTP/1.1 200"), "{first}");
    let etag = first.split("ETag: ").nth(1).unwrap().lines().next().unwrap();
    assert!(put("\r\nIf-None-Match: *").starts_with("HTTP/1.1 412"));
    assert!(put(&format!("\r\nIf-Match: {etag}")).starts_with("HTTP/1.1 200"));
    assert!(put("\r\nIf-Match: \"other\"").starts_with("HTTP/1.1 412"));
    assert_eq!(server.get("open", "k").unwrap(), b"new");
    assert!(ask(&server, "DELETE /open/k HTTP/1.1", b"").0.starts_with("HTTP/1.1 204"));
    assert!(server.get("open", "k").is_none());
    assert!(put("\r\nIf-Match: \"other\"").starts_with("HTTP/1.1 404"));
    assert_eq!((server.counts().of(Op::PutIf), server.counts().of(Op::Delete)), (5, 1));
}

#[test]
fn uploads_in_parts() {
    let server = server();
    let begun = ask(&server, "POST /open/k?uploads HTTP/1.1", b"").0;
    let id = crate::message::elements(&begun, "UploadId")[0].to_owned();
    let mut parts = String::new();
    for (number, bytes) in [(1, "one,"), (2, "two")] {
        let part = ask(
            &server,
            &format!("PUT /open/k?partNumber={number}&uploadId={id} HTTP/1.1"),
            bytes.as_bytes(),
        )
        .0;
        let etag = part.split("ETag: ").nth(1).unwrap().lines().next().unwrap();
        parts.push_str(&format!("<Part><ETag>{etag}</ETag><PartNumber>{number}</PartNumber></Part>"));
    }
    assert_eq!(server.uploads(), 1);
    let document = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
    let ended = ask(&server, &format!("POST /open/k?uploadId={id} HTTP/1.1"), document.as_bytes()).0;
    assert!(ended.starts_with("HTTP/1.1 200"), "{ended}");
    assert_eq!(server.get("open", "k").unwrap(), b"one,two");
    assert_eq!(server.uploads(), 0);
}

/// The keys and prefixes of all pages, and the number of pages.
fn listed(server: &Server, query: &str) -> (Vec<String>, usize) {
    let (mut found, mut token, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = get(server, &format!("/open?list-type=2{query}{token}"), "");
        pages += 1;
        found.extend(crate::message::elements(&page, "Key").into_iter().map(str::to_owned));
        let common = crate::message::elements(&page, "CommonPrefixes");
        found.extend(
            common.iter().flat_map(|common| crate::message::elements(common, "Prefix")).map(str::to_owned),
        );
        match crate::message::elements(&page, "NextContinuationToken").first() {
            Some(next) if pages < 20 => {
                token = format!("&continuation-token={}", crate::message::encode(next, true));
            }
            _ => return (found, pages),
        }
    }
}

#[test]
fn listings_come_in_pages() {
    let server = server();
    for key in ["a/x/1", "a/x/2", "a/x/3", "a/y", "b", "c/1"] {
        server.put("open", key, "");
    }
    assert_eq!(listed(&server, "").0, ["a/b c", "a/x/1", "a/x/2", "a/x/3", "a/y", "b", "c/1"]);
    let (mut found, pages) = listed(&server, "&delimiter=/");
    found.sort();
    assert_eq!((found, pages), (vec!["a/".to_owned(), "b".to_owned(), "c/".to_owned()], 2));
    let (mut found, pages) = listed(&server, "&delimiter=/&prefix=a/");
    found.sort();
    assert_eq!((found, pages), (vec!["a/b c".to_owned(), "a/x/".to_owned(), "a/y".to_owned()], 2));
    for (fault, times, pages) in [
        (Fault::EmptyPage, 1, 5),
        (Fault::EmptyPage, 3, 7),
        (Fault::RepeatedPage, 1, 5),
        (Fault::NoToken, 1, 1),
        (Fault::EndlessPage, 100, 20),
    ] {
        server.no_faults();
        server.fault(Rule::new(fault.clone()).on(Op::List).times(times));
        assert_eq!(listed(&server, "").1, pages, "{fault:?}");
    }
}

#[test]
fn faults_are_seen_by_the_client() {
    let whole = "0123456789";
    for (fault, broke, test) in [
        (Fault::Status(503, "SlowDown"), false, (|answer| answer.contains("503")) as fn(&str) -> bool),
        (Fault::Page(502), false, |answer| answer.contains("502") && answer.contains("html")),
        (Fault::ErrorBody, false, |answer| answer.starts_with("HTTP/1.1 200") && answer.contains("<Error>")),
        (Fault::Reset, true, str::is_empty),
        (Fault::LostReply, true, str::is_empty),
        (Fault::Close, false, str::is_empty),
        (Fault::Garbage, false, |answer| !answer.starts_with("HTTP")),
        (Fault::Redirect(307, "http://x/".to_owned()), false, |answer| {
            answer.contains("Location: http://x/")
        }),
        (Fault::CutBody, false, |answer| answer.contains("Length: 3\r\n") && answer.ends_with("\r\n2")),
        (Fault::Drip, false, |answer| answer.ends_with("\r\n234")),
        (Fault::ShortRange, false, |answer| answer.contains(" 2-2/10") && answer.ends_with("\r\n2")),
        (Fault::LyingRange, false, |answer| answer.contains(" 2-4/10") && answer.ends_with("\r\n2")),
        (Fault::OverlongRange, false, |answer| {
            answer.contains(" 2-4/10") && answer.contains("\r\n234and more")
        }),
        (Fault::OtherRange, false, |answer| answer.contains(" 1-3/10") && answer.ends_with("\r\n123")),
        (Fault::NoContentRange, false, |answer| {
            !answer.contains("Content-Range") && answer.ends_with("\r\n234")
        }),
        (Fault::RangeIgnored, false, |answer| {
            answer.starts_with("HTTP/1.1 200") && answer.ends_with("56789")
        }),
        (Fault::Replaced, false, |answer| answer.ends_with("\r\ngfa")),
        (Fault::Removed, false, |answer| answer.starts_with("HTTP/1.1 404")),
        (Fault::NoETag, false, |answer| !answer.contains("ETag") && answer.ends_with("\r\n234")),
        (Fault::Chunked, false, |answer| answer.ends_with("\r\n3\r\n234\r\n0\r\n\r\n")),
        (Fault::ChunkedCut, false, |answer| answer.ends_with("\r\n3\r\n234\r\n")),
        (Fault::NoLength, false, |answer| !answer.contains("Content-Length") && answer.ends_with("\r\n234")),
        (Fault::Gzip, false, |answer| answer.contains("Content-Encoding: gzip")),
    ] {
        let server = server();
        server.fault(Rule::new(fault.clone()).key("y").after(1).times(1));
        let ask = || ask(&server, "GET /web/x/y HTTP/1.1\r\nRange: bytes=2-4", b"");
        assert!(ask().0.ends_with("\r\n234"));
        let (answer, ended) = ask();
        assert!(test(&answer), "{fault:?}: {answer}");
        assert_eq!(ended, broke, "{fault:?}: {answer}");
        let log = server.log();
        assert_eq!(log.len(), 2);
        assert_eq!((&log[0].fault, &log[1].fault), (&None, &Some(fault.clone())));
        assert_eq!(
            server.get("web", "x/y").is_some_and(|now| now == whole.as_bytes()),
            !matches!(fault, Fault::Replaced | Fault::Removed)
        );
    }
}

#[test]
fn a_stalled_client_is_let_go_with_the_server() {
    let server = server();
    server.fault(Rule::new(Fault::Stall));
    let mut stream = TcpStream::connect(server.host()).unwrap();
    stream.write_all(b"GET /web/x/y HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    while server.log().is_empty() {
        std::thread::yield_now();
    }
    drop(server);
    let mut rest = Vec::new();
    assert!(stream.read_to_end(&mut rest).is_err() || rest.is_empty());
}

#[test]
fn a_lost_reply_has_done_its_work() {
    let server = server();
    server.fault(Rule::new(Fault::LostReply).on(Op::Put).times(1));
    assert_eq!(ask(&server, "PUT /open/k HTTP/1.1", b"new"), (String::new(), true));
    assert_eq!(server.get("open", "k").unwrap(), b"new");
    server.fault(Rule::new(Fault::Reset).on(Op::Put).times(1));
    assert_eq!(ask(&server, "PUT /open/k HTTP/1.1", b"newer"), (String::new(), true));
    assert_eq!(server.get("open", "k").unwrap(), b"new");
}

#[test]
fn chance_follows_the_seed() {
    let strikes = |seed: u64| {
        let mut rule = Rule::new(Fault::Reset).chance(seed, 300);
        (0..200).map(|_| rule.strikes(Op::Get, "k", false)).collect::<Vec<_>>()
    };
    assert_eq!(strikes(1), strikes(1));
    assert_ne!(strikes(1), strikes(2));
    let share = strikes(3).into_iter().filter(|&strikes| strikes).count();
    assert!((30..90).contains(&share), "{share}");
}

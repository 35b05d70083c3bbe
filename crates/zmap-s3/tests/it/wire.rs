//! Unusual responses, on connections that stay open or close.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use nczarr_storage::{ByteRange, ZMapExt};
use nczarr_zmap_s3::S3Map;

use crate::common::{KEYS, access_as, key};

/// The response to each request, and whether the connection then closes.
type Script = dyn Fn(usize) -> (Vec<u8>, bool) + Send + Sync;

/// A server with scripted responses that counts its connections.
struct Scripted {
    map: S3Map,
    connections: Arc<AtomicUsize>,
}

impl Scripted {
    fn new(script: impl Fn(usize) -> (Vec<u8>, bool) + Send + Sync + 'static) -> Self {
        // A response that is late is missing.
        Self::tried(1, script)
    }

    /// As [`Scripted::new`], with a limit of attempts.
    fn tried(tries: u32, script: impl Fn(usize) -> (Vec<u8>, bool) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/bucket/set#mode=s3", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let (counted, script, asked) = (
            Arc::clone(&connections),
            Arc::<Script>::from(Box::new(script) as Box<_>),
            Arc::new(AtomicUsize::new(0)),
        );
        thread::spawn(move || {
            for stream in listener.incoming() {
                counted.fetch_add(1, Ordering::SeqCst);
                let (script, asked) = (Arc::clone(&script), Arc::clone(&asked));
                thread::spawn(move || speak(&stream.unwrap(), &*script, &asked));
            }
        });
        let mut access = access_as(&url, KEYS);
        access.retries.tries = tries;
        Self { map: S3Map::open(access, false).unwrap(), connections }
    }

    fn read(&self) -> Result<Option<Vec<u8>>, String> {
        let mut bytes = Vec::new();
        let found = self.map.read(&key("k"), ByteRange::ALL, &mut bytes);
        found.map(|found| found.then_some(bytes)).map_err(|error| error.to_string())
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn speak(mut stream: &TcpStream, script: &Script, asked: &AtomicUsize) {
    let mut lines = BufReader::new(stream).lines();
    loop {
        // An empty line ends a request.
        let mut some = 0;
        loop {
            match lines.next() {
                Some(Ok(line)) if line.is_empty() && some > 0 => break,
                Some(Ok(_)) => some += 1,
                _ => return,
            }
        }
        let (answer, ends) = script(asked.fetch_add(1, Ordering::SeqCst));
        if stream.write_all(&answer).is_err() || ends {
            return;
        }
    }
}

fn answer(start: &str, fields: &str, body: &str) -> Vec<u8> {
    format!("{start}\r\nETag: \"e\"\r\n{fields}\r\n\r\n{body}").into_bytes()
}

#[test]
fn connections_are_reused() {
    let length = "Content-Length: 4";
    for (start, fields, ends, connections) in [
        ("HTTP/1.1 200 OK", length, false, 1),
        ("HTTP/1.1 200 OK", "connection: Close\r\nContent-Length: 4", false, 4),
        ("HTTP/1.0 200 OK", length, false, 4),
        ("HTTP/1.0 200 OK", "Connection: keep-alive\r\nContent-Length: 4", false, 1),
        // The connection closes without a response, so the request is repeated.
        ("HTTP/1.1 200 OK", length, true, 4),
    ] {
        let server = Scripted::new(move |_| (answer(start, fields, "body"), ends));
        for _ in 0..4 {
            assert_eq!(server.read().unwrap().as_deref(), Some(&b"body"[..]), "{start} {fields}");
        }
        assert_eq!(server.connections(), connections, "{start} {fields} {ends}");
    }
}

#[test]
fn informational_responses_are_skipped() {
    let early =
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\nContent-Length: 3\r\n\r\n";
    let whole = [early.as_bytes(), &answer("HTTP/1.1 200 OK", "Content-Length: 4", "body")].concat();
    let server = Scripted::new(move |_| (whole.clone(), false));
    for _ in 0..3 {
        assert_eq!(server.read().unwrap().as_deref(), Some(&b"body"[..]));
    }
    assert_eq!(server.connections(), 1);
    let server = Scripted::new(|_| (b"HTTP/1.1 100 Continue\r\n\r\n".repeat(1000), false));
    assert!(server.read().unwrap_err().contains("no response"));
}

#[test]
fn bytes_after_a_response_are_ignored() {
    let server =
        Scripted::new(|_| (answer("HTTP/1.1 200 OK", "Content-Length: 4", "bodyHTTP/1.1 200 OK\r\n"), false));
    for _ in 0..3 {
        assert_eq!(server.read().unwrap().as_deref(), Some(&b"body"[..]));
    }
    assert_eq!(server.connections(), 3);
}

#[test]
fn absence_is_recognised_in_any_framing() {
    const DOCUMENT: &str = "<Error><Code>NoSuchKey</Code><Message>m</Message></Error>";
    let length = format!("Content-Length: {}", DOCUMENT.len());
    let (first, second) = DOCUMENT.split_at(20);
    let chunked =
        format!("{:x}\r\n{first}\r\n{:X};a=b\r\n{second}\r\n0\r\nA: b\r\n\r\n", first.len(), second.len());
    for (fields, body, ends, connections) in [
        (&*length, DOCUMENT, false, 1),
        ("Transfer-Encoding: chunked", &*chunked, false, 1),
        ("A: b", DOCUMENT, true, 3),
    ] {
        let bytes = answer("HTTP/1.1 404 Not Found", fields, body);
        let server = Scripted::new(move |_| (bytes.clone(), ends));
        for _ in 0..3 {
            assert_eq!(server.read(), Ok(None), "{fields}");
        }
        assert_eq!(server.connections(), connections, "{fields}");
    }
}

#[test]
fn a_truncated_not_found_response_is_retried() {
    let server = Scripted::tried(2, |asked| match asked {
        0 => (answer("HTTP/1.1 404 Not Found", "Content-Length: 99", "<Error><Code>NoSuchKey</Code>"), true),
        _ => (answer("HTTP/1.1 200 OK", "Content-Length: 4", "body"), false),
    });
    assert_eq!(server.read().unwrap().as_deref(), Some(&b"body"[..]));
    let server =
        Scripted::tried(2, |_| (answer("HTTP/1.1 404 Not Found", "Content-Length: 99", "<Error>"), true));
    assert!(server.read().is_err());
}

#[test]
fn ambiguous_responses_are_errors() {
    let many = "A: b\r\n".repeat(200);
    let long = format!("A: {}", "b".repeat(100 << 10));
    for fields in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked",
        "Content-Length: 4\r\nContent-Length: 5",
        "Content-Length: 4\r\nContent-Length: 4",
        "Content-Length: 4,4",
        "Content-Length: -4",
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: gzip, chunked",
        "A: b",
        &*long,
        &*many,
    ] {
        let bytes = answer("HTTP/1.1 200 OK", fields, "4\r\nbody\r\n0\r\n\r\n");
        let server = Scripted::new(move |_| (bytes.clone(), true));
        assert!(server.read().is_err(), "{}", &fields[..fields.len().min(60)]);
    }
}

//! HTTP/1.1 messages as values: [`Request`] with its parser, and [`Answer`].

use std::io::{self, BufRead, Read};

use bytes::Bytes;

/// Maximum number of bytes of a request's head.
const MOST_HEAD: usize = 64 << 10;

/// Maximum number of bytes of a body.
const MOST_BODY: u64 = 1 << 30;

/// A request.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The decoded path.
    pub(crate) path: String,
    /// The decoded query, in the order in which it was sent.
    pub(crate) query: Vec<(String, String)>,
    /// Header fields; names are in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Reads the head of the next request. Returns `None` if the connection ended.
    pub(crate) fn read_head(stream: &mut impl BufRead) -> io::Result<Option<Self>> {
        let bad = || io::Error::from(io::ErrorKind::InvalidData);
        let mut lines = Vec::new();
        let mut size = 0;
        loop {
            let mut line = Vec::new();
            size += stream.by_ref().take(MOST_HEAD as u64).read_until(b'\n', &mut line)?;
            if size == 0 {
                return Ok(None);
            }
            if size >= MOST_HEAD || !line.ends_with(b"\n") {
                return Err(bad());
            }
            let line = String::from_utf8(line).map_err(|_| bad())?;
            match line.trim_end() {
                "" if lines.is_empty() => {}
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let mut lines = lines.into_iter();
        let first = lines.next().ok_or_else(bad)?;
        let mut words = first.split(' ');
        let (method, target) = (words.next().ok_or_else(bad)?, words.next().ok_or_else(bad)?);
        // The form for proxies also contains the host.
        let target = target
            .strip_prefix("http://")
            .map_or(target, |rest| rest.find('/').map_or("/", |at| &rest[at..]));
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(&key.replace('+', " ")), decode(&value.replace('+', " ")))
        });
        let headers = lines.filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        });
        Ok(Some(Self {
            method: method.to_owned(),
            path: decode(path),
            query: query.collect(),
            headers: headers.collect(),
            body: Vec::new(),
        }))
    }

    /// Reads the body that the head announces.
    pub(crate) fn read_body(&mut self, stream: &mut impl BufRead) -> io::Result<()> {
        let len = self.header("content-length").and_then(|len| len.parse().ok()).unwrap_or(0u64);
        if len > MOST_BODY || self.header("transfer-encoding").is_some() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let read = stream.take(len).read_to_end(&mut self.body)?;
        if read as u64 == len { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// An answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    /// The declared length of an answer without its body (HEAD).
    pub(crate) length: Option<u64>,
}

impl Answer {
    pub(crate) fn new(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn xml(status: u16, body: String) -> Self {
        let mut answer = Self::new(status).with("Content-Type", "application/xml");
        answer.body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{body}").into();
        answer
    }

    /// Makes S3's error document.
    pub(crate) fn error(status: u16, code: &str) -> Self {
        let what = "<RequestId>0</RequestId><HostId>0</HostId>";
        Self::xml(status, format!("<Error><Code>{code}</Code><Message>{code}</Message>{what}</Error>"))
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.remove(name);
        self.headers.push((name.to_owned(), value.into()));
    }
}

/// The reason phrase of a status.
pub(crate) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        206 => "Partial Content",
        304 => "Not Modified",
        404 => "Not Found",
        409 => "Conflict",
        412 => "Precondition Failed",
        416 => "Range Not Satisfiable",
        _ => "Because",
    }
}

/// Undoes percent encoding. Text that is not encoded stays unchanged.
pub(crate) fn decode(text: &str) -> String {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &after[2..];
            }
            None => {
                out.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Encodes text with percent signs, as signatures need it.
pub(crate) fn encode(text: &str, slashes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for &byte in text.as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte as char),
            b'/' if !slashes => out.push('/'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Escapes text for XML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The contents of all elements with a name. Elements of that name must not be nested.
pub(crate) fn elements<'d>(document: &'d str, name: &str) -> Vec<&'d str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    document.split(&*open).skip(1).filter_map(|rest| rest.split(&*close).next()).collect()
}

/// Undoes [`escape`].
pub(crate) fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#34;", "\"")
        .replace("&amp;", "&")
}

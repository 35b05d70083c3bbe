//! [`ResponseHead`]: the head of a response, and the framing of its body.
//!
//! The crate `httparse` splits lines. An ambiguous head is refused, because sender and reader might disagree
//! about the body. Source: RFC 9112, sections 6.3 and 9.3.

use hyper::header::{CONNECTION, CONTENT_LENGTH, HeaderName, TRANSFER_ENCODING};

/// Most bytes of a head.
pub(crate) const LONGEST: usize = 64 << 10;
/// Most header fields.
const FIELDS: usize = 128;

/// The head of a response.
#[derive(Debug)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    /// HTTP/1.0.
    old: bool,
    fields: Vec<(String, Vec<u8>)>,
}

/// The end of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyFraming {
    /// After this many bytes.
    Length(u64),
    /// With the last chunk.
    Chunked,
    /// With the connection.
    ToTheEnd,
}

impl ResponseHead {
    /// Parses a head. Returns also its length; `None` if it is incomplete.
    ///
    /// # Errors
    /// A description of the problem.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, String> {
        let mut room = [httparse::EMPTY_HEADER; FIELDS];
        let mut answer = httparse::Response::new(&mut room);
        let len = match answer.parse(bytes) {
            Ok(httparse::Status::Complete(len)) if len <= LONGEST => len,
            Ok(httparse::Status::Partial) if bytes.len() < LONGEST => return Ok(None),
            Ok(_) => return Err(format!("the response head is too long (expected at most {LONGEST} bytes)")),
            Err(error) => return Err(format!("the response head is invalid: {error}")),
        };
        let fields =
            answer.headers.iter().map(|field| (field.name.to_owned(), field.value.to_vec())).collect();
        let (status, old) = (answer.code.unwrap_or(0), answer.version != Some(1));
        Ok(Some((Self { status, old, fields }, len)))
    }

    /// Returns the values of all fields with a name.
    pub(crate) fn all(&self, name: &HeaderName) -> impl Iterator<Item = &[u8]> {
        let named = self.fields.iter().filter(move |(field, _)| field.eq_ignore_ascii_case(name.as_str()));
        named.map(|(_, value)| &value[..])
    }

    /// Returns the framing of the body.
    ///
    /// # Errors
    /// If it is unknown or ambiguous.
    pub(crate) fn framing(&self) -> Result<BodyFraming, String> {
        let mut codings = self.all(&TRANSFER_ENCODING);
        let mut lengths = self.all(&CONTENT_LENGTH);
        if matches!(self.status, 100..=199 | 204 | 304) {
            return Ok(BodyFraming::Length(0));
        }
        match (codings.next(), lengths.next()) {
            (None, None) => Ok(BodyFraming::ToTheEnd),
            (Some(coding), None) if codings.next().is_none() && !self.old && is(coding, "chunked") => {
                Ok(BodyFraming::Chunked)
            }
            (None, Some(first)) if lengths.all(|other| other == first) => {
                let digits = first.trim_ascii();
                let number =
                    std::str::from_utf8(digits).ok().filter(|_| digits.iter().all(u8::is_ascii_digit));
                let number = number.and_then(|text| text.parse().ok());
                number.map(BodyFraming::Length).ok_or_else(|| "the response has an invalid length".to_owned())
            }
            _ => Err("the response has an ambiguous length".to_owned()),
        }
    }

    /// Whether the connection can be reused once the body is read.
    pub(crate) fn is_reusable(&self) -> bool {
        let says = |word: &str| {
            self.all(&CONNECTION).any(|value| value.split(|&c| c == b',').any(|one| is(one, word)))
        };
        self.status != 101 && !says("close") && (!self.old || says("keep-alive"))
    }
}

fn is(value: &[u8], word: &str) -> bool {
    value.trim_ascii().eq_ignore_ascii_case(word.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<Option<(ResponseHead, usize)>, String> {
        ResponseHead::parse(text.as_bytes())
    }

    #[test]
    fn where_bodies_end_and_whether_connections_stay() {
        let length = |n| Some(BodyFraming::Length(n));
        for (start, fields, framing, stays) in [
            ("HTTP/1.1 200 OK", "Content-Length: 7", length(7), true),
            ("HTTP/1.1 200", "content-length:7", length(7), true),
            ("HTTP/1.1 200 OK", "Content-Length: 7\r\nContent-Length: 7", length(7), true),
            ("HTTP/1.1 200 OK", "Content-Length: 7\r\nContent-Length: 8", None, true),
            ("HTTP/1.1 200 OK", "Content-Length: 7, 7", None, true),
            ("HTTP/1.1 200 OK", "Content-Length: +7", None, true),
            ("HTTP/1.1 200 OK", "Content-Length: 99999999999999999999", None, true),
            ("HTTP/1.1 200 OK", "Content-Length: ", None, true),
            ("HTTP/1.1 200 OK", "Transfer-Encoding: Chunked", Some(BodyFraming::Chunked), true),
            ("HTTP/1.0 200 OK", "Transfer-Encoding: chunked", None, false),
            ("HTTP/1.1 200 OK", "Transfer-Encoding: gzip, chunked", None, true),
            ("HTTP/1.1 200 OK", "Transfer-Encoding: chunked\r\nContent-Length: 7", None, true),
            ("HTTP/1.1 200 OK", "X: y", Some(BodyFraming::ToTheEnd), true),
            ("HTTP/1.1 204 No Content", "X: y", length(0), true),
            ("HTTP/1.1 304 Not Modified", "Content-Length: 7", length(0), true),
            ("HTTP/1.1 200 OK", "Connection: x, Close\r\nContent-Length: 7", length(7), false),
            ("HTTP/1.0 200 OK", "Content-Length: 7", length(7), false),
            ("HTTP/1.0 200 OK", "Connection: Keep-Alive\r\nContent-Length: 7", length(7), true),
        ] {
            let text = format!("{start}\r\n{fields}\r\n\r\nbody");
            let (head, len) = head(&text).unwrap().unwrap();
            assert_eq!(len, text.len() - 4, "{text}");
            assert_eq!((head.framing().ok(), head.is_reusable()), (framing, stays), "{text}");
        }
    }

    #[test]
    fn response_heads_parse_or_are_errors() {
        let whole = "HTTP/1.1 404 Not Found\r\nA: b\r\na: c\r\n\r\n";
        for len in 0..whole.len() {
            assert!(head(&whole[..len]).unwrap().is_none(), "{len}");
        }
        let (found, _) = head(whole).unwrap().unwrap();
        let name = HeaderName::from_static("a");
        assert_eq!((found.status, found.all(&name).collect::<Vec<_>>()), (404, vec![&b"b"[..], b"c"]));
        for text in [
            "\0\u{1} this",
            "HTTP/2 200 OK\r\n\r\n",
            "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\na b\r\n\r\n",
        ] {
            assert!(head(text).is_err(), "{text}");
        }
        assert!(head(&format!("HTTP/1.1 200 OK\r\nA: {}", "b".repeat(LONGEST))).is_err());
        assert!(head(&format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(FIELDS + 1))).is_err());
        assert!(head(&format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(FIELDS))).unwrap().is_some());
    }
}

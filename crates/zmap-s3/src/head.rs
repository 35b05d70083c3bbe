//! [`Head`]: what stands above the body of an answer, and what it says of where that ends.
//!
//! Lines are told apart by the crate `httparse`. What can be understood in two ways is refused: who answers so and who
//! reads it may not mean the same body. Source: RFC 9112, sections 6.3 and 9.3.

use hyper::header::{CONNECTION, CONTENT_LENGTH, HeaderName, TRANSFER_ENCODING};

/// A head has no more bytes.
pub(crate) const LONGEST: usize = 64 << 10;
/// A head has no more fields.
const FIELDS: usize = 128;

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// HTTP/1.0.
    old: bool,
    fields: Vec<(String, Vec<u8>)>,
}

/// Where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// After so many bytes.
    Length(u64),
    /// With the last of its chunks.
    Chunked,
    /// With the connection.
    ToTheEnd,
}

impl Head {
    /// Reads a head, and how many bytes it has; `None` if it is not complete.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, String> {
        let mut room = [httparse::EMPTY_HEADER; FIELDS];
        let mut answer = httparse::Response::new(&mut room);
        let len = match answer.parse(bytes) {
            Ok(httparse::Status::Complete(len)) if len <= LONGEST => len,
            Ok(httparse::Status::Partial) if bytes.len() < LONGEST => return Ok(None),
            Ok(_) => return Err(format!("the head of the answer has more than {LONGEST} bytes")),
            Err(error) => return Err(format!("the head of the answer cannot be read: {error}")),
        };
        let fields = answer.headers.iter().map(|field| (field.name.to_owned(), field.value.to_vec())).collect();
        let (status, old) = (answer.code.unwrap_or(0), answer.version != Some(1));
        Ok(Some((Self { status, old, fields }, len)))
    }

    /// The values of all fields of a name.
    pub(crate) fn all(&self, name: &HeaderName) -> impl Iterator<Item = &[u8]> {
        let named = self.fields.iter().filter(move |(field, _)| field.eq_ignore_ascii_case(name.as_str()));
        named.map(|(_, value)| &value[..])
    }

    /// Where the body ends that follows.
    ///
    /// # Errors
    /// If that cannot be told, or not in one way only.
    pub(crate) fn framing(&self) -> Result<Framing, String> {
        let mut codings = self.all(&TRANSFER_ENCODING);
        let mut lengths = self.all(&CONTENT_LENGTH);
        if matches!(self.status, 100..=199 | 204 | 304) {
            return Ok(Framing::Length(0));
        }
        match (codings.next(), lengths.next()) {
            (None, None) => Ok(Framing::ToTheEnd),
            (Some(coding), None) if codings.next().is_none() && !self.old && is(coding, "chunked") => {
                Ok(Framing::Chunked)
            }
            (None, Some(first)) if lengths.all(|other| other == first) => {
                let digits = first.trim_ascii();
                let number = std::str::from_utf8(digits).ok().filter(|_| digits.iter().all(u8::is_ascii_digit));
                let number = number.and_then(|text| text.parse().ok());
                number.map(Framing::Length).ok_or_else(|| "the length of the answer cannot be read".to_owned())
            }
            _ => Err("where the answer ends cannot be told".to_owned()),
        }
    }

    /// Whether the connection may be used for another request once the body is read.
    pub(crate) fn stays(&self) -> bool {
        let says = |word: &str| self.all(&CONNECTION).any(|value| value.split(|&c| c == b',').any(|one| is(one, word)));
        self.status != 101 && !says("close") && (!self.old || says("keep-alive"))
    }
}

fn is(value: &[u8], word: &str) -> bool {
    value.trim_ascii().eq_ignore_ascii_case(word.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<Option<(Head, usize)>, String> {
        Head::parse(text.as_bytes())
    }

    #[test]
    fn where_bodies_end_and_whether_connections_stay() {
        let length = |n| Some(Framing::Length(n));
        for (start, fields, framing, stays) in [
            ("HTTP/1.1 200 OK", "Content-Length: 7", length(7), true),
            ("HTTP/1.1 200", "content-length:7", length(7), true),
            ("HTTP/1.1 200 OK", "Content-Length: 7\r\nContent-Length: 7", length(7), true),
            ("HTTP/1.1 200 OK", "Content-Length: 7\r\nContent-Length: 8", None, true),
            ("HTTP/1.1 200 OK", "Content-Length: 7, 7", None, true),
            ("HTTP/1.1 200 OK", "Content-Length: +7", None, true),
            ("HTTP/1.1 200 OK", "Content-Length: 99999999999999999999", None, true),
            ("HTTP/1.1 200 OK", "Content-Length: ", None, true),
            ("HTTP/1.1 200 OK", "Transfer-Encoding: Chunked", Some(Framing::Chunked), true),
            ("HTTP/1.0 200 OK", "Transfer-Encoding: chunked", None, false),
            ("HTTP/1.1 200 OK", "Transfer-Encoding: gzip, chunked", None, true),
            ("HTTP/1.1 200 OK", "Transfer-Encoding: chunked\r\nContent-Length: 7", None, true),
            ("HTTP/1.1 200 OK", "X: y", Some(Framing::ToTheEnd), true),
            ("HTTP/1.1 204 No Content", "X: y", length(0), true),
            ("HTTP/1.1 304 Not Modified", "Content-Length: 7", length(0), true),
            ("HTTP/1.1 200 OK", "Connection: x, Close\r\nContent-Length: 7", length(7), false),
            ("HTTP/1.0 200 OK", "Content-Length: 7", length(7), false),
            ("HTTP/1.0 200 OK", "Connection: Keep-Alive\r\nContent-Length: 7", length(7), true),
        ] {
            let text = format!("{start}\r\n{fields}\r\n\r\nbody");
            let (head, len) = head(&text).unwrap().unwrap();
            assert_eq!(len, text.len() - 4, "{text}");
            assert_eq!((head.framing().ok(), head.stays()), (framing, stays), "{text}");
        }
    }

    #[test]
    fn heads_are_complete_or_not_or_none() {
        let whole = "HTTP/1.1 404 Not Found\r\nA: b\r\na: c\r\n\r\n";
        for len in 0..whole.len() {
            assert!(head(&whole[..len]).unwrap().is_none(), "{len}");
        }
        let (found, _) = head(whole).unwrap().unwrap();
        let name = HeaderName::from_static("a");
        assert_eq!((found.status, found.all(&name).collect::<Vec<_>>()), (404, vec![&b"b"[..], b"c"]));
        for text in
            ["\0\u{1} this", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 200 OK\r\na b\r\n\r\n"]
        {
            assert!(head(text).is_err(), "{text}");
        }
        assert!(head(&format!("HTTP/1.1 200 OK\r\nA: {}", "b".repeat(LONGEST))).is_err());
        assert!(head(&format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(FIELDS + 1))).is_err());
        assert!(head(&format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(FIELDS))).unwrap().is_some());
    }
}

//! [`ChunkedDecoder`]: decodes bodies in chunked transfer coding.
//!
//! Only error documents use it, because objects have a length. Source: RFC 9112, section 7.1.

/// Longest line before a chunk, in bytes.
const LINE: usize = 4096;

/// The state of a body.
#[derive(Debug, Default)]
pub(crate) struct ChunkedDecoder {
    /// Bytes not interpreted yet.
    rest: Vec<u8>,
    /// Bytes still expected of the chunk and of its line end.
    left: u64,
    /// A line end is expected.
    ends: bool,
    /// The last chunk was received. Only trailer fields and an empty line may follow.
    last: bool,
    done: bool,
}

impl ChunkedDecoder {
    /// Decodes received bytes and appends their content to `body`. Returns whether the body is complete.
    ///
    /// # Errors
    /// The problem.
    pub(crate) fn take(&mut self, came: &[u8], body: &mut Vec<u8>) -> Result<bool, &'static str> {
        self.rest.extend_from_slice(came);
        let mut from = 0;
        while !self.done {
            let rest = &self.rest[from..];
            if self.left > 0 {
                let some = rest.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
                if some == 0 {
                    break;
                }
                body.extend_from_slice(&rest[..some]);
                (self.left, from) = (self.left - some as u64, from + some);
                continue;
            }
            let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
                if rest.len() > LINE {
                    return Err("chunked response: a chunk header is too long");
                }
                break;
            };
            let line = rest[..end]
                .strip_suffix(b"\r")
                .ok_or("chunked response: a chunk header has an invalid line end")?;
            from += end + 1;
            match (self.ends, self.last) {
                (_, true) => self.done = line.is_empty(),
                (true, _) if line.is_empty() => self.ends = false,
                (true, _) => return Err("chunked response: a chunk exceeds its length"),
                (false, _) => {
                    let digits = line.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii_end();
                    let text =
                        std::str::from_utf8(digits).ok().filter(|_| digits.iter().all(u8::is_ascii_hexdigit));
                    let length = text.and_then(|text| u64::from_str_radix(text, 16).ok());
                    self.left = length.ok_or("chunked response: invalid chunk length")?;
                    (self.ends, self.last) = (self.left > 0, self.left == 0);
                }
            }
        }
        self.rest.drain(..from);
        Ok(self.done)
    }

    /// Whether there were bytes behind the end.
    pub(crate) fn has_more(&self) -> bool {
        !self.rest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunked_bodies_decode_in_any_pieces() {
        for (text, body, more) in [
            ("0\r\n\r\n", "", false),
            ("5\r\nhello\r\n0\r\n\r\n", "hello", false),
            ("a;x=y\r\n0123456789\r\n001 \r\n!\r\n0\r\nA: b\r\n\r\nnext", "0123456789!", true),
        ] {
            for step in 1..=text.len() {
                let (mut chunks, mut found, mut done) = (ChunkedDecoder::default(), Vec::new(), false);
                for some in text.as_bytes().chunks(step) {
                    done = chunks.take(some, &mut found).unwrap();
                }
                assert_eq!(
                    (&*String::from_utf8_lossy(&found), done, chunks.has_more()),
                    (body, true, more),
                    "{text} {step}"
                );
            }
        }
        for text in ["\r\n", "x\r\n", "-1\r\n", "5\nhello", "1\r\nab\r\n", "fffffffffffffffff\r\n"] {
            assert!(ChunkedDecoder::default().take(text.as_bytes(), &mut Vec::new()).is_err(), "{text}");
        }
        assert!(ChunkedDecoder::default().take(&[b'1'; LINE + 2], &mut Vec::new()).is_err());
        let mut chunks = ChunkedDecoder::default();
        assert_eq!(chunks.take(b"5\r\nhell", &mut Vec::new()), Ok(false));
    }
}

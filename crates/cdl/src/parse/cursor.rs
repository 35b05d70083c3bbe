//! [`CdlCursor`]: a position in a CDL text, and its tokens: blanks and comments, names, paths, quoted text.
//!
//! It knows no grammar. Source: the CDL chapter of the netCDF user's guide; escapes as the printer writes
//! them.

use nczarr_model::{Error, ErrorKind, Result};

/// A result whose error has a byte offset in the text.
pub(super) type Located<T> = Result<T, (usize, Error)>;

/// A position in a text.
#[derive(Debug, Clone)]
pub(crate) struct CdlCursor<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> CdlCursor<'t> {
    pub(crate) fn new(text: &'t [u8], at: usize) -> Self {
        Self { text, at: at.min(text.len()) }
    }

    /// Returns the byte offset.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn seek(&mut self, at: usize) {
        self.at = at.min(self.text.len());
    }

    pub(crate) fn rest(&self) -> &'t [u8] {
        &self.text[self.at..]
    }

    /// Returns the text from `from` to here.
    pub(crate) fn since(&self, from: usize) -> &'t [u8] {
        self.text.get(from..self.at).unwrap_or_default()
    }

    pub(crate) fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Returns the byte after the next one.
    pub(crate) fn second(&self) -> Option<u8> {
        self.text.get(self.at + 1).copied()
    }

    pub(crate) fn bump(&mut self) {
        self.at = (self.at + 1).min(self.text.len());
    }

    /// Skips blanks and comments.
    #[inline]
    pub(crate) fn skip(&mut self) {
        while let Some(byte) = self.byte() {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'/' if matches!(self.comment(), Ok(true)) => {}
                _ => return,
            }
        }
    }

    /// Skips a comment. Returns whether there was one.
    ///
    /// # Errors
    /// `NC_EINVAL` if it does not end.
    pub(crate) fn comment(&mut self) -> Result<bool> {
        let rest = self.rest();
        let len = match rest {
            [b'/', b'/', ..] => rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
            [b'/', b'*', inside @ ..] => {
                let end = inside.windows(2).position(|two| two == b"*/");
                end.ok_or_else(|| ErrorKind::Inval.context("a comment without an end"))? + 4
            }
            _ => return Ok(false),
        };
        self.at += len;
        Ok(true)
    }

    /// Returns the next non-blank byte without skipping it.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        self.skip();
        self.byte()
    }

    /// Skips `byte` if it is next.
    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
        }
        found
    }

    /// Skips `byte`.
    ///
    /// # Errors
    /// `NC_EINVAL` with the text found instead. `context` describes the construct being read.
    pub(crate) fn expect(&mut self, byte: u8, context: &str) -> Result<()> {
        if self.take(byte) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("'{}' {context}", char::from(byte))))
        }
    }

    /// Makes the error for finding something other than `expected`.
    pub(crate) fn unexpected(&mut self, expected: &str) -> nczarr_model::Error {
        let found = match self.peek() {
            None => "the end of the text".to_owned(),
            Some(_) => {
                let word: Vec<u8> =
                    self.rest().iter().copied().take_while(|&byte| !is_blank(byte)).take(24).collect();
                format!("{:?}", String::from_utf8_lossy(&word))
            }
        };
        ErrorKind::Inval.context(format!("expected {expected}, found {found}"))
    }

    /// Whether a name or a path starts here.
    pub(crate) fn at_name(&mut self) -> bool {
        self.peek().is_some_and(|byte| starts_name(byte) || byte == b'/')
    }

    /// Reads a name and removes its escapes.
    ///
    /// # Errors
    /// `NC_EINVAL` if there is none; `NC_EBADNAME` for an invalid escape or invalid UTF-8.
    pub(crate) fn name(&mut self, what: &str) -> Result<String> {
        if !self.peek().is_some_and(starts_name) {
            return Err(self.unexpected(what));
        }
        let mut name = Vec::new();
        self.segment(&mut name)?;
        text_of(name)
    }

    /// Reads a path: names separated by `/`. Returns the segments. The first one is empty if the path starts
    /// at the root.
    pub(crate) fn path(&mut self, what: &str) -> Result<Vec<String>> {
        if !self.at_name() {
            return Err(self.unexpected(what));
        }
        let mut path = Vec::new();
        loop {
            let mut segment = Vec::new();
            self.segment(&mut segment)?;
            path.push(text_of(segment)?);
            if self.byte() != Some(b'/') || matches!(self.second(), Some(b'/' | b'*')) {
                return Ok(path);
            }
            self.at += 1;
        }
    }

    fn segment(&mut self, name: &mut Vec<u8>) -> Result<()> {
        while let Some(byte) = self.byte() {
            match byte {
                b'\\' => {
                    self.at += 1;
                    name.push(self.name_escape()?);
                }
                byte if in_name(byte) => {
                    name.push(byte);
                    self.at += 1;
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// Reads an escape in a name: a backslash and a byte, or `%` and two hexadecimal digits.
    fn name_escape(&mut self) -> Result<u8> {
        let byte = self.byte().ok_or_else(|| ErrorKind::BadName.context("a name ends in a backslash"))?;
        if byte == b'%'
            && let Some(digits) = self.rest().get(1..3)
            && let Some(value) = hex(digits)
        {
            self.at += 3;
            return Ok(value);
        }
        self.at += 1;
        Ok(byte)
    }

    /// Reads text in quotation marks. Consecutive texts are not joined.
    ///
    /// # Errors
    /// `NC_EINVAL` if it does not end, or for an invalid escape.
    pub(crate) fn quoted(&mut self) -> Result<Vec<u8>> {
        self.between(b'"', "text")
    }

    /// Reads a byte in apostrophes. More than one byte is an error. netCDF's own reader takes the first one.
    pub(crate) fn character(&mut self) -> Result<u8> {
        let bytes = self.between(b'\'', "character")?;
        match bytes.as_slice() {
            [byte] => Ok(*byte),
            _ => Err(ErrorKind::Inval.context(format!("a character of {} bytes", bytes.len()))),
        }
    }

    fn between(&mut self, mark: u8, what: &str) -> Result<Vec<u8>> {
        self.expect(mark, "")?;
        let mut out = Vec::new();
        loop {
            let rest = self.rest();
            let plain = rest.iter().position(|&byte| byte == mark || byte == b'\\');
            let plain = plain.ok_or_else(|| ErrorKind::Inval.context(format!("a {what} without an end")))?;
            out.extend_from_slice(&rest[..plain]);
            self.at += plain + 1;
            if rest[plain] == mark {
                return Ok(out);
            }
            if let Some(byte) = self.escape(what)? {
                out.push(byte);
            }
        }
    }

    /// Reads an escape in text; nothing before the end of a line.
    fn escape(&mut self, what: &str) -> Result<Option<u8>> {
        let wrong =
            |found: &str| ErrorKind::Inval.context(format!("a {what}: \"\\{found}\" is not an escape"));
        let byte = self.byte().ok_or_else(|| wrong(""))?;
        self.at += 1;
        Ok(Some(match byte {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 0x08,
            b'f' => 0x0c,
            b'v' => 0x0b,
            b'a' => 0x07,
            b'\n' => return Ok(None),
            b'x' | b'X' => {
                let digits = self.rest().iter().take(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
                let value = hex(&self.rest()[..digits]).ok_or_else(|| wrong("x"))?;
                self.at += digits;
                value
            }
            b'0'..=b'7' => {
                let digits =
                    self.rest().iter().take(2).take_while(|&byte| (b'0'..=b'7').contains(byte)).count();
                let mut value = u32::from(byte - b'0');
                for &digit in &self.rest()[..digits] {
                    value = value * 8 + u32::from(digit - b'0');
                }
                self.at += digits;
                u8::try_from(value).map_err(|_| wrong(&format!("{value:o}")))?
            }
            other => other,
        }))
    }
}

/// Parses hexadecimal digits as a byte; `None` if there are none, or too many.
fn hex(digits: &[u8]) -> Option<u8> {
    let all = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| all)?;
    u8::from_str_radix(text, 16).ok()
}

pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'\\' || !byte.is_ascii()
}

/// Whether a name may contain the byte without a backslash.
pub(crate) fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'.' | b'@' | b'+' | b'-' | b'%')
        || !byte.is_ascii()
}

fn text_of(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        ErrorKind::BadName.context(format!("{:?} is not UTF-8", String::from_utf8_lossy(error.as_bytes())))
    })
}

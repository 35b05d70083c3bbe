//! Splits the text into words and marks.

use super::{Parser, Token};

impl Parser<'_> {
    pub(super) fn peek(&mut self) -> Token {
        let at = self.at;
        let token = self.next();
        self.at = at;
        token
    }

    pub(super) fn next(&mut self) -> Token {
        let from = self.at;
        loop {
            let rest = &self.text[self.at..];
            match rest.first() {
                None => return Token::End,
                Some(byte) if byte.is_ascii_whitespace() => self.at += 1,
                Some(b'/') if rest.starts_with(b"//") => {
                    self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                }
                Some(_) => break,
            }
        }
        let spaced = self.at > from;
        let byte = self.text[self.at];
        match byte {
            b'{' | b'}' | b'(' | b')' | b'=' | b',' | b';' | b':' | b'*' => {
                self.at += 1;
                Token::Mark(byte as char, spaced)
            }
            b'"' => Token::Text(self.quoted()),
            b'-' | b'.' | b'0'..=b'9' => {
                let len = self.text[self.at..]
                    .iter()
                    .take_while(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b))
                    .count();
                self.at += len;
                Token::Number(String::from_utf8(self.text[self.at - len..self.at].to_vec()).unwrap())
            }
            _ => {
                let mut name = Vec::new();
                while let Some(&byte) = self.text.get(self.at) {
                    match byte {
                        b'\\' => {
                            name.push(self.text[self.at + 1]);
                            self.at += 2;
                        }
                        byte if byte.is_ascii_alphanumeric()
                            || !byte.is_ascii()
                            || b"_.+-@%/".contains(&byte) =>
                        {
                            name.push(byte);
                            self.at += 1;
                        }
                        _ => break,
                    }
                }
                assert!(!name.is_empty(), "unexpected {:?} at byte {}", byte as char, self.at);
                Token::Name(String::from_utf8(name).unwrap())
            }
        }
    }

    pub(super) fn quoted(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.at += 1;
        loop {
            let byte = self.text[self.at];
            self.at += 1;
            match byte {
                b'"' => return out,
                b'\\' => {
                    let escape = self.text[self.at];
                    self.at += 1;
                    out.push(match escape {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'r' => b'\r',
                        b'b' => 8,
                        b'f' => 12,
                        b'v' => 11,
                        b'0'..=b'7' => {
                            self.at += 2;
                            let digits = std::str::from_utf8(&self.text[self.at - 3..self.at]).unwrap();
                            u8::from_str_radix(digits, 8).unwrap()
                        }
                        other => other,
                    });
                }
                other => out.push(other),
            }
        }
    }

    pub(super) fn mark(&mut self, want: char) {
        let token = self.next();
        assert!(
            matches!(token, Token::Mark(mark, _) if mark == want),
            "{token:?} in place of {want:?} at {}",
            self.at
        );
    }

    pub(super) fn is_mark(&mut self, want: char) -> bool {
        let yes = matches!(self.peek(), Token::Mark(mark, _) if mark == want);
        if yes {
            self.next();
        }
        yes
    }

    pub(super) fn name(&mut self) -> String {
        match self.next() {
            Token::Name(name) => name,
            Token::Number(name) => name,
            other => panic!("{other:?} in place of a name at {}", self.at),
        }
    }

    pub(super) fn name_is(&mut self, want: &str) {
        assert_eq!(self.name(), want);
    }

    pub(super) fn number(&mut self) -> i128 {
        match self.next() {
            Token::Number(number) => number.parse().unwrap(),
            other => panic!("{other:?} in place of a number at {}", self.at),
        }
    }

    /// Returns whether a section title follows, and consumes it.
    pub(super) fn section(&mut self, title: &str) -> bool {
        let at = self.at;
        if self.peek() == Token::Name(title.to_owned()) {
            self.next();
            if self.peek() == Token::Mark(':', false) {
                self.next();
                return true;
            }
        }
        self.at = at;
        false
    }

    pub(super) fn at_end_of_section(&mut self) -> bool {
        if matches!(self.peek(), Token::Mark('}', _)) {
            return true;
        }
        let at = self.at;
        let title = match self.next() {
            Token::Name(name) => ["dimensions", "variables", "data", "group"].contains(&name.as_str()),
            _ => false,
        };
        let ends = title && self.peek() == Token::Mark(':', false) && {
            self.next();
            // A line feed follows a title, or a blank in the case of a group. The name follows a type of an
            // attribute.
            matches!(self.text.get(self.at), Some(b'\n' | b' '))
        };
        self.at = at;
        ends
    }
}

//! [`Netrc`]: the names and passwords by host in a `.netrc` file.
//!
//! Existing crates know no comments and quotes, or bring code for home directories. No content of the file is
//! printed. Source: the manual of curl.

use std::path::Path;

use nczarr_model::{ErrorKind, Result};

/// Largest netrc file in bytes.
const MOST: u64 = 1 << 20;

/// One `machine`, or `default`.
#[derive(Clone, Default, PartialEq, Eq)]
struct NetrcEntry {
    /// `None`: any host.
    host: Option<String>,
    login: String,
    password: String,
}

/// Names and passwords by host.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Netrc(Vec<NetrcEntry>);

impl Netrc {
    /// Reads a file; `None` if it does not exist.
    ///
    /// # Errors
    /// `NC_ERCFILE` if it is unreadable or not a netrc file.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>> {
        let bad = |what: &str| ErrorKind::RcFile.context(format!("{}: {what}", path.display()));
        match std::fs::metadata(path) {
            Ok(found) if found.len() > MOST => return Err(bad("longer than 1 MiB")),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(bad("cannot be read").caused_by(error)),
        }
        let bytes = std::fs::read(path).map_err(|error| bad("cannot be read").caused_by(error))?;
        let parsed = Self::parse(&String::from_utf8_lossy(&bytes));
        parsed.map(Some).map_err(|line| bad(&format!("line {line} is invalid")))
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// The number of the invalid line, without its text, which may be a password.
    fn parse(text: &str) -> Result<Self, usize> {
        let (mut machines, mut key, mut in_macro) = (Vec::<NetrcEntry>::new(), None::<String>, false);
        for (number, line) in (1..).zip(text.lines()) {
            if in_macro {
                // An empty line ends a macro.
                in_macro = !line.trim().is_empty();
                continue;
            }
            for word in words(line) {
                match key.take().as_deref() {
                    Some("machine") => {
                        machines.push(NetrcEntry { host: Some(word), ..NetrcEntry::default() })
                    }
                    Some("login") => machines.last_mut().ok_or(number)?.login = word,
                    Some("password") => machines.last_mut().ok_or(number)?.password = word,
                    Some("account") => {}
                    Some(_) => in_macro = true,
                    None => match word.as_str() {
                        "machine" | "login" | "password" | "account" | "macdef" => key = Some(word),
                        "default" => machines.push(NetrcEntry::default()),
                        _ => return Err(number),
                    },
                }
            }
        }
        Ok(Self(machines))
    }

    /// Returns name and password of an entry for a host, perhaps with a port.
    pub(crate) fn of(&self, host: &str) -> Option<(&str, &str)> {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let named = |machine: &&NetrcEntry| {
            let listed = machine.host.as_deref();
            listed
                .is_some_and(|listed| listed.eq_ignore_ascii_case(host) || listed.eq_ignore_ascii_case(name))
        };
        self.0.iter().find(named).map(|machine| (machine.login.as_str(), machine.password.as_str()))
    }

    /// Returns name and password of the default entry.
    pub(crate) fn of_any(&self) -> Option<(&str, &str)> {
        let any = self.0.iter().find(|machine| machine.host.is_none())?;
        Some((any.login.as_str(), any.password.as_str()))
    }
}

/// Splits a line into words at blanks or by quotes. `#` at the start of a word begins a comment.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), line.trim_start());
    while !rest.is_empty() && !rest.starts_with('#') {
        let quoted = rest.starts_with('"');
        let (mut word, mut chars) = (String::new(), rest[usize::from(quoted)..].chars());
        while let Some(c) = chars.next() {
            match c {
                '"' if quoted => break,
                '\\' if quoted => word.extend(chars.next()),
                c if c.is_whitespace() && !quoted => break,
                c => word.push(c),
            }
        }
        words.push(word);
        rest = chars.as_str().trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_found_by_their_names() {
        let text = "# a comment\nmachine a.example login me password p#1 # the rest\n\
                    machine b.example:8080\n  login \"m e\"\n\tpassword \"x \\\"y\\\\\"\n  account z\n\
                    macdef init\nmachine evil login e password e\n\nmachine A.example login no password no\n\
                    default login any password thing\n";
        let netrc = Netrc::parse(text).unwrap();
        assert_eq!(netrc.of("a.example"), Some(("me", "p#1")));
        assert_eq!(netrc.of("A.EXAMPLE:8443"), Some(("me", "p#1")));
        assert_eq!(netrc.of("b.example:8080"), Some(("m e", "x \"y\\")));
        for absent in ["b.example", "b.example:80", "evil", "example", "default", "xa.example"] {
            assert_eq!(netrc.of(absent), None, "{absent}");
        }
        assert_eq!(netrc.of_any(), Some(("any", "thing")));
        assert_eq!((Netrc::parse("").unwrap().of_any(), Netrc::parse("login me").err()), (None, Some(1)));
        assert_eq!(Netrc::parse("machine a login b\nhush hush").err(), Some(2));
    }
}

//! [`RcFile`]: the settings of `.ncrc`, `.daprc` and `.dodsrc`, for remote storage.
//!
//! Lines have the form `KEY=value`; `#` begins a comment. `[https://host:port/path]` before a key limits it
//! to URLs with that prefix. `NCRCENV_IGNORE` disables all files; `NCRCENV_RC` names a single one. Otherwise
//! `.ncrc`, `.daprc` and `.dodsrc` are read in the home directory (`NCRCENV_HOME`, else `HOME`), then in the
//! current one; later files have precedence. Settings of the program ([`RcFile::set_for_process`]) have
//! precedence over files. Values may be secrets and are never printed.
//!
//! Source: netCDF-C, documentation of the run-time configuration.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nczarr_model::{ErrorKind, Result};

/// The largest size of an rc file, in bytes.
const MOST: u64 = 1 << 20;

/// The settings of the program: keys as it wrote them, and values.
static OF_PROCESS: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// A line of an rc file.
#[derive(Clone, PartialEq, Eq)]
struct RcSetting {
    /// The scheme of the URL prefix, if it has one.
    scheme: Option<String>,
    /// The URL prefix, without the scheme.
    place: Option<String>,
    /// As written.
    name: String,
    /// In upper case.
    key: String,
    /// `None`: the line has no `=`.
    value: Option<String>,
}

/// The settings of all rc files; later ones have precedence.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RcFile(Vec<RcSetting>);

impl RcFile {
    /// Reads the files that the environment `variable`s name, and adds the settings of the program. Missing
    /// files are ignored.
    ///
    /// # Errors
    /// `NC_ERCFILE` that names an unreadable file.
    pub fn load(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        if variable("NCRCENV_IGNORE").is_some() {
            return Ok(Self::default());
        }
        let mut rc = Self::default();
        if let Some(only) = variable("NCRCENV_RC").filter(|path| !path.is_empty()) {
            rc.read(Path::new(&only))?;
            rc.add_settings_of_process();
            return Ok(rc);
        }
        let home = variable("NCRCENV_HOME").or_else(|| variable("HOME")).map(PathBuf::from);
        let home = home.filter(|home| !home.as_os_str().is_empty());
        for folder in home.iter().chain([&PathBuf::from(".")]) {
            for name in [".ncrc", ".daprc", ".dodsrc"] {
                rc.read(&folder.join(name))?;
            }
        }
        rc.add_settings_of_process();
        Ok(rc)
    }

    /// Makes a setting for all files that are loaded from now on. It replaces one with the same key.
    pub fn set_for_process(name: &str, value: &str) {
        let (name, value) = (name.trim(), value.trim());
        let mut settings = OF_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
        settings.retain(|(known, _)| known != name);
        settings.push((name.to_owned(), value.to_owned()));
    }

    /// Forgets the settings of the program.
    pub fn forget_settings_of_process() {
        OF_PROCESS.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn add_settings_of_process(&mut self) {
        let settings = OF_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = settings.iter().map(|(name, value)| RcSetting {
            scheme: None,
            place: None,
            name: name.clone(),
            key: name.to_ascii_uppercase(),
            value: Some(value.clone()),
        });
        self.0.extend(entries);
    }

    fn read(&mut self, path: &Path) -> Result<()> {
        let bad = |what: &str| ErrorKind::RcFile.context(format!("{}: {what}", path.display()));
        let found = match std::fs::metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(bad("cannot read the file").caused_by(error)),
        };
        if !found.is_file() {
            return Ok(());
        }
        if found.len() > MOST {
            return Err(bad("the file is longer than 1 MiB"));
        }
        let bytes = std::fs::read(path).map_err(|error| bad("cannot read the file").caused_by(error))?;
        self.add(&String::from_utf8_lossy(&bytes));
        Ok(())
    }

    /// Adds the lines of a file.
    pub fn add(&mut self, text: &str) {
        for line in text.lines().map(str::trim) {
            if line.starts_with('#') {
                continue;
            }
            let (place, line) = match bracketed(line) {
                Some((place, line)) => (Some(place.trim()), line),
                None => (None, line),
            };
            let scheme = place.and_then(|place| Some(place.split_once("://")?.0.to_ascii_lowercase()));
            let place = place.map(|place| without_scheme(place).to_owned());
            let (name, value) = match line.split_once('=') {
                Some((name, value)) => (name.trim(), Some(value.trim().to_owned())),
                None => (line.trim(), None),
            };
            if !name.is_empty() || value.is_some() {
                self.0.push(RcSetting {
                    scheme,
                    place,
                    name: name.to_owned(),
                    key: name.to_ascii_uppercase(),
                    value,
                });
            }
        }
    }

    /// Returns the value of a key as it is written, from lines without a URL prefix; of several, the last.
    /// The value of a line without `=` is empty.
    pub fn get_exactly(&self, name: &str) -> Option<&str> {
        let mut fits = self.0.iter().rev().filter(|entry| entry.place.is_none() && entry.name == name);
        Some(fits.next()?.value.as_deref().unwrap_or_default())
    }

    /// Returns the value of `key` (in upper case) for the URL `host/path`; a scheme is ignored. The line with
    /// the longest matching prefix counts; of several, the last.
    pub fn get(&self, key: &str, place: &str) -> Option<&str> {
        let place = without_scheme(place);
        let fits = |entry: &&RcSetting| {
            entry.key == key && entry.place.as_deref().is_none_or(|prefix| begins(place, prefix))
        };
        self.longest(fits)
    }

    /// As [`RcFile::get`], for URLs that the server chose, such as redirects. Only lines with a prefix count,
    /// and scheme, host and port must be equal. A prefix without a scheme matches both.
    pub fn get_strictly(&self, key: &str, url: &str) -> Option<&str> {
        let (scheme, place) = url.split_once("://")?;
        let usual = if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 };
        let at = |place: &str| {
            let end = place.find(['/', '?', '#']).unwrap_or(place.len());
            let (host, path) = place.split_at(end);
            let (host, port) = match host.rsplit_once(':') {
                Some((host, port)) if !port.ends_with(']') => (host, port.parse().unwrap_or(usual)),
                _ => (host, usual),
            };
            (host.to_ascii_lowercase(), port, path.to_owned())
        };
        let (host, port, path) = at(place);
        let fits = |entry: &&RcSetting| {
            let Some(named) = entry.place.as_deref().map(at).filter(|_| entry.key == key) else {
                return false;
            };
            let same = entry.scheme.as_deref().is_none_or(|named| named.eq_ignore_ascii_case(scheme));
            same && (&named.0, named.1) == (&host, port) && begins(&path, &named.2)
        };
        self.longest(fits)
    }

    /// Returns all keys with this prefix, in upper case, each once.
    pub fn keys(&self, start: &str) -> Vec<&str> {
        let settings = self.0.iter().filter(|entry| entry.value.is_some());
        let mut keys: Vec<&str> =
            settings.map(|entry| entry.key.as_str()).filter(|key| key.starts_with(start)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Returns the value of the line with the longest prefix; of several, the last.
    fn longest(&self, fits: impl Fn(&&RcSetting) -> bool) -> Option<&str> {
        let found = self
            .0
            .iter()
            .filter(|entry| entry.value.is_some())
            .filter(fits)
            .max_by_key(|entry| entry.place.as_ref().map_or(0, |place| place.len() + 1));
        found.and_then(|entry| entry.value.as_deref())
    }
}

impl fmt::Debug for RcFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|entry| &entry.key)).finish()
    }
}

/// Splits a line into the bracketed prefix, which may contain an IPv6 address in brackets, and the rest.
fn bracketed(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix('[')?;
    let inner = line.find("://[").map_or(usize::from(line.starts_with('[')), |at| at + 4);
    let inner = if inner > 0 { line[inner..].find(']').map(|at| inner + at + 1)? } else { 0 };
    let end = inner + line[inner..].find(']')?;
    Some((&line[..end], &line[end + 1..]))
}

/// Whether `place` equals `prefix`, or continues after it with a port, a path or a fragment.
fn begins(place: &str, prefix: &str) -> bool {
    let prefix = prefix.trim_end_matches('/');
    place.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':', '?', '#']))
}

fn without_scheme(place: &str) -> &str {
    place.split_once("://").map_or(place, |(_, place)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_lines_and_longer_places_win() {
        let mut rc = RcFile::default();
        rc.add(
            "# a comment\nAWS.REGION = one\naws.region=two\nnothing\n[https://h.example:9000/data]AWS.REGION=three\n",
        );
        rc.add("[https://h.example:9000]AWS.REGION=four\n[https://h.example]HTTP.TIMEOUT=7");
        for (place, expected) in [
            ("", "two"),
            ("https://h.example", "two"),
            ("h.example:9000", "four"),
            ("h.example:9000/dat", "four"),
            ("h.example:9000/data/x", "three"),
            ("h.example:90001/data/x", "two"),
        ] {
            assert_eq!(rc.get("AWS.REGION", place), Some(expected), "{place}");
        }
        assert_eq!(rc.get("HTTP.TIMEOUT", "h.example:1"), Some("7"));
        assert_eq!(rc.get("HTTP.TIMEOUT", "h.example.org"), None);
        assert!(!format!("{rc:?}").contains("three"));
    }

    #[test]
    fn places_that_others_chose_must_be_the_very_same() {
        let mut rc = RcFile::default();
        rc.add(
            "K=all\n[https://h.example]K=plain\n[https://h.example:444/d]K=port\n[i.example:80]K=either\nK.b=1\nk.a=2",
        );
        rc.add("[http://[::1]:9/x]K=six\nK.A=3");
        for (url, expected) in [
            ("https://h.example/x", Some("plain")),
            ("https://H.example:443/x", Some("plain")),
            ("https://h.example:444/x", None),
            ("https://h.example:444/d/x", Some("port")),
            ("https://h.example:444/dx", None),
            ("http://h.example/x", None),
            ("http://h.example:443/x", None),
            ("https://x.h.example/", None),
            ("https://h.example.org/", None),
            ("http://i.example/", Some("either")),
            ("https://i.example/", None),
            ("http://[::1]:9/x/y", Some("six")),
            ("http://[::1]/x/y", None),
            ("https://other.example/", None),
        ] {
            assert_eq!(rc.get_strictly("K", url), expected, "{url}");
        }
        assert_eq!(rc.keys("K."), ["K.A", "K.B"]);
    }

    #[test]
    fn an_exact_key_has_the_value_of_the_last_line_without_a_prefix() {
        let mut rc = RcFile::default();
        rc.add("a=1\n#a=2\n[http://h.example]a=3\nA=4\nb\n c = x y=z \n=empty\n\nd=1\nd");
        for (name, expected) in [
            ("a", Some("1")),
            ("A", Some("4")),
            ("b", Some("")),
            ("c", Some("x y=z")),
            ("d", Some("")),
            ("", Some("empty")),
            ("e", None),
        ] {
            assert_eq!(rc.get_exactly(name), expected, "{name:?}");
        }
        assert_eq!([rc.get("B", ""), rc.get("D", "")], [None, Some("1")]);
    }

    #[test]
    fn files_are_read_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(".dodsrc", "A=dods\nB=dods");
        write(".ncrc", "A=nc\nC=nc");
        write("only", "A=only");
        let home = folder.path().to_str().unwrap().to_owned();
        let only = folder.path().join("only").to_str().unwrap().to_owned();
        let load = |vars: &[(&str, &str)]| {
            RcFile::load(&|name| {
                vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
            .unwrap()
        };
        let rc = load(&[("HOME", &home)]);
        assert_eq!(
            [rc.get("A", ""), rc.get("B", ""), rc.get("C", "")],
            [Some("dods"), Some("dods"), Some("nc")]
        );
        let rc = load(&[("HOME", &home), ("NCRCENV_RC", &only)]);
        assert_eq!([rc.get("A", ""), rc.get("B", "")], [Some("only"), None]);
        assert_eq!(load(&[("HOME", &home), ("NCRCENV_IGNORE", "1")]), RcFile::default());
        assert_eq!(load(&[("HOME", "/"), ("NCRCENV_HOME", &home)]).get("C", ""), Some("nc"));
    }
}

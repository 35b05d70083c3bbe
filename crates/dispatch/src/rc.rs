//! [`Rc`]: the settings of `.ncrc`, `.daprc` and `.dodsrc`, for whoever reaches for a network.
//!
//! Lines `KEY=value`; `#` begins a comment line; `[https://host:port/path]` before a key limits it to places that begin so.
//! `NCRCENV_IGNORE` switches the files off, `NCRCENV_RC` names the only one. Else `.ncrc`, `.daprc` and `.dodsrc` in the home
//! directory (`NCRCENV_HOME`, else `HOME`) and then in the current one are read, later ones over earlier ones. Values may be
//! secrets: nothing here prints them.
//!
//! Source: netCDF-C's file on the run-time configuration.

use std::fmt;
use std::path::{Path, PathBuf};

use model::{ErrorKind, Result};

/// An rc file larger than this is none.
const MOST: u64 = 1 << 20;

/// One line.
#[derive(Clone, PartialEq, Eq)]
struct Entry {
    /// What a place must begin with, without the scheme.
    place: Option<String>,
    /// In upper case.
    key: String,
    value: String,
}

/// The settings of all rc files, later ones over earlier ones.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Rc(Vec<Entry>);

impl Rc {
    /// Reads the files that the environment `variable` leads to. Files that are not there are none.
    ///
    /// # Errors
    /// `NC_ERCFILE` naming a file that is there and cannot be read.
    pub fn load(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        if variable("NCRCENV_IGNORE").is_some() {
            return Ok(Self::default());
        }
        let mut rc = Self::default();
        if let Some(only) = variable("NCRCENV_RC").filter(|path| !path.is_empty()) {
            rc.read(Path::new(&only))?;
            return Ok(rc);
        }
        let home = variable("NCRCENV_HOME").or_else(|| variable("HOME")).map(PathBuf::from);
        let home = home.filter(|home| !home.as_os_str().is_empty());
        for folder in home.iter().chain([&PathBuf::from(".")]) {
            for name in [".ncrc", ".daprc", ".dodsrc"] {
                rc.read(&folder.join(name))?;
            }
        }
        Ok(rc)
    }

    fn read(&mut self, path: &Path) -> Result<()> {
        let bad = |what: &str| ErrorKind::RcFile.context(format!("{}: {what}", path.display()));
        let found = match std::fs::metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(bad("cannot be read").caused_by(error)),
        };
        if !found.is_file() {
            return Ok(());
        }
        if found.len() > MOST {
            return Err(bad("longer than 1 MiB"));
        }
        let bytes = std::fs::read(path).map_err(|error| bad("cannot be read").caused_by(error))?;
        self.add(&String::from_utf8_lossy(&bytes));
        Ok(())
    }

    /// Adds the lines of a file. Lines that say nothing are left aside.
    pub fn add(&mut self, text: &str) {
        for line in text.lines().map(str::trim) {
            if line.starts_with('#') {
                continue;
            }
            let (place, line) = match line.strip_prefix('[').and_then(|line| line.split_once(']')) {
                Some((place, line)) => (Some(without_scheme(place.trim()).to_owned()), line),
                None => (None, line),
            };
            if let Some((key, value)) = line.split_once('=') {
                let (key, value) = (key.trim().to_ascii_uppercase(), value.trim().to_owned());
                self.0.push(Entry { place, key, value });
            }
        }
    }

    /// The value of `key`, in upper case, for the place `host/path` (a scheme before it counts for nothing): that of the
    /// longest place before a key that it begins with; of several like that, the last.
    pub fn get(&self, key: &str, place: &str) -> Option<&str> {
        let place = without_scheme(place);
        let fits =
            |entry: &&Entry| entry.key == key && entry.place.as_deref().is_none_or(|prefix| begins(place, prefix));
        let found =
            self.0.iter().filter(fits).max_by_key(|entry| entry.place.as_ref().map_or(0, |place| place.len() + 1));
        found.map(|entry| entry.value.as_str())
    }
}

impl fmt::Debug for Rc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|entry| &entry.key)).finish()
    }
}

/// Whether `place` is `prefix` or goes on behind it with a port, a path or a fragment.
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
        let mut rc = Rc::default();
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
    fn files_are_read_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(".dodsrc", "A=dods\nB=dods");
        write(".ncrc", "A=nc\nC=nc");
        write("only", "A=only");
        let home = folder.path().to_str().unwrap().to_owned();
        let only = folder.path().join("only").to_str().unwrap().to_owned();
        let load = |vars: &[(&str, &str)]| {
            Rc::load(&|name| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())).unwrap()
        };
        let rc = load(&[("HOME", &home)]);
        assert_eq!([rc.get("A", ""), rc.get("B", ""), rc.get("C", "")], [Some("dods"), Some("dods"), Some("nc")]);
        let rc = load(&[("HOME", &home), ("NCRCENV_RC", &only)]);
        assert_eq!([rc.get("A", ""), rc.get("B", "")], [Some("only"), None]);
        assert_eq!(load(&[("HOME", &home), ("NCRCENV_IGNORE", "1")]), Rc::default());
        assert_eq!(load(&[("HOME", "/"), ("NCRCENV_HOME", &home)]).get("C", ""), Some("nc"));
    }
}

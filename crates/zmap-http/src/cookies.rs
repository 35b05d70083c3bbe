//! [`CookieJar`]: cookies, kept by the process, and in a file if configured.
//!
//! A cookie returns only to its origin: the same scheme, host and port. `Domain` does not extend it to other
//! hosts. The crate `cookie` parses cookies of servers. The file format is curl's and older browsers', which
//! has no port.
//!
//! Source: RFC 6265; curl's description of its cookie file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cookie::{Cookie, Expiration};
use hyper::header::{HeaderMap, HeaderValue, SET_COOKIE};
use nczarr_model::{ErrorKind, Result};

use crate::server_url::ServerUrl;

/// Most cookies kept. The newest stay.
const MOST: usize = 1000;
/// Longest cookie in bytes. Longer ones are ignored.
const LONGEST: usize = 4096;
/// Largest cookie file in bytes.
const MOST_FILE: u64 = 4 << 20;

/// One cookie.
#[derive(Clone, PartialEq, Eq)]
struct CookieEntry {
    /// Scheme and port of its origin. A cookie from a file has none.
    origin: Option<(&'static str, u16)>,
    /// In lower case, without port.
    host: String,
    /// Hosts below this name get it too, according to its file.
    below: bool,
    path: String,
    secure: bool,
    expires: Option<SystemTime>,
    name: String,
    value: String,
}

/// The cookies, and their file.
#[derive(Clone, Default)]
pub(crate) struct CookieJar(Arc<Mutex<Vec<CookieEntry>>>, Option<PathBuf>);

impl CookieJar {
    /// Returns the process's cookies, or those of a file, which is read once.
    ///
    /// # Errors
    /// `NC_ERCFILE` if the file is unreadable.
    pub(crate) fn shared(file: Option<&Path>) -> Result<Self> {
        static JARS: Mutex<Vec<CookieJar>> = Mutex::new(Vec::new());
        let mut jars = JARS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(jar) = jars.iter().find(|jar| jar.1.as_deref() == file) {
            return Ok(jar.clone());
        }
        let kept = file.map(read).transpose()?.unwrap_or_default();
        let jar = Self(Arc::new(Mutex::new(kept)), file.map(Path::to_owned));
        jars.push(jar.clone());
        Ok(jar)
    }

    /// Returns the cookies for a URL as a header value.
    pub(crate) fn of(&self, place: &ServerUrl) -> Option<HeaderValue> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut fitting: Vec<&CookieEntry> =
            kept.iter().filter(|cookie| cookie.fits(place, SystemTime::now())).collect();
        // Longer paths come first.
        fitting.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let text: Vec<String> =
            fitting.iter().map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect();
        let mut value = HeaderValue::from_str(&text.join("; ")).ok().filter(|_| !text.is_empty())?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Keeps the cookies of a response.
    pub(crate) fn keep(&self, place: &ServerUrl, headers: &HeaderMap) {
        let mut set =
            headers.get_all(SET_COOKIE).iter().filter_map(|value| CookieEntry::of(place, value)).peekable();
        if set.peek().is_none() {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for cookie in set {
            kept.retain(|old| !old.is_replaced_by(&cookie));
            if cookie.expires.is_none_or(|end| end > SystemTime::now()) {
                kept.push(cookie);
            }
        }
        let more = kept.len().saturating_sub(MOST);
        kept.drain(..more);
        if let Some(path) = &self.1
            && let Err(error) = write(path, &kept)
        {
            tracing::warn!(path = %path.display(), %error, "the cookies were not written");
        }
    }
}

impl CookieEntry {
    /// Parses the cookie of a server.
    fn of(place: &ServerUrl, value: &HeaderValue) -> Option<Self> {
        let cookie = Cookie::parse(value.to_str().ok().filter(|text| text.len() <= LONGEST)?).ok()?;
        let (host, port) = place.host_and_port();
        // A server sets no cookies for other hosts.
        let domain = cookie.domain().map(|domain| domain.trim_start_matches('.').to_ascii_lowercase());
        if domain.is_some_and(|domain| domain != host && !host.ends_with(&format!(".{domain}"))) {
            return None;
        }
        let folder = place.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = cookie.path().filter(|path| path.starts_with('/'));
        let path = path.unwrap_or(if folder.is_empty() { "/" } else { folder });
        let after = |seconds: i64| match u64::try_from(seconds) {
            Ok(seconds) => SystemTime::now().checked_add(Duration::from_secs(seconds)),
            Err(_) => Some(UNIX_EPOCH),
        };
        let expires = match (cookie.max_age(), cookie.expires()) {
            (Some(age), _) => after(age.whole_seconds()),
            (None, Some(Expiration::DateTime(at))) => Some(at.into()),
            (None, _) => None,
        };
        Some(Self {
            origin: Some((place.scheme, port)),
            host,
            below: false,
            path: path.to_owned(),
            secure: cookie.secure().unwrap_or(false),
            expires,
            name: cookie.name().to_owned(),
            value: cookie.value().to_owned(),
        })
    }

    fn fits(&self, place: &ServerUrl, now: SystemTime) -> bool {
        let (host, port) = place.host_and_port();
        let below = || self.below && host.strip_suffix(&self.host).is_some_and(|rest| rest.ends_with('.'));
        let path = place.path.strip_prefix(&self.path);
        (host == self.host || below())
            && self.origin.is_none_or(|origin| origin == (place.scheme, port))
            && path.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || self.path.ends_with('/'))
            && (!self.secure || place.scheme == "https")
            && self.expires.is_none_or(|end| end > now)
    }

    fn is_replaced_by(&self, other: &Self) -> bool {
        let same = (&self.host, &self.path, &self.name) == (&other.host, &other.path, &other.name);
        same && (self.origin == other.origin || self.origin.is_none())
    }
}

/// Reads a cookie file; a missing file has none.
fn read(path: &Path) -> Result<Vec<CookieEntry>> {
    let bad = |what: &str| ErrorKind::RcFile.context(format!("HTTP.COOKIEJAR: {}: {what}", path.display()));
    match std::fs::metadata(path) {
        Ok(found) if found.len() > MOST_FILE => return Err(bad("longer than 4 MiB")),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(bad("cannot be read").caused_by(error)),
    }
    let bytes = std::fs::read(path).map_err(|error| bad("cannot be read").caused_by(error))?;
    Ok(String::from_utf8_lossy(&bytes).lines().filter_map(line).collect())
}

/// Parses a line: domain, subdomains, path, encrypted only, expiry, name, value.
fn line(text: &str) -> Option<CookieEntry> {
    let text = text.strip_prefix("#HttpOnly_").unwrap_or(text);
    if text.starts_with('#') {
        return None;
    }
    let fields: Vec<&str> = text.split('\t').collect();
    let [domain, below, path, secure, end, name, value] = fields[..] else { return None };
    let yes = |text: &str| text.eq_ignore_ascii_case("TRUE");
    let end = end.parse::<u64>().ok()?;
    Some(CookieEntry {
        origin: None,
        host: domain.trim_start_matches('.').to_ascii_lowercase(),
        below: yes(below),
        path: path.to_owned(),
        secure: yes(secure),
        expires: (end > 0).then(|| UNIX_EPOCH.checked_add(Duration::from_secs(end))).flatten(),
        name: name.to_owned(),
        value: value.to_owned(),
    })
}

/// Replaces the file; only its owner may read it.
fn write(path: &Path, kept: &[CookieEntry]) -> std::io::Result<()> {
    let mut text = String::from("# Netscape HTTP Cookie File\n");
    let flag = |yes: bool| if yes { "TRUE" } else { "FALSE" };
    for cookie in kept {
        let end =
            cookie.expires.and_then(|end| end.duration_since(UNIX_EPOCH).ok()).map_or(0, |end| end.as_secs());
        let CookieEntry { host, path, name, value, .. } = cookie;
        let (below, secure) = (flag(cookie.below), flag(cookie.secure));
        let _ = writeln!(text, "{host}\t{below}\t{path}\t{secure}\t{end}\t{name}\t{value}");
    }
    let new = path.with_extension(format!("new{}", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    std::io::Write::write_all(&mut options.open(&new)?, text.as_bytes())?;
    std::fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(url: &str) -> ServerUrl {
        ServerUrl::of(&nczarr_url_infer::parse(url).unwrap()).unwrap()
    }

    fn set(jar: &CookieJar, url: &str, text: &str) {
        let mut headers = HeaderMap::new();
        headers.append(SET_COOKIE, text.parse().unwrap());
        jar.keep(&place(url), &headers);
    }

    fn sent(jar: &CookieJar, url: &str) -> String {
        jar.of(&place(url)).map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn cookies_go_back_to_the_place_that_set_them() {
        let jar = CookieJar::default();
        set(&jar, "https://a.b.example/d/x", "one=1; Domain=b.example; Path=/; HttpOnly; Secure");
        set(&jar, "https://a.b.example/d/x", "two=2; Max-Age=100");
        set(&jar, "https://a.b.example/d/x", "other=3; Domain=c.example");
        set(&jar, "https://a.b.example/d/x", "old=4; Expires=Wed, 21 Oct 2015 07:28:00 GMT");
        set(&jar, "http://h:8080/", "plain=5");
        for (url, cookies) in [
            ("https://a.b.example/d/y", "two=2; one=1"),
            ("https://A.b.example:443/d", "two=2; one=1"),
            ("https://a.b.example/dd", "one=1"),
            ("http://a.b.example/d/y", ""),
            ("https://a.b.example:444/d/y", ""),
            ("https://b.example/d/y", ""),
            ("https://x.b.example/d/y", ""),
            ("http://h:8080/z", "plain=5"),
            ("http://h/z", ""),
        ] {
            assert_eq!(sent(&jar, url), cookies, "{url}");
        }
        set(&jar, "https://a.b.example/d/x", "two=; Max-Age=0");
        assert_eq!(sent(&jar, "https://a.b.example/d/y"), "one=1");
    }

    #[test]
    fn a_file_is_read_and_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jar");
        std::fs::write(
            &path,
            "# Netscape HTTP Cookie File\n#HttpOnly_.b.example\tTRUE\t/\tTRUE\t0\tone\t1\nh\tFALSE\t/d\tFALSE\t4102444800\ttwo\t2\n\
             h\tFALSE\t/\tFALSE\t1\told\t3\nnothing\n",
        )
        .unwrap();
        let jar = CookieJar(Arc::new(Mutex::new(read(&path).unwrap())), Some(path.clone()));
        assert_eq!(sent(&jar, "https://a.b.example/"), "one=1");
        assert_eq!([sent(&jar, "http://a.b.example/"), sent(&jar, "https://ab.example/")], ["", ""]);
        assert_eq!([sent(&jar, "http://h:8080/d/x"), sent(&jar, "http://x.h/d/x")], ["two=2", ""]);
        set(&jar, "http://h:8080/d/x", "two=4; Path=/d");
        let again = CookieJar(Arc::new(Mutex::new(read(&path).unwrap())), None);
        assert_eq!(
            [sent(&again, "http://h:8080/d/x"), sent(&again, "https://a.b.example/")],
            ["two=4", "one=1"]
        );
    }
}

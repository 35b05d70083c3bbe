//! [`Key`]: the name of an object in a map.

use std::fmt;

use nczarr_model::{ErrorKind, Result};

/// The path of an object inside a map: segments joined by `/`, relative, checked.
///
/// `temp/0.0` is a key. The empty key is the root: it holds no object and is the prefix of all keys. No
/// segment is empty, `.` or `..`, and none has a control character, so maps need not check.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(String);

impl Key {
    /// The empty key: the prefix of every other.
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// Returns `path` as a key.
    ///
    /// # Errors
    /// [`ErrorKind::Inval`] that names the path and the illegal segment.
    pub fn new(path: &str) -> Result<Self> {
        check(path)?;
        Ok(Self(path.to_owned()))
    }

    /// Returns the key as text, without a leading `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the empty key.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the segments from the root on.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|segment| !segment.is_empty())
    }

    /// Returns this key with `path` (one or more segments) appended.
    ///
    /// # Errors
    /// As [`Key::new`].
    pub fn join(&self, path: &str) -> Result<Self> {
        let mut key = Self(String::with_capacity(self.0.len() + 1 + path.len()));
        key.set(self);
        key.push(path)?;
        Ok(key)
    }

    /// Whether `text` can be one segment of a key.
    pub fn is_segment(text: &str) -> bool {
        !text.contains('/') && check_segment(text).is_ok()
    }

    /// Returns any name as printable text: escapes control characters and invalid UTF-8.
    pub fn escaped(name: &[u8]) -> String {
        let mut text = String::new();
        for chunk in name.utf8_chunks() {
            for char in chunk.valid().chars() {
                if char.is_control() { text.extend(char.escape_default()) } else { text.push(char) }
            }
            text.extend(chunk.invalid().iter().flat_map(|byte| byte.escape_ascii()).map(char::from));
        }
        text
    }

    /// Appends `path` (one or more segments) in place.
    ///
    /// # Errors
    /// As [`Key::new`]; the key is then unchanged.
    pub fn push(&mut self, path: &str) -> Result<()> {
        if !is_plain(path) {
            for segment in path.split('/') {
                check_segment(segment)
                    .map_err(|error| error.at(format_args!("key {path:?} below {:?}", self.0)))?;
            }
        }
        self.separate();
        self.0.push_str(path);
        Ok(())
    }

    /// Returns the key without its last segment; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        match self.0.rsplit_once('/') {
            Some((parent, _)) => Some(Self(parent.to_owned())),
            None if self.0.is_empty() => None,
            None => Some(Self::root()),
        }
    }

    /// Returns the last segment; empty for the root.
    pub fn name(&self) -> &str {
        let start = self.0.bytes().rposition(|byte| byte == b'/').map_or(0, |at| at + 1);
        &self.0[start..]
    }

    /// Returns the rest of this key after `prefix` and a `/`, or `None` if it is not below it.
    pub fn relative_to<'a>(&'a self, prefix: &Key) -> Option<&'a str> {
        if prefix.is_root() {
            return Some(&self.0);
        }
        self.0.strip_prefix(&prefix.0)?.strip_prefix('/')
    }

    /// Makes this key equal to `other`, keeping its memory.
    pub fn set(&mut self, other: &Key) {
        self.0.clear();
        self.0.push_str(&other.0);
    }

    /// Appends the numbers in `index`, joined by `separator`: one segment, or several with `/`.
    ///
    /// An empty `index` appends nothing. It allocates only if the key must grow.
    pub fn push_index(&mut self, index: &[u64], separator: char) {
        for (i, number) in index.iter().enumerate() {
            if i == 0 {
                self.separate();
            } else {
                self.0.push(separator);
            }
            push_number(&mut self.0, *number);
        }
    }

    /// Appends `first`, the separator, and the numbers as [`Key::push_index`] does: a chunk's name in Zarr
    /// V3.
    pub fn push_index_after(&mut self, first: char, index: &[u64], separator: char) {
        self.separate();
        self.0.push(first);
        for number in index {
            self.0.push(separator);
            push_number(&mut self.0, *number);
        }
    }

    fn separate(&mut self) {
        if !self.0.is_empty() {
            self.0.push('/');
        }
    }
}

/// Appends a number in decimal. `format!` would take longer than all other work for the key of a small chunk.
fn push_number(text: &mut String, number: u64) {
    /// The number of digits of the greatest number.
    const MOST: usize = u64::MAX.ilog10() as usize + 1;
    if number < 10 {
        return text.push(char::from(b'0' + number as u8));
    }
    let (mut digits, mut from, mut rest) = ([b'0'; MOST], MOST, number);
    while from > 0 && rest > 0 {
        from -= 1;
        digits[from] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // Digits are valid UTF-8.
    text.push_str(str::from_utf8(&digits[from..]).unwrap_or_default());
}

/// Whether `path` is one legal segment of printable ASCII: a fast test that accepts almost all segments.
fn is_plain(path: &str) -> bool {
    path.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'/') && !matches!(path, "" | "." | "..")
}

/// Whether `path` is printable ASCII and no segment is empty or starts with `.`: one pass that accepts almost
/// all keys of chunks.
fn is_plain_path(path: &str) -> bool {
    let mut before = b'/';
    for byte in path.bytes() {
        if !matches!(byte, b' '..=b'~') || (before == b'/' && matches!(byte, b'/' | b'.')) {
            return false;
        }
        before = byte;
    }
    before != b'/'
}

fn check_segment(segment: &str) -> Result<()> {
    match segment {
        "" => Err(ErrorKind::Inval.context("empty segment")),
        "." | ".." => Err(ErrorKind::Inval.context(format!("segment {segment:?}"))),
        // The first test is fast and decides almost all cases.
        _ if segment.bytes().any(|byte| !matches!(byte, b' '..=b'~'))
            && segment.chars().any(char::is_control) =>
        {
            Err(ErrorKind::Inval.context(format!("control character in segment {segment:?}")))
        }
        _ => Ok(()),
    }
}

/// As [`Key::new`], without a copy.
impl TryFrom<String> for Key {
    type Error = nczarr_model::Error;

    fn try_from(path: String) -> Result<Self> {
        check(&path)?;
        Ok(Self(path))
    }
}

/// Returns the text of a key, without a copy.
impl From<Key> for String {
    fn from(key: Key) -> Self {
        key.0
    }
}

/// Checks that a path is a key.
fn check(path: &str) -> Result<()> {
    if !path.is_empty() && !is_plain_path(path) {
        for segment in path.split('/') {
            check_segment(segment).map_err(|error| error.at(format_args!("key {path:?}")))?;
        }
    }
    Ok(())
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:?})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_leaves_its_map() {
        for bad in ["/a", "a/", "a//b", "..", "a/../b", ".", "a/./b", "a\nb", "a\0", "\u{85}", "a\u{7f}"] {
            assert_eq!(Key::new(bad).unwrap_err().kind(), ErrorKind::Inval, "{bad:?}");
            assert!(!Key::is_segment(bad), "{bad:?}");
        }
        for good in ["", "a", ".zarray", "a/.zattrs", "...", "a b/ü:*?", "a\\b"] {
            assert_eq!(Key::new(good).unwrap().as_str(), good);
            assert_eq!(Key::is_segment(good), !good.is_empty() && !good.contains('/'), "{good:?}");
        }
    }

    #[test]
    fn all_short_paths_are_checked_alike() {
        let legal =
            |segment: &str| !matches!(segment, "" | "." | "..") && !segment.contains(char::is_control);
        let (mut paths, mut from) = (vec![String::new()], 0);
        for _ in 0..5 {
            let to = paths.len();
            for at in from..to {
                paths.extend(["a", ".", "/", "~", "ü", "\u{7f}"].map(|next| format!("{}{next}", paths[at])));
            }
            from = to;
        }
        for path in paths {
            let expected = path.is_empty() || path.split('/').all(legal);
            assert_eq!(Key::new(&path).is_ok(), expected, "{path:?}");
            assert_eq!(Key::try_from(path.clone()).is_ok(), expected, "{path:?}");
            assert_eq!(Key::root().push(&path).is_ok(), expected && !path.is_empty(), "{path:?}");
        }
    }

    #[test]
    fn every_name_can_be_shown() {
        for (name, shown) in [
            (&b"a b/\xc3\xbc"[..], "a b/ü"),
            (b"sea\ttemp\n", "sea\\ttemp\\n"),
            (b"\x00\xff\x7f", "\\u{0}\\xff\\u{7f}"),
            (b"", ""),
        ] {
            assert_eq!(Key::escaped(name), shown);
        }
    }

    #[test]
    fn keys_are_built_in_place() {
        let base = Key::new("g/v").unwrap();
        let mut key = Key::root();
        key.set(&base);
        key.push_index(&[1, 0, 12], '.');
        assert_eq!(key.as_str(), "g/v/1.0.12");
        key.set(&base);
        key.push_index(&[1, 2], '/');
        assert_eq!(key.as_str(), "g/v/1/2");
        assert_eq!(key.relative_to(&base), Some("1/2"));
        let numbers = [0, 9, 10, 100, 12_345, u64::MAX - 1, u64::MAX, 10_u64.pow(19)];
        for pair in numbers.windows(2) {
            key.set(&base);
            key.push_index(pair, '.');
            assert_eq!(key.as_str(), format!("g/v/{}.{}", pair[0], pair[1]));
        }
        for (index, separator, expected) in
            [(&[][..], '/', "g/v/c"), (&[1, 20], '/', "g/v/c/1/20"), (&[1, 20], '.', "g/v/c.1.20")]
        {
            key.set(&base);
            key.push_index_after('c', index, separator);
            assert_eq!(key.as_str(), expected);
        }
        key.set(&base);
        key.push_index(&[1, 2], '/');
        assert_eq!(key.parent().unwrap().as_str(), "g/v/1");
        assert_eq!(key.name(), "2");
        assert_eq!(Key::new("gv").unwrap().relative_to(&Key::new("g").unwrap()), None);
        assert!(Key::new("a").unwrap().parent().unwrap().is_root());
        assert!(Key::root().parent().is_none());
    }
}

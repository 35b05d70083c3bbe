//! Reserved names, and the meaning of names in a directory.

use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use nczarr_storage::Key;

/// The file in the root of a dataset whose bytes are locked while objects are replaced.
pub(crate) const LOCK: &str = ".nczarr-lock";

/// The most bytes of a name on common file systems.
pub(crate) const MAX_SEGMENT: usize = 255;

/// The prefix of temporary files.
const TEMP: &str = ".nczarr-tmp-";

/// Whether a segment is the name of one of this crate's own files.
pub(crate) fn is_reserved(segment: &str) -> bool {
    segment == LOCK || segment.starts_with(TEMP)
}

/// Whether a name belongs to a temporary file.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMP)
}

/// Whether a key has a reserved segment.
pub(crate) fn has_reserved(key: &Key) -> bool {
    key.as_str().contains(".nczarr-") && key.segments().any(is_reserved)
}

/// Whether a network file system made this name for a file that was replaced while open.
fn is_leftover(name: &str) -> bool {
    name.strip_prefix(".nfs")
        .is_some_and(|rest| rest.len() >= 16 && rest.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Whether a name in a directory can be a segment of a key.
pub(crate) fn is_segment(name: &str) -> bool {
    !is_reserved(name) && !is_leftover(name) && Key::is_segment(name)
}

/// Returns a name as text to show, if it cannot be a segment of a key and is not reserved.
pub(crate) fn unnamable(name: &[u8]) -> Option<String> {
    let is_ours = |name: &str| is_reserved(name) || is_leftover(name) || Key::is_segment(name);
    match str::from_utf8(name) {
        Ok("." | "..") => None,
        Ok(name) if is_ours(name) => None,
        _ => Some(Key::escaped(name)),
    }
}

/// Returns a name for a temporary file. A process in another name space may use the same number, so the
/// creator insists on a new file and retries.
pub(crate) fn temporary() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // Some systems have no processes, and panic here.
    let process = if cfg!(target_family = "wasm") { 0 } else { process::id() };
    format!("{TEMP}{process}-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Splits a key into the directory and the object's name in it.
#[cfg(any(target_os = "linux", test))]
pub(crate) fn split(key: &Key) -> (&str, &str) {
    // The last segment is short, so a byte loop is faster than a search.
    let at = key.as_str().bytes().rposition(|byte| byte == b'/');
    at.map_or(("", key.as_str()), |at| (&key.as_str()[..at], &key.as_str()[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_files_are_no_objects() {
        for name in [LOCK, &temporary(), "", ".", "..", "a/b", "a\nb", ".nfs000000000a0b1c2d00000001"] {
            assert!(!is_segment(name), "{name:?}");
        }
        for name in [".zgroup", ".nczarr-other", "0.0", "ü b", "nczarr-lock", ".nfs", ".nfsabc"] {
            assert!(is_segment(name), "{name:?}");
        }
        for (name, shown) in [
            (&b"sea\ttemp"[..], Some("sea\\ttemp")),
            (b"\xff", Some("\\xff")),
            (LOCK.as_bytes(), None),
            (b".", None),
            (b"..", None),
            (b"0.0", None),
            (b".nfs000000000a0b1c2d00000001", None),
        ] {
            assert_eq!(unnamable(name).as_deref(), shown);
        }
        assert!(has_reserved(&Key::new(&format!("a/{LOCK}/b")).unwrap()));
        assert!(!has_reserved(&Key::new("a/.nczarr-lock2").unwrap()));
        assert_ne!(temporary(), temporary());
    }

    #[test]
    fn a_key_is_a_directory_and_a_name() {
        assert_eq!(split(&Key::new("a/b/c").unwrap()), ("a/b", "c"));
        assert_eq!(split(&Key::new("c").unwrap()), ("", "c"));
    }
}

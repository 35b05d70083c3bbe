//! References to groups that were renamed after the reference was stored: [`resolve_renamed`].

use nczarr_storage::Key;

/// The most names that [`resolve_renamed`] tries for one reference.
const MAX_CANDIDATES: usize = 64;

/// Calls `find` with a full name. If that fails, tries the names that renamed groups may give it; succeeds if
/// all matches agree.
pub(crate) fn resolve_renamed<T: PartialEq>(
    name: &str,
    displaced: &[Key],
    find: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    let exact = find(name);
    if exact.is_some() || displaced.is_empty() {
        return exact;
    }
    let mut found = candidates(name, displaced).into_iter().filter_map(|name| find(&name));
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// Returns the names that `name` may have after groups were renamed.
fn candidates(name: &str, displaced: &[Key]) -> Vec<String> {
    let mut names = vec![name.to_owned()];
    for group in displaced {
        let depth = group.segments().count();
        for i in 0..names.len() {
            let parts: Vec<&str> = names[i].split('/').skip(1).collect();
            let outside = depth.saturating_sub(1);
            let is_below =
                parts.len() > depth && group.segments().take(outside).eq(parts.iter().take(outside).copied());
            if is_below && names.len() < MAX_CANDIDATES {
                let rest = parts.get(depth..).unwrap_or_default().join("/");
                names.push(format!("/{group}/{rest}"));
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unambiguous_names_resolve() {
        let displaced = ["h", "k"].map(|text| Key::new(text).unwrap());
        for (there, expected) in [
            (&["/g/x"][..], Some("/g/x")),
            (&["/g/x", "/h/x"], Some("/g/x")),
            (&["/k/x"], Some("/k/x")),
            (&["/h/x", "/k/x"], None),
            (&["/x"], None),
        ] {
            let find = |name: &str| there.iter().copied().find(|there| *there == name);
            assert_eq!(resolve_renamed("/g/x", &displaced, find), expected, "{there:?}");
        }
    }

    #[test]
    fn names_before_and_after() {
        let key = |text: &str| Key::new(text).unwrap();
        for (name, displaced, expected) in [
            ("/x", &[][..], &["/x"][..]),
            ("/x", &["h"], &["/x"]),
            ("/g/x", &["h"], &["/g/x", "/h/x"]),
            ("/g/c/x", &["h"], &["/g/c/x", "/h/c/x"]),
            ("/g/c/x", &["g/e"], &["/g/c/x", "/g/e/x"]),
            ("/f/c/x", &["g/e"], &["/f/c/x"]),
            ("/g/c/x", &["h", "h/e"], &["/g/c/x", "/h/c/x", "/h/e/x"]),
        ] {
            let displaced: Vec<Key> = displaced.iter().copied().map(key).collect();
            assert_eq!(candidates(name, &displaced), expected, "{name} {displaced:?}");
        }
        let many: Vec<Key> = (0..100).map(|i| key(&format!("g{i}"))).collect();
        assert_eq!(candidates("/g/x", &many).len(), MAX_CANDIDATES);
    }
}

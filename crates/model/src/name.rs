//! Names: what is legal, NFC, and the escapes of paths in our own interfaces.
//!
//! On disk a fully qualified name is plain names joined by `/`. In paths people type, `\/`, `\\` and `\ `
//! stand for the character after the backslash.

/// A name with `/`, `\` and blanks escaped, for a path people read.
pub fn escape(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '/' | '\\' | ' ') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

/// The names of an escaped path; empty segments are skipped.
pub fn split_path(path: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut chars = path.chars();
    while let Some(c) = chars.next() {
        let last = names.last_mut().expect("never empty");
        match c {
            '/' => names.push(String::new()),
            '\\' => last.push(chars.next().unwrap_or('\\')),
            _ => last.push(c),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

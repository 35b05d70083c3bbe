//! Lists in one argument, with commas between the items.

/// The items of a comma-separated list; `\,` is a comma of an item.
pub fn split_list(text: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let last = items.last_mut().expect("never empty");
        match c {
            ',' => items.push(String::new()),
            '\\' => match chars.next() {
                Some(',') => last.push(','),
                // The reader of the item interprets other escapes.
                Some(other) => last.extend(['\\', other]),
                None => last.push('\\'),
            },
            c => last.push(c),
        }
    }
    items.retain(|item| !item.is_empty());
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_cut_at_plain_commas() {
        assert_eq!(split_list("a,b"), ["a", "b"]);
        assert_eq!(split_list("a\\,b,,c\\/d\\"), ["a,b", "c\\/d\\"]);
    }
}

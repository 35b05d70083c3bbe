//! Names and prose stay plain: the measured shares may only fall.
//!
//! A type name that three files define has three meanings. A sentence that begins with "What" or "Who" delays
//! its verb. The limits are the present shares: lower them when the shares fall. The name of a function says
//! subject, verb and object: no name contains "what", "who" or "told".

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The largest share of types whose name is defined in three or more files, in percent.
const REUSED_NAMES: f64 = 0.6;
/// The largest share of doc sentences that begin with a relative clause, in percent.
const BEGINNING: f64 = 0.0;
/// The largest share of doc sentences that contain a relative clause, in percent.
const CONTAINING: f64 = 0.1;
/// The longest paragraph of a Markdown file, in words.
const PARAGRAPH: usize = 110;
/// The longest comment line, in characters. rustfmt keeps the same limit for code.
const LINE: usize = 110;

const BEGINNINGS: &[&str] = &["What ", "Who ", "Whoever ", "Whose ", "So many ", "As many "];

const CLAUSES: &[&str] = &[
    "what is",
    "what was",
    "what it",
    "who ",
    "whoever ",
    "what cannot",
    "what can",
    "is told",
    "are told",
    "of which",
    "of what",
    "as it is",
    "for who",
    "what the",
    "what has",
    "what others",
    "so many",
];

/// The words that make a riddle of the name of a function. A name of one word may be one of them.
const RIDDLES: &[&str] =
    &["what", "who", "whom", "whoever", "whatever", "told", "nobody", "somebody", "anew", "vain"];
/// The words that a name of a function does not begin with.
const NAME_BEGINNINGS: &[&str] = &["so_many_", "as_many_", "those_", "of_those_", "nor_"];

#[test]
fn type_names_stand_for_one_thing() {
    let mut files: BTreeMap<String, usize> = BTreeMap::new();
    for (_, text) in sources() {
        let mut names: Vec<&str> = text.lines().filter_map(defined_type).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            *files.entry(name.to_owned()).or_default() += 1;
        }
    }
    let all: usize = files.values().sum();
    let reused: Vec<_> = files.iter().filter(|(_, count)| **count >= 3).collect();
    let share = percent(reused.iter().map(|(_, count)| **count).sum(), all);
    assert!(all > 500 && share <= REUSED_NAMES, "{share:.2} % of {all} types have a reused name: {reused:?}");
}

#[test]
fn doc_sentences_are_direct() {
    let (mut all, mut beginning, mut containing) = (0, Vec::new(), Vec::new());
    for (path, text) in sources() {
        for sentence in doc_sentences(&text) {
            all += 1;
            if BEGINNINGS.iter().any(|word| sentence.starts_with(word)) {
                beginning.push(format!("{}: {sentence}", path.display()));
            }
            let lower = format!("{} ", sentence.to_lowercase());
            if CLAUSES.iter().any(|clause| has_words(&lower, clause)) {
                containing.push(format!("{}: {sentence}", path.display()));
            }
        }
    }
    let shares = [percent(beginning.len(), all), percent(containing.len(), all)];
    assert!(all > 5000 && shares[0] <= BEGINNING, "{:.2} % of {all} sentences: {beginning:#?}", shares[0]);
    assert!(shares[1] <= CONTAINING, "{:.2} % of {all} sentences: {containing:#?}", shares[1]);
}

#[test]
fn paragraphs_are_short() {
    let root = root();
    let mut long = Vec::new();
    for folder in ["", "docs", "docs/design", "benches", "benches/peers"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                let text = fs::read_to_string(&path).unwrap();
                let texts = paragraphs(&text).filter(|words| *words > PARAGRAPH);
                long.extend(texts.map(|words| format!("{}: {words} words", path.display())));
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn comments_fit_the_window() {
    let mut long = Vec::new();
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            if is_comment && line.chars().count() > LINE && !line.contains("http") && !line.contains('|') {
                long.push(format!("{}:{}", path.display(), number + 1));
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}

/// The crates whose `src` has only `lib.rs` and folders.
const FOLDERS_ONLY: &[&str] = &["driver-nczarr"];

#[test]
fn every_folder_says_its_purpose() {
    let source = |name: &str| root().join("crates").join(name).join("src");
    let mut wrong = Vec::new();
    for name in FOLDERS_ONLY {
        for entry in fs::read_dir(source(name)).unwrap() {
            let path = entry.unwrap().path();
            let header = fs::read_to_string(path.join("mod.rs")).unwrap_or_default();
            if !(path.ends_with("lib.rs") || header.starts_with("//! ")) {
                wrong.push(path);
            }
        }
    }
    assert_eq!(wrong, Vec::<PathBuf>::new(), "expected lib.rs, and folders with a header in mod.rs");
}

#[test]
fn function_names_are_plain() {
    let (mut all, mut riddles) = (0, Vec::new());
    let folders =
        ["src", "crates", "tests", "benches", "examples", "python"].map(|folder| root().join(folder));
    for path in files(folders.to_vec()) {
        let keyword = match path.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => "fn ",
            Some("py") => "def ",
            _ => continue,
        };
        let text = fs::read_to_string(&path).unwrap();
        let names: Vec<&str> = text.lines().filter_map(|line| defined_function(line, keyword)).collect();
        all += names.len();
        let bad = names.into_iter().filter(|name| is_riddle(name));
        riddles.extend(bad.map(|name| format!("{}: {name}", path.display())));
    }
    assert!(all > 10_000 && riddles.is_empty(), "{} of {all} names: {riddles:#?}", riddles.len());
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn percent(part: usize, all: usize) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

/// The sources of all libraries and of the tool, without their unit tests.
fn sources() -> Vec<(PathBuf, String)> {
    let root = root();
    let mut folders = vec![root.join("src"), root.join("python/src")];
    folders.extend(fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src")));
    let mut sources = Vec::new();
    for path in files(folders) {
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("\n#[cfg(test)]").next().unwrap().to_owned();
            sources.push((path.strip_prefix(&root).unwrap().to_owned(), code));
        }
    }
    assert!(sources.len() > 300, "{} files", sources.len());
    sources
}

/// All files below folders, but no hidden and no generated ones.
fn files(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            if name.starts_with('.') || name == "target" || name == "node_modules" {
                continue;
            }
            let list = if path.is_dir() { &mut folders } else { &mut files };
            list.push(path);
        }
    }
    files
}

/// The name of the type that a line at the outermost level defines.
fn defined_type(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) => rest.strip_prefix(' ').or_else(|| rest.split_once(") ").map(|(_, rest)| rest))?,
        None => line,
    };
    let rest = ["struct ", "enum ", "trait "].iter().find_map(|word| line.strip_prefix(word))?;
    Some(rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap())
}

/// The name of the function that a line defines, in Rust (`fn `) or in Python (`def `).
fn defined_function<'l>(line: &'l str, keyword: &str) -> Option<&'l str> {
    let (before, rest) = line.split_once(keyword)?;
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
    let is_code = !before.contains("//") && !before.contains('"') && !before.ends_with(char::is_alphanumeric);
    (is_code && !name.is_empty()).then_some(name)
}

/// Whether the name of a function is in riddle style.
fn is_riddle(name: &str) -> bool {
    let name = name.strip_prefix("test_").unwrap_or(name);
    NAME_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || name.contains("of_which")
        || (name.contains('_') && name.split('_').any(|word| RIDDLES.contains(&word)))
}

/// The sentences of doc comments, without blocks of code.
fn doc_sentences(text: &str) -> Vec<String> {
    let (mut sentences, mut paragraph, mut is_code) = (Vec::new(), String::new(), false);
    for line in text.lines().chain([""]) {
        let line = line.trim_start();
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim);
        match comment {
            Some(fence) if fence.starts_with("```") => is_code = !is_code,
            Some(_) if is_code => {}
            Some(words) if !words.is_empty() => {
                paragraph.push_str(words);
                paragraph.push(' ');
            }
            _ => {
                split_sentences(&paragraph, &mut sentences);
                paragraph.clear();
            }
        }
    }
    sentences
}

/// Splits a paragraph behind each `.`, `!` or `?` that a capital letter, code or a link follows.
fn split_sentences(paragraph: &str, sentences: &mut Vec<String>) {
    let mut start = 0;
    let bytes = paragraph.as_bytes();
    for at in 0..bytes.len() {
        let is_end = matches!(bytes[at], b'.' | b'!' | b'?') && bytes.get(at + 1) == Some(&b' ');
        let begins =
            bytes.get(at + 2).is_none_or(|next| next.is_ascii_uppercase() || matches!(next, b'`' | b'['));
        if is_end && begins {
            sentences.push(paragraph[start..=at].trim().to_owned());
            start = at + 1;
        }
    }
    sentences.push(paragraph[start..].trim().to_owned());
    sentences.retain(|sentence| sentence.split_whitespace().count() >= 3);
}

/// Whether a text has these words, from the beginning of a word to the end of one.
fn has_words(text: &str, words: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(words).any(|(at, _)| {
        let ends = words.ends_with(' ') || !is_word(text[at + words.len()..].chars().next());
        !is_word(text[..at].chars().next_back()) && ends
    })
}

/// The number of words of each paragraph, without lists, tables, headings and code.
fn paragraphs(text: &str) -> impl Iterator<Item = usize> {
    let (mut counts, mut words, mut is_code) = (Vec::new(), 0, false);
    for line in text.lines().chain([""]) {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            is_code = !is_code;
        }
        let is_number = trimmed.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        let is_prose = !trimmed.is_empty()
            && !is_code
            && !is_number
            && !["|", "- ", "* ", "#", "```"].iter().any(|mark| trimmed.starts_with(mark))
            && !line.starts_with("    ");
        if is_prose {
            words += line.split_whitespace().count();
        } else {
            counts.push(std::mem::take(&mut words));
        }
    }
    counts.into_iter()
}

#[test]
fn the_checks_find_their_own_samples() {
    assert_eq!(defined_type("pub(crate) struct ChunkKey<'a> {"), Some("ChunkKey"));
    assert_eq!(defined_type("    struct Inner;"), None);
    let text = "/// Reads a chunk. What is absent reads as the fill value.\n/// ```\n/// Who knows\n/// ```\nfn read() {}\n";
    let sentences = doc_sentences(text);
    assert_eq!(sentences, ["Reads a chunk.", "What is absent reads as the fill value."]);
    assert!(BEGINNINGS.iter().any(|word| sentences[1].starts_with(word)));
    assert!(has_words("it is told ", "is told") && !has_words("this told ", "is told"));
    assert_eq!(defined_function("    pub fn read<T>(&self) {", "fn "), Some("read"));
    assert_eq!(defined_function("async def test_it(place):", "def "), Some("test_it"));
    assert_eq!(defined_function("    // fn old()", "fn "), None);
    assert!(is_riddle("test_writes_change_what_numpy_changes") && is_riddle("of_which_some_are_read"));
    assert!(!is_riddle("what") && !is_riddle("whole_chunks_are_read") && is_riddle("damage_is_told"));
    assert_eq!(paragraphs("# A\n\none two\nthree\n\n* four\n").max(), Some(3));
}

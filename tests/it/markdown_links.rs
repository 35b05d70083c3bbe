//! Links between the Markdown files point to existing files and headings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[test]
fn links_lead_to_files_and_headings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut pages: Vec<PathBuf> = Vec::new();
    for folder in ["", "docs", "docs/design", "benches", "benches/peers"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        pages.extend(entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    let (mut links, mut broken) = (0, Vec::new());
    for page in &pages {
        let text = std::fs::read_to_string(page).unwrap();
        for link in links_of(&text) {
            links += 1;
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let found = match std::fs::read_to_string(&target) {
                Ok(text) => heading.is_empty() || headings(&text).contains(heading),
                Err(_) => target.is_dir() && heading.is_empty(),
            };
            if !found {
                broken.push(format!("{}: {link}", page.strip_prefix(root).unwrap().display()));
            }
        }
    }
    assert!(broken.is_empty() && links > 20, "{links} links; broken: {broken:#?}");
}

#[test]
fn the_book_has_every_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs");
    let summary: BTreeSet<String> =
        links_of(&std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap()).into_iter().collect();
    let mut pages = BTreeSet::new();
    for folder in ["", "design/"] {
        for entry in std::fs::read_dir(docs.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") && name != "SUMMARY.md" {
                pages.insert(format!("{folder}{name}"));
            }
        }
    }
    assert_eq!(summary, pages);
}

/// The targets of the links of a page, without links to the web.
fn links_of(text: &str) -> Vec<String> {
    let parts =
        prose(text).split("](").skip(1).filter_map(|part| Some(part.split_once(')')?.0.to_owned())).collect();
    let mut links: Vec<String> = parts;
    links.extend(
        text.lines().filter_map(|line| Some(line.strip_prefix('[')?.split_once("]: ")?.1.to_owned())),
    );
    links.retain(|link| !link.contains("://") && !link.starts_with("mailto:"));
    links
}

/// A page without code blocks and inline code.
fn prose(text: &str) -> String {
    let blocks = text.split("\n```").step_by(2).collect::<Vec<_>>().join("\n");
    blocks.split('`').step_by(2).collect()
}

/// The anchors of a page's headings: lower case, hyphens for spaces, no punctuation.
fn headings(text: &str) -> BTreeSet<String> {
    let code = text.split("\n```").step_by(2).collect::<Vec<_>>().join("\n");
    let lines = code
        .lines()
        .filter_map(|line| line.strip_prefix('#').map(|line| line.trim_start_matches('#').trim()));
    let anchor = |line: &str| {
        let kept = line.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    lines.map(|line| anchor(&line.replace('`', ""))).collect()
}

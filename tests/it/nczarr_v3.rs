//! NCZarr and pure datasets in Zarr V3 by several writers: each has the content of its source.
//!
//! The statements of the texts are compared in any order, because attributes have no order and writers order
//! variables differently. If the reference is a dump by another reader, `KNOWN` lists its errors.

use std::collections::BTreeSet;
use std::path::Path;

use nczarr_cdl::Options;
use nczarr_tests::dump::dump;
use nczarr_tests::report::Report;

use crate::corpus;

mod own;

struct Row {
    store: String,
    reference: String,
    expected: String,
}

#[test]
fn datasets_in_version_3_match_their_sources() {
    corpus::each("nczarr-v3", "datasets in Zarr V3", |folder| {
        let mut report = Report::default();
        for mut row in corpus::manifest(folder) {
            let row = Row {
                expected: row.swap_remove(7),
                reference: row.swap_remove(5),
                store: row.swap_remove(0),
            };
            report.add(&row.store, holds(folder, &row).into());
        }
        report
    });
}

fn holds(folder: &Path, row: &Row) -> Result<(), String> {
    let path = folder.join(&row.store).display().to_string();
    let file = nczarr::open(&path);
    if row.store.starts_with("fork-consolidated/") {
        // The only document of this dataset is not JSON.
        return match file {
            Ok(_) => Err("it was opened".to_owned()),
            Err(error) if error.to_string().contains("zarr.json") => Ok(()),
            Err(error) => Err(format!("the error does not name the document: {error}")),
        };
    }
    let file = file.map_err(|error| format!("open: {error}"))?;
    let found = dump(&file, &Options { name: "it".to_owned(), ..Options::default() })
        .map_err(|error| error.to_string())?;
    let right = match [&row.expected, &row.reference].into_iter().find(|path| *path != "-") {
        Some(path) => std::fs::read_to_string(folder.join(path)).map_err(|error| error.to_string())?,
        None => match own::of(&row.store) {
            Some(text) => text.to_owned(),
            None => return Err("nothing says what it holds".to_owned()),
        },
    };
    let (mut found, mut right) = (statements(&found), statements(&right));
    for (_, wrong, instead) in KNOWN.iter().filter(|(store, ..)| row.store.starts_with(store)) {
        if right.remove(*wrong) {
            right.extend(instead.iter().map(|text| (*text).to_owned()));
        }
    }
    if row.store.starts_with("fork/") {
        // The other program prints six digits, which cannot represent the default fill value.
        found.retain(|text| !text.ends_with(":_FillValue = 9.96921e+36"));
        right.retain(|text| !text.ends_with(":_FillValue = 9.96921e+36"));
        // The other program prints a string length that the store does not contain.
        right.retain(|text| !text.ends_with(":_nczarr_maxstrlen = 128"));
    }
    if row.expected == "-" {
        presented_fills(&found, &mut right);
    }
    same(&empty_strings(found), &empty_strings(right))
}

/// In a plain store an unwritten element is not a missing value unless an attribute says so. The other reader
/// treats it as missing. This function replaces `_` in the expected text by the fill value.
fn presented_fills(found: &BTreeSet<String>, right: &mut BTreeSet<String>) {
    let fills: Vec<String> =
        right.difference(found).filter(|text| text.contains(":_FillValue = ")).cloned().collect();
    for fill in fills {
        right.remove(&fill);
        let (group, rest) = fill.split_once(": ").expect("a statement stands in a group");
        let (name, value) = rest.split_once(":_FillValue = ").expect("it is one of these");
        let name = name.trim_start_matches("string ");
        let start = format!("{group}: data: {name} = ");
        let Some(data) = right.iter().find(|text| text.starts_with(&start)).cloned() else { continue };
        let value = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '.');
        let value = if value.is_empty() { "NaN" } else { value };
        right.remove(&data);
        right.insert(
            start.clone()
                + &data[start.len()..]
                    .split(',')
                    .map(|item| if item == "_" { value } else { item })
                    .collect::<Vec<_>>()
                    .join(","),
        );
    }
}

/// Replaces `_` by an empty string if the variable has no fill value of its own.
fn empty_strings(statements: BTreeSet<String>) -> BTreeSet<String> {
    let strings: Vec<String> = (statements.iter())
        .filter_map(|text| {
            text.split_once(": string ")
                .map(|(group, rest)| (group, rest.split(['(', ' ', ':']).next().unwrap_or_default()))
        })
        .filter(|(group, name)| {
            !statements.iter().any(|text| text.starts_with(&format!("{group}: string {name}:_FillValue")))
        })
        .map(|(group, name)| format!("{group}: data: {name} = "))
        .collect();
    let plain = |text: String| match strings.iter().find(|start| text.starts_with(*start)) {
        Some(start) => {
            start.clone()
                + &text[start.len()..]
                    .split(',')
                    .map(|item| if item == "_" { "\"\"" } else { item })
                    .collect::<Vec<_>>()
                    .join(",")
        }
        None => text,
    };
    statements.into_iter().map(plain).collect()
}

/// Known errors of the reference: the prefix of the stores, the wrong statement, and the right statements.
const KNOWN: &[(&str, &str, &[&str])] = &[
    // The library that wrote the source text confuses two dimensions with the same name.
    ("fork/dims_fqn.nczarr", "/h: int sib(/d)", &["/h: int sib(/g/k/d)"]),
    ("interop/dims_fqn", "/h: int sib(/d)", &["/h: int sib(/g/k/d)"]),
    ("appendix-e/dims_fqn", "/h: int sib(/d)", &["/h: int sib(/g/k/d)"]),
    // The writer cuts strings at the configured length.
    (
        "fork/strings_maxlen.nczarr",
        r#"/: data: s = "abcdefgh","six666","x","été""#,
        &[r#"/: data: s = "abcdef","six666","x","été""#],
    ),
    (
        "fork/strings_maxlen.nczarr",
        r#"/: data: t = "a","bb","ccc","dddd","e",_,"g","h""#,
        &[r#"/: data: t = "a","bb","ccc","ddd","e",_,"g","h""#],
    ),
    // The other reader cannot show empty strings.
    (
        "fork/strings_default.zarr",
        r#"/: data: s = "alpha","","gamma delta""#,
        &[r#"/: data: s = "alpha",_,"gamma delta""#],
    ),
    (
        "fork/strings_maxlen.zarr",
        r#"/: data: t = "a","bb","ccc","ddd","e","","g","h""#,
        &[r#"/: data: t = "a","bb","ccc","ddd","e",_,"g","h""#],
    ),
    // A list of text is an array of strings, as in V2 (`known_differences::STRING_LIST`).
    (
        "fork/attrs_types.zarr",
        r#"/: :g_inf="[\"Infinity\",\"-Infinity\"]""#,
        &[r#"/: string :g_inf = "Infinity","-Infinity""#],
    ),
    (
        "fork/attrs_types.zarr",
        r#"/: :g_string="[\"a\",\"bc\",\"\"]""#,
        &[r#"/: string :g_string = "a","bc","""#],
    ),
    // Two arrays of one group use the same dimension name with different lengths. The other reader drops the
    // longer one.
    (
        "fork/dims_fqn.zarr",
        "/g: data: both = 1,2,3,5,6,7,9,10,11",
        &["/g: data: both = 1,2,3,4,5,6,7,8,9,10,11,12"],
    ),
    ("fork/dims_fqn.zarr", "/g: data: local = 1,2,3", &["/g: data: local = 1,2,3,4", "/g: y_4 = 4"]),
    ("fork/dims_fqn.zarr", "/g: int both(y,y)", &["/g: int both(y,y_4)"]),
    ("fork/dims_fqn.zarr", "/g: int local(y)", &["/g: int local(y_4)"]),
];

fn same(found: &BTreeSet<String>, right: &BTreeSet<String>) -> Result<(), String> {
    let list = |texts: Vec<&String>| {
        texts.iter().take(6).map(|text| format!("\n        {text}")).collect::<String>()
    };
    let (more, less): (Vec<_>, Vec<_>) =
        (found.difference(right).collect(), right.difference(found).collect());
    if more.is_empty() && less.is_empty() {
        Ok(())
    } else {
        Err(format!("\n      found{}\n      expected{}", list(more), list(less)))
    }
}

/// The statements of a CDL text, each with its group and section.
fn statements(text: &str) -> BTreeSet<String> {
    let (mut all, mut groups, mut section, mut open) = (BTreeSet::new(), Vec::new(), "", String::new());
    for line in text.lines() {
        let line = line.trim();
        if open.is_empty() {
            if line.is_empty() || line.starts_with("//") || line.starts_with("netcdf ") || line == "}" {
                continue;
            }
            if let Some(name) = line.strip_prefix("group: ").and_then(|name| name.strip_suffix(" {")) {
                groups.push(name);
                all.insert(format!("/{}", groups.join("/")));
                continue;
            }
            if line.starts_with("} // group ") {
                groups.pop();
                continue;
            }
            if ["dimensions:", "variables:", "data:", "types:"].contains(&line) {
                section = line;
                continue;
            }
        }
        open.push_str(line);
        if let Some(statement) = open.strip_suffix(';').filter(|open| unquoted(open)) {
            let statement = plain(statement);
            let section = if section == "data:" && !statement.starts_with(':') { "data: " } else { "" };
            all.insert(format!("/{}: {section}{statement}", groups.join("/")));
            open.clear();
        } else {
            open.push(' ');
        }
    }
    all
}

/// Whether all quotes are closed.
fn unquoted(text: &str) -> bool {
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
    }
    !quoted
}

/// Removes insignificant blanks, and all blanks from JSON text. Replaces `NIL` by an empty string, because
/// some programs print it that way.
fn plain(statement: &str) -> String {
    let is_json = statement.contains("= \"{") || statement.contains("= \"[");
    let (mut out, mut quoted, mut escaped) = (String::new(), false, false);
    for c in statement.trim().chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        if c.is_whitespace() && (is_json || !quoted && out.ends_with([' ', ','])) {
            continue;
        }
        out.push(c);
    }
    out.split(',').map(|part| if part.trim() == "NIL" { "\"\"" } else { part }).collect::<Vec<_>>().join(",")
}

#[test]
fn statements_are_the_same_in_any_order() {
    let one = "netcdf a {\ndimensions:\n\tx = 2 ;\nvariables:\n\tint v(x) ;\n\t\tv:a = \"x ; \\\"y\" ;\n\t\tv:b = 1,\n    2 ;\ndata:\n\n v =\n  1,\n  2 ;\n\ngroup: g {\n  // group attributes:\n  \t\t:t = \"{\\\"a\\\": 1}\" ;\n  } // group g\n}\n";
    let other = "netcdf b {\nvariables:\n\tint v(x) ;\n\t\tv:b = 1, 2 ;\n\t\tv:a = \"x ; \\\"y\" ;\ndimensions:\n\tx = 2 ;\ndata:\n v = 1, 2 ;\ngroup: g {\n  \t\t:t = \"{\\\"a\\\":1}\" ;\n  } // group g\n}\n";
    assert_eq!(statements(one), statements(other));
    assert_eq!(statements(one).len(), 7);
    assert!(same(&statements(one), &statements(&other.replace("1, 2", "1, 3"))).is_err());
    assert!(same(&statements(one), &statements(&other.replace("group: g", "group: h"))).is_err());
}

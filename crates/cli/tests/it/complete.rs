//! No object of a source disappears: each is in the copy, or in the report of the copy.
//!
//! The tests make stores file by file, with objects that no writer here makes. These are names with control
//! characters or bytes that are not UTF-8, truncated documents, unknown types and codecs, and damaged chunks.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use proptest::prelude::*;

use crate::{run, text};

/// The state of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Whole,
    /// Its document is truncated.
    Torn,
    /// An array of an unknown type.
    UnknownType,
    /// An array with an unknown codec.
    UnknownCodec,
    /// An array with a damaged chunk.
    DamagedChunk,
}

/// Endings of names. A number before the ending makes each name unique.
#[derive(Debug, Clone, Copy)]
enum Name {
    Plain,
    Blank,
    Accent,
    Tab,
    Newline,
    Delete,
    NotUtf8,
}

#[derive(Debug, Clone)]
struct Node {
    name: Name,
    state: State,
    /// An array, or a group with these members.
    members: Option<Vec<Node>>,
}

fn node() -> impl Strategy<Value = Node> {
    let name = prop_oneof![
        4 => Just(Name::Plain),
        1 => Just(Name::Blank),
        1 => Just(Name::Accent),
        1 => Just(Name::Tab),
        1 => Just(Name::Newline),
        1 => Just(Name::Delete),
        1 => Just(Name::NotUtf8),
    ];
    let of_an_array = prop_oneof![
        4 => Just(State::Whole),
        1 => Just(State::Torn),
        1 => Just(State::UnknownType),
        1 => Just(State::UnknownCodec),
        1 => Just(State::DamagedChunk),
    ];
    let of_a_group = prop_oneof![4 => Just(State::Whole), 1 => Just(State::Torn)];
    let array = (name.clone(), of_an_array).prop_map(|(name, state)| Node { name, state, members: None });
    array.prop_recursive(3, 12, 4, move |inner| {
        let group = (name.clone(), of_a_group.clone(), prop::collection::vec(inner.clone(), 0..4));
        prop_oneof![
            inner,
            group.prop_map(|(name, state, members)| Node { name, state, members: Some(members) })
        ]
    })
}

/// A written node.
struct Written {
    state: State,
    is_group: bool,
    /// The words that name the node and its enclosing groups, each unique.
    words: Vec<String>,
}

impl Written {
    fn word(&self) -> &str {
        self.words.last().unwrap()
    }

    /// Returns whether a text names the node, or an enclosing group that stands for all its contents.
    fn is_named(&self, text: &str) -> bool {
        self.words.iter().any(|word| text.contains(word))
    }
}

/// Writes nodes, and records each of them.
struct Writer {
    is_v3: bool,
    written: Vec<Written>,
}

impl Writer {
    fn put(&self, path: &Path, document: &str, state: State) {
        let end = if state == State::Torn { document.len() / 2 } else { document.len() };
        fs::write(path, &document[..end]).unwrap();
    }

    fn group(&self, folder: &Path, state: State) {
        fs::create_dir_all(folder).unwrap();
        match self.is_v3 {
            true => self.put(&folder.join("zarr.json"), r#"{"zarr_format":3,"node_type":"group"}"#, state),
            false => self.put(&folder.join(".zgroup"), r#"{"zarr_format":2}"#, state),
        }
    }

    fn array(&self, folder: &Path, state: State) {
        fs::create_dir_all(folder).unwrap();
        let (v2, v3) = match state {
            State::UnknownType => ("<q9", "nobody_knows"),
            _ => ("<i4", "int32"),
        };
        let chunk =
            if state == State::DamagedChunk { vec![1] } else { [1, 2, 3].map(i32::to_le_bytes).concat() };
        if self.is_v3 {
            let more = if state == State::UnknownCodec { r#",{"name":"nobody_knows"}"# } else { "" };
            let document = format!(
                r#"{{"zarr_format":3,"node_type":"array","shape":[3],"data_type":"{v3}","chunk_grid":{{"name":
                "regular","configuration":{{"chunk_shape":[3]}}}},"chunk_key_encoding":{{"name":"default"}},
                "fill_value":0,"codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}{more}]}}"#
            );
            self.put(&folder.join("zarr.json"), &document, state);
            fs::create_dir_all(folder.join("c")).unwrap();
            fs::write(folder.join("c/0"), chunk).unwrap();
        } else {
            let codec = if state == State::UnknownCodec { r#"{"id":"nobody_knows"}"# } else { "null" };
            let document = format!(
                r#"{{"zarr_format":2,"shape":[3],"chunks":[3],"dtype":"{v2}","fill_value":0,"order":"C",
                "filters":null,"compressor":{codec}}}"#
            );
            self.put(&folder.join(".zarray"), &document, state);
            fs::write(folder.join("0"), chunk).unwrap();
        }
    }

    fn node(&mut self, parent: &Path, around: &[String], node: &Node) {
        let word = format!("n{}n", self.written.len());
        let more: &[u8] = match node.name {
            Name::Plain => b"",
            Name::Blank => b" x",
            Name::Accent => "é".as_bytes(),
            Name::Tab => b"\tx",
            Name::Newline => b"\nx",
            Name::Delete => b"\x7fx",
            Name::NotUtf8 => b"\xff\xfe",
        };
        let name = [word.as_bytes(), more].concat();
        let folder = parent.join(OsString::from_vec(name));
        let words = [around, &[word]].concat();
        self.written.push(Written {
            state: node.state,
            is_group: node.members.is_some(),
            words: words.clone(),
        });
        match &node.members {
            None => self.array(&folder, node.state),
            Some(members) => {
                self.group(&folder, node.state);
                members.iter().for_each(|member| self.node(&folder, &words, member));
            }
        }
    }
}

fn copy(source: &Path, target: &Path, flags: &[&str]) -> (Output, String) {
    let url = format!("{}#mode=zarr,v3", text(target));
    let output = run([&["copy"], flags, &[text(source), &url]].concat());
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, message)
}

/// Returns the paths of all variables and groups.
fn paths(url: &Path) -> Vec<String> {
    let output = run(["info", "--json", text(url)]);
    let info: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let groups = info["groups"].as_array().unwrap().iter().map(|path| path.as_str().unwrap());
    let variables = info["variables"].as_array().unwrap().iter().map(|var| var["path"].as_str().unwrap());
    groups.chain(variables).map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_object_is_in_the_copy_or_in_its_report(is_v3: bool, members in prop::collection::vec(node(), 1..5)) {
        let folder = tempfile::tempdir().unwrap();
        let (source, target): (PathBuf, PathBuf) = (folder.path().join("in.zarr"), folder.path().join("out.zarr"));
        let mut writer = Writer { is_v3, written: Vec::new() };
        writer.group(&source, State::Whole);
        members.iter().for_each(|member| writer.node(&source, &[], member));

        let (output, message) = copy(&source, &target, &["--skip-unreadable"]);
        prop_assert!(output.status.success(), "{}", message);
        let there = paths(&target);
        let mut is_complete = true;
        for node in &writer.written {
            let copied = there.iter().any(|path| path.contains(node.word()));
            let named = node.is_named(&message);
            let Written { state, words, .. } = node;
            prop_assert!(copied || named, "{:?} {:?} is neither copied nor reported:\n{}", words, state, message);
            prop_assert!(node.is_group || *state == State::Whole || named, "{:?} {:?}:\n{}", words, state, message);
            is_complete &= !named;
        }
        // A strict copy fails if and only if a loss is reported.
        let strict = folder.path().join("strict.zarr");
        let (output, message) = copy(&source, &strict, &["--strict", "--skip-unreadable"]);
        prop_assert_eq!(output.status.success(), is_complete, "{}", message);
        // Without the flag an unreadable variable is an error. A successful copy reports all other losses.
        let plain = folder.path().join("plain.zarr");
        let (output, message) = copy(&source, &plain, &[]);
        let wrong = [State::UnknownType, State::UnknownCodec, State::DamagedChunk];
        if writer.written.iter().all(|node| !wrong.contains(&node.state)) && output.status.success() {
            let there = paths(&plain);
            for node in &writer.written {
                let copied = there.iter().any(|path| path.contains(node.word()));
                prop_assert!(copied || node.is_named(&message), "{:?}:\n{}", node.words, message);
            }
        }
        // The check of the source names each defect too.
        let output = run(["validate", "--deep", text(&source)]);
        let lines = String::from_utf8_lossy(&output.stdout);
        for node in writer.written.iter().filter(|node| node.state != State::Whole) {
            prop_assert!(node.is_named(&lines), "{:?} {:?}:\n{}", node.words, node.state, lines);
        }
    }
}

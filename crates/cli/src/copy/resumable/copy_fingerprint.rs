//! [`CopyFingerprint`]: the source, the flags and the definitions of a copy: everything that must be equal
//! for a process that resumes it.

use serde_json::{Value, json};

use super::super::fingerprint::Content;
use crate::copy::args::CopyArgs;

/// Fragment keys that select how a dataset is created. The document hash covers other differences.
const KEYS: [&str; 3] = ["dimension_separator", "missing_chunks", "zipdir"];

/// The terms of a copy, equal for every process that works on it.
#[derive(Debug, Clone, PartialEq)]
pub struct CopyFingerprint {
    /// The files of the source, if they can be listed.
    pub content: Option<Content>,
    /// A hash of the source's definitions.
    pub header: String,
    /// The flags that affect the copy's content.
    pub flags: String,
    /// A hash of the target's definitions and documents; empty before they exist.
    pub layout: String,
}

impl CopyFingerprint {
    /// Returns the recorded form.
    pub fn to_json(&self) -> Value {
        let content = self.content.as_ref().map(Content::to_json);
        json!({ "content": content, "header": self.header, "flags": self.flags, "layout": self.layout })
    }
}

/// Returns the flags that affect a copy's content, as on a command line; `target`: its URL, with the
/// requested kind.
pub fn flags(args: &CopyArgs, target: &str) -> String {
    let mut flags = Vec::new();
    let short = [
        ("-s", args.shuffle),
        ("-u", args.fixed),
        ("--plain", args.plain),
        ("--skip-unreadable", args.skip_unreadable),
    ];
    flags.extend(short.iter().filter(|(_, given)| *given).map(|(flag, _)| (*flag).to_owned()));
    for (flag, values) in [("-c", &args.chunks), ("--shards", &args.shards), ("-F", &args.filter)] {
        flags.extend(values.iter().map(|value| format!("{flag} {value}")));
    }
    flags.extend(args.deflate.map(|level| format!("-d {level}")));
    for (flag, value) in
        [("-v", &args.data_of), ("-V", &args.only_vars), ("-g", &args.data_in), ("-G", &args.only_groups)]
    {
        flags.extend(value.iter().map(|value| format!("{flag} {value}")));
    }
    if let Ok(target) = nczarr_url_infer::parse(target) {
        let modes = Some(target.modes.join(","))
            .filter(|modes| !modes.is_empty())
            .map(|modes| format!("mode={modes}"));
        // Keys that do not affect the copy, and secrets, are not recorded.
        let keys = KEYS.iter().filter_map(|key| Some(format!("{key}={}", target.get(key)?)));
        let words: Vec<String> = modes.into_iter().chain(keys).collect();
        if !words.is_empty() {
            flags.push(format!("#{}", words.join("&")));
        }
    }
    flags.join(" ")
}

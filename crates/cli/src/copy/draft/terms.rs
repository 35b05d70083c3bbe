//! [`Terms`]: of which source a copy is, how it was asked for and what was defined: all that must be the same for who goes on with it.

use serde_json::{Value, json};

use super::super::fingerprint::Content;
use crate::args::Copy;

/// Keys of a fragment that say how a dataset is created. What else changes the documents shows in their sum.
const KEYS: [&str; 3] = ["dimension_separator", "missing_chunks", "zipdir"];

/// What must be the same when a copy goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// The files of the source, if they can be listed.
    pub content: Option<Content>,
    /// A sum of its definitions.
    pub header: String,
    /// The flags that change what the copy is.
    pub flags: String,
    /// A sum of what is defined in the target and of its documents; nothing before that is done.
    pub layout: String,
}

impl Terms {
    /// As it is written down.
    pub fn to_json(&self) -> Value {
        let content = self.content.as_ref().map(Content::to_json);
        json!({ "content": content, "header": self.header, "flags": self.flags, "layout": self.layout })
    }
}

/// The flags that change what a copy is, as they may be typed; `target`: its URL, with the kind that was asked for.
pub fn flags(args: &Copy, target: &str) -> String {
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
        let modes = Some(target.modes.join(",")).filter(|modes| !modes.is_empty()).map(|modes| format!("mode={modes}"));
        // What is of no consequence for the copy, or somebody's secret, is not written down.
        let keys = KEYS.iter().filter_map(|key| Some(format!("{key}={}", target.get(key)?)));
        let words: Vec<String> = modes.into_iter().chain(keys).collect();
        if !words.is_empty() {
            flags.push(format!("#{}", words.join("&")));
        }
    }
    flags.join(" ")
}

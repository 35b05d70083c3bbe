//! [`Record`]: what is written down of a copy under way, so that another process can go on with it.
//!
//! It lies beside the chunks, in an object of its own ([`NAME`]), is replaced whole each time, and goes when the copy is finished. It
//! says of which source the copy is, how it was asked for, what was defined, and how far the data have come. All of that but
//! the last must be the same for who goes on.

use model::{ErrorKind, Result};
use serde_json::{Value, json};

use super::fingerprint::Content;
use crate::args::Copy;

/// The key of the record.
pub const NAME: &str = ".ncz-copy";
/// Which form of record this is.
const FORM: u64 = 1;
/// Keys of a fragment that say how a dataset is created. What else changes the documents shows in their sum.
const KEYS: [&str; 3] = ["dimension_separator", "missing_chunks", "zipdir"];
/// What it says to who finds it.
const ABOUT: &str = "a copy that is not finished; `ncz copy --resume` goes on with it";

/// How far the data have come: variables, in the order of the source, then blocks of the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reached {
    /// So many variables are complete.
    pub variables: u64,
    /// Lengths of the blocks of the next one.
    pub block: Vec<u64>,
    /// So many of them are.
    pub blocks: u64,
}

impl Reached {
    /// Whether there is anything that need not be done again.
    pub fn is_something(&self) -> bool {
        self.variables > 0 || self.blocks > 0
    }

    /// Whether all of a part of variable number `variable` is there.
    pub fn covers(&self, variable: u64, shape: &[u64], start: &[u64], count: &[u64]) -> bool {
        if variable != self.variables {
            return variable < self.variables;
        }
        if self.blocks == 0 || self.block.len() != shape.len() || self.block.contains(&0) {
            return false;
        }
        // Blocks are counted in C order, so none of a part's elements is in a later one than the last.
        let last = start.iter().zip(count).map(|(start, count)| start + count - 1);
        let place = last.zip(shape).zip(&self.block).fold(0u64, |place, ((at, len), block)| {
            place.saturating_mul(len.div_ceil(*block)).saturating_add(at / block)
        });
        place < self.blocks
    }
}

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

/// What the target does not get as the source has it, by numbers of variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Left {
    /// Without their own filters that lose something.
    pub exact: Vec<usize>,
    /// Left out.
    pub without: Vec<usize>,
}

/// What is written down.
#[derive(Debug, Clone)]
pub struct Record {
    /// As it was read, or made.
    terms: Value,
    /// Who writes it: a word that no other process has.
    pub owner: String,
    /// What was found out by trying.
    pub left: Left,
    /// How far the data have come.
    pub reached: Reached,
}

impl Record {
    /// Of a copy that begins.
    pub fn new(terms: &Terms, owner: &str) -> Self {
        let (left, reached) = (Left::default(), Reached::default());
        Self { terms: terms.to_json(), owner: owner.to_owned(), left, reached }
    }

    /// Whether what is defined was so before.
    pub fn is_laid_out(&self, terms: &Terms) -> bool {
        self.terms["layout"] == terms.layout
    }

    /// The bytes that are stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Reached { variables, block, blocks } = &self.reached;
        let record = json!({
            "ncz_copy": FORM, "about": ABOUT, "terms": self.terms,
            "variables": variables, "block": block, "blocks": blocks,
            "owner": self.owner, "exact": self.left.exact, "without": self.left.without,
        });
        format!("{record:#}\n").into_bytes()
    }

    /// The record that bytes are.
    ///
    /// # Errors
    /// `NC_EINVAL` if they are none.
    pub fn of(bytes: &[u8]) -> Result<Self> {
        let record: Option<Value> = serde_json::from_slice(bytes).ok();
        let number = |value: &Value| value.as_u64();
        let read = record.filter(|record| record["ncz_copy"] == FORM).and_then(|record| {
            let block = record["block"].as_array()?.iter().map(number).collect::<Option<_>>()?;
            let (variables, blocks) = (number(&record["variables"])?, number(&record["blocks"])?);
            let numbers = |name: &str| -> Option<Vec<usize>> {
                record[name].as_array()?.iter().map(|at| usize::try_from(number(at)?).ok()).collect()
            };
            let left = Left { exact: numbers("exact")?, without: numbers("without")? };
            let owner = record["owner"].as_str()?.to_owned();
            Some(Self { terms: record["terms"].clone(), owner, left, reached: Reached { variables, block, blocks } })
        });
        read.ok_or_else(|| {
            let what = format!("{NAME}: no record of a copy that this version can go on with");
            ErrorKind::Inval.context(what)
        })
    }

    /// Whether a copy on these terms may go on. What is not known of the terms yet is not compared.
    ///
    /// # Errors
    /// `NC_EINVAL` with what is otherwise now.
    pub fn check(&self, terms: &Terms) -> Result<()> {
        let (then, now) = (&self.terms, terms.to_json());
        let refuse = |what: String| {
            Err(ErrorKind::Inval.context(format!(
                "--resume: {what}; without --resume, and with --clobber where something is, the copy begins anew"
            )))
        };
        if then["flags"] != now["flags"] {
            let flags = |terms: &Value| match terms["flags"].as_str() {
                Some("") | None => "without flags".to_owned(),
                Some(flags) => format!("with `{flags}`"),
            };
            return refuse(format!("the copy was begun {}, and is to go on {}", flags(then), flags(&now)));
        }
        if then["content"] != now["content"] {
            let (then, now) = (Content::told(&then["content"]), Content::told(&now["content"]));
            let how = match then == now {
                true => format!("{now} are there as before, but not the same ones"),
                false => format!("there were {then}, there are {now}"),
            };
            return refuse(format!("the source changed since the copy was begun: {how}"));
        }
        if then["header"] != now["header"] {
            return refuse(
                "the source changed since the copy was begun: it has other definitions or attributes".to_owned(),
            );
        }
        if !terms.layout.is_empty() && !self.is_laid_out(terms) {
            return refuse(
                "what is defined now is not what the copy was begun with; was that another version of ncz?".to_owned(),
            );
        }
        Ok(())
    }
}

impl Terms {
    fn to_json(&self) -> Value {
        let content = self.content.as_ref().map(Content::to_json);
        json!({ "content": content, "header": self.header, "flags": self.flags, "layout": self.layout })
    }
}

/// The flags that change what a copy is, as they may be typed; `target`: its URL, with the kind that was asked for.
pub fn flags(args: &Copy, target: &str) -> String {
    let mut flags = Vec::new();
    let short = [("-s", args.shuffle), ("-u", args.fixed), ("--plain", args.plain)];
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
    if let Ok(target) = url_infer::parse(target) {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::data::Tiles;
    use super::*;

    proptest! {
        /// What is taken for done after some blocks of one shape lies in these blocks, whatever blocks are asked about.
        #[test]
        fn what_is_covered_was_moved(
            dims in prop::collection::vec((1u64..7, 1u64..5, 1u64..5), 0..4), done in 0u64..40,
        ) {
            let shape: Vec<u64> = dims.iter().map(|dim| dim.0).collect();
            let (old, new): (Vec<u64>, Vec<u64>) = dims.iter().map(|dim| (dim.1, dim.2)).unzip();
            let elements = |start: &[u64], count: &[u64]| -> Vec<u64> {
                Tiles::new(count, &vec![1; count.len()]).map(|(at, _)| {
                    at.iter().zip(start).zip(&shape).fold(0, |flat, ((at, start), len)| flat * len + at + start)
                }).collect()
            };
            let moved: std::collections::HashSet<u64> = Tiles::new(&shape, &old)
                .take(done as usize).flat_map(|(start, count)| elements(&start, &count)).collect();
            let reached = Reached { variables: 3, block: old.clone(), blocks: done };
            for (start, count) in Tiles::new(&shape, &new) {
                let covered = reached.covers(3, &shape, &start, &count);
                prop_assert!(!covered || elements(&start, &count).iter().all(|at| moved.contains(at)));
                prop_assert!(reached.covers(2, &shape, &start, &count) && !reached.covers(4, &shape, &start, &count));
                // With the same blocks nothing is done twice.
                prop_assert!(old != new || covered == elements(&start, &count).iter().all(|at| moved.contains(at)));
            }
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let terms =
            Terms { content: Some(Content::default()), header: "h".into(), flags: "-d 4".into(), layout: "l".into() };
        let mut record = Record::new(&terms, "me");
        record.reached = Reached { variables: 2, block: vec![3, 4], blocks: 5 };
        record.left = Left { exact: vec![1, 7], without: vec![0] };
        let read = Record::of(&record.to_bytes()).unwrap();
        assert_eq!((&read.reached, &read.left), (&record.reached, &record.left));
        assert_eq!(read.owner, "me");
        read.check(&terms).unwrap();
        read.check(&Terms { layout: String::new(), ..terms.clone() }).unwrap();
        for (other, what) in [
            (Terms { flags: String::new(), ..terms.clone() }, "begun with `-d 4`, and is to go on without flags"),
            (Terms { header: "g".into(), ..terms.clone() }, "other definitions"),
            (Terms { layout: "k".into(), ..terms.clone() }, "another version"),
        ] {
            let error = read.check(&other).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        for bad in
            ["", "{}", "{\"ncz_copy\": 2}", "{\"ncz_copy\": 1, \"block\": [-1], \"blocks\": 0, \"variables\": 0}"]
        {
            assert!(Record::of(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}

//! [`Record`]: what is written down of a copy under way, so that another process can go on with it.
//!
//! It lies beside the chunks, in an object of its own ([`NAME`]), is replaced whole each time, and goes when the copy is finished. It
//! says of which source the copy is, how it was asked for, what was defined, and how far the data have come. All of that but
//! the last must be the same for who goes on.

use nczarr_model::{ErrorKind, Result};
use serde_json::{Value, json};

use super::super::fingerprint::Content;
use super::process::Process;
use super::reached::Reached;
use super::terms::Terms;

/// The key of the record.
pub const NAME: &str = ".ncz-copy";
/// Which form of record this is.
const FORM: u64 = 1;
/// What it says to who finds it.
const ABOUT: &str = "a copy that is not finished; `ncz copy --resume` goes on with it";

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
    /// The process that does, where that can be told.
    pub process: Option<Process>,
    /// What was found out by trying.
    pub left: Left,
    /// How far the data have come.
    pub reached: Reached,
}

impl Record {
    /// Of a copy that begins.
    pub fn new(terms: &Terms, owner: &str) -> Self {
        let (left, reached) = (Left::default(), Reached::default());
        Self { terms: terms.to_json(), owner: owner.to_owned(), process: Process::this(), left, reached }
    }

    /// Makes it this process's; answers whose it was.
    pub fn taken(&mut self, owner: &str) -> String {
        self.process = Process::this();
        std::mem::replace(&mut self.owner, owner.to_owned())
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
            "owner": self.owner, "process": self.process.as_ref().map(Process::to_json), "exact": self.left.exact, "without": self.left.without,
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
            let (terms, process) = (record["terms"].clone(), Process::of(&record["process"]));
            Some(Self { terms, owner, process, left, reached: Reached { variables, block, blocks } })
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
            let how = if then == now {
                format!("{now} are there as before, but not the same ones")
            } else {
                format!("there were {then}, there are {now}")
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

#[cfg(test)]
mod tests {
    use super::*;

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

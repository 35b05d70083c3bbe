//! [`CopyRecord`]: the stored state of an unfinished copy, from which another process can resume it.
//!
//! It is an object of its own beside the chunks ([`NAME`]), is replaced whole each time, and is deleted when
//! the copy is finished. It holds the source, the flags, the definitions, and the progress of the data.
//! Everything but the progress must be equal for a process that resumes.

use nczarr_model::{ErrorKind, Result};
use serde_json::{Value, json};

use super::super::fingerprint::Content;
use super::completed_blocks::CompletedBlocks;
use super::copy_fingerprint::CopyFingerprint;
use super::process::Process;

/// The key of the record.
pub const NAME: &str = ".ncz-copy";
/// The version of the record's form.
const FORM: u64 = 1;
/// The note in the record for human readers.
const ABOUT: &str = "an unfinished copy; `ncz copy --resume` continues it";

/// Properties of the source that the target lacks, by variable numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownLosses {
    /// Variables without their own lossy filters.
    pub exact: Vec<usize>,
    /// Variables left out.
    pub without: Vec<usize>,
}

/// The record.
#[derive(Debug, Clone)]
pub struct CopyRecord {
    /// Its bytes, as read or as made.
    fingerprint: Value,
    /// The owner: a token that no other process has.
    pub owner: String,
    /// The process that writes, if the system can identify it.
    pub process: Option<Process>,
    /// The findings so far.
    pub left: KnownLosses,
    /// The progress of the data.
    pub completed: CompletedBlocks,
}

impl CopyRecord {
    /// Makes the record of a new copy.
    pub fn new(fingerprint: &CopyFingerprint, owner: &str) -> Self {
        let (left, completed) = (KnownLosses::default(), CompletedBlocks::default());
        Self {
            fingerprint: fingerprint.to_json(),
            owner: owner.to_owned(),
            process: Process::this(),
            left,
            completed,
        }
    }

    /// Makes this process the owner; returns the previous one.
    pub fn taken(&mut self, owner: &str) -> String {
        self.process = Process::this();
        std::mem::replace(&mut self.owner, owner.to_owned())
    }

    /// Returns whether the definitions were the same before.
    pub fn is_laid_out(&self, fingerprint: &CopyFingerprint) -> bool {
        self.fingerprint["layout"] == fingerprint.layout
    }

    /// Returns the stored bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let CompletedBlocks { variables, block, blocks } = &self.completed;
        let record = json!({
            "ncz_copy": FORM, "about": ABOUT, "terms": self.fingerprint,
            "variables": variables, "block": block, "blocks": blocks,
            "owner": self.owner, "process": self.process.as_ref().map(Process::to_json), "exact": self.left.exact, "without": self.left.without,
        });
        format!("{record:#}\n").into_bytes()
    }

    /// Parses stored bytes.
    ///
    /// # Errors
    ///
    /// `NC_EINVAL` if they are not a record.
    pub fn of(bytes: &[u8]) -> Result<Self> {
        let record: Option<Value> = serde_json::from_slice(bytes).ok();
        let number = |value: &Value| value.as_u64();
        let read = record.filter(|record| record["ncz_copy"] == FORM).and_then(|record| {
            let block = record["block"].as_array()?.iter().map(number).collect::<Option<_>>()?;
            let (variables, blocks) = (number(&record["variables"])?, number(&record["blocks"])?);
            let numbers = |name: &str| -> Option<Vec<usize>> {
                record[name].as_array()?.iter().map(|at| usize::try_from(number(at)?).ok()).collect()
            };
            let left = KnownLosses { exact: numbers("exact")?, without: numbers("without")? };
            let owner = record["owner"].as_str()?.to_owned();
            let (fingerprint, process) = (record["terms"].clone(), Process::of(&record["process"]));
            Some(Self {
                fingerprint,
                owner,
                process,
                left,
                completed: CompletedBlocks { variables, block, blocks },
            })
        });
        read.ok_or_else(|| {
            let what = format!("{NAME}: not a copy record that this version can resume");
            ErrorKind::Inval.context(what)
        })
    }

    /// Checks that a copy on these terms may resume. Terms not yet known are not compared.
    ///
    /// # Errors
    ///
    /// `NC_EINVAL`, naming the term that differs.
    pub fn check(&self, fingerprint: &CopyFingerprint) -> Result<()> {
        let (then, now) = (&self.fingerprint, fingerprint.to_json());
        let refuse = |what: String| {
            Err(ErrorKind::Inval.context(format!(
                "--resume: {what}; to start over, leave out --resume (and use --clobber for an existing target)"
            )))
        };
        if then["flags"] != now["flags"] {
            let flags = |fingerprint: &Value| match fingerprint["flags"].as_str() {
                Some("") | None => "without flags".to_owned(),
                Some(flags) => format!("with `{flags}`"),
            };
            return refuse(format!("the copy was started {}, and is resumed {}", flags(then), flags(&now)));
        }
        if then["content"] != now["content"] {
            let (then, now) = (Content::describe(&then["content"]), Content::describe(&now["content"]));
            let how = if then == now {
                format!("still {now}, but different ones")
            } else {
                format!("formerly {then}, now {now}")
            };
            return refuse(format!("the source changed since the copy was started: {how}"));
        }
        if then["header"] != now["header"] {
            return refuse(
                "the source changed since the copy was started: definitions or attributes differ".to_owned(),
            );
        }
        if !fingerprint.layout.is_empty() && !self.is_laid_out(fingerprint) {
            return refuse(
                "the definitions differ from those that the copy was started with, perhaps by another version of ncz"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_round_trip() {
        let fingerprint = CopyFingerprint {
            content: Some(Content::default()),
            header: "h".into(),
            flags: "-d 4".into(),
            layout: "l".into(),
        };
        let mut record = CopyRecord::new(&fingerprint, "me");
        record.completed = CompletedBlocks { variables: 2, block: vec![3, 4], blocks: 5 };
        record.left = KnownLosses { exact: vec![1, 7], without: vec![0] };
        let read = CopyRecord::of(&record.to_bytes()).unwrap();
        assert_eq!((&read.completed, &read.left), (&record.completed, &record.left));
        assert_eq!(read.owner, "me");
        read.check(&fingerprint).unwrap();
        read.check(&CopyFingerprint { layout: String::new(), ..fingerprint.clone() }).unwrap();
        for (other, what) in [
            (
                CopyFingerprint { flags: String::new(), ..fingerprint.clone() },
                "started with `-d 4`, and is resumed without flags",
            ),
            (
                CopyFingerprint { header: "g".into(), ..fingerprint.clone() },
                "definitions or attributes differ",
            ),
            (CopyFingerprint { layout: "k".into(), ..fingerprint.clone() }, "another version"),
        ] {
            let error = read.check(&other).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        for bad in [
            "",
            "{}",
            "{\"ncz_copy\": 2}",
            "{\"ncz_copy\": 1, \"block\": [-1], \"blocks\": 0, \"variables\": 0}",
        ] {
            assert!(CopyRecord::of(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}

//! Targets that fail in one way and in a few of their cases. They show that the supervisor detects failures.

use super::rng::Rng;
use super::{Case, Entry, Target};

/// The prefix of their names. `all` excludes them.
pub const FAULTS: &str = "fault/";

/// The kind of failure.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// The case panics.
    Panic,
    /// The case ends the process.
    Abort,
    /// The case takes more memory than its input declares.
    Memory,
}

impl Target for Fault {
    fn case(&self, rng: &mut Rng) -> Case<'_> {
        let fault = *self;
        Case::of_bytes("a fault in one of 100".to_owned(), vec![u8::from(rng.one_in(100))], move |bytes| {
            match (bytes, fault) {
                ([0], _) => Ok(true),
                (_, Fault::Panic) => panic!("as it should"),
                (_, Fault::Abort) => std::process::abort(),
                (_, Fault::Memory) => Ok(!std::hint::black_box(vec![1u8; 64 << 20]).is_empty()),
            }
        })
    }
}

pub(super) fn entries() -> Vec<Entry> {
    [("panic", Fault::Panic), ("abort", Fault::Abort), ("memory", Fault::Memory)]
        .map(|(name, fault)| Entry::new(format!("{FAULTS}{name}"), move || fault))
        .into()
}

//! Targets that fail, each in one way and in few of its cases: by them it is seen that failures are seen.

use super::rng::Rng;
use super::{Case, Entry, Target};

/// What their names begin with; `all` leaves them out.
pub const FAULTS: &str = "fault/";

/// What goes wrong.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// A panic.
    Panic,
    /// The process ends.
    Abort,
    /// More memory is taken than the input declares.
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

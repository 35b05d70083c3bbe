//! Maps around any map: each does one thing and hands every call on.
//!
//! * [`Cached`] keeps what was read, in memory or in a directory.
//! * [`Counting`] counts requests and bytes.
//! * [`ReadOnly`] lets nobody write.
//! * [`Slow`] takes time and fails as it is told, for tests.
//!
//! They can be put around one another. What they do not know: what storage is inside, and what the objects mean. Read
//! [`nczarr_dispatch::ZMap`] first: its guarantees are the rules here.
#![forbid(unsafe_code)]

mod cached;
mod counting;
mod op;
mod read_only;
mod slow;

pub use cached::{CacheStats, Cached, Keep};
pub use counting::{Count, Counting, Counts};
pub use op::Op;
pub use read_only::ReadOnly;
pub use slow::{Fault, Faults, Slow, When};

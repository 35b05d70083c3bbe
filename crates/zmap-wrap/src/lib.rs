//! Wrappers around any map; each does one thing and forwards every call.
//!
//! * [`Cached`] caches reads, in memory or in a directory.
//! * [`Counting`] counts requests and bytes.
//! * [`ReadOnly`] rejects writes.
//! * [`Slow`] adds delays and planned faults, for tests.
//!
//! They can be nested. They do not know the inner storage and do not interpret objects. Read
//! [`nczarr_storage::ZMap`] first for the guarantees.
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

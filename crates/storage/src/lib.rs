//! The contract for storage maps: [`ZMap`], a store of keys and bytes.
//!
//! The crate of a map needs only this crate.
#![forbid(unsafe_code)]

mod batch;
mod forbidden;
mod key;
mod limits;
mod prefetched_map;
mod source;
mod version;
mod zmap;

pub use batch::{
    CoalescedRanges, FetchReply, FetchRequest, FetchResult, InFlightLimits, coalesce, gather,
    read_overlapped, read_parallel, write_parallel,
};
pub use forbidden::Forbidden;
pub use key::Key;
pub use limits::{Durability, Limits};
pub use nczarr_runtime::OutBuf;
pub use prefetched_map::PrefetchedMap;
pub use source::{ByteSource, InitialRead, ReadAhead, ReadCallback};
pub use version::{Stamp, Version};
pub use zmap::{
    ByteRange, MapCaps, ObjectSink, OwnedPrecondition, Payload, Precondition, PutPart, Ranges, ReadJob,
    ReadOutcome, ReadTicket, UpdateFn, WriteJob, WriteOutcome, WriteTicket, ZMap,
};

//! Default implementations of batches and of composed operations, on top of a map's single operations.
//!
//! [`read_parallel`] and [`write_parallel`] run the read or write of each object together with the job's own
//! work (decoding, encoding), in one task per thread. `overlap` runs batches over asynchronous storage.
//! `coalesce` joins adjacent ranges. `keys` walks and moves keys. `compare_and_swap` is the loop of a
//! conditional update.
//!
//! This module knows no storage. A map with a better way (one request for many objects, positioned reads into
//! the ticket's memory) overrides the whole batch.

mod coalesce;
mod compare_and_swap;
mod job;
mod keys;
mod overlap;
mod read;
mod slice;

use std::cell::Cell;

use nczarr_runtime::{StopSignal, run_on_pool};

use crate::{Key, ZMap};

pub use coalesce::{CoalescedRanges, coalesce};
pub(crate) use compare_and_swap::compare_and_swap;
pub use job::{
    ObjectSink, Payload, PutPart, Ranges, ReadJob, ReadOutcome, ReadTicket, WriteJob, WriteTicket,
};
pub(crate) use keys::{copy_then_delete, walk};
pub use overlap::{FetchReply, FetchRequest, FetchResult, InFlightLimits, gather, read_overlapped};
pub use read::read_parallel;

/// Buffers that a thread reuses between objects and between batches.
#[derive(Default)]
struct BatchScratch {
    key: Key,
    bytes: Vec<u8>,
    piece: Vec<u8>,
}

/// Larger buffers are freed after a batch.
const KEPT: usize = 64 << 20;

thread_local! {
    static SCRATCH: Cell<BatchScratch> = Cell::default();
}

/// Runs `work` with this thread's buffers. A worker that waits inside `work` may run another batch, which
/// then starts with empty buffers.
fn with_scratch(work: impl FnOnce(&mut BatchScratch)) {
    let mut scratch = SCRATCH.take();
    work(&mut scratch);
    for bytes in [&mut scratch.bytes, &mut scratch.piece] {
        if bytes.capacity() > KEPT {
            *bytes = Vec::new();
        }
    }
    SCRATCH.set(scratch);
}

/// Runs a batch of writes on the pool (or the calling thread), each object through [`ZMap::write_if`].
pub fn write_parallel<M: ZMap + ?Sized>(map: &M, job: &dyn WriteJob) {
    run_on_pool(job.threads(), &|| {
        with_scratch(|BatchScratch { key, bytes, .. }| {
            while let Some(ticket) = job.next(key) {
                let outcome = job.value(ticket.index, bytes).and_then(|payload| {
                    let value = match payload {
                        Payload::Scratch => bytes.as_slice(),
                        Payload::Borrowed(value) => value,
                    };
                    StopSignal::check_current()?;
                    map.write_if(key, value, &ticket.precondition)
                });
                job.done(ticket, outcome);
            }
        });
    });
}

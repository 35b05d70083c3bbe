//! What a map gets for nothing: batches over its single operations, and the operations made of simpler ones.
//!
//! [`read_parallel`] and [`write_parallel`] run each object's read or write together with the job's own work
//! (decoding, encoding) in one task per thread. `overlap` has batches for storage that answers later, `near` says what is read
//! as one, `keys` what walks and moves keys, `swap` the loop of a
//! conditional update.
//!
//! It knows no storage: a map with something better (one request for many objects, positioned reads into the
//! ticket's memory) overrides the batch as a whole.

mod cut;
mod keys;
mod near;
mod overlap;
mod read;
mod swap;

use std::cell::Cell;

use crate::zmap::{Payload, WriteJob, Written, ZMap};
use crate::{Key, pull_parallel};

pub(crate) use keys::{copy_then_delete, walk};
pub use near::{Stretches, coalesce};
pub use overlap::{Fetch, Fetched, InFlight, Reply, gather, read_overlapped};
pub use read::read_parallel;
pub(crate) use swap::compare_and_swap;

/// What one thread reuses from object to object, and from batch to batch.
#[derive(Default)]
struct Scratch {
    key: Key,
    bytes: Vec<u8>,
    piece: Vec<u8>,
}

/// Scratch above this many bytes is given back to the system after a batch.
const KEPT: usize = 64 << 20;

thread_local! {
    static SCRATCH: Cell<Scratch> = Cell::default();
}

/// Runs `work` with this thread's scratch, which is taken away meanwhile: a worker that waits inside `work` may run
/// another batch, which then starts with an empty one.
fn with_scratch(work: impl FnOnce(&mut Scratch)) {
    let mut scratch = SCRATCH.take();
    work(&mut scratch);
    for bytes in [&mut scratch.bytes, &mut scratch.piece] {
        if bytes.capacity() > KEPT {
            *bytes = Vec::new();
        }
    }
    SCRATCH.set(scratch);
}

/// Runs a batch of writes on the pool (or the calling thread), each object through [`ZMap::write`] or
/// [`ZMap::write_if`].
pub fn write_parallel<M: ZMap + ?Sized>(map: &M, job: &dyn WriteJob) {
    pull_parallel(job.threads(), &|| {
        with_scratch(|Scratch { key, bytes, .. }| {
            while let Some(ticket) = job.next(key) {
                let outcome = job.value(ticket.index, bytes).and_then(|payload| {
                    let value = match payload {
                        Payload::Scratch => bytes.as_slice(),
                        Payload::Caller(value) => value,
                    };
                    match &ticket.expect {
                        None => map.write(key, value).map(|()| Written::Done(None)),
                        Some(expect) => map.write_if(key, value, expect.as_expect()),
                    }
                });
                job.done(ticket, outcome);
            }
        });
    });
}

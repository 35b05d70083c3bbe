//! Runs `--op read --store s3`. One GET reads the metadata, because a reader must know the shape. Then 64
//! connections read the chunks, one GET each; in `v3s` they read shards.
//!
//! The thread that receives a body also decodes it and copies it to its place. Connections open before the
//! metadata arrive. The system provides the memory of the result before the first chunks arrive.

use std::iter;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::codec::{self, Codec};
use crate::http::Server;
use crate::memory::Shared;
use crate::{Clock, Grid, ITEM, Job};

const CONNECTIONS: usize = 64;

/// Size of the pieces in which the system provides the result's memory.
const PIECE: usize = 8 << 20;

/// Returns whether the floor covers this read from S3.
pub fn covers(job: &Job) -> bool {
    let format = job.text("format", "");
    let fits = |shard: [usize; 3]| {
        (0..3).all(|dim| shard[dim].is_multiple_of(job.chunk[dim]) && job.shape[dim].is_multiple_of(shard[dim]))
    };
    job.is("op", "read")
        && job.is("store", "s3")
        && job.text("dtype", "f4") == "f4"
        && ["none", "zstd3"].contains(&job.text("codec", "none"))
        && (["v2", "v3"].contains(&format) || format == "v3s" && shard(job).is_some_and(fits))
}

/// Returns the shape of the shards, if there are any.
fn shard(job: &Job) -> Option<[usize; 3]> {
    job.ints("shards").filter(|_| job.is("format", "v3s"))
}

/// Reads everything.
pub fn read(job: &Job) -> Value {
    let clock = Clock::start();
    let server = Server::of(job.text("url", ""));
    let name = if job.is("format", "v2") { ".zarray" } else { "zarr.json" };
    let about = format!("/bench/{}/v/{name}", job.text("path", ""));
    let mut connections = vec![server.connect()];
    let more = || (1..CONNECTIONS).map(|_| server.connect()).collect::<Vec<_>>();
    let (metadata, more) = server.get(&mut connections[0], &about, more);
    connections.extend(more);
    let metadata: Value = serde_json::from_slice(&metadata).expect("metadata");
    assert_eq!(metadata["shape"], json!(job.shape), "the shape in {about}");

    let shard = shard(job);
    let objects = Grid::of(job.shape, shard.unwrap_or(job.chunk));
    let paths: Vec<String> = (0..objects.count()).map(|at| format!("/bench/{}", job.path(objects.index(at)))).collect();
    let (out, taken) = (Shared::huge(job.bytes()), AtomicUsize::new(0));
    let scratch = || {
        let pieces = iter::repeat_with(|| taken.fetch_add(PIECE, Ordering::Relaxed));
        pieces.take_while(|&at| at < job.bytes()).for_each(|at| out.take(at, PIECE.min(job.bytes() - at)));
        (job.codec(), vec![0; job.chunk_bytes()])
    };
    let each = |(codec, decoded): &mut (Codec, Vec<u8>), at, body: &[u8]| {
        let index = objects.index(at);
        let Some(shard) = shard else { return place(job, codec, decoded, index, body, &out) };
        let inner = Grid::of(shard, job.chunk);
        for (at, chunk) in chunks_of(body, inner.count()) {
            let within = inner.index(at);
            let index = std::array::from_fn(|dim| index[dim] * inner.0[dim] + within[dim]);
            place(job, codec, decoded, index, chunk, &out);
        }
    };
    // The length of a shard is not known in advance.
    let usual = if shard.is_some() { 0 } else { codec::bound(job.chunk_bytes()) };
    server.all(connections, &paths, usual, |work| job.threads(&work), scratch, each);
    // SAFETY: all threads have ended.
    clock.stop(unsafe { out.slice(0, job.bytes()) })
}

/// Decodes a chunk and copies its rows to their places.
fn place(job: &Job, codec: &mut Codec, decoded: &mut [u8], index: [usize; 3], body: &[u8], out: &Shared) {
    let decoded = if codec.is_none() {
        assert_eq!(body.len(), decoded.len(), "bytes of chunk {index:?}");
        body
    } else {
        codec.decode(body, decoded);
        decoded
    };
    for (at, element) in job.rows(index) {
        // SAFETY: places of chunks do not overlap, and one thread takes each chunk once.
        let row = unsafe { out.slice(at, job.chunk[2] * ITEM) };
        row.copy_from_slice(&decoded[element * ITEM..][..row.len()]);
    }
}

/// Returns the chunks of a shard. The index at its end has the offset and length of each, and a checksum.
fn chunks_of(shard: &[u8], count: usize) -> impl Iterator<Item = (usize, &[u8])> {
    let index = &shard[shard.len().checked_sub(16 * count + 4).expect("an index")..];
    let (index, sum) = index.split_at(16 * count);
    assert_eq!(crc32c(index).to_le_bytes(), sum, "the checksum of the index");
    let numbers = index.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number) as usize);
    let lengths = index.as_chunks().0.iter().skip(1).map(|number| u64::from_le_bytes(*number) as usize);
    numbers.zip(lengths).step_by(2).map(|(from, len)| &shard[from..][..len]).enumerate()
}

fn crc32c(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| (sum >> 1) ^ (0x82f6_3b78 & (sum & 1).wrapping_neg());
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

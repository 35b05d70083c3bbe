//! Memory for blocks, kept per thread.

use std::cell::Cell;
use std::mem::MaybeUninit;

use nczarr_model::Result;

use crate::thread_cache;

/// Size of a cache line. Vectors that cross one cost twice as much.
const ALIGN: usize = 64;

/// Bytes that begin on a cache line, and grow on demand.
#[derive(Default)]
pub(super) struct AlignedBuffer(Vec<MaybeUninit<u8>>);

impl AlignedBuffer {
    /// Returns the first `len` bytes. A block is never larger than the caller's data, which limits the
    /// memory.
    pub(super) fn at_least(&mut self, len: usize) -> &mut [MaybeUninit<u8>] {
        if self.0.len() < len + ALIGN {
            self.0.resize(len + ALIGN, MaybeUninit::uninit());
        }
        let start = self.0.as_ptr().align_offset(ALIGN).min(ALIGN);
        &mut self.0[start..start + len]
    }
}

/// Memory for one block, before and after shuffling.
#[derive(Default)]
pub(super) struct BlockScratch {
    pub(super) shuffled: AlignedBuffer,
    pub(super) block: AlignedBuffer,
}

/// More scratch memory than this is freed after use.
const KEEP: usize = 8 << 20;

thread_local! {
    static SCRATCH: Cell<Option<BlockScratch>> = const { Cell::new(None) };
}

pub(super) fn with<R>(work: impl FnOnce(&mut BlockScratch) -> Result<R>) -> Result<R> {
    thread_cache::with(
        &SCRATCH,
        || Ok(BlockScratch::default()),
        |scratch| {
            let outcome = work(scratch);
            for memory in [&mut scratch.shuffled, &mut scratch.block] {
                if memory.0.len() > KEEP {
                    *memory = AlignedBuffer::default();
                }
            }
            outcome
        },
    )
}

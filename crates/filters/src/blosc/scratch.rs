//! Memory for blocks, kept per thread.

use std::cell::Cell;
use std::mem::MaybeUninit;

use nczarr_model::Result;

use crate::local;

/// A cache line: vectors that lie across two cost twice as much.
const ALIGN: usize = 64;

/// Bytes that begin on a cache line and grow when they must.
#[derive(Default)]
pub(super) struct Memory(Vec<MaybeUninit<u8>>);

impl Memory {
    /// The first `len` bytes. Blocks are never larger than what the caller holds or expects of the whole frame, which
    /// bounds this.
    pub(super) fn at_least(&mut self, len: usize) -> &mut [MaybeUninit<u8>] {
        if self.0.len() < len + ALIGN {
            self.0.resize(len + ALIGN, MaybeUninit::uninit());
        }
        let start = self.0.as_ptr().align_offset(ALIGN).min(ALIGN);
        &mut self.0[start..start + len]
    }
}

/// Memory for one block, before and after it is put in order.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) shuffled: Memory,
    pub(super) block: Memory,
}

/// Scratch above this is given back after use.
const KEEP: usize = 8 << 20;

thread_local! {
    static SCRATCH: Cell<Option<Scratch>> = const { Cell::new(None) };
}

pub(super) fn with<R>(work: impl FnOnce(&mut Scratch) -> Result<R>) -> Result<R> {
    local::with(
        &SCRATCH,
        || Ok(Scratch::default()),
        |scratch| {
            let outcome = work(scratch);
            for memory in [&mut scratch.shuffled, &mut scratch.block] {
                if memory.0.len() > KEEP {
                    *memory = Memory::default();
                }
            }
            outcome
        },
    )
}

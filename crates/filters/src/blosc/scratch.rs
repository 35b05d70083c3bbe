//! Memory for blocks, kept per thread.

use std::cell::Cell;
use std::mem::MaybeUninit;

use model::Result;

use crate::local;

/// Memory for one block, before and after it is put in order.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) shuffled: Vec<MaybeUninit<u8>>,
    pub(super) block: Vec<MaybeUninit<u8>>,
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
                if memory.len() > KEEP {
                    *memory = Vec::new();
                }
            }
            outcome
        },
    )
}

/// The first `len` bytes of memory that grows when it must. Blocks are never larger than what the caller holds or
/// expects of the whole frame, which bounds this.
pub(super) fn at_least(memory: &mut Vec<MaybeUninit<u8>>, len: usize) -> &mut [MaybeUninit<u8>] {
    if memory.len() < len {
        memory.resize(len, MaybeUninit::uninit());
    }
    &mut memory[..len]
}

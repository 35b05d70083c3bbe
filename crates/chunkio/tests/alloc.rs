//! Allocations on the steady path: none per chunk, and none for a hit.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use chunkio::ChunkedArray;
use dispatch::{Filter, MemMut, MemRef, OutBuf, VarData};
use model::{NcType, Slab};

#[path = "it/filters.rs"]
#[allow(dead_code)]
mod filters;
#[path = "it/map.rs"]
#[allow(dead_code)]
mod map;
#[path = "it/support.rs"]
#[allow(dead_code)]
mod support;

use filters::{Shuffle, Sum, Xor};
use map::{ALL, Mem};
use support::Setup;

struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, SeqCst);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, SeqCst);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn counted(work: impl FnOnce()) -> usize {
    let before = COUNT.load(SeqCst);
    work();
    COUNT.load(SeqCst) - before
}

fn read(array: &ChunkedArray, chunks: u64, memory: &mut [u8]) {
    let count = [chunks * 4, 8, 8];
    let mut out = OutBuf::over(&mut memory[..(chunks * 1024) as usize]);
    array.get(&Slab::new(&[0, 0, 0], &count), MemMut::Fixed { ty: NcType::Int, out: &mut out }).unwrap();
}

#[test]
fn nothing_is_allocated_per_chunk() {
    // One test in this binary: no other thread counts.
    let chains: [Vec<Box<dyn Filter>>; 3] = [
        vec![],
        vec![Box::new(Shuffle { item: 4, told: true }), Box::new(Xor(1))],
        vec![Box::new(Shuffle { item: 4, told: true }), Box::new(Xor(1)), Box::new(Sum)],
    ];
    const CHUNKS: u64 = 1000;
    let mut memory = vec![1; CHUNKS as usize * 1024];
    for filters in chains {
        let map = Arc::new(Mem::new(ALL));
        let mut setup = Setup::new(&map, &[CHUNKS * 4, 8, 8], &[4, 8, 8], NcType::Int).filters(filters);
        setup.options.threads = 1;
        let array = setup.open();
        let slab = (vec![0; 3], vec![CHUNKS * 4, 8, 8]);
        let all = Slab::new(&slab.0, &slab.1);
        let write = || array.put(&all, MemRef::Fixed { ty: NcType::Int, bytes: &memory }).unwrap();
        write();
        // The map of this test allocates for every object and its key.
        let written = counted(write);
        assert!(written <= 2 * CHUNKS as usize + 16, "{written}");

        read(&array, CHUNKS, &mut memory);
        let few = counted(|| read(&array, 100, &mut memory));
        let many = counted(|| read(&array, CHUNKS, &mut memory));
        assert!(many <= few + 1 && few < 8, "{few} for 100 chunks, {many} for {CHUNKS}");

        // One element of a kept chunk. An unfiltered chunk is not kept for one.
        array.put(&Slab::new(&[0, 0, 0], &[1, 1, 1]), MemRef::Fixed { ty: NcType::Int, bytes: &[1; 4] }).unwrap();
        let hits = counted(|| {
            for _ in 0..100 {
                let mut out = OutBuf::over(&mut memory[..4]);
                let slab = Slab::new(&[0, 0, 0], &[1, 1, 1]);
                array.get(&slab, MemMut::Fixed { ty: NcType::Int, out: &mut out }).unwrap();
            }
        });
        assert_eq!(hits, 0);
        // Appending to it neither.
        let writes = counted(|| {
            for _ in 0..100 {
                let slab = Slab::new(&[0, 0, 0], &[1, 1, 1]);
                array.put(&slab, MemRef::Fixed { ty: NcType::Int, bytes: &[2; 4] }).unwrap();
            }
        });
        assert_eq!(writes, 0);
    }
}

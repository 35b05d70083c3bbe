//! The counting allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The allocations of some work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocations {
    /// Their number.
    pub count: usize,
    /// The sum of their sizes.
    pub bytes: usize,
}

struct Counting;

thread_local! {
    static MADE: Cell<Allocations> = const { Cell::new(Allocations { count: 0, bytes: 0 }) };
}

fn add(bytes: usize) {
    let made = MADE.get();
    MADE.set(Allocations { count: made.count + 1, bytes: made.bytes + bytes });
}

// SAFETY: every call goes unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller keeps the promises that the system's allocator needs.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller keeps the promises that the system's allocator needs.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size);
        // SAFETY: the caller keeps the promises that the system's allocator needs.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the promises that the system's allocator needs.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Counts the allocations of `work` on this thread. The transfers of these tests use no other thread.
pub fn counted(work: impl FnOnce()) -> Allocations {
    let before = MADE.get();
    work();
    let after = MADE.get();
    Allocations { count: after.count - before.count, bytes: after.bytes - before.bytes }
}

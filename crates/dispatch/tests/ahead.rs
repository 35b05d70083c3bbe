//! Memory prepared ahead for a caller that keeps taking it, on allowed threads only.
//!
//! This test is alone in its process because it measures the process's memory.
#![cfg(all(target_os = "linux", feature = "parallel"))]

use std::sync::Arc;
use std::time::{Duration, Instant};

use nczarr_dispatch::{Options, Place, Registry};
use nczarr_runtime::Allocation;

/// The size of a slab that is not shared with other pieces.
const SLAB: usize = 2 << 20;

/// Returns the bytes of the process that are in memory.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<usize>().unwrap() << 10
}

/// Takes pieces and writes nothing to them. So other code requested every resident page.
fn take(pieces: &mut Vec<Allocation>, count: usize) {
    pieces.extend((0..count).map(|_| Allocation::new(SLAB).unwrap()));
}

/// Tries to open a missing dataset. Only the options that it sets matter.
fn open(threads: usize) {
    let mut options = Options::default();
    options.threads = threads;
    assert!(Arc::new(Registry::new()).open(&Place::url("/nowhere/at/all"), false, &options).is_err());
}

#[test]
fn the_next_slab_is_prepared_after_consecutive_takes() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return;
    }
    let mut pieces = Vec::new();
    open(1);
    // The first slab has small pages, and its user makes them resident.
    take(&mut pieces, 1);
    let before = resident();
    take(&mut pieces, 20);
    assert!(resident() < before + SLAB / 2, "one thread prepares nothing ahead");

    open(0);
    // No caller takes more slabs, and the library prepares only one.
    take(&mut pieces, 1);
    let deadline = Instant::now() + Duration::from_secs(60);
    while resident() < before + SLAB {
        assert!(Instant::now() < deadline, "no page was asked for");
        std::thread::yield_now();
    }
    let ready = resident();
    let mut next = Allocation::new(SLAB).unwrap();
    next.uninit_bytes().fill(std::mem::MaybeUninit::new(7));
    assert!(
        resident() < ready + SLAB / 2 + SLAB,
        "the piece is the one that was ready, and one more at most is made"
    );
    pieces.push(next);

    // A caller that returns memory receives the same memory again.
    pieces.clear();
    for _ in 0..50 {
        take(&mut pieces, 1);
        pieces.clear();
    }
    assert!(resident() < before + 4 * SLAB, "returned memory is reused");
}

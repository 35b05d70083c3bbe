//! Memory that is made ready ahead: for who keeps taking more of it, and where threads may be used.
//!
//! One test, alone in its process: what it looks at is the process's memory.
#![cfg(all(target_os = "linux", feature = "parallel"))]

use std::sync::Arc;
use std::time::{Duration, Instant};

use nczarr_dispatch::{Allocation, Options, Registry};

/// A slab, of which no other piece is cut.
const SLAB: usize = 2 << 20;

/// Bytes of the process that are in memory.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<usize>().unwrap() << 10
}

/// Takes pieces and writes nothing to them: whatever of them is in memory, somebody else asked for.
fn take(pieces: &mut Vec<Allocation>, count: usize) {
    pieces.extend((0..count).map(|_| Allocation::new(SLAB).unwrap()));
}

/// Opens nothing: what is asked for beside that counts.
fn open(threads: usize) {
    let mut options = Options::default();
    options.threads = threads;
    assert!(Arc::new(Registry::new()).open("/nowhere/at/all", false, &options).is_err());
}

#[test]
fn the_next_slab_is_ready_for_who_keeps_taking_them() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return;
    }
    let mut pieces = Vec::new();
    open(1);
    // Pages of the first slab are small, and who takes it asks for them.
    take(&mut pieces, 1);
    let before = resident();
    take(&mut pieces, 20);
    assert!(resident() < before + SLAB / 2, "nobody may use threads");

    open(0);
    // Nobody takes more, and no more than one is made.
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

    // Who gives memory back gets that.
    pieces.clear();
    for _ in 0..50 {
        take(&mut pieces, 1);
        pieces.clear();
    }
    assert!(resident() < before + 4 * SLAB, "what was given back is used again");
}

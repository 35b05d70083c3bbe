//! Chunks that wait so that the engine stores several together. Reads see them, and no chunk is lost.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use nczarr_chunkio::ChunkedArray;
use nczarr_model::{ErrorKind, NcType, Result};

use crate::filters::Sum;
use crate::map::{ALL, Mem};
use crate::support::{Setup, get_ints, put_ints};

/// The elements of a record, which is one 16 KiB chunk. The engine stores 64 records together.
const RECORD: usize = 4096;
const LOT: u64 = 64;

/// Records that the engine stores at once, because a wait gains nothing.
const AT_ONCE: (bool, bool) = (false, false);
/// Records that need encoding, and records on a map that is faster with parallel writes.
const WAITING: [(bool, bool); 2] = [(true, false), (false, true)];

fn records((encoded, parallel_writes): (bool, bool)) -> (Arc<Mem>, Setup) {
    let map = Arc::new(Mem::new(ALL).with_parallel_writes(parallel_writes));
    let mut setup = Setup::new(&map, &[0, 64, 64], &[1, 64, 64], NcType::Int).unlimited(0);
    setup.options.threads = 2;
    if encoded {
        setup = setup.filters(vec![Box::new(Sum)]);
    }
    (map, setup)
}

fn append(array: &ChunkedArray, record: u64, value: i32) -> Result<()> {
    put_ints(array, &[record, 0, 0], &[1, 64, 64], &[value; RECORD])
}

fn check(array: &ChunkedArray, records: u64, expected: impl Fn(u64) -> i32) {
    for record in 0..records {
        let found = get_ints(array, &[record, 0, 0], &[1, 64, 64]).unwrap();
        assert!(found.iter().all(|value| *value == expected(record)), "record {record}: {}", found[0]);
    }
}

#[test]
fn records_that_are_appended_are_stored_together() {
    for way in WAITING {
        let (map, setup) = records(way);
        let array = setup.open();
        for record in 0..LOT - 1 {
            append(&array, record, record as i32).unwrap();
        }
        assert_eq!(map.writes.load(SeqCst), 0);
        check(&array, LOT - 1, |record| record as i32);
        append(&array, LOT - 1, LOT as i32 - 1).unwrap();
        assert_eq!(map.writes.load(SeqCst), LOT as usize);
        check(&setup.open(), LOT, |record| record as i32);
        for record in LOT..LOT + 5 {
            append(&array, record, record as i32).unwrap();
        }
        array.flush().unwrap();
        array.flush().unwrap();
        assert_eq!(map.writes.load(SeqCst), LOT as usize + 5, "a flush stores what waits, and nothing twice");
        check(&setup.open(), LOT + 5, |record| record as i32);
    }
}

#[test]
fn a_later_write_replaces_waiting_records() {
    for way in WAITING {
        let (map, setup) = records(way);
        let array = setup.open();
        for record in 0..LOT - 1 {
            append(&array, record, 1).unwrap();
        }
        // Record 7 is not behind the end any more.
        append(&array, 7, 2).unwrap();
        assert_eq!(map.writes.load(SeqCst), 1, "others may look for it already");
        put_ints(&array, &[9, 0, 0], &[1, 1, 1], &[3]).unwrap();
        append(&array, LOT - 1, 1).unwrap();
        array.flush().unwrap();
        for array in [&array, &setup.open()] {
            assert_eq!(get_ints(array, &[9, 0, 0], &[1, 1, 2]).unwrap(), [3, 1]);
            put_ints(array, &[9, 0, 0], &[1, 1, 1], &[1]).unwrap();
            check(array, LOT, |record| if record == 7 { 2 } else { 1 });
        }
    }
}

#[test]
fn records_that_failed_to_store_are_reported_and_kept() {
    for way in WAITING {
        let (map, setup) = records(way);
        let array = setup.open();
        map.failing_writes.store(3, SeqCst);
        let failed = (0..LOT).find(|&record| append(&array, record, record as i32).is_err());
        assert_eq!(failed, Some(LOT - 1), "when it was tried");
        append(&array, LOT - 1, LOT as i32 - 1).unwrap();
        check(&array, LOT, |record| record as i32);
        map.failing_writes.store(1, SeqCst);
        let error = array.flush().unwrap_err();
        assert!(error.kind() == ErrorKind::Io && error.to_string().contains("/v: chunk "), "{error}");
        array.flush().unwrap();
        check(&setup.open(), LOT, |record| record as i32);
    }
}

#[test]
fn chunks_wait_only_if_a_batch_saves_requests() {
    let ways = WAITING.into_iter().flat_map(|way| (1..4).map(move |case| (way, case)));
    for (way, case) in ways.chain([(AT_ONCE, 0)]) {
        let (map, mut setup) = records(way);
        match case {
            1 => setup.options.threads = 1,
            2 => setup.options.cache_bytes = Some(0),
            3 => setup.chunk = vec![1, 2, 2],
            _ => {}
        }
        let array = setup.open();
        append(&array, 0, 5).unwrap();
        let chunks = if case == 3 { 32 * 32 } else { 1 };
        assert_eq!(map.writes.load(SeqCst), chunks, "{way:?}, case {case}");
        check(&setup.open(), 1, |_| 5);
    }
}

#[test]
fn chunks_that_become_complete_are_stored_together() {
    let map = Arc::new(Mem::new(ALL));
    let mut setup = Setup::new(&map, &[8, 256, 512], &[2, 256, 512], NcType::Int);
    setup.options.threads = 2;
    let array = setup.open();
    let row = |at: u64| put_ints(&array, &[at, 0, 0], &[1, 256, 512], &vec![at as i32; 256 * 512]).unwrap();
    for (at, writes) in [(0, 0), (1, 0), (4, 0), (5, 2), (2, 2), (3, 2), (7, 2), (6, 4)] {
        row(at);
        assert_eq!(map.writes.load(SeqCst), writes, "row {at}");
    }
    let other = setup.open();
    for at in 0..8 {
        assert_eq!(get_ints(&other, &[at, 3, 7], &[1, 1, 2]).unwrap(), [at as i32; 2]);
    }
}

#[test]
fn many_append_at_once() {
    for way in WAITING {
        let (_, setup) = records(way);
        let array = setup.open();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let array = &array;
                scope.spawn(move || {
                    for record in (thread..4 * LOT).step_by(4) {
                        append(array, record, record as i32).unwrap();
                        let found = get_ints(array, &[record, 0, 0], &[1, 1, 2]).unwrap();
                        assert_eq!(found, [record as i32; 2]);
                    }
                });
            }
        });
        array.flush().unwrap();
        check(&setup.open(), 4 * LOT, |record| record as i32);
    }
}

#[test]
fn chunks_at_the_edge_do_not_wait_and_the_others_do() {
    for way in WAITING {
        let (map, mut setup) = records(way);
        setup.dims[1].len = Arc::new(AtomicU64::new(96));
        let array = setup.open();
        for record in 0..LOT {
            put_ints(&array, &[record, 0, 0], &[1, 96, 64], &vec![record as i32; 96 * 64]).unwrap();
            let waited = if record + 1 == LOT { LOT } else { 0 };
            assert_eq!(map.writes.load(SeqCst) as u64, record + 1 + waited);
        }
        array.flush().unwrap();
        assert_eq!(map.writes.load(SeqCst) as u64, 2 * LOT, "nothing is stored twice");
        for array in [&array, &setup.open()] {
            for record in 0..LOT {
                let found = get_ints(array, &[record, 0, 0], &[1, 96, 64]).unwrap();
                assert!(found.iter().all(|value| *value == record as i32), "record {record}");
            }
        }
    }
}

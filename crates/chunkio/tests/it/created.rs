//! New chunks with unwritten parts: the holes become fill values, and no request reads storage.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use nczarr_model::{NcType, Values};
use nczarr_storage::MapCaps;

use crate::filters::{Shuffle, Xor};
use crate::map::{ALL, Mem};
use crate::support::{Setup, get_ints, put_ints};

const FILL: i32 = -3;

fn setup(caps: MapCaps, filtered: bool) -> (Arc<Mem>, Setup) {
    let map = Arc::new(Mem::new(caps));
    let mut setup = Setup::new(&map, &[8, 8], &[4, 4], NcType::Int).unlimited(0);
    if filtered {
        setup = setup.filters(vec![Box::new(Shuffle { item: 4, declared: true }), Box::new(Xor(7))]);
    }
    setup.fill = Some(Values::Int(vec![FILL]));
    (map, setup)
}

/// Four rows of four values that start with `begin` and continue with `rest`.
fn rows(begin: [&[i32]; 4], rest: i32) -> Vec<i32> {
    let row = |begin: &[i32]| (0..4).map(|at| begin.get(at).copied().unwrap_or(rest)).collect::<Vec<_>>();
    begin.iter().flat_map(|begin| row(begin)).collect()
}

#[test]
fn holes_of_a_new_chunk_are_stored_as_fill() {
    for (filtered, exclusive) in [(false, false), (false, true), (true, false), (true, true)] {
        let (map, mut setup) = setup(ALL, filtered);
        setup.options.exclusive = exclusive;
        let array = setup.open();
        // The library reuses memory. The old values in it must not appear in the result.
        put_ints(&array, &[4, 4], &[4, 2], &[77; 8]).unwrap();
        put_ints(&array, &[4, 6], &[4, 2], &[77; 8]).unwrap();
        put_ints(&array, &[0, 0], &[1, 3], &[1, 2, 3]).unwrap();
        put_ints(&array, &[2, 0], &[2, 1], &[4, 5]).unwrap();
        let expected = rows([&[1, 2, 3], &[], &[4], &[5]], FILL);
        array.flush().unwrap();
        assert_eq!(map.reads.load(SeqCst), 0, "there was nothing to be read");
        assert_eq!(get_ints(&setup.open(), &[0, 0], &[4, 4]).unwrap(), expected);
        let reads = map.reads.load(SeqCst);
        assert_eq!(get_ints(&array, &[0, 0], &[4, 4]).unwrap(), expected);
        assert_eq!(map.reads.load(SeqCst), reads, "all of it is known");
        let writes = map.writes.load(SeqCst);
        array.flush().unwrap();
        assert_eq!(map.writes.load(SeqCst), writes, "nothing is written twice");
    }
}

#[test]
fn a_chunk_created_by_another_writer_is_merged() {
    for filtered in [false, true] {
        let (map, setup) = setup(ALL, filtered);
        let (array, other) = (Arc::new(setup.open()), setup.open());
        put_ints(&array, &[0, 0], &[1, 3], &[1; 3]).unwrap();
        let writer = array.clone();
        *map.before_write.lock().unwrap() = Some(Box::new(move || {
            put_ints(&other, &[0, 0], &[4, 4], &[9; 16]).unwrap();
            put_ints(&writer, &[1, 0], &[1, 1], &[2]).unwrap();
        }));
        array.flush().unwrap();
        assert_eq!(get_ints(&setup.open(), &[0, 0], &[4, 4]).unwrap(), rows([&[1; 3], &[], &[], &[]], 9));
        assert_eq!(get_ints(&array, &[0, 0], &[4, 4]).unwrap(), rows([&[1; 3], &[2], &[], &[]], 9));
        array.flush().unwrap();
        assert_eq!(get_ints(&setup.open(), &[0, 0], &[4, 4]).unwrap(), rows([&[1; 3], &[2], &[], &[]], 9));
    }
}

#[test]
fn a_new_chunk_that_could_not_be_stored_is_merged_when_it_can() {
    let (map, setup) = setup(ALL, false);
    let (array, other) = (setup.open(), setup.open());
    put_ints(&array, &[0, 0], &[1, 3], &[1; 3]).unwrap();
    map.failing_writes.store(1, SeqCst);
    array.flush().unwrap_err();
    put_ints(&other, &[0, 0], &[4, 4], &[9; 16]).unwrap();
    array.flush().unwrap();
    assert_eq!(get_ints(&setup.open(), &[0, 0], &[4, 4]).unwrap(), rows([&[1; 3], &[], &[], &[]], 9));
    assert_eq!(get_ints(&array, &[0, 0], &[4, 4]).unwrap(), rows([&[1; 3], &[], &[], &[]], 9));
}

#[test]
fn a_remote_flush_makes_no_redundant_request() {
    let (map, setup) = setup(ALL.remote(true), false);
    let array = setup.open();
    put_ints(&array, &[0, 0], &[1, 3], &[1; 3]).unwrap();
    array.flush().unwrap();
    assert_eq!((map.lens.load(SeqCst), map.reads.load(SeqCst), map.writes.load(SeqCst)), (0, 1, 1));
    assert_eq!(get_ints(&setup.open(), &[0, 0], &[4, 4]).unwrap(), rows([&[1; 3], &[], &[], &[]], FILL));
}

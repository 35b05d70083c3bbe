//! Many threads, and many arrays that stand for processes, share one map.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use nczarr_model::NcType;

use crate::filters::{Shuffle, Sum, Xor};
use crate::map::{ALL, Mem};
use crate::random::Random;
use crate::support::{Setup, get_ints, put_ints};

/// Each thread repeatedly writes its own elements of every chunk through one of `arrays` arrays.
fn no_write_is_lost(arrays: usize, cache_bytes: usize, exclusive: bool) {
    const THREADS: u64 = 4;
    const LEN: u64 = 96;
    let map = Arc::new(Mem::new(ALL));
    let mut setup = Setup::new(&map, &[LEN], &[12], NcType::Int)
        .filters(vec![Box::new(Shuffle { item: 4, declared: true }), Box::new(Xor(9))]);
    setup.options.cache_bytes = Some(cache_bytes);
    setup.options.exclusive = exclusive;
    let arrays: Vec<_> = (0..arrays).map(|_| setup.open()).collect();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let array = &arrays[thread as usize % arrays.len()];
            scope.spawn(move || {
                let mut random = Random::new(thread);
                let mut last = vec![0; LEN as usize];
                for round in 1..150 {
                    let at = random.below(LEN / THREADS) * THREADS + thread;
                    last[at as usize] = round;
                    put_ints(array, &[at], &[1], &[round]).unwrap();
                    if random.one_in(8) {
                        array.flush().unwrap();
                    }
                    let at = random.below(LEN / THREADS) * THREADS + thread;
                    assert_eq!(
                        get_ints(array, &[at], &[1]).unwrap(),
                        [last[at as usize]],
                        "own writes are seen"
                    );
                }
                for at in (thread..LEN).step_by(THREADS as usize) {
                    put_ints(array, &[at], &[1], &[1000 + at as i32]).unwrap();
                }
            });
        }
    });
    for array in &arrays {
        array.flush().unwrap();
    }
    let expected: Vec<i32> = (1000..1000 + LEN as i32).collect();
    assert_eq!(get_ints(&setup.open(), &[0], &[LEN]).unwrap(), expected);
}

#[test]
fn threads_share_an_array() {
    for cache_bytes in [0, 48, 150, 1 << 20] {
        no_write_is_lost(1, cache_bytes, false);
        no_write_is_lost(1, cache_bytes, true);
    }
}

#[test]
fn processes_share_a_map() {
    for cache_bytes in [0, 150, 1 << 20] {
        no_write_is_lost(2, cache_bytes, false);
        no_write_is_lost(4, cache_bytes, false);
    }
}

#[test]
fn whole_and_partial_writes_of_one_chunk_are_in_order() {
    // In each round one thread writes the whole chunk while others write and read parts of it. A chunk never
    // mixes two whole writes: each element comes from this round's whole write or from a part.
    let map = Arc::new(Mem::new(ALL));
    let mut setup = Setup::new(&map, &[64], &[64], NcType::Int).filters(vec![Box::new(Sum)]);
    setup.options.exclusive = true;
    for cache_bytes in [0, 1 << 20] {
        setup.options.cache_bytes = Some(cache_bytes);
        let array = setup.open();
        for round in 0..60 {
            std::thread::scope(|scope| {
                let array = &array;
                scope.spawn(move || put_ints(array, &[0], &[64], &[round; 64]).unwrap());
                scope.spawn(move || put_ints(array, &[3], &[2], &[-round, -round]).unwrap());
                scope.spawn(move || array.flush().unwrap());
                scope.spawn(move || {
                    get_ints(array, &[0], &[5]).unwrap();
                });
            });
            let check = |found: Vec<i32>| {
                assert!(
                    found[..3].iter().chain(&found[5..]).all(|&value| value == round),
                    "{round}: {found:?}"
                );
                assert!(found[3].abs() == round && found[4] == found[3], "{round}: {found:?}");
            };
            check(get_ints(&array, &[0], &[64]).unwrap());
            array.flush().unwrap();
            check(get_ints(&array, &[0], &[64]).unwrap());
            check(get_ints(&setup.open(), &[0], &[64]).unwrap());
        }
    }
}

#[test]
fn data_read_before_a_write_is_not_cached() {
    for whole in [true, false] {
        let map = Arc::new(Mem::new(ALL));
        let setup = Setup::new(&map, &[8], &[8], NcType::Int).filters(vec![Box::new(Sum)]);
        let array = Arc::new(setup.open());
        put_ints(&array, &[0], &[8], &[1; 8]).unwrap();
        let writer = array.clone();
        *map.meanwhile.lock().unwrap() = Some(Box::new(move || {
            if whole {
                put_ints(&writer, &[0], &[8], &[2; 8]).unwrap();
            } else {
                // Partial writes pass through the cache and then leave it.
                put_ints(&writer, &[1], &[2], &[2; 2]).unwrap();
                writer.sync().unwrap();
            }
        }));
        get_ints(&array, &[1], &[2]).unwrap();
        assert!(map.meanwhile.lock().unwrap().is_none());
        assert_eq!(get_ints(&array, &[1], &[2]).unwrap(), [2; 2]);
    }
}

#[test]
fn large_transfers_run_on_many_threads() {
    let map = Arc::new(Mem::new(ALL));
    let mut setup = Setup::new(&map, &[64, 512, 64], &[10, 100, 30], NcType::Int);
    setup.options.threads = 2;
    let values: Vec<i32> = (0..64 * 512 * 64).collect();
    for filters in [vec![], crate::filters::chain(3, 4), crate::filters::chain(4, 4)] {
        let setup = Setup { filters, ..Setup::new(&map, &[64, 512, 64], &[10, 100, 30], NcType::Int) };
        let array = setup.open();
        put_ints(&array, &[0, 0, 0], &[64, 512, 64], &values).unwrap();
        assert!(get_ints(&setup.open(), &[0, 0, 0], &[64, 512, 64]).unwrap() == values);
        // The writes pass through the cache and are flushed in parallel.
        put_ints(&array, &[1, 1, 1], &[60, 500, 60], &vec![-1; 60 * 500 * 60]).unwrap();
        array.flush().unwrap();
        let found = get_ints(&setup.open(), &[0, 0, 0], &[64, 512, 64]).unwrap();
        assert!(
            found == get_ints(&array, &[0, 0, 0], &[64, 512, 64]).unwrap(),
            "from the cache as from storage"
        );
        let inside = |at: usize| {
            (1..61).contains(&(at / 512 / 64))
                && (1..501).contains(&(at / 64 % 512))
                && (1..61).contains(&(at % 64))
        };
        assert!(
            found.iter().enumerate().all(|(at, &value)| value == if inside(at) { -1 } else { at as i32 })
        );
    }
}

#[test]
fn records_appended_by_many_are_all_there() {
    let map = Arc::new(Mem::new(ALL));
    let setup = Setup::new(&map, &[0, 3], &[8, 3], NcType::Int).unlimited(0);
    let arrays = [setup.open(), setup.open()];
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let array = &arrays[thread as usize % 2];
            scope.spawn(move || {
                for record in (thread..100).step_by(4) {
                    put_ints(array, &[record, 0], &[1, 3], &[record as i32; 3]).unwrap();
                }
            });
        }
    });
    arrays.iter().for_each(|array| array.flush().unwrap());
    assert_eq!(setup.dims[0].len.load(SeqCst), 100);
    let found = get_ints(&setup.open(), &[0, 0], &[100, 3]).unwrap();
    assert_eq!(found, (0..100).flat_map(|record| [record; 3]).collect::<Vec<_>>());
}

#[test]
fn one_array_appending_writes_each_chunk_once() {
    let map = Arc::new(Mem::new(ALL));
    let setup = Setup::new(&map, &[0, 3], &[8, 3], NcType::Int).unlimited(0);
    let array = setup.open();
    for record in 0..64 {
        put_ints(&array, &[record, 0], &[1, 3], &[record as i32; 3]).unwrap();
    }
    array.flush().unwrap();
    assert_eq!((map.reads.load(SeqCst), map.writes.load(SeqCst)), (0, 8));
}

//! Accepted data survive every fault of storage.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use nczarr_model::ErrorKind;
use nczarr_storage::batch::{ReadJob, WriteJob};
use nczarr_storage::{Key, MapCaps, Precondition};

use crate::filters::{Shuffle, Sum, Xor};
use crate::map::{ALL, Mem};
use crate::support::{Setup, get_ints, put_ints};

fn setup(caps: MapCaps) -> (Arc<Mem>, Setup) {
    let map = Arc::new(Mem::new(caps));
    let setup = Setup::new(&map, &[8, 8], &[4, 4], nczarr_model::NcType::Int)
        .filters(vec![Box::new(Shuffle { item: 4, declared: true }), Box::new(Sum)]);
    (map, setup)
}

#[test]
fn chunks_that_failed_to_store_stay_cached() {
    for exclusive in [false, true] {
        let (map, mut setup) = setup(ALL);
        setup.options.exclusive = exclusive;
        let array = setup.open();
        let all: Vec<i32> = (0..64).collect();
        // One chunk is complete, two have holes and one is untouched.
        for row in 0..4 {
            put_ints(&array, &[row, 0], &[1, 4], &all[row as usize * 8..][..4]).unwrap();
        }
        put_ints(&array, &[4, 4], &[1, 2], &[36, 37]).unwrap();
        put_ints(&array, &[4, 0], &[4, 1], &[32, 40, 48, 56]).unwrap();
        for failures in [1, 2, 2] {
            map.failing_writes.store(failures, SeqCst);
            let error = array.flush().unwrap_err();
            assert!(error.to_string().contains("/v: chunk ") && error.kind() == ErrorKind::Io, "{error}");
            assert_eq!(map.failing_writes.load(SeqCst), 0, "all chunks are tried");
            // A read still finds the values.
            assert_eq!(get_ints(&array, &[3, 0], &[1, 4]).unwrap(), [24, 25, 26, 27]);
            assert_eq!(get_ints(&array, &[4, 4], &[1, 2]).unwrap(), [36, 37]);
            // A write can still change them.
            put_ints(&array, &[7, 7], &[1, 1], &[failures as i32]).unwrap();
        }
        array.flush().unwrap();
        let again = setup.open();
        assert_eq!(get_ints(&again, &[0, 0], &[4, 4]).unwrap()[12..], [24, 25, 26, 27]);
        assert_eq!(
            get_ints(&again, &[4, 4], &[4, 4]).unwrap(),
            [36, 37, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]
        );
        assert_eq!(get_ints(&again, &[4, 0], &[4, 1]).unwrap(), [32, 40, 48, 56]);
        let writes = map.writes.load(SeqCst);
        array.flush().unwrap();
        assert_eq!(map.writes.load(SeqCst), writes, "nothing is written twice");
    }
}

#[test]
fn writes_during_a_flush_belong_to_the_next_flush() {
    for (complete, fails) in [(false, false), (false, true), (true, false), (true, true)] {
        let (map, setup) = setup(ALL);
        let array = Arc::new(setup.open());
        let other = setup.open();
        put_ints(&other, &[0, 0], &[4, 4], &[9; 16]).unwrap();
        let rows = if complete { 4 } else { 2 };
        for row in 0..rows {
            put_ints(&array, &[row, 0], &[1, 4], &[1; 4]).unwrap();
        }
        let writer = array.clone();
        *map.before_write.lock().unwrap() = Some(Box::new(move || {
            put_ints(&writer, &[1, 1], &[1, 3], &[2; 3]).unwrap();
            assert_eq!(get_ints(&writer, &[1, 0], &[1, 4]).unwrap(), [1, 2, 2, 2]);
        }));
        map.failing_writes.store(usize::from(fails), SeqCst);
        assert_eq!(array.flush().is_err(), fails);
        let expected = |new: i32| {
            let mut expected = [[1; 4], [1, new, new, new], [9; 4], [9; 4]];
            expected[2..rows as usize].fill([1; 4]);
            expected.concat()
        };
        if !fails {
            assert_eq!(get_ints(&setup.open(), &[0, 0], &[4, 4]).unwrap(), expected(1));
            // Stored values are not written again, because another process may have changed them since.
            put_ints(&other, &[0, 0], &[1, 1], &[7]).unwrap();
            other.flush().unwrap();
        }
        assert_eq!(get_ints(&array, &[0, 0], &[4, 4]).unwrap()[1..], expected(2)[1..]);
        array.flush().unwrap();
        let found = get_ints(&setup.open(), &[0, 0], &[4, 4]).unwrap();
        assert_eq!((found[0], &found[1..]), (if fails { 1 } else { 7 }, &expected(2)[1..]));
    }
}

#[test]
fn a_failing_eviction_keeps_its_chunk() {
    let (map, mut setup) = setup(ALL);
    setup.options.cache_bytes = Some(64);
    let array = setup.open();
    put_ints(&array, &[0, 0], &[1, 1], &[1]).unwrap();
    map.failing_writes.store(1, SeqCst);
    let error = put_ints(&array, &[0, 4], &[1, 1], &[2]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(get_ints(&array, &[0, 0], &[1, 8]).unwrap(), [1, 0, 0, 0, 2, 0, 0, 0]);
    array.flush().unwrap();
    assert_eq!(get_ints(&setup.open(), &[0, 0], &[1, 8]).unwrap(), [1, 0, 0, 0, 2, 0, 0, 0]);
}

#[test]
fn a_failed_read_of_a_chunk_keeps_its_written_part() {
    let (map, setup) = setup(ALL);
    let other = setup.open();
    put_ints(&other, &[0, 0], &[8, 8], &[9; 64]).unwrap();
    let array = setup.open();
    put_ints(&array, &[0, 0], &[1, 2], &[1, 2]).unwrap();
    assert_eq!(get_ints(&array, &[0, 0], &[1, 2]).unwrap(), [1, 2], "needs no storage");
    map.failing_reads.store(1, SeqCst);
    assert_eq!(get_ints(&array, &[0, 0], &[1, 3]).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(get_ints(&array, &[0, 0], &[1, 3]).unwrap(), [1, 2, 9]);
    put_ints(&array, &[4, 4], &[1, 1], &[3]).unwrap();
    map.failing_reads.store(2, SeqCst);
    assert_eq!(array.flush().unwrap_err().kind(), ErrorKind::Io);
    array.flush().unwrap();
    assert_eq!(get_ints(&setup.open(), &[0, 0], &[1, 3]).unwrap(), [1, 2, 9]);
    assert_eq!(get_ints(&setup.open(), &[4, 4], &[1, 2]).unwrap(), [3, 9]);
}

#[test]
fn a_failed_whole_write_keeps_earlier_data() {
    let (map, setup) = setup(ALL);
    let array = setup.open();
    put_ints(&array, &[1, 1], &[1, 1], &[5]).unwrap();
    map.failing_writes.store(1, SeqCst);
    let error = put_ints(&array, &[0, 0], &[4, 4], &[7; 16]).unwrap_err();
    assert!(error.to_string().contains("chunk 0.0"), "{error}");
    assert_eq!(get_ints(&array, &[1, 1], &[1, 1]).unwrap(), [5], "the earlier write was accepted");
    put_ints(&array, &[0, 0], &[4, 4], &[7; 16]).unwrap();
    assert_eq!(get_ints(&array, &[1, 1], &[1, 1]).unwrap(), [7]);
    array.flush().unwrap();
    assert_eq!(get_ints(&setup.open(), &[0, 0], &[4, 4]).unwrap(), [7; 16]);
}

#[test]
fn a_lost_race_merges_with_the_other_write() {
    let map = Arc::new(Mem::new(ALL));
    let setup = Setup::new(&map, &[4], &[4], nczarr_model::NcType::Byte);
    map.set("0", &[1, 2, 3, 4]);
    let array = setup.open();
    let bytes =
        crate::support::put(&array, &nczarr_model::Slab::new(&[1], &[1]), nczarr_model::NcType::Byte, &[50]);
    bytes.unwrap();
    // Each lost race adds one to every stored element.
    map.losing.store(5, SeqCst);
    array.flush().unwrap();
    assert_eq!(map.object("0").unwrap(), [6, 50, 8, 9]);
    // A read returns the merged values.
    let (found, _) =
        crate::support::get(&array, &nczarr_model::Slab::new(&[0], &[4]), nczarr_model::NcType::Byte);
    assert_eq!(found, [6, 50, 8, 9]);
    // An endless race is an error that names the chunk. It loses no values.
    crate::support::put(&array, &nczarr_model::Slab::new(&[3], &[1]), nczarr_model::NcType::Byte, &[60])
        .unwrap();
    map.losing.store(1000, SeqCst);
    let error = array.flush().unwrap_err();
    assert!(error.to_string().contains("/v: chunk 0"), "{error}");
    map.losing.store(0, SeqCst);
    array.flush().unwrap();
    let object = map.object("0").unwrap();
    assert_eq!(object[3], 60);
    assert_eq!(object[0].wrapping_add(2), object[2]);
}

#[test]
fn another_process_keeps_its_elements_of_a_shared_chunk() {
    for exclusive_cache in [0, 64, 1 << 20] {
        let (_, mut setup) = setup(ALL);
        setup.options.cache_bytes = Some(exclusive_cache);
        let (one, two) = (setup.open(), setup.open());
        // Both arrays read the chunk before.
        put_ints(&one, &[0, 0], &[4, 4], &[0; 16]).unwrap();
        for array in [&one, &two] {
            get_ints(array, &[0, 0], &[2, 2]).unwrap();
        }
        put_ints(&one, &[0, 0], &[1, 1], &[1]).unwrap();
        put_ints(&two, &[0, 1], &[1, 1], &[2]).unwrap();
        one.flush().unwrap();
        two.flush().unwrap();
        // The second write stores only its new values over those of the other array.
        put_ints(&two, &[0, 0], &[1, 1], &[10]).unwrap();
        two.flush().unwrap();
        put_ints(&one, &[0, 2], &[1, 1], &[3]).unwrap();
        one.sync().unwrap();
        assert_eq!(get_ints(&one, &[0, 0], &[1, 4]).unwrap(), [10, 2, 3, 0]);
    }
}

#[test]
fn without_conditional_writes_only_an_exclusive_user_writes_parts() {
    let (map, mut setup) = setup(ALL.conditional_write(false));
    let array = setup.open();
    put_ints(&array, &[0, 0], &[4, 4], &[1; 16]).unwrap();
    let error = put_ints(&array, &[0, 0], &[1, 1], &[2]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Perm);
    assert!(error.to_string().contains("exclusive"), "{error}");
    setup.options.exclusive = true;
    let array = setup.open();
    put_ints(&array, &[0, 0], &[1, 1], &[2]).unwrap();
    array.flush().unwrap();
    assert_eq!(get_ints(&setup.open(), &[0, 0], &[1, 4]).unwrap(), [2, 1, 1, 1]);
    drop(map);
}

/// A map that handles tickets wrongly in one way.
#[derive(Debug)]
struct Rogue(Mem, u8);

impl nczarr_storage::ZMap for Rogue {
    fn caps(&self) -> MapCaps {
        self.0.caps
    }

    fn len(&self, key: &Key) -> nczarr_model::Result<Option<u64>> {
        self.0.len(key)
    }

    fn read_with(
        &self,
        key: &Key,
        options: nczarr_storage::ReadOptions,
        out: &mut Vec<u8>,
    ) -> nczarr_model::Result<Option<nczarr_storage::ObjectInfo>> {
        self.0.read_with(key, options, out)
    }

    fn list(
        &self,
        prefix: &Key,
        mode: nczarr_storage::ListMode,
    ) -> nczarr_model::Result<Option<Vec<String>>> {
        self.0.list(prefix, mode)
    }

    fn write_if(
        &self,
        key: &Key,
        value: &[u8],
        expect: &nczarr_storage::Precondition,
    ) -> nczarr_model::Result<nczarr_storage::WriteOutcome> {
        self.0.write_if(key, value, expect)
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        let mut key = Key::root();
        while let Some(mut ticket) = job.next(&mut key) {
            let bytes = [1; 16];
            let found = || Ok(Some((nczarr_storage::batch::ReadOutcome::Bytes(&bytes), None)));
            let copy =
                |index| nczarr_storage::batch::ReadTicket::new(index, nczarr_storage::batch::Ranges::All, 0);
            match self.1 {
                0 => drop(ticket),
                1 => {
                    job.done(copy(ticket.index), found());
                    job.done(copy(ticket.index), found());
                }
                2 => job.done(copy(ticket.index + 100), found()),
                3 => {
                    ticket.into = None;
                    job.done(ticket, Ok(Some((nczarr_storage::batch::ReadOutcome::InPlace, None))));
                }
                4 => {
                    let mut elsewhere = [7; 16];
                    let mut out = nczarr_runtime::OutBuf::from_slice(&mut elsewhere);
                    out.put_zeros(16).unwrap();
                    let mut other = copy(ticket.index);
                    other.into = Some(out);
                    job.done(other, Ok(Some((nczarr_storage::batch::ReadOutcome::InPlace, None))));
                }
                _ => {
                    // A map need not use the memory lent to it.
                    let index = ticket.index;
                    job.done(ticket, found());
                    job.done(copy(index), found());
                }
            }
        }
    }

    fn write_batch(&self, job: &dyn WriteJob) {
        let mut key = Key::root();
        while let Some(ticket) = job.next(&mut key) {
            match self.1 {
                0 => drop(ticket),
                1 => assert!(job.value(ticket.index + 100, &mut Vec::new()).is_err()),
                2 => job.done(
                    nczarr_storage::batch::WriteTicket {
                        index: ticket.index + 100,
                        precondition: Precondition::Any,
                    },
                    Ok(nczarr_storage::WriteOutcome::Done(None)),
                ),
                _ => job.done(ticket, Ok(nczarr_storage::WriteOutcome::Conflict)),
            }
        }
    }
}

#[derive(Debug)]
struct RogueCells(Rogue);

impl nczarr_chunkio::ChunkStore for RogueCells {
    fn map(&self) -> &dyn nczarr_storage::ZMap {
        &self.0
    }

    fn locate(&self, index: &[u64], key: &mut Key) {
        key.set(&Key::root());
        key.push_index(index, '.');
    }
}

#[test]
fn a_misbehaving_map_is_detected() {
    for (kind, filtered) in (0..6).flat_map(|kind| [(kind, false), (kind, true)]) {
        let mem = Arc::new(Mem::new(ALL));
        let mut setup = Setup::new(&mem, &[16], &[4], nczarr_model::NcType::Int);
        if filtered {
            setup = setup.filters(vec![Box::new(Xor(0))]);
        }
        let mut spec = setup.spec();
        spec.store = Arc::new(RogueCells(Rogue(Mem::new(ALL), kind)));
        let array = nczarr_chunkio::ChunkedArray::new(spec).unwrap();
        let error = get_ints(&array, &[0], &[16]).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Internal | ErrorKind::Trunc | ErrorKind::Filter),
            "{kind}: {error}"
        );
        let error = put_ints(&array, &[0], &[16], &[1; 16]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal, "{kind}: {error}");
        // Values that wait for a flush stay in the cache after a failed flush.
        for i in 0..8 {
            put_ints(&array, &[i], &[1], &[5]).unwrap();
        }
        if !filtered {
            // Single writes store these chunks, and this map handles single writes correctly.
            continue;
        }
        assert_eq!(array.flush().unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(array.flush().unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(get_ints(&array, &[0], &[8]).unwrap(), [5; 8]);
    }
}

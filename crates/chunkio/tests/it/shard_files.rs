//! Shards in real maps: the requests to storage, faults, and processes that write parts of one shard.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use nczarr_chunkio::{ArrayDim, ArraySpec, ChunkStore, ChunkedArray, DimOrder, ElementLayout};
use nczarr_codec::Filter;
use nczarr_dispatch::Options;
use nczarr_model::{ErrorKind, NcType};
use nczarr_storage::{Key, ZMap, ZMapExt};
use nczarr_zmap_file::FileMap;
use nczarr_zmap_mem::MemMap;
use nczarr_zmap_wrap::{Counting, Fault, Faults, Op, Slow, When};

use crate::filters::Sum;
use crate::shards::{encode, plain};
use crate::support::{get_ints, put_ints};

#[derive(Debug)]
struct Objects(Arc<dyn ZMap>);

impl ChunkStore for Objects {
    fn map(&self) -> &dyn ZMap {
        &*self.0
    }

    fn locate(&self, index: &[u64], key: &mut Key) {
        key.set(&Key::root());
        key.push_index(index, '.');
    }
}

/// An array of int in shards of `counts` chunks.
fn array(
    map: Arc<dyn ZMap>,
    [shape, chunk, counts]: [&[u64]; 3],
    filters: Vec<Box<dyn Filter>>,
    options: Options,
) -> ChunkedArray {
    let dim = |&len: &u64| ArrayDim { len: Arc::new(AtomicU64::new(len)), unlimited: false };
    ChunkedArray::new(ArraySpec {
        name: "/v".to_owned(),
        dims: shape.iter().map(dim).collect(),
        chunk_shape: chunk.to_vec(),
        element: ElementLayout::Number { ty: NcType::Int, big_endian: false },
        order: DimOrder::C,
        filters,
        fill: None,
        shards: vec![plain(counts, false)],
        store: Arc::new(Objects(map)),
        options,
        writable: true,
    })
    .unwrap()
}

#[test]
fn a_row_of_a_large_shard_costs_its_chunks_and_the_index() {
    // The array has 128 MiB in 16 × 32 chunks of 64 × 1024.
    let (chunk, counts) = ([64, 1024], [16, 32]);
    let shape = [chunk[0] * counts[0], chunk[1] * counts[1]];
    let bytes = (chunk[0] * chunk[1] * 4) as usize;
    let index = (counts[0] * counts[1] * 16 + 4) as usize;
    for summed in [false, true] {
        let one: Vec<u8> = (0..bytes as u32 / 4).flat_map(u32::to_le_bytes).collect();
        let filters: Vec<Box<dyn Filter>> = if summed { vec![Box::new(Sum)] } else { vec![] };
        let stored = if summed { [&one[..], &sum(&one)].concat() } else { one };
        let all = (0..counts[0]).flat_map(|row| (0..counts[1]).map(move |column| vec![row, column]));
        let chunks: BTreeMap<Vec<u64>, Vec<u8>> = all.map(|at| (at, stored.clone())).collect();
        let map = MemMap::new();
        map.write(&Key::new("0.0").unwrap(), &encode(&plain(&counts, false), &chunks, 0)).unwrap();
        let counting = Arc::new(Counting::new(Arc::new(map)));
        let mut options = Options::default();
        (options.threads, options.cache_bytes) = (1, Some(0));
        let array = array(counting.clone(), [&shape, &chunk, &counts], filters, options);
        let expected: Vec<i32> = (0..shape[1]).map(|at| (3 * chunk[1] + at % chunk[1]) as i32).collect();
        let needed = if summed { stored.len() * counts[1] as usize } else { shape[1] as usize * 4 };
        // With sums, one request takes three chunks of a little over 256 KiB. Without, two threads take the
        // rows.
        let requests = if summed { 11 } else { 2 };
        for (first, index, more) in [(true, index, 1), (false, 0, 0)] {
            counting.take();
            assert_eq!(get_ints(&array, &[64 + 3, 0], &[1, shape[1]]).unwrap(), expected);
            let read = counting.take().read();
            assert_eq!(read.bytes as usize, needed + index, "first: {first}, with sums: {summed}");
            assert!(read.requests <= requests + more, "{} requests, {requests} allowed", read.requests);
        }
    }
}

#[test]
fn an_index_is_read_once_per_state_of_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let map: Arc<dyn ZMap> =
        Arc::new(FileMap::open(dir.path(), true, &nczarr_storage::MapOptions::default()).unwrap());
    let shard = |first: i32, junk| {
        let chunk = |at: i32| (first + at * 4..first + at * 4 + 4).flat_map(i32::to_le_bytes).collect();
        let chunks = (0..8).map(|at| (vec![at as u64], chunk(at))).collect();
        encode(&plain(&[8], false), &chunks, junk)
    };
    let counting = Arc::new(Counting::new(Arc::clone(&map)));
    let mut options = Options::default();
    options.cache_bytes = Some(0);
    let array = array(counting.clone(), [&[32], &[4], &[8]], vec![], options);
    let key = Key::new("0").unwrap();
    for (first, junk) in [(0, 0), (100, 5), (200, 0)] {
        map.write(&key, &shard(first, junk)).unwrap();
        for (chunk, requests) in [(3, 2), (3, 1), (5, 1), (0, 1)] {
            counting.take();
            let expected: Vec<i32> = (first + chunk * 4..first + chunk * 4 + 4).collect();
            assert_eq!(get_ints(&array, &[chunk as u64 * 4], &[4]).unwrap(), expected);
            let stale = if requests == 2 && first > 0 { 1 } else { 0 };
            assert!(counting.take().read().requests <= requests + stale, "{first}: chunk {chunk}");
        }
    }
    map.delete(&key).unwrap();
    assert_eq!(get_ints(&array, &[0], &[32]).unwrap(), [0; 32]);
}

fn sum(bytes: &[u8]) -> [u8; 4] {
    bytes.iter().fold(7u32, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into())).to_le_bytes()
}

#[test]
fn faults_are_errors_and_lose_nothing() {
    let map = MemMap::new();
    let open = |map: Arc<dyn ZMap>| array(map, [&[64], &[4], &[8]], vec![], Options::default());
    let values: Vec<i32> = (0..64).collect();
    put_ints(&open(Arc::new(map.clone())), &[0], &[64], &values).unwrap();
    let mut failed = 0;
    for fault in [Fault::Fail(ErrorKind::Io), Fault::Late(ErrorKind::Io), Fault::Short] {
        for number in 1..6 {
            let faults = Faults::new(0).with(Op::READS, When::Nth(number), fault);
            let array = open(Arc::new(Slow::new(Arc::new(map.clone())).faults(faults)));
            match get_ints(&array, &[2], &[60]) {
                Ok(found) => assert_eq!(found, values[2..62]),
                Err(error) => {
                    assert!([ErrorKind::Io, ErrorKind::Trunc].contains(&error.kind()), "{error}");
                    failed += 1;
                }
            }
            while get_ints(&array, &[2], &[60]).is_err() {}
            assert_eq!(get_ints(&array, &[2], &[60]).unwrap(), values[2..62]);
        }
    }
    assert!(failed >= 6, "{failed}");
    for fault in [Fault::Fail(ErrorKind::Io), Fault::Late(ErrorKind::Io)] {
        let faults = Faults::new(0).with(Op::WRITES, When::Nth(1), fault);
        let array = open(Arc::new(Slow::new(Arc::new(map.clone())).faults(faults)));
        put_ints(&array, &[3], &[3], &[-3, -4, -5]).unwrap();
        assert!(array.flush().is_err());
        assert_eq!(
            get_ints(&array, &[2], &[5]).unwrap(),
            [2, -3, -4, -5, 6],
            "what could not be stored is kept"
        );
        array.flush().unwrap();
        let again = open(Arc::new(map.clone()));
        assert_eq!(get_ints(&again, &[0], &[7]).unwrap(), [0, 1, 2, -3, -4, -5, 6]);
    }
}

/// Over a network, one batch reads the indexes of all shards once. A second batch reads the wanted chunks.
#[test]
fn boxes_from_shards_over_a_network_cost_few_requests() {
    // The array has 4 shards of 4 × 8 × 8 chunks of 16 KiB.
    let (chunk, counts, shape) = ([16; 3], [4, 8, 8], [64, 256, 256]);
    let caps = crate::map::ALL.remote(true).versioned_parts(true);
    let mem = Arc::new(crate::map::Mem::new(caps));
    let open = |map: Arc<dyn ZMap>| {
        let mut options = Options::default();
        options.cache_bytes = Some(0);
        array(map, [&shape, &chunk, &counts], vec![], options)
    };
    let values: Vec<i32> = (0..shape.iter().product::<u64>() as i32).collect();
    put_ints(&open(mem.clone()), &[0; 3], &shape, &values).unwrap();
    let counting = Arc::new(Counting::new(mem));
    let array = open(counting.clone());
    let (mut requests, mut bytes) = (0, 0);
    for (start, batches) in
        [([33, 41, 57], 2), ([7, 70, 41], 1), ([33, 134, 115], 1), ([21, 161, 223], 1), ([35, 7, 7], 1)]
    {
        counting.take();
        let found = get_ints(&array, &start, &[16; 3]).unwrap();
        let at = |i: u64| [start[0] + i / 256, start[1] + i / 16 % 16, start[2] + i % 16];
        let expected = (0..16 * 16 * 16).map(at).map(|[z, y, x]| values[((z * 256 + y) * 256 + x) as usize]);
        assert!(found.into_iter().eq(expected));
        let counts = counting.take();
        assert_eq!(counts.of(Op::ReadBatch).calls, batches, "{start:?}");
        requests += counts.read().requests;
        bytes += counts.read().bytes;
    }
    // There are 4 indexes. A box covers 2 distant layers of chunks, and one box covers 2 shards.
    assert_eq!(requests, 4 + 4 * 2 + 4);
    assert!(bytes < 6 << 20, "{bytes} bytes");
}

const PROCESSES: usize = 8;
const PLACE: &str = "NCZ_TEST_SHARD";
const TURN: &str = "NCZ_TEST_SHARD_TURN";

fn rounds() -> usize {
    std::env::var("NCZ_TEST_ROUNDS").map_or(20, |rounds| rounds.parse().expect("a number of rounds"))
}

fn value(turn: usize, round: usize, at: usize) -> i32 {
    (turn * 1_000_000 + round * 10 + at) as i32
}

/// Each process owns one chunk of the shard and half of the chunk between it and the next process.
#[test]
fn processes_that_write_parts_of_one_shard_lose_nothing() {
    const PART: usize = 6;
    let len = (PROCESSES * PART) as u64;
    let open = |place: &str| {
        let map = FileMap::open(place, true, &nczarr_storage::MapOptions::default()).unwrap();
        let mut options = Options::default();
        options.threads = 1;
        array(Arc::new(map), [&[len], &[4], &[len / 4]], vec![Box::new(Sum)], options)
    };
    if let Ok(place) = std::env::var(PLACE) {
        let turn: usize = std::env::var(TURN).unwrap().parse().unwrap();
        let (array, from) = (open(&place), turn * PART);
        for round in 0..rounds() {
            let values: Vec<i32> = (0..PART).map(|at| value(turn, round, at)).collect();
            put_ints(&array, &[from as u64], &[PART as u64], &values).unwrap();
            array.sync().unwrap();
            let seen = get_ints(&array, &[0], &[len]).unwrap();
            assert_eq!(seen[from..from + PART], values, "round {round} of {turn}");
        }
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().display().to_string();
    let start = |turn: usize| -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--test-threads=1"])
            .arg("shard_files::processes_that_write_parts_of_one_shard_lose_nothing")
            .env(PLACE, &place)
            .env(TURN, turn.to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let children: Vec<Child> = (0..PROCESSES).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let expected: Vec<i32> =
        (0..PROCESSES).flat_map(|turn| (0..PART).map(move |at| value(turn, rounds() - 1, at))).collect();
    assert_eq!(get_ints(&open(&place), &[0], &[len]).unwrap(), expected);
}

/// The length of a row. Each row is a chunk of 128 KiB that is decoded straight into the result.
const ROW: u64 = 32 << 10;

fn rows(first: i32) -> Vec<i32> {
    (first..first + 4 * ROW as i32).collect()
}

fn shard_of_rows(first: i32, junk: usize) -> Vec<u8> {
    let row = |at: u64| {
        let first = first + (at * ROW) as i32;
        (first..first + ROW as i32).flat_map(i32::to_le_bytes).collect()
    };
    encode(&plain(&[4, 1], false), &(0..4).map(|at| (vec![at, 0], row(at))).collect(), junk)
}

#[test]
fn large_chunks_of_one_version_are_read_in_place() {
    let dir = tempfile::tempdir().unwrap();
    let map: Arc<dyn ZMap> =
        Arc::new(FileMap::open(dir.path(), true, &nczarr_storage::MapOptions::default()).unwrap());
    let counting = Arc::new(Counting::new(Arc::clone(&map)));
    let mut options = Options::default();
    options.cache_bytes = Some(0);
    // With two threads at once, one may skip the kept open file and its version. So one thread is used.
    options.threads = 1;
    let array = array(counting.clone(), [&[4, ROW], &[1, ROW], &[4, 1]], vec![], options);
    let key = Key::new("0.0").unwrap();
    for (turn, junk) in [0, 9, 100_000, 0].into_iter().enumerate() {
        // Cached data of the previous shard must not be used.
        map.write(&key, &shard_of_rows(1000 * turn as i32, junk)).unwrap();
        assert_eq!(get_ints(&array, &[0, 0], &[4, ROW]).unwrap(), rows(1000 * turn as i32), "{turn}");
        counting.take();
        assert_eq!(
            get_ints(&array, &[1, 0], &[2, ROW]).unwrap(),
            rows(1000 * turn as i32)[ROW as usize..][..65536]
        );
        let read = counting.take().read();
        assert_eq!((read.requests, read.bytes), (2, 8 * ROW));
        // A part of a row is also read straight into the result.
        assert_eq!(
            get_ints(&array, &[3, 7], &[1, ROW - 9]).unwrap(),
            rows(1000 * turn as i32)[3 * ROW as usize + 7..][..ROW as usize - 9]
        );
    }
    map.write(&key, &shard_of_rows(0, 0)[..70_000]).unwrap();
    assert!(get_ints(&array, &[0, 0], &[4, ROW]).is_err());
    map.delete(&key).unwrap();
    assert_eq!(get_ints(&array, &[0, 0], &[4, ROW]).unwrap(), vec![0; 4 * ROW as usize]);
}

#[test]
fn a_replaced_shard_is_read_in_its_new_version() {
    for versioned_parts in [true, false] {
        for number in 1..4 {
            let mem = Arc::new(crate::map::Mem::new(crate::map::ALL.versioned_parts(versioned_parts)));
            mem.set("0.0", &shard_of_rows(0, 0));
            let mut setup = crate::support::Setup::new(&mem, &[4, ROW], &[1, ROW], NcType::Int);
            (setup.shards, setup.options.cache_bytes, setup.options.threads) =
                (vec![plain(&[4, 1], false)], Some(0), 1);
            let array = setup.open();
            // These reads precede the tested one, so that the change comes at a chosen read.
            for _ in 1..number {
                assert_eq!(
                    get_ints(&array, &[2, 0], &[1, ROW]).unwrap(),
                    rows(0)[2 * ROW as usize..][..ROW as usize]
                );
            }
            if versioned_parts {
                let (copy, next) = (mem.clone(), shard_of_rows(77, 3));
                *mem.meanwhile.lock().unwrap() = Some(Box::new(move || copy.set("0.0", &next)));
            }
            let first = if versioned_parts { 77 } else { 0 };
            let found = get_ints(&array, &[0, 0], &[4, ROW]).unwrap();
            // The first row may come from before the change.
            let same = found
                .chunks(ROW as usize)
                .zip(rows(first).chunks(ROW as usize))
                .filter(|(a, b)| a == b)
                .count();
            assert!(same >= 3, "{number}: {same} rows of four");
            assert_eq!(get_ints(&array, &[0, 0], &[4, ROW]).unwrap(), rows(first));
        }
    }
}

#[test]
fn a_shard_is_stored_part_by_part_and_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let map: Arc<dyn ZMap> =
        Arc::new(FileMap::open(dir.path(), true, &nczarr_storage::MapOptions::default()).unwrap());
    let counting = Arc::new(Counting::new(Arc::clone(&map)));
    for (chunk, counts, summed, threads) in [
        ([1, ROW], [4, 1], false, 1),
        ([1, ROW], [4, 1], true, 3),
        ([1, 64], [4, ROW / 64], false, 1),
        ([4, 100], [1, 400], true, 2),
    ] {
        let filters: Vec<Box<dyn Filter>> = if summed { vec![Box::new(Sum)] } else { vec![] };
        let mut options = Options::default();
        options.threads = threads;
        let open =
            |map: Arc<dyn ZMap>| array(map, [&[4, ROW], &chunk, &counts], filters.clone(), options.clone());
        for first in [0, 5] {
            counting.take();
            put_ints(&open(counting.clone()), &[0, 0], &[4, ROW], &rows(first)).unwrap();
            let written = counting.take().written();
            let total = counts[0] * counts[1];
            let padded = total * (chunk[0] * chunk[1] * 4 + if summed { 4 } else { 0 }) + 16 * total + 4;
            let stored = std::fs::metadata(dir.path().join("0.0")).unwrap().len();
            assert_eq!(written.requests, 1);
            assert_eq!(written.bytes, stored);
            assert!(stored <= padded, "{stored}, {padded}");
            assert_eq!(get_ints(&open(map.clone()), &[0, 0], &[4, ROW]).unwrap(), rows(first));
        }
        // A failed write changes nothing and leaves no file behind.
        let faults = Faults::new(0).with(Op::WRITES, When::Nth(1), Fault::Fail(ErrorKind::Io));
        let failing = open(Arc::new(Slow::new(Arc::clone(&map)).faults(faults)));
        assert!(put_ints(&failing, &[0, 0], &[4, ROW], &rows(9)).is_err());
        assert_eq!(get_ints(&open(map.clone()), &[0, 0], &[4, ROW]).unwrap(), rows(5));
        assert_eq!(
            std::fs::read_dir(dir.path())
                .unwrap()
                .filter(|name| !name.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'))
                .count(),
            1
        );
    }
}

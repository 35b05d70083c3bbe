//! Direct reads and writes: the requests, the stored bytes, the sizes and the limits.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::Ordering::SeqCst;

use nczarr_chunkio::{ChunkedArray, DimOrder, ElementLayout};
use nczarr_codec::{ChunkInfo, ItemType};
use nczarr_dispatch::{MemMut, MissingChunks, Progress, VarData};
use nczarr_model::{ErrorKind, NcType, Slab, Values};
use nczarr_runtime::OutBuf;

use crate::filters::{CHAINS, DECODED, Pieces, Runs, Shuffle, Sum, Xor, chain};
use crate::map::{ALL, Mem};
use crate::support::{Setup, get, get_ints, put, put_ints};

fn mem() -> Arc<Mem> {
    Arc::new(Mem::new(ALL))
}

fn ints(values: impl IntoIterator<Item = i32>) -> Vec<u8> {
    values.into_iter().flat_map(i32::to_le_bytes).collect()
}

#[test]
fn chunks_are_stored_whole_and_the_outside_is_fill() {
    let map = mem();
    let mut setup = Setup::new(&map, &[3, 5], &[2, 4], NcType::Int);
    setup.fill = Some(Values::Int(vec![-1]));
    let array = setup.open();
    put_ints(&array, &[0, 0], &[3, 5], &(0..15).collect::<Vec<_>>()).unwrap();
    // Every chunk is complete up to the array's shape, so none waits in the cache.
    let object = |key: &str| map.object(key).unwrap();
    assert_eq!(object("0.0"), ints([0, 1, 2, 3, 5, 6, 7, 8]));
    assert_eq!(object("0.1"), ints([4, -1, -1, -1, 9, -1, -1, -1]));
    assert_eq!(object("1.0"), ints([10, 11, 12, 13, -1, -1, -1, -1]));
    assert_eq!(object("1.1"), ints([14, -1, -1, -1, -1, -1, -1, -1]));
    assert_eq!(map.reads.load(SeqCst), 0);
    assert!(array.written());

    // Partial writes gather in the cache and give the same bytes.
    let map = mem();
    let setup = Setup { map: map.clone(), ..setup };
    let array = setup.open();
    for i in 0..15 {
        put_ints(&array, &[i / 5, i % 5], &[1, 1], &[i as i32]).unwrap();
    }
    // A complete chunk without filters is stored at once.
    assert_eq!(map.writes.load(SeqCst), 4);
    array.flush().unwrap();
    assert_eq!(map.object("0.1"), Some(ints([4, -1, -1, -1, 9, -1, -1, -1])));
    assert_eq!(map.object("1.1"), Some(ints([14, -1, -1, -1, -1, -1, -1, -1])));
    assert_eq!((map.reads.load(SeqCst), map.writes.load(SeqCst)), (0, 4), "complete chunks are never read");
}

#[test]
fn dimension_and_byte_orders_match_the_format() {
    for (order, big_endian, expected) in [
        (DimOrder::C, false, ints([0, 1, 2, 3, 4, 5])),
        (DimOrder::F, false, ints([0, 3, 1, 4, 2, 5])),
        (DimOrder::C, true, (0..6).flat_map(i32::to_be_bytes).collect()),
        (DimOrder::F, true, [0, 3, 1, 4, 2, 5i32].into_iter().flat_map(i32::to_be_bytes).collect()),
    ] {
        let map = mem();
        let mut setup = Setup::new(&map, &[2, 3], &[2, 3], NcType::Int);
        (setup.order, setup.element) = (order, ElementLayout::Number { ty: NcType::Int, big_endian });
        put_ints(&setup.open(), &[0, 0], &[2, 3], &[0, 1, 2, 3, 4, 5]).unwrap();
        assert_eq!(map.object("0.0").unwrap(), expected);
    }
    // The last dimension in the order is the fastest. Element (i, j, k) is 6 i + 3 j + k in C order.
    let map = mem();
    let mut setup = Setup::new(&map, &[2, 2, 3], &[2, 2, 3], NcType::Int);
    setup.order = DimOrder::of(&[1, 2, 0]).unwrap();
    put_ints(&setup.open(), &[0, 0, 0], &[2, 2, 3], &Vec::from_iter(0..12)).unwrap();
    assert_eq!(map.object("0.0.0").unwrap(), ints([0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]));
    // Byte `b` of element `i` of `n` goes to position `b * n + i`.
    let map = mem();
    let setup = Setup::new(&map, &[3], &[3], NcType::Int)
        .filters(vec![Box::new(Shuffle { item: 4, declared: true })]);
    put_ints(&setup.open(), &[0], &[3], &[0x04030201, 0x14131211, 0x24232221]).unwrap();
    assert_eq!(map.object("0").unwrap(), [1, 0x11, 0x21, 2, 0x12, 0x22, 3, 0x13, 0x23, 4, 0x14, 0x24]);
    // A scalar has one chunk.
    let map = mem();
    let array = Setup::new(&map, &[], &[], NcType::Int).open();
    put_ints(&array, &[], &[], &[42]).unwrap();
    assert_eq!(map.object("0").unwrap(), ints([42]));
    assert_eq!(get_ints(&array, &[], &[]).unwrap(), [42]);
}

#[test]
fn folded_stages_store_the_bytes_of_the_filters() {
    for (number, big_endian) in (0..CHAINS).flat_map(|number| [(number, false), (number, true)]) {
        for (ty, item) in [(NcType::Byte, 1), (NcType::Short, 2), (NcType::Int, 4), (NcType::Double, 8)] {
            let map = mem();
            let mut setup = Setup::new(&map, &[5, 7], &[5, 7], ty).filters(chain(number, item));
            setup.element = ElementLayout::Number { ty, big_endian };
            let values: Vec<u8> = (0..35 * item).map(|at| (at * at % 251) as u8).collect();
            put(&setup.open(), &Slab::new(&[0, 0], &[5, 7]), ty, &values).unwrap();
            let mut bytes = values;
            if big_endian {
                bytes.chunks_mut(item).for_each(<[u8]>::reverse);
            }
            for mut filter in chain(number, item) {
                let info = ChunkInfo::new(ItemType::of(ty, big_endian), bytes.len() / item)
                    .item_size(item)
                    .chunk_bytes(bytes.len())
                    .row(7)
                    .array_row(Some(7))
                    .big_endian(big_endian);
                filter.bind(&info).unwrap();
                let mut encoded = vec![0; bytes.len() * 4 + 64];
                let mut out = OutBuf::from_slice(&mut encoded);
                filter.encode(&bytes, &mut out).unwrap();
                bytes = out.filled().to_vec();
            }
            assert_eq!(map.object("0.0").unwrap(), bytes, "chain {number} of {ty:?}");
        }
    }
}

#[test]
fn small_arrays_are_cached_on_request_or_after_many_reads() {
    let map = mem();
    map.set("0", &vec![1; 8000]);
    map.set("1", &vec![1; 8000]);
    let setup = Setup::new(&map, &[4000], &[2000], NcType::Int);
    let reads = |array: &ChunkedArray, times: u64| {
        map.read_bytes.store(0, SeqCst);
        for i in 0..times {
            get_ints(array, &[7 * i], &[1]).unwrap();
        }
        map.read_bytes.load(SeqCst)
    };
    let array = setup.open();
    assert_eq!(reads(&array, 15), 15 * 4, "piece by piece");
    assert_eq!(reads(&array, 15), 8000, "it pays");
    assert_eq!(reads(&array, 15), 0);
    let array = setup.open();
    array.set_chunk_cache(array.chunk_cache().bytes(16_000)).unwrap();
    assert_eq!(reads(&array, 15), 8000, "it was asked for");
    let mut asked = Setup::new(&map, &[4000], &[2000], NcType::Int);
    asked.options.cache_bytes = Some(16_000);
    assert_eq!(reads(&asked.open(), 15), 8000, "it was asked for when opening");
    array.sync().unwrap();
    array.set_chunk_cache(array.chunk_cache().bytes(15_999)).unwrap();
    assert_eq!(reads(&array, 100), 400, "not all of it fits");
}

#[test]
fn reads_decode_only_the_requested_part() {
    let map = mem();
    let mut setup =
        Setup::new(&map, &[64, 64, 64], &[64, 64, 64], NcType::Int).filters(vec![Box::new(Pieces)]);
    setup.options.cache_bytes = Some(0);
    let array = setup.open();
    put_ints(&array, &[0, 0, 0], &[64, 64, 64], &(0..64 * 64 * 64).collect::<Vec<_>>()).unwrap();
    let read = |start: &[u64], count: &[u64]| {
        DECODED.store(0, SeqCst);
        let found = get_ints(&array, start, count).unwrap();
        assert_eq!(found[0] as u64, start.iter().fold(0, |at, &i| at * 64 + i));
        assert_eq!(
            *found.last().unwrap() as u64,
            start.iter().zip(count).fold(0, |at, (&i, &n)| at * 64 + i + n - 1)
        );
        DECODED.load(SeqCst)
    };
    assert_eq!(read(&[9, 63, 1], &[1, 1, 1]), 4);
    assert_eq!(read(&[9, 1, 1], &[2, 2, 2]), 2 * (256 + 8));
    assert_eq!(read(&[0, 0, 0], &[64, 64, 63]), 1 << 20);
    assert_eq!(read(&[0, 0, 0], &[64, 64, 64]), 1 << 20);
}

#[test]
fn stale_memory_never_reaches_a_result() {
    for (filtered, exclusive) in [(false, false), (false, true), (true, false), (true, true)] {
        let map = mem();
        let mut setup = Setup::new(&map, &[4, 7000], &[2, 5000], NcType::Int).unlimited(0);
        if filtered {
            setup = setup.filters(vec![Box::new(Xor(1))]);
        }
        setup.options.exclusive = exclusive;
        setup.fill = Some(Values::Int(vec![-9]));
        let array = setup.open();
        let mut expected = vec![-9; 4 * 7000];
        for round in 0..20u64 {
            // This call leaves memory full of other values behind.
            let other = mem();
            let litter =
                Setup::new(&other, &[10_000], &[10_000], NcType::Int).filters(vec![Box::new(Xor(3))]).open();
            put_ints(&litter, &[0], &[9_999], &[0x5555_5555; 9_999]).unwrap();
            drop(litter);
            let (row, column) = (round % 4, round * 347 % 6990);
            put_ints(&array, &[row, column], &[1, 5], &[round as i32; 5]).unwrap();
            expected[(row * 7000 + column) as usize..][..5].fill(round as i32);
            match round % 5 {
                1 => array.sync().unwrap(),
                2 => assert!(get_ints(&array, &[0, 0], &[4, 7000]).unwrap() == expected),
                3 => array.flush().unwrap(),
                _ => {}
            }
        }
        array.flush().unwrap();
        assert!(get_ints(&setup.open(), &[0, 0], &[4, 7000]).unwrap() == expected);
        // The part of the chunk outside the shape holds fill values, too.
        setup.dims[1].len.store(10_000, SeqCst);
        let outside = get_ints(&setup.open(), &[0, 7000], &[4, 3000]).unwrap();
        assert!(outside.iter().all(|&value| value == -9));
    }
}

#[test]
fn records_beyond_the_known_length_are_kept() {
    // Two threads or processes append to one chunk. Each knows only its own length.
    for exclusive in [false, true] {
        let map = mem();
        let mut setup = Setup::new(&map, &[0, 2], &[4, 2], NcType::Int).unlimited(0);
        setup.options.exclusive = exclusive;
        let array = setup.open();
        map.set("0.0", &ints([-1; 8]));
        // The write covers the known length, which is less than the chunk.
        put_ints(&array, &[0, 0], &[3, 2], &[1; 6]).unwrap();
        array.flush().unwrap();
        assert_eq!(map.object("0.0").unwrap(), ints([1, 1, 1, 1, 1, 1, -1, -1]));
    }
}

#[test]
fn reads_fetch_only_the_requested_bytes() {
    let map = mem();
    // The chunk has 1 MiB: 64 planes of 64 rows of 64 elements.
    map.set("0.0.0", &ints(0..64 * 64 * 64));
    let setup = Setup::new(&map, &[64, 64, 64], &[64, 64, 64], NcType::Int);
    let read = |start: &[u64], count: &[u64]| {
        map.read_bytes.store(0, SeqCst);
        let array = setup.open();
        let found = get_ints(&array, start, count).unwrap();
        assert_eq!(found[0] as u64, start.iter().fold(0, |at, &i| at * 64 + i));
        assert_eq!(found.len() as u64, count.iter().product::<u64>());
        map.read_bytes.load(SeqCst)
    };
    assert_eq!(read(&[63, 63, 63], &[1, 1, 1]), 4);
    assert_eq!(read(&[5, 0, 0], &[1, 64, 64]), 64 * 64 * 4, "one plane");
    assert_eq!(read(&[0, 9, 9], &[64, 1, 1]), 64 * 4, "a time series");
    assert_eq!(read(&[0, 9, 9], &[32, 32, 32]), 32 * (31 * 256 + 128), "planes, with what lies between rows");
    assert_eq!(read(&[0, 0, 0], &[33, 64, 64]), 1 << 20, "most of it: all of it, to be kept");
    // A map without range reads reads the whole object once.
    let map = Arc::new(Mem::new(ALL.range_read(false)));
    map.set("0.0.0", &vec![7; 1 << 20]);
    let array = Setup { map: map.clone(), ..setup }.open();
    for i in 0..10 {
        assert_eq!(get_ints(&array, &[i, i, i], &[1, 1, 1]).unwrap(), [0x07070707]);
    }
    assert_eq!(map.read_bytes.load(SeqCst), 1 << 20);
}

#[test]
fn a_chunk_used_in_part_is_kept_and_whole_scans_are_not() {
    let map = mem();
    let setup = Setup::new(&map, &[8, 8], &[4, 4], NcType::Int).filters(vec![Box::new(Xor(3))]);
    let array = setup.open();
    put_ints(&array, &[0, 0], &[8, 8], &(0..64).collect::<Vec<_>>()).unwrap();
    for i in 0..4 {
        assert_eq!(get_ints(&array, &[i, i], &[1, 1]).unwrap(), [9 * i as i32]);
    }
    assert_eq!(map.reads.load(SeqCst), 1);
    map.reads.store(0, SeqCst);
    for _ in 0..2 {
        get_ints(&array, &[0, 0], &[8, 8]).unwrap();
    }
    assert_eq!(map.reads.load(SeqCst), 6, "one of four chunks was kept");
    // Another process writes. This array sees the change only after `sync`.
    let other = setup.open();
    put_ints(&other, &[0, 0], &[4, 4], &[-1; 16]).unwrap();
    assert_eq!(get_ints(&array, &[1, 1], &[1, 1]).unwrap(), [9]);
    array.sync().unwrap();
    assert_eq!(get_ints(&array, &[1, 1], &[1, 1]).unwrap(), [-1]);
}

#[test]
fn the_cache_keeps_to_its_budget() {
    let map = mem();
    let mut setup = Setup::new(&map, &[1000], &[10], NcType::Int).filters(vec![Box::new(Xor(3))]);
    setup.options.cache_bytes = Some(400);
    let array = setup.open();
    put_ints(&array, &[0], &[1000], &(0..1000).collect::<Vec<_>>()).unwrap();
    let touch = || {
        map.reads.store(0, SeqCst);
        for chunk in 0..20 {
            get_ints(&array, &[10 * chunk], &[2]).unwrap();
        }
        map.reads.load(SeqCst)
    };
    touch();
    assert!((10..=20).contains(&touch()), "at most ten of twenty chunks are kept");
    let config = array.chunk_cache().bytes(4000);
    array.set_chunk_cache(config).unwrap();
    assert_eq!(array.chunk_cache(), config);
    touch();
    assert_eq!(touch(), 0);
    array.set_chunk_cache(config.bytes(0)).unwrap();
    assert_eq!(touch(), 20);
    assert_eq!(touch(), 20);
    let error = array.set_chunk_cache(config.preemption(2.0)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Inval);
}

#[test]
fn objects_of_another_size_are_errors_that_say_so() {
    let sum = || vec![Box::new(Sum) as Box<dyn nczarr_codec::Filter>];
    let runs = || vec![Box::new(Runs) as Box<dyn nczarr_codec::Filter>];
    let long = vec![1; 3 << 20];
    let stored = |bytes: &[u8]| {
        let mut stored = vec![0; bytes.len() + 4];
        stored[..bytes.len()].copy_from_slice(bytes);
        let sum = bytes.iter().fold(7u32, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        stored[bytes.len()..].copy_from_slice(&sum.to_le_bytes());
        stored
    };
    for (filters, object, kind) in [
        (vec![], vec![1; 63], ErrorKind::Trunc),
        (vec![], vec![], ErrorKind::Trunc),
        (vec![], vec![1; 65], ErrorKind::Io),
        (vec![], long.clone(), ErrorKind::Io),
        (sum(), stored(&[1; 63]), ErrorKind::Filter),
        (sum(), stored(&[1; 65]), ErrorKind::Filter),
        (sum(), stored(&[]), ErrorKind::Filter),
        (sum(), vec![1; 68], ErrorKind::Filter),
        (sum(), long, ErrorKind::Io),
        // These bytes decode to more than the 64 expected: to 65 and to 255,000.
        (runs(), vec![65, 1, 0x55], ErrorKind::Filter),
        (runs(), [255, 1, 0x55].repeat(1000), ErrorKind::Filter),
        (runs(), vec![63, 1, 0x55], ErrorKind::Filter),
        (runs(), vec![63, 1], ErrorKind::Filter),
    ] {
        let map = mem();
        map.set("1.0", &object);
        let setup = Setup::new(&map, &[8, 4], &[4, 4], NcType::Int).filters(filters);
        let array = setup.open();
        // The chunk is read whole, in part and converted, and is the base of a partial write.
        let slab = Slab::new(&[0, 0], &[8, 4]);
        let (bytes, result) = get(&array, &slab, NcType::Int);
        assert!(bytes.is_empty(), "nothing counts as read");
        let converted = get(&array, &slab, NcType::Double).1;
        let part = get_ints(&array, &[4, 1], &[3, 3]).map(drop);
        put_ints(&array, &[4, 0], &[1, 1], &[7]).unwrap();
        let flushed = array.flush();
        for result in [result, converted, part, flushed] {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains("/v: chunk 1.0"), "{error}");
        }
        assert_eq!(map.object("1.0").unwrap(), object, "a damaged chunk is not overwritten in part");
        // A write of the whole chunk repairs it.
        put_ints(&array, &[4, 0], &[4, 4], &[8; 16]).unwrap();
        array.flush().unwrap();
        assert_eq!(get_ints(&array, &[4, 0], &[4, 4]).unwrap(), [8; 16]);
    }
}

#[test]
fn a_range_beyond_a_short_object_is_an_error() {
    let map = mem();
    map.set("0", &[1; 100]);
    let array = Setup::new(&map, &[1000], &[1000], NcType::Int).open();
    assert_eq!(get_ints(&array, &[0], &[10]).unwrap(), [0x01010101; 10]);
    for start in [20, 24, 25, 26, 900] {
        let error = get_ints(&array, &[start], &[10]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Trunc, "{error}");
    }
}

#[test]
fn missing_chunks_follow_the_options() {
    let map = mem();
    let mut setup = Setup::new(&map, &[4], &[2], NcType::Int);
    map.set("0", &ints([1, 2]));
    setup.fill = Some(Values::Int(vec![300]));
    assert_eq!(get_ints(&setup.open(), &[0], &[4]).unwrap(), [1, 2, 300, 300]);
    // A fill value outside the range of the memory type matters only where it is used.
    let (bytes, result) = get(&setup.open(), &Slab::new(&[0], &[2]), NcType::UByte);
    assert_eq!((bytes, result.is_ok()), (vec![1, 2], true));
    let (bytes, result) = get(&setup.open(), &Slab::new(&[0], &[4]), NcType::UByte);
    assert_eq!((bytes, result.unwrap_err().kind()), (vec![1, 2, 44, 44], ErrorKind::Range));
    setup.options.missing_chunks = MissingChunks::Warn;
    assert_eq!(get_ints(&setup.open(), &[0], &[4]).unwrap(), [1, 2, 300, 300]);
    setup.options.missing_chunks = MissingChunks::Error;
    let array = setup.open();
    let error = get_ints(&array, &[0], &[4]).unwrap_err();
    assert_eq!((error.kind(), error.to_string().contains("chunk 1")), (ErrorKind::NoObject, true), "{error}");
    // A write may create a missing chunk.
    put_ints(&array, &[2], &[1], &[3]).unwrap();
    array.flush().unwrap();
    assert_eq!(get_ints(&array, &[0], &[4]).unwrap(), [1, 2, 3, 300]);
}

#[test]
fn arguments_are_checked() {
    let map = mem();
    let mut setup = Setup::new(&map, &[4, 4], &[2, 2], NcType::Int);
    let array = setup.open();
    let kind = |slab: &Slab<'_>, ty: NcType, len: usize| {
        let mut memory = vec![0; len];
        let mut out = OutBuf::from_slice(&mut memory);
        let read =
            array.check_read(slab).and_then(|slab| array.get(&slab, MemMut::Fixed { ty, out: &mut out }));
        let read = read.map_err(|error| error.kind());
        let written = put(&array, slab, ty, &vec![0; len]).map_err(|error| error.kind());
        assert_eq!(read, written);
        read.err()
    };
    let all = Slab::new(&[0, 0], &[4, 4]);
    assert_eq!(kind(&all, NcType::Int, 64), None);
    assert_eq!(kind(&all, NcType::Int, 63), Some(ErrorKind::Inval));
    assert_eq!(kind(&all, NcType::Int, 65), Some(ErrorKind::Inval));
    assert_eq!(kind(&all, NcType::Double, 64), Some(ErrorKind::Inval));
    assert_eq!(kind(&all, NcType::Char, 16), Some(ErrorKind::Char));
    assert_eq!(kind(&all, NcType::String, 16), Some(ErrorKind::BadType));
    assert_eq!(kind(&Slab::new(&[0], &[4]), NcType::Int, 16), Some(ErrorKind::Inval));
    assert_eq!(kind(&Slab::new(&[0, 1], &[4, 4]), NcType::Int, 64), Some(ErrorKind::Edge));
    assert_eq!(kind(&Slab::new(&[5, 0], &[0, 4]), NcType::Int, 0), Some(ErrorKind::InvalCoords));
    assert_eq!(kind(&Slab::new(&[4, 0], &[0, 4]), NcType::Int, 0), None);
    let strided = |stride: &'static [u64]| Slab { stride: Some(stride), ..all };
    assert_eq!(kind(&strided(&[1, 0]), NcType::Int, 64), Some(ErrorKind::Stride));
    assert_eq!(kind(&strided(&[1, u64::MAX]), NcType::Int, 64), Some(ErrorKind::Edge));
    let error = array.get(&array.check_read(&all).unwrap(), MemMut::Strings(&mut [])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Char);

    setup.writable = false;
    let error = put_ints(&setup.open(), &[0, 0], &[1, 1], &[1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Perm);
    setup.chunk = vec![0, 1];
    assert_eq!(ChunkedArray::new(setup.spec()).unwrap_err().kind(), ErrorKind::BadChunk);
    setup.chunk = vec![1 << 20, 1 << 20];
    let error = ChunkedArray::new(setup.spec()).unwrap_err();
    assert!(error.kind() == ErrorKind::BadChunk && error.to_string().contains("/v"), "{error}");
}

#[test]
fn enormous_arrays_cost_only_the_touched_chunks() {
    let map = mem();
    let setup = Setup::new(&map, &[1 << 63, 1 << 62], &[1 << 10, 3], NcType::Int);
    let array = setup.open();
    let corner = [(1 << 63) - 1, (1 << 62) - 2];
    put_ints(&array, &corner, &[1, 2], &[5, 6]).unwrap();
    array.sync().unwrap();
    assert_eq!(get_ints(&array, &corner, &[1, 2]).unwrap(), [5, 6]);
    let far = Slab { start: &[0, 0], count: &[2, 2], stride: Some(&[(1 << 63) - 1, (1 << 62) - 2]) };
    assert_eq!(get(&array, &far, NcType::Int).0, ints([0, 0, 0, 5]));
    // The whole array exceeds the memory. The check of the buffer size comes first.
    let mut out = OutBuf::from_slice(&mut []);
    let all = Slab::new(&[0, 0], &[1 << 63, 1 << 62]);
    let error = array
        .get(&array.check_read(&all).unwrap(), MemMut::Fixed { ty: NcType::Int, out: &mut out })
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoMem);
}

#[test]
fn unlimited_dimensions_grow_when_data_is_accepted() {
    let map = mem();
    let setup = Setup::new(&map, &[0, 0], &[2, 3], NcType::Short).unlimited(0).unlimited(1);
    let lens = || setup.dims.iter().map(|dim| dim.len.load(SeqCst)).collect::<Vec<_>>();
    let array = setup.open();
    put_ints(&array, &[1, 2], &[1, 2], &[1, 2]).unwrap();
    assert_eq!(lens(), [2, 4]);
    // An empty or failed write does not grow the array. A write with a range error does.
    put_ints(&array, &[9, 9], &[0, 1], &[]).unwrap();
    assert_eq!(put_ints(&array, &[9, 9], &[1, 1], &[]).unwrap_err().kind(), ErrorKind::Inval);
    assert_eq!(lens(), [2, 4]);
    assert_eq!(put_ints(&array, &[2, 0], &[1, 1], &[70_000]).unwrap_err().kind(), ErrorKind::Range);
    assert_eq!(lens(), [3, 4]);
    assert_eq!(get_ints(&array, &[0, 0], &[3, 4]).unwrap(), [0, 0, 0, 0, 0, 0, 1, 2, 4464, 0, 0, 0]);
    assert_eq!(get_ints(&array, &[0, 0], &[4, 4]).unwrap_err().kind(), ErrorKind::Edge);
}

#[test]
fn transfers_are_watched_and_can_be_stopped() {
    #[derive(Default)]
    struct Watch {
        seen: Mutex<Vec<(u64, u64)>>,
        stop_at: u64,
    }
    impl Progress for Watch {
        fn advance(&self, done: u64, total: u64) -> bool {
            self.seen.lock().unwrap().push((done, total));
            done < self.stop_at
        }
    }
    let map = mem();
    let run = |stop_at: u64| {
        let watch = Arc::new(Watch { stop_at, ..Watch::default() });
        let mut setup = Setup::new(&map, &[100], &[10], NcType::Int);
        setup.options.progress = Some(watch.clone());
        let array = setup.open();
        let put = put_ints(&array, &[0], &[100], &[1; 100]);
        let seen = std::mem::take(&mut *watch.seen.lock().unwrap());
        let get = get_ints(&array, &[5], &[90]).map(drop);
        assert_eq!(put.is_ok(), stop_at == u64::MAX);
        assert_eq!(get.as_ref().err().map(|error| error.kind()), put.err().map(|error| error.kind()));
        (seen, watch.seen.lock().unwrap().clone())
    };
    let (put, get) = run(u64::MAX);
    assert_eq!(put, (1..=10).map(|i| (40 * i, 400)).collect::<Vec<_>>());
    assert_eq!((get.len(), get[9]), (10, (360, 360)));
    let (put, get) = run(80);
    assert_eq!((put.len(), get.len()), (2, 3));
}

#[test]
fn a_whole_chunk_replaces_its_cached_data() {
    let map = mem();
    let setup = Setup::new(&map, &[0, 4], &[2, 4], NcType::Int).unlimited(0);
    let len = || setup.dims[0].len.load(SeqCst);
    let array = setup.open();
    let whole: Vec<i32> = (1..9).collect();
    put_ints(&array, &[4, 1], &[1, 2], &[70, 71]).unwrap();
    assert_eq!((len(), map.writes.load(SeqCst)), (5, 0));
    // A failed store changes nothing, and the error names the chunk.
    map.failing_writes.store(1, SeqCst);
    let error = put_ints(&array, &[4, 0], &[2, 4], &whole).unwrap_err();
    assert!(error.what().contains("/v: chunk 2.0"), "{error}");
    assert_eq!(len(), 5);
    assert_eq!(get_ints(&array, &[4, 0], &[1, 4]).unwrap(), [0, 70, 71, 0]);
    put_ints(&array, &[4, 0], &[2, 4], &whole).unwrap();
    assert_eq!((len(), map.object("2.0").unwrap()), (6, ints(whole.clone())));
    let writes = map.writes.load(SeqCst);
    array.flush().unwrap();
    assert_eq!(map.writes.load(SeqCst), writes, "nothing of it waits any more");
    assert_eq!(get_ints(&array, &[4, 0], &[2, 4]).unwrap(), whole);
    // These slabs have a chunk's element count but are not plain whole chunks. They start inside a chunk, use
    // a stride, have another type or pass too few bytes.
    put_ints(&array, &[7, 0], &[2, 4], &whole).unwrap();
    let steps = Slab { start: &[10, 0], count: &[2, 4], stride: Some(&[2, 1]) };
    put(&array, &steps, NcType::Int, &ints(whole.clone())).unwrap();
    let bytes: Vec<u8> = (1..9).collect();
    put(&array, &Slab::new(&[14, 0], &[2, 4]), NcType::UByte, &bytes).unwrap();
    assert_eq!(
        put(&array, &Slab::new(&[16, 0], &[2, 4]), NcType::Int, &bytes).unwrap_err().kind(),
        ErrorKind::Inval
    );
    array.sync().unwrap();
    for (record, expected) in
        [(7, &whole[..4]), (8, &whole[4..]), (10, &whole[..4]), (11, &[0; 4]), (12, &whole[4..])]
    {
        assert_eq!(get_ints(&array, &[record, 0], &[1, 4]).unwrap(), expected, "record {record}");
    }
    assert_eq!((len(), map.object("7.0").unwrap()), (16, ints(whole)));
}

#[test]
fn single_elements_are_read_from_cached_chunks() {
    let map = Arc::new(Mem::new(ALL));
    let mut setup = Setup::new(&map, &[5, 6], &[4, 4], NcType::Int);
    setup.options.cache_bytes = Some(1 << 20);
    put_ints(&setup.open(), &[0, 0], &[5, 6], &(0..30).collect::<Vec<_>>()).unwrap();
    let array = setup.open();
    let peek = |at: &[u64], ty, len: usize| {
        let mut out = vec![0xFF; len];
        array.try_get_cached_element(at, ty, &mut out).then_some(out)
    };
    assert_eq!(peek(&[0, 0], NcType::Int, 4), None, "nothing was read yet");
    get_ints(&array, &[1, 1], &[1, 1]).unwrap();
    let kept = peek(&[0, 0], NcType::Int, 4);
    assert_eq!(kept, Some(0i32.to_ne_bytes().to_vec()));
    assert_eq!(peek(&[3, 2], NcType::Int, 4), Some(20i32.to_ne_bytes().to_vec()));
    assert_eq!(peek(&[3, 4], NcType::Int, 4), None, "another chunk");
    assert_eq!(peek(&[0, 0], NcType::UInt, 4), None, "another type");
    assert_eq!(peek(&[0, 0], NcType::Int, 8), None, "other memory");
    assert!(
        [&[5, 0][..], &[0, 6], &[u64::MAX, 0], &[0], &[0; 9]]
            .iter()
            .all(|at| peek(at, NcType::Int, 4).is_none())
    );

    // A part written over known elements is known. A part written over unknown elements needs a read first.
    put_ints(&array, &[3, 2], &[1, 1], &[-20]).unwrap();
    assert_eq!(peek(&[3, 2], NcType::Int, 4), Some((-20i32).to_ne_bytes().to_vec()));
    put_ints(&array, &[4, 5], &[1, 1], &[-29]).unwrap();
    assert_eq!(peek(&[4, 5], NcType::Int, 4), None);
    assert_eq!(get_ints(&array, &[4, 4], &[1, 2]).unwrap(), [28, -29]);
    assert_eq!(peek(&[4, 5], NcType::Int, 4), Some((-29i32).to_ne_bytes().to_vec()));
    array.sync().unwrap();
    assert_eq!(peek(&[3, 2], NcType::Int, 4), None, "forgotten");
}

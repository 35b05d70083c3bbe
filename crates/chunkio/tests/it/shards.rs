//! Compares chunks in shards to a slow reading and writing of shards.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use nczarr_chunkio::{DimOrder, ShardIndexSpec, ShardSpec};
use nczarr_codec::Filter;
use nczarr_model::{ErrorKind, NcType, Slab};
use nczarr_runtime::OutBuf;
use nczarr_storage::MapCaps;

use crate::filters::{Runs, Sum, Xor};
use crate::map::{ALL, Mem};
use crate::random::Random;
use crate::support::{Setup, get, get_ints, get_strings, put_ints};

/// Random shards with zero to two levels of nesting around the chunks.
pub fn shards(random: &mut Random, rank: usize) -> Vec<ShardSpec> {
    let levels = 1 + random.below(2);
    (0..levels).map(|_| shard(random, rank)).collect()
}

fn shard(random: &mut Random, rank: usize) -> ShardSpec {
    let filters: Vec<Box<dyn Filter>> = match random.below(4) {
        0 => vec![Box::new(Runs), Box::new(Xor(3))],
        1 => vec![Box::new(Sum)],
        _ => vec![],
    };
    let (checks, extra): (Vec<Box<dyn Filter>>, u64) =
        if random.one_in(2) { (vec![Box::new(Sum)], 4) } else { (vec![], 0) };
    ShardSpec {
        counts: (0..rank).map(|_| 1 + random.below(4)).collect(),
        order: random.order(rank),
        index: ShardIndexSpec {
            order: random.order(rank + 1),
            big_endian: random.one_in(2),
            filters: checks,
            extra,
            at_start: random.one_in(2),
        },
        filters,
    }
}

fn apply(filter: &dyn Filter, bytes: &[u8], encode: bool) -> Vec<u8> {
    let mut out = vec![0; bytes.len() * 8 + 64];
    let mut room = OutBuf::from_slice(&mut out);
    if encode { filter.encode(bytes, &mut room) } else { filter.decode(bytes, &mut room) }.unwrap();
    room.filled().to_vec()
}

/// The coordinates of every entry of an index.
fn coordinates(shape: &[u64]) -> Vec<Vec<u64>> {
    shape.iter().fold(vec![vec![]], |list, &len| {
        list.iter().flat_map(|at: &Vec<u64>| (0..len).map(|i| [&at[..], &[i]].concat())).collect()
    })
}

/// The number of a place in `shape`, in C order of the dimensions permuted by `order`.
fn number(at: &[u64], shape: &[u64], order: &DimOrder) -> usize {
    order.axes(shape.len()).iter().fold(0, |number, &axis| number * shape[axis] + at[axis]) as usize
}

/// The shape of a shard's index, and the index coordinates of the shard's dimensions.
fn index_shape(spec: &ShardSpec) -> (Vec<u64>, Vec<usize>) {
    let axes = spec.order.axes(spec.counts.len());
    (axes.iter().map(|&axis| spec.counts[axis]).chain([2]).collect(), axes)
}

/// Encodes a shard of the given chunks, in random order with junk between them.
pub fn encode(spec: &ShardSpec, chunks: &BTreeMap<Vec<u64>, Vec<u8>>, junk: usize) -> Vec<u8> {
    let (shape, axes) = index_shape(spec);
    let total = spec.counts.iter().product::<u64>() as usize;
    let index_bytes = total * 16 + spec.index.extra as usize;
    let mut body = vec![0xEE; junk];
    let base = if spec.index.at_start { index_bytes } else { 0 };
    let mut words = vec![[0xFF; 8]; total * 2];
    for (at, bytes) in chunks.iter().rev() {
        let place: Vec<u64> = axes.iter().map(|&axis| at[axis]).collect();
        let numbers = [(base + body.len()) as u64, bytes.len() as u64];
        for (which, value) in numbers.into_iter().enumerate() {
            let place = [&place[..], &[which as u64]].concat();
            let word = &mut words[number(&place, &shape, &spec.index.order)];
            *word = if spec.index.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        }
        body.extend(bytes);
        body.extend(vec![0xEE; junk]);
    }
    let index =
        spec.index.filters.iter().fold(words.concat(), |bytes, filter| apply(&**filter, &bytes, true));
    let shard = if spec.index.at_start { [index, body].concat() } else { [body, index].concat() };
    spec.filters.iter().fold(shard, |bytes, filter| apply(&**filter, &bytes, true))
}

/// Decodes the chunks of a shard.
fn decode(spec: &ShardSpec, shard: &[u8]) -> BTreeMap<Vec<u64>, Vec<u8>> {
    let shard =
        spec.filters.iter().rev().fold(shard.to_vec(), |bytes, filter| apply(&**filter, &bytes, false));
    let (shape, axes) = index_shape(spec);
    let total = spec.counts.iter().product::<u64>() as usize;
    let index_bytes = total * 16 + spec.index.extra as usize;
    let index = match spec.index.at_start {
        true => &shard[..index_bytes],
        false => &shard[shard.len() - index_bytes..],
    };
    let index =
        spec.index.filters.iter().rev().fold(index.to_vec(), |bytes, filter| apply(&**filter, &bytes, false));
    let mut chunks = BTreeMap::new();
    for at in coordinates(&spec.counts) {
        let place: Vec<u64> = axes.iter().map(|&axis| at[axis]).collect();
        let [offset, len] = [0, 1].map(|which| {
            let place = [&place[..], &[which]].concat();
            let bytes = index.as_chunks::<8>().0[number(&place, &shape, &spec.index.order)];
            if spec.index.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
        });
        if (offset, len) != (u64::MAX, u64::MAX) {
            chunks.insert(at, shard[offset as usize..(offset + len) as usize].to_vec());
        }
    }
    chunks
}

/// A plain shard of `counts` chunks.
pub fn plain(counts: &[u64], at_start: bool) -> ShardSpec {
    ShardSpec {
        counts: counts.to_vec(),
        order: DimOrder::C,
        index: ShardIndexSpec {
            order: DimOrder::C,
            big_endian: false,
            filters: vec![Box::new(Sum)],
            extra: 4,
            at_start,
        },
        filters: vec![],
    }
}

fn ints(values: impl IntoIterator<Item = i32>) -> Vec<u8> {
    values.into_iter().flat_map(i32::to_le_bytes).collect()
}

#[test]
fn foreign_shards_are_read() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let rank = random.below(4) as usize;
        let chunk: Vec<u64> = (0..rank).map(|_| 1 + random.below(4)).collect();
        let spec = shard(&mut random, rank);
        let shape: Vec<u64> =
            chunk.iter().zip(&spec.counts).map(|(c, n)| c * n * 2 - random.below(*c)).collect();
        let caps =
            ALL.range_read(!random.one_in(4)).remote(random.one_in(3)).versioned_parts(random.one_in(2));
        let map = Arc::new(Mem::new(caps));
        let mut setup = Setup::new(&map, &shape, &chunk, NcType::Int);
        setup.fill = Some(nczarr_model::Values::Int(vec![-7]));
        setup.shards = vec![spec.clone()];
        setup.options.cache_bytes = Some(random.pick(&[0, 1 << 20]));
        let elems = chunk.iter().product::<u64>() as i32;
        let mut chunks: BTreeMap<Vec<u64>, i32> = BTreeMap::new();
        for at in coordinates(&vec![2; rank]) {
            let mut inside = BTreeMap::new();
            for place in coordinates(&spec.counts) {
                if random.one_in(4) {
                    continue;
                }
                let first = random.below(1 << 20) as i32;
                inside.insert(place.clone(), ints(first..first + elems));
                let index = (0..rank).map(|dim| at[dim] * spec.counts[dim] + place[dim]).collect();
                chunks.insert(index, first);
            }
            if inside.is_empty() && random.one_in(2) {
                continue;
            }
            let key: Vec<String> = at.iter().map(u64::to_string).collect();
            let key = if rank == 0 { "0".to_owned() } else { key.join(".") };
            let junk = random.below(40) as usize;
            let shard = encode(&spec, &inside, junk);
            assert_eq!(decode(&spec, &shard), inside);
            map.set(&key, &shard);
        }
        let array = setup.open();
        for _ in 0..8 {
            let [start, count, stride] = crate::oracle::slab(&mut random, &shape, &vec![false; rank]);
            let slab = Slab { start: &start, count: &count, stride: Some(&stride) };
            let expected: Vec<u8> = crate::oracle::indices(&slab)
                .iter()
                .flat_map(|at| {
                    let index: Vec<u64> = at.iter().zip(&chunk).map(|(at, len)| at / len).collect();
                    let place =
                        at.iter().zip(&chunk).fold(0, |place, (at, len)| place * len + at % len) as i32;
                    chunks.get(&index).map_or(-7, |first| first + place).to_ne_bytes()
                })
                .collect();
            let (found, result) = get(&array, &slab, NcType::Int);
            result.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert_eq!(found, expected, "seed {seed}: {slab:?}");
        }
    }
}

#[test]
fn other_readers_decode_written_shards() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let spec = shard(&mut random, 2);
        let map = Arc::new(Mem::new(ALL));
        let shape = [spec.counts[0] * 2, spec.counts[1] * 3];
        let mut setup = Setup::new(&map, &shape, &[2, 3], NcType::Int);
        setup.shards = vec![spec.clone()];
        let (array, all) = (setup.open(), shape[0] * shape[1]);
        let values: Vec<i32> = (0..all as i32).collect();
        if random.one_in(2) {
            put_ints(&array, &[0, 0], &shape, &values).unwrap();
        } else {
            for (row, values) in values.chunks(shape[1] as usize).enumerate() {
                put_ints(&array, &[row as u64, 0], &[1, shape[1]], values).unwrap();
            }
        }
        array.flush().unwrap();
        assert_eq!(map.writes.load(SeqCst), 1, "seed {seed}: one shard is written once");
        let chunks = decode(&spec, &map.object("0.0").unwrap());
        for (at, bytes) in &chunks {
            let expected = (0..2).flat_map(|row| {
                let first = (at[0] * 2 + row) * shape[1] + at[1] * 3;
                first as i32..first as i32 + 3
            });
            assert_eq!(*bytes, ints(expected), "seed {seed}");
        }
        assert_eq!(chunks.len() as u64, spec.counts.iter().product::<u64>());
    }
}

#[test]
fn unchanged_chunks_are_moved_encoded() {
    for at_start in [false, true] {
        let spec = plain(&[4], at_start);
        let map = Arc::new(Mem::new(ALL));
        let mut setup = Setup::new(&map, &[16], &[4], NcType::Int).filters(vec![Box::new(Sum)]);
        setup.shards = vec![spec.clone()];
        // The last chunk could not be decoded. Its decoding is not needed.
        let chunks =
            BTreeMap::from([(vec![1], apply(&Sum, &ints(4..8), true)), (vec![3], b"no chunk".to_vec())]);
        map.set("0", &encode(&spec, &chunks, 5));
        let array = setup.open();
        put_ints(&array, &[5], &[1], &[50]).unwrap();
        put_ints(&array, &[0], &[4], &[0, 1, 2, 3]).unwrap();
        assert_eq!(map.writes.load(SeqCst), 0, "kept until all of it can be written together");
        array.flush().unwrap();
        assert_eq!(map.writes.load(SeqCst), 1);
        let found = decode(&spec, &map.object("0").unwrap());
        assert_eq!(found.keys().collect::<Vec<_>>(), [&[0][..], &[1], &[3]]);
        assert_eq!(found[&vec![3]], b"no chunk");
        assert_eq!(get_ints(&setup.open(), &[0], &[8]).unwrap(), [0, 1, 2, 3, 4, 50, 6, 7]);
    }
}

#[test]
fn concurrent_writes_to_one_shard_are_merged() {
    let spec = plain(&[4], false);
    let map = Arc::new(Mem::new(ALL));
    let mut setup = Setup::new(&map, &[16], &[4], NcType::Int);
    setup.shards = vec![spec.clone()];
    let array = setup.open();
    put_ints(&array, &[0], &[2], &[1, 2]).unwrap();
    let (other, copy) = (setup.open(), map.clone());
    *map.before_write.lock().unwrap() = Some(Box::new(move || {
        put_ints(&other, &[2], &[8], &[3, 4, 5, 6, 7, 8, 9, 10]).unwrap();
        other.flush().unwrap();
        drop(copy);
    }));
    array.flush().unwrap();
    assert_eq!(get_ints(&setup.open(), &[0], &[10]).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
}

#[test]
fn an_index_of_another_state_is_not_used() {
    let spec = plain(&[4], false);
    for versioned_parts in [true, false] {
        let map = Arc::new(Mem::new(ALL.versioned_parts(versioned_parts)));
        let mut setup = Setup::new(&map, &[16], &[4], NcType::Int);
        setup.shards = vec![spec.clone()];
        setup.options.cache_bytes = Some(0);
        let all =
            |from: i32| (0..4).map(|at| (vec![at as u64], ints(from + at * 4..from + at * 4 + 4))).collect();
        map.set("0", &encode(&spec, &all(0), 0));
        let array = setup.open();
        assert_eq!(get_ints(&array, &[4], &[8]).unwrap(), (4..12).collect::<Vec<_>>());
        map.set("0", &encode(&spec, &all(100), 7));
        assert_eq!(get_ints(&array, &[4], &[8]).unwrap(), (104..112).collect::<Vec<_>>());
    }
    // The shard is replaced between the read of its index and the read of its bytes.
    let map = Arc::new(Mem::new(ALL.versioned_parts(true)));
    let mut setup = Setup::new(&map, &[16], &[4], NcType::Int);
    setup.shards = vec![spec.clone()];
    let all =
        |from: i32| (0..4).map(|at| (vec![at as u64], ints(from + at * 4..from + at * 4 + 4))).collect();
    map.set("0", &encode(&spec, &all(0), 0));
    let (copy, next) = (map.clone(), encode(&spec, &all(100), 9));
    *map.meanwhile.lock().unwrap() = Some(Box::new(move || copy.set("0", &next)));
    assert_eq!(get_ints(&setup.open(), &[4], &[8]).unwrap(), (104..112).collect::<Vec<_>>());
}

#[test]
fn invalid_shard_indexes_are_errors() {
    let good = |at_start| {
        let chunks: BTreeMap<_, _> =
            (0..4u64).map(|at| (vec![at], ints(at as i32 * 4..at as i32 * 4 + 4))).collect();
        encode(&plain(&[4], at_start), &chunks, 0)
    };
    let read = |shard: &[u8], at_start, caps: MapCaps, start: u64| {
        let map = Arc::new(Mem::new(caps));
        map.set("0", shard);
        let mut setup = Setup::new(&map, &[16], &[4], NcType::Int);
        setup.shards = vec![plain(&[4], at_start)];
        get_ints(&setup.open(), &[start], &[4])
    };
    let with = |at_start: bool, entry: [u64; 2]| {
        let mut shard = good(at_start);
        let place = if at_start { 0 } else { shard.len() - 68 };
        let mut index = apply(&Sum, &shard[place..place + 68], false);
        index[16..32].copy_from_slice(&entry.map(u64::to_le_bytes).concat());
        shard[place..place + 68].copy_from_slice(&apply(&Sum, &index, true));
        shard
    };
    for at_start in [false, true] {
        for caps in [ALL, ALL.range_read(false), ALL.versioned_parts(true)] {
            let kind = |shard: &[u8]| read(shard, at_start, caps, 4).map_err(|error| error.kind());
            assert_eq!(kind(&good(at_start)), Ok(vec![4, 5, 6, 7]));
            for entry in [
                [u64::MAX, 16],
                [0, u64::MAX],
                [u64::MAX - 3, 16],
                [1 << 40, 16],
                [16, 1 << 40],
                [0, 15],
                [0, 17],
                [16, 0],
            ] {
                let found = kind(&with(at_start, entry));
                let allowed = [ErrorKind::Io, ErrorKind::Trunc];
                assert!(matches!(found, Err(kind) if allowed.contains(&kind)), "{entry:?}: {found:?}");
                assert_eq!(
                    read(&with(at_start, entry), at_start, caps, 8).unwrap(),
                    [8, 9, 10, 11],
                    "the others are there"
                );
            }
            assert_eq!(kind(&with(at_start, [u64::MAX; 2])), Ok(vec![0; 4]), "missing");
            let shared = if at_start { 68 } else { 0 };
            assert!(kind(&with(at_start, [shared, 16])).is_ok(), "two chunks may share their bytes");
            let mut damaged = good(at_start);
            let place = if at_start { 20 } else { damaged.len() - 30 };
            damaged[place] ^= 1;
            assert_eq!(kind(&damaged), Err(ErrorKind::Filter), "the checksum is looked at first");
            for len in [0, 1, 67] {
                assert_eq!(kind(&good(at_start)[..len]), Err(ErrorKind::Trunc), "{len} bytes");
            }
        }
    }
}

#[test]
fn sizes_are_checked_before_memory_is_taken() {
    let map = Arc::new(Mem::new(ALL));
    for counts in [vec![0], vec![1 << 40], vec![u64::MAX], vec![1, 1]] {
        let mut setup = Setup::new(&map, &[16], &[4], NcType::Int);
        setup.shards = vec![plain(&counts, false)];
        let error = nczarr_chunkio::ChunkedArray::new(setup.spec()).map(drop).unwrap_err();
        assert!([ErrorKind::BadChunk, ErrorKind::Inval].contains(&error.kind()), "{counts:?}: {error}");
    }
}

#[test]
fn a_failure_loses_nothing() {
    let map = Arc::new(Mem::new(ALL));
    let mut setup = Setup::new(&map, &[16], &[4], NcType::Int);
    setup.shards = vec![plain(&[2], false)];
    let array = setup.open();
    put_ints(&array, &[1], &[9], &(1..10).collect::<Vec<_>>()).unwrap();
    map.failing_writes.store(1, SeqCst);
    assert!(array.flush().is_err());
    assert_eq!(get_ints(&array, &[1], &[9]).unwrap(), (1..10).collect::<Vec<_>>());
    array.flush().unwrap();
    assert_eq!(get_ints(&setup.open(), &[0], &[10]).unwrap(), (0..10).collect::<Vec<_>>());
    map.failing_reads.store(1, SeqCst);
    let again = setup.open();
    assert!(get_ints(&again, &[0], &[10]).is_err());
    assert_eq!(get_ints(&again, &[0], &[10]).unwrap(), (0..10).collect::<Vec<_>>());
}

#[test]
fn text_lies_in_shards_too() {
    let map = Arc::new(Mem::new(ALL));
    let mut setup = Setup::new(&map, &[7], &[2], NcType::Char);
    setup.element = nczarr_chunkio::ElementLayout::Text { width: 3 };
    setup.shards = vec![plain(&[2], true)];
    let array = setup.open();
    let texts: Vec<nczarr_model::NcString> = ["a", "bcd", "", "e"].map(nczarr_model::NcString::from).into();
    nczarr_dispatch::VarData::put(
        &array,
        &array.check_write(&Slab::new(&[2], &[4])).unwrap(),
        nczarr_dispatch::MemRef::Strings(&texts),
    )
    .unwrap();
    array.flush().unwrap();
    assert_eq!(map.writes.load(SeqCst), 2);
    let found = get_strings(&setup.open(), &Slab::new(&[1], &[6])).unwrap();
    assert_eq!(found, ["", "a", "bcd", "", "e", ""].map(nczarr_model::NcString::from));
}

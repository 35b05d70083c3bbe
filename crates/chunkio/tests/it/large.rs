//! Large chunks without filters in files: the engine takes them piece by piece.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use nczarr_chunkio::{ArrayDim, ArraySpec, ChunkStore, ChunkedArray, DimOrder, ElementLayout};
use nczarr_codec::Filter;
use nczarr_dispatch::Options;
use nczarr_model::{ErrorKind, NcType, Slab, Values};
use nczarr_storage::{Key, ZMap};
use nczarr_zmap_file::FileMap;

use crate::filters::Units;
use crate::support::{get, put};

const SHAPE: [u64; 3] = [45, 160, 110];
/// A chunk has 2.3 MiB of int. No chunk length divides the shape.
const CHUNK: [u64; 3] = [40, 150, 100];

#[derive(Debug)]
struct Files(FileMap);

impl ChunkStore for Files {
    fn map(&self) -> &dyn ZMap {
        &self.0
    }

    fn locate(&self, index: &[u64], key: &mut Key) {
        key.set(&Key::root());
        key.push_index(index, '.');
    }
}

fn open(path: &Path, order: DimOrder, big_endian: bool) -> ChunkedArray {
    filtered(path, order, big_endian, Vec::new())
}

fn filtered(path: &Path, order: DimOrder, big_endian: bool, filters: Vec<Box<dyn Filter>>) -> ChunkedArray {
    let mut options = Options::default();
    options.cache_bytes = Some(0);
    ChunkedArray::new(ArraySpec {
        name: "/v".to_owned(),
        dims: SHAPE
            .iter()
            .map(|&len| ArrayDim { len: Arc::new(AtomicU64::new(len)), unlimited: false })
            .collect(),
        chunk_shape: CHUNK.to_vec(),
        element: ElementLayout::Number { ty: NcType::Int, big_endian },
        order,
        filters,
        fill: Some(Values::Int(vec![-7])),
        shards: Vec::new(),
        store: Arc::new(Files(FileMap::open(path, true, &nczarr_storage::MapOptions::default()).unwrap())),
        options,
        writable: true,
    })
    .unwrap()
}

/// Returns the elements of a slab and the chunk of each. Each element's value is its own number.
fn numbers(slab: &Slab<'_>) -> Vec<(i32, [u64; 3])> {
    let at = |dim: usize, i: u64| slab.start[dim] + i * slab.stride.map_or(1, |stride| stride[dim]);
    let mut found = Vec::new();
    for i in 0..slab.count[0] {
        for j in 0..slab.count[1] {
            for k in 0..slab.count[2] {
                let at = [at(0, i), at(1, j), at(2, k)];
                let number = (at[0] * SHAPE[1] + at[1]) * SHAPE[2] + at[2];
                found.push((number as i32, std::array::from_fn(|dim| at[dim] / CHUNK[dim])));
            }
        }
    }
    found
}

fn ints(bytes: &[u8]) -> Vec<i32> {
    bytes.as_chunks().0.iter().map(|&bytes| i32::from_ne_bytes(bytes)).collect()
}

#[test]
fn pieces_are_stored_in_their_places() {
    let scratch = tempfile::tempdir().unwrap();
    let whole = Slab::new(&[0; 3], &SHAPE);
    let values: Vec<u8> = numbers(&whole).iter().flat_map(|(value, _)| value.to_ne_bytes()).collect();
    let mixed = DimOrder::of(&[1, 0, 2]).unwrap();
    for (name, order, big_endian) in [
        ("c", DimOrder::C, false),
        ("f", DimOrder::F, false),
        ("big", DimOrder::C, true),
        ("mixed", mixed, true),
    ] {
        let path = scratch.path().join(name);
        FileMap::create(&path, None, &nczarr_storage::MapOptions::default()).unwrap();
        put(&open(&path, order.clone(), big_endian), &whole, NcType::Int, &values).unwrap();
        let array = open(&path, order, big_endian);
        for slab in [
            whole,
            Slab::new(&[1, 2, 3], &[43, 150, 100]),
            Slab { start: &[3, 0, 1], count: &[21, 53, 36], stride: Some(&[2, 3, 3]) },
            Slab { start: &[0, 159, 0], count: &[45, 1, 110], stride: None },
        ] {
            let expected: Vec<i32> = numbers(&slab).iter().map(|(value, _)| *value).collect();
            let (found, result) = get(&array, &slab, NcType::Int);
            result.unwrap();
            assert!(ints(&found) == expected, "{name} {slab:?}");
            let (found, result) = get(&array, &slab, NcType::Double);
            result.unwrap();
            let doubles = found.as_chunks().0.iter().map(|&bytes| f64::from_ne_bytes(bytes));
            assert!(doubles.eq(expected.iter().map(|&value| f64::from(value))), "{name} {slab:?} as double");
            // A range error comes after all values are written to memory.
            let (found, result) = get(&array, &slab, NcType::Short);
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Range);
            assert_eq!(found.len(), expected.len() * 2);
        }
    }
}

#[test]
fn units_are_stored_in_their_places() {
    let scratch = tempfile::tempdir().unwrap();
    let whole = Slab::new(&[0; 3], &SHAPE);
    let values: Vec<u8> = numbers(&whole).iter().flat_map(|(value, _)| value.to_ne_bytes()).collect();
    // In C order rows have 400 bytes and planes 60,000. In Fortran order they have 160 and 24,000.
    for (name, order, big_endian, unit) in [
        ("planes", DimOrder::C, false, 60_000),
        ("a-third", DimOrder::C, true, 20_000),
        ("elements", DimOrder::C, false, 4),
        ("f", DimOrder::F, true, 48_000),
    ] {
        let path = scratch.path().join(name);
        FileMap::create(&path, None, &nczarr_storage::MapOptions::default()).unwrap();
        let units = || vec![Box::new(Units(unit)) as Box<dyn Filter>];
        put(&filtered(&path, order.clone(), big_endian, units()), &whole, NcType::Int, &values).unwrap();
        let array = filtered(&path, order, big_endian, units());
        // The slab holds whole chunks among others. A last piece reaches the chunk's end.
        let inner = Slab::new(&[0; 3], &[40, 160, 100]);
        let expected: Vec<i32> = numbers(&inner).iter().map(|(value, _)| *value).collect();
        let (found, result) = get(&array, &inner, NcType::Double);
        result.unwrap();
        let doubles = found.as_chunks().0.iter().map(|&bytes| f64::from_ne_bytes(bytes));
        assert!(doubles.eq(expected.iter().map(|&value| f64::from(value))), "{name} as double");
        let (found, result) = get(&array, &inner, NcType::Int);
        result.unwrap();
        assert!(ints(&found) == expected, "{name}");
        let (_, result) = get(&array, &inner, NcType::Short);
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Range, "the error follows the whole transfer");
    }
}

#[test]
fn a_chunk_of_another_length_is_an_error_and_an_absent_one_is_fill() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("x");
    FileMap::create(&path, None, &nczarr_storage::MapOptions::default()).unwrap();
    let whole = Slab::new(&[0; 3], &SHAPE);
    let values: Vec<u8> = numbers(&whole).iter().flat_map(|(value, _)| value.to_ne_bytes()).collect();
    put(&open(&path, DimOrder::C, false), &whole, NcType::Int, &values).unwrap();
    let array = open(&path, DimOrder::C, false);
    let object = path.join("1.1.1");
    let stored = fs::read(&object).unwrap();
    assert_eq!(stored.len() as u64, CHUNK.iter().product::<u64>() * 4);
    let len = stored.len();
    for (found, kind) in [
        (0, ErrorKind::Trunc),
        (1, ErrorKind::Trunc),
        (300_000, ErrorKind::Trunc),
        (len - 1, ErrorKind::Trunc),
        (len / 512 * 512, ErrorKind::Trunc),
        (len + 1, ErrorKind::Io),
        (2 * len, ErrorKind::Io),
    ] {
        let mut other = stored.clone();
        other.resize(found, 0);
        fs::write(&object, other).unwrap();
        let error = get(&array, &whole, NcType::Int).1.unwrap_err();
        assert_eq!(error.kind(), kind, "{found}: {error}");
        assert!(error.to_string().contains("1.1.1") && error.to_string().contains("expected"), "{error}");
    }
    fs::remove_file(&object).unwrap();
    let absent = |found: Vec<u8>| {
        let expected = numbers(&whole);
        ints(&found)
            .iter()
            .zip(expected)
            .all(|(found, (value, chunk))| *found == if chunk == [1; 3] { -7 } else { value })
    };
    let (found, result) = get(&array, &whole, NcType::Int);
    result.unwrap();
    assert!(absent(found));
    fs::create_dir(&object).unwrap();
    let (found, result) = get(&array, &whole, NcType::Int);
    result.unwrap();
    assert!(absent(found), "a directory is no object");
}

/// Returns the array's element numbers of one whole chunk in the order of its stored bytes.
fn stored_order(order: &[usize; 3]) -> Vec<u64> {
    let mut found = Vec::new();
    let mut at = [0; 3];
    for i in 0..CHUNK[order[0]] {
        for j in 0..CHUNK[order[1]] {
            for k in 0..CHUNK[order[2]] {
                (at[order[0]], at[order[1]], at[order[2]]) = (i, j, k);
                found.push((at[0] * SHAPE[1] + at[1]) * SHAPE[2] + at[2]);
            }
        }
    }
    found
}

#[test]
fn a_large_chunk_converts_to_its_stored_order() {
    let scratch = tempfile::tempdir().unwrap();
    let whole = Slab::new(&[0; 3], &SHAPE);
    let elems = SHAPE.iter().product::<u64>();
    // One value that does not fit in an int, far behind the first part.
    let far = 39 * SHAPE[1] * SHAPE[2];
    let doubles: Vec<u8> =
        (0..elems).flat_map(|n| if n == far { 1e10 } else { n as f64 }.to_ne_bytes()).collect();
    let ints: Vec<u8> = (0..elems as i32).flat_map(|value| value.to_ne_bytes()).collect();
    for (at, (order, dims)) in
        [(DimOrder::C, [0, 1, 2]), (DimOrder::F, [2, 1, 0]), (DimOrder::of(&[1, 0, 2]).unwrap(), [1, 0, 2])]
            .into_iter()
            .enumerate()
    {
        for big_endian in [false, true] {
            let path = scratch.path().join(format!("{at}-{big_endian}"));
            FileMap::create(&path, None, &nczarr_storage::MapOptions::default()).unwrap();
            let array = open(&path, order.clone(), big_endian);
            let bytes = |value: i32| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
            let expected: Vec<[u8; 4]> = stored_order(&dims).iter().map(|&n| bytes(n as i32)).collect();
            put(&array, &whole, NcType::Int, &ints).unwrap();
            let stored = fs::read(path.join("0.0.0")).unwrap();
            assert!(stored == expected.as_flattened(), "{dims:?}, big-endian {big_endian}");

            let error = put(&array, &whole, NcType::Double, &doubles).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Range);
            let stored = fs::read(path.join("0.0.0")).unwrap();
            let differing: Vec<usize> =
                (0..expected.len()).filter(|&n| stored[n * 4..][..4] != expected[n]).collect();
            assert_eq!(stored.len(), expected.len() * 4);
            assert_eq!(differing.len(), 1, "{dims:?}, big-endian {big_endian}");
            assert_eq!(stored_order(&dims)[differing[0]], far);
        }
    }
}

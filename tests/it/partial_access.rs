//! All ways to read and write parts of a variable, compared with a slow reference in memory. Also threads and
//! options.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use nczarr::{
    Attribute, CreateOptions, Dimension, ErrorKind, Extent, File, Group, Limits, MissingChunks, OpenOptions,
    Place, Progress, Registry, Values, Variable,
};
use proptest::prelude::*;

const fn shared<T: Send + Sync + Clone + 'static>() {}
const _: () = {
    shared::<File>();
    shared::<Group>();
    shared::<Variable>();
    shared::<Dimension>();
    shared::<Attribute>();
    shared::<Registry>();
    shared::<Values>();
    shared::<OpenOptions>();
    shared::<CreateOptions>();
};

static NEXT: AtomicU64 = AtomicU64::new(0);

fn fresh() -> String {
    format!("memory://access-{}#mode=nczarr", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A variable `v` of this shape whose values are its positions.
fn numbered(shape: &[u64], chunks: &[u64]) -> Variable {
    let file = nczarr::create(fresh()).unwrap();
    let names: Vec<String> = (0..shape.len()).map(|dim| format!("d{dim}")).collect();
    for (name, &len) in names.iter().zip(shape) {
        file.add_dimension(name, len).unwrap();
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let v = file.add_variable::<i32>("v", &names).unwrap();
    v.set_chunking(chunks).unwrap();
    let values: Vec<i32> = (0..shape.iter().product::<u64>() as i32).collect();
    v.put(&values, ..).unwrap();
    v
}

/// One dimension: its length, chunk length, and a part of it.
fn dim() -> impl Strategy<Value = (u64, u64, Extent)> {
    (1u64..9, 1u64..5).prop_flat_map(|(len, chunk)| {
        (Just(len), Just(chunk.min(len)), 0..len, 1u64..4).prop_flat_map(|(len, chunk, start, stride)| {
            let most = (len - start).div_ceil(stride);
            (
                Just(len),
                Just(chunk),
                prop_oneof![
                    Just(Extent::Index(start)),
                    (0..=most).prop_map(move |count| Extent::Strided { start, count: Some(count), stride }),
                    Just(Extent::From { start }),
                ],
            )
        })
    })
}

/// The indices that an extent selects.
fn indices(extent: Extent, len: u64) -> Vec<u64> {
    match extent {
        Extent::Index(index) => vec![index],
        Extent::From { start } => (start..len).collect(),
        Extent::Strided { start, count, stride } => (0..count.unwrap()).map(|i| start + i * stride).collect(),
        other => panic!("{other:?} is not made here"),
    }
}

/// The positions of the elements of a part, in C order.
fn positions(dims: &[(u64, u64, Extent)]) -> Vec<u64> {
    let mut positions = vec![0];
    for &(len, _, extent) in dims {
        let along = indices(extent, len);
        positions = positions.iter().flat_map(|at| along.iter().map(move |i| at * len + i)).collect();
    }
    positions
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_part_is_read_and_written(dims in prop::collection::vec(dim(), 1..4)) {
        let shape: Vec<u64> = dims.iter().map(|dim| dim.0).collect();
        let chunks: Vec<u64> = dims.iter().map(|dim| dim.1).collect();
        let extents: Vec<Extent> = dims.iter().map(|dim| dim.2).collect();
        let v = numbered(&shape, &chunks);
        let positions = positions(&dims);
        let expected: Vec<i32> = positions.iter().map(|&at| at as i32).collect();
        let found = v.get::<i32>(&extents[..]).unwrap();
        prop_assert_eq!(found.as_slice(), &expected[..]);
        let kept: Vec<u64> = dims.iter().filter(|dim| !matches!(dim.2, Extent::Index(_)))
            .map(|dim| indices(dim.2, dim.0).len() as u64).collect();
        prop_assert_eq!(found.shape(), &kept[..]);
        // Reads doubles into the caller's memory, and a transposed mapping.
        let mut doubles = vec![0.0f64; expected.len()];
        v.get_into(&mut doubles, &extents[..]).unwrap();
        prop_assert!(doubles.iter().zip(&expected).all(|(a, b)| *a == f64::from(*b)));
        let counts: Vec<i64> = dims.iter().map(|dim| indices(dim.2, dim.0).len() as i64).collect();
        let imap: Vec<i64> = (0..counts.len()).map(|dim| counts[..dim].iter().product()).collect();
        let mut mapped = vec![-1i32; expected.len()];
        v.get_mapped(&extents[..], &imap, &mut mapped).unwrap();
        let mut sorted = mapped.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, expected.clone());

        // A write changes this part and nothing else.
        let changed: Vec<i32> = expected.iter().map(|value| -1 - value).collect();
        v.put(&changed, &extents[..]).unwrap();
        let all = v.get_values::<i32>(..).unwrap();
        for (at, &value) in all.iter().enumerate() {
            let inside = positions.contains(&(at as u64));
            prop_assert_eq!(value, if inside { -1 - at as i32 } else { at as i32 });
        }
        v.put_mapped(&mapped, &imap, &extents[..]).unwrap();
        prop_assert_eq!(v.get_values::<i32>(..).unwrap(), (0..all.len() as i32).collect::<Vec<_>>());
    }
}

#[test]
fn out_of_range_access_returns_its_error_code() {
    let v = numbered(&[4, 6], &[2, 4]);
    let kind = |result: nczarr::Result<Vec<i32>>| result.unwrap_err().kind();
    assert_eq!(kind(v.get_values(..3)), ErrorKind::Inval);
    assert_eq!(kind(v.get_values((4, 0))), ErrorKind::InvalCoords);
    assert_eq!(kind(v.get_values((0..5, 0))), ErrorKind::Edge);
    assert_eq!(kind(v.get_values((-1, 0))), ErrorKind::InvalCoords);
    let stride = |stride| Extent::Strided { start: 0, count: Some(2), stride };
    assert_eq!(kind(v.get_values((stride(0), stride(1)))), ErrorKind::Stride);
    assert_eq!(kind(v.get_values((stride(u64::MAX), stride(1)))), ErrorKind::Edge);
    assert_eq!(v.put(&[1], ..).unwrap_err().kind(), ErrorKind::Inval);
    assert_eq!(v.put(&[1, 2], (3..5, 0)).unwrap_err().kind(), ErrorKind::Edge);
    assert_eq!(v.get_value::<i32>(..).unwrap_err().kind(), ErrorKind::Inval);
    // Reads one element, with and without its chunk in memory.
    for _ in 0..3 {
        let one = |result: nczarr::Result<i8>| result.unwrap_err().kind();
        assert_eq!(v.get_value::<i32>((3, 5)).unwrap(), 23);
        assert_eq!((v.get_value::<i8>([3, 5]).unwrap(), v.get_value::<i32>((0..1, 1)).unwrap()), (23, 1));
        assert_eq!(one(v.get_value((4, 0))), ErrorKind::InvalCoords);
        assert_eq!(one(v.get_value((0, 6u64))), ErrorKind::InvalCoords);
        assert_eq!(one(v.get_value((0, 5..7))), ErrorKind::Edge);
        assert_eq!(one(v.get_value((0, -1))), ErrorKind::InvalCoords);
        assert_eq!(one(v.get_value([0; 1])), ErrorKind::Inval);
        assert_eq!(one(v.get_value([0; 9])), ErrorKind::Inval);
    }
    assert_eq!(v.get_chars(..).unwrap_err().kind(), ErrorKind::Char);
    assert_eq!(v.get_strings(..).unwrap_err().kind(), ErrorKind::Char);
    // A value out of range is reported after the whole transfer.
    let mut small = [0i8; 24];
    v.put_value(1000, (3, 5)).unwrap();
    assert_eq!(v.get_into(&mut small, ..).unwrap_err().kind(), ErrorKind::Range);
    assert_eq!(small[..23], std::array::from_fn::<i8, 23, _>(|i| i as i8));
}

#[test]
fn threads_read_and_write_one_variable_at_once() {
    const LEN: u64 = 8 * 1024;
    let v = numbered(&[LEN], &[100]);
    // Each thread writes every eighth element, so all threads write to every chunk.
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let v = v.clone();
            scope.spawn(move || {
                let mine = Extent::Strided { start: thread, count: None, stride: 8 };
                for round in 1..=4i32 {
                    let values: Vec<i32> =
                        (0..LEN / 8).map(|i| round * 1_000_000 + (i * 8 + thread) as i32).collect();
                    v.put(&values, mine).unwrap();
                    assert_eq!(v.get_values::<i32>(mine).unwrap(), values, "thread {thread}, round {round}");
                }
            });
        }
    });
    let expected: Vec<i32> = (0..LEN as i32).map(|i| 4_000_000 + i).collect();
    assert_eq!(v.get_values::<i32>(..).unwrap(), expected);
}

#[test]
fn threads_define_and_append_at_once() {
    let path = fresh();
    let file = nczarr::create(&path).unwrap();
    file.add_unlimited_dimension("t").unwrap();
    let seen = Arc::new(Mutex::new(0));
    std::thread::scope(|scope| {
        for thread in 0..8i32 {
            let (file, seen) = (file.clone(), Arc::clone(&seen));
            scope.spawn(move || {
                let v = file.add_variable::<i32>(&format!("v{thread}"), &["t"]).unwrap();
                for record in 0..20 {
                    v.put(&[thread * 100 + record], record..=record).unwrap();
                }
                v.put_attribute("thread", thread).unwrap();
                *seen.lock().unwrap() += v.get_values::<i32>(0..20).unwrap().len();
            });
        }
    });
    assert_eq!(*seen.lock().unwrap(), 160);
    file.close().unwrap();
    let file = nczarr::open(&path).unwrap();
    for thread in 0..8i32 {
        let v = file.variable(&format!("v{thread}")).unwrap();
        assert_eq!(v.get_values::<i32>(..).unwrap(), (0..20).map(|i| thread * 100 + i).collect::<Vec<_>>());
        assert_eq!(v.attribute("thread").unwrap().number(), Some(f64::from(thread)));
    }
}

#[test]
fn one_thread_or_many_give_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr").display().to_string();
    let file = nczarr::create(&path).unwrap();
    file.add_dimension("x", 100_000).unwrap();
    let v = file.add_variable::<f32>("v", &["x"]).unwrap();
    v.set_chunking(&[1_000]).unwrap();
    v.set_deflate(1, true).unwrap();
    let values: Vec<f32> = (0..100_000).map(|i| (i % 977) as f32 / 8.0).collect();
    v.put(&values, ..).unwrap();
    file.close().unwrap();
    for threads in [1, 2, 7] {
        for cache in [0, 10_000, 64 << 20] {
            let file = OpenOptions::new().threads(threads).cache_bytes(cache).open(&path).unwrap();
            let v = file.variable("v").unwrap();
            assert_eq!(v.get_values::<f32>(..).unwrap(), values, "{threads} threads, cache of {cache}");
            assert_eq!(v.get_values::<f32>(500..1_500).unwrap(), values[500..1_500]);
        }
    }
}

struct Stop(AtomicU64);

impl Progress for Stop {
    fn advance(&self, done: u64, total: u64) -> bool {
        assert!(done <= total);
        self.0.fetch_add(1, Ordering::Relaxed) < 3
    }
}

#[test]
fn a_transfer_is_watched_and_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr").display().to_string();
    let file = nczarr::create(&path).unwrap();
    file.add_dimension("x", 50_000).unwrap();
    let v = file.add_variable::<i32>("v", &["x"]).unwrap();
    v.set_chunking(&[100]).unwrap();
    v.put(&vec![1; 50_000], ..).unwrap();
    file.close().unwrap();
    let file = OpenOptions::new().threads(1).progress(Stop(AtomicU64::new(0))).open(&path).unwrap();
    let error = file.variable("v").unwrap().get::<i32>(..).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Cancelled, -3001), "{error}");
}

#[test]
fn a_write_is_watched_and_stopped() {
    let folder = tempfile::tempdir().unwrap();
    for (name, filtered) in [("plain", false), ("filtered", true)] {
        let path = folder.path().join(format!("{name}.zarr")).display().to_string();
        let define = |options: CreateOptions, path: &str| {
            let file = options.create(path).unwrap();
            file.add_dimension("x", 50_000).unwrap();
            let v = file.add_variable::<i32>("v", &["x"]).unwrap();
            v.set_chunking(&[100]).unwrap();
            if filtered {
                v.set_deflate(1, true).unwrap();
            }
            (file, v)
        };
        let (_, v) = define(CreateOptions::new().threads(1).progress(Stop(AtomicU64::new(0))), &path);
        let error = v.put(&vec![1; 50_000], ..).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{name}: {error}");

        // Without cancellation, the last progress report states completion.
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (file, v) =
            define(CreateOptions::new().progress(Watch(Arc::clone(&seen))), &format!("{path}-2.zarr"));
        for write in [true, false] {
            seen.lock().unwrap().clear();
            if write {
                v.put(&vec![1; 50_000], ..).unwrap();
            } else {
                v.get::<f64>(..).unwrap();
            }
            let seen = seen.lock().unwrap();
            let last = seen.iter().max().copied();
            assert_eq!(last, seen.last().map(|&(_, total)| (total, total)), "{name}, write {write}");
            assert!(seen.len() > 1, "{name}, write {write}");
        }
        file.close().unwrap();
    }
}

/// Records all progress reports in order.
struct Watch(Arc<Mutex<Vec<(u64, u64)>>>);

impl Progress for Watch {
    fn advance(&self, done: u64, total: u64) -> bool {
        self.0.lock().unwrap().push((done, total));
        true
    }
}

#[test]
fn limits_hold_for_opened_and_created_datasets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr").display().to_string();
    let mut limits = Limits::default();
    limits.chunk = 1_000;
    let make = |options: CreateOptions, path: &str| {
        let file = options.create(path)?;
        file.add_dimension("x", 1_000)?;
        let v = file.add_variable::<i32>("v", &["x"])?;
        v.set_chunking(&[1_000])?;
        v.put(&vec![1; 1_000], ..)?;
        file.close()
    };
    make(CreateOptions::new(), &path).unwrap();
    let file = OpenOptions::new().limits(limits.clone()).open(&path).unwrap();
    let error = file.variable("v").unwrap().get::<i32>(..).unwrap_err();
    assert!(error.to_string().contains("1000") && error.to_string().contains('v'), "{error}");
    let error = make(CreateOptions::new().limits(limits.clone()), &format!("{path}-2.zarr")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadChunk, "{error}");
}

#[test]
fn an_absent_chunk_is_a_fill_value_or_an_error_as_asked() {
    for name in ["x.zarr", "x.zip", "x.nc"] {
        check_absent_chunk(name);
    }
}

fn check_absent_chunk(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name).display().to_string();
    let file = nczarr::create(&path).unwrap();
    file.add_dimension("x", 10).unwrap();
    let v = file.add_variable::<i32>("v", &["x"]).unwrap();
    v.set_chunking(&[5]).unwrap();
    v.set_fill(-7).unwrap();
    v.put(&[1, 2, 3, 4, 5], 0..5).unwrap();
    file.close().unwrap();
    let read = |missing| {
        let file = OpenOptions::new().missing_chunks(missing).open(&path).unwrap();
        file.variable("v").unwrap().get_values::<i32>(..)
    };
    assert_eq!(read(MissingChunks::Fill).unwrap(), [1, 2, 3, 4, 5, -7, -7, -7, -7, -7]);
    assert_eq!(read(MissingChunks::Warn).unwrap(), [1, 2, 3, 4, 5, -7, -7, -7, -7, -7]);
    let error = read(MissingChunks::Error).unwrap_err();
    assert!(error.to_string().contains('v'), "{name}: {error}");
    assert!(!name.ends_with("zarr") || error.to_string().contains("v/1"), "{error}");
    // The URL overrides the options.
    let read = |word: &str| {
        let file = OpenOptions::new()
            .missing_chunks(MissingChunks::Warn)
            .open(Place::url(format!("{path}#missing_chunks={word}")))?;
        file.variable("v")?.get_values::<i32>(..)
    };
    assert_eq!(read("fill").unwrap(), [1, 2, 3, 4, 5, -7, -7, -7, -7, -7]);
    assert_eq!(read("warn").unwrap(), [1, 2, 3, 4, 5, -7, -7, -7, -7, -7]);
    assert_eq!(read("error").unwrap_err().kind(), ErrorKind::NoObject);
    let error = read("zero").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Inval);
    assert!(
        error
            .to_string()
            .contains("invalid value of `missing_chunks` (expected fill, warn or error, found zero)"),
        "{error}"
    );
}

#[test]
fn absent_chunks_are_asked_for_in_every_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr").display().to_string();
    let file = nczarr::create(&path).unwrap();
    file.add_dimension("x", 4).unwrap();
    let v = file.add_variable::<f32>("v", &["x"]).unwrap();
    v.set_chunking(&[2]).unwrap();
    v.put_attribute("scale_factor", 2.0f32).unwrap();
    v.put(&[1.0f32, 2.0], 0..2).unwrap();
    let scalar = file.add_variable::<i32>("scalar", &[]).unwrap();
    let text = file.add_string_variable("text", &["x"]).unwrap();
    let bare = file.add_variable::<i32>("bare", &["x"]).unwrap();
    bare.set_no_fill().unwrap();
    drop((v, scalar, text, bare));
    file.close().unwrap();
    let file = OpenOptions::new().missing_chunks(MissingChunks::Error).open(&path).unwrap();
    let v = file.variable("v").unwrap();
    assert_eq!(v.get_values::<f32>(0..2).unwrap(), [1.0, 2.0], "the stored values are read");
    for outcome in [
        v.get_values::<f64>(..).map(drop),
        v.get_values::<f32>([3]).map(drop),
        v.get_values::<f32>(Extent::Strided { start: 0, count: None, stride: 3 }).map(drop),
        v.get_unpacked::<f64>(..).map(drop),
        file.variable("scalar").unwrap().get_values::<i32>(()).map(drop),
        file.variable("text").unwrap().get_strings(..).map(drop),
        file.variable("bare").unwrap().get_values::<i32>(..).map(drop),
    ] {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::NoObject);
    }
    let file = nczarr::open(&path).unwrap();
    assert_eq!(
        file.variable("bare").unwrap().get_values::<i32>(..).unwrap(),
        [0; 4],
        "nothing better is known"
    );
    assert_eq!(file.variable("scalar").unwrap().get_values::<i32>(()).unwrap(), [-2_147_483_647]);
}

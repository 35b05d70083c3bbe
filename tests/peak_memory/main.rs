//! The memory of a whole read into an array: the result and little more, with all threads of the library. The
//! process has one test, because the allocator counts for all threads.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr::{Codec, CreateOptions, Kind, OpenOptions, Variable};

struct Peak;

/// The bytes that are allocated now.
static LIVE: AtomicUsize = AtomicUsize::new(0);
/// The most bytes that were allocated at once.
static MOST: AtomicUsize = AtomicUsize::new(0);

fn grow(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: every call goes unchanged to the system's allocator.
unsafe impl GlobalAlloc for Peak {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller keeps the promises that the system's allocator needs.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller keeps the promises that the system's allocator needs.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the promises that the system's allocator needs.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Peak = Peak;

/// The shape of the array: 64 MiB of floats.
const SHAPE: [u64; 3] = [64, 512, 512];
const RESULT: usize = 64 << 20;
/// The most that a read may need beside its result.
const BESIDE: usize = 4 << 20;

fn create(path: &std::path::Path, kind: Kind, define: impl FnOnce(&Variable)) {
    let file = CreateOptions::new().kind(kind).create(path).unwrap();
    for (name, len) in ["z", "y", "x"].into_iter().zip(SHAPE) {
        file.add_dimension(name, len).unwrap();
    }
    let v = file.add_variable::<f32>("v", &["z", "y", "x"]).unwrap();
    define(&v);
    let values: Vec<f32> = (0..RESULT / 4).map(|i| (i / 7 % 1000) as f32).collect();
    v.put(&values, ..).unwrap();
    file.close().unwrap();
}

/// The definition of the storage of a variable.
type Define<'d> = &'d dyn Fn(&Variable);

#[test]
fn a_whole_read_needs_its_result_and_little_more() {
    let folder = tempfile::tempdir().unwrap();
    let chunks = |v: &Variable| v.set_chunking(&[16, 128, 128]).unwrap();
    let zstd = |v: &Variable| {
        chunks(v);
        v.set_codecs([Codec::shuffle(), Codec::zstd(1)]).unwrap();
    };
    let deflate = |v: &Variable| {
        chunks(v);
        v.set_deflate(1, true).unwrap();
    };
    let shards = |v: &Variable| {
        zstd(v);
        v.set_shards(&[32, 256, 256]).unwrap();
    };
    let cases: [(&str, Kind, Define<'_>); 6] = [
        ("plain.zarr", Kind::ZarrV2, &chunks),
        ("v2.zarr", Kind::ZarrV2, &zstd),
        ("v3.zarr", Kind::ZarrV3, &zstd),
        ("shards.zarr", Kind::ZarrV3, &shards),
        ("hdf5.nc", Kind::NetCdf4, &deflate),
        ("classic.nc", Kind::Cdf5, &|_| ()),
    ];
    for (name, kind, define) in cases {
        let path = folder.path().join(name);
        create(&path, kind, define);
        let v = OpenOptions::new().cache_bytes(0).open(&path).unwrap().variable("v").unwrap();
        let before = LIVE.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        let array = v.get_array::<f32>(..).unwrap();
        let most = MOST.load(Ordering::Relaxed) - before;
        assert_eq!(array.len() * 4, RESULT);
        assert_eq!(array[[63, 511, 511]], ((RESULT / 4 - 1) / 7 % 1000) as f32);
        assert!(most >= RESULT, "{name}: the allocator counts");
        assert!(most <= RESULT + BESIDE, "{name}: {} KiB beside the result", (most - RESULT) >> 10);
        println!("{name}: {} KiB beside the result", (most - RESULT) >> 10);
    }
}

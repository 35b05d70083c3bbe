//! The steady path allocates no memory per chunk and none for a cache hit.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use nczarr_chunkio::{ArrayDim, BeyondEnd, ByteStore, ChunkedArray, ElementLayout, FlatArray, FlatSpec};
use nczarr_codec::Filter;
use nczarr_dispatch::{MemMut, MemRef, VarData};
use nczarr_model::{NcString, NcType, Slab};
use nczarr_runtime::OutBuf;

#[path = "it/filters.rs"]
#[allow(dead_code)]
mod filters;
#[path = "it/map.rs"]
#[allow(dead_code)]
mod map;
#[path = "it/support.rs"]
#[allow(dead_code)]
mod support;

use filters::{Shuffle, Sum, Xor};
use map::{ALL, Mem};
use support::Setup;

struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);
static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn take(bytes: usize) {
    PEAK.fetch_max(HELD.fetch_add(bytes, SeqCst) + bytes, SeqCst);
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, SeqCst);
        take(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, SeqCst);
        take(size);
        HELD.fetch_sub(layout.size(), SeqCst);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), SeqCst);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn counted(work: impl FnOnce()) -> usize {
    let before = COUNT.load(SeqCst);
    work();
    COUNT.load(SeqCst) - before
}

fn read(array: &ChunkedArray, chunks: u64, memory: &mut [u8]) {
    let count = [chunks * 4, 8, 8];
    let mut out = OutBuf::from_slice(&mut memory[..(chunks * 1024) as usize]);
    array
        .get(
            &array.check_read(&Slab::new(&[0, 0, 0], &count)).unwrap(),
            MemMut::Fixed { ty: NcType::Int, out: &mut out },
        )
        .unwrap();
}

#[test]
fn memory_stays_bounded() {
    // This binary has one test, so no other thread adds to the count.
    nothing_is_allocated_per_chunk();
    little_is_held();
    text_takes_the_room_of_its_bytes();
    nothing_is_allocated_per_piece();
}

/// An endless store of zeros.
#[derive(Debug)]
struct Zeros;

impl ByteStore for Zeros {
    fn read_at(&self, _: u64, out: &mut OutBuf<'_>) -> nczarr_model::Result<()> {
        out.put_zeros(out.remaining()).map(drop)
    }

    fn write_at(&self, _: u64, _: &[u8]) -> nczarr_model::Result<()> {
        Ok(())
    }

    fn size(&self) -> nczarr_model::Result<u64> {
        Ok(u64::MAX)
    }
}

/// An array without chunks allocates nothing on one thread, for any number of pieces and runs.
fn nothing_is_allocated_per_piece() {
    let mut options = nczarr_dispatch::Options::default();
    options.threads = 1;
    let dim = |&len: &u64| ArrayDim { len: Arc::new(len.into()), unlimited: false };
    let array = FlatArray::new(FlatSpec {
        name: "/v".to_owned(),
        dims: [40u64, 100, 500].iter().map(dim).collect(),
        ty: NcType::Int,
        big_endian: true,
        begin: 100,
        record: Some(2_000_100),
        store: Arc::new(Zeros),
        options,
        writable: true,
        beyond_end: BeyondEnd::Error,
    })
    .unwrap();
    let mut memory = vec![0; 40 * 100 * 500 * 8];
    for ty in [NcType::Int, NcType::Double] {
        for (count, stride) in [([1, 1, 500], 1), ([40, 100, 500], 1), ([40, 50, 250], 2), ([40, 1, 1], 1)] {
            let slab = Slab { start: &[0; 3], count: &count, stride: Some(&[1, stride, stride]) };
            let memory = &mut memory[..slab.len() as usize * ty.size().unwrap()];
            let mut both = || {
                array
                    .get(
                        &array.check_read(&slab).unwrap(),
                        MemMut::Fixed { ty, out: &mut OutBuf::from_slice(memory) },
                    )
                    .unwrap();
                array.put(&array.check_write(&slab).unwrap(), MemRef::Fixed { ty, bytes: memory }).unwrap();
            };
            // The first calls allocate the thread's scratch memory.
            both();
            assert_eq!(counted(both), 0, "{count:?} as {ty:?}");
        }
    }
}

/// Two threads that read and write 32 MiB in chunks of 1 MiB hold two chunks each and little more.
fn little_is_held() {
    const CHUNK: usize = 1 << 20;
    let map = Arc::new(Mem::new(ALL));
    let filters: Vec<Box<dyn Filter>> = vec![Box::new(Shuffle { item: 4, declared: true }), Box::new(Xor(1))];
    let mut setup = Setup::new(&map, &[32, 512, 512], &[1, 512, 512], NcType::Int).filters(filters);
    setup.options.threads = 2;
    setup.options.cache_bytes = Some(4 * CHUNK);
    let array = setup.open();
    let mut memory = vec![3; 32 * CHUNK];
    let slab = Slab::new(&[0, 0, 0], &[32, 512, 512]);
    array.put(&array.check_write(&slab).unwrap(), MemRef::Fixed { ty: NcType::Int, bytes: &memory }).unwrap();
    let held = |limit: usize, work: &mut dyn FnMut()| {
        let before = HELD.load(SeqCst);
        PEAK.store(before, SeqCst);
        work();
        let more = PEAK.load(SeqCst) - before;
        assert!(more <= limit + (256 << 10), "{more} bytes, at most {limit} and a little were expected");
    };
    held(4 * CHUNK, &mut || {
        let mut out = OutBuf::from_slice(&mut memory);
        array
            .get(&array.check_read(&slab).unwrap(), MemMut::Fixed { ty: NcType::Int, out: &mut out })
            .unwrap();
    });
    // Partial reads go through the cache. They hold the cache budget and the chunks in transit.
    held(4 * CHUNK + 4 * CHUNK, &mut || {
        for row in 0..32u64 {
            let mut bytes = [0; 2048];
            let mut out = OutBuf::from_slice(&mut bytes);
            array
                .get(
                    &array.check_read(&Slab::new(&[row, 7, 0], &[1, 1, 512])).unwrap(),
                    MemMut::Fixed { ty: NcType::Int, out: &mut out },
                )
                .unwrap();
        }
    });
    array.sync().unwrap();
    map.objects.lock().unwrap().clear();
    let stored = 32 * CHUNK;
    held(stored + 4 * CHUNK + 6 * CHUNK, &mut || {
        for row in 0..32u64 {
            let start = [row, 0, 0];
            array
                .put(
                    &array.check_write(&Slab::new(&start, &[1, 511, 512])).unwrap(),
                    MemRef::Fixed { ty: NcType::Int, bytes: &memory[..511 * 2048] },
                )
                .unwrap();
        }
        array.flush().unwrap();
    });
}

/// Partial access to one-byte text in one large chunk holds two chunks and little more.
fn text_takes_the_room_of_its_bytes() {
    const LEN: u64 = 4 << 20;
    for (element, size) in
        [(ElementLayout::Text { width: 1 }, 1), (ElementLayout::Utf32 { chars: 1, big_endian: true }, 4)]
    {
        let chunk = LEN as usize * size;
        let map = Arc::new(Mem::new(ALL));
        let mut setup = Setup::new(&map, &[LEN], &[LEN], NcType::Int).filters(vec![Box::new(Xor(1))]);
        setup.element = element;
        setup.options.cache_bytes = Some(2 * chunk);
        let array = setup.open();
        let few = ["x", "y", ""].map(NcString::from);
        let (before, slab) = (HELD.load(SeqCst), Slab::new(&[LEN / 2], &[3]));
        array.put(&array.check_write(&slab).unwrap(), MemRef::Strings(&few)).unwrap();
        let kept = HELD.load(SeqCst) - before;
        // Besides the chunk, the cache keeps one bit per element to mark written elements.
        assert!(kept <= chunk + LEN as usize / 8 + (64 << 10), "{kept} bytes for {chunk}");
        array.sync().unwrap();
        let before = HELD.load(SeqCst);
        PEAK.store(before, SeqCst);
        let mut found = [const { NcString::new() }; 3];
        array.get(&array.check_read(&slab).unwrap(), MemMut::Strings(&mut found)).unwrap();
        assert_eq!(found, few);
        let more = PEAK.load(SeqCst) - before;
        assert!(more <= 2 * chunk + (64 << 10), "{more} bytes for {chunk}");
    }
}

fn nothing_is_allocated_per_chunk() {
    let chains: [Vec<Box<dyn Filter>>; 4] = [
        vec![],
        vec![Box::new(Xor(1))],
        vec![Box::new(Shuffle { item: 4, declared: true }), Box::new(Xor(1))],
        vec![Box::new(Shuffle { item: 4, declared: true }), Box::new(Xor(1)), Box::new(Sum)],
    ];
    const CHUNKS: u64 = 1000;
    let mut memory = vec![1; CHUNKS as usize * 1024];
    for filters in chains {
        let map = Arc::new(Mem::new(ALL));
        let mut setup = Setup::new(&map, &[CHUNKS * 4, 8, 8], &[4, 8, 8], NcType::Int).filters(filters);
        setup.options.threads = 1;
        let array = setup.open();
        let slab = (vec![0; 3], vec![CHUNKS * 4, 8, 8]);
        let all = Slab::new(&slab.0, &slab.1);
        let write = || {
            array
                .put(&array.check_write(&all).unwrap(), MemRef::Fixed { ty: NcType::Int, bytes: &memory })
                .unwrap()
        };
        write();
        // The map of this test allocates memory for every object and its key.
        let written = counted(write);
        assert!(written <= 2 * CHUNKS as usize + 16, "{written}");

        read(&array, CHUNKS, &mut memory);
        let few = counted(|| read(&array, 100, &mut memory));
        let many = counted(|| read(&array, CHUNKS, &mut memory));
        assert!(many <= few + 1 && few < 8, "{few} for 100 chunks, {many} for {CHUNKS}");

        // The read takes one element of a kept chunk. An unfiltered chunk is not kept for one element.
        array
            .put(
                &array.check_write(&Slab::new(&[0, 0, 0], &[1, 1, 1])).unwrap(),
                MemRef::Fixed { ty: NcType::Int, bytes: &[1; 4] },
            )
            .unwrap();
        let hits = counted(|| {
            for _ in 0..100 {
                let mut out = OutBuf::from_slice(&mut memory[..4]);
                let slab = Slab::new(&[0, 0, 0], &[1, 1, 1]);
                array
                    .get(&array.check_read(&slab).unwrap(), MemMut::Fixed { ty: NcType::Int, out: &mut out })
                    .unwrap();
            }
        });
        assert_eq!(hits, 0);
        // An append to the array allocates nothing either.
        let writes = counted(|| {
            for _ in 0..100 {
                let slab = Slab::new(&[0, 0, 0], &[1, 1, 1]);
                array
                    .put(
                        &array.check_write(&slab).unwrap(),
                        MemRef::Fixed { ty: NcType::Int, bytes: &[2; 4] },
                    )
                    .unwrap();
            }
        });
        assert_eq!(writes, 0);
    }
}

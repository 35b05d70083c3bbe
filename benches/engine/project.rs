//! Measures how the engine maps slabs to chunks and scatters chunks into memory. No filters, drivers or files
//! are involved.

use criterion::{BenchmarkId, Criterion, Throughput};
use nczarr_benches::{array, field, sized};
use nczarr_chunkio::{ArraySpec, DimOrder, ElementLayout};
use nczarr_dispatch::{CacheConfig, MemMut, MemRef, VarData as _};
use nczarr_model::{NcString, NcType, Slab};
use nczarr_runtime::OutBuf;

pub fn bench(criterion: &mut Criterion) {
    projection(criterion);
    scatter(criterion);
    cached(criterion);
    text(criterion);
}

/// Measures the cost of finding many small chunks.
fn projection(criterion: &mut Criterion) {
    let side = sized(1024, 32);
    let values = field(side * side);
    let mut out = vec![0u8; values.len() * 4];
    let mut group = criterion.benchmark_group("projection");
    for chunk in [8, 32] {
        let array = array(&[side, side], &[chunk, chunk], NcType::Float, |_| {}).expect("an array");
        array
            .put(&array.check_write(&Slab::new(&[0, 0], &[side, side])).expect("inside"), bytes(&values))
            .expect("written");
        array.flush().expect("flushed");
        group.throughput(Throughput::Elements((side / chunk).pow(2)));
        group.bench_function(BenchmarkId::new("chunks", format!("{chunk}x{chunk}")), |bencher| {
            let slab = (&[0, 0], &[side, side]);
            bencher.iter(|| read(&array, &Slab::new(slab.0, slab.1), NcType::Float, &mut out));
        });
    }
    group.finish();
}

/// Scatters the chunks of one array into memory in several ways.
fn scatter(criterion: &mut Criterion) {
    let (shape, cube) = sized(([64, 256, 256], [64; 3]), ([4, 6, 6], [3; 3]));
    let slab = [1, shape[1], shape[2]];
    let values = field(shape.iter().product());
    let mut out = vec![0u8; values.len() * 8];
    let mut group = criterion.benchmark_group("scatter");
    group.throughput(Throughput::Bytes(values.len() as u64 * 4));
    let fortran = |spec: &mut ArraySpec| spec.order = DimOrder::F;
    let swapped = |spec: &mut ArraySpec| {
        spec.element = ElementLayout::Number { ty: NcType::Float, big_endian: true };
    };
    let shuffled = |spec: &mut ArraySpec| {
        spec.filters = nczarr_benches::filters(&[("shuffle", &[])]).expect("a filter");
    };
    /// Name, chunk shape, stride, type in memory, and a further change of the array.
    type Case<'a> = (&'a str, [u64; 3], [u64; 3], NcType, &'a dyn Fn(&mut ArraySpec));
    let cases: [Case<'_>; 7] = [
        ("cube", cube, [1; 3], NcType::Float, &|_| {}),
        ("slab", slab, [1; 3], NcType::Float, &|_| {}),
        ("strided", cube, [2; 3], NcType::Float, &|_| {}),
        ("fortran", cube, [1; 3], NcType::Float, &fortran),
        ("big-endian", cube, [1; 3], NcType::Float, &swapped),
        ("shuffled", cube, [1; 3], NcType::Float, &shuffled),
        ("to-double", cube, [1; 3], NcType::Double, &|_| {}),
    ];
    for (name, chunk, stride, ty, change) in cases {
        let array = array(&shape, &chunk, NcType::Float, |spec| {
            // No chunk is cached, so each read scatters every chunk again.
            spec.options.cache_bytes = Some(0);
            change(spec);
        })
        .expect("an array");
        array
            .put(&array.check_write(&Slab::new(&[0; 3], &shape)).expect("inside"), bytes(&values))
            .expect("written");
        array.flush().expect("flushed");
        let count: Vec<u64> = shape.iter().zip(stride).map(|(len, step)| len.div_ceil(step)).collect();
        let slab = Slab { start: &[0; 3], count: &count, stride: Some(&stride) };
        let out = &mut out[..slab.len() as usize * ty.size().expect("a number")];
        group.bench_function(name, |bencher| bencher.iter(|| read(&array, &slab, ty, out)));
    }
    group.finish();
}

/// Reads one element, from a cached chunk and from a stored chunk.
fn cached(criterion: &mut Criterion) {
    let side = sized(256, 16);
    let values = field(side * side);
    let array = array(&[side, side], &[side / 4, side / 4], NcType::Float, |_| {}).expect("an array");
    array
        .put(&array.check_write(&Slab::new(&[0, 0], &[side, side])).expect("inside"), bytes(&values))
        .expect("written");
    array.flush().expect("flushed");
    let mut group = criterion.benchmark_group("element");
    for (name, bytes) in [("kept", 64 << 20), ("stored", 0)] {
        array.set_chunk_cache(CacheConfig::default().bytes(bytes)).expect("tuned");
        let (mut at, mut out) = (0, [0; 4]);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                at = (at + side + 1) % (side * side);
                read(&array, &Slab::new(&[at / side, at % side], &[1, 1]), NcType::Float, &mut out);
            });
        });
    }
    group.finish();
}

/// Reads text of a fixed size: a few elements of a large chunk, with and without the cache, and all elements.
fn text(criterion: &mut Criterion) {
    let len = sized(1 << 20, 64);
    let words: Vec<NcString> = (0..len).map(|at| NcString::from(format!("{:x}", at % 4096))).collect();
    let mut group = criterion.benchmark_group("text");
    for (name, element) in [
        ("bytes", ElementLayout::Text { width: 4 }),
        ("utf32", ElementLayout::Utf32 { chars: 4, big_endian: false }),
    ] {
        let array = array(&[len], &[len], NcType::Char, |spec| spec.element = element).expect("an array");
        array
            .put(&array.check_write(&Slab::new(&[0], &[len])).expect("inside"), MemRef::Strings(&words))
            .expect("written");
        array.sync().expect("stored");
        for (op, count, bytes) in [("few-kept", 8, 64 << 20), ("few-stored", 8, 0), ("all", len, 0)] {
            array.set_chunk_cache(CacheConfig::default().bytes(bytes)).expect("tuned");
            let mut out = vec![NcString::new(); count as usize];
            group.throughput(Throughput::Elements(count));
            group.bench_function(BenchmarkId::new(op, name), |bencher| {
                bencher.iter(|| {
                    array
                        .get(
                            &array.check_read(&Slab::new(&[0], &[count])).expect("inside"),
                            MemMut::Strings(&mut out),
                        )
                        .expect("read")
                });
            });
        }
    }
    group.finish();
}

fn bytes(values: &[f32]) -> MemRef<'_> {
    MemRef::Fixed { ty: NcType::Float, bytes: bytemuck::cast_slice(values) }
}

fn read(array: &nczarr_chunkio::ChunkedArray, slab: &Slab<'_>, ty: NcType, out: &mut [u8]) {
    let slab = array.check_read(slab).expect("inside");
    array.get(&slab, MemMut::Fixed { ty, out: &mut OutBuf::from_slice(out) }).expect("read");
}

//! Converts rows of numbers between types and byte orders. Also reads whole variables with scale and offset.

use std::hint::black_box;
use std::mem::MaybeUninit;

use criterion::{BenchmarkId, Criterion, Throughput};
use nczarr_benches::{array, sized};
use nczarr_dispatch::{Linear, MemMut, MemRef, VarData as _};
use nczarr_model::NcType::{self, Byte, Double, Float, Int, Int64, Short};
use nczarr_model::{Slab, Values, convert};
use nczarr_runtime::OutBuf;

/// Conversions between integers and floats, wider and narrower. The last cases also swap bytes.
const CASES: [(NcType, NcType, bool); 10] = [
    (Short, Double, false),
    (Float, Double, false),
    (Double, Float, false),
    (Double, Int, false),
    (Int64, Int, false),
    (Int, Short, false),
    (Byte, Float, false),
    (Float, Float, true),
    (Double, Double, true),
    (Short, Double, true),
];

pub fn bench(criterion: &mut Criterion) {
    rows(criterion);
    linear(criterion);
}

fn rows(criterion: &mut Criterion) {
    let elements = sized(1 << 18, 64);
    let mut group = criterion.benchmark_group("convert");
    group.throughput(Throughput::Elements(elements as u64));
    for (from, to, swap) in CASES {
        let size = |ty: NcType| ty.size().expect("a number");
        let row = convert::read_row(from, to, swap).expect("a conversion");
        // Zeros are in the range of every type. The conversion still checks each of them.
        let stored = vec![0u8; elements * size(from)];
        let mut memory = vec![MaybeUninit::uninit(); elements * size(to)];
        let swapped = if swap { "swapped " } else { "" };
        let id = BenchmarkId::from_parameter(format!("{swapped}{} to {}", from.name(), to.name()));
        group.bench_function(id, |bencher| {
            bencher.iter(|| assert!(!row(black_box(&stored), black_box(&mut memory))));
        });
    }
    group.finish();
}

/// Reads packed numbers in three ways: scaled, scaled with a missing value, and only converted.
fn linear(criterion: &mut Criterion) {
    let (shape, chunk) = sized(([64, 256, 256], [64; 3]), ([4, 6, 6], [4; 3]));
    let elements: u64 = shape.iter().product();
    let slab = Slab::new(&[0; 3], &shape).check(&shape, |_| false).expect("inside");
    let mut memory = vec![0u8; elements as usize * 8];
    let mut group = criterion.benchmark_group("linear");
    group.throughput(Throughput::Elements(elements));
    for (from, to) in [(Short, Double), (Short, Float), (Byte, Float), (Int, Double), (Float, Float)] {
        let size = |ty: NcType| ty.size().expect("a number");
        let array = array(&shape, &chunk, from, |spec| spec.options.cache_bytes = Some(0)).expect("an array");
        let stored = vec![1u8; elements as usize * size(from)];
        array.put(&slab, MemRef::Fixed { ty: from, bytes: &stored }).expect("written");
        array.flush().expect("flushed");
        let id = |name: &str| BenchmarkId::new(name, format!("{} to {}", from.name(), to.name()));
        let memory = &mut memory[..elements as usize * size(to)];
        let plain = Linear::new(0.005, 273.0);
        let missing = Values::from_native_bytes(from, &stored[..size(from)]);
        for (name, linear) in [("scaled", plain.clone()), ("missing", Linear { missing, ..plain })] {
            group.bench_function(id(name), |bencher| {
                bencher.iter(|| {
                    let out = &mut OutBuf::from_slice(memory);
                    array.get_linear(&slab, MemMut::Fixed { ty: to, out }, &linear).expect("read");
                });
            });
        }
        group.bench_function(id("converted"), |bencher| {
            bencher.iter(|| {
                array
                    .get(&slab, MemMut::Fixed { ty: to, out: &mut OutBuf::from_slice(memory) })
                    .expect("read")
            });
        });
    }
    group.finish();
}

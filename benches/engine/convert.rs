//! Rows of numbers from one type to another, and from one byte order to the other.

use std::hint::black_box;
use std::mem::MaybeUninit;

use criterion::{BenchmarkId, Criterion, Throughput};
use model::NcType::{self, Byte, Double, Float, Int, Int64, Short};
use model::convert;
use nczarr_benches::sized;

/// Widening, narrowing with checks, integers and floats in each direction; the last ones swap.
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
    let elements = sized(1 << 18, 64);
    let mut group = criterion.benchmark_group("convert");
    group.throughput(Throughput::Elements(elements as u64));
    for (from, to, swap) in CASES {
        let size = |ty: NcType| ty.size().expect("a number");
        let row = convert::read_row(from, to, swap).expect("a conversion");
        // Zeros are in range everywhere; the checks run all the same.
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

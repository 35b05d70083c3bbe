//! Whole arrays and hyperslabs, read and written, by storage and filter.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use nczarr::Extent;
use nczarr_benches::{Chain, Place, SIDE, values, variable};

const CHAINS: [(&str, Chain); 4] = [
    ("none", &[]),
    ("shuffle_deflate", &[("shuffle", &[]), ("deflate", &[4])]),
    ("zstd", &[("zstd", &[3])]),
    ("blosc", &[("blosc", &[0, 0, 0, 0, 5, 1, 1])]),
];

fn transfers(criterion: &mut Criterion) {
    let values = values();
    for place in [Place::Memory, Place::Directory] {
        let mut group = criterion.benchmark_group(format!("{place:?}"));
        group.sample_size(10).throughput(Throughput::Bytes(values.len() as u64 * 4));
        for (name, chain) in CHAINS {
            let (v, _folder) = variable(place, chain).expect("a variable");
            let (v, values) = (&v, &values);
            group.bench_function(BenchmarkId::new("write", name), |bencher| {
                bencher.iter(|| v.put(values, ..).expect("written"));
            });
            let mut out = vec![0f32; values.len()];
            group.bench_function(BenchmarkId::new("read", name), |bencher| {
                bencher.iter(|| v.get_into(&mut out, ..).expect("read"));
            });
            let middle = Extent::count(SIDE / 4, SIDE / 2);
            group.bench_function(BenchmarkId::new("read_middle", name), |bencher| {
                bencher.iter(|| v.get::<f64, _>((middle, middle, middle)).expect("read"));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, transfers);
criterion_main!(benches);

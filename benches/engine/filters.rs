//! Encodes and decodes with shuffle and with each shuffle mode of blosc. Bitshuffle exists only inside blosc
//! and runs with its fastest compressor.

use std::hint::black_box;
use std::mem::MaybeUninit;

use criterion::{BenchmarkId, Criterion, Throughput};
use nczarr_benches::{Chain, field, filters, sized};
use nczarr_codec::{ChunkInfo, ItemType};
use nczarr_runtime::OutBuf;

const CHAINS: [(&str, Chain); 4] = [
    ("shuffle", &[("shuffle", &[])]),
    ("bitshuffle", &[("blosc", &[0, 0, 0, 0, 1, 2, 1])]),
    ("blosc-lz4", &[("blosc", &[0, 0, 0, 0, 5, 1, 1])]),
    ("blosc-zstd", &[("blosc", &[0, 0, 0, 0, 5, 2, 5])]),
];

pub fn bench(criterion: &mut Criterion) {
    let values = field(sized(1 << 18, 1 << 6));
    let plain: &[u8] = bytemuck::cast_slice(&values);
    for (name, chain) in CHAINS {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(plain.len() as u64));
        for item_size in [2, 4, 8] {
            let mut filter = filters(chain).expect("filters").remove(0);
            let info = ChunkInfo::new(ItemType::bytes(item_size), plain.len() / item_size)
                .chunk_bytes(plain.len())
                .array_row(Some(plain.len() / item_size));
            filter.bind(&info).expect("bound");
            let room = filter.encode_bound(plain.len()).expect("a bound");
            let mut encoded = vec![MaybeUninit::uninit(); room];
            let mut decoded = vec![MaybeUninit::uninit(); plain.len()];
            group.bench_function(BenchmarkId::new("encode", item_size), |bencher| {
                bencher.iter(|| {
                    filter.encode(black_box(plain), &mut OutBuf::new(&mut encoded)).expect("encoded")
                });
            });
            let mut out = OutBuf::new(&mut encoded);
            filter.encode(plain, &mut out).expect("encoded");
            let stored = out.filled();
            group.bench_function(BenchmarkId::new("decode", item_size), |bencher| {
                bencher.iter(|| {
                    filter.decode(black_box(stored), &mut OutBuf::new(&mut decoded)).expect("decoded")
                });
            });
            let mut out = OutBuf::new(&mut decoded);
            filter.decode(stored, &mut out).expect("decoded");
            assert_eq!(out.filled(), plain);
        }
        group.finish();
    }
}

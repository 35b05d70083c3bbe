//! Writes and reads whole arrays through the facade, for each map and each filter.

use criterion::{BenchmarkId, Criterion, Throughput};
use nczarr::Place;
use nczarr_benches::{Chain, StoreKind, create, field, sized};

const CHAINS: [(&str, Chain); 8] = [
    ("none", &[]),
    ("deflate5", &[("deflate", &[5])]),
    ("shuffle+deflate5", &[("shuffle", &[]), ("deflate", &[5])]),
    ("zstd3", &[("zstd", &[3])]),
    ("gzip5", &[("gzip", &[5])]),
    ("fletcher32", &[("fletcher32", &[])]),
    ("blosc-zstd-bitshuffle", &[("blosc", &[0, 0, 0, 0, 3, 2, 5])]),
    ("blosc-lz4", &[("blosc", &[0, 0, 0, 0, 5, 1, 1])]),
];

pub fn bench(criterion: &mut Criterion) {
    let (shape, chunk) = sized(([64, 256, 256], [64; 3]), ([4, 6, 6], [4; 3]));
    let values = field(shape.iter().product());
    let mut group = criterion.benchmark_group("chunks");
    group.throughput(Throughput::Bytes(values.len() as u64 * 4));
    for place in [StoreKind::Mem, StoreKind::File] {
        for (name, chain) in CHAINS {
            let id = |op: &str| BenchmarkId::new(format!("{op}/{}", place.name()), name);
            let (url, _dir) = place.url(&format!("chunks-{name}"), "").expect("a place");
            let write = || {
                let file = create(&url).expect("created");
                for (name, len) in ["z", "y", "x"].into_iter().zip(shape) {
                    file.add_dimension(name, len).expect("a dimension");
                }
                let var = file.add_variable::<f32>("v", &["z", "y", "x"]).expect("a variable");
                var.set_chunking(&chunk).expect("chunked");
                for (name, params) in chain {
                    var.set_filter(name, params).expect("filtered");
                }
                var.put(&values, ..).expect("written");
                file.close().expect("closed");
            };
            group.bench_function(id("write"), |bencher| bencher.iter(write));
            // A filter on the command line can skip the write benchmark, so the data are written here.
            write();
            let file = nczarr::open(Place::url(&url)).expect("opened");
            let var = file.variable("v").expect("a variable");
            assert_eq!(var.get_values::<f32>(..).expect("read"), values);
            // Each read allocates its result, as most callers do.
            group.bench_function(id("read"), |bencher| bencher.iter(|| var.get::<f32>(..).expect("read")));
        }
    }
    group.finish();
}

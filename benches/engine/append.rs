//! Appends records one by one. A chunk holds one record or 64 records.

use criterion::{BenchmarkId, Criterion, Throughput};
use nczarr::Result;
use nczarr_benches::{StoreKind, create, field, sized};

pub fn bench(criterion: &mut Criterion) {
    let (records, side) = sized((1000, 64), (70, 2));
    let record = field(side * side);
    let mut group = criterion.benchmark_group("append");
    group.sample_size(10).throughput(Throughput::Elements(records));
    for place in [StoreKind::Mem, StoreKind::File] {
        for per_chunk in [1, 64] {
            let (url, _dir) = place.url(&format!("append-{per_chunk}"), "").expect("a place");
            let id = BenchmarkId::new(place.name(), format!("{per_chunk} per chunk"));
            group.bench_function(id, |bencher| {
                bencher.iter(|| append(&url, records, side, per_chunk, &record).expect("appended"));
            });
        }
    }
    group.finish();
}

fn append(url: &str, records: u64, side: u64, per_chunk: u64, record: &[f32]) -> Result<()> {
    let file = create(url)?;
    file.add_unlimited_dimension("time")?;
    file.add_dimension("y", side)?;
    file.add_dimension("x", side)?;
    let var = file.add_variable::<f32>("v", &["time", "y", "x"])?;
    var.set_chunking(&[per_chunk, side, side])?;
    for time in 0..records {
        var.put(record, (time, .., ..))?;
    }
    file.close()
}

//! Creates and opens many variables, with and without consolidated metadata.

use criterion::{BenchmarkId, Criterion, Throughput};
use nczarr::{Place, Result};
use nczarr_benches::{StoreKind, create, sized};

pub fn bench(criterion: &mut Criterion) {
    let vars = sized(10_000, 20);
    let mut group = criterion.benchmark_group("variables");
    group.sample_size(10).throughput(Throughput::Elements(vars));
    for place in [StoreKind::Mem, StoreKind::File] {
        for (name, modes) in [("plain", ""), ("consolidated", ",consolidated")] {
            let (url, _dir) = place.url(&format!("variables-{name}"), modes).expect("a place");
            let id = |op: &str| BenchmarkId::new(format!("{op}/{}", place.name()), name);
            group.bench_function(id("create"), |bencher| {
                bencher.iter(|| define(&url, vars).expect("created"))
            });
            // A filter on the command line can skip the create benchmark, so the dataset is created here.
            define(&url, vars).expect("created");
            group.bench_function(id("open"), |bencher| {
                bencher.iter(|| {
                    let file = nczarr::open(Place::url(&url)).expect("opened");
                    assert_eq!(file.model().vars().count() as u64, vars);
                });
            });
        }
    }
    group.finish();
}

fn define(url: &str, vars: u64) -> Result<()> {
    let file = create(url)?;
    file.add_dimension("x", 10)?;
    for i in 0..vars {
        let var = file.add_variable::<f32>(&format!("v{i:05}"), &["x"])?;
        var.put_attribute("units", "K")?;
        var.put_attribute("long_name", format!("variable {i}"))?;
        var.put_attribute("scale_factor", 0.5)?;
        var.put_attribute("add_offset", i as f64)?;
    }
    file.close()
}

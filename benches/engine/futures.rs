//! Reads many slabs from a web server that answers each request after 20 ms: in one call, and each as a
//! future on a runtime with one thread. Both have at most 64 requests in flight.

use std::time::Duration;

use criterion::{Criterion, Throughput};
use nczarr::asynchronous::{AsyncVariable, Workers};
use nczarr::storage::{ByteRange, Key, ZMapExt as _};
use nczarr::{OpenOptions, Result};
use nczarr_benches::{create, field, sized};
use nczarr_s3_server::{Config, Server};

/// The elements of a slab.
const WIDTH: u64 = 256;

pub fn bench(criterion: &mut Criterion) {
    let (slabs, latency) = sized((1000, Duration::from_millis(20)), (70, Duration::from_millis(1)));
    let server = Server::start(Config::default().web("web").latency(latency));
    fill(&server, slabs).expect("a dataset on the server");
    let open = || {
        let url = format!("{}/web/x#mode=nczarr", server.url());
        OpenOptions::new().cache_bytes(0).open(url)
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let single = open().and_then(|file| file.variable("v")).expect("a variable");
    let variable = open().and_then(|file| Workers::default().attach(file).variable("v")).expect("a variable");
    let mut group = criterion.benchmark_group("futures");
    group.sample_size(10).throughput(Throughput::Elements(slabs));
    group.bench_function("one call", |bencher| bencher.iter(|| single.get::<f32>(..).expect("the values")));
    group.bench_function("a future each", |bencher| {
        bencher.iter(|| runtime.block_on(read_each(&variable, slabs)).expect("the values"));
    });
    group.finish();
}

/// Puts a dataset with one chunk per slab on the server.
fn fill(server: &Server, slabs: u64) -> Result<()> {
    let url = "memory://bench-futures#mode=nczarr";
    let file = create(url)?;
    file.add_dimension("y", slabs)?;
    file.add_dimension("x", WIDTH)?;
    let v = file.add_variable::<f32>("v", &["y", "x"])?;
    v.set_chunking(&[1, WIDTH])?;
    v.set_deflate(1, true)?;
    v.put(&field(slabs * WIDTH), ..)?;
    file.close()?;
    let map = OpenOptions::new().open_map(url)?;
    for key in map.keys(&Key::root())? {
        let mut bytes = Vec::new();
        map.read(&key, ByteRange::ALL, &mut bytes)?;
        server.put("web", &format!("x/{key}"), bytes);
    }
    Ok(())
}

/// Reads each slab in a task of its own. Returns the number of elements.
async fn read_each(variable: &AsyncVariable, slabs: u64) -> Result<usize> {
    let tasks: Vec<_> = (0..slabs).map(|slab| tokio::spawn(variable.get::<f32>((slab, ..)))).collect();
    let mut elements = 0;
    for task in tasks {
        elements += task.await.expect("the task ends")?.len();
    }
    Ok(elements)
}

//! Measures the engine stage by stage. `cargo bench -p nczarr-benches -- GROUP` measures one group. Tests run
//! every bench once with small arrays.

mod append;
mod chunks;
mod convert;
mod filters;
mod futures;
mod open;
mod project;
mod structs;

use criterion::{Criterion, criterion_group, criterion_main};

criterion_group! {
    name = engine;
    config = Criterion::default().sample_size(20);
    targets = chunks::bench, structs::bench, project::bench, convert::bench, filters::bench, open::bench,
        append::bench, futures::bench
}
criterion_main!(engine);

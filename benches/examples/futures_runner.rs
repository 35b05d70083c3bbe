//! Reads 1,000 slabs of `v` at once as futures on a runtime with one thread, and all of `v` in one call.
//!
//! `futures_runner URL ROUNDS` prints the seconds of each round. 64 requests are in flight both ways.
//! `futures_runner create FOLDER` makes the dataset in Zarr V3.

use std::time::Instant;

use nczarr::asynchronous::{AsyncVariable, Workers};
use nczarr::{Codec, CreateOptions, Kind, OpenOptions, Result};
use nczarr_benches::field;

const SLABS: u64 = 1000;
const WIDTH: u64 = 256;

fn main() -> Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    match &given[..] {
        [first, folder] if first == "create" => create(folder),
        [url, rounds] => read(url, rounds.parse().expect("a number of rounds")),
        _ => panic!("expected URL ROUNDS, or create FOLDER"),
    }
}

fn create(folder: &str) -> Result<()> {
    let file = CreateOptions::new().kind(Kind::ZarrV3).create(folder)?;
    file.add_dimension("y", SLABS)?;
    file.add_dimension("x", WIDTH)?;
    let v = file.add_variable::<f32>("v", &["y", "x"])?;
    v.set_chunking(&[1, WIDTH])?;
    v.set_codecs([Codec::zstd(1)])?;
    v.put(&field(SLABS * WIDTH), ..)?;
    file.close()
}

fn read(url: &str, rounds: u32) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let open = || OpenOptions::new().cache_bytes(0).open(url);
    let single = open()?.variable("v")?;
    let variable = Workers::default().attach(open()?).variable("v")?;
    for _ in 0..rounds {
        let start = Instant::now();
        let batch = single.get_values::<f32>(..)?;
        let one = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let slabs = runtime.block_on(read_each(&variable))?;
        let each = start.elapsed().as_secs_f64();
        assert!(batch == slabs);
        println!("{{\"peer\":\"nczarr\",\"batch\":{one:.3},\"futures\":{each:.3}}}");
    }
    Ok(())
}

/// Reads each slab in a task of its own.
async fn read_each(variable: &AsyncVariable) -> Result<Vec<f32>> {
    let tasks: Vec<_> = (0..SLABS).map(|slab| tokio::spawn(variable.get::<f32>((slab, ..)))).collect();
    let mut values = Vec::new();
    for task in tasks {
        values.extend(task.await.expect("the task ends")?.into_vec());
    }
    Ok(values)
}

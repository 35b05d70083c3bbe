//! Reads 1,000 slabs of `v` at once as futures on a runtime with one thread, and all of `v` in one call.
//!
//! `futures URL ROUNDS` prints the seconds of each round. URL is that of the group in the bucket `bench`. 64 requests
//! are in flight both ways.
#![forbid(unsafe_code)]

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::limit::LimitStore;
use tokio::runtime::Builder;
use zarrs::array::{Array, ArraySubset};
use zarrs_object_store::AsyncObjectStore;

const REQUESTS: usize = 64;

type Opened = Array<AsyncObjectStore<LimitStore<AmazonS3>>>;

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [url, rounds] = &given[..] else { return Err("expected URL ROUNDS".into()) };
    let (server, group) = url.split_once("/bench/").ok_or("expected SERVER/bench/GROUP")?;
    let bucket = AmazonS3Builder::new()
        .with_bucket_name("bench")
        .with_endpoint(server)
        .with_region("us-east-1")
        .with_allow_http(true)
        .with_skip_signature(true)
        .build()?;
    let store = Arc::new(AsyncObjectStore::new(LimitStore::new(bucket, REQUESTS)));
    zarrs::config::global_config_mut()
        .set_codec_concurrent_target(REQUESTS)
        .set_chunk_concurrent_minimum(REQUESTS);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let array = Arc::new(runtime.block_on(Array::async_open(store, &format!("/{group}/v")))?);
    let rounds: u32 = rounds.parse()?;
    for _ in 0..rounds {
        let start = Instant::now();
        let batch: Vec<f32> = runtime.block_on(array.async_retrieve_array_subset(&array.subset_all()))?;
        let one = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let slabs = runtime.block_on(read_each(&array))?;
        let each = start.elapsed().as_secs_f64();
        assert!(batch == slabs);
        println!("{{\"peer\":\"zarrs\",\"batch\":{one:.3},\"futures\":{each:.3}}}");
    }
    Ok(())
}

/// Reads each slab in a task of its own.
async fn read_each(array: &Arc<Opened>) -> Result<Vec<f32>, Box<dyn Error>> {
    let &[slabs, width] = array.shape() else { return Err("expected two dimensions".into()) };
    let tasks: Vec<_> = (0..slabs)
        .map(|slab| {
            let (array, part) = (Arc::clone(array), ArraySubset::new_with_ranges(&[slab..slab + 1, 0..width]));
            tokio::spawn(async move { array.async_retrieve_array_subset::<Vec<f32>>(&part).await })
        })
        .collect();
    let mut values = Vec::new();
    for task in tasks {
        values.extend(task.await??);
    }
    Ok(values)
}

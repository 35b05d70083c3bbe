//! Arrays in a bucket, through `object_store`. A call waits while two threads run its requests.

use std::sync::Arc;

use object_store::aws::AmazonS3Builder;
use object_store::prefix::PrefixStore;
use tokio::runtime::{Builder, Runtime};
use zarrs::storage::ReadableListableStorageTraits;
use zarrs::storage::storage_adapter::async_to_sync::{AsyncToSyncBlockOn, AsyncToSyncStorageAdapter};
use zarrs_object_store::AsyncObjectStore;

use crate::job::{Failure, Job};

struct Waiting(Runtime);

impl AsyncToSyncBlockOn for Waiting {
    fn block_on<F: Future>(&self, work: F) -> F::Output {
        self.0.block_on(work)
    }
}

/// Opens the objects below `--path` in the bucket of all runners. The server needs no signatures.
pub fn open(job: &Job) -> Result<Arc<dyn ReadableListableStorageTraits>, Failure> {
    let bucket = AmazonS3Builder::new()
        .with_bucket_name("bench")
        .with_endpoint(job.text("url", ""))
        .with_region("us-east-1")
        .with_allow_http(true)
        .with_skip_signature(true)
        .build()?;
    let below = AsyncObjectStore::new(PrefixStore::new(bucket, job.text("path", "")));
    let waiting = Waiting(Builder::new_multi_thread().worker_threads(2).enable_all().build()?);
    Ok(Arc::new(AsyncToSyncStorageAdapter::new(Arc::new(below), waiting)))
}

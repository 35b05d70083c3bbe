//! Chunks as a stream.

use nczarr::asynchronous::{AsyncChunk, ChunkStream, Workers};
use nczarr::{CreateOptions, ErrorKind, File, OpenOptions, Place, Result};

use super::gate::Gate;
use super::{begin, block_on};

/// 6 by 10 numbers in chunks of 4 by 3; the second row of chunks is absent.
fn dataset(url: &str) -> File {
    let file = CreateOptions::new().clobber(true).create(url).unwrap();
    file.add_dimension("y", 6).unwrap();
    file.add_dimension("x", 10).unwrap();
    let v = file.add_variable::<i32>("v", &["y", "x"]).unwrap();
    v.set_chunking(&[4, 3]).unwrap();
    v.put(&(0..40).collect::<Vec<i32>>(), (..4, ..)).unwrap();
    file.close().unwrap();
    nczarr::open(url).unwrap()
}

async fn all(mut chunks: ChunkStream<f64>) -> Vec<Result<AsyncChunk<f64>>> {
    let mut found = Vec::new();
    while let Some(chunk) = chunks.next().await {
        found.push(chunk);
    }
    assert!(chunks.next().await.is_none());
    found
}

#[test]
fn a_stream_has_the_chunks_in_order() {
    let file = dataset("memory://async-stream");
    let v = file.variable("v").unwrap();
    for ahead in [0, 1, 3, 100] {
        let stream = Workers::new(3).attach(file.clone()).variable("v").unwrap();
        for is_stored in [false, true] {
            let expected = if is_stored { v.stored_chunks() } else { v.chunks() }.unwrap();
            let chunks = if is_stored { stream.stored_chunks() } else { stream.chunks() };
            let found = block_on(all(chunks.read_ahead(ahead)));
            assert_eq!(found.len() as u64, expected.len());
            assert_eq!(found.len(), if is_stored { 4 } else { 8 });
            for (found, expected) in found.into_iter().zip(expected) {
                let found = found.unwrap();
                assert_eq!((found.index(), found.start()), (expected.index(), expected.slab().start));
                assert_eq!(*found.values(), expected.get::<f64>().unwrap());
            }
        }
    }
}

#[test]
fn a_stream_reads_ahead_and_stops_when_it_is_dropped() {
    dataset("memory://async-stream-dropped");
    let gate = Gate::new(OpenOptions::new().open_map("memory://async-stream-dropped").unwrap());
    let options = OpenOptions::new().threads(1).cache_bytes(0).map(gate.clone());
    let workers = Workers::new(8);
    let file = workers.attach(options.open(Place::path("gated").mode("nczarr")).unwrap());
    let v = file.variable("v").unwrap();
    gate.shut();
    let mut chunks = v.chunks::<i32>().read_ahead(3);
    block_on(async {
        let reading = tokio::spawn(async move { chunks.next().await.map(drop) });
        let waiting = gate.clone();
        tokio::task::spawn_blocking(move || waiting.wait_for(3)).await.unwrap();
        assert_eq!(gate.counts(), (3, 0));
        reading.abort();
        assert!(reading.await.unwrap_err().is_cancelled());
    });
    gate.open();
    drop((v, file));
    // Eight calls at once occupy all threads, so those of the stream have ended.
    let meet = std::sync::Arc::new(std::sync::Barrier::new(8));
    let mut calls: Vec<_> = (0..8)
        .map(|_| {
            let meet = meet.clone();
            workers.run(move || {
                meet.wait();
                Ok(())
            })
        })
        .collect();
    calls.iter_mut().for_each(begin);
    calls.into_iter().for_each(|call| block_on(call).unwrap());
    assert_eq!(gate.counts(), (3, 0));
}

#[test]
fn an_error_is_an_item_and_a_variable_without_chunks_ends_the_stream() {
    let file = CreateOptions::new().clobber(true).create("memory://async-stream-text").unwrap();
    file.add_dimension("x", 4).unwrap();
    file.add_variable_with_type("v", nczarr::NcType::Char, &["x"]).unwrap().set_chunking(&[2]).unwrap();
    let v = Workers::new(2).attach(file).variable("v").unwrap();
    let found = block_on(all(v.chunks()));
    let kinds: Vec<_> = found.into_iter().map(|found| found.unwrap_err().kind()).collect();
    assert_eq!(kinds, [ErrorKind::Char; 2]);
    block_on(v.file().clone().close()).unwrap();
    let found = block_on(all(v.chunks()));
    let kinds: Vec<_> = found.into_iter().map(|found| found.unwrap_err().kind()).collect();
    assert_eq!(kinds, [ErrorKind::BadId]);
}

#[test]
fn a_stream_goes_to_any_thread() {
    fn is_stream<S: futures_core::Stream<Item = Result<AsyncChunk<f32>>> + Send + Unpin>() {}
    is_stream::<ChunkStream<f32>>();
    fn is_send(_: impl Send) {}
    let v = Workers::new(1).attach(dataset("memory://async-stream-send")).variable("v").unwrap();
    is_send(async move { v.chunks::<f32>().next().await.map(drop) });
}

//! Writes as futures: stored whole, and nothing is lost after a stop.

use std::sync::Arc;
use std::time::Duration;

use nczarr::asynchronous::{AsyncFile, Workers};
use nczarr::{CreateOptions, ErrorKind, Extent, OpenOptions, Place};
use proptest::prelude::*;

use super::gate::Gate;
use super::{begin, block_on};

const LEN: i32 = 60;

fn create(url: &str, chunk: u64) -> nczarr::File {
    let file = CreateOptions::new().clobber(true).create(url).unwrap();
    file.add_dimension("x", LEN as u64).unwrap();
    let v = file.add_variable::<i32>("v", &["x"]).unwrap();
    v.set_chunking(&[chunk]).unwrap();
    v.set_fill(-1).unwrap();
    file
}

/// A writable dataset behind a gate, with one thread.
fn gated(name: &str, chunk: u64) -> (Arc<Gate>, AsyncFile, String) {
    let url = format!("memory://async-{name}");
    create(&url, chunk).close().unwrap();
    let gate = Gate::new(OpenOptions::new().writable(true).open_map(&*url).unwrap());
    let options = OpenOptions::new().writable(true).exclusive(true).threads(1).map(gate.clone());
    let file = options.open(Place::path("gated").mode("nczarr")).unwrap();
    (gate, Workers::new(1).attach(file), url)
}

fn stored(url: &str) -> Vec<i32> {
    nczarr::open(url).unwrap().variable("v").unwrap().get_values(..).unwrap()
}

fn settle(file: &AsyncFile) {
    block_on(file.workers().run(|| Ok(()))).unwrap();
}

proptest! {
    #[test]
    fn futures_and_calls_write_equal_data(
        parts in prop::collection::vec((0..LEN as u64, 1..30u64), 1..12),
        chunk in 1..20u64,
    ) {
        let sync = create("memory://async-writes-sync", chunk);
        let workers = Workers::new(2);
        let file = workers.attach(create("memory://async-writes", chunk));
        block_on(async {
            for (number, (start, count)) in parts.iter().enumerate() {
                let count = (*count).min(LEN as u64 - start);
                let values = vec![number as i32; count as usize];
                let part = Extent::count(*start, count);
                sync.variable("v").unwrap().put(&values, part).unwrap();
                file.variable("v").unwrap().put(values, part).await.unwrap();
            }
            file.close().await.unwrap();
        });
        sync.close().unwrap();
        prop_assert_eq!(stored("memory://async-writes"), stored("memory://async-writes-sync"));
    }
}

#[test]
fn calls_read_data_written_by_futures() {
    let file = Workers::new(1).attach(create("memory://async-put", 7));
    block_on(async {
        let v = file.variable("v").unwrap();
        v.put((0..LEN).collect::<Vec<_>>(), ..).await.unwrap();
        v.put([100i32, 101], 3..5).await.unwrap();
        v.put(vec![1.5f64], 0).await.unwrap_or_else(|error| assert_eq!(error.kind(), ErrorKind::Range));
        assert_eq!(v.put(vec![1i32; 3], 0..2).await.unwrap_err().kind(), ErrorKind::Inval);
        file.close().await.unwrap();
    });
    let found = stored("memory://async-put");
    assert_eq!((found[3], found[4], found[5], found[59]), (100, 101, 5, 59));
}

/// Chunks are written whole or not at all. A second attempt writes the rest.
#[test]
fn a_dropped_write_starts_no_further_request() {
    let (gate, file, url) = gated("put-dropped", 1);
    let v = file.variable("v").unwrap();
    gate.shut();
    let mut call = v.put((0..LEN).collect::<Vec<_>>(), ..);
    begin(&mut call);
    gate.wait_for(1);
    drop(call);
    gate.open();
    settle(&file);
    assert_eq!(gate.counts().1, 1);
    let found = stored(&url);
    assert!(found.iter().zip(0..).all(|(value, at)| [at, -1].contains(value)), "{found:?}");
    assert_eq!(found.iter().filter(|value| **value >= 0).count(), 1);
    block_on(v.put((0..LEN).collect::<Vec<_>>(), ..)).unwrap();
    block_on(file.close()).unwrap();
    assert_eq!(stored(&url), (0..LEN).collect::<Vec<_>>());
}

/// The changes that wait in the cache survive a `sync` that was stopped.
#[test]
fn a_dropped_sync_loses_nothing() {
    let (gate, file, url) = gated("sync-dropped", 10);
    let v = file.variable("v").unwrap();
    for at in 0..6 {
        block_on(v.put(vec![at; 9], Extent::count(10 * at as u64, 9))).unwrap();
    }
    let before = gate.counts().1;
    gate.shut();
    let mut call = file.call(|file| file.sync());
    begin(&mut call);
    gate.wait_for(before + 1);
    drop(call);
    gate.open();
    settle(&file);
    assert!(gate.counts().1 <= before + 1, "{:?}", gate.counts());
    block_on(file.call(|file| file.sync())).unwrap();
    let expected: Vec<i32> = (0..LEN).map(|at| if at % 10 == 9 { -1 } else { at / 10 }).collect();
    assert_eq!(stored(&url), expected);
    block_on(file.close()).unwrap();
}

/// A close writes what the cache holds, so it is not stopped.
#[test]
fn a_dropped_close_loses_nothing() {
    for stop in ["drop", "cancel", "timeout"] {
        let (gate, file, url) = gated(&format!("close-{stop}"), 10);
        let (v, workers) = (file.variable("v").unwrap(), file.workers().clone());
        for at in 0..6 {
            block_on(v.put(vec![at; 9], Extent::count(10 * at as u64, 9))).unwrap();
        }
        drop(v);
        let before = gate.counts().1;
        gate.shut();
        let mut call = file.close();
        if stop == "timeout" {
            call = call.timeout(Duration::from_secs(2));
        }
        begin(&mut call);
        gate.wait_for(before + 1);
        match stop {
            "drop" => drop(call),
            "cancel" => {
                call.canceller().cancel();
                assert_eq!(block_on(call).unwrap_err().kind(), ErrorKind::Cancelled);
            }
            _ => assert_eq!(block_on(call).unwrap_err().kind(), ErrorKind::Timeout),
        }
        gate.open();
        block_on(workers.run(|| Ok(()))).unwrap();
        let expected: Vec<i32> = (0..LEN).map(|at| if at % 10 == 9 { -1 } else { at / 10 }).collect();
        assert_eq!(stored(&url), expected, "{stop}");
    }
}

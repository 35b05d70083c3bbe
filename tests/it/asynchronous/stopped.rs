//! Calls that are dropped, cancelled or late.

use std::sync::Arc;
use std::time::Duration;

use nczarr::asynchronous::{AsyncVariable, Workers};
use nczarr::{CreateOptions, ErrorKind, OpenOptions, Place};

use super::gate::Gate;
use super::{begin, block_on};

const CHUNKS: usize = 100;

/// A variable of 100 chunks behind a gate, read on one thread.
fn gated(name: &str) -> (Arc<Gate>, AsyncVariable) {
    let url = format!("memory://async-{name}");
    let file = CreateOptions::new().clobber(true).create(&*url).unwrap();
    file.add_dimension("x", CHUNKS as u64).unwrap();
    let v = file.add_variable::<i32>("v", &["x"]).unwrap();
    v.set_chunking(&[1]).unwrap();
    v.put(&(0..CHUNKS as i32).collect::<Vec<_>>(), ..).unwrap();
    file.close().unwrap();
    let gate = Gate::new(OpenOptions::new().open_map(&*url).unwrap());
    let options = OpenOptions::new().threads(1).cache_bytes(0).map(gate.clone());
    let file = options.open(Place::path("gated").mode("nczarr")).unwrap();
    (gate, Workers::new(1).attach(file).variable("v").unwrap())
}

/// Waits for the only thread of the workers.
fn settle(v: &AsyncVariable) {
    block_on(v.file().workers().run(|| Ok(()))).unwrap();
}

#[test]
fn a_dropped_read_starts_no_further_request() {
    let (gate, v) = gated("dropped");
    gate.shut();
    let mut call = v.get::<i32>(..);
    begin(&mut call);
    gate.wait_for(1);
    drop(call);
    gate.open();
    settle(&v);
    assert_eq!(gate.counts(), (1, 0));
    assert_eq!(block_on(v.get::<i32>(..)).unwrap().len(), CHUNKS);
    // The map has another request for the end of each object.
    assert_eq!(gate.counts(), (1 + 2 * CHUNKS, 0));
}

#[test]
fn a_call_that_was_dropped_in_the_queue_never_begins() {
    let (gate, v) = gated("queued");
    gate.shut();
    let mut calls: Vec<_> = (0..50).map(|at| v.get::<i32>(at)).collect();
    calls.iter_mut().for_each(begin);
    gate.wait_for(1);
    let last = calls.pop().unwrap();
    drop(calls);
    gate.open();
    assert_eq!(block_on(last).unwrap().as_slice(), [49]);
    assert_eq!(gate.counts(), (3, 0));
    drop(v.get::<i32>(..));
    settle(&v);
    assert_eq!(gate.counts(), (3, 0), "a call that was never polled begins nothing");
}

/// The error comes while the storage still hangs.
#[test]
fn a_late_call_fails_in_time() {
    let (gate, v) = gated("late");
    gate.shut();
    let error = block_on(v.get::<i32>(..).timeout(Duration::from_millis(20))).unwrap_err();
    assert_eq!((error.kind(), error.kind().name()), (ErrorKind::Timeout, "NCZ_ETIMEOUT"));
    assert!(error.to_string().contains("/v"), "{error}");
    let waiting = v.get::<i32>(0).timeout(Duration::from_millis(1));
    assert_eq!(block_on(waiting).unwrap_err().kind(), ErrorKind::Timeout, "the time in the queue counts");
    gate.open();
    settle(&v);
    assert!(gate.counts().0 <= 1);
    let long = [Duration::from_secs(3600), Duration::MAX];
    for time in long {
        assert_eq!(block_on(v.get::<i32>(7).timeout(time)).unwrap().as_slice(), [7]);
    }
}

#[test]
fn a_cancelled_call_fails_at_once() {
    let (gate, v) = gated("cancelled");
    gate.shut();
    let mut call = v.get::<i32>(..);
    let canceller = call.canceller();
    begin(&mut call);
    gate.wait_for(1);
    canceller.clone().cancel();
    let error = block_on(call).unwrap_err();
    assert_eq!((error.kind(), error.kind().name()), (ErrorKind::Cancelled, "NCZ_ECANCELLED"));
    gate.open();
    settle(&v);
    assert_eq!(gate.counts(), (1, 0));
    // It may outlive the call.
    canceller.cancel();
    let call = v.get::<i32>(3);
    let canceller = call.canceller();
    let mut call = Box::pin(call);
    begin(&mut call);
    settle(&v);
    canceller.cancel();
    assert_eq!(block_on(call).unwrap().as_slice(), [3], "a call that has ended keeps its result");
}

/// A transfer on many threads stops on all of them.
#[test]
fn a_dropped_read_on_many_threads_ends() {
    let (gate, _) = gated("threads");
    let options = OpenOptions::new().threads(4).cache_bytes(0).map(gate.clone());
    let file = options.open(Place::path("gated").mode("nczarr")).unwrap();
    let v = Workers::new(1).attach(file).variable("v").unwrap();
    gate.shut();
    let mut call = v.get::<i32>(..);
    begin(&mut call);
    gate.wait_for(1);
    drop(call);
    gate.open();
    settle(&v);
    let (reads, _) = gate.counts();
    assert!(reads <= 4, "{reads} reads on four threads");
}

#[test]
fn an_open_that_was_dropped_reads_no_chunk() {
    let (gate, _) = gated("created");
    let workers = Workers::new(1);
    let map = gate.clone();
    let mut call =
        workers.run(move || CreateOptions::new().clobber(true).map(map).create("memory://x#mode=nczarr"));
    call.canceller().cancel();
    assert_eq!(block_on(&mut call).unwrap_err().kind(), ErrorKind::Cancelled);
    block_on(workers.run(|| Ok(()))).unwrap();
    assert_eq!(gate.counts(), (0, 0));
}

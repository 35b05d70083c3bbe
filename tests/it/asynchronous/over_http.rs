//! Calls over HTTP: requests in flight are abandoned, and no request follows.

use std::sync::{Arc, Barrier};
use std::time::Duration;

use nczarr::asynchronous::Workers;
use nczarr::{CreateOptions, ErrorKind, OpenOptions};

use super::gated_server::GatedServer;
use super::{begin, block_on};

const CHUNKS: usize = 200;

fn server(name: &str) -> GatedServer {
    let url = format!("memory://async-http-{name}");
    let file = CreateOptions::new().clobber(true).create(&*url).unwrap();
    file.add_dimension("x", CHUNKS as u64).unwrap();
    let v = file.add_variable::<i32>("v", &["x"]).unwrap();
    v.set_chunking(&[1]).unwrap();
    v.put(&(0..CHUNKS as i32).collect::<Vec<_>>(), ..).unwrap();
    file.close().unwrap();
    GatedServer::start(OpenOptions::new().open_map(&*url).unwrap())
}

#[test]
fn the_open_request_of_a_stopped_call_is_abandoned() {
    for way in ["drop", "cancel", "timeout"] {
        let server = server(way);
        server.shut();
        let workers = Workers::new(1);
        let mut call = workers.open(server.url());
        if way == "timeout" {
            call = call.timeout(Duration::from_secs(2));
        }
        begin(&mut call);
        server.wait_for_any();
        match way {
            "drop" => drop(call),
            "cancel" => {
                call.canceller().cancel();
                assert_eq!(block_on(call).unwrap_err().kind(), ErrorKind::Cancelled);
            }
            _ => assert_eq!(block_on(call).unwrap_err().kind(), ErrorKind::Timeout),
        }
        server.wait_for(0);
        block_on(workers.run(|| Ok(()))).unwrap();
    }
}

/// Each thread has a request in flight when the calls are dropped, and further calls wait in the queue.
#[test]
fn no_request_follows_the_drop_of_many_calls() {
    const THREADS: usize = 8;
    let server = server("many");
    let file = OpenOptions::new().cache_bytes(0).open(server.url()).unwrap();
    let workers = Workers::new(THREADS);
    let v = workers.attach(file).variable("v").unwrap();
    let before = server.begun();
    server.shut();
    let mut calls: Vec<_> = (0..100).map(|at| v.get::<i32>(at)).collect();
    calls.iter_mut().for_each(begin);
    server.wait_for(THREADS);
    // The calls in the queue first: one of them would start when a thread becomes free.
    drop(calls.split_off(THREADS));
    drop(calls);
    server.wait_for(0);
    // As many calls at once occupy all threads, so the dropped ones have ended.
    let meet = Arc::new(Barrier::new(THREADS));
    let mut calls: Vec<_> = (0..THREADS)
        .map(|_| {
            let meet = Arc::clone(&meet);
            workers.run(move || {
                meet.wait();
                Ok(())
            })
        })
        .collect();
    calls.iter_mut().for_each(begin);
    calls.into_iter().for_each(|call| block_on(call).unwrap());
    assert_eq!(server.begun() - before, THREADS);
    server.open();
    assert_eq!(block_on(v.get::<i32>(..)).unwrap().len(), CHUNKS);
    assert_eq!(server.begun() - before, THREADS + CHUNKS, "requests of the read, and of no other call");
}

/// A read of many chunks has as many requests in flight as the client allows when it is dropped.
#[test]
fn no_request_follows_the_drop_of_a_large_call() {
    const IN_FLIGHT: usize = 64;
    let server = server("large");
    let file = OpenOptions::new().cache_bytes(0).open(server.url()).unwrap();
    let workers = Workers::new(1);
    let v = workers.attach(file).variable("v").unwrap();
    let before = server.begun();
    server.shut();
    let mut call = v.get::<i32>(..);
    begin(&mut call);
    server.wait_for(IN_FLIGHT);
    drop(call);
    server.wait_for(0);
    block_on(workers.run(|| Ok(()))).unwrap();
    assert_eq!(server.begun() - before, IN_FLIGHT);
    server.open();
    assert_eq!(block_on(v.get::<i32>(..)).unwrap().len(), CHUNKS);
    assert_eq!(server.begun() - before, IN_FLIGHT + CHUNKS, "requests of the second read alone");
}

//! Datasets in maps around maps, through the facade.

use std::sync::Arc;

use nczarr::wrap::{Cached, Counting, Fault, Faults, Keep, Op, ReadOnly, Slow, When};
use nczarr::{CreateOptions, ErrorKind, OpenOptions};

#[test]
fn a_sync_shows_foreign_writes_through_a_cache() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.zarr").display().to_string();
    let writer = nczarr::create(&path).unwrap();
    writer.add_dimension("x", 8).unwrap();
    let v = writer.add_variable::<i32>("v", &["x"]).unwrap();
    v.set_chunking(&[4]).unwrap();
    v.put(&[1; 8], ..).unwrap();
    writer.sync().unwrap();

    let directory = dir.path().join("cache");
    let keep = Keep { absent: true, ..Keep::bytes(1 << 20) };
    for on_disk in [false, true] {
        v.put(&[1; 8], ..).unwrap();
        writer.sync().unwrap();
        let counting = Arc::new(Counting::new(OpenOptions::new().open_map(&path).unwrap()));
        let cached = Arc::new(if on_disk {
            Cached::on_disk(counting.clone(), &directory, &path, keep).unwrap()
        } else {
            Cached::in_memory(counting.clone(), keep)
        });
        let open = || OpenOptions::new().map(cached.clone()).cache_bytes(0).open(&path).unwrap();
        let reader = open();
        let values = || reader.variable("v").unwrap().get_values::<i32>(..).unwrap();
        assert_eq!(values(), [1; 8]);
        counting.take();
        assert_eq!(values(), [1; 8]);
        assert_eq!(open().variable("v").unwrap().get_values::<i32>(..).unwrap(), [1; 8]);
        assert_eq!(counting.take().read().bytes, 0, "all of it was kept");
        v.put(&[2; 8], ..).unwrap();
        writer.sync().unwrap();
        reader.sync().unwrap();
        assert_eq!(values(), [2; 8]);
    }
}

#[test]
fn a_dataset_in_a_view_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.zarr").display().to_string();
    let file = nczarr::create(&path).unwrap();
    file.add_dimension("x", 2).unwrap();
    file.add_variable::<i32>("v", &["x"]).unwrap().put(&[1, 2], ..).unwrap();
    file.close().unwrap();
    let map = OpenOptions::new().writable(true).open_map(&path).unwrap();
    let view = Arc::new(ReadOnly::new(map));
    let file = OpenOptions::new().map(view.clone()).open(&path).unwrap();
    assert_eq!(file.variable("v").unwrap().get_values::<i32>(..).unwrap(), [1, 2]);
    let error = OpenOptions::new().writable(true).map(view.clone()).open(&path).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Perm, "{error}");
    let error = CreateOptions::new().clobber(true).map(view).create(&path).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Perm, "{error}");
}

/// Each failing request of a write is reported, and a retry stores everything. The reader never accepts a
/// truncated response as data.
#[test]
fn faults_are_reported_and_retries_lose_nothing() {
    let values: Vec<i32> = (0..100).collect();
    for fault in [Fault::Fail(ErrorKind::Io), Fault::Late(ErrorKind::Io), Fault::Torn(ErrorKind::Io)] {
        let (mut nth, mut reported) = (0, 0);
        loop {
            nth += 1;
            let url = format!("memory://faults-{fault:?}-{nth}#mode=nczarr");
            let storage = CreateOptions::new().create_map(&url).unwrap();
            let map =
                Arc::new(Slow::new(storage).faults(Faults::new(0).with(Op::WRITES, When::Nth(nth), fault)));
            let counting = Arc::new(Counting::new(map));
            let file = CreateOptions::new().map(counting.clone()).create(&url).unwrap();
            file.add_dimension("x", 100).unwrap();
            let v = file.add_variable::<i32>("v", &["x"]).unwrap();
            v.set_chunking(&[30]).unwrap();
            let mut failed = 0;
            while let Err(error) = v.put(&values, ..).and_then(|()| file.sync()) {
                assert_eq!(error.kind(), ErrorKind::Io, "{error}");
                failed += 1;
                assert!(failed < 3, "{nth}: {error}");
            }
            file.close().unwrap();
            let requests = counting.counts().written().requests;
            let file = nczarr::open(&url).unwrap();
            assert_eq!(file.variable("v").unwrap().get_values::<i32>(..).unwrap(), values, "{fault:?} {nth}");
            reported += failed;
            if requests < nth {
                assert_eq!(failed, 0);
                break;
            }
        }
        assert!(nth > 5 && reported == nth as usize - 1, "{reported} reported of {nth}");
    }
}

/// A failure to store buffered records is reported at once or by the next `sync`.
#[test]
fn unstored_records_are_reported_and_stored_later() {
    let record = |at: u64| vec![at as i32 + 1; 64 * 64];
    for fault in [Fault::Fail(ErrorKind::Io), Fault::Late(ErrorKind::Io), Fault::Torn(ErrorKind::Io)] {
        let (mut nth, mut reported) = (0, 0);
        loop {
            nth += 11;
            let url = format!("memory://records-{fault:?}-{nth}#mode=zarr");
            let storage = CreateOptions::new().create_map(&url).unwrap();
            let map =
                Arc::new(Slow::new(storage).faults(Faults::new(0).with(Op::WRITES, When::Nth(nth), fault)));
            let counting = Arc::new(Counting::new(map));
            let file = CreateOptions::new().threads(2).map(counting.clone()).create(&url).unwrap();
            file.add_unlimited_dimension("time").unwrap();
            for name in ["y", "x"] {
                file.add_dimension(name, 64).unwrap();
            }
            let v = file.add_variable::<i32>("v", &["time", "y", "x"]).unwrap();
            v.set_chunking(&[1, 64, 64]).unwrap();
            v.set_deflate(1, true).unwrap();
            let mut failed = 0;
            let mut insist = |work: &dyn Fn() -> nczarr::Result<()>| {
                while let Err(error) = work() {
                    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
                    failed += 1;
                    assert!(failed < 3, "{nth}: {error}");
                }
            };
            for at in 0..70 {
                insist(&|| v.put(&record(at), (at, .., ..)));
                assert_eq!(v.get_value::<i32>((at, 63, 63)).unwrap(), at as i32 + 1, "before it is stored");
            }
            insist(&|| file.sync());
            file.close().unwrap();
            let requests = counting.counts().written().requests;
            let file = nczarr::open(&url).unwrap();
            let v = file.variable("v").unwrap();
            for at in 0..70 {
                assert_eq!(v.get_values::<i32>((at, .., ..)).unwrap(), record(at), "{fault:?} {nth}");
            }
            reported += failed;
            if requests < nth {
                assert_eq!(failed, 0);
                break;
            }
        }
        assert!(nth > 70 && reported == nth as usize / 11 - 1, "{reported} reported of {nth}");
    }
}

#[test]
fn a_short_response_is_an_error() {
    let url = "memory://short#mode=nczarr";
    let file = nczarr::create(url).unwrap();
    file.add_dimension("x", 64).unwrap();
    let v = file.add_variable::<i32>("v", &["x"]).unwrap();
    v.set_chunking(&[16]).unwrap();
    v.put(&[7; 64], ..).unwrap();
    file.close().unwrap();
    let mut nth = 1;
    loop {
        let faults = Faults::new(0).with(Op::READS, When::Nth(nth), Fault::Short);
        let counting = Arc::new(Counting::new(Arc::new(
            Slow::new(OpenOptions::new().open_map(url).unwrap()).faults(faults),
        )));
        let outcome = OpenOptions::new().map(counting.clone()).open(url).and_then(|file| {
            let values = file.variable("v")?.get_values::<i32>(..)?;
            Ok((values, counting.counts().read().requests))
        });
        match outcome {
            Ok((values, requests)) => {
                assert_eq!(values, [7; 64], "request {nth}");
                if requests < nth {
                    break;
                }
            }
            Err(error) => assert_ne!(error.kind(), ErrorKind::Internal, "{error}"),
        }
        nth += 1;
    }
    assert!(nth > 5);
}

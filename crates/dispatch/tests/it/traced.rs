//! The lines that the library writes to the log.

use std::io::Write;
use std::sync::{Arc, Mutex};

use nczarr_dispatch::trace::{self, TracedMap};
use nczarr_dispatch::{Clobber, Options, Place, Registry};
use nczarr_runtime::OutBuf;
use nczarr_storage::{ByteRange, Key, ZMap, ZMapExt};
use tracing::level_filters::LevelFilter;

use crate::batch::{Reads, Want};
use crate::world::{TestDriver, TestMap, driver_info};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns the log lines of `run` at one of netCDF's log levels.
fn log_of(level: i32, run: impl FnOnce()) -> String {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(trace::filter_of(level))
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, run);
    let bytes = log.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

fn registry() -> Arc<Registry> {
    Arc::new(Registry::new().with_driver(TestDriver(driver_info("grid", &["gridded"], &[], &[".grid"]))))
}

fn use_it() {
    let (registry, options) = (registry(), Options::default());
    let map = || -> Arc<dyn ZMap> { Arc::new(TracedMap::new(Arc::new(TestMap::with(&[(".grid", b"{}")])))) };
    registry.open_in(Some(map()), &Place::url("x"), false, &options).unwrap();
    registry.create_in(Some(map()), &Place::url("x#mode=gridded"), Clobber::Refuse, false, &options).unwrap();
    let url = "https://me:hush@h/x?hush#mode=gridded,s3&token=hush";
    assert!(registry.open(&Place::url(url), false, &options).is_err());
}

#[test]
fn levels_select_failures_calls_and_operations() {
    assert_eq!(log_of(-1, use_it), "");
    let failures = log_of(1, use_it);
    assert!(failures.contains("ERROR") && failures.contains("call=\"open\""), "{failures}");
    assert!(!failures.contains("DEBUG") && !failures.contains("TRACE"), "{failures}");
    let calls = log_of(5, use_it);
    assert!(calls.contains("DEBUG nczarr::call: call=\"create\""), "{calls}");
    assert!(!calls.contains("TRACE"), "{calls}");
    let all = log_of(9, use_it);
    assert!(all.contains("op=\"len\" key=.grid"), "{all}");
    assert!(all.contains("op=\"write\" key=.grid bytes=2 us="), "{all}");
    for text in [failures, calls, all] {
        assert!(!text.contains("hush"), "{text}");
    }
}

#[test]
fn every_operation_is_forwarded_and_traced() {
    let inner = Arc::new(TestMap::with(&[("a", b"abc"), ("b/c", b"")]));
    let map = TracedMap::new(inner.clone());
    let key = |path| Key::new(path).unwrap();
    let text = log_of(9, || {
        assert_eq!(map.caps(), inner.caps());
        assert_eq!(map.len(&key("a")).unwrap(), Some(3));
        assert!(map.read(&key("a"), ByteRange::first(2), &mut Vec::new()).unwrap());
        let mut memory = [0; 2];
        assert!(map.read_into(&key("a"), 1, &mut OutBuf::from_slice(&mut memory)).unwrap());
        assert_eq!(map.children(&Key::root()).unwrap(), ["a", "b"]);
        assert_eq!(map.possible_children(&key("b")).unwrap(), ["c"]);
        assert_eq!(map.keys(&Key::root()).unwrap().len(), 2);
        map.write(&key("d"), b"four").unwrap();
        map.rename(&key("d"), &key("e")).unwrap();
        assert!(map.exists(&key("e")).unwrap() && map.delete(&key("e")).unwrap());
        map.update(&key("u"), usize::MAX, &mut |_, new| {
            new.push(1);
            Ok(())
        })
        .unwrap();
        let results = Reads::new(vec![Want::all("a"), Want::all("x")], 1).run(&map);
        assert!(results.iter().all(|result| matches!(result, Some(Ok(_)))));
        map.sync().unwrap();
        map.close().unwrap();
        inner.broken.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(map.len(&key("a")).is_err());
    });
    for line in [
        "op=\"len\" key=a bytes=0",
        "op=\"read\" key=a bytes=2",
        "op=\"read_into\" key=a bytes=2",
        "op=\"search\" key= ",
        "op=\"names\" key=b ",
        "op=\"list\" key= ",
        "op=\"write\" key=d bytes=4",
        "op=\"rename\" key=d",
        "op=\"len\" key=e",
        "op=\"delete\" key=e",
        "op=\"update\" key=u",
        "op=\"batch read\" key=a bytes=3",
        "op=\"batch read\" key=x bytes=0",
        "op=\"sync\"",
        "op=\"close\"",
        "error=NC_EIO: a: the disk is on fire",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn the_log_level_is_kept() {
    assert_eq!(trace::filter_of(trace::log_level()), LevelFilter::OFF);
    trace::set_log_level(5);
    assert_eq!(trace::log_level(), 5);
}

//! [`bench_map`]: speed of a map with large objects, small ones, parts, absent keys, and lists.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use nczarr_runtime::OutBuf;
use nczarr_storage::{ByteRange, Key, ZMap, ZMapExt};

use super::{Timing, rounds};
use crate::failure::{Outcome, broken, ok, same, same_bytes};

/// Large objects: each the size of a typical chunk.
const LARGE: (usize, usize) = (8, 1 << 20);
/// Small objects: metadata documents.
const SMALL: (usize, usize) = (256, 300);
/// The size of parts of a large object, in bytes, and their number.
const PARTS: (usize, usize) = (64, 4096);

/// The measurements of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapBench {
    /// The timings, always the same ones in the same order.
    pub timings: Vec<Timing>,
}

impl MapBench {
    /// Returns the timing of this name.
    pub fn get(&self, what: &str) -> Option<&Timing> {
        self.timings.iter().find(|timing| timing.what == what)
    }
}

impl fmt::Display for MapBench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<24} {:>12} {:>8} {:>12}", "", "us each", "spread", "MiB/s")?;
        for timing in &self.timings {
            write!(f, "{:<24} {:>12.2}", timing.what, timing.seconds_per_operation() * 1e6)?;
            write!(f, " {:>6.0} %", timing.summary().spread() * 100.0)?;
            match timing.bytes {
                0 => writeln!(f, " {:>12}", "-")?,
                _ => writeln!(f, " {:>12.1}", timing.mib_per_second())?,
            }
        }
        Ok(())
    }
}

/// Measures a map: whole large objects, small objects, parts of a large one, absent keys, and lists, one
/// operation after another on the calling thread.
///
/// `make` returns a fresh, empty, writable map, several times. Writing includes [`ZMap::sync`]. Reads may
/// come from the system's cache rather than the device.
///
/// # Errors
///
/// A failed operation, one that reads other bytes than were written, or a read-only map.
pub fn bench_map(make: &dyn Fn() -> Arc<dyn ZMap>) -> Outcome<MapBench> {
    let caps = make().caps();
    if !caps.write {
        return Err(broken("a map that is measured", "one that can be written", caps));
    }
    let (large, small) =
        (ObjectSet::new("large", LARGE.0, LARGE.1)?, ObjectSet::new("small", SMALL.0, SMALL.1)?);
    let mut timings = Vec::new();
    timings.push(large.time("write large", rounds(|| Ok(make()), |map| large.write(&*map))?));
    timings.push(small.time("write small", rounds(|| Ok(make()), |map| small.write(&*map))?));

    let map = make();
    large.write(&*map)?;
    small.write(&*map)?;
    for (objects, what) in [(&large, "read large"), (&small, "read small")] {
        let mut memory = vec![0; objects.value.len()];
        timings.push(objects.time(what, rounds(|| Ok(()), |()| objects.read(&*map, &mut memory))?));
    }
    timings.push(parts(&*map, &large)?);
    timings.push(absent(&*map)?);
    if caps.list {
        let list = || {
            ok("search", map.children(&small.folder)).and_then(|names| same("names", SMALL.0, names.len()))
        };
        timings.push(Timing::new("list 256", 1, 0, rounds(|| Ok(()), |()| list())?));
    }
    ok("close", map.close())?;
    Ok(MapBench { timings })
}

/// Objects of one length, all with the same bytes.
struct ObjectSet {
    folder: Key,
    keys: Vec<Key>,
    value: Vec<u8>,
}

impl ObjectSet {
    fn new(folder: &str, count: usize, len: usize) -> Outcome<Self> {
        let key = |text: &str| ok(format!("{text:?} is a key"), Key::new(text));
        let keys = (0..count).map(|i| key(&format!("{folder}/{i}"))).collect::<Outcome<_>>()?;
        let value = (0..len).map(|i| (i ^ (i >> 8)) as u8).collect();
        Ok(Self { folder: key(folder)?, keys, value })
    }

    fn time(&self, what: &'static str, rounds: Vec<Duration>) -> Timing {
        let operations = self.keys.len() as u64;
        Timing::new(what, operations, operations * self.value.len() as u64, rounds)
    }

    fn write(&self, map: &dyn ZMap) -> Outcome {
        self.keys.iter().try_for_each(|key| ok("write", map.write(key, &self.value)))?;
        ok("sync", map.sync())
    }

    fn read(&self, map: &dyn ZMap, memory: &mut [u8]) -> Outcome {
        for key in &self.keys {
            let mut out = OutBuf::from_slice(memory);
            same("a written object exists", true, ok("read_into", map.read_into(key, 0, &mut out))?)?;
            same_bytes("read_into gives the written bytes", &self.value, out.filled())?;
        }
        Ok(())
    }
}

/// Measures reads of parts spread over one object.
fn parts(map: &dyn ZMap, large: &ObjectSet) -> Outcome<Timing> {
    let (count, len) = PARTS;
    let key = large.keys.first().ok_or_else(|| broken("objects to read", 1, 0))?;
    let step = (large.value.len() - len) / count;
    let mut out = Vec::new();
    let times = rounds(
        || Ok(()),
        |()| {
            for at in (0..count).map(|i| i * step) {
                let range = ByteRange::new(at as u64, len as u64);
                same("a written object exists", true, ok("read", map.read(key, range, &mut out))?)?;
                same_bytes("a part is the written bytes", &large.value[at..at + len], &out)?;
            }
            Ok(())
        },
    )?;
    Ok(Timing::new("read parts of 4 KiB", count as u64, (count * len) as u64, times))
}

fn absent(map: &dyn ZMap) -> Outcome<Timing> {
    let nothing = ObjectSet::new("nothing", SMALL.0, 0)?;
    let look = |key: &Key| ok("len", map.len(key)).and_then(|len| same("len of an absent object", None, len));
    let times = rounds(|| Ok(()), |()| nothing.keys.iter().try_for_each(look))?;
    Ok(Timing::new("look for absent keys", SMALL.0 as u64, 0, times))
}

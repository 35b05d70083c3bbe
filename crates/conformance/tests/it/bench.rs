//! The benchmark suite runs on every plugin of this project. The timings themselves are not tested.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_conformance::{Timing, bench_filter, bench_map};
use nczarr_model::Result;
use nczarr_storage::{
    Key, ListMode, MapCaps, MapOptions, ObjectInfo, Precondition, ReadOptions, WriteOutcome, ZMap,
};
use nczarr_zmap_file::FileMap;
use nczarr_zmap_mem::MemMap;
use nczarr_zmap_zip::ZipMap;

type Make<'a> = &'a dyn Fn() -> Arc<dyn ZMap>;

fn says_something(timing: &Timing) {
    assert!(timing.operations > 0 && !timing.time.is_zero(), "{timing:?}");
    let summary = timing.summary();
    assert!(summary.count > 1 && summary.min == timing.time.as_secs_f64(), "{timing:?}");
    let each = timing.seconds_per_operation();
    assert!(each.is_finite() && each > 0.0, "{timing:?}");
    let speed = timing.mib_per_second();
    assert!(speed.is_finite() && (speed > 0.0) == (timing.bytes > 0), "{timing:?}");
}

#[test]
fn the_maps_of_this_project_are_measured() {
    let (place, count, options) = (tempfile::tempdir().unwrap(), AtomicUsize::new(0), MapOptions::default());
    let fresh = || place.path().join(count.fetch_add(1, Ordering::Relaxed).to_string());
    let makes: [(&str, Make<'_>); 3] = [
        ("mem", &|| Arc::new(MemMap::new())),
        ("file", &|| Arc::new(FileMap::create(fresh(), None, &options).unwrap())),
        ("zip", &|| Arc::new(ZipMap::create(&fresh(), "", false, &options).unwrap())),
    ];
    for (name, make) in makes {
        let bench = bench_map(make).unwrap_or_else(|failure| panic!("{name}: {failure}"));
        bench.timings.iter().for_each(says_something);
        let large = bench.get("read large").unwrap();
        assert_eq!((large.operations, large.bytes), (8, 8 << 20), "{name}");
        assert_eq!(bench.get("look for absent keys").unwrap().bytes, 0);
        let text = bench.to_string();
        for timing in &bench.timings {
            assert!(text.lines().any(|line| line.starts_with(timing.what)), "{name}: {text}");
        }
    }
}

#[test]
fn the_filters_of_this_project_are_measured() {
    let only_read = ["nbit", "scaleoffset"];
    let by_json = [
        "fixedscaleoffset",
        "quantize",
        "bitround",
        "astype",
        "categorize",
        "delta",
        "packbits",
        "cast_value",
        "scale_offset",
    ];
    let mut measured = 0;
    for class in nczarr_filters::BUILTIN {
        let name = class.info().name;
        let params: &[u32] = match name {
            "deflate" | "gzip" | "zstd" | "bzip2" => &[1],
            "blosc" => &[0, 0, 0, 0, 5, 1, 1],
            "szip" => &[32, 32],
            "lzma" | "jenkins_lookup3" => &[0],
            // Their parameters derive from the JSON form. The filters' own tests cover them.
            name if by_json.contains(&name) || only_read.contains(&name) => continue,
            _ => &[],
        };
        let bench = bench_filter(*class, &[params]).unwrap_or_else(|failure| panic!("{name}: {failure}"));
        assert_eq!(bench.name, name);
        for timing in &bench.timings {
            assert!(timing.decoded == 256 << 10 && timing.encoded > 0, "{name}: {timing:?}");
            assert!(!timing.encode.is_zero() && !timing.decode.is_zero(), "{name}: {timing:?}");
            let speeds = [timing.encode_mib_per_second(), timing.decode_mib_per_second(), timing.ratio()];
            assert!(speeds.iter().all(|speed| speed.is_finite() && *speed > 0.0), "{name}: {timing:?}");
        }
        assert_eq!(bench.to_string().lines().count(), bench.timings.len() + 1);
        let compresses = ["deflate", "gzip", "zstd", "blosc", "bzip2", "lzma"].contains(&name);
        let flags =
            bench.timings.iter().find(|timing| timing.data == "flags").expect("every one takes bytes");
        assert!(!compresses || flags.ratio() > 2.0, "{name}: {flags:?}");
        measured += 1;
    }
    assert_eq!(measured + by_json.len() + only_read.len(), nczarr_filters::BUILTIN.len());
}

#[test]
fn an_element_filter_is_measured_on_its_elements() {
    let class = nczarr_filters::BUILTIN.iter().find(|class| class.info().name == "packbits").unwrap();
    let bench = bench_filter(*class, &[&[]]).unwrap();
    let flags = bench.timings.iter().find(|timing| timing.data == "flags").unwrap();
    assert!(flags.ratio() > 7.9 && flags.ratio() < 8.1, "{flags:?}");
    assert!(bench_filter(*class, &[&[1, 2, 3, 4, 5]]).is_err());
}

/// A map that returns different bytes from those written.
#[derive(Debug)]
struct Wrong(MemMap, MapCaps);

impl ZMap for Wrong {
    fn caps(&self) -> MapCaps {
        self.1
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        self.0.len(key)
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        let found = self.0.read_with(key, options, out)?;
        out.first_mut().into_iter().for_each(|byte| *byte ^= 1);
        Ok(found)
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        self.0.list(prefix, mode)
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        self.0.write_if(key, value, expect)
    }
}

#[test]
fn wrong_answers_have_no_speed() {
    let caps = MapCaps::new().write(true);
    let failure = bench_map(&|| Arc::new(Wrong(MemMap::new(), caps))).unwrap_err().to_string();
    assert!(failure.contains("read_into gives the written bytes"), "{failure}");
    let failure = bench_map(&|| Arc::new(Wrong(MemMap::new(), MapCaps::default()))).unwrap_err().to_string();
    assert!(failure.contains("one that can be written"), "{failure}");
}

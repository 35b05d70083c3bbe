//! Every map by name, and prefixes of every kind.

use std::time::Duration;

use nczarr::ErrorKind;
use nczarr_bench::{AccessPattern, BenchTarget};

use crate::{is_empty, small};

#[test]
fn every_local_map_is_a_target_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let report =
        small().dir(dir.path()).targets(["file", "mem", "zip"]).filters(["none", "zstd,3"]).run().unwrap();
    assert!(is_empty(dir.path()));
    let names: Vec<_> = report.rows.iter().map(|row| (row.target.as_str(), row.filters.as_str())).collect();
    let want = ["file", "mem", "zip"].map(|map| [(map, "none"), (map, "zstd,3")]);
    assert_eq!(names, want.concat());
    for row in &report.rows {
        assert_eq!(row.map.as_deref(), Some(row.target.as_str()));
        let patterns: Vec<_> = row.measured.iter().map(|measured| measured.pattern).collect();
        assert_eq!(patterns, AccessPattern::ALL, "{}", row.target);
        // Three, three and one chunk along the dimensions.
        let whole = 3 * 3 * 2 * 5 * 9 * 4;
        match row.filters.as_str() {
            "none" => assert_eq!(row.stored, Some(whole)),
            _ => assert!(row.stored.is_some_and(|stored| stored > 0 && stored < whole)),
        }
        for measured in &row.measured {
            let summary = &measured.summary;
            let sorted = [summary.min, summary.p50, summary.p95, summary.p99];
            assert!(summary.min > 0.0 && sorted.is_sorted(), "{measured:?}");
            assert_eq!(measured.rounds.len(), 2);
        }
        let read = row.get(AccessPattern::Read).unwrap();
        assert_eq!((read.bytes, read.summary.count), (5 * 12 * 9 * 4, 2));
        let series = row.get(AccessPattern::Series).unwrap();
        assert_eq!((series.bytes, series.summary.count), (5 * 4, 8));
        assert!(read.mb_per_second().unwrap() > 0.0);
        assert_eq!(row.get(AccessPattern::Open).unwrap().mb_per_second(), None);
    }
}

#[test]
fn prefixes_are_paths_archives_and_urls() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let inside = path("");
    let prefixes = [
        path("x"),
        inside,
        path("x.zip"),
        path("y.zarr#mode=zarr,v3"),
        "memory://x".to_owned(),
        path("z.nc"),
    ];
    let mut benchmark = small().threads(1).threads(2);
    for prefix in &prefixes {
        benchmark = benchmark.target(BenchTarget::prefix(prefix));
    }
    let report = benchmark.run().unwrap();
    assert!(is_empty(dir.path()));
    let rows: Vec<_> = report.rows.iter().map(|row| (&row.target, row.map.as_deref(), row.threads)).collect();
    let maps = [Some("file"), Some("file"), Some("zip"), Some("file"), Some("mem"), None];
    let want =
        prefixes.iter().zip(maps).flat_map(|(prefix, map)| [1, 2].map(|threads| (prefix, map, threads)));
    assert_eq!(rows, want.collect::<Vec<_>>());
    let stored: Vec<_> = report.rows.iter().step_by(2).map(|row| row.stored.is_some()).collect();
    assert_eq!(stored, [true, true, true, true, true, false]);
}

#[test]
fn a_classic_file_has_the_whole_data_as_its_only_chunk() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("x.nc#mode=cdf5").display().to_string();
    let sample = nczarr_bench::Sample::generated(&[4, 6]).unwrap();
    let benchmark = nczarr_bench::Benchmark::new(sample).target(BenchTarget::prefix(prefix)).rounds(1);
    assert_eq!(benchmark.clone().chunks(&[4, 6]).run().unwrap().rows.len(), 1);
    assert!(benchmark.chunks(&[2, 6]).run().is_err());
    assert!(is_empty(dir.path()));
}

#[test]
fn patterns_can_be_chosen() {
    let report = small().targets(["mem"]).patterns([AccessPattern::Element]).run().unwrap();
    let patterns: Vec<_> = report.rows[0].measured.iter().map(|measured| measured.pattern).collect();
    assert_eq!(patterns, [AccessPattern::Element]);
}

#[test]
fn nonsense_is_refused() {
    let kind = |benchmark: nczarr_bench::Benchmark| benchmark.run().unwrap_err().kind();
    assert_eq!(kind(small()), ErrorKind::Inval);
    assert_eq!(kind(small().targets(["tape"])), ErrorKind::NotBuilt);
    assert_eq!(kind(small().targets(["s3"])), ErrorKind::Inval);
    assert_eq!(kind(small().targets(["mem"]).chunks(&[2, 2])), ErrorKind::Inval);
    assert_eq!(kind(small().targets(["mem"]).filters(["nosuch"])), ErrorKind::NoFilter);
    assert_eq!(kind(small().targets(["file"]).dir("/no/such/place")), ErrorKind::NotFound);
}

#[test]
fn a_run_that_another_thread_stops_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let benchmark = small().target(BenchTarget::prefix(dir.path().display().to_string())).rounds(100_000);
    let cleanup = benchmark.cleanup();
    let run = std::thread::spawn(move || benchmark.run().map(drop));
    while is_empty(dir.path()) {
        std::thread::yield_now();
    }
    assert!(cleanup.stop(Duration::from_secs(60)));
    assert_eq!(run.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(is_empty(dir.path()));
}

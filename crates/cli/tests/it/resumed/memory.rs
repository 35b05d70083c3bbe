//! The memory usage of a copy.

use std::fs;

use super::{Copy, folder};
use crate::copy_place::files;
use crate::text;

/// The peak memory follows `--memory`, for any number of threads.
#[test]
fn memory_does_not_grow_with_threads() {
    let folder = folder();
    let path = folder.path().join("source.zarr");
    let file = nczarr::create(text(&path)).unwrap();
    file.add_dimension("t", 160).unwrap();
    file.add_dimension("x", 1 << 18).unwrap();
    let v = file.add_variable::<f32>("v", &["t", "x"]).unwrap();
    v.set_chunking(&[1, 1 << 18]).unwrap();
    v.set_filter("deflate", &[1]).unwrap();
    // A megabyte each, with data that takes time to encode.
    let record: Vec<f32> = (0..1 << 18).map(|at| (at / 64 % 1000) as f32).collect();
    for t in 0..160 {
        v.put(&record, (t, ..)).unwrap();
    }
    file.close().unwrap();
    let peak = |flags: &[&str], target: &str| -> u64 {
        let target = folder.path().join(target);
        let flags =
            [&["copy", "--checkpoint", "0", "--progress"], flags, &[text(&path), text(&target)]].concat();
        let mut copy = Copy::start(&flags);
        let lines = copy.records(4);
        assert_eq!(lines, 4, "{flags:?}");
        let status = fs::read_to_string(format!("/proc/{}/status", copy.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak = line.trim().trim_end_matches(" kB").parse().unwrap();
        assert_eq!(copy.end().0, Some(0));
        assert!(files(&target) == files(&path), "{flags:?}");
        fs::remove_dir_all(&target).unwrap();
        peak
    };
    let one = peak(&["--memory", "16M", "--jobs", "1"], "one.zarr");
    let many = peak(&["--memory", "16M", "--jobs", "32"], "many.zarr");
    let free = peak(&["--memory", "64M", "--jobs", "32"], "free.zarr");
    assert!(many < one + (16 << 10), "{one} kB with one thread, {many} kB with many");
    assert!(many < free, "{many} kB where little is allowed, {free} kB where more is");
}

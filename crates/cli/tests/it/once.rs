//! A command that reads an array block by block fetches each chunk once, wherever the blocks lie.

use std::collections::BTreeMap;
use std::path::Path;

use crate::{ncz, text};

/// Larger than the cache of decoded chunks, in chunks along the whole outer dimension.
fn tall(folder: &Path) -> String {
    let path = folder.join("tall.zarr");
    let file = nczarr::create(text(&path)).unwrap();
    for (name, len) in [("z", 80), ("y", 1024), ("x", 1024)] {
        file.add_dimension(name, len).unwrap();
    }
    let v = file.add_variable::<u8>("v", &["z", "y", "x"]).unwrap();
    v.set_chunking(&[80, 1024, 64]).unwrap();
    v.set_deflate(1, false).unwrap();
    v.put(&vec![1u8; 80 << 20], ..).unwrap();
    file.close().unwrap();
    text(&path).to_owned()
}

/// Counts the requests for each chunk.
fn reads(args: &[&str]) -> BTreeMap<String, usize> {
    let output = ncz().arg("--trace=9").args(args).output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {log}");
    let mut reads = BTreeMap::new();
    for line in log.lines().filter(|line| line.contains(" op=\"") && line.contains("read")) {
        if let Some(key) = line.split_whitespace().find_map(|word| word.strip_prefix("key=v/0.")) {
            *reads.entry(key.to_owned()).or_default() += 1;
        }
    }
    reads
}

#[test]
fn cat_reads_each_chunk_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = tall(folder.path());
    let whole = folder.path().join("whole");
    for (part, chunks) in [(&[][..], 16), (&["--start", "1,0,3", "--stride", "2,1,1"][..], 16)] {
        let mut args = vec!["cat", &url, "v", "--format", "raw", "-o", text(&whole)];
        args.extend(part);
        let reads = reads(&args);
        assert!(reads.len() == chunks && reads.values().all(|&count| count == 1), "{part:?}: {reads:?}");
        std::fs::remove_file(&whole).unwrap();
    }
}

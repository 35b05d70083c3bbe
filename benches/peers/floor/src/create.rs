//! Creates objects one by one in V2 files: appended records, new variables.
//!
//! Each object is a file without a name. It gets its name when it is complete, so no reader sees a half of
//! it. A library with that guarantee needs the same system calls. Each directory is opened once.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::dir::Dir;
use crate::{Clock, Job, threads};

impl Job {
    /// Runs `--op append`: appends one record at a time along the first dimension. A chunk is stored when it
    /// is full.
    pub fn append(&self) -> Value {
        let record = self.shape[1] * self.shape[2] * crate::ITEM;
        let mut data = vec![0; self.bytes()];
        self.fill(&mut data);
        let root = self.text("path", "");
        let _ = fs::remove_dir_all(root);
        let clock = Clock::start();
        self.metadata();
        let (dir, mut chunk) = (Dir::open(&format!("{root}/v")), Vec::with_capacity(self.chunk_bytes()));
        let mut stored = 0;
        for record in data.chunks(record) {
            let whole = if self.chunk[0] == 1 {
                record
            } else {
                chunk.extend_from_slice(record);
                if chunk.len() < self.chunk_bytes() {
                    continue;
                }
                &chunk[..]
            };
            dir.put(&format!("{stored}.0.0"), whole);
            stored += 1;
            chunk.clear();
        }
        if !chunk.is_empty() {
            chunk.resize(self.chunk_bytes(), 0);
            dir.put(&format!("{stored}.0.0"), &chunk);
        }
        let mut said = clock.stop(&data);
        said["n"] = json!(self.shape[0]);
        said
    }

    /// Fills `data` with raw elements. At the end of the file it starts again from the beginning.
    fn fill(&self, data: &mut [u8]) {
        let mut done = 0;
        while done < data.len() {
            let mut file = File::open(self.text("data", "")).expect("data");
            let before = done;
            while let n @ 1.. = file.read(&mut data[done..]).expect("data") {
                done += n;
            }
            assert!(done > before, "not empty");
        }
    }
}

/// Runs `--op meta_write`: creates small variables, each a directory with two documents.
pub fn variables(flags: &HashMap<String, String>) -> Value {
    let (root, count) = (flags["path"].as_str(), flags["nvars"].parse::<usize>().expect("a count"));
    let _ = fs::remove_dir_all(root);
    let clock = Clock::start();
    fs::create_dir_all(root).expect("a directory");
    Dir::open(root).put(".zgroup", br#"{"zarr_format": 2}"#);
    let array = concat!(
        r#"{"zarr_format": 2, "shape": [10], "dtype": "<f4", "chunks": [10], "fill_value": null, "#,
        r#""order": "C", "compressor": null, "filters": null}"#
    );
    let next = AtomicUsize::new(0);
    threads(flags, &|| {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= count {
                return;
            }
            let path = format!("{root}/v{i:05}");
            fs::create_dir(&path).expect("a directory");
            let dir = Dir::open(&path);
            let attributes =
                format!(r#"{{"units": "K", "long_name": "variable {i}", "scale_factor": 0.5, "add_offset": {i}.0, "#)
                    + r#""_ARRAY_DIMENSIONS": ["x"]}"#;
            dir.put(".zattrs", attributes.as_bytes());
            dir.put(".zarray", array.as_bytes());
        }
    });
    let mut said = clock.stop(&[]);
    // This operation reads nothing.
    (said["n"], said["checksum"]) = (json!(count), json!(""));
    said
}

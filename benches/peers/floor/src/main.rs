//! The floor is not a peer. It does the least work that moves the cube between memory and chunk files.
//! Everything is known in advance: float32, three dimensions, whole chunks, no metadata read. It keeps codec
//! contexts and one working buffer per thread. Decoding writes directly into huge pages. A library's time
//! above the floor is the library's own overhead.
//!
//! The command line is that of the runners (`../../README.md`). The floor covers these parts of it:
//!
//! * `--op read|write` in V2 and V3 files with the codecs none, zlib5, deflate5s, zstd3 and zstd3s;
//! * in V2 files `elem`, `box`, `vars` (module `access`), `append` and `meta_write` (module `create`), with
//!   only the system calls that a library needs for its guarantees;
//! * `--op read` from an S3 server with only the necessary requests (module `s3`).

mod access;
mod codec;
mod create;
mod dir;
mod http;
mod memory;
mod s3;
mod shuffle;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use codec::Codec;
use memory::{Scratch, Shared};
use serde_json::{Value, json};

/// Bytes of an element.
const ITEM: usize = 4;

/// Returns the answer for a case that the floor does not cover.
fn skip() -> Value {
    json!({"skip": "not covered by the floor"})
}

/// The operation and its array.
struct Job {
    flags: HashMap<String, String>,
    shape: [usize; 3],
    chunk: [usize; 3],
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let flags: HashMap<String, String> =
        args.chunks_exact(2).map(|pair| (pair[0].trim_start_matches("--").to_owned(), pair[1].clone())).collect();
    let mut line = json!({"peer": "floor", "op": flags.get("op")});
    let metadata = flags.get("op").is_some_and(|op| op == "meta_write") && flags["format"] == "v2";
    let said = match Job::of(&flags) {
        None if metadata => create::variables(&flags),
        None => skip(),
        Some(job) => match job.text("op", "") {
            "write" => job.write(),
            "read" if job.is("store", "s3") => s3::read(&job),
            "read" => job.read(),
            "append" => job.append(),
            "vars" => job.strided(),
            _ => job.access(),
        },
    };
    if let (Value::Object(line), Value::Object(said)) = (&mut line, said) {
        line.extend(said);
    }
    println!("{line}");
}

impl Job {
    fn of(flags: &HashMap<String, String>) -> Option<Self> {
        let mut job = Self { shape: [0; 3], chunk: [0; 3], flags: flags.clone() };
        (job.shape, job.chunk) = (job.ints("shape")?, job.ints("chunks")?);
        // Appended records may fill the last chunk only in part.
        let append = usize::from(job.is("op", "append"));
        let fits = job.chunk.iter().all(|&len| len > 0)
            && (append..3).all(|dim| job.shape[dim].is_multiple_of(job.chunk[dim]))
            && (append == 0 || job.chunk[1..] == job.shape[1..]);
        let any = |flag: &str, values: &[&str]| values.iter().any(|value| job.is(flag, value));
        let known = (any("op", &["read", "write"]) && any("format", &["v2", "v3"])
            || any("op", &["elem", "box", "vars", "append"]) && job.is("format", "v2"))
            && Codec::of(job.text("codec", "none"), false).is_some()
            && job.text("dtype", "f4") == "f4"
            && job.text("store", "file") == "file";
        (fits && (known || s3::covers(&job))).then_some(job)
    }

    fn ints(&self, name: &str) -> Option<[usize; 3]> {
        let items = self.flags.get(name)?.split(',').map(|item| item.parse().ok());
        items.collect::<Option<Vec<usize>>>()?.try_into().ok()
    }

    fn text<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        self.flags.get(name).map_or(default, String::as_str)
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.text(name, "") == value
    }

    fn codec(&self) -> Codec {
        Codec::of(self.text("codec", "none"), self.is("format", "v3")).expect("checked in the beginning")
    }

    fn bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * ITEM
    }

    fn chunk_bytes(&self) -> usize {
        self.chunk.iter().product::<usize>() * ITEM
    }

    /// Returns whether a chunk is one contiguous piece of the array.
    fn is_run(&self) -> bool {
        self.chunk[1..] == self.shape[1..]
    }

    fn path(&self, index: [usize; 3]) -> String {
        let (root, [i, j, k]) = (self.text("path", ""), index);
        if self.is("format", "v2") { format!("{root}/v/{i}.{j}.{k}") } else { format!("{root}/v/c/{i}/{j}/{k}") }
    }

    /// Returns the places of a chunk's rows: in the array in bytes, and in the chunk in elements.
    fn rows(&self, index: [usize; 3]) -> impl Iterator<Item = (usize, usize)> {
        let (shape, chunk) = (self.shape, self.chunk);
        (0..chunk[0] * chunk[1]).map(move |row| {
            let (z, y) = (index[0] * chunk[0] + row / chunk[1], index[1] * chunk[1] + row % chunk[1]);
            (((z * shape[1] + y) * shape[2] + index[2] * chunk[2]) * ITEM, row * chunk[2])
        })
    }

    /// Runs `each` for every chunk, on all threads. `scratch` makes the working memory of a thread.
    fn chunks<S>(&self, scratch: impl Fn() -> S + Sync, each: impl Fn(&mut S, [usize; 3]) + Sync) {
        let (grid, next) = (Grid::of(self.shape, self.chunk), AtomicUsize::new(0));
        self.threads(&|| {
            let mut scratch = scratch();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= grid.count() {
                    return;
                }
                each(&mut scratch, grid.index(at));
            }
        });
    }

    fn threads(&self, work: &(impl Fn() + Sync)) {
        threads(&self.flags, work);
    }

    fn read(&self) -> Value {
        let clock = Clock::start();
        let out = Shared::huge(self.bytes());
        let (shuffled, elements) = (self.codec().shuffled, self.chunk_bytes() / ITEM);
        self.chunks(
            || (self.codec(), Scratch::new(self.chunk_bytes()), Scratch::new(codec::bound(self.chunk_bytes()))),
            |(codec, decoded, encoded), index| {
                let file = File::open(self.path(index)).expect("a chunk");
                let direct = self.is_run() && !shuffled;
                // SAFETY: places of chunks do not overlap, and one thread takes each chunk once.
                let row = |at: usize, len: usize| unsafe { out.slice(at, len) };
                let first = self.rows(index).next().map_or(0, |(at, _)| at);
                let target = if direct { row(first, self.chunk_bytes()) } else { &mut decoded[..] };
                if codec.is_none() {
                    file.read_exact_at(target, 0).expect("a whole chunk");
                } else {
                    let len = file.read_at(encoded, 0).expect("a chunk");
                    codec.decode(&encoded[..len], target);
                }
                if direct {
                    return;
                }
                for (at, element) in self.rows(index) {
                    let row = row(at, self.chunk[2] * ITEM);
                    if shuffled {
                        shuffle::decode(std::array::from_fn(|plane| &decoded[plane * elements + element..]), row);
                    } else {
                        row.copy_from_slice(&decoded[element * ITEM..][..row.len()]);
                    }
                }
            },
        );
        // SAFETY: all threads have ended.
        clock.stop(unsafe { out.slice(0, self.bytes()) })
    }

    fn write(&self) -> Value {
        let mut data = vec![0; self.bytes()];
        File::open(self.text("data", "")).expect("data").read_exact(&mut data).expect("enough data");
        let _ = fs::remove_dir_all(self.text("path", ""));
        let clock = Clock::start();
        self.metadata();
        let elements = self.chunk_bytes() / ITEM;
        self.chunks(
            || (self.codec(), Scratch::new(self.chunk_bytes()), Scratch::new(codec::bound(self.chunk_bytes()))),
            |(codec, gathered, encoded), index| {
                let direct = self.is_run() && !codec.shuffled;
                let first = self.rows(index).next().map_or(0, |(at, _)| at);
                for (at, element) in self.rows(index).filter(|_| !direct) {
                    let row = &data[at..][..self.chunk[2] * ITEM];
                    if codec.shuffled {
                        shuffle::encode(row, gathered, elements, element);
                    } else {
                        gathered[element * ITEM..][..row.len()].copy_from_slice(row);
                    }
                }
                let source = if direct { &data[first..][..self.chunk_bytes()] } else { &gathered[..] };
                let stored = if codec.is_none() { source } else { codec.encode(source, encoded) };
                fs::write(self.path(index), stored).expect("written");
            },
        );
        clock.stop(&data)
    }

    fn metadata(&self) {
        let (root, codec) = (self.text("path", ""), self.codec());
        let write = |name: &str, text: Value| fs::write(format!("{root}/{name}"), text.to_string()).expect("written");
        fs::create_dir_all(format!("{root}/v")).expect("a directory");
        if self.is("format", "v2") {
            write(".zgroup", json!({"zarr_format": 2}));
            return write(
                "v/.zarray",
                json!({
                    "zarr_format": 2, "shape": self.shape, "chunks": self.chunk, "dtype": "<f4", "fill_value": 0,
                    "order": "C", "compressor": codec.v2(),
                    "filters": codec.shuffled.then(|| json!([{"id": "shuffle", "elementsize": ITEM}])),
                }),
            );
        }
        let mut codecs = vec![json!({"name": "bytes", "configuration": {"endian": "little"}})];
        if codec.shuffled {
            codecs.push(json!({"name": "numcodecs.shuffle", "configuration": {"elementsize": ITEM}}));
        }
        codecs.extend(codec.v3());
        write("zarr.json", json!({"zarr_format": 3, "node_type": "group"}));
        write(
            "v/zarr.json",
            json!({
                "zarr_format": 3, "node_type": "array", "shape": self.shape, "data_type": "float32", "fill_value": 0,
                "codecs": codecs,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": self.chunk}},
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            }),
        );
        for i in 0..self.shape[0] / self.chunk[0] {
            for j in 0..self.shape[1] / self.chunk[1] {
                fs::create_dir_all(format!("{root}/v/c/{i}/{j}")).expect("a directory");
            }
        }
    }
}

/// The number of chunks in each dimension.
struct Grid([usize; 3]);

impl Grid {
    fn of(shape: [usize; 3], chunk: [usize; 3]) -> Self {
        Self(std::array::from_fn(|dim| shape[dim] / chunk[dim]))
    }

    fn count(&self) -> usize {
        self.0.iter().product()
    }

    fn index(&self, at: usize) -> [usize; 3] {
        [at / (self.0[1] * self.0[2]), at / self.0[2] % self.0[1], at % self.0[2]]
    }

    /// Returns the number of a chunk.
    fn at(&self, [i, j, k]: [usize; 3]) -> usize {
        (i * self.0[1] + j) * self.0[2] + k
    }
}

/// Runs `work` on all threads. The flag sets their number; the default is one per processor.
fn threads(flags: &HashMap<String, String>, work: &(impl Fn() + Sync)) {
    let threads = match flags.get("threads").map_or(Ok(0), |threads| threads.parse()) {
        Ok(0) | Err(_) => std::thread::available_parallelism().map_or(1, usize::from),
        Ok(threads) => threads,
    };
    std::thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(work)));
        work();
    });
}

/// Measures wall time and process CPU time from its creation on.
struct Clock {
    base_kb: u64,
    start: f64,
    cpu: f64,
    wall: Instant,
}

impl Clock {
    fn start() -> Self {
        let (base_kb, start) = (memory::peak_kb(), memory::seconds_of(libc::CLOCK_MONOTONIC));
        Self { base_kb, start, cpu: memory::seconds_of(libc::CLOCK_PROCESS_CPUTIME_ID), wall: Instant::now() }
    }

    fn stop(self, data: &[u8]) -> Value {
        let seconds = self.wall.elapsed().as_secs_f64();
        let cpu = memory::seconds_of(libc::CLOCK_PROCESS_CPUTIME_ID) - self.cpu;
        let peak_kb = memory::peak_kb();
        let words = (0u64..).zip(data.as_chunks().0);
        let sum =
            words.fold(0u64, |sum, (i, word)| sum.wrapping_add(u64::from_le_bytes(*word).wrapping_mul(2 * i + 1)));
        json!({
            "start": self.start, "seconds": seconds, "cpu": cpu, "bytes": data.len(), "base_rss_kb": self.base_kb,
            "rss_kb": peak_kb, "checksum": format!("{sum:016x}"), "n": 1,
        })
    }
}

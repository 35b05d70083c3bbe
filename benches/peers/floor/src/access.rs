//! Reads parts of the cube from V2 files: elements, boxes and every n-th element.
//!
//! Files stay open between accesses. Each access checks that the name still leads to the same file. A library
//! that never returns old data needs the same check. The floor parses no metadata. Decoded chunks are kept
//! only in `--mode warm`: there all chunks are decoded into huge pages before the clock starts.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs::File;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::codec::{self, Codec};
use crate::dir::Dir;
use crate::memory::{Scratch, Shared};
use crate::{Clock, Grid, ITEM, Job, skip};

/// Open files by chunk, each with its inode.
type Kept = HashMap<[usize; 3], (File, u64)>;

/// Decodes chunks for one thread.
struct Decoder {
    codec: Codec,
    encoded: Scratch,
}

impl Decoder {
    fn of(job: &Job) -> Self {
        Self { codec: job.codec(), encoded: Scratch::new(codec::bound(job.chunk_bytes())) }
    }

    fn read(&mut self, path: &str, out: &mut [u8]) {
        let file = File::open(path).expect("a chunk");
        if self.codec.is_none() {
            return file.read_exact_at(out, 0).expect("a whole chunk");
        }
        let len = file.read_at(&mut self.encoded, 0).expect("a chunk");
        self.codec.decode(&self.encoded[..len], out);
    }
}

impl Job {
    /// Runs `--op elem|box`.
    pub fn access(&self) -> Value {
        let count: usize = self.text("count", "1").parse().expect("a count");
        let part = if self.is("op", "box") { self.ints("box").unwrap_or([32; 3]) } else { [1; 3] };
        let places = self.places(count, part);
        let mut said = match self.text("mode", "open") {
            "warm" => self.warm(&places, part),
            _ if self.is("op", "box") => self.boxes(&places, part),
            mode if self.codec().is_none() => self.elements(&places, mode == "cold"),
            _ => skip(),
        };
        said["n"] = json!(count);
        said
    }

    /// Returns the first element of each part. A linear congruential sequence gives one number per axis.
    fn places(&self, count: usize, part: [usize; 3]) -> Vec<[usize; 3]> {
        let mut state: u64 = self.text("seed", "1").parse().expect("a seed");
        let mut below = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        (0..count).map(|_| std::array::from_fn(|dim| below(self.shape[dim] - part[dim] + 1))).collect()
    }

    fn elements(&self, places: &[[usize; 3]], cold: bool) -> Value {
        let (root, mut out) = (self.text("path", "").to_owned(), vec![0; places.len() * ITEM]);
        let mut kept = Kept::new();
        let clock = Clock::start();
        let dir = Dir::open(&format!("{root}/v"));
        for (place, out) in places.iter().zip(out.chunks_exact_mut(ITEM)) {
            let index: [usize; 3] = std::array::from_fn(|dim| place[dim] / self.chunk[dim]);
            let within = (0..3).fold(0, |at, dim| at * self.chunk[dim] + place[dim] % self.chunk[dim]) * ITEM;
            let mut read = |file: &File| file.read_exact_at(out, within as u64).expect("an element");
            if cold {
                let mut document = [0; 8192];
                let len = File::open(format!("{root}/v/.zarray")).and_then(|file| file.read_at(&mut document, 0));
                assert!(len.expect("a document") > 0, "not empty");
                read(&File::open(self.path(index)).expect("a chunk"));
                continue;
            }
            let name = CString::new(format!("{}.{}.{}", index[0], index[1], index[2])).expect("a name");
            match kept.get(&index).filter(|(_, inode)| dir.inode(&name) == *inode) {
                Some((file, _)) => read(file),
                None => {
                    let file = dir.file(&name);
                    read(&file);
                    let inode = file.metadata().expect("a file").ino();
                    kept.insert(index, (file, inode));
                }
            }
        }
        clock.stop(&out)
    }

    /// Copies parts of decoded chunks in memory.
    fn warm(&self, places: &[[usize; 3]], part: [usize; 3]) -> Value {
        let whole = Shared::huge(self.bytes());
        let grid = Grid::of(self.shape, self.chunk);
        self.chunks(
            || Decoder::of(self),
            |decoder, index| {
                let at = grid.at(index) * self.chunk_bytes();
                // SAFETY: each chunk has its own place, and one thread takes it once.
                decoder.read(&self.path(index), unsafe { whole.slice(at, self.chunk_bytes()) });
            },
        );
        let len = part.iter().product::<usize>() * ITEM;
        let result = Shared::huge(len * places.len());
        let clock = Clock::start();
        for (at, place) in places.iter().enumerate() {
            // SAFETY: one thread runs here, and each part has its own place.
            let out = unsafe { result.slice(at * len, len) };
            for index in self.touched(*place, part) {
                let chunk = grid.at(index) * self.chunk_bytes();
                // SAFETY: no thread writes there any more.
                self.copy(index, unsafe { whole.slice(chunk, self.chunk_bytes()) }, *place, part, |at, row| {
                    out[at..at + row.len()].copy_from_slice(row);
                });
            }
        }
        // SAFETY: no other slice is left.
        clock.stop(unsafe { result.slice(0, len * places.len()) })
    }

    /// Reads boxes of compressed chunks. Each chunk is decoded whole. There is one thread per processor.
    fn boxes(&self, places: &[[usize; 3]], part: [usize; 3]) -> Value {
        if self.codec().is_none() || self.codec().shuffled {
            return skip();
        }
        let len = part.iter().product::<usize>() * ITEM;
        let result = Shared::huge(len * places.len());
        let clock = Clock::start();
        // Threads take chunk by chunk from the list of all boxes.
        let wanted: Vec<(usize, [usize; 3])> = (places.iter().enumerate())
            .flat_map(|(at, place)| self.touched(*place, part).into_iter().map(move |index| (at, index)))
            .collect();
        let next = AtomicUsize::new(0);
        self.threads(&|| {
            let (mut decoder, mut decoded) = (Decoder::of(self), Scratch::new(self.chunk_bytes()));
            while let Some(&(at, index)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                decoder.read(&self.path(index), &mut decoded);
                self.copy(index, &decoded, places[at], part, |within, row| {
                    // SAFETY: each chunk has a separate place in its box.
                    unsafe { result.slice(at * len + within, row.len()) }.copy_from_slice(row);
                });
            }
        });
        // SAFETY: all threads have ended.
        clock.stop(unsafe { result.slice(0, len * places.len()) })
    }

    /// Runs `--op vars`.
    pub fn strided(&self) -> Value {
        let step = self.ints("stride").expect("a stride");
        if self.codec().shuffled || (0..3).any(|dim| !self.chunk[dim].is_multiple_of(step[dim])) {
            return skip();
        }
        let shape: [usize; 3] = std::array::from_fn(|dim| self.shape[dim] / step[dim]);
        let chunk: [usize; 3] = std::array::from_fn(|dim| self.chunk[dim] / step[dim]);
        let len = shape.iter().product::<usize>() * ITEM;
        let clock = Clock::start();
        let out = Shared::huge(len);
        self.chunks(
            || (Decoder::of(self), Scratch::new(self.chunk_bytes())),
            |(decoder, decoded), index| {
                decoder.read(&self.path(index), decoded);
                for row in 0..chunk[0] * chunk[1] {
                    let (z, y) = (row / chunk[1], row % chunk[1]);
                    let from = ((z * step[0] * self.chunk[1] + y * step[1]) * self.chunk[2]) * ITEM;
                    let (to_z, to_y) = (index[0] * chunk[0] + z, index[1] * chunk[1] + y);
                    let to = ((to_z * shape[1] + to_y) * shape[2] + index[2] * chunk[2]) * ITEM;
                    // SAFETY: places of chunks do not overlap, and one thread takes each chunk once.
                    let to = unsafe { out.slice(to, chunk[2] * ITEM) };
                    let from = decoded[from..][..self.chunk[2] * ITEM].as_chunks::<ITEM>().0;
                    for (to, from) in to.as_chunks_mut::<ITEM>().0.iter_mut().zip(from.iter().step_by(step[2])) {
                        *to = *from;
                    }
                }
            },
        );
        // SAFETY: all threads have ended.
        clock.stop(unsafe { out.slice(0, len) })
    }

    /// Returns the chunks that contain a part.
    fn touched(&self, place: [usize; 3], part: [usize; 3]) -> Vec<[usize; 3]> {
        let range = |dim: usize| place[dim] / self.chunk[dim]..=(place[dim] + part[dim] - 1) / self.chunk[dim];
        range(0).flat_map(|i| range(1).flat_map(move |j| range(2).map(move |k| [i, j, k]))).collect()
    }

    /// Passes on each row of a chunk that is in the part, with its place in the part.
    fn copy(
        &self,
        index: [usize; 3],
        decoded: &[u8],
        place: [usize; 3],
        part: [usize; 3],
        mut put: impl FnMut(usize, &[u8]),
    ) {
        let first: [usize; 3] = std::array::from_fn(|dim| place[dim].max(index[dim] * self.chunk[dim]));
        let end: [usize; 3] =
            std::array::from_fn(|dim| (place[dim] + part[dim]).min((index[dim] + 1) * self.chunk[dim]));
        for z in first[0]..end[0] {
            for y in first[1]..end[1] {
                let row = (z % self.chunk[0] * self.chunk[1] + y % self.chunk[1]) * self.chunk[2];
                let from = (row + first[2] % self.chunk[2]) * ITEM;
                let to = (((z - place[0]) * part[1] + y - place[1]) * part[2] + first[2] - place[2]) * ITEM;
                put(to, &decoded[from..][..(end[2] - first[2]) * ITEM]);
            }
        }
    }
}

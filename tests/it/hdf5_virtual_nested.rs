//! Virtual datasets whose sources are virtual datasets in other files. `make.py` in `tests/corpus/virtual`
//! makes the files with h5py; the `.txt` files hold HDF5's reading.

use std::borrow::Cow;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use nczarr::codec::{Filter, FilterClass, FilterInfo, Json, OutBuf, ZarrFormat};
use nczarr::dispatch::Registry;
use nczarr::{File, OpenOptions, Result};

fn here(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/virtual")).join(name)
}

fn open(name: &str) -> File {
    nczarr::open(here(name).to_str().unwrap()).unwrap()
}

fn read(file: &File, name: &str) -> Result<(Vec<u64>, Vec<i32>)> {
    let variable = file.variable(name)?;
    Ok((variable.shape()?, variable.get::<i32>(..)?.to_vec()))
}

/// Compares each virtual dataset of a file with HDF5's reading, also when it is read alone. `wrong` lists the
/// unreadable datasets with their errors. Returns the number of datasets.
fn same(name: &str, wrong: &[(&str, &str)]) -> usize {
    let text = fs::read_to_string(here(name).with_extension("txt")).unwrap();
    let all = open(name);
    for line in text.lines() {
        let mut words = line.split(' ');
        let (dataset, shape) = (words.next().unwrap(), words.next().unwrap());
        for file in [&all, &open(name)] {
            let found = read(file, dataset);
            if let Some((_, what)) = wrong.iter().find(|(known, _)| *known == dataset) {
                let error = found.expect_err(dataset).to_string();
                assert!(error.contains(what), "{name}: {dataset}: {error}");
                continue;
            }
            let shape = shape.split(',').map(|len| len.parse().unwrap()).collect();
            let expected: Vec<i32> = words.clone().map(|word| word.parse().unwrap()).collect();
            assert_eq!(
                found.unwrap_or_else(|error| panic!("{name}: {error}")),
                (shape, expected),
                "{name}: {dataset}"
            );
        }
    }
    text.lines().count()
}

/// The cache never confuses structures of two files, although both have the same addresses.
#[test]
fn sources_that_are_virtual_in_files_of_their_own() {
    assert_eq!(["mid.h5", "top.h5", "over.h5"].map(|name| same(name, &[])), [2, 2, 2]);
}

/// A chunk can contain only part of a row. Rows of different chunks do not mix.
#[test]
fn rows_without_end_in_more_chunks_than_one() {
    let (shape, found) = read(&open("tall.h5"), "tall").unwrap();
    assert_eq!(shape, [4, 300_000]);
    let value = |(at, found): (usize, &i32)| {
        let (row, at) = (at as i32 / 300_000, at as i32 % 300_000);
        *found == at * (row + 3) / 7919 % 100 + row
    };
    assert!(found.iter().enumerate().all(value));
}

/// The list of files includes the sources of virtual sources, for programs that watch them for changes.
#[test]
fn the_files_of_sources_of_sources_are_named() {
    for (name, expected) in [
        ("top.h5", &["base.h5", "mid.h5", "other.h5"][..]),
        ("over.h5", &["base.h5", "mid.h5", "other.h5", "top.h5"]),
        ("gap.h5", &["gap-0.h5", "gap-1.h5"]),
        ("base.h5", &[]),
    ] {
        let expected: Vec<PathBuf> = expected.iter().map(|name| here(name)).collect();
        let file = open(name);
        assert_eq!(file.dataset().external_files(), expected, "{name}");
        assert_eq!(file.dataset().external_files(), expected, "{name}, again");
    }
}

/// An unlimited mapping makes the dataset as long as its sources. The stored length and the maximum length do
/// not matter.
#[test]
fn mappings_without_end_say_how_long_a_dataset_is() {
    let wrong = [
        ("blocks_cut", "expected at most 1, found 2"),
        ("cut", "expected at most 6, found 7"),
        ("rows_cut", "expected at most 4, found 5"),
    ];
    assert_eq!(same("lengths.h5", &wrong), 15);
    let (file, model) = (open("lengths.h5"), open("lengths.h5").model());
    let unlimited =
        |name: &str| model.dim(file.variable(name).unwrap().dimensions()[0].id()).unwrap().unlimited;
    assert!(unlimited("open") && !unlimited("shorter"));
}

/// The reader stops at the first missing numbered source.
#[test]
fn numbered_sources_end_where_one_is_missing() {
    assert_eq!(same("gap.h5", &[]), 3);
}

/// The reader reports an error where HDF5 reads arbitrary memory.
#[test]
fn a_source_without_a_shape_is_an_error() {
    let what = "the dataset has a null dataspace";
    assert_eq!(same("empty.h5", &["all", "blocks", "endless", "one"].map(|name| (name, what))), 5);
}

/// Many mappings can use parts of one source chunk. The reader decodes the chunk once for all of them if
/// memory allows.
#[test]
fn chunks_of_sources_are_decoded_once() {
    assert_eq!(same("many.h5", &[]), 2);
    for (name, sources) in [("one", 1), ("turns", 12)] {
        let decoded = Arc::new(AtomicUsize::new(0));
        let registry =
            Registry::clone(&nczarr::registry().unwrap()).with_filter(Counted(Arc::clone(&decoded)));
        let path = here("many.h5").to_str().unwrap().to_owned();
        let file = OpenOptions::new().registry(Arc::new(registry)).open(&path).unwrap();
        read(&file, name).unwrap();
        assert_eq!(decoded.load(Relaxed), sources, "{name}");
    }
}

/// A deflate filter that counts decoded chunks.
struct Counted(Arc<AtomicUsize>);

#[derive(Debug, Clone)]
struct Counting(Box<dyn Filter>, Arc<AtomicUsize>);

impl FilterClass for Counted {
    fn info(&self) -> &FilterInfo {
        static INFO: FilterInfo = FilterInfo { hdf5_id: Some(1), ..FilterInfo::new("deflate", "counts") };
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        let inner = nczarr::registry()?.filter_by_id(1)?.parse_params(params)?;
        Ok(Box::new(Counting(inner, Arc::clone(&self.0))))
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        nczarr::registry()?.filter_by_id(1)?.parse_json(codec, format)
    }
}

impl Filter for Counting {
    fn info(&self) -> &FilterInfo {
        self.0.info()
    }

    fn params(&self) -> Cow<'_, [u32]> {
        self.0.params()
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        self.0.to_json(format)
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        self.0.encode_bound(decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        self.0.encode(src, dst)
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        self.1.fetch_add(1, Relaxed);
        self.0.decode(src, dst)
    }
}

//! Virtual datasets read data from other datasets of the same file or of neighbouring files. `make.py` in
//! `tests/corpus/hdf5` makes the files with h5py; `virtual.txt` holds HDF5's reading.

use std::fs;
use std::path::PathBuf;

use nczarr::model::Slab;
use nczarr::{ErrorKind, Extent, File, MemMut, NcType, OutBuf};

/// The first file uses the oldest versions of selections, and the second uses the newest.
const FILES: [&str; 2] = ["virtual.h5", "virtual-new.h5"];
const SOURCES: [&str; 3] = ["virtual-0.h5", "virtual-1.h5", "virtual-2.h5"];

fn here(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/hdf5")).join(name)
}

fn open(name: &str) -> File {
    nczarr::open(here(name).to_str().unwrap()).unwrap()
}

/// The numeric datasets and their values. Floats are given as their bits.
fn answers() -> Vec<(String, Vec<f64>)> {
    let text = fs::read_to_string(here("virtual.txt")).unwrap();
    let line = |line: &str| {
        let mut words = line.split(' ');
        let (name, kind) = (words.next().unwrap().to_owned(), words.next().unwrap());
        let value = |word: &str| match kind {
            "f" => f64::from_bits(u64::from_str_radix(word, 16).unwrap()),
            _ => word.parse().unwrap(),
        };
        (name, words.map(value).collect())
    };
    text.lines().map(line).collect()
}

fn values(file: &File, name: &str) -> nczarr::Result<Vec<f64>> {
    Ok(file.variable(name)?.get::<f64>(..)?.to_vec())
}

#[test]
fn values_equal_the_hdf5_library() {
    let answers = answers();
    assert!(answers.len() > 25, "{}", answers.len());
    for name in FILES {
        let file = open(name);
        for (dataset, expected) in &answers {
            let found = values(&file, dataset).unwrap_or_else(|error| panic!("{name}: {dataset}: {error}"));
            assert_eq!(found, *expected, "{name}: {dataset}");
        }
    }
}

/// Every strided box of every dataset equals that part of the whole dataset.
#[test]
fn strided_parts_equal_the_whole_dataset() {
    let file = open("virtual-new.h5");
    for (name, all) in answers() {
        let variable = file.variable(&name).unwrap();
        let shape = variable.shape().unwrap();
        let mut index = vec![0_u64; shape.len()];
        // The round number determines start, count and stride along each dimension.
        for round in 0..60_u64 {
            let mut state = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut below = |most: u64| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state % most.max(1)
            };
            let start: Vec<u64> = shape.iter().map(|&len| below(len)).collect();
            let stride: Vec<u64> = shape.iter().map(|_| 1 + below(3)).collect();
            let most = |dim: usize| (shape[dim] - start[dim]).div_ceil(stride[dim]);
            let count: Vec<u64> = (0..shape.len()).map(|dim| 1 + below(most(dim))).collect();
            let mut expected = Vec::new();
            index.fill(0);
            'all: loop {
                let at = (0..shape.len())
                    .fold(0, |at, dim| at * shape[dim] + start[dim] + index[dim] * stride[dim]);
                expected.push(all[at as usize]);
                for dim in (0..shape.len()).rev() {
                    index[dim] += 1;
                    if index[dim] < count[dim] {
                        continue 'all;
                    }
                    index[dim] = 0;
                }
                break;
            }
            let slab = Slab { start: &start, count: &count, stride: Some(&stride) };
            let mut bytes = vec![0; 8 * expected.len()];
            variable
                .read(&slab, MemMut::Fixed { ty: NcType::Double, out: &mut OutBuf::from_slice(&mut bytes) })
                .unwrap();
            let found: Vec<f64> =
                bytes.chunks_exact(8).map(|b| f64::from_ne_bytes(b.try_into().unwrap())).collect();
            assert_eq!(found, expected, "{name}: {start:?} {count:?} {stride:?}");
        }
    }
}

#[test]
fn types_shapes_and_fill_values() {
    for name in FILES {
        let file = open(name);
        for (dataset, ty, shape) in [
            ("rows", NcType::Int, &[4, 6][..]),
            ("no_fill", NcType::Float, &[2, 3]),
            ("flat", NcType::Int64, &[30]),
            ("longest", NcType::Int, &[8, 2]),
            ("numbered", NcType::Int, &[9, 6]),
            ("shorter", NcType::Int, &[4, 2]),
        ] {
            let variable = file.variable(dataset).unwrap();
            assert_eq!((variable.nc_type(), &*variable.shape().unwrap()), (ty, shape), "{dataset}");
        }
        let model = file.model();
        let first =
            |name: &str| model.dim(file.variable(name).unwrap().dimensions()[0].id()).unwrap().unlimited;
        assert!(first("turns") && !first("flat"));
        assert_eq!(file.variable("text").unwrap().get_strings(..).unwrap().to_vec(), ["", "ab", "cde", ""]);
        assert_eq!(file.variable("strings").unwrap().get_strings(..).unwrap().to_vec(), ["one", "two"]);
        let vars = vec![file.variable("record").unwrap().id()];
        let options = nczarr_cdl::Options { name: "x".to_owned(), vars, ..nczarr_cdl::Options::default() };
        let text = nczarr_tests::dump::dump(&file, &options).unwrap();
        assert!(
            text.contains("record = {0, 0.5}, {2, -1}, {1, 0.5}, {2, -1}, {2, 0.5}, {2, -1} ;"),
            "{text}"
        );
        // Reads as other types. Values that the type cannot hold give an error.
        assert_eq!(file.variable("rows").unwrap().get::<i8>((2.., ..)).unwrap_err().kind(), ErrorKind::Range);
        let extents = (Extent::Strided { start: 0, count: None, stride: 2 }, 1..3);
        assert_eq!(file.variable("rows").unwrap().get::<i16>(extents).unwrap().to_vec(), [1, 2, 213, 214]);
    }
}

/// Missing sources read as the fill value. A source that appears later is read.
#[test]
fn sources_that_are_not_there_are_the_fill_value() {
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("virtual.h5");
    fs::copy(here("virtual.h5"), &copy).unwrap();
    let path = copy.to_str().unwrap();
    let rows = |path: &str| values(&nczarr::open(path).unwrap(), "rows").unwrap();
    assert_eq!(rows(path), [-1.0; 24]);
    assert!(values(&nczarr::open(path).unwrap(), "turns").unwrap().is_empty());
    fs::copy(here("virtual-1.h5"), place.path().join("virtual-1.h5")).unwrap();
    let found = rows(path);
    assert_eq!(
        (&found[..6], found[6], found[11], &found[12..]),
        (&[-1.0; 6][..], 106.0, 111.0, &[-1.0; 12][..])
    );
    let turns = values(&nczarr::open(path).unwrap(), "turns").unwrap();
    assert_eq!(turns[..4], [-1.0, 1000.0, -1.0, -1.0]);
    assert_eq!(turns.len(), 23);
    // A source must be a regular file. The reader follows no links.
    fs::create_dir(place.path().join("virtual-0.h5")).unwrap();
    let error = values(&nczarr::open(path).unwrap(), "rows").unwrap_err();
    assert!(error.kind() == ErrorKind::Storage && error.to_string().contains("virtual-0.h5"), "{error}");
    #[cfg(unix)]
    {
        fs::remove_dir(place.path().join("virtual-0.h5")).unwrap();
        std::os::unix::fs::symlink(here("virtual-0.h5"), place.path().join("virtual-0.h5")).unwrap();
        assert_eq!(values(&nczarr::open(path).unwrap(), "rows").unwrap_err().kind(), ErrorKind::Storage);
    }
    // A truncated source is reported as damaged, not treated as missing.
    let bytes = fs::read(here("virtual-1.h5")).unwrap();
    fs::write(place.path().join("virtual-1.h5"), &bytes[..bytes.len() / 2]).unwrap();
    let error = values(&nczarr::open(path).unwrap(), "no_fill").unwrap_err();
    assert!(error.kind() == ErrorKind::Trunc && error.to_string().contains("virtual-1.h5"), "{error}");
}

/// A file in memory has no neighbouring files, but its own data are readable.
#[test]
fn in_memory_only_the_file_itself_is_read() {
    let file = nczarr::open_bytes(fs::read(here("virtual.h5")).unwrap()).unwrap();
    let answer = |name: &str| answers().into_iter().find(|(known, _)| known == name).unwrap().1;
    for name in ["here", "parts", "nothing"] {
        assert_eq!(values(&file, name).unwrap(), answer(name), "{name}");
    }
    for name in ["rows", "nested", "turns", "numbered"] {
        let error = values(&file, name).unwrap_err();
        assert!(
            error.kind() == ErrorKind::Storage && error.to_string().contains("virtual-"),
            "{name}: {error}"
        );
    }
}

#[test]
fn invalid_mappings_are_errors() {
    let file = open("virtual-odd.h5");
    assert_eq!(values(&file, "right").unwrap(), [0.0, 1.0, 2.0]);
    for (name, kind, what) in [
        ("self", ErrorKind::HdfErr, "perhaps they form a circle"),
        ("to", ErrorKind::HdfErr, "perhaps they form a circle"),
        ("growing", ErrorKind::HdfErr, "perhaps they form a circle"),
        ("above", ErrorKind::Storage, "\"../virtual-0.h5\""),
        ("root", ErrorKind::Storage, "\"/etc/hostname\""),
        ("beyond", ErrorKind::HdfErr, "dimensions of length [5]"),
        ("unlike", ErrorKind::BadType, "does not convert to type"),
        ("small", ErrorKind::Range, "int"),
        ("no_file", ErrorKind::NotNc, "virtual.txt"),
        ("group", ErrorKind::HdfErr, "no dataset"),
        ("linked", ErrorKind::Storage, "another file"),
    ] {
        let error = values(&file, name).unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(what), "{name}: {error}");
        assert!(error.to_string().contains(name), "{name}: {error}");
    }
}

/// A program that watches for changes asks for the names of all source files.
#[test]
fn the_files_of_its_sources_are_named() {
    let expected = ["virtual-0.h5", "virtual-1.h5", "virtual-2.h5", "virtual-nowhere.h5"].map(here);
    for name in FILES {
        assert_eq!(open(name).dataset().external_files(), expected);
    }
}

/// The file is read-only, because a writer would lose the links to its sources.
#[test]
fn virtual_files_are_read_only() {
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("virtual.h5").display().to_string();
    fs::copy(here("virtual.h5"), &copy).unwrap();
    assert_eq!(nczarr::append(&copy).and_then(File::close).unwrap_err().kind(), ErrorKind::Perm);
    assert!(fs::read(&copy).unwrap() == fs::read(here("virtual.h5")).unwrap());
}

/// Each source file is readable alone and contains its own data.
#[test]
fn source_files_are_readable_alone() {
    for (number, name) in SOURCES.iter().enumerate() {
        let grid = values(&open(name), "grid").unwrap();
        assert_eq!((grid[0], grid.len()), (100.0 * number as f64, 24));
    }
}

//! HDF4 files: the text of each matches netCDF-C's output. For files made here it matches the HDF library's
//! reading.

use std::fs;
use std::path::PathBuf;

use nczarr::{ErrorKind, Limits, OpenOptions, Place};
use nczarr_cdl::Options;
use nczarr_tests::dump::dump;
use nczarr_tests::report::{Outcome, Report};

use crate::{classic, corpus};

#[test]
fn hdf4_files_print_as_netcdf_c_prints_them() {
    corpus::each("netcdf-c", "HDF4 files", |folder| {
        let mut report = Report::default();
        for row in corpus::manifest(folder).into_iter().filter(|row| row[1].starts_with("hdf4/")) {
            let outcome =
                classic::prints(&folder.join(&row[1]), &row[0], false).unwrap_or_else(Outcome::Failed);
            report.add(row[0].clone(), outcome);
        }
        report
    });
}

fn here(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/hdf4")).join(name)
}

#[test]
fn every_type_and_coding_is_read_from_a_file_and_from_memory() {
    for name in ["types", "codings", "szip", "odd", "old"] {
        let path = here(&format!("{name}.hdf")).display().to_string();
        let expected = fs::read_to_string(here(&format!("{name}.cdl"))).unwrap();
        let options = Options {
            name: name.to_owned(),
            float_digits: Some(9),
            double_digits: Some(17),
            ..Options::default()
        };
        let files = [
            nczarr::open(&path).unwrap(),
            nczarr::open(format!("file://{path}#mode=hdf4")).unwrap(),
            nczarr::open_bytes(fs::read(&path).unwrap()).unwrap(),
        ];
        for file in files {
            assert_eq!(dump(&file, &options).unwrap(), expected, "{name}");
        }
    }
}

#[test]
fn data_in_external_files_are_errors_and_others_are_read() {
    let file = nczarr::open(here("external.hdf").display().to_string()).unwrap();
    assert_eq!(*file.variable("here").unwrap().get::<i32>(..).unwrap(), [1, 2, 3, 4]);
    let error = file.variable("there").unwrap().get::<i32>(..).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::HdfErr);
    assert!(error.to_string().contains("\"external.dat\""), "{error}");
}

#[test]
fn parts_of_chunks_and_of_blocks_are_parts_of_the_whole() {
    for (name, vars) in
        [("codings", &["gz_ch_i32", "skp_ch_f64", "rle_u8", "gz_ch_f64"][..]), ("odd", &["rec", "nbit"])]
    {
        let file = nczarr::open(here(&format!("{name}.hdf")).display().to_string()).unwrap();
        for var in vars {
            let var = file.variable(var).unwrap();
            let shape = var.shape().unwrap();
            let all = var.get::<f64>(..).unwrap();
            let row: usize = shape.iter().skip(1).product::<u64>() as usize;
            let (half, inner) = (shape[0] as usize / 2, row / 2);
            let part = match shape.len() {
                1 => var.get::<f64>((half..,)).unwrap(),
                _ => var.get::<f64>((half.., inner..)).unwrap(),
            };
            let rows = all.chunks(row).skip(half);
            let expected: Vec<f64> = rows.flat_map(|row| row[inner..].to_vec()).collect();
            assert_eq!(*part, expected);
        }
    }
}

#[test]
fn chunks_can_be_read_repeatedly() {
    // The limits leave no room for further metadata, and no chunk is cached.
    let mut limits = Limits::default();
    limits.metadata = 0;
    let open = OpenOptions::new().limits(limits).cache_bytes(0);
    let file = open.open(here("codings.hdf").display().to_string()).unwrap();
    let var = file.variable("gz_ch_i32").unwrap();
    let first = var.get::<i32>(..).unwrap();
    for time in 0..3000 {
        assert_eq!(*var.get::<i32>(..).unwrap(), *first, "{time}");
    }
}

#[test]
fn nothing_is_written() {
    let path = here("types.hdf").display().to_string();
    let error = OpenOptions::new().writable(true).open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Perm, "{error}");
    let folder = tempfile::tempdir().unwrap();
    let new = Place::path(folder.path().join("x.hdf")).mode("hdf4");
    let error = nczarr::create(new).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotNc4, "{error}");
}

//! HDF5 and HDF4 files among the data of netCDF-C's own tests: each prints as a text beside it says, or as `ncdump` says.
//!
//! The texts of `ncdump` (netCDF-C 4.9.0) are in `tests/corpus/netcdf-c/upstream-text`. All files there are have a row.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cdl::{Options, Part};
use nczarr_tests::dump::dump;

use crate::corpus;
use crate::netcdf_c::same;

/// Where the text of a file is.
enum Text {
    /// Among the same tests.
    Theirs(&'static str),
    /// What `ncdump` says.
    Ncdump,
    /// The header as `ncdump -h` says; the data are many, and were compared once.
    Header,
    /// `ncdump` does not read it, or not right; the text and why.
    Right(&'static str, #[allow(dead_code, reason = "for people")] &'static str),
}
use Text::{Header, Ncdump, Right, Theirs};

const FILES: &[(&str, Text)] = &[
    (
        "hdf4_test/ref_contiguous.hdf4",
        Right("ref_contiguous", "it has no HDF4; the values are those that the HDF4 library reads"),
    ),
    (
        "nc_test/f03tst_open_mem.nc",
        Right("f03tst_open_mem", "var2 has no data and no fill value: it prints memory that nobody wrote"),
    ),
    ("nc_test4/ref_hdf5_compat2.nc", Ncdump),
    ("nc_test4/ref_hdf5_compat3.nc", Ncdump),
    ("nc_test4/ref_szip.h5", Theirs("nc_test4/ref_szip.cdl")),
    ("nc_test4/ref_tst_compounds.nc", Ncdump),
    ("nc_test4/ref_tst_dims.nc", Ncdump),
    ("nc_test4/ref_tst_interops4.nc", Header),
    ("nc_test4/ref_tst_xplatform2_1.nc", Ncdump),
    ("nc_test4/ref_tst_xplatform2_2.nc", Ncdump),
    ("nc_test4/tdset.h5", Ncdump),
    ("ncdump/ref_nc_test_netcdf4_4_0.nc", Theirs("ncdump/ref_nc_test_netcdf4.cdl")),
    ("ncdump/ref_no_ncproperty.nc", Ncdump),
    ("ncdump/ref_provenance_v1.nc", Ncdump),
    ("ncdump/ref_test_corrupt_magic.nc", Ncdump),
    ("ncdump/ref_tst_compounds2.nc", Theirs("ncdump/ref_tst_compounds2.cdl")),
    ("ncdump/ref_tst_compounds3.nc", Theirs("ncdump/ref_tst_compounds3.cdl")),
    ("ncdump/ref_tst_compounds4.nc", Theirs("ncdump/ref_tst_compounds4.cdl")),
    (
        "ncdump/ref_tst_irish_rover.nc",
        Right("ref_tst_irish_rover", "4.9.0 has no word for a value that an enum does not name"),
    ),
    ("nczarr_test/ref_groups.h5", Ncdump),
];

#[test]
fn files_of_the_reference_s_tests_print_as_they_should() {
    let texts = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/netcdf-c/upstream-text");
    for root in corpus::roots() {
        let upstream = root.join("netcdf-c/upstream");
        if !upstream.exists() {
            continue;
        }
        let rows: BTreeSet<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(found(&upstream), rows);
        for (name, text) in FILES {
            let stem = Path::new(name).file_stem().unwrap().to_str().unwrap();
            let place = match text {
                Theirs(place) => upstream.join(place),
                Ncdump | Header => texts.join(format!("{stem}.cdl")),
                Right(stem, _) => texts.join(format!("{stem}.cdl")),
            };
            let expected = fs::read(&place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
            let expected = String::from_utf8_lossy(&expected).into_owned();
            let title = expected.lines().next().unwrap().trim_start_matches("netcdf ").trim_end_matches(" {");
            let part = if matches!(text, Header) { Part::Header } else { Part::All };
            let options = Options { name: title.to_owned(), part, ..Options::default() };
            let path = upstream.join(name);
            let bytes = fs::read(&path).unwrap();
            for file in [nczarr::open(path.to_str().unwrap()), nczarr::open_bytes(bytes)] {
                let file = file.unwrap_or_else(|error| panic!("{name}: {error}"));
                let found = dump(&file, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
                same(&found, &expected).unwrap_or_else(|why| panic!("{name}: {why}"));
                if part == Part::Header {
                    dump(&file, &Options::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
                }
            }
        }
    }
}

/// The HDF5 and HDF4 files there are.
fn found(upstream: &Path) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for folder in fs::read_dir(upstream).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
            let bytes = fs::read(&path).unwrap();
            if bytes.starts_with(b"\x89HDF\r\n\x1a\n") || bytes.starts_with(b"\x0e\x03\x13\x01") {
                all.insert(path.strip_prefix(upstream).unwrap().to_str().unwrap().replace('\\', "/"));
            }
        }
    }
    all
}

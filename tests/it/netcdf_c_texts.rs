//! HDF5 and HDF4 files from netCDF-C's own tests print like the text beside them or like the output of
//! `ncdump`.
//!
//! The texts of `ncdump` (netCDF-C 4.9.0) are in `tests/corpus/netcdf-c/upstream-text`. Every file has a row,
//! but the files are only in the whole corpus. Each text belongs to a row, and a file built from a text
//! prints the same text.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nczarr::model::{Defined, Edit, Model, Values, VarId};
use nczarr::nc_table::NcDispatch as _;
use nczarr::{File, MemRef, Place, Result};
use nczarr_cdl::{Cdl, CdlTarget, Options, PrintedPart, SpecialLayout};
use nczarr_tests::dump::dump;

use crate::corpus;
use crate::netcdf_c::same;

/// The expected text of a file.
enum Text {
    /// A text in netCDF-C's own tests.
    Theirs(&'static str),
    /// The output of `ncdump`.
    Ncdump,
    /// The output of `ncdump -h`. The data are large and were compared once.
    Header,
    /// A corrected text and the reason, because `ncdump` fails or prints something wrong.
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
        Right("f03tst_open_mem", "var2 has no data and no fill value: it prints uninitialised memory"),
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
    let texts = texts();
    for root in corpus::roots().into_iter().skip(1) {
        let upstream = root.join("netcdf-c/upstream");
        let mut compared = 0;
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
            let part = if matches!(text, Header) { PrintedPart::Header } else { PrintedPart::All };
            let options = Options { name: title.to_owned(), part, ..Options::default() };
            let path = upstream.join(name);
            let bytes = fs::read(&path).unwrap();
            for file in [nczarr::open(path.to_str().unwrap()), nczarr::open_bytes(bytes)] {
                let file = file.unwrap_or_else(|error| panic!("{name}: {error}"));
                let found = dump(&file, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
                same(&found, &expected).unwrap_or_else(|why| panic!("{name}: {why}"));
                compared += 1;
                if part == PrintedPart::Header {
                    dump(&file, &Options::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
                }
            }
        }
        assert_eq!(compared, 2 * FILES.len(), "{}", upstream.display());
    }
}

fn texts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/netcdf-c/upstream-text")
}

/// Each text belongs to a row, and a file built from a text prints the same text.
#[test]
fn texts_of_the_reference_s_tests_match_the_rows() {
    let names = |(name, text): &(&str, Text)| match text {
        Theirs(_) => None,
        Ncdump | Header => Some(Path::new(name).file_stem().unwrap().to_str().unwrap().to_owned()),
        Right(stem, _) => Some((*stem).to_owned()),
    };
    let there = fs::read_dir(texts()).unwrap().map(|entry| entry.unwrap().path());
    let there: BTreeSet<String> =
        there.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(there, FILES.iter().filter_map(names).collect());
    let place = tempfile::tempdir().unwrap();
    let mut compared = 0;
    // One text has only a header without data. The other contains an enum value without a name, which CDL
    // cannot express.
    let apart = ["ref_tst_interops4", "ref_tst_irish_rover"];
    for stem in there.iter().filter(|stem| !apart.contains(&stem.as_str())) {
        let text = fs::read(texts().join(stem).with_extension("cdl")).unwrap();
        let cdl = Cdl::parse(&text).unwrap_or_else(|mistake| panic!("{stem}: {mistake}"));
        let path = place.path().join(format!("{stem}.nc"));
        let file = nczarr::create(Place::path(&path).mode("nc4")).unwrap();
        cdl.build(&mut Made(&file)).unwrap_or_else(|mistake| panic!("{stem}: {mistake}"));
        file.close().unwrap();
        let options = Options { name: cdl.name().to_owned(), ..Options::default() };
        let found = dump(&nczarr::open(&path).unwrap(), &options).unwrap();
        same(&found, &String::from_utf8_lossy(&text)).unwrap_or_else(|why| panic!("{stem}: {why}"));
        compared += 1;
    }
    assert!(compared > 10, "{compared}");
}

/// A file under construction from a CDL text.
struct Made<'f>(&'f File);

impl CdlTarget for Made<'_> {
    fn model(&self) -> Arc<Model> {
        self.0.model()
    }

    fn edit(&mut self, edit: &Edit<'_>) -> Result<Defined> {
        self.0.dataset().edit(edit)
    }

    fn lay_out(&mut self, _: VarId, _: &SpecialLayout) -> Result<()> {
        Ok(())
    }

    fn defined(&mut self) -> Result<()> {
        self.0.dataset()._enddef(0, 0, 0, 0)
    }

    fn put(&mut self, var: VarId, start: &[u64], count: &[u64], values: Values) -> Result<()> {
        if let Values::String(strings) | Values::Packed(_, strings) = &values {
            return self.0.dataset().put_vara(var, start, count, MemRef::Strings(strings));
        }
        let (ty, bytes) = (values.nc_type(), values.to_native_bytes().unwrap());
        self.0.dataset().put_vara(var, start, count, MemRef::Fixed { ty, bytes: &bytes })
    }
}

/// The HDF5 and HDF4 files in the folder.
fn found(upstream: &Path) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for folder in
        fs::read_dir(upstream).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
    {
        for path in
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
        {
            let bytes = fs::read(&path).unwrap();
            if bytes.starts_with(b"\x89HDF\r\n\x1a\n") || bytes.starts_with(b"\x0e\x03\x13\x01") {
                all.insert(path.strip_prefix(upstream).unwrap().to_str().unwrap().replace('\\', "/"));
            }
        }
    }
    all
}

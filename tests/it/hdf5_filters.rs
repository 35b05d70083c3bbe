//! Filters that only HDF5 files use, szip, and integers with unused bits. `make.py` in `tests/corpus/hdf5`
//! makes the files with h5py.
//!
//! A text beside each file records HDF5's reading of it. Each line has a dataset and its values; floats are
//! the bits of a double.

use std::fs;
use std::path::PathBuf;

use nczarr::model::{Values, VarFill};
use nczarr::{ErrorKind, Extent, File, NcType, Place};

const FILES: [&str; 5] = ["scaleoffset", "nbit", "lzf", "szip", "registered"];

fn here(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/hdf5")).join(name)
}

/// The datasets of a file and their values, as text.
fn answers(name: &str) -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(here(&format!("{name}.txt"))).unwrap();
    let line = |line: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        (words.next().unwrap(), words.skip(1).collect())
    };
    text.lines().map(line).collect()
}

fn values(file: &File, name: &str) -> nczarr::Result<Vec<String>> {
    let variable = file.variable(name)?;
    Ok(match variable.nc_type() {
        NcType::Float | NcType::Double => {
            variable.get::<f64>(..)?.iter().map(|value| format!("{:016x}", value.to_bits())).collect()
        }
        NcType::UInt64 => variable.get::<u64>(..)?.iter().map(u64::to_string).collect(),
        _ => variable.get::<i64>(..)?.iter().map(i64::to_string).collect(),
    })
}

#[test]
fn values_equal_the_hdf5_library() {
    for name in FILES {
        let path = here(&format!("{name}.h5"));
        let file = nczarr::open(path.to_str().unwrap()).unwrap();
        let held = nczarr::open_bytes(fs::read(&path).unwrap()).unwrap();
        let answers = answers(name);
        for (dataset, expected) in &answers {
            for file in [&file, &held] {
                let found =
                    values(file, dataset).unwrap_or_else(|error| panic!("{name}: {dataset}: {error}"));
                assert_eq!(found, *expected, "{name}: {dataset}");
            }
        }
        let records = usize::from(name == "nbit");
        assert_eq!(file.root().variables().len(), answers.len() + records, "{name}");
    }
}

/// Filters of both formats are written in HDF5's form, with HDF5's framing of LZ4 and HDF5's names.
#[test]
fn lz4_is_written_as_hdf5_has_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("lz4.nc").display().to_string();
    let values: Vec<i32> = (0..1000).map(|k| k / 7).collect();
    let file = nczarr::create(Place::url(format!("{path}#mode=nc4"))).unwrap();
    file.add_dimension("x", 1000).unwrap();
    let variable = file.add_variable::<i32>("v", &["x"]).unwrap();
    variable.set_chunking(&[1000]).unwrap();
    variable.set_filter("lz4", &[1024]).unwrap();
    variable.put(&values, ..).unwrap();
    file.close().unwrap();
    // The big-endian header says 4000 bytes in blocks of 1024. The first block is smaller after compression.
    let bytes = fs::read(&path).unwrap();
    let head = [0, 0, 0, 0, 0, 0, 0x0f, 0xa0, 0, 0, 4, 0];
    let stream = bytes
        .windows(head.len())
        .position(|bytes| bytes == head)
        .map(|at| &bytes[at + head.len()..])
        .unwrap();
    assert!(u32::from_be_bytes(*stream.first_chunk().unwrap()) < 200, "{:?}", &stream[..4]);
    let file = nczarr::open(&path).unwrap();
    assert_eq!(file.model().vars().next().unwrap().1.filters[0].params, [1024]);
    assert_eq!(file.variable("v").unwrap().get::<i32>(..).unwrap().to_vec(), values);
    drop(file);
    // A later partial write to a chunk keeps this form.
    let file = nczarr::append(&path).unwrap();
    file.variable("v").unwrap().put(&[-5, -6], 500..502).unwrap();
    file.close().unwrap();
    let found = nczarr::open(&path).unwrap().variable("v").unwrap().get::<i32>(498..504).unwrap().to_vec();
    assert_eq!(found, [71, 71, -5, -6, 71, 71]);
}

/// netCDF lacks the stored type, so a writer would change it.
#[test]
fn a_file_with_an_attribute_of_such_integers_is_only_read() {
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("partial.h5").display().to_string();
    fs::copy(here("partial.h5"), &copy).unwrap();
    let file = nczarr::open(&copy).unwrap();
    assert_eq!(
        file.model().vars().next().unwrap().1.atts.get("range"),
        Some(&Values::Short(vec![-2048, 2047]))
    );
    drop(file);
    let error = nczarr::append(&copy).and_then(File::close).unwrap_err();
    assert!(
        error.kind() == ErrorKind::Perm && error.to_string().contains("attribute \"range\" of \"/x\""),
        "{error}"
    );
    assert!(fs::read(&copy).unwrap() == fs::read(here("partial.h5")).unwrap());
}

/// The type is the smallest one with enough bits.
#[test]
fn partial_precision_integers_have_a_type() {
    let file = nczarr::open(here("nbit.h5").to_str().unwrap()).unwrap();
    let mut seen = 0;
    for variable in file.root().variables() {
        let name = variable.name();
        let Some((_, rest)) = name.split_once("_p") else { continue };
        let bits: u32 = rest.split('_').next().unwrap().parse().unwrap();
        let signed = name.contains("_i");
        let expected = match (bits, signed) {
            (0..=8, true) => NcType::Byte,
            (0..=8, false) => NcType::UByte,
            (9..=16, true) => NcType::Short,
            (9..=16, false) => NcType::UShort,
            (17..=32, true) => NcType::Int,
            (17..=32, false) => NcType::UInt,
            (_, true) => NcType::Int64,
            (_, false) => NcType::UInt64,
        };
        assert_eq!(variable.nc_type(), expected, "{name}");
        seen += 1;
    }
    assert!(seen >= 24, "{seen}");
    // Reads a strided part as another type. Types that cannot hold the values give an error.
    let variable = file.variable("raw_i4_p20_o5_be").or_else(|_| file.variable("raw_i4_p20_o5_le")).unwrap();
    let all = variable.get::<i32>(..).unwrap().to_vec();
    let part = variable
        .get::<f32>((
            Extent::Strided { start: 1, count: None, stride: 2 },
            Extent::Strided { start: 0, count: None, stride: 2 },
        ))
        .unwrap();
    let expected: Vec<f32> = [5, 7, 9, 15, 17, 19].iter().map(|&at| all[at] as f32).collect();
    assert_eq!(part.to_vec(), expected);
    assert_eq!(variable.get::<i8>(..).unwrap_err().kind(), ErrorKind::Range);
    assert_eq!(variable.get_strings(..).unwrap_err().kind(), ErrorKind::Char);
    // Unwritten elements have the fill value.
    let model = file.model();
    let gap = file.variable("nb_gap").unwrap();
    assert_eq!(model.var(gap.id()).unwrap().fill, VarFill::Value(Values::Int(vec![-77])));
}

#[test]
fn members_of_records_are_unpacked() {
    let file = nczarr::open(here("nbit.h5").to_str().unwrap()).unwrap();
    let text = nczarr_tests::dump::dump(
        &file,
        &nczarr_cdl::Options { name: "x".to_owned(), ..nczarr_cdl::Options::default() },
    )
    .unwrap();
    let data = text.split("nb_record = \n").nth(1).or_else(|| text.split("nb_record =").nth(1)).unwrap();
    let data: String = data.split(';').next().unwrap().split_whitespace().collect();
    assert_eq!(data, r#"{-1,{0,0,500},{"ab0"},0},{0,{1,2,501},{"ab1"},0.25},{1,{2,4,502},{"ab2"},0.5}"#);
}

/// Files with these filters are read-only. New variables cannot use the filters.
#[test]
fn read_only_filters_are_not_written() {
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("scaled.h5").display().to_string();
    fs::copy(here("scaled.h5"), &copy).unwrap();
    let error = nczarr::append(&copy).and_then(File::close).unwrap_err();
    assert!(
        error.kind() == ErrorKind::Perm && error.to_string().contains("scaleoffset cannot encode"),
        "{error}"
    );
    assert!(fs::read(&copy).unwrap() == fs::read(here("scaled.h5")).unwrap());
    assert_eq!(values(&nczarr::open(&copy).unwrap(), "v").unwrap(), ["70", "71", "72", "73"]);
    let scale: Vec<u32> = [2, 0, 300, 0, 4, 1, 0, 0].into_iter().chain([0; 12]).collect();
    for (name, params) in [("scaleoffset", &scale[..]), ("nbit", &[8, 0, 300, 1, 4, 0, 17, 0]), ("lzf", &[])]
    {
        for target in ["x.nc#mode=netcdf-4", "x.zarr#mode=nczarr,file"] {
            let url = format!("file://{}/{name}_{target}", place.path().display());
            let file = nczarr::create(&url).unwrap();
            file.add_dimension("x", 300).unwrap();
            let variable = file.add_variable::<i32>("v", &["x"]).unwrap();
            let may = name == "lzf" && target.starts_with("x.nc");
            match variable.set_filter(name, params) {
                Ok(()) => assert!(may, "{name} {target}"),
                Err(error) => {
                    assert!(!may && error.kind() == ErrorKind::NoFilter, "{name} {target}: {error}")
                }
            }
            let values: Vec<i32> = (0..300).map(|k| k / 7).collect();
            variable.put(&values, ..).unwrap();
            file.close().unwrap();
            let file = nczarr::open(&url).unwrap();
            assert_eq!(
                file.variable("v").unwrap().get::<i32>(..).unwrap().to_vec(),
                values,
                "{name} {target}"
            );
        }
    }
    // Files with LZF can be written.
    let url = place.path().join("lzf_x.nc").display().to_string();
    let file = nczarr::append(&url).unwrap();
    file.variable("v").unwrap().put(&[5, 6], 10..12).unwrap();
    file.close().unwrap();
    let found = nczarr::open(&url).unwrap().variable("v").unwrap().get::<i32>(8..14).unwrap().to_vec();
    assert_eq!(found, [1, 1, 5, 6, 1, 1]);
}

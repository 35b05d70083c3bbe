//! Datasets by other writers: `ncz cat` of arrays against files of their values by numpy, byte for byte;
//! kinds of files.

use std::fs;
use std::path::Path;

use crate::{run, text};

#[test]
fn cat_writes_the_bytes_of_numpy() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/zarr").canonicalize().unwrap();
    let manifest = fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let mut compared = 0;
    for line in manifest.lines().skip(1) {
        let row: Vec<&str> = line.split('\t').collect();
        let (store, array, dtype, expected) = (row[0], row[1], row[7], row[10]);
        let number = dtype.trim_start_matches(['<', '>', '|']).starts_with(['i', 'u', 'f']);
        if row[4] != "2"
            || row[11] != "exact"
            || store.ends_with(".zip")
            || !number
            || !expected.ends_with(".npy")
        {
            continue;
        }
        // Some stores lack an identifying document in the root. Others have only an array there.
        let url = format!("file://{}#mode=zarr", text(&folder.join(store)));
        let output = run(["cat", &url, array].into_iter().filter(|arg| *arg != "/"));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        if message.contains("NC_ENOTBUILT")
            || message.contains("NC_ENOFILTER")
            || message.contains("NC_EBADTYPE")
        {
            continue;
        }
        assert!(output.status.success(), "{store} {array}: {message}");
        let mut expected = fs::read(folder.join(expected)).unwrap();
        if expected != output.stdout && dtype.contains('f') {
            // All NaNs count as equal.
            expected = one_nan(&expected);
            assert_eq!(one_nan(&output.stdout), expected, "{store} {array}");
        } else {
            assert_eq!(output.stdout, expected, "{store} {array}");
        }
        compared += 1;
    }
    assert!(compared > 10, "{compared} arrays");
}

/// Returns the file of an array with all NaNs made equal.
fn one_nan(file: &[u8]) -> Vec<u8> {
    let start = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
    let (header, data) = file.split_at(start);
    let single = String::from_utf8_lossy(header).contains("<f4");
    let mut out = header.to_vec();
    if single {
        let values = data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        out.extend(values.flat_map(|value| if value.is_nan() { f32::NAN } else { value }.to_le_bytes()));
    } else {
        let values = data.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
        out.extend(values.flat_map(|value| if value.is_nan() { f64::NAN } else { value }.to_le_bytes()));
    }
    out
}

#[test]
fn dump_prints_the_kind_of_a_file() {
    let part = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/netcdf-c/classic");
    for (name, kind) in [("cdf1_atts", "classic"), ("cdf2_atts", "64-bit offset"), ("cdf5_atts", "cdf5")] {
        let path = part.join(name).join(format!("{name}.nc"));
        assert_eq!(crate::out(&["dump", "-k", crate::text(&path)]), format!("{kind}\n"));
    }
}

//! `validate`: defects of a dataset.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{out, run, text};

fn good(folder: &Path, mode: &str) -> String {
    let (cdl, target) = (folder.join("x.cdl"), folder.join("x"));
    fs::write(
        &cdl,
        "netcdf x { dimensions: x = 5; variables: short v(x); v:_ChunkSizes = 2; double time(x); \
         time:units = \"days since 2000-01-01\"; float s; data: v = 1, 2, 3, 4, 5; time = 1, 2, 3, 4, 5; s = 1; \
         group: g { variables: int w(x); data: w = 1, 2, 3, 4, 5; } }",
    )
    .unwrap();
    let url = format!("file://{}#mode={mode}", text(&target));
    out(&["gen", "-o", &url, text(&cdl)]);
    text(&target).to_owned()
}

/// Exit code and lines.
fn validate(args: &[&str]) -> (i32, Vec<String>) {
    let output = run([&["validate"], args].concat());
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect(),
    )
}

#[test]
fn written_stores_are_valid() {
    for mode in ["nczarr", "zarr", "nczarr,v3", "zarr,v3", "nczarr,consolidated"] {
        let folder = tempfile::tempdir().unwrap();
        let store = good(folder.path(), mode);
        let (code, lines) = validate(&["--deep", &store]);
        assert_eq!((code, lines.len()), (0, 1), "{mode}: {lines:?}");
        assert!(
            lines[0].starts_with("4 variables, ") && lines[0].ends_with(" chunks read: 0 errors, 0 warnings"),
            "{lines:?}"
        );
    }
}

#[test]
fn damage_is_found_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = good(folder.path(), "zarr");
    let put = |key: &str, bytes: &[u8]| fs::write(Path::new(&store).join(key), bytes).unwrap();
    put("v/1", b"x");
    put("v/7", b"xxxx");
    put("v/01", b"xxxx");
    put("stray", b"?");
    let atts = r#"{"_ARRAY_DIMENSIONS": ["x"], "units": "days since never", "bounds": "nowhere"}"#;
    put("time/.zattrs", atts.as_bytes());
    let (code, lines) = validate(&[&store]);
    assert_eq!(code, 0, "{lines:?}");
    let (code, lines) = validate(&["--deep", &store]);
    assert_eq!(code, 1, "{lines:?}");
    for line in [
        "error: chunk /v[2]: ",
        "warning: object v/7: is beyond the array, which has 3 chunks along dimension 0",
        "warning: object v/01: is not the name of a chunk of an array with 1 dimensions",
        "warning: object stray: belongs to no array",
        "warning: attribute /time:units: \"days since never\" is not a valid unit of time",
        "warning: attribute /time:bounds: names nowhere, which is not a variable",
    ] {
        assert!(lines.iter().any(|found| found.starts_with(line)), "{line}\n{lines:#?}");
    }
    let output = run(["validate", "--json", "--deep", &store]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((json["valid"].as_bool(), json["variables"].as_u64()), (Some(false), Some(4)));
}

#[test]
fn stale_consolidated_metadata_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = good(folder.path(), "zarr,consolidated");
    fs::write(Path::new(&store).join("v/.zattrs"), r#"{"_ARRAY_DIMENSIONS": ["x"], "new": 1}"#).unwrap();
    let (code, lines) = validate(&[&store]);
    assert_eq!(code, 1);
    assert!(
        lines.iter().any(|line| line.contains("is stale: its copy of v/.zattrs differs from the document")),
        "{lines:?}"
    );
}

fn case(name: &str) -> String {
    format!("{}/../../tests/corpus/reports/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Documents are read by the rules of opening; deviations that these rules forgive are warnings.
#[test]
fn tolerated_deviations_are_warnings() {
    let (code, lines) = validate(&["--deep", &case("nan3.zarr")]);
    assert_eq!(code, 0, "{lines:?}");
    let odd = lines.iter().filter(|line| line.contains("has bare words such as NaN")).count();
    assert_eq!(odd, 2, "{lines:?}");
    assert!(lines.last().unwrap().contains("1 chunks read: 0 errors, 3 warnings"), "{lines:?}");
    let folder = tempfile::tempdir().unwrap();
    let store = good(folder.path(), "zarr");
    // A byte order mark, and sizes as decimals.
    let path = Path::new(&store).join("v/.zarray");
    let document = fs::read_to_string(&path).unwrap();
    let chunks = document.find("\"chunks\"").unwrap();
    let (before, after) = document.split_at(chunks);
    let odd = format!("\u{feff}{before}{}", after.replacen('2', "2.0", 1));
    assert_ne!(odd.len(), document.len());
    fs::write(&path, odd).unwrap();
    let (code, lines) = validate(&["--deep", &store]);
    assert_eq!((code, lines.len()), (0, 1), "{lines:?}");
    assert!(lines[0].contains(" chunks read: 0 errors, 0 warnings"), "{lines:?}");
}

#[test]
fn an_append_that_stopped_half_way_is_an_error() {
    let (code, lines) = validate(&[&case("half3.zarr")]);
    assert_eq!(code, 1, "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("error: ") && line.contains("time")), "{lines:?}");
    let stored = r#"{"zarr_format":2,"shape":[4],"chunks":[4],"dtype":"<i4","fill_value":0,"order":"C",
                    "compressor":null,"filters":null}"#;
    let folder = tempfile::tempdir().unwrap();
    for (name, len) in [("a", "4"), ("b", "5")] {
        let array = folder.path().join(name);
        fs::create_dir_all(&array).unwrap();
        fs::write(array.join(".zarray"), stored.replacen('4', len, 1)).unwrap();
        fs::write(array.join(".zattrs"), r#"{"_ARRAY_DIMENSIONS":["t"]}"#).unwrap();
    }
    fs::write(folder.path().join(".zgroup"), r#"{"zarr_format":2}"#).unwrap();
    let (code, lines) = validate(&[text(folder.path())]);
    let found = lines.iter().any(|line| line.starts_with("error: ") && line.contains("of another length"));
    assert!(code == 1 && found, "{lines:?}");
}

#[test]
fn documents_of_the_other_zarr_are_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let store = good(folder.path(), "zarr,v3");
    fs::write(Path::new(&store).join("v/.zarray"), "{}").unwrap();
    let (code, lines) = validate(&[&store]);
    assert_eq!((code, lines.len()), (0, 2), "{lines:?}");
    assert!(lines[0].starts_with("warning: object v/.zarray: is a document of Zarr V2"), "{lines:?}");
}

/// NCZarr lists the members of a group; an array outside the list is invisible to every reader that follows
/// it.
#[test]
fn a_node_that_no_list_names_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let store = good(folder.path(), "nczarr");
    let from = Path::new(&store).join("v");
    let to = Path::new(&store).join("unlisted");
    fs::create_dir(&to).unwrap();
    for name in [".zarray", ".zattrs", "0"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
    let (code, lines) = validate(&[&store]);
    assert_eq!((code, lines.len()), (0, 2), "{lines:?}");
    assert!(lines[0].starts_with("warning: object unlisted: is left out"), "{lines:?}");
}

#[test]
fn a_directory_without_a_dataset_is_invalid() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(validate(&[text(folder.path())]).0, 1);
}

/// Contiguous storage is read in blocks, neither element by element nor all at once.
#[test]
fn contiguous_data_are_read_in_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let cdl = folder.path().join("x.cdl");
    for (name, kind, dims, blocks) in [
        ("line", "nc4", "a = 3000000;", 3),
        ("rows", "nc4", "a = 2; b = 1500000;", 4),
        ("classic", "cdf5", "a = 3000000;", 3),
    ] {
        let names: Vec<&str> =
            dims.split(';').filter_map(|dim| Some(dim.split_once('=')?.0.trim())).collect();
        let target = folder.path().join(name);
        let of_it = format!(
            "netcdf x {{ dimensions: {dims} variables: int v({}); v:_Storage = \"contiguous\"; data: v = 1; }}",
            names.join(", ")
        );
        fs::write(&cdl, of_it).unwrap();
        out(&["gen", "-k", kind, "-o", text(&target), text(&cdl)]);
        let (code, lines) = validate(&["--deep", text(&target)]);
        let expected = format!("1 variables, 0 objects, {blocks} chunks read: 0 errors, 0 warnings");
        assert_eq!((code, &lines[..]), (0, &[expected][..]), "{name}");
    }
}

//! No file name changes the kind or the place of a new dataset.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use nczarr::{CreateOptions, ErrorKind, File, Kind, Place};
use proptest::prelude::*;

/// Pieces that have a meaning in URLs, in fragments, or for a tool.
const PIECES: &[&str] = &[
    "#", "\\#", "%", "%23", "%2f", ":", "&", "=", ",", "?", "*", "[", "]", "@", " ", "~", "-", "mode=",
    "zarr", "nczarr", "zip", "s3", "s3:", "file:", "memory:", "http:", "v2", "v3", "log", "zipdir=a", "a",
    ".", "..", ".nc", ".zarr", ".zip", ".cdf", ".cdl", "\u{e9}", "e\u{301}", "\n", "\t", "\u{7f}",
];

const KINDS: [Kind; 9] = [
    Kind::NcZarrV2,
    Kind::NcZarrV3,
    Kind::ZarrV2,
    Kind::ZarrV3,
    Kind::NetCdf4,
    Kind::NetCdf4Classic,
    Kind::Cdf1,
    Kind::Cdf2,
    Kind::Cdf5,
];

fn names() -> impl Strategy<Value = OsString> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => "[^/\0]{1,4}".prop_map(String::into_bytes),
        1 => prop::collection::vec(1u8.., 1..3),
    ];
    prop::collection::vec(piece, 1..7)
        .prop_map(|pieces| pieces.concat().into_iter().filter(|&byte| byte != b'/').collect::<Vec<u8>>())
        .prop_filter("a name of a file", |name| !matches!(name.as_slice(), b"" | b"." | b".."))
        .prop_map(OsString::from_vec)
}

/// Returns the names in a directory.
fn entries(folder: &Path) -> Vec<OsString> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

/// Returns the kind of a dataset, judged by its description.
fn kind_of(file: &File) -> String {
    let info = file.info();
    match info.driver {
        "nczarr" => format!("{} {}", info.flavour, info.version),
        _ => format!("{:?}", info.format),
    }
}

fn fill(file: &File) -> nczarr::Result<()> {
    file.add_dimension("x", 2)?;
    file.add_variable::<i32>("v", &["x"])?.put(&[7, -1], ..)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn any_file_name_is_taken_literally(name in names(), kind in prop::sample::select(&KINDS[..]), as_text: bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(&name);
        let place = match path.to_str() {
            Some(text) if as_text => Place::from(text),
            _ => Place::from(&path),
        };
        let plain = folder.path().join("plain");
        let made = |place: Place| {
            let file = CreateOptions::new().kind(kind).create(place).unwrap();
            fill(&file).unwrap();
            file.close().unwrap();
        };
        made(Place::path(&plain));
        let expected = kind_of(&nczarr::open(&plain).unwrap());
        nczarr::delete(&plain).unwrap();
        prop_assert!(entries(folder.path()).is_empty());

        made(place.clone());
        prop_assert_eq!(entries(folder.path()), [name.clone()]);
        let file = nczarr::open(&path).unwrap();
        prop_assert_eq!(kind_of(&file), expected);
        prop_assert_eq!(file.variable("v").unwrap().get_values::<i32>(..).unwrap(), [7, -1]);
        file.close().unwrap();
        nczarr::delete(place).unwrap();
        prop_assert!(entries(folder.path()).is_empty());
    }

    #[test]
    fn without_a_kind_only_the_ending_decides(name in names()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(&name);
        let ending = Path::new(&name).extension().map(|ending| ending.to_ascii_lowercase());
        let expected = match ending.as_ref().and_then(|ending| ending.to_str()) {
            None if ending.is_some() => None,
            None | Some("" | "zarr" | "zip") => Some("nczarr"),
            Some("nc" | "nc4") => Some("hdf5"),
            Some("cdf") => Some("classic"),
            Some(_) => None,
        };
        match nczarr::create(&path) {
            Ok(file) => {
                prop_assert_eq!(Some(file.info().driver), expected);
                fill(&file).unwrap();
                file.close().unwrap();
                prop_assert_eq!(entries(folder.path()), [name]);
            }
            Err(error) => {
                prop_assert!(expected.is_none() && matches!(error.kind(), ErrorKind::Inval | ErrorKind::NotBuilt), "{error}");
                prop_assert!(entries(folder.path()).is_empty());
            }
        }
    }
}

#[test]
fn a_kind_and_another_format_in_the_url_contradict() {
    for (kind, url) in [
        (Kind::Cdf5, "memory://names-a#mode=zarr"),
        (Kind::ZarrV3, "memory://names-a#mode=zarr,v2"),
        (Kind::NcZarrV2, "memory://names-a#mode=zarr"),
        (Kind::NetCdf4, "file:///dev/null/x.nc#mode=cdf5"),
    ] {
        let error = CreateOptions::new().kind(kind).create(url).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Inval, "{url}");
        assert!(error.to_string().contains("another format"), "{error}");
    }
    let file =
        CreateOptions::new().kind(Kind::ZarrV3).create("memory://names-b#mode=v3,consolidated").unwrap();
    assert_eq!(kind_of(&file), "xarray 3");
}

//! Paths and URLs in [`Place`]: no name of a file is parsed.

use std::path::{Path, PathBuf};

use nczarr_model::ErrorKind;
use nczarr_url_infer::{Place, Scheme, infer_create};
use proptest::prelude::*;

/// Pieces of names that mean something in a URL.
const PIECES: &[&str] = &[
    "#", "\\#", "%", "%23", "%20", ":", "//", "&", "=", ",", "?", "[", "]", "@", " ", "mode", "mode=",
    "zarr", "nczarr", "zip", "s3", "file", "file:", "http", "v2", "log", "a", ".", "..", "\u{e9}", "\n", "/",
];

fn names() -> impl Strategy<Value = String> {
    let piece = prop_oneof![3 => prop::sample::select(PIECES).prop_map(str::to_owned), 1 => "[^\0]{1,3}"];
    prop::collection::vec(piece, 1..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn a_path_is_never_parsed(name in names()) {
        let target = Place::path(&name).target().unwrap();
        prop_assert_eq!(target.path.as_os_str(), std::ffi::OsStr::new(&name));
        prop_assert_eq!((target.scheme, target.modes.len(), target.fragment.len()), (Scheme::Path, 0, 0));
    }

    #[test]
    fn text_without_a_scheme_is_a_path(name in names()) {
        // The rule of the documentation, without the parser.
        let starts = |text: &str, rest: &[&str]| {
            let scheme = text.split(':').next().unwrap_or_default();
            let legal = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
            let is_scheme = scheme.len() > 1
                && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(legal);
            is_scheme && rest.iter().any(|rest| text[scheme.len()..].starts_with(rest))
        };
        let is_url = starts(&name, &["://"]) || (name.to_lowercase().starts_with("file:/"));
        let place = Place::from(name.as_str());
        prop_assert_eq!(place.as_path(), (!is_url).then(|| Path::new(&name)));
        prop_assert_eq!(Place::from(name.clone()), place);
        prop_assert_eq!(Place::from(PathBuf::from(&name)), Place::path(&name));
    }

    #[test]
    fn an_encoded_url_is_the_path(name in names()) {
        let url: String = std::iter::once("file:///".to_owned())
            .chain(name.bytes().map(|byte| format!("%{byte:02x}")))
            .collect();
        let target = Place::url(url).target().unwrap();
        prop_assert_eq!(target.path_text(), format!("/{name}"));
        prop_assert!(target.modes.is_empty());
    }
}

#[test]
fn modes_are_added_to_any_place() {
    let modes = |place: Place| place.target().unwrap().modes;
    assert_eq!(modes(Place::path("a#b").mode("Zarr").mode("v3")), ["zarr", "v3", "nczarr"]);
    assert_eq!(modes(Place::url("file:///a#mode=zip").mode("zarr")), ["zip", "zarr", "nczarr"]);
    let dap = Place::path("a").mode("dap4").target().unwrap_err();
    assert_eq!(dap.kind(), ErrorKind::NotBuilt);
}

#[test]
fn impossible_paths_are_refused() {
    assert_eq!(Place::path("").target().unwrap_err().kind(), ErrorKind::Url);
    assert_eq!(Place::path("a\0b").target().unwrap_err().kind(), ErrorKind::Inval);
}

#[test]
fn secrets_are_not_printed() {
    for url in ["https://me:hush1@h.example/b?sig=hush2#token=hush3", "https://me:hush@h.example:port/b"] {
        let place = Place::from(url);
        for text in [format!("{place}"), format!("{place:?}")] {
            assert!(!text.contains("hush"), "{text}");
        }
    }
    assert_eq!(Place::path("a#b").to_string(), "a#b");
}

#[test]
fn a_fragment_of_a_path_is_explained() {
    let target = Place::path("x.zarr#mode=zarr").target().unwrap();
    let error = infer_create(&target).unwrap_err();
    assert!(error.kind() == ErrorKind::Inval && error.what().contains("file:///"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_path_may_have_any_bytes() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let name = OsStr::from_bytes(b"/d\xff\xfe.zarr");
    for place in [Place::from(name), Place::url("file:///d%ff%FE.zarr")] {
        assert_eq!(place.target().unwrap().path, Path::new(name));
    }
    assert_eq!(Place::from(name).as_text(), "/d\u{fffd}\u{fffd}.zarr");
}

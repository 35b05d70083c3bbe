//! Properties of any string.

use nczarr_url_infer::{infer_create, parse};
use proptest::prelude::*;

/// Strings like those that people type, broken at any place.
fn typed() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("file:"),
        Just("https:"),
        Just("s3:"),
        Just("//"),
        Just("/"),
        Just("#"),
        Just("\\#"),
        Just("\\"),
        Just("?"),
        Just("&"),
        Just("="),
        Just(","),
        Just("["),
        Just("]"),
        Just(":"),
        Just("@"),
        Just("mode"),
        Just("zarr"),
        Just("noxarray"),
        Just("bytes"),
        Just("log"),
        Just("x.zarr"),
        Just("C"),
        Just("9"),
        Just("é"),
        Just("\u{0}"),
        Just(" "),
        Just("AWS.REGION"),
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn check(text: &str) -> Result<(), TestCaseError> {
    let Ok(target) = parse(text) else { return Ok(()) };
    let _ = infer_create(&target);
    for (i, mode) in target.modes.iter().enumerate() {
        prop_assert!(!mode.is_empty() && !target.modes[..i].contains(mode), "{target:?}");
        prop_assert_eq!(mode.to_lowercase(), mode.as_str());
    }
    for (key, _) in &target.fragment {
        prop_assert_eq!(key.to_lowercase(), key.as_str());
        prop_assert!(key != "mode");
    }
    prop_assert!(!target.has_mode("zarr") || target.has_mode("nczarr"), "{target:?}");
    // The inference is stable: a second parse of the modes gives the same modes.
    let again = parse(&format!("file:///x#mode={}", target.modes.join(","))).unwrap();
    prop_assert_eq!(again.modes, target.modes);
    Ok(())
}

proptest! {
    #[test]
    fn any_string_is_parsed_or_refused(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn broken_urls_are_parsed_or_refused(text in typed()) {
        check(&text)?;
    }

    #[test]
    fn a_path_without_colon_bracket_or_hash_is_itself(text in "[^:#\\[\u{0}]+") {
        let target = parse(&text).unwrap();
        prop_assert_eq!(target.path_text(), text);
    }

    #[test]
    fn a_file_url_holds_any_path(text in "[^#%\\\\\u{0} /][^#%\\\\\u{0}]*[^#%\\\\\u{0}\\s]") {
        let target = parse(&format!("file:///{text}#mode=zarr")).unwrap();
        let path = format!("/{text}");
        prop_assert_eq!(&*target.path_text(), path.as_str());
    }
}

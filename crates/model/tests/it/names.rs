//! Properties of names and paths.

use nczarr_model::{ErrorKind, name};
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_path_of_escaped_names_splits_into_them(names in prop::collection::vec("[/\\\\ ab.é#]{1,6}", 0..5), absolute: bool) {
        let path: Vec<String> = names.iter().map(|name| name::escape(name)).collect();
        let path = format!("{}{}", if absolute { "/" } else { "" }, path.join("/"));
        prop_assert_eq!(name::split_path(&path), names);
    }

    #[test]
    fn any_names_survive_a_path(names in prop::collection::vec(any::<String>().prop_filter("empty", |s| !s.is_empty()), 0..4)) {
        let path: Vec<String> = names.iter().map(|name| name::escape(name)).collect();
        prop_assert_eq!(name::split_path(&path.join("/")), names);
    }

    #[test]
    fn any_path_splits(path in any::<String>()) {
        prop_assert!(name::split_path(&path).iter().all(|name| !name.is_empty()));
    }

    #[test]
    fn a_legal_name_is_legal_and_the_same_again(name in "[a-c_\u{e4}\u{308}\u{212b}\u{958}0 ./\t]{0,90}") {
        match name::normalize(&name) {
            Ok(normal) => {
                prop_assert_eq!(&normal, &name::nfc(&name));
                prop_assert!(normal.len() <= name::MAX_LEN && !normal.contains(['/', '\t']));
                let again = name::normalize(&normal).map(std::borrow::Cow::into_owned);
                prop_assert_eq!(again.unwrap(), normal.into_owned());
            }
            Err(error) => prop_assert!(matches!(error.kind(), ErrorKind::BadName | ErrorKind::MaxName)),
        }
    }
}

#[test]
fn a_huge_name_is_refused_in_a_short_message() {
    for name in ["é".repeat(1 << 20), "a".repeat(1 << 20), format!("{}/", "a".repeat(1 << 20))] {
        let error = name::normalize(&name).unwrap_err();
        assert!(error.to_string().len() < 2000, "{}", error.to_string().len());
    }
}

//! `--exclusive`: the user's promise that no other process writes the target, added to its URL.

/// Returns the URL, with the promise if the flag is given.
pub fn url(url: String, exclusive: bool) -> String {
    if !exclusive {
        return url;
    }
    // A `#` in a path need not begin a fragment.
    let has_fragment = match nczarr_url_infer::parse(&url) {
        Ok(target) if target.scheme == nczarr_url_infer::Scheme::Path => target.path_text() != url,
        _ => url.contains('#'),
    };
    let separator = if has_fragment { '&' } else { '#' };
    format!("{url}{separator}exclusive=true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exclusive_is_appended_to_the_fragment() {
        for (given, expected) in [
            ("s3://b/x.zarr", "s3://b/x.zarr#exclusive=true"),
            ("s3://b/x#mode=zarr", "s3://b/x#mode=zarr&exclusive=true"),
            ("dir/x.zarr", "dir/x.zarr#exclusive=true"),
            ("run#1/x.zarr", "run#1/x.zarr#exclusive=true"),
            ("x#mode=zarr", "x#mode=zarr&exclusive=true"),
        ] {
            let found = url(given.to_owned(), true);
            assert_eq!(found, expected);
            let (plain, target) =
                (nczarr_url_infer::parse(given).unwrap(), nczarr_url_infer::parse(&found).unwrap());
            assert_eq!(
                (target.get("exclusive"), &target.path, &target.modes),
                (Some("true"), &plain.path, &plain.modes)
            );
            assert_eq!(url(given.to_owned(), false), given);
        }
    }
}

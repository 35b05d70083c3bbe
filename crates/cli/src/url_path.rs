//! Replaces the path in a path or URL, and keeps its fragment.

use nczarr_model::Result;
use nczarr_url_infer::{Scheme, parse};

/// Returns `url` with another path. `None` if the path is not possible there.
///
/// # Errors
///
/// `NC_EURL` if the URL is malformed.
pub fn with_path(url: &str, path: &str) -> Result<Option<String>> {
    let target = parse(url)?;
    let new = match &target.scheme {
        Scheme::File => {
            let scheme = url.to_ascii_lowercase().find("file:").unwrap_or_default();
            let fragment = url.find('#').map_or("", |at| &url[at..]);
            let encoded = path.replace('%', "%25").replace('#', "%23");
            format!("{}file://{encoded}{fragment}", &url[..scheme])
        }
        _ => url.replacen(&*target.path_text(), path, 1),
    };
    Ok((parse(&new)?.path.as_os_str() == path).then_some(new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_path_changes() {
        for (url, path, expected) in [
            ("x.zarr", "t/x.zarr", "t/x.zarr"),
            ("x.zarr#mode=zarr", "t/x.zarr", "t/x.zarr#mode=zarr"),
            ("file:///a/x.zarr#mode=zarr", "/t/x.zarr", "file:///t/x.zarr#mode=zarr"),
            ("file:///a/x%20y%23.zarr#log", "/t/x y#.zarr", "file:///t/x y%23.zarr#log"),
            ("file:/a/100%", "/t/100%25", "file:///t/100%2525"),
            ("[mode=zarr]file:///a", "/t/a", "[mode=zarr]file:///t/a"),
        ] {
            assert_eq!(with_path(url, path).unwrap().as_deref(), Some(expected), "{url}");
            let (old, new) = (parse(url).unwrap(), parse(expected).unwrap());
            assert_eq!((&new.modes, &new.fragment), (&old.modes, &old.fragment));
            assert_eq!(new.path_text(), path);
        }
        assert_eq!(with_path("x", "t/x#zarr").unwrap(), None);
    }
}

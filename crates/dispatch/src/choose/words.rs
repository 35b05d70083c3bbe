//! Whether somebody knows the words of a fragment, so that a slip of the pen is an error and does not mean something else.
//!
//! A value of `mode` that nobody here knows is refused, also where what is there is recognised by its content: netCDF-C takes a URL
//! of which no mode names a driver for one of another protocol, so nothing that works there is lost. Where a driver or map
//! of a third party is named, or its scheme is the path's, other values may be its own, and are left to it.
//!
//! Keys that nobody knows are ignored, as netCDF-C does: other programs keep theirs in the same fragment. But one that is a letter
//! away from a key of ours is that key misspelt, and refused.

use model::{ErrorKind, Result};
use url_infer::Target;

use crate::{Origin, PluginKind, Registry};

impl Registry {
    /// Whether the words of a fragment are known.
    ///
    /// # Errors
    /// `NC_EINVAL` naming the word, and the nearest one that is known.
    pub(super) fn check_words(&self, target: &Target) -> Result<()> {
        for (key, _) in &target.fragment {
            let known = url_infer::known_keys();
            if !known.contains(&key.as_str())
                && let Some(near) = known.into_iter().find(|known| distance(key, known) == 1)
            {
                let what = format!("{target}: the fragment has {key}=, which nobody here knows; is {near}= meant?");
                return Err(ErrorKind::Inval.context(what));
            }
        }
        for mode in &target.modes {
            if !url_infer::is_known_mode(mode) && !self.knows(mode)? && !self.leaves_to_others(target) {
                return Err(ErrorKind::Inval
                    .context(format!("{target}: nobody here knows mode {mode:?}; {}", self.nearest(mode))));
            }
        }
        Ok(())
    }

    fn knows(&self, mode: &str) -> Result<bool> {
        let is_known = |kind| self.known_as(kind, mode).is_some();
        Ok(is_known(PluginKind::Driver)
            || is_known(PluginKind::Map)
            || self.driver_by_mode(mode)?.is_some()
            || self.map_by_mode(mode)?.is_some())
    }

    /// Whether somebody else's driver or map is named.
    fn leaves_to_others(&self, target: &Target) -> bool {
        let named = |word: &str| target.has_mode(word) || target.scheme.name() == Some(word);
        self.plugins().iter().any(|plugin| {
            plugin.origin != Origin::Table
                && !plugin.hidden
                && matches!(plugin.kind, PluginKind::Driver | PluginKind::Map)
                && (named(plugin.name) || plugin.words.iter().any(|word| named(word)))
        })
    }

    /// What may be meant.
    fn nearest(&self, mode: &str) -> String {
        let plugins = self.plugins();
        let own = plugins.iter().filter(|plugin| matches!(plugin.kind, PluginKind::Driver | PluginKind::Map));
        let own = own.flat_map(|plugin| plugin.words.iter().copied().chain([plugin.name]));
        let words: Vec<&str> = url_infer::known_modes().iter().copied().chain(own).collect();
        let most = mode.chars().count().div_ceil(3);
        let near = words.iter().map(|word| (distance(mode, word), word)).filter(|(far, _)| *far <= most).min();
        match near {
            Some((_, near)) => format!("is {near:?} meant?"),
            None => "there are nczarr, zarr, classic, cdf5, nc4 …".to_owned(),
        }
    }
}

/// How many letters are to be changed, left out, put in or swapped with the next one to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (at, letter) in one.iter().enumerate() {
        let mut row = vec![at + 1];
        for (place, there) in other.iter().enumerate() {
            let above = &rows[at];
            let mut least = (above[place + 1] + 1).min(row[place] + 1).min(above[place] + usize::from(letter != there));
            if at > 0 && place > 0 && letter == &other[place - 1] && &one[at - 1] == there {
                least = least.min(rows[at - 1][place - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_alike() {
        for (one, other, far) in [
            ("zar", "zarr", 1),
            ("zarr", "zarr", 0),
            ("nczar", "nczarr", 1),
            ("mdoe", "mode", 1),
            ("mod", "mode", 1),
            ("", "v3", 2),
            ("hdf6", "hdf5", 1),
            ("colour", "mode", 5),
        ] {
            assert_eq!(distance(one, other), far, "{one} {other}");
            assert_eq!(distance(other, one), far, "{other} {one}");
        }
    }

    #[test]
    fn what_nobody_knows_is_refused_with_what_may_be_meant() {
        let registry = Registry::new();
        let check = |url: &str| registry.check_words(&url_infer::parse(url).unwrap());
        for (url, what) in [
            ("a.nc#mode=zar", "nobody here knows mode \"zar\"; is \"zarr\" meant?"),
            ("x.zarr#mode=nczar", "mode \"nczar\"; is \"nczarr\" meant?"),
            ("x.zarr#mode=zarr,v33", "mode \"v33\"; is \"v3\" meant?"),
            ("https://h/x.zarr#mode=tralala", "mode \"tralala\"; there are nczarr, zarr"),
            ("x.zarr#mod=zarr", "the fragment has mod=, which nobody here knows; is mode= meant?"),
            (
                "x.zarr#mode=zarr&missing_chunk=warn",
                "missing_chunk=, which nobody here knows; is missing_chunks= meant?",
            ),
        ] {
            let error = check(url).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Inval);
            assert!(error.to_string().contains(what), "{error}");
        }
        for url in
            ["a.nc", "a.nc#mode=zarr,v3", "x#mode=udf3", "x#mode=zarr&colour=red&token=hush", "s3://b/x#mode=gs3"]
        {
            check(url).unwrap();
        }
        let error = check("x#mode=zar&token=hush").unwrap_err().to_string();
        assert!(!error.contains("hush"), "{error}");
    }
}

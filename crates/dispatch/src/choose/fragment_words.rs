//! Checks the words of a fragment, so that a typing error is reported and does not change the meaning.
//!
//! An unknown value of `mode` is an error in three cases: it differs by one letter from a known value, no
//! value is known, or the dataset is new. This holds even if the content shows the format. Beside a known
//! value, opening ignores unknown values, as netCDF-C does. A third-party driver or map may have its own
//! values, if a mode or the scheme names it. If such a plugin is only registered, values that are not typing
//! errors pass.
//!
//! Unknown keys are ignored, as in netCDF-C: other programs keep their keys in the same fragment. A key that
//! differs by one letter from a known key is an error. Keys of up to four letters resemble many words, so
//! they are checked only without a mode.

use nczarr_model::{ErrorKind, Result};
use nczarr_url_infer::Target;

use crate::{Origin, PluginDescription, PluginKind, Registry};

/// Keys of at most this length resemble many words.
const SHORT: usize = 4;

impl Registry {
    /// Checks that the words of a fragment are known.
    ///
    /// # Errors
    /// `NC_EINVAL` that names the word and the nearest known one.
    pub(super) fn check_words(&self, target: &Target, created: bool) -> Result<()> {
        for (key, _) in &target.fragment {
            let known = nczarr_url_infer::known_keys();
            if !known.contains(&key.as_str())
                && let Some(near) = known.into_iter().find(|known| {
                    (target.modes.is_empty() || known.len() > SHORT) && distance(key, known) == 1
                })
            {
                let what = format!("{target}: unknown option `{key}`; did you mean `{near}`?");
                return Err(ErrorKind::Inval.context(what));
            }
        }
        let mut unknown = Vec::new();
        for mode in &target.modes {
            if !nczarr_url_infer::is_known_mode(mode) && !self.knows(mode)? {
                unknown.push(mode);
            }
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let some = unknown.len() < target.modes.len() || self.others(|_| true);
        for mode in unknown {
            let may_be = some && !created && self.near(mode).is_none_or(|(far, _)| far > 1);
            if !may_be && !self.leaves_to_others(target) {
                return Err(ErrorKind::Inval
                    .context(format!("{target}: unknown mode `{mode}`; {}", self.nearest(mode))));
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

    /// Whether a third-party driver or map is named.
    fn leaves_to_others(&self, target: &Target) -> bool {
        let named = |word: &str| target.has_mode(word) || target.scheme.name() == Some(word);
        self.others(|plugin| named(plugin.name) || plugin.aliases.iter().any(|word| named(word)))
    }

    /// Whether a matching third-party driver or map is registered.
    fn others(&self, is_such: impl Fn(&PluginDescription) -> bool) -> bool {
        self.plugins().iter().any(|plugin| {
            plugin.origin != Origin::Table
                && !plugin.hidden
                && matches!(plugin.kind, PluginKind::Driver | PluginKind::Map)
                && is_such(plugin)
        })
    }

    /// Returns the known mode with the smallest edit distance, and the distance.
    fn near(&self, mode: &str) -> Option<(usize, &'static str)> {
        let plugins = self.plugins();
        let own = plugins.iter().filter(|plugin| matches!(plugin.kind, PluginKind::Driver | PluginKind::Map));
        let own = own.flat_map(|plugin| plugin.aliases.iter().copied().chain([plugin.name]));
        let words: Vec<&str> = nczarr_url_infer::known_modes().iter().copied().chain(own).collect();
        words.into_iter().map(|word| (distance(mode, word), word)).min()
    }

    /// Returns a suggestion for an unknown mode.
    fn nearest(&self, mode: &str) -> String {
        let most = mode.chars().count().div_ceil(3);
        match self.near(mode).filter(|(far, _)| *far <= most) {
            Some((_, near)) => format!("did you mean `{near}`?"),
            None => "known modes are nczarr, zarr, classic, cdf5, nc4 …".to_owned(),
        }
    }
}

/// Returns the edit distance of two words: changed, omitted, inserted and swapped letters.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (at, letter) in one.iter().enumerate() {
        let mut row = vec![at + 1];
        for (place, there) in other.iter().enumerate() {
            let above = &rows[at];
            let mut least =
                (above[place + 1] + 1).min(row[place] + 1).min(above[place] + usize::from(letter != there));
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
    fn similar_words_are_found() {
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
    fn unknown_words_are_refused_with_suggestions() {
        let registry = Registry::new();
        let check = |url: &str| registry.check_words(&nczarr_url_infer::parse(url).unwrap(), false);
        for (url, what) in [
            ("a.nc#mode=zar", "unknown mode `zar`; did you mean `zarr`?"),
            ("x.zarr#mode=nczar", "mode `nczar`; did you mean `nczarr`?"),
            ("x.zarr#mode=zarr,v33", "mode `v33`; did you mean `v3`?"),
            ("https://h/x.zarr#mode=tralala", "mode `tralala`; known modes are nczarr, zarr"),
            ("x.zarr#mod=zarr", "unknown option `mod`; did you mean `mode`?"),
            (
                "x.zarr#mode=zarr&missing_chunk=warn",
                "unknown option `missing_chunk`; did you mean `missing_chunks`?",
            ),
        ] {
            let error = check(url).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Inval);
            assert!(error.to_string().contains(what), "{error}");
        }
        for url in [
            "a.nc",
            "a.nc#mode=zarr,tralala",
            "a.nc#mode=zarr,s3&token",
            "a.nc#mode=zarr&model=a&node=b&code=c",
            "a.nc#mode=zarr,v3",
            "x#mode=udf3",
            "x#mode=zarr&colour=red&token=hush",
            "s3://b/x#mode=gs3",
        ] {
            check(url).unwrap();
        }
        let created =
            registry.check_words(&nczarr_url_infer::parse("a.zarr#mode=zarr,tralala").unwrap(), true);
        assert!(created.unwrap_err().to_string().contains("tralala"));
        let error = check("x#mode=zar&token=hush").unwrap_err().to_string();
        assert!(!error.contains("hush"), "{error}");
    }
}

//! Whether somebody knows the words of a fragment, so that a slip of the pen is an error and does not mean something else.
//!
//! A value of `mode` that nobody here knows is refused where it is a letter away from a known one, where no value is known, and for
//! a new dataset; also where what is there is recognised by its content. Beside a known value netCDF-C ignores such ones on opening, and
//! so is done here. Where a driver or map of a third party is named, or its scheme is the path's, other values may be its own, and
//! are left to it; where one is only there, those are that are no slips.
//!
//! Keys that nobody knows are ignored, as netCDF-C does: other programs keep theirs in the same fragment. But one that is a letter
//! away from a key of ours is that key misspelt, and refused; of short keys, which many words are like, where no mode is given.

use nczarr_model::{ErrorKind, Result};
use nczarr_url_infer::Target;

use crate::{Origin, Plugin, PluginKind, Registry};

/// Keys of so many letters are like many words.
const SHORT: usize = 4;

impl Registry {
    /// Whether the words of a fragment are known.
    ///
    /// # Errors
    /// `NC_EINVAL` naming the word, and the nearest one that is known.
    pub(super) fn check_words(&self, target: &Target, created: bool) -> Result<()> {
        for (key, _) in &target.fragment {
            let known = nczarr_url_infer::known_keys();
            if !known.contains(&key.as_str())
                && let Some(near) = known
                    .into_iter()
                    .find(|known| (target.modes.is_empty() || known.len() > SHORT) && distance(key, known) == 1)
            {
                let what = format!("{target}: the fragment has {key}=, which nobody here knows; is {near}= meant?");
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
        self.others(|plugin| named(plugin.name) || plugin.words.iter().any(|word| named(word)))
    }

    /// Whether there is such a driver or map of somebody else.
    fn others(&self, is_such: impl Fn(&Plugin) -> bool) -> bool {
        self.plugins().iter().any(|plugin| {
            plugin.origin != Origin::Table
                && !plugin.hidden
                && matches!(plugin.kind, PluginKind::Driver | PluginKind::Map)
                && is_such(plugin)
        })
    }

    /// The known mode that is most alike, and how many letters away.
    fn near(&self, mode: &str) -> Option<(usize, &'static str)> {
        let plugins = self.plugins();
        let own = plugins.iter().filter(|plugin| matches!(plugin.kind, PluginKind::Driver | PluginKind::Map));
        let own = own.flat_map(|plugin| plugin.words.iter().copied().chain([plugin.name]));
        let words: Vec<&str> = nczarr_url_infer::known_modes().iter().copied().chain(own).collect();
        words.into_iter().map(|word| (distance(mode, word), word)).min()
    }

    /// What may be meant.
    fn nearest(&self, mode: &str) -> String {
        let most = mode.chars().count().div_ceil(3);
        match self.near(mode).filter(|(far, _)| *far <= most) {
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
        let check = |url: &str| registry.check_words(&nczarr_url_infer::parse(url).unwrap(), false);
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
        let created = registry.check_words(&nczarr_url_infer::parse("a.zarr#mode=zarr,tralala").unwrap(), true);
        assert!(created.unwrap_err().to_string().contains("tralala"));
        let error = check("x#mode=zar&token=hush").unwrap_err().to_string();
        assert!(!error.contains("hush"), "{error}");
    }
}

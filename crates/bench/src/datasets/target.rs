//! [`BenchTarget`]: a place that datasets are written to, or an existing dataset.

use std::path::Path;

use nczarr::{ErrorKind, Registry, Result};

/// A place that a benchmark measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchTarget {
    label: String,
    place: TargetKind,
}

/// The way from a target to the URLs of its datasets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TargetKind {
    /// A temporary store in the map of this name.
    Map(String),
    /// Temporary datasets below this URL or path, or next to it.
    Prefix(String),
    /// An existing dataset, which is only read.
    Existing(ExistingVariable),
}

/// A variable of an existing dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExistingVariable {
    /// The dataset.
    pub url: String,
    /// The path of the variable. `None`: the only one of the root group.
    pub variable: Option<String>,
}

impl BenchTarget {
    /// Names a registered map. Its datasets lie in a temporary directory, or have a temporary name.
    pub fn map(name: impl Into<String>) -> Self {
        let name = name.into();
        Self { label: name.clone(), place: TargetKind::Map(name) }
    }

    /// Names a URL or path below which, or next to which, temporary datasets are written.
    ///
    /// `s3://bucket/prefix` has them below the prefix, and an existing directory has them inside.
    /// `dir/x.zip` and `dir/x` have them next to it: `dir/x-NAME.zip`. The modes behind `#` apply.
    pub fn prefix(url: impl Into<String>) -> Self {
        let url = url.into();
        Self { label: printable(&url), place: TargetKind::Prefix(url) }
    }

    /// Names a variable of an existing dataset, which is only read. Without a path it is the only variable
    /// of the root group.
    pub fn existing(url: impl Into<String>, variable: Option<&str>) -> Self {
        let url = url.into();
        let label = variable.map_or(printable(&url), |variable| format!("{} {variable}", printable(&url)));
        Self {
            label,
            place: TargetKind::Existing(ExistingVariable { url, variable: variable.map(str::to_owned) }),
        }
    }

    /// Reads a target: the name of a registered map, an address on a web server (for reading), or a prefix.
    ///
    /// A word without `/`, `:`, `.` and `#` is always the name of a map.
    ///
    /// # Errors
    /// `NC_ENOTBUILT` for an unknown map; `NC_EINVAL` for a map that needs a URL.
    ///
    /// ```
    /// use nczarr_bench::BenchTarget;
    /// # fn main() -> nczarr::Result<()> {
    /// let registry = nczarr::registry()?;
    /// assert_eq!(BenchTarget::parse("zip", &registry)?, BenchTarget::map("zip"));
    /// assert_eq!(BenchTarget::parse("/tmp/x", &registry)?, BenchTarget::prefix("/tmp/x"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn parse(text: &str, registry: &Registry) -> Result<Self> {
        if !text.contains(['/', ':', '.', '#']) {
            registry.map(text)?;
            return match text {
                "s3" | "http" => Err(ErrorKind::Inval.context(format!(
                    "target {text}: the map has no temporary place (expected a URL); give a target such as {text}://…"
                ))),
                _ => Ok(Self::map(text)),
            };
        }
        let target = nczarr_url_infer::parse(text)?;
        let is_web = ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme));
        Ok(if is_web && !target.has_mode("s3") { Self::existing(text, None) } else { Self::prefix(text) })
    }

    /// Sets the variable of a target that is only read; other targets ignore it.
    #[must_use]
    pub fn with_variable(self, variable: &str) -> Self {
        match self.place {
            TargetKind::Existing(existing) => Self::existing(existing.url, Some(variable)),
            _ => self,
        }
    }

    /// Returns its name in the results, without secrets.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Whether it is only read.
    pub fn is_read_only(&self) -> bool {
        matches!(self.place, TargetKind::Existing(_))
    }

    pub(crate) fn existing_variable(&self) -> Option<&ExistingVariable> {
        match &self.place {
            TargetKind::Existing(existing) => Some(existing),
            _ => None,
        }
    }

    /// Returns the URL of a dataset of this name; `dir` is the temporary directory.
    ///
    /// # Errors
    /// `NC_EINVAL` if the directory is not UTF-8.
    pub(crate) fn url(&self, dir: &Path, name: &str) -> Result<String> {
        match &self.place {
            TargetKind::Map(map) => {
                let path = dir.join(name);
                let text = path.to_str().ok_or_else(|| {
                    ErrorKind::Inval.context(format!(
                        "{}: the path is not UTF-8; use another temporary directory",
                        path.display()
                    ))
                })?;
                Ok(format!("{text}#mode=nczarr,{map}"))
            }
            TargetKind::Prefix(prefix) => Ok(below(prefix, name)),
            TargetKind::Existing(existing) => Ok(existing.url.clone()),
        }
    }
}

/// Adds a name to a prefix: as its last segment, or before its ending.
fn below(prefix: &str, name: &str) -> String {
    let (location, fragment) = cut(prefix, '#');
    let is_url = location.contains("://");
    let (path, query) = if is_url { cut(location, '?') } else { (location, "") };
    let start = path.find("://").map_or(0, |at| at + 3);
    let last =
        path[start..].rfind('/').map(|at| start + at + 1).unwrap_or(if is_url { path.len() } else { 0 });
    let ending = path[last..].rfind('.').filter(|&at| at > 0).map(|at| last + at);
    let named = match ending {
        _ if path.ends_with('/') => format!("{path}{name}"),
        _ if !is_url && Path::new(path).is_dir() => format!("{path}/{name}"),
        Some(at) => format!("{}-{name}{}", &path[..at], &path[at..]),
        None if is_url => format!("{path}/{name}"),
        None => format!("{path}-{name}"),
    };
    format!("{named}{query}{fragment}")
}

/// Splits a text before the first `mark`.
fn cut(text: &str, mark: char) -> (&str, &str) {
    text.split_at(text.find(mark).unwrap_or(text.len()))
}

/// Returns a URL without user info, query, and keys behind `#` other than the mode.
fn printable(url: &str) -> String {
    let (location, fragment) = cut(url, '#');
    let modes: Vec<&str> =
        fragment.trim_start_matches('#').split('&').filter(|pair| pair.starts_with("mode=")).collect();
    let plain = match location.split_once("://") {
        Some((scheme, rest)) => {
            let path = cut(rest, '?').0;
            let (host, path) = cut(path, '/');
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            format!("{scheme}://{host}{path}")
        }
        None => location.to_owned(),
    };
    if modes.is_empty() { plain } else { format!("{plain}#{}", modes.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datasets_lie_below_a_prefix_or_next_to_it() {
        for (prefix, want) in [
            ("s3://bucket", "s3://bucket/N"),
            ("s3://my.bucket", "s3://my.bucket/N"),
            ("s3://bucket/a.b/prefix", "s3://bucket/a.b/prefix/N"),
            ("s3://bucket/x.zarr?v=1#mode=zarr,v3", "s3://bucket/x-N.zarr?v=1#mode=zarr,v3"),
            ("memory://x", "memory://x/N"),
            ("/no/such/x", "/no/such/x-N"),
            ("/no/such/", "/no/such/N"),
            ("/", "/N"),
            ("x.zip", "x-N.zip"),
            ("dir.d/x", "dir.d/x-N"),
            (".hidden", ".hidden-N"),
            ("a?b#mode=v3", "a?b-N#mode=v3"),
        ] {
            assert_eq!(below(prefix, "N"), want, "{prefix}");
        }
        let dir = tempfile::tempdir().unwrap();
        let text = dir.path().to_str().unwrap();
        assert_eq!(below(text, "N"), format!("{text}/N"));
    }

    #[test]
    fn labels_have_no_secrets() {
        for (url, want) in [
            ("https://user:key@host/x.zarr?token=1#mode=s3&aws.key=2", "https://host/x.zarr#mode=s3"),
            ("s3://bucket/x#aws.profile=p", "s3://bucket/x"),
            ("/data/a@b?c", "/data/a@b?c"),
        ] {
            assert_eq!(BenchTarget::prefix(url).label(), want);
        }
    }

    #[test]
    fn texts_are_maps_or_prefixes_or_for_reading() {
        let registry = nczarr::registry().unwrap();
        let parse = |text: &str| BenchTarget::parse(text, &registry);
        assert_eq!(parse("mem").unwrap(), BenchTarget::map("mem"));
        assert_eq!(parse("memory://a").unwrap(), BenchTarget::prefix("memory://a"));
        let web = parse("https://host/x.zarr").unwrap();
        assert_eq!(web, BenchTarget::existing("https://host/x.zarr", None));
        assert_eq!(web.with_variable("/t").label(), "https://host/x.zarr /t");
        assert!(!parse("https://host/bucket/x#mode=zarr,s3").unwrap().is_read_only());
        assert_eq!(parse("tape").unwrap_err().kind(), ErrorKind::NotBuilt);
        assert_eq!(parse("http").unwrap_err().kind(), ErrorKind::Inval);
    }
}

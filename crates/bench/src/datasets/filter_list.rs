//! [`FilterList`]: the filters of a combination, with their name in the results.

use nczarr::codec::FilterText;
use nczarr::{FilterSpec, Registry, Result};

/// No filter.
const NONE: &str = "none";

/// Some filters, and their name in the results.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FilterList {
    /// The name.
    pub label: String,
    /// The filters, in the order of writing.
    pub filters: Vec<FilterSpec>,
}

impl FilterList {
    /// Creates a list of known filters.
    pub fn new(label: impl Into<String>, filters: Vec<FilterSpec>) -> Self {
        Self { label: label.into(), filters }
    }

    /// Parses filters in the form `name[,param…]`, joined by `|`, or `none`.
    ///
    /// # Errors
    /// `NC_EINVAL` for a malformed text, `NC_ENOFILTER` for an unknown filter.
    pub fn parse(registry: &Registry, text: &str) -> Result<Self> {
        if text == NONE {
            return Ok(Self::new(NONE, Vec::new()));
        }
        let filters = FilterText::parse_list(text)?;
        let filters = filters.iter().map(|filter| registry.filter_spec(filter)).collect::<Result<_>>()?;
        Ok(Self::new(text, filters))
    }

    /// Names the filters of an existing variable.
    pub(crate) fn of_variable(filters: Vec<FilterSpec>) -> Self {
        let one = |filter: &FilterSpec| {
            let params: String = filter.params.iter().map(|param| format!(",{param}")).collect();
            format!("{}{params}", filter.name)
        };
        let label = match filters.as_slice() {
            [] => NONE.to_owned(),
            some => some.iter().map(one).collect::<Vec<_>>().join("|"),
        };
        Self::new(label, filters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_filters() {
        let registry = nczarr::registry().unwrap();
        let two = FilterList::parse(&registry, "shuffle|zstd,3").unwrap();
        assert_eq!((two.filters.len(), two.label.as_str()), (2, "shuffle|zstd,3"));
        assert_eq!(FilterList::of_variable(two.filters[1..].to_vec()).label, "zstd,3");
        assert!(FilterList::parse(&registry, "none").unwrap().filters.is_empty());
        assert_eq!(FilterList::of_variable(Vec::new()).label, "none");
        assert!(FilterList::parse(&registry, "nosuch").is_err());
    }
}

//! [`StoredLength`]: the places of a dimension's length in one document.
//!
//! They are changed in the parsed document, so all other members survive. `reserve` decides which documents
//! to change.

use crate::metadata::json::Json;

/// The places of a dimension's length in one document.
#[derive(Debug)]
pub(crate) enum StoredLength {
    /// In `shape` of an array of this rank, at these positions.
    Shape { rank: usize, positions: Vec<usize> },
    /// In the declaration of the dimension by a group.
    Declared {
        /// The attribute with the declarations.
        attribute: &'static str,
        name: String,
        /// Whether the document has attributes as a member, as in V3.
        is_v3: bool,
    },
}

impl StoredLength {
    /// Returns the greatest stored length; `None` if the document has none.
    pub(crate) fn get(&self, document: &mut Json) -> Option<u64> {
        self.places(document).into_iter().map(|place| place.as_u64()).max().flatten()
    }

    /// Raises the stored lengths to at least `len`; returns whether one changed.
    pub(crate) fn raise(&self, document: &mut Json, len: u64) -> bool {
        let mut is_changed = false;
        for place in self.places(document) {
            if place.as_u64().is_some_and(|stored| stored < len) {
                *place = Json::int(len);
                is_changed = true;
            }
        }
        is_changed
    }

    fn places<'d>(&self, document: &'d mut Json) -> Vec<&'d mut Json> {
        match self {
            Self::Shape { rank, positions } => {
                let Some(Json::Array(shape)) = member(document, "shape") else { return Vec::new() };
                if shape.len() != *rank {
                    return Vec::new();
                }
                let at = shape.iter_mut().enumerate();
                at.filter(|(at, _)| positions.contains(at)).map(|(_, len)| len).collect()
            }
            Self::Declared { attribute, name, is_v3 } => {
                let attributes = if *is_v3 { member(document, "attributes") } else { Some(document) };
                let dims = attributes
                    .and_then(|attributes| member(attributes, attribute))
                    .and_then(|group| member(group, "dimensions"));
                let dim = match dims {
                    // The form of the definition of NCZarr V3.
                    Some(Json::Array(dims)) => {
                        let is_it = |dim: &Json| {
                            dim.as_object().and_then(|dim| dim.get("name")).and_then(Json::as_str)
                                == Some(name.as_str())
                        };
                        dims.iter_mut().find(|dim| is_it(dim))
                    }
                    Some(dims) => member(dims, name),
                    None => None,
                };
                dim.and_then(|dim| member(dim, "size")).into_iter().collect()
            }
        }
    }
}

/// Returns a member of an object.
pub(crate) fn member<'d>(value: &'d mut Json, name: &str) -> Option<&'d mut Json> {
    match value {
        Json::Object(members) => members.get_mut(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use nczarr_dispatch::Limits;

    use super::*;
    use crate::metadata::attributes::{NCZARR_GROUP, NETCDF};
    use crate::metadata::json::{self, text};

    fn raised(place: &StoredLength, document: &str, len: u64) -> (Option<u64>, bool, String) {
        let mut parsed = json::parse(document.as_bytes(), &Limits::default()).unwrap();
        let before = place.get(&mut parsed);
        let changed = place.raise(&mut parsed, len);
        (before, changed, text(&parsed))
    }

    fn declared(attribute: &'static str, is_v3: bool) -> StoredLength {
        StoredLength::Declared { attribute, name: "t".to_owned(), is_v3 }
    }

    #[test]
    fn only_the_length_of_the_dimension_grows() {
        let square = StoredLength::Shape { rank: 3, positions: vec![0, 2] };
        for (place, document, expected) in [
            (&square, r#"{"shape": [2, 5, 3], "x": NaN}"#, Some((3, r#"{"shape": [4, 5, 4], "x": NaN}"#))),
            (&square, r#"{"shape": [4, 5, 9]}"#, Some((9, r#"{"shape": [4, 5, 9]}"#))),
            (&square, r#"{"shape": [2, 5]}"#, None),
            (&square, r#"{"shape": 2}"#, None),
            (&square, "[]", None),
            (
                &declared(NCZARR_GROUP, false),
                r#"{"_nczarr_group": {"dimensions": {"x": 1, "t": {"size": 2, "unlimited": 1}}}}"#,
                Some((2, r#"{"_nczarr_group": {"dimensions": {"x": 1, "t": {"size": 4, "unlimited": 1}}}}"#)),
            ),
            (&declared(NCZARR_GROUP, false), r#"{"_nczarr_group": {"dimensions": {"t": 2}}}"#, None),
            (
                &declared(NCZARR_GROUP, true),
                r#"{"attributes": {"_nczarr_group": {"dimensions": [{"name": "t", "size": 3}]}}}"#,
                Some((3, r#"{"attributes": {"_nczarr_group": {"dimensions": [{"name": "t", "size": 4}]}}}"#)),
            ),
            (
                &declared(NETCDF, true),
                r#"{"attributes": {"_netcdf": {"dimensions": {"t": {"size": 0}}}}}"#,
                Some((0, r#"{"attributes": {"_netcdf": {"dimensions": {"t": {"size": 4}}}}}"#)),
            ),
            (&declared(NETCDF, false), r#"{"_netcdf": {"dimensions": {"u": {"size": 0}}}}"#, None),
            (&declared(NETCDF, false), "{}", None),
        ] {
            let (before, changed, after) = raised(place, document, 4);
            let compact = |text: &str| text.replace(' ', "");
            match expected {
                Some((len, expected)) => {
                    assert_eq!((before, compact(&after)), (Some(len), compact(expected)), "{document}");
                    assert_eq!(changed, compact(document) != compact(expected), "{document}");
                }
                None => assert_eq!((before, changed), (None, false), "{document}"),
            }
        }
    }
}

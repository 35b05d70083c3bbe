//! Finds the filter of a [`Codec`] in a registry, and checks its parameters.

use nczarr_codec::{Filter, FilterClass, Json, ZarrFormat};
use nczarr_dispatch::Registry;
use nczarr_model::{Error, ErrorKind, FilterSpec, Result};

use super::{Codec, CodecForm};

/// The longest description in a message, in characters.
const SHOWN: usize = 100;

impl Codec {
    /// Returns the specification of its filter, with complete parameters.
    ///
    /// # Errors
    /// `NC_ENOFILTER` if the registry has no such filter; the filter's error about its parameters.
    pub(super) fn resolve(&self, registry: &Registry) -> Result<FilterSpec> {
        let found = match &self.form {
            CodecForm::Params(text) => registry.filter_spec(text),
            CodecForm::Json(text) => {
                described(text, registry).map_err(|error| error.at(format_args!("codec {}", shortened(text))))
            }
        };
        found.map_err(as_missing_filter)
    }
}

/// Reports a filter that this build lacks as a missing filter, as netCDF-C does.
pub(crate) fn as_missing_filter(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotBuilt => ErrorKind::NoFilter.context(error.what()),
        _ => error,
    }
}

/// Returns the specification for a codec description.
fn described(text: &str, registry: &Registry) -> Result<FilterSpec> {
    let codec: Json =
        text.parse().map_err(|error| ErrorKind::Inval.context("the text is not JSON").caused_by(error))?;
    let (format, name) = match (&codec["id"], &codec["name"], &codec) {
        (Json::String(id), ..) => (ZarrFormat::V2, id),
        (_, Json::String(name), _) | (_, _, Json::String(name)) => (ZarrFormat::V3, name),
        _ => {
            let expected = "a member \"id\" as in numcodecs, or \"name\" as in Zarr V3";
            return Err(ErrorKind::Inval.context(format!("no filter is named (expected {expected})")));
        }
    };
    let class = match format {
        ZarrFormat::V2 => registry.filter(name)?,
        ZarrFormat::V3 => registry.v3_codec(name)?,
    };
    let filter = class.parse_json(&codec, format)?;
    check_members(&codec, format, &*filter)?;
    let params = filter.params().into_owned();
    let mut spec =
        FilterSpec { hdf5_id: class.info().hdf5_id, name: class.info().name.to_owned(), params, codec: None };
    if !is_same(class.parse_params(&spec.params), &*filter) {
        spec.codec = Some(description(&**class, &*filter).to_string());
    }
    Ok(spec)
}

/// Returns the description that has all of the filter: that of V2 if possible, since V3 datasets read it too.
fn description(class: &dyn FilterClass, filter: &dyn Filter) -> Json {
    match filter.to_json(ZarrFormat::V2) {
        v2 if !v2.is_null() && is_same(class.parse_json(&v2, ZarrFormat::V2), filter) => v2,
        _ => filter.to_json(ZarrFormat::V3),
    }
}

/// Whether a filter was made, and has the same descriptions.
fn is_same(made: Result<Box<dyn Filter>>, filter: &dyn Filter) -> bool {
    let formats = [ZarrFormat::V2, ZarrFormat::V3];
    made.is_ok_and(|made| formats.iter().all(|&format| made.to_json(format) == filter.to_json(format)))
}

/// Checks that the filter has each given member, with the given number. Readers need not be that strict: the
/// filters accept other members and move levels into their range.
fn check_members(codec: &Json, format: ZarrFormat, filter: &dyn Filter) -> Result<()> {
    let members = |codec: &Json, format| match format {
        ZarrFormat::V2 => codec.as_object().cloned().unwrap_or_default(),
        ZarrFormat::V3 => codec["configuration"].as_object().cloned().unwrap_or_default(),
    };
    let (v2, v3) = (filter.to_json(ZarrFormat::V2), filter.to_json(ZarrFormat::V3));
    let mut known = members(&v2, ZarrFormat::V2);
    known.extend(members(&v3, ZarrFormat::V3));
    // Both versions name the filter, and numcodecs' names differ.
    known.remove("id");
    for (name, given) in &members(codec, format) {
        let is_name = format == ZarrFormat::V2 && name == "id";
        match known.get(name) {
            _ if is_name || given.is_null() => {}
            None => {
                let expected: Vec<_> = known.keys().collect();
                return Err(ErrorKind::Filter
                    .context(format!("the member {name:?} is unknown (expected some of {expected:?})")));
            }
            Some(used) if given.is_number() && used.is_number() && given.as_f64() != used.as_f64() => {
                return Err(ErrorKind::Inval.context(format!(
                    "the member {name:?} is out of range (expected {used}, found {given})"
                )));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Shortens a description for a message.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known plugins of the project without any filter: a build without the features.
    #[test]
    fn a_filter_missing_in_the_build_is_an_error() {
        let registry = crate::builtin::without_filters();
        for codec in [Codec::zstd(3), Codec::json(r#"{"id": "zstd"}"#), Codec::json(r#"{"name": "zstd"}"#)] {
            let error = codec.resolve(&registry).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NoFilter, "{error}");
            assert!(error.to_string().contains("enable the feature \"zstd\""), "{error}");
        }
    }

    #[cfg(all(feature = "nczarr", feature = "mem"))]
    #[test]
    fn all_ways_to_set_a_filter_report_it_as_missing() {
        let options = crate::CreateOptions::new().registry(crate::builtin::without_filters());
        let file = options.create("memory://missing-filter").unwrap();
        file.add_dimension("x", 3).unwrap();
        let v = file.add_variable::<i32>("v", &["x"]).unwrap();
        let outcomes =
            [v.set_filter("zstd", &[3]), v.set_filter("32015", &[3]), v.set_codecs([Codec::zstd(3)])];
        for outcome in outcomes.into_iter().chain([v.set_deflate(5, false)]) {
            let error = outcome.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NoFilter, "{error}");
            assert_eq!(error.variable(), Some("/v"), "{error}");
            assert!(error.to_string().contains("enable the feature"), "{error}");
        }
    }
}

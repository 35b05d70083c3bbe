//! Codec descriptions whose members are the HDF5 parameters: the defaults of
//! [`FilterClass::parse_json`](crate::FilterClass::parse_json) and
//! [`Filter::to_json`](crate::Filter::to_json).
//!
//! * Zarr V2: `{"id": "xor", "key": 85}`
//! * Zarr V3: `{"name": "xor", "configuration": {"key": 85}}`, or `{"name": "mirror"}` without parameters

use nczarr_model::{ErrorKind, Result};

use crate::{FilterInfo, Json, ZarrFormat};

/// Returns the parameters in a codec description. A wrong, missing or unknown member is an error.
pub(crate) fn parse(info: &FilterInfo, codec: &Json, format: ZarrFormat) -> Result<Vec<u32>> {
    let members = if format == ZarrFormat::V2 { codec } else { &codec["configuration"] };
    let wrong = |place: &str, expected: &str, found: &Json| {
        let found: String = found.to_string().chars().take(60).collect();
        let name = info.name;
        ErrorKind::Filter
            .context(format!("filter {name}: {place} is invalid (expected {expected}, found {found})"))
    };
    match members {
        Json::Object(members) => {
            let is_id = |name: &str| format == ZarrFormat::V2 && name == "id";
            for (name, value) in members {
                if !info.json_members.contains(&&**name) && !is_id(name) {
                    let expected = format!("only the members {:?}", info.json_members);
                    return Err(wrong(&format!("the member {name:?}"), &expected, value));
                }
            }
        }
        // The short form of a codec, or no configuration.
        Json::Null | Json::String(_) => {}
        other => return Err(wrong("the codec description", "an object", other)),
    }
    let number = |name: &&str| {
        let found = &members[*name];
        let number = found.as_u64().and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| wrong(&format!("the member {name:?}"), "an integer of 32 bits", found))
    };
    info.json_members.iter().map(number).collect()
}

/// Returns the codec description of parameters; `Null` if a parameter has no member.
pub(crate) fn describe(info: &FilterInfo, params: &[u32], format: ZarrFormat) -> Json {
    if params.len() != info.json_members.len() {
        return Json::Null;
    }
    let members = info.json_members.iter().zip(params).map(|(&name, &value)| (name, Json::from(value)));
    match format {
        ZarrFormat::V2 => [("id", Json::from(info.name))].into_iter().chain(members).collect(),
        ZarrFormat::V3 => {
            let name = info.v3_names.and_then(|names| names.first()).unwrap_or(&info.name);
            let configuration = (!params.is_empty()).then(|| ("configuration", members.collect()));
            [("name", Json::from(*name))].into_iter().chain(configuration).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NONE: FilterInfo = FilterInfo::new("mirror", "");
    const TWO: FilterInfo = FilterInfo {
        json_members: &["level", "size"],
        v3_names: Some(&["numcodecs.two"]),
        ..FilterInfo::new("two", "")
    };

    #[test]
    fn descriptions_hold_the_parameters() {
        for (info, params, format, expected) in [
            (&NONE, &[][..], ZarrFormat::V2, json!({"id": "mirror"})),
            (&NONE, &[], ZarrFormat::V3, json!({"name": "mirror"})),
            (&TWO, &[9, u32::MAX], ZarrFormat::V2, json!({"id": "two", "level": 9, "size": u32::MAX})),
            (
                &TWO,
                &[9, 4],
                ZarrFormat::V3,
                json!({"name": "numcodecs.two", "configuration": {"level": 9, "size": 4}}),
            ),
        ] {
            let found = describe(info, params, format);
            assert_eq!(found, expected);
            assert_eq!(parse(info, &found, format).unwrap(), params);
        }
        assert_eq!(describe(&TWO, &[9], ZarrFormat::V3), Json::Null, "a parameter would be lost");
        assert_eq!(parse(&NONE, &json!("mirror"), ZarrFormat::V3).unwrap(), [0; 0], "the short form");
    }

    #[test]
    fn other_members_are_errors() {
        for (codec, text) in [
            (json!({"id": "two", "level": 9}), "\"size\""),
            (json!({"id": "two", "level": -1, "size": 4}), "-1"),
            (json!({"id": "two", "level": 1.5, "size": 4}), "1.5"),
            (json!({"id": "two", "level": 1, "size": 1_u64 << 32}), "4294967296"),
            (json!({"id": "two", "level": 1, "size": 4, "order": 2}), "\"order\""),
            (json!([1]), "an object"),
            (json!("two"), "\"level\""),
        ] {
            let error = parse(&TWO, &codec, ZarrFormat::V2).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Filter);
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}

//! Reads codec descriptions leniently: integers may be strings or floats, members may be missing.
//!
//! netCDF-C 4.9.2 and 4.9.3 wrote integers as strings, and others write them as floats. Decoding needs hardly
//! any of them. This module knows no filter.

use nczarr_codec::{Json, ZarrFormat};
use nczarr_model::{Error, ErrorKind, Result};
use serde_json::{Map, json};

/// The members of one codec description.
#[derive(Clone, Copy)]
pub(crate) struct CodecMembers<'a> {
    filter: &'static str,
    map: Option<&'a Map<String, Json>>,
}

impl<'a> CodecMembers<'a> {
    /// Returns the members of `codec`. Errors name `filter`.
    pub fn of(filter: &'static str, codec: &'a Json, format: ZarrFormat) -> Result<Self> {
        let wrong = |what: &str, found: &Json| {
            ErrorKind::Filter
                .context(format!("{filter}: expected {what} to be an object, found {}", short(found)))
        };
        let map = match (format, codec) {
            (ZarrFormat::V2, Json::Object(map)) => Some(map),
            (ZarrFormat::V3, Json::Object(map)) => match map.get("configuration") {
                Some(Json::Object(configuration)) => Some(configuration),
                None | Some(Json::Null) => None,
                Some(other) => return Err(wrong("\"configuration\"", other)),
            },
            // The short form of a codec without configuration.
            (_, Json::String(_)) => None,
            (_, other) => return Err(wrong("the codec description", other)),
        };
        Ok(Self { filter, map })
    }

    /// Returns a member that is present and not null.
    pub fn get(&self, member: &str) -> Option<&'a Json> {
        self.map?.get(member).filter(|value| !value.is_null())
    }

    /// Returns a member that is not in `known`.
    #[cfg(feature = "numeric")]
    pub fn others(&self, known: &[&str]) -> Option<(&'a str, &'a Json)> {
        let other = |(name, _): &(&String, &Json)| *name != "id" && !known.contains(&name.as_str());
        self.map?.iter().find(other).map(|(name, value)| (name.as_str(), value))
    }

    /// Returns an integer: `5`, `5.0` or `"5"`.
    pub fn int(&self, member: &str) -> Result<Option<i64>> {
        let Some(value) = self.get(member) else { return Ok(None) };
        let found = match value {
            Json::Number(number) => number.as_i64().or_else(|| number.as_f64().and_then(whole)),
            Json::String(text) => {
                let text = text.trim();
                text.parse().ok().or_else(|| text.parse().ok().and_then(whole))
            }
            _ => None,
        };
        match found {
            Some(found) => Ok(Some(found)),
            None => Err(self.wrong(member, "an integer", value)),
        }
    }

    /// Returns a level as HDF5 parameters have it: a signed number, or its two's complement as unsigned 32
    /// bits.
    pub fn level(&self, member: &str) -> Result<Option<i32>> {
        let Some(level) = self.int(member)? else { return Ok(None) };
        match i32::try_from(level).or_else(|_| u32::try_from(level).map(u32::cast_signed)) {
            Ok(level) => Ok(Some(level)),
            Err(_) => Err(self.wrong(member, "a 32-bit integer", &json!(level))),
        }
    }

    /// Returns a boolean: `true`, `1` or `"true"`.
    pub fn flag(&self, member: &str) -> Result<Option<bool>> {
        let Some(value) = self.get(member) else { return Ok(None) };
        match value {
            Json::Bool(flag) => Ok(Some(*flag)),
            Json::String(text) if text == "true" => Ok(Some(true)),
            Json::String(text) if text == "false" => Ok(Some(false)),
            _ => match self.int(member) {
                Ok(Some(0)) => Ok(Some(false)),
                Ok(Some(1)) => Ok(Some(true)),
                _ => Err(self.wrong(member, "true or false", value)),
            },
        }
    }

    /// Returns a number that must be present.
    #[cfg(feature = "numeric")]
    pub fn number(&self, member: &str) -> Result<serde_json::Number> {
        let Some(value) = self.get(member) else { return Err(self.wrong(member, "a number", &Json::Null)) };
        let found = match value {
            Json::Number(number) => Some(number.clone()),
            Json::String(text) => text.trim().parse().ok().and_then(serde_json::Number::from_f64),
            _ => None,
        };
        found.ok_or_else(|| self.wrong(member, "a number", value))
    }

    /// Makes the error for an invalid member.
    pub fn wrong(&self, member: &str, expected: &str, found: &Json) -> Error {
        ErrorKind::Filter.context(format!(
            "{}: expected {member:?} to be {expected}, found {}",
            self.filter,
            short(found)
        ))
    }
}

/// Makes a codec description for either Zarr version; `v2` and `v3` are the codec's names.
pub(crate) fn describe(format: ZarrFormat, v2: &str, v3: &str, members: Json) -> Json {
    match format {
        ZarrFormat::V2 => {
            let mut codec = Map::new();
            codec.insert("id".into(), v2.into());
            if let Json::Object(members) = members {
                codec.extend(members);
            }
            Json::Object(codec)
        }
        ZarrFormat::V3 => json!({"name": v3, "configuration": members}),
    }
}

/// Whether a description is one of V3: V3 has a name, V2 an id.
pub(crate) fn is_v3(codec: &Json) -> bool {
    codec.get("id").is_none() && (codec.is_string() || codec.get("name").is_some())
}

fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() <= 9.0e15).then_some(number as i64)
}

/// Formats a JSON value for an error.
fn short(value: &Json) -> String {
    let mut text = value.to_string();
    if let Some((end, _)) = text.char_indices().nth(60) {
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(codec: Json) -> Result<Option<i32>> {
        CodecMembers::of("test", &codec, ZarrFormat::V2)?.level("level")
    }

    #[test]
    fn integers_come_in_many_spellings() {
        for (json, expected) in [
            (json!({"level": 5}), Some(5)),
            (json!({"level": 5.0}), Some(5)),
            (json!({"level": "5"}), Some(5)),
            (json!({"level": " 5.0 "}), Some(5)),
            (json!({"level": "-5"}), Some(-5)),
            (json!({"level": 4294967291u32}), Some(-5)),
            (json!({"level": null}), None),
            (json!({}), None),
            (json!("zlib"), None),
        ] {
            assert_eq!(level(json.clone()).unwrap(), expected, "{json}");
        }
        for json in [
            json!({"level": 5.5}),
            json!({"level": "five"}),
            json!({"level": "NaN"}),
            json!({"level": [5]}),
            json!({"level": true}),
            json!({"level": 1e300}),
            json!({"level": 4294967296u64}),
            json!({"level": u64::MAX}),
            json!({"level": -2147483649i64}),
        ] {
            let error = level(json.clone()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Filter, "{json}");
            assert!(error.to_string().contains("\"level\""), "{error}");
        }
    }

    #[test]
    fn the_members_are_where_the_generation_has_them() {
        for (json, expected) in [
            (json!({"name": "x", "configuration": {"level": 3}}), Some(3)),
            (json!({"name": "x", "configuration": {}}), None),
            (json!({"name": "x", "configuration": null}), None),
            (json!({"name": "x", "level": 3}), None),
            (json!("x"), None),
        ] {
            assert_eq!(
                CodecMembers::of("x", &json, ZarrFormat::V3).unwrap().int("level").unwrap(),
                expected,
                "{json}"
            );
        }
        for json in [json!({"name": "x", "configuration": [3]}), json!(3), json!(null)] {
            assert!(CodecMembers::of("x", &json, ZarrFormat::V3).is_err(), "{json}");
        }
        let long = Json::String("ü".repeat(1000));
        assert!(short(&long).len() < 200);
    }
}

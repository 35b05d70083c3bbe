//! JSON in the form that Zarr documents really have: a tree that keeps the text of numbers.
//!
//! Parsing accepts known deviations of writers (`NaN`, `01`, `+1`, raw control characters, illegal escapes);
//! bare words become [`Value::Word`]. Writing is strict, see `write`. This module does not know Zarr.
//!
//! A freshly parsed [`Value`] borrows from the document; [`Json`] owns its text. Read [`Value`] first, then
//! [`read`].

mod members;
mod number;
mod parse;
mod split;
mod value;
mod write;

use std::borrow::Cow;

pub(crate) use number::{float, integer, single};
pub(crate) use parse::{ParseBudget, parse, read, read_text, text_of};
pub(crate) use split::{read_around, read_members};
pub(crate) use value::{Json, Object, ObjectMembers, Value};
pub(crate) use write::{quote, text, write_list, write_name, write_number, write_strict, write_string};

impl<'t> Value<'t> {
    /// Makes a string value.
    pub(crate) fn string(text: impl Into<String>) -> Self {
        Self::String(Cow::Owned(text.into()))
    }

    /// Makes an integer.
    pub(crate) fn int(value: impl Into<i128>) -> Self {
        Self::Number(Cow::Owned(value.into().to_string()))
    }

    /// Copies borrowed text.
    pub(crate) fn into_owned(self) -> Json {
        let own = |text: Cow<'t, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(value),
            Self::Number(text) => Json::Number(own(text)),
            Self::Word(text) => Json::Word(own(text)),
            Self::String(text) => Json::String(own(text)),
            Self::Array(items) => Json::Array(items.into_iter().map(Value::into_owned).collect()),
            Self::Object(members) => Json::Object(members.into_owned()),
        }
    }

    /// Names the kind of value, for error messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a truth value",
            Self::Number(_) => "a number",
            Self::Word(_) => "a bare word",
            Self::String(_) => "a string",
            Self::Array(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_array(&self) -> Option<&[Value<'t>]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn as_object(&self) -> Option<&ObjectMembers<'t>> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the members of an object.
    pub(crate) fn into_object(self) -> Option<ObjectMembers<'t>> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the text of a number or of a bare word.
    pub(crate) fn token(&self) -> Option<&str> {
        match self {
            Self::Number(text) | Self::Word(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a truth value, in any letter case.
    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            Self::Word(text) if text.eq_ignore_ascii_case("true") => Some(true),
            Self::Word(text) if text.eq_ignore_ascii_case("false") => Some(false),
            _ => None,
        }
    }

    /// Whether it is `null`, in any letter case.
    pub(crate) fn is_null(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Word(text) => text.eq_ignore_ascii_case("null"),
            _ => false,
        }
    }

    /// Returns an integer: a number without fraction, in any spelling.
    pub(crate) fn as_integer(&self) -> Option<i128> {
        integer(self.token()?)
    }

    /// Returns an integer that fits 64 bits without sign.
    pub(crate) fn as_u64(&self) -> Option<u64> {
        let text = self.token()?;
        // Other spellings of integers are rare.
        text.parse().ok().or_else(|| integer(text)?.try_into().ok())
    }

    /// Whether the whole value is legal JSON, without bare words.
    pub(crate) fn is_strict(&self) -> bool {
        match self {
            Self::Word(_) => false,
            Self::Array(items) => items.iter().all(Self::is_strict),
            Self::Object(members) => members.values().all(Self::is_strict),
            _ => true,
        }
    }

    /// Returns the nearest legal JSON: bare words become numbers, truth values or strings.
    pub(crate) fn to_strict(&self) -> Self {
        match self {
            Self::Word(text) => self.strict_word(text),
            Self::Array(items) => Self::Array(items.iter().map(Self::to_strict).collect()),
            Self::Object(members) => Self::Object(
                members.iter().map(|(name, value)| (name.to_owned(), value.to_strict())).collect(),
            ),
            other => other.clone(),
        }
    }

    fn strict_word(&self, text: &str) -> Self {
        if let Some(value) = self.as_bool() {
            Self::Bool(value)
        } else if self.is_null() {
            Self::Null
        } else if let Some(value) = integer(text) {
            Self::int(value)
        } else {
            match float(text) {
                Some(value) => number::json_float(value),
                None => Self::string(text),
            }
        }
    }

    /// Converts to a codec description for filters: legal JSON.
    pub(crate) fn to_serde(&self) -> nczarr_codec::Json {
        use nczarr_codec::Json as Serde;
        match self {
            Self::Null => Serde::Null,
            Self::Bool(value) => Serde::Bool(*value),
            Self::Number(text) => number::to_serde(text),
            Self::Word(text) => match self.strict_word(text) {
                Self::Word(_) => Serde::Null,
                strict => strict.to_serde(),
            },
            Self::String(text) => Serde::String(text.clone().into_owned()),
            Self::Array(items) => Serde::Array(items.iter().map(Self::to_serde).collect()),
            Self::Object(members) => Serde::Object(
                members.iter().map(|(name, value)| (name.to_owned(), value.to_serde())).collect(),
            ),
        }
    }

    /// Converts from a filter's codec description.
    pub(crate) fn from_serde(value: &nczarr_codec::Json) -> Self {
        use nczarr_codec::Json as Serde;
        match value {
            Serde::Null => Self::Null,
            Serde::Bool(value) => Self::Bool(*value),
            Serde::Number(number) => Self::Number(Cow::Owned(number.to_string())),
            Serde::String(text) => Self::string(text.as_str()),
            Serde::Array(items) => Self::Array(items.iter().map(Self::from_serde).collect()),
            Serde::Object(members) => Self::Object(
                members.iter().map(|(name, value)| (name.clone(), Self::from_serde(value))).collect(),
            ),
        }
    }
}

/// Makes a JSON float: the shortest text that parses back, or a string for NaN and infinities.
pub(crate) use number::json_float;
/// As [`json_float`], for singles.
pub(crate) use number::json_single;

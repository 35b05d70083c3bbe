//! Conversion between the `data_type` member of Zarr V3 and [`DataType`].
//!
//! Stored types have V2's names here (`<i4`, `|V5`, a list of fields), so all rules for types serve both
//! versions. V3 has the byte order in a codec, so the caller passes it. The registry provides further types,
//! under names that are free. A type that neither has (`int4`, `float8_e5m2` …) keeps its name: it is listed,
//! but its data cannot be read.
//!
//! Source: Zarr V3 core specification, its registered extensions, and the types of real writers in the format
//! notes.

use std::borrow::Cow;

use nczarr_codec::Json as Serde;
use nczarr_dispatch::Registry;
use nczarr_model::convert::Half;
use nczarr_model::{Error, ErrorKind, NcType, Result, TimeStep};

use crate::metadata::json::{Json, Object, ObjectMembers, Value, text};
use crate::metadata::types::dtype::{DType, DTypeKind, MAX_WIDTH, PluginType};

/// Types without configuration, and V2's names for them in little-endian and big-endian order.
const NAMES: [(&str, &str, &str); 17] = [
    ("bool", "|b1", "|b1"),
    ("int8", "|i1", "|i1"),
    ("int16", "<i2", ">i2"),
    ("int32", "<i4", ">i4"),
    ("int64", "<i8", ">i8"),
    ("uint8", "|u1", "|u1"),
    ("uint16", "<u2", ">u2"),
    ("uint32", "<u4", ">u4"),
    ("uint64", "<u8", ">u8"),
    ("float16", "<f2", ">f2"),
    ("float32", "<f4", ">f4"),
    ("float64", "<f8", ">f8"),
    ("complex64", "<c8", ">c8"),
    ("complex128", "<c16", ">c16"),
    ("string", "|O", "|O"),
    ("bytes", "|O", "|O"),
    ("variable_length_bytes", "|O", "|O"),
];

const DATETIME: &str = "numpy.datetime64";
const TIMEDELTA: &str = "numpy.timedelta64";
const UTF32: &str = "fixed_length_utf32";
const TERMINATED: &str = "null_terminated_bytes";
const RAW: &str = "raw_bytes";

/// The kind of elements of variable length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableLength {
    /// `string`.
    Text,
    /// `bytes`.
    Bytes,
}

/// A stored type.
#[derive(Debug, Clone)]
pub(crate) struct DataType {
    pub(crate) dtype: DType,
    /// The kind of elements of variable length; `None` for fixed size.
    pub(crate) variable: Option<VariableLength>,
    /// Whether it is the core's `r<N>`.
    pub(crate) is_core_raw: bool,
    /// Why a type of the registry cannot be used.
    pub(crate) problem: Option<Error>,
}

impl DataType {
    /// Parses a `data_type` member. `big_endian` is the byte order in the codec.
    ///
    /// # Errors
    /// [`ErrorKind::NcZarr`] if it is not an extension point.
    pub(crate) fn read(value: &Value<'_>, big_endian: bool, registry: &Registry) -> Result<Self> {
        let none = ObjectMembers::new();
        let (name, configuration) =
            extension(value, &none).map_err(|error| error.at("member \"data_type\""))?;
        let variable = match name {
            "string" => Some(VariableLength::Text),
            "bytes" | "variable_length_bytes" => Some(VariableLength::Bytes),
            _ => None,
        };
        let known = v2(name, configuration, big_endian).and_then(|v2| DType::parse(&v2).ok());
        let mut problem = None;
        let mut dtype = known.filter(|known| known.kind != DTypeKind::Other).unwrap_or_else(|| {
            let found = extension_type(name, configuration, registry).unwrap_or_else(|error| {
                problem = Some(error);
                None
            });
            // V2 names without a V3 meaning are unknown here.
            let text = value.as_str().map_or_else(|| text(value), ToOwned::to_owned);
            let kind = found.as_ref().map_or(DTypeKind::Other, |found| DTypeKind::Extension(found.0.shown()));
            DType { text, kind, big_endian, compound: None, extension: found }
        });
        dtype.big_endian = big_endian && dtype.item_size() != Some(1);
        Ok(Self { dtype, variable, is_core_raw: core_raw(name).is_some(), problem })
    }

    /// Treats the core's raw bytes as text if the fill value is plain text, as NCZarr V3 writers mean it.
    pub(crate) fn detect_text(&mut self, fill: &Value<'_>) {
        if let (DTypeKind::Opaque(width), true, Value::String(text)) =
            (self.dtype.kind, self.is_core_raw, fill)
            && text.len() <= width
        {
            self.dtype = DType::from_name(&format!("|S{width}"));
        }
    }
}

/// Makes a type of the registry; `None` if it has no such type.
fn extension_type(
    name: &str,
    configuration: &ObjectMembers<'_>,
    registry: &Registry,
) -> Result<Option<PluginType>> {
    let class = match registry.data_type(name) {
        Err(error) if error.kind() == ErrorKind::BadType => return Ok(None),
        found => found?,
    };
    class.parse(name, &object(configuration)).map(|found| Some(PluginType(found)))
}

/// Returns a configuration for plugins.
pub(super) fn object(configuration: &ObjectMembers<'_>) -> Serde {
    Serde::Object(configuration.iter().map(|(name, value)| (name.to_owned(), value.to_serde())).collect())
}

/// Returns name and configuration of an extension point: `{"name": …, "configuration": …}`, or the name
/// alone.
///
/// # Errors
/// [`ErrorKind::NcZarr`] if it is neither.
pub(crate) fn extension<'d, 't>(
    value: &'d Value<'t>,
    none: &'d ObjectMembers<'t>,
) -> Result<(&'d str, &'d ObjectMembers<'t>)> {
    let wrong = || {
        ErrorKind::NcZarr
            .context(format!("expected a name, or an object with a \"name\", found {}", short(value)))
    };
    match value {
        Value::String(name) => Ok((name, none)),
        Value::Object(members) => {
            let name = members.get("name").and_then(Value::as_str).ok_or_else(wrong)?;
            match members.get("configuration") {
                None | Some(Value::Null) => Ok((name, none)),
                Some(Value::Object(configuration)) => Ok((name, configuration)),
                Some(found) => Err(ErrorKind::NcZarr.context(format!(
                    "{name:?}: expected \"configuration\" to be an object, found {}",
                    found.kind()
                ))),
            }
        }
        _ => Err(wrong()),
    }
}

/// Renders a value for a message, shortened.
pub(crate) fn short(value: &Value<'_>) -> String {
    let mut text = text(value);
    if let Some((cut, _)) = text.char_indices().nth(100) {
        text.truncate(cut);
        text.push('…');
    }
    text
}

/// Returns V2's name of a type; `None` if it has none.
fn v2(name: &str, configuration: &ObjectMembers<'_>, big_endian: bool) -> Option<Json> {
    if let Some(&(_, little, big)) = NAMES.iter().find(|(v3, ..)| *v3 == name) {
        return Some(Json::String(Cow::Borrowed(if big_endian { big } else { little })));
    }
    let order = if big_endian { '>' } else { '<' };
    let bytes =
        || configuration.get("length_bytes")?.as_u64().filter(|&len| (1..=MAX_WIDTH as u64).contains(&len));
    Some(match name {
        DATETIME | TIMEDELTA => {
            let letter = if name == DATETIME { 'M' } else { 'm' };
            let unit = match configuration.get("unit")?.as_str()? {
                "generic" => String::new(),
                unit => {
                    let unit = if unit == "μs" || unit == "µs" { "us" } else { unit };
                    let step = TimeStep::from_code(unit)?.code();
                    match configuration.get("scale_factor").map(Value::as_u64) {
                        None | Some(Some(1)) => format!("[{step}]"),
                        Some(Some(times)) => format!("[{times}{step}]"),
                        Some(None) => return None,
                    }
                }
            };
            Json::string(format!("{order}{letter}8{unit}"))
        }
        UTF32 => Json::string(format!("{order}U{}", bytes().filter(|bytes| bytes.is_multiple_of(4))? / 4)),
        TERMINATED => Json::string(format!("|S{}", bytes()?)),
        RAW => Json::string(format!("|V{}", bytes()?)),
        "struct" | "structured" => {
            let fields = configuration.get("fields")?.as_array()?;
            return fields
                .iter()
                .map(|field| self::field(field, big_endian))
                .collect::<Option<_>>()
                .map(Json::Array);
        }
        _ => Json::string(format!("|V{}", core_raw(name)?)),
    })
}

/// Returns the bytes of the core's `r<N>`.
fn core_raw(name: &str) -> Option<usize> {
    let digits = name.strip_prefix('r').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let bits: usize = digits.parse().ok()?;
    (bits > 0 && bits.is_multiple_of(8) && bits / 8 <= MAX_WIDTH).then_some(bits / 8)
}

/// Converts a field to V2's form, from an object or from the list of earlier writers.
fn field(field: &Value<'_>, big_endian: bool) -> Option<Json> {
    let (name, data_type) = match field {
        Value::Object(members) => (members.get("name")?, members.get("data_type")?),
        Value::Array(parts) => match &parts[..] {
            [name, data_type] => (name, data_type),
            _ => return None,
        },
        _ => return None,
    };
    let none = ObjectMembers::new();
    let (of, configuration) = extension(data_type, &none).ok()?;
    let v2 = match of {
        // The engine converts such fields itself.
        "bfloat16" => Json::string(of),
        _ => v2(of, configuration, big_endian)?,
    };
    Some(Json::Array(vec![Json::string(name.as_str()?), v2]))
}

/// Renders the `data_type` of a type. `variable` is the kind of elements of variable length.
///
/// # Errors
/// [`ErrorKind::NotNc4`] for types that V3 lacks.
pub(crate) fn write(dtype: &DType, variable: Option<VariableLength>) -> Result<Json> {
    let none =
        |what: &str| Err(ErrorKind::NotNc4.context(format!("type {}: Zarr V3 has no {what}", dtype.text)));
    let sized = |name: &str, bytes: usize| configured(name, [("length_bytes", Json::int(bytes as u64))]);
    Ok(match dtype.kind {
        DTypeKind::Number(ty) => Json::string(number(ty)),
        DTypeKind::Char => Json::string("uint8"),
        DTypeKind::Bool => Json::string("bool"),
        DTypeKind::Half(Half::Binary16) => Json::string("float16"),
        DTypeKind::Half(Half::BFloat16) => Json::string("bfloat16"),
        DTypeKind::Complex(NcType::Float) => Json::string("complex64"),
        DTypeKind::Complex(_) => Json::string("complex128"),
        DTypeKind::Time { unit, .. } => {
            let (times, code) = unit.step.map_or((1, "generic"), |(times, step)| (times, step.code()));
            let name = if unit.span { TIMEDELTA } else { DATETIME };
            configured(name, [("unit", Json::string(code)), ("scale_factor", Json::int(times))])
        }
        DTypeKind::Text(width) => sized(TERMINATED, width),
        DTypeKind::Utf32(chars) => sized(UTF32, chars.saturating_mul(4)),
        DTypeKind::Opaque(bytes) => sized(RAW, bytes),
        DTypeKind::Compound => {
            let mut fields = Vec::new();
            for field in dtype.compound.iter().flat_map(|record| &record.fields) {
                if !field.shape.is_empty() {
                    return none("fields with a shape");
                }
                let members =
                    [("name", Json::string(&*field.name)), ("data_type", write(&field.dtype, None)?)];
                fields.push(Json::Object(members.into_iter().collect()));
            }
            configured("struct", [("fields", Json::Array(fields))])
        }
        DTypeKind::Object => match variable {
            Some(VariableLength::Text) => Json::string("string"),
            Some(VariableLength::Bytes) => Json::string("variable_length_bytes"),
            None => return none("lists of numbers"),
        },
        DTypeKind::Extension(_) => match &dtype.extension {
            Some(extension) => Json::from_serde(&extension.0.to_json()),
            None => return none("such type"),
        },
        DTypeKind::Other => return none("such type"),
    })
}

/// Returns NCZarr V3's type of fixed-length text.
pub(crate) fn raw_text(width: usize) -> Json {
    configured(RAW, [("length_bytes", Json::int(width as u64))])
}

/// Returns an extension point with a configuration.
pub(crate) fn configured<const N: usize>(name: &str, configuration: [(&'static str, Json); N]) -> Json {
    let configuration: Object = configuration.into_iter().collect();
    Json::Object(
        [("name", Json::string(name)), ("configuration", Json::Object(configuration))].into_iter().collect(),
    )
}

fn number(ty: NcType) -> &'static str {
    match ty {
        NcType::Byte => "int8",
        NcType::Short => "int16",
        NcType::Int => "int32",
        NcType::Int64 => "int64",
        NcType::UByte | NcType::Char | NcType::String | NcType::User(_) => "uint8",
        NcType::UShort => "uint16",
        NcType::UInt => "uint32",
        NcType::UInt64 => "uint64",
        NcType::Float => "float32",
        NcType::Double => "float64",
    }
}

#[cfg(test)]
mod tests {
    use nczarr_model::Endian;

    use super::*;
    use crate::metadata::json::parse;
    use crate::metadata::v3::tests::registry;

    fn json(text: &str) -> Json {
        parse(text.as_bytes(), &nczarr_dispatch::Limits::default()).unwrap()
    }

    fn read(text: &str, big: bool) -> DataType {
        DataType::read(&json(text), big, &registry()).unwrap()
    }

    #[test]
    fn data_types_have_v2_names() {
        for (stored, little, big) in [
            (r#""bool""#, "|b1", "|b1"),
            (r#""int8""#, "|i1", "|i1"),
            (r#""int16""#, "<i2", ">i2"),
            (r#""int32""#, "<i4", ">i4"),
            (r#""int64""#, "<i8", ">i8"),
            (r#""uint8""#, "|u1", "|u1"),
            (r#""uint16""#, "<u2", ">u2"),
            (r#""uint32""#, "<u4", ">u4"),
            (r#""uint64""#, "<u8", ">u8"),
            (r#""float16""#, "<f2", ">f2"),
            (r#""float32""#, "<f4", ">f4"),
            (r#""float64""#, "<f8", ">f8"),
            (r#""complex64""#, "<c8", ">c8"),
            (r#""complex128""#, "<c16", ">c16"),
            (r#""bfloat16""#, "bfloat16", "bfloat16"),
            (
                r#"{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}"#,
                "<M8[s]",
                ">M8[s]",
            ),
            (
                r#"{"name":"numpy.datetime64","configuration":{"unit":"us","scale_factor":25}}"#,
                "<M8[25us]",
                ">M8[25us]",
            ),
            (
                r#"{"name":"numpy.timedelta64","configuration":{"unit":"generic","scale_factor":1}}"#,
                "<m8",
                ">m8",
            ),
            (r#"{"name":"null_terminated_bytes","configuration":{"length_bytes":4}}"#, "|S4", "|S4"),
            (r#"{"name":"raw_bytes","configuration":{"length_bytes":5}}"#, "|V5", "|V5"),
            (r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":12}}"#, "<U3", ">U3"),
            (
                r#"{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int32"},{"name":"b","data_type":"bool"}]}}"#,
                r#"[["a","<i4"],["b","|b1"]]"#,
                r#"[["a",">i4"],["b","|b1"]]"#,
            ),
            (
                r#"{"name":"struct","configuration":{"fields":[{"name":"p","data_type":{"name":"struct","configuration":{"fields":[{"name":"x","data_type":"float32"}]}}}]}}"#,
                r#"[["p",[["x","<f4"]]]]"#,
                r#"[["p",[["x",">f4"]]]]"#,
            ),
        ] {
            for (big, expected) in [(false, little), (true, big)] {
                let found = read(stored, big);
                assert_eq!(found.dtype.text, expected, "{stored}");
                assert_ne!(found.dtype.kind, DTypeKind::Other, "{stored}");
                assert_eq!(write(&found.dtype, found.variable).unwrap(), json(stored));
                assert_eq!(found.dtype.big_endian, big && found.dtype.item_size() != Some(1), "{stored}");
            }
        }
    }

    #[test]
    fn other_spellings() {
        for (stored, expected) in [
            (r#"{"name":"int32"}"#, "<i4"),
            (r#"{"name":"int32","configuration":{}}"#, "<i4"),
            (r#""r16""#, "|V2"),
            (r#""r1024""#, "|V128"),
            (r#"{"name":"numpy.datetime64","configuration":{"unit":"μs"}}"#, "<M8[us]"),
            (
                r#"{"name":"structured","configuration":{"fields":[["a","int32"],["c",{"name":"null_terminated_bytes","configuration":{"length_bytes":3}}]]}}"#,
                r#"[["a","<i4"],["c","|S3"]]"#,
            ),
        ] {
            let found = read(stored, false);
            assert_eq!(
                (found.dtype.text.as_str(), found.dtype.kind == DTypeKind::Other),
                (expected, false),
                "{stored}"
            );
        }
        for (stored, variable) in [
            (r#""string""#, VariableLength::Text),
            (r#""bytes""#, VariableLength::Bytes),
            (r#""variable_length_bytes""#, VariableLength::Bytes),
        ] {
            let found = read(stored, false);
            assert_eq!((found.dtype.kind, found.variable), (DTypeKind::Object, Some(variable)));
            assert_eq!(
                DataType::read(&write(&found.dtype, found.variable).unwrap(), true, &registry())
                    .unwrap()
                    .variable,
                Some(variable)
            );
        }
        let mut text = read(r#""r64""#, false);
        text.detect_text(&json("[0,0,0,0,0,0,0,0]"));
        text.detect_text(&json(r#""AAAAAAAAAAA=""#));
        assert_eq!(text.dtype.kind, DTypeKind::Opaque(8));
        text.detect_text(&json(r#""none""#));
        assert_eq!(text.dtype.kind, DTypeKind::Text(8));
        let mut raw = read(r#"{"name":"raw_bytes","configuration":{"length_bytes":8}}"#, false);
        raw.detect_text(&json(r#""none""#));
        assert_eq!(raw.dtype.kind, DTypeKind::Opaque(8));
    }

    #[test]
    fn unknown_data_types_keep_their_names() {
        for name in [
            "int2",
            "int4",
            "uint4",
            "float8_e4m3fn",
            "float8_e5m2",
            "float4_e2m1fn",
            "r7",
            "r0",
            "r",
            "r99999999999999",
            "<i4",
            "|O",
            "i4",
            "V5",
            "",
        ] {
            let found = read(&format!("\"{name}\""), true);
            assert_eq!((found.dtype.kind, found.dtype.text.as_str()), (DTypeKind::Other, name));
            assert!(write(&found.dtype, None).is_err());
        }
        for stored in [
            r#"{"name":"numpy.datetime64"}"#,
            r#"{"name":"numpy.datetime64","configuration":{"unit":"fortnight"}}"#,
            r#"{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":0}}"#,
            r#"{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":"1"}}"#,
            r#"{"name":"raw_bytes","configuration":{"length_bytes":0}}"#,
            r#"{"name":"raw_bytes","configuration":{"length_bytes":99999999999}}"#,
            r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":5}}"#,
            r#"{"name":"struct","configuration":{"fields":[]}}"#,
            r#"{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int4"}]}}"#,
            r#"{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"string"}]}}"#,
            r#"{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int8"},{"name":"a","data_type":"int8"}]}}"#,
            r#"{"name":"struct","configuration":{"fields":[["a","int8",[2]]]}}"#,
        ] {
            assert_eq!(read(stored, false).dtype.kind, DTypeKind::Other, "{stored}");
        }
        for wrong in ["3", "null", "[]", "{}", r#"{"name":3}"#, r#"{"name":"int8","configuration":[]}"#] {
            let error = DataType::read(&json(wrong), false, &registry()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NcZarr, "{wrong}");
            assert!(error.what().contains("data_type"), "{error}");
        }
    }

    #[test]
    fn types_missing_in_v3_are_errors() {
        let list = json(r#"[["a","<i4",[2]]]"#);
        for dtype in [DType::parse(&list).unwrap(), DType::from_name("|O"), DType::from_name("int4")] {
            assert_eq!(write(&dtype, None).unwrap_err().kind(), ErrorKind::NotNc4, "{}", dtype.text);
        }
        for ty in NcType::ATOMIC {
            let dtype = DType::of(ty, Endian::Big, 7, true).unwrap();
            let written = write(&dtype, None).unwrap();
            let again = DataType::read(&written, true, &registry()).unwrap().dtype;
            match ty {
                NcType::Char => assert_eq!(again.kind, DTypeKind::Number(NcType::UByte)),
                _ => assert_eq!(again.kind, dtype.kind),
            }
        }
        assert_eq!(raw_text(8), json(r#"{"name":"raw_bytes","configuration":{"length_bytes":8}}"#));
    }
}

//! The filter `noop` of netCDF-C's own tests (HDF5 filter 40000): it leaves every byte unchanged.
//!
//! Files and texts of those tests name it. It is a plugin there, and so it is here: this program adds it, not
//! the library, whose filters all have an effect.
//!
//! * HDF5 parameters: any, without effect

use std::borrow::Cow;

use nczarr::codec::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory};
use nczarr_model::{ErrorKind, Result};
use serde_json::json;

/// The key of the codec's parameters.
const PARAMETERS: &str = "parameters";

static INFO: FilterInfo = FilterInfo {
    hdf5_id: Some(40_000),
    ..FilterInfo::new("noop", "changes nothing, for netCDF-C's tests; ignores its parameters")
};

struct NoopClass;

inventory::submit! { FilterPlugin(&NoopClass) }

impl FilterClass for NoopClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        Ok(Box::new(Noop(params.to_vec())))
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let members = if format == ZarrFormat::V2 { codec } else { &codec["configuration"] };
        let Some(given) = members.get(PARAMETERS) else { return self.parse_params(&[]) };
        let number = |value: &Json| value.as_u64().and_then(|value| u32::try_from(value).ok());
        let params = given.as_array().and_then(|list| list.iter().map(number).collect::<Option<Vec<_>>>());
        let wrong = || {
            ErrorKind::Filter
                .context(format!("noop: {PARAMETERS}: expected a list of numbers, found {given}"))
        };
        self.parse_params(&params.ok_or_else(wrong)?)
    }
}

#[derive(Debug, Clone)]
struct Noop(Vec<u32>);

impl Filter for Noop {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&self.0)
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        let parameters = if self.0.is_empty() { json!({}) } else { json!({ PARAMETERS: self.0 }) };
        match format {
            ZarrFormat::V2 => {
                let mut codec = json!({"id": INFO.name});
                if let (Some(codec), Json::Object(parameters)) = (codec.as_object_mut(), parameters) {
                    codec.extend(parameters);
                }
                codec
            }
            ZarrFormat::V3 => json!({"name": INFO.name, "configuration": parameters}),
        }
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.put(src)
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.put(src)
    }
}

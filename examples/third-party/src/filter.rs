//! A filter that combines every byte with a key by XOR.

use std::borrow::Cow;

use nczarr::codec::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory};
use nczarr::{ErrorKind, Result};

static INFO: FilterInfo =
    FilterInfo { hdf5_id: Some(40_001), ..FilterInfo::new("xor", "every byte xor a key of 0 to 255") };

/// Makes filters with one parameter, the key.
pub struct XorClass;

impl FilterClass for XorClass {
    fn info(&self) -> &FilterInfo { &INFO }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        match params.iter().map(|&key| u8::try_from(key)).collect::<Vec<_>>()[..] {
            [Ok(key)] => Ok(Box::new(Xor(key))),
            _ => Err(ErrorKind::Filter.context(format!("xor wants one key of 0 to 255, found {params:?}"))),
        }
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let members = if format == ZarrFormat::V2 { codec } else { &codec["configuration"] };
        let key = members["key"].as_u64().and_then(|key| u32::try_from(key).ok());
        self.parse_params(key.as_slice())
    }
}

#[derive(Debug, Clone)]
struct Xor(u8);

impl Filter for Xor {
    fn info(&self) -> &FilterInfo { &INFO }
    fn params(&self) -> Cow<'_, [u32]> { vec![self.0.into()].into() }
    fn to_json(&self, format: ZarrFormat) -> Json {
        match format {
            ZarrFormat::V2 => Json::from_iter([("id", Json::from("xor")), ("key", self.0.into())]),
            ZarrFormat::V3 => Json::from_iter([("name", Json::from("xor")), ("configuration", Json::from_iter([("key", self.0)]))]),
        }
    }
    fn encode_bound(&self, decoded: usize) -> Option<usize> { Some(decoded) }
    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> { dst.extend(src.iter().map(|byte| byte ^ self.0)) }
    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> { self.encode(src, dst) }
}

inventory::submit! { FilterPlugin(&XorClass) }

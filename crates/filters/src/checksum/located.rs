//! A checksum with a configurable location: the filter that three algorithms share.

use std::borrow::Cow;

use nczarr_codec::{Filter, FilterInfo, Json, OutBuf, ZarrFormat};
use nczarr_model::{ErrorKind, Result};
use serde_json::Map;

use super::{ChecksumLocation, append, verify};
use crate::json::{CodecMembers, describe};

/// One algorithm.
#[derive(Debug)]
pub(super) struct ChecksumAlgorithm {
    pub info: FilterInfo,
    /// The names in Zarr V3: without and with a location.
    pub v3: [&'static str; 2],
    /// The default location.
    pub location: ChecksumLocation,
    pub sum: fn(&[u8]) -> u32,
}

impl ChecksumAlgorithm {
    pub fn parse_params(&'static self, params: &[u32]) -> Result<Box<dyn Filter>> {
        let chosen = match params {
            [] => None,
            [0] => Some(ChecksumLocation::Start),
            [1] => Some(ChecksumLocation::End),
            _ => {
                let name = self.info.name;
                let expected = "no parameter, or one: 0 for a checksum in front, 1 for one at the end";
                return Err(
                    ErrorKind::Inval.context(format!("{name}: expected {expected}, found {params:?}"))
                );
            }
        };
        Ok(Box::new(LocatedChecksum { algorithm: self, chosen }))
    }

    pub fn parse_json(&'static self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let members = CodecMembers::of(self.info.name, codec, format)?;
        let chosen = match members.get("location") {
            None => None,
            Some(Json::String(place)) if place == "start" => Some(ChecksumLocation::Start),
            Some(Json::String(place)) if place == "end" => Some(ChecksumLocation::End),
            Some(other) => return Err(members.wrong("location", "\"start\" or \"end\"", other)),
        };
        Ok(Box::new(LocatedChecksum { algorithm: self, chosen }))
    }
}

#[derive(Debug, Clone, Copy)]
struct LocatedChecksum {
    algorithm: &'static ChecksumAlgorithm,
    /// The location, if the description has one.
    chosen: Option<ChecksumLocation>,
}

impl LocatedChecksum {
    fn location(&self) -> ChecksumLocation {
        self.chosen.unwrap_or(self.algorithm.location)
    }
}

impl Filter for LocatedChecksum {
    fn info(&self) -> &FilterInfo {
        &self.algorithm.info
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(match self.chosen {
            None => &[],
            Some(ChecksumLocation::Start) => &[0],
            Some(ChecksumLocation::End) => &[1],
        })
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        let mut members = Map::new();
        if let Some(place) = self.chosen {
            members.insert(
                "location".into(),
                if place == ChecksumLocation::Start { "start" } else { "end" }.into(),
            );
        }
        let v3 = self.algorithm.v3[usize::from(self.chosen.is_some())];
        describe(format, self.algorithm.info.name, v3, Json::Object(members))
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        decoded.checked_add(4)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        append(self.location(), (self.algorithm.sum)(src), src, dst)
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        verify(self.algorithm.info.name, self.location(), src, self.algorithm.sum, dst)
    }
}

//! A checksum whose place a codec description may tell: the filter that three algorithms share.

use std::borrow::Cow;

use nczarr_dispatch::{Filter, FilterInfo, Json, OutBuf, ZarrFormat};
use nczarr_model::{ErrorKind, Result};
use serde_json::Map;

use super::{Location, append, verify};
use crate::json::{Members, describe};

/// One algorithm.
#[derive(Debug)]
pub(super) struct Algorithm {
    pub info: FilterInfo,
    /// The name in Zarr V3, and the one for a description that tells the place.
    pub v3: [&'static str; 2],
    /// Where the checksum stands if nothing is said.
    pub location: Location,
    pub sum: fn(&[u8]) -> u32,
}

impl Algorithm {
    pub fn parse_params(&'static self, params: &[u32]) -> Result<Box<dyn Filter>> {
        let told = match params {
            [] => None,
            [0] => Some(Location::Start),
            [1] => Some(Location::End),
            _ => {
                let name = self.info.name;
                let expected = "no parameter, or one: 0 for a checksum in front, 1 for one at the end";
                return Err(ErrorKind::Inval.context(format!("{name}: expected {expected}, found {params:?}")));
            }
        };
        Ok(Box::new(Checksum { algorithm: self, told }))
    }

    pub fn parse_json(&'static self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let members = Members::of(self.info.name, codec, format)?;
        let told = match members.get("location") {
            None => None,
            Some(Json::String(place)) if place == "start" => Some(Location::Start),
            Some(Json::String(place)) if place == "end" => Some(Location::End),
            Some(other) => return Err(members.wrong("location", "\"start\" or \"end\"", other)),
        };
        Ok(Box::new(Checksum { algorithm: self, told }))
    }
}

#[derive(Debug, Clone, Copy)]
struct Checksum {
    algorithm: &'static Algorithm,
    /// The place, if the description tells it.
    told: Option<Location>,
}

impl Checksum {
    fn location(&self) -> Location {
        self.told.unwrap_or(self.algorithm.location)
    }
}

impl Filter for Checksum {
    fn info(&self) -> &FilterInfo {
        &self.algorithm.info
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(match self.told {
            None => &[],
            Some(Location::Start) => &[0],
            Some(Location::End) => &[1],
        })
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        let mut members = Map::new();
        if let Some(place) = self.told {
            members.insert("location".into(), if place == Location::Start { "start" } else { "end" }.into());
        }
        let v3 = self.algorithm.v3[usize::from(self.told.is_some())];
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

//! A filter that combines every byte with a key by XOR.

use std::borrow::Cow;

use nczarr::codec::{Filter, FilterClass, FilterInfo, FilterPlugin, OutBuf, inventory};
use nczarr::{ErrorKind, Result};

static INFO: FilterInfo =
    FilterInfo { hdf5_id: Some(40_001), json_members: &["key"], ..FilterInfo::new("xor", "every byte xor a key of 0 to 255") };

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
}

#[derive(Debug, Clone)]
struct Xor(u8);

impl Filter for Xor {
    fn info(&self) -> &FilterInfo { &INFO }
    fn params(&self) -> Cow<'_, [u32]> { vec![self.0.into()].into() }
    fn encode_bound(&self, decoded: usize) -> Option<usize> { Some(decoded) }
    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> { dst.extend(src.iter().map(|byte| byte ^ self.0)) }
    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> { self.encode(src, dst) }
}

inventory::submit! { FilterPlugin(&XorClass) }

//! Parses the codec descriptions of numcodecs and GDAL.

use nczarr_codec::{Json, ZarrFormat};
use nczarr_model::Result;
use serde_json::{Map, json};

use super::chain::{ChainFilter, MEMBERS};
use super::settings::{Lzma, LzmaFormat, NAME};
use crate::json::{CodecMembers, describe};

/// Parses a description. Members that decoding an xz or alone stream does not need are checked only when
/// encoding.
pub(super) fn parse(codec: &Json, format: ZarrFormat) -> Result<Lzma> {
    let members = CodecMembers::of(NAME, codec, format)?;
    let form = match members.int("format")? {
        None | Some(1) => LzmaFormat::Xz,
        Some(2) => LzmaFormat::Alone,
        Some(3) => LzmaFormat::Raw,
        Some(other) => return Err(members.wrong("format", "1 (xz), 2 (alone) or 3 (raw)", &json!(other))),
    };
    let chain = match members.get("filters") {
        None => Vec::new(),
        Some(Json::Array(links)) => links.iter().map(link).collect::<Result<_>>()?,
        Some(other) => return Err(members.wrong("filters", "a list of filters", other)),
    };
    if form == LzmaFormat::Raw && chain.is_empty() {
        return Err(members.wrong(
            "filters",
            "a list of filters, which format 3 cannot be read without",
            &Json::Null,
        ));
    }
    let delta = unsigned(&members, "delta")?.unwrap_or(0);
    if delta > 256 || delta > 0 && (form != LzmaFormat::Xz || !chain.is_empty()) {
        return Err(members.wrong(
            "delta",
            "a distance of 1 to 256 bytes, without \"format\" or \"filters\"",
            &json!(delta),
        ));
    }
    let check = members.level("check")?.unwrap_or(-1);
    Ok(Lzma { form, check, preset: unsigned(&members, "preset")?, delta, chain })
}

fn link(codec: &Json) -> Result<ChainFilter> {
    let members = CodecMembers::of("lzma filter", codec, ZarrFormat::V2)?;
    let id = members.int("id")?;
    let known = id.and_then(|id| u64::try_from(id).ok()).map(ChainFilter::new).filter(ChainFilter::is_known);
    let mut link = known.ok_or_else(|| members.wrong("id", "the number of an LZMA filter", &json!(id)))?;
    for (value, member) in link.values.iter_mut().zip(MEMBERS) {
        *value = unsigned(&members, member)?;
    }
    Ok(link)
}

fn unsigned(members: &CodecMembers<'_>, member: &str) -> Result<Option<u32>> {
    let Some(number) = members.int(member)? else { return Ok(None) };
    match u32::try_from(number) {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(members.wrong(member, "an unsigned 32-bit integer", &json!(number))),
    }
}

pub(super) fn of(lzma: &Lzma, format: ZarrFormat) -> Json {
    let members = if lzma.delta > 0 {
        let mut members = json!({"preset": lzma.preset, "delta": lzma.delta});
        // GDAL knows only the default.
        if lzma.check != -1 {
            members["check"] = json!(lzma.check);
        }
        members
    } else {
        let chain: Vec<Json> = lzma.chain.iter().map(of_link).collect();
        let chain = if chain.is_empty() { Json::Null } else { Json::Array(chain) };
        json!({"format": lzma.form as u32, "check": lzma.check, "preset": lzma.preset, "filters": chain})
    };
    describe(format, NAME, "numcodecs.lzma", members)
}

fn of_link(link: &ChainFilter) -> Json {
    let mut members = Map::new();
    members.insert("id".into(), link.id.into());
    for (value, member) in link.values.iter().zip(MEMBERS) {
        if let Some(value) = value {
            members.insert(member.into(), (*value).into());
        }
    }
    Json::Object(members)
}

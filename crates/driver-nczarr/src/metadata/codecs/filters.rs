//! Filters from codec descriptions, and their binding to chunks.

use nczarr_codec::{ChunkInfo, Filter, ItemType, ZarrFormat};
use nczarr_dispatch::Registry;
use nczarr_model::{ErrorKind, FilterSpec, Result};

use crate::metadata::json::{self, Json, Value, text};
use crate::metadata::types::dtype::{DType, DTypeKind};
use crate::metadata::v2::array_meta::codec_id;

/// The size of a string in netCDF-C: that of a pointer.
pub(crate) const STRING_ITEM: usize = 8;

/// Makes the filter of a codec description.
pub(crate) fn filter(codec: &Value<'_>, registry: &Registry) -> Result<Box<dyn Filter>> {
    let id = codec_id(codec)?;
    let class = registry.filter(id).map_err(|error| error.at(format_args!("codec {id:?}")))?;
    class
        .parse_json(&codec_json(codec), ZarrFormat::V2)
        .map_err(|error| error.at(format_args!("codec {}", text(codec))))
}

/// Binds a filter to the chunks of an array; returns the filter for the engine, and its complete description.
/// `line`: the length of the last dimension if it is fixed. `entering`: the element type before and, on
/// return, after the filter. `netcdf`: netCDF-C wrote the dataset or will read it.
pub(crate) fn bind_filter(
    filter: Box<dyn Filter>,
    dtype: &DType,
    chunks: &[u64],
    line: Option<u64>,
    entering: &mut ItemType,
    netcdf: bool,
    registry: &Registry,
) -> Result<(Box<dyn Filter>, Json)> {
    let item = dtype.item_size().unwrap_or(1);
    let text = matches!(dtype.kind, DTypeKind::Text(_));
    let chunk = chunk_bytes(chunks, item as u64);
    // netCDF-C's shuffle sees a string as a pointer, whatever its stored width. Zarr's own shuffle needs
    // whole elements.
    let pointers = text && (netcdf || chunk.is_multiple_of(STRING_ITEM as u64));
    // The same condition as in the engine.
    let has_line = matches!(dtype.kind, DTypeKind::Number(_) | DTypeKind::Bool | DTypeKind::Char);
    let mut bound = filter.clone();
    bound.bind(
        &ChunkInfo::new(*entering, usize::try_from(chunk_bytes(chunks, 1)).unwrap_or(usize::MAX))
            .item_size(if pointers { STRING_ITEM } else { item })
            .chunk_bytes(usize::try_from(chunk).unwrap_or(usize::MAX))
            .shape(chunks)
            .row(chunks.last().map_or(1, |&row| usize::try_from(row).unwrap_or(usize::MAX)))
            .array_row(line.filter(|_| has_line).and_then(|line| usize::try_from(line).ok()))
            .big_endian(dtype.big_endian),
    )?;
    *entering = bound.encoded_item();
    let codec = Json::from_serde(&bound.to_json(ZarrFormat::V2));
    // The engine passes the stored width to filters, so the description must be authoritative.
    let filter = if text { self::filter(&codec, registry)? } else { filter };
    Ok((filter, codec))
}

/// Returns the bytes of a decoded chunk; saturates.
pub(crate) fn chunk_bytes(chunks: &[u64], item: u64) -> u64 {
    chunks.iter().fold(item, |bytes, &len| bytes.saturating_mul(len))
}

/// Converts a codec description for filters. Some versions wrote integer parameters as strings.
pub(crate) fn codec_json(codec: &Value<'_>) -> nczarr_codec::Json {
    let parameter = |value: &Value<'_>| match value {
        Value::String(number)
            if number.bytes().next().is_some_and(|byte| byte == b'-' || byte.is_ascii_digit()) =>
        {
            json::integer(number).map_or_else(|| value.to_serde(), |number| Value::int(number).to_serde())
        }
        other => other.to_serde(),
    };
    match codec {
        Value::Object(members) => nczarr_codec::Json::Object(
            members.iter().map(|(name, value)| (name.to_owned(), parameter(value))).collect(),
        ),
        other => other.to_serde(),
    }
}

/// Makes the filter of a specification: from its codec description if it has one, else from its parameters.
pub(crate) fn make_filter(
    spec: &FilterSpec,
    format: ZarrFormat,
    registry: &Registry,
) -> Result<Box<dyn Filter>> {
    let described = spec
        .codec
        .as_ref()
        .and_then(|codec| json::parse(codec.as_bytes(), &nczarr_dispatch::Limits::default()).ok());
    if let Some(codec) = described.as_ref().filter(|codec| codec_id(codec).is_ok()) {
        return filter(codec, registry);
    }
    // A V3 description of a codec that V2 lacks.
    let named = described.as_ref().and_then(|codec| codec.as_object()?.get("name")?.as_str());
    if let (Some(name), Some(codec), ZarrFormat::V3) = (named, &described, format) {
        return registry.v3_codec(name)?.parse_json(&codec.to_serde(), ZarrFormat::V3);
    }
    let class = match spec.hdf5_id {
        Some(id) => registry.filter_by_id(id)?,
        None => registry.filter(&spec.name)?,
    };
    let name = class.info().name;
    let filter = class.parse_params(&spec.params).map_err(|error| error.at(format_args!("filter {name}")))?;
    if filter.to_json(format).is_null() {
        Err(ErrorKind::NoFilter.context(format!("filter {name}: Zarr {format:?} has no such codec")))
    } else {
        Ok(filter)
    }
}

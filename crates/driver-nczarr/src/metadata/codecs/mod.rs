//! Codecs of an array, from their descriptions.
//!
//! `filters` makes and binds filters; `cache` parses each description once per opening. `native_order` and
//! `null_string` are element codecs of this format.

pub(crate) mod cache;
pub(crate) mod filters;
pub(crate) mod native_order;
pub(crate) mod null_string;

use nczarr_codec::ElementCodec;
use nczarr_dispatch::Registry;
use nczarr_model::{ErrorKind, NcType, Result, Var};

use crate::metadata::codecs::filters::{bind_filter, codec_json};
use crate::metadata::json::Value;
use crate::metadata::types::dtype::DTypeKind;
use crate::metadata::types::foreign;
use crate::metadata::v2::array_meta::{ArrayMeta, codec_id};
use crate::metadata::variable::{ReadContext, StoredVariable};

/// Returns the element codec, and the type of a list's items if the elements are lists.
fn element(
    codec: &Value<'_>,
    dtype: &str,
    registry: &Registry,
) -> Result<(Box<dyn ElementCodec>, Option<NcType>)> {
    let id = codec_id(codec)?;
    let found = registry.element(id).and_then(|class| class.parse(&codec_json(codec)));
    let found = found.map_err(|error| error.at("member \"filters\""))?;
    match found.item() {
        None => Ok((found, None)),
        Some(item) => match foreign::list_base(item) {
            Some(base) => Ok((native_order::in_native_order(found, item), Some(base))),
            None => Err(ErrorKind::BadType
                .context(format!("member \"filters\": type {dtype} with codec {id:?} is not supported"))),
        },
    }
}

/// Sets the element codec and the filters of an array from its codec descriptions.
pub(crate) fn read(
    var: &mut Var,
    stored: &mut StoredVariable,
    meta: &ArrayMeta,
    described: &[&Value<'_>],
    reading: &ReadContext<'_>,
) -> Result<()> {
    let mut described = described.iter();
    let mut first_error = Ok(());
    if meta.dtype.kind == DTypeKind::Object {
        let codec = described
            .next()
            .ok_or_else(|| ErrorKind::BadType.context("member \"filters\": type |O has no object codec"))?;
        match element(codec, &meta.dtype.text, reading.registry) {
            Ok((element, list)) => (stored.element, stored.list) = (Some(element), list),
            Err(error) => first_error = Err(error),
        }
    }
    let mut entering = meta.dtype.item_type();
    for codec in described {
        let (spec, filter) = reading.codecs.read(codec, reading.registry)?;
        let filter = match (filter, meta.dtype.kind) {
            (Ok(filter), DTypeKind::Text(_)) => {
                bind_filter(filter, &meta.dtype, &meta.chunks, None, &mut entering, true, reading.registry)
                    .map(|pair| pair.0)
            }
            (filter, _) => filter,
        };
        match filter {
            Ok(filter) => stored.filters.push(filter),
            Err(error) => first_error = first_error.and(Err(error)),
        }
        var.filters.push(spec);
    }
    first_error
}

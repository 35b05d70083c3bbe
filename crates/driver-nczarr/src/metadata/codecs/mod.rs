//! Parsing of codec descriptions: [`CodecCache`].
//!
//! Most arrays of a dataset share a few codecs, so each description is parsed once per opening.
//! `native_order` and `null_string` are element codecs of this format.

pub(crate) mod native_order;
pub(crate) mod null_string;

use std::sync::{PoisonError, RwLock};

use nczarr_codec::{ElementCodec, Filter};
use nczarr_dispatch::Registry;
use nczarr_model::{ErrorKind, FilterSpec, NcType, Result, Var};

use crate::metadata::json::{Value, text};
use crate::metadata::types::dtype::DTypeKind;
use crate::metadata::types::foreign;
use crate::metadata::v2::array_meta::{ArrayMeta, codec_id};
use crate::metadata::v2::var::{ReadContext, StoredVariable, bind_filter, codec_json, filter};

/// The most descriptions that the cache holds.
const MAX_ENTRIES: usize = 32;

/// A codec as the model describes it, and its filter.
type ParsedCodec = (FilterSpec, Result<Box<dyn Filter>>);

/// Codec descriptions and the result of parsing each.
#[derive(Default)]
pub(crate) struct CodecCache {
    entries: RwLock<Vec<ParsedCodec>>,
}

impl CodecCache {
    /// Parses a description or returns the earlier result.
    fn read(&self, codec: &Value<'_>, registry: &Registry) -> Result<ParsedCodec> {
        let described = text(codec);
        let seen = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = seen.iter().find(|(spec, _)| spec.codec.as_deref() == Some(&*described)) {
            return Ok(known.clone());
        }
        drop(seen);
        let mut spec =
            FilterSpec { name: codec_id(codec)?.to_owned(), codec: Some(described), ..FilterSpec::default() };
        let filter = filter(codec, registry);
        if let Ok(filter) = &filter {
            spec.hdf5_id = filter.info().hdf5_id;
            spec.name = filter.info().name.to_owned();
            spec.params = filter.params().into_owned();
        }
        let mut seen = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if seen.len() < MAX_ENTRIES {
            seen.push((spec.clone(), filter.clone()));
        }
        Ok((spec, filter))
    }
}

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

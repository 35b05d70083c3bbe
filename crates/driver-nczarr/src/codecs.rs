//! The codecs of stored arrays, read: [`Codecs`].
//!
//! The arrays of a dataset mostly have the same few codecs: each description is understood once per opening.

use std::sync::{PoisonError, RwLock};

use nczarr_dispatch::{ElementCodec, Filter, Registry};
use nczarr_model::{ErrorKind, FilterSpec, NcType, Result, Var};

use crate::dtype::Kind;
use crate::json::{Value, text};
use crate::meta::{ArrayMeta, codec_id};
use crate::native;
use crate::types;
use crate::var::{Reading, Stored, codec_json, filter, settled};

/// So many different descriptions are remembered: a dataset that has more gains nothing.
const MOST: usize = 32;

/// A codec as the model has it, and the filter it is.
type Described = (FilterSpec, Result<Box<dyn Filter>>);

/// The codec descriptions that were understood, or not.
#[derive(Default)]
pub(crate) struct Codecs {
    seen: RwLock<Vec<Described>>,
}

impl Codecs {
    /// What a description means.
    fn read(&self, codec: &Value<'_>, registry: &Registry) -> Result<Described> {
        let described = text(codec);
        let seen = self.seen.read().unwrap_or_else(PoisonError::into_inner);
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
        let mut seen = self.seen.write().unwrap_or_else(PoisonError::into_inner);
        if seen.len() < MOST {
            seen.push((spec.clone(), filter.clone()));
        }
        Ok((spec, filter))
    }
}

/// The codec of elements of variable length, and what they are lists of; text is no list.
fn element(codec: &Value<'_>, dtype: &str, registry: &Registry) -> Result<(Box<dyn ElementCodec>, Option<NcType>)> {
    let id = codec_id(codec)?;
    let found = registry.element(id).and_then(|class| class.parse(&codec_json(codec)));
    let found = found.map_err(|error| error.at("member \"filters\""))?;
    match found.item() {
        None => Ok((found, None)),
        Some(item) => match types::list_base(item) {
            Some(base) => Ok((native::native(found, item), Some(base))),
            None => Err(ErrorKind::BadType
                .context(format!("member \"filters\": type {dtype} with codec {id:?} cannot be read"))),
        },
    }
}

/// The element codec and the filters of an array, from its codecs' descriptions.
pub(crate) fn read(
    var: &mut Var,
    stored: &mut Stored,
    meta: &ArrayMeta,
    described: &[&Value<'_>],
    reading: &Reading<'_>,
) -> Result<()> {
    let mut described = described.iter();
    let mut first_error = Ok(());
    if meta.dtype.kind == Kind::Object {
        let codec = described.next().ok_or_else(|| {
            ErrorKind::BadType.context("member \"filters\": type |O wants an object codec, found none")
        })?;
        match element(codec, &meta.dtype.text, reading.registry) {
            Ok((element, list)) => (stored.element, stored.list) = (Some(element), list),
            Err(error) => first_error = Err(error),
        }
    }
    let mut entering = meta.dtype.item_type();
    for codec in described {
        let (spec, filter) = reading.codecs.read(codec, reading.registry)?;
        let filter = match (filter, meta.dtype.kind) {
            (Ok(filter), Kind::Text(_)) => {
                settled(filter, &meta.dtype, &meta.chunks, None, &mut entering, true, reading.registry)
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

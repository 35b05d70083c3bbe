//! [`CodecCache`]: parsed codec descriptions. Most arrays of a dataset share a few.

use std::sync::{PoisonError, RwLock};

use nczarr_codec::Filter;
use nczarr_dispatch::Registry;
use nczarr_model::{FilterSpec, Result};

use super::filters::filter;
use crate::metadata::json::{Value, text};
use crate::metadata::v2::array_meta::codec_id;

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
    pub(super) fn read(&self, codec: &Value<'_>, registry: &Registry) -> Result<ParsedCodec> {
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

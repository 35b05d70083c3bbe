//! A process-wide cache of arrays that were built from one small document: [`CachedArray`].
//!
//! Programs open one array again and again, or equal arrays of many stores. The document is read each time.
//! If its bytes and the [`ParseRules`] match a cached entry, the new dataset shares that model.
//!
//! * When it applies: [`array_document`](crate::array_document) opens an array of fixed shape, with a
//!   document of at most [`MAX_DOCUMENT`] bytes.
//! * Fallback: the document is parsed. This also happens while another thread holds the cache.
//! * Gain: no parsing and no second copy of the model for repeated opens.

use std::sync::{Arc, RwLock, Weak};

use nczarr_dispatch::{Key, Limits, OpenRequest, Registry, ZarrFormat};

use crate::context::OpenContext;
use crate::flavour::LoadedDataset;

/// The number of cached arrays.
const CACHE_SIZE: usize = 8;

/// The longest cached document, in bytes.
const MAX_DOCUMENT: usize = 4096;

/// The cached arrays, the latest first.
static CACHE: RwLock<Vec<Arc<CachedArray>>> = RwLock::new(Vec::new());

/// A document, the rules of its parse, and the result.
pub(crate) struct CachedArray {
    document: Box<[u8]>,
    key: Key,
    rules: ParseRules,
    loaded: LoadedDataset,
}

/// The inputs of a parse other than the document.
struct ParseRules {
    format: ZarrFormat,
    /// Whether dimensions have names, and whether times are shown as counts.
    fragment_rules: (bool, bool),
    limits: Limits,
    /// The source of its filters.
    registry: Weak<Registry>,
}

impl ParseRules {
    fn apply_to(&self, request: &OpenRequest<'_>, opening: &OpenContext<'_>) -> bool {
        self.format == opening.format
            && self.fragment_rules == opening.fragment_rules()
            && std::ptr::eq(self.registry.as_ptr(), Arc::as_ptr(request.registry))
            && self.limits == request.options.limits
    }
}

impl CachedArray {
    /// Returns the cached array with this document, key and rules.
    pub(crate) fn find(
        document: &[u8],
        key: &Key,
        request: &OpenRequest<'_>,
        opening: &OpenContext<'_>,
    ) -> Option<Arc<Self>> {
        let last = CACHE.try_read().ok()?;
        let is_it = |known: &&Arc<CachedArray>| {
            *known.document == *document && known.key == *key && known.rules.apply_to(request, opening)
        };
        last.iter().find(is_it).cloned()
    }

    /// Caches the result of a parse, unless it has unlimited dimensions.
    pub(crate) fn insert(
        document: Box<[u8]>,
        key: Key,
        request: &OpenRequest<'_>,
        opening: &OpenContext<'_>,
        made: &LoadedDataset,
    ) {
        if made.model.dims().any(|(_, dim)| dim.unlimited) {
            return;
        }
        let rules = ParseRules {
            format: opening.format,
            fragment_rules: opening.fragment_rules(),
            limits: request.options.limits.clone(),
            registry: Arc::downgrade(request.registry),
        };
        let Ok(mut last) = CACHE.try_write() else { return };
        last.truncate(CACHE_SIZE - 1);
        last.insert(0, Arc::new(Self { document, key, rules, loaded: made.share() }));
    }

    /// Returns the result for another dataset.
    pub(crate) fn share(&self) -> LoadedDataset {
        self.loaded.share()
    }

    /// Whether a document is small enough for the cache.
    pub(crate) fn is_small(document: &[u8]) -> bool {
        document.len() <= MAX_DOCUMENT
    }
}

//! What was made of documents that were read before: [`Known`].
//!
//! Programs open one array again and again, or one of each of many stores that are alike, of each month, say. Its document is
//! read each time; where it has the very bytes of one that was understood before, and is understood by the same rules, what
//! was made of that holds for it too, and is in memory once.
//!
//! Only for arrays of which their own document tells all that is wanted (`light`), and whose lengths never change: those
//! of unlimited dimensions are a dataset's own. The process keeps the last few of them, of small documents. Who finds
//! them in use by another thread reads the document as if it were the first.

use std::sync::{Arc, RwLock, Weak};

use nczarr_dispatch::{Key, Limits, OpenRequest, Registry, ZarrFormat};

use crate::flavour::Settled;
use crate::opening::Opening;

/// So many are kept.
const KEPT: usize = 8;

/// Bytes of the longest document that is kept.
const LONGEST: usize = 4096;

/// The last that were understood, the latest first.
static LAST: RwLock<Vec<Arc<Known>>> = RwLock::new(Vec::new());

/// A document, the rules by which it was understood, and what was made of it.
pub(crate) struct Known {
    document: Box<[u8]>,
    key: Key,
    rules: Rules,
    made: Settled,
}

/// What beside a document decides what is made of it.
struct Rules {
    format: ZarrFormat,
    /// Whether its dimensions have names, and times are presented as counts.
    words: (bool, bool),
    limits: Limits,
    /// Its filters come from there.
    registry: Weak<Registry>,
}

impl Rules {
    fn are(&self, request: &OpenRequest<'_>, opening: &Opening<'_>) -> bool {
        self.format == opening.format
            && self.words == opening.words()
            && std::ptr::eq(self.registry.as_ptr(), Arc::as_ptr(request.registry))
            && self.limits == request.options.limits
    }
}

impl Known {
    /// What is known of the array at `key`, if it has this document.
    pub(crate) fn find(
        document: &[u8],
        key: &Key,
        request: &OpenRequest<'_>,
        opening: &Opening<'_>,
    ) -> Option<Arc<Self>> {
        let last = LAST.try_read().ok()?;
        let is_it = |known: &&Arc<Known>| {
            *known.document == *document && known.key == *key && known.rules.are(request, opening)
        };
        last.iter().find(is_it).cloned()
    }

    /// Keeps what was made of a document, if it holds for every dataset.
    pub(crate) fn keep(
        document: Box<[u8]>,
        key: Key,
        request: &OpenRequest<'_>,
        opening: &Opening<'_>,
        made: &Settled,
    ) {
        if made.model.dims().any(|(_, dim)| dim.unlimited) {
            return;
        }
        let rules = Rules {
            format: opening.format,
            words: opening.words(),
            limits: request.options.limits.clone(),
            registry: Arc::downgrade(request.registry),
        };
        let Ok(mut last) = LAST.try_write() else { return };
        last.truncate(KEPT - 1);
        last.insert(0, Arc::new(Self { document, key, rules, made: made.again() }));
    }

    /// What was made of it, for another dataset.
    pub(crate) fn again(&self) -> Settled {
        self.made.again()
    }

    /// Whether what is made of a document can be kept.
    pub(crate) fn is_small(document: &[u8]) -> bool {
        document.len() <= LONGEST
    }
}

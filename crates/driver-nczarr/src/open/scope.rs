//! Step 1 of opening, scope: the part of the store to read ([`ReadScope`]).
//!
//! A program may need one variable only. Then the cost of opening does not depend on the size of the store.
//! If a narrow scope does not determine the variable fully, the next wider one is tried.

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::{MountedMap, OpenRequest};
use nczarr_storage::Key;
use nczarr_url_infer::Target;

use crate::metadata::v3::node_name;

/// The deepest nesting of groups.
const MAX_DEPTH: usize = 200;

/// The part of a store that an opening reads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReadScope<'p> {
    /// Every node.
    Whole,
    /// One variable.
    ///
    /// * When it applies: reading, if the documents on the path determine the variable. These are the root's
    ///   attributes, the lists and attributes of the groups, and the array's documents. Over a network this
    ///   takes one round. It never reads consolidated metadata.
    /// * Fallback: missing or invalid documents, unusual names, dimensions in other groups, and lengths that
    ///   depend on other variables.
    ///
    /// Only derived names may differ from a full opening: those of dimensions with several lengths, and of
    /// user-defined types.
    Variable(&'p VariablePath<'p>),
    /// The data of one array.
    ///
    /// * When it applies: a plain Zarr store (`mode=zarr`), for reading, if the array's document alone
    ///   determines its elements. Attributes of V2, groups and dimensions are not read.
    /// * Fallback: user-defined types, text (attributes may make it char), and big-endian numbers of V2 (the
    ///   root may reveal a writer bug). Also documents that are absent, unreadable or of both formats.
    /// * Gain: one request per opening instead of several rounds.
    Data(&'p VariablePath<'p>),
}

/// The path of a variable.
#[derive(Debug)]
pub(crate) struct VariablePath<'p> {
    /// The path of its group, without a slash at either end; empty for the root.
    parent: &'p str,
    pub(crate) name: &'p str,
    /// The key of its array.
    pub(crate) key: Key,
    /// The version of Zarr that the fragment requests.
    pub(crate) format: Option<ZarrFormat>,
}

impl<'p> VariablePath<'p> {
    /// Returns the path of the only variable that the request needs. `None` if it needs everything, or if a
    /// name needs escaping or no key can have it.
    pub(crate) fn of(request: &OpenRequest<'p>) -> Option<Self> {
        let path = request.scope?.path;
        if request.writable {
            return None;
        }
        let path = path.strip_prefix('/').unwrap_or(path);
        let is_plain = |name: &str| {
            !name.is_empty()
                && !name.starts_with('.')
                && !name.contains('\\')
                && !node_name::needs_escape(name)
        };
        let mut key = Key::root();
        for (depth, segment) in path.split('/').enumerate() {
            if depth == MAX_DEPTH || !is_plain(segment) {
                return None;
            }
            key.push(segment).ok()?;
        }
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        Some(Self { parent, name, key, format: requested_format(request.target) })
    }

    /// Returns the names of the groups above it, the outermost first.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &'p str> {
        self.parent.split('/').filter(|name| !name.is_empty())
    }
}

impl<'p> ReadScope<'p> {
    /// Returns the scopes to try, the narrowest first.
    pub(crate) fn candidates(
        request: &OpenRequest<'_>,
        mounted: &MountedMap,
        path: Option<&'p VariablePath<'p>>,
    ) -> impl Iterator<Item = Self> {
        let target = request.target;
        let data_only = target.has_mode("zarr") && request.scope.is_some_and(|scope| scope.data_only);
        // Over a network one consolidated document is cheaper than the documents on the path.
        let by_documents = mounted.prefetched.is_none() || !target.has_mode("consolidated");
        [
            path.filter(|_| data_only).map(Self::Data),
            path.filter(|_| by_documents).map(Self::Variable),
            Some(Self::Whole),
        ]
        .into_iter()
        .flatten()
    }
}

/// Returns the version of Zarr that the fragment requests.
fn requested_format(target: &Target) -> Option<ZarrFormat> {
    match (target.has_mode("v2"), target.has_mode("v3")) {
        (true, false) => Some(ZarrFormat::V2),
        (false, true) => Some(ZarrFormat::V3),
        _ => None,
    }
}

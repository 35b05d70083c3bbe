//! Opening: the documents of a store become a dataset. [`open`] runs the same four steps in every case.
//!
//! 1. `scope` decides the part of the store to read: every node, one variable, or the data of one array.
//! 2. `discover` reads the documents that show the kind of store.
//! 3. `load` builds groups and arrays from their documents, as a tree.
//! 4. `link` gives the tree its meaning and makes the dataset.
//!
//! `metadata_reader` reads documents in batches; `prefetch` fetches them ahead over a network. `context`
//! holds the rules of one opening.

pub(crate) mod context;
mod discover;
pub(crate) mod fragment;
mod link;
pub(crate) mod load;
pub(crate) mod metadata_reader;
mod prefetch;
pub(crate) mod refused_documents;
mod scope;
pub(crate) mod tree;

use std::sync::Arc;

use nczarr_dispatch::{Dataset, OpenRequest};
use nczarr_model::Result;

use self::context::OpenContext;
use self::scope::{ReadScope, VariablePath};
use discover::documents::RootDocuments;

/// Opens a dataset.
///
/// # Errors
/// `NC_ENOTZARR` if there is no Zarr store, `NC_EZARRMETA` for consolidated metadata of another format,
/// `NC_ENCZARR` with key and member for invalid documents.
pub(crate) fn open(request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
    let mut mounted = request.registry.open_map(request)?;
    mounted.prefetched = prefetch::prefetched_map(&mounted);
    let path = VariablePath::of(request);
    for scope in ReadScope::candidates(request, &mounted, path.as_ref()) {
        let mut documents = RootDocuments::read(request, &mounted, scope)?;
        let Some(mut found) = discover::root(&mut documents, request, &mounted, scope)? else { continue };
        let (opening, reading) = OpenContext::new(request, &mounted, &mut found)?;
        let Some(tree) = load::tree(found, scope, &reading)? else { continue };
        if let Some(dataset) = link::dataset(tree, scope, opening, &reading)? {
            return Ok(dataset);
        }
    }
    Err(tree::not_zarr().at(request.target))
}

//! Reservation of indices at the end of an unlimited dimension, also among writers in other processes.
//!
//! One document is the point where writers meet: a conditional update of its length hands out the indices. In
//! NCZarr it is the document of the group that declares the dimension. In plain Zarr it is the document of an
//! array along it: the first by key that is not the dimension's coordinate. Then the lengths in the other
//! documents are raised: data arrays, coordinates, consolidated metadata. Each step replaces one document, so
//! readers of consolidated metadata always find equal lengths. If a writer stops in between, the next
//! reservation does the rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_codec::ZarrFormat;
use nczarr_model::{DimId, ErrorKind, Model, Result, Var, VarId};
use nczarr_runtime::run_on_new_threads;
use nczarr_storage::Key;

use crate::dataset::catalog::Catalog;
use crate::dataset::node_id::NodeId;
use crate::flavour::kind::Flavour;
use crate::legacy::upgrade::LegacyUpgrade;
use crate::metadata::attributes::{NCZARR_GROUP, NETCDF};
use crate::metadata::json::{self, Json, write_strict};
use crate::metadata::v2::consolidated::ZMETADATA;
use crate::metadata::v3::document::{CONSOLIDATED, ZARR_JSON};
use crate::open::metadata_reader::read_here;
use crate::write::committed::CommittedMetadata;
use crate::write::documents::DocumentKind;
use crate::write::remove_consolidated::{self, is_consolidated};
use crate::write::store::DocumentStore;
use crate::write::stored_length::{StoredLength, member};

/// The largest length: documents and interfaces of C have signed numbers.
const MAX_LEN: u64 = i64::MAX as u64;

/// How many documents of a remote map are updated at once.
const MAX_THREADS: usize = 8;

/// A document with the length of the dimension.
struct LengthDocument {
    node: NodeId,
    key: Key,
    length: StoredLength,
}

/// The documents with the length of a dimension, in the order of writing.
struct LengthDocuments {
    /// The document where writers meet.
    meeting: LengthDocument,
    /// Written after it.
    data: Vec<LengthDocument>,
    /// Written last: coordinates, and the annotation of a plain group.
    rest: Vec<LengthDocument>,
}

impl LengthDocuments {
    fn all(&self) -> impl Iterator<Item = &LengthDocument> {
        std::iter::once(&self.meeting).chain(&self.data).chain(&self.rest)
    }
}

/// Reserves indices of a dimension.
#[derive(Clone, Copy)]
pub(crate) struct IndexReserver<'c> {
    pub(crate) catalog: &'c Catalog,
}

impl IndexReserver<'_> {
    /// Reserves `count` indices of `dim` and returns the first one. The data below the model's length are
    /// stored.
    ///
    /// # Errors
    /// `NC_EINVAL` for a fixed dimension, `NC_EDIMSIZE` for a length beyond the limit, `NC_EPERM` if the
    /// storage has no conditional writes, `NC_EBADDIM` if the stored metadata lacks the dimension; otherwise
    /// the storage's error.
    pub(crate) fn reserve(&self, committed: &mut CommittedMetadata, dim: DimId, count: u64) -> Result<u64> {
        let model = self.catalog.model.snapshot();
        let dimension = model.dim(dim)?;
        if self.catalog.options.exclusive || !dimension.unlimited {
            // The next commit stores the length.
            return dimension.reserve(count, MAX_LEN);
        }
        if !self.catalog.map.caps().conditional_write {
            return Err(ErrorKind::Perm.context(format!(
                "dimension {}: the storage has no conditional writes, so other writers may get the same indices; \
                 set `exclusive` if there are no others",
                dimension.name
            )));
        }
        self.prepare(committed)?;
        let documents = self.documents(&model, dim, committed)?;
        let least = self.stored_length(&documents)?.max(dimension.len());
        let mut start = 0;
        self.change(&documents.meeting, |document, length| {
            let Some(stored) = document.as_mut().and_then(|document| length.get(document)) else {
                return Err(ErrorKind::BadDim.context(format!(
                    "{}: another writer removed or renamed dimension {}; open the dataset again",
                    documents.meeting.key, dimension.name
                )));
            };
            start = stored.max(least);
            let end = dimension.end_of(start, count, MAX_LEN)?;
            Ok(document.as_mut().is_some_and(|document| length.raise(document, end)))
        })?;
        let end = dimension.end_of(start, count, MAX_LEN)?;
        self.raise_all(&documents.data, end)?;
        self.raise_all(&documents.rest, end)?;
        self.raise_consolidated(&documents, end)?;
        self.record(&model, dim, end, &documents, committed)?;
        Ok(start)
    }

    /// Brings the stored metadata into the current style, and removes metadata that are not maintained.
    fn prepare(&self, committed: &mut CommittedMetadata) -> Result<()> {
        if committed.legacy.is_some() {
            committed.consolidate |= is_consolidated(self.catalog)?;
            LegacyUpgrade { catalog: self.catalog }.upgrade(committed)?;
            // The next commit writes it again.
            remove_consolidated::remove(self.catalog, committed)?;
        }
        remove_consolidated::remove_nested(self.catalog, committed)
    }

    /// Returns the stored documents with the length of a dimension.
    fn documents(&self, model: &Model, dim: DimId, committed: &CommittedMetadata) -> Result<LengthDocuments> {
        let dimension = model.dim(dim)?;
        let mut data = Vec::new();
        let mut coordinates = Vec::new();
        for (id, var) in model.vars() {
            if let Some(document) = self.array_document(id, var, dim, committed)? {
                let is_coordinate = var.dims.len() == 1 && var.name == dimension.name;
                if is_coordinate { &mut coordinates } else { &mut data }.push(document);
            }
        }
        // Every writer finds the same first array.
        data.sort_by(|a, b| a.key.as_str().cmp(b.key.as_str()));
        coordinates.sort_by(|a, b| a.key.as_str().cmp(b.key.as_str()));
        let declaration = self.declaration(model, dim, committed)?;
        let mut rest = coordinates;
        let meeting = match (self.catalog.flavour, declaration) {
            (Flavour::NcZarr, declaration) => declaration,
            (Flavour::Zarr, declaration) => {
                let meeting = if !data.is_empty() {
                    Some(data.remove(0))
                } else if !rest.is_empty() {
                    Some(rest.remove(0))
                } else {
                    None
                };
                match meeting {
                    None => declaration,
                    meeting => {
                        rest.extend(declaration);
                        meeting
                    }
                }
            }
        };
        let meeting = meeting.ok_or_else(|| {
            ErrorKind::BadDim.context(format!(
                "dimension {}: no stored document has its length; define a variable along it first",
                dimension.name
            ))
        })?;
        Ok(LengthDocuments { meeting, data, rest })
    }

    /// Returns the document of an array along the dimension; `None` for other arrays, and for arrays that are
    /// not stored or cannot grow.
    fn array_document(
        &self,
        id: VarId,
        var: &Var,
        dim: DimId,
        committed: &CommittedMetadata,
    ) -> Result<Option<LengthDocument>> {
        let positions: Vec<usize> =
            var.dims.iter().enumerate().filter(|(_, along)| **along == dim).map(|(at, _)| at).collect();
        let node = NodeId::Var(id);
        if positions.is_empty()
            || var.problem.is_some()
            || committed.texts(node)[DocumentKind::Marker as usize].is_none()
        {
            return Ok(None);
        }
        let state = self.catalog.read_state();
        // A rectilinear grid has edges for the stored length only.
        if state.var(id)?.stored.meta.as_ref().is_none_or(|meta| meta.axes.is_some()) {
            return Ok(None);
        }
        let mut key = Key::root();
        node.key(&state, DocumentKind::Marker, &mut key)?;
        Ok(Some(LengthDocument {
            node,
            key,
            length: StoredLength::Shape { rank: var.dims.len(), positions },
        }))
    }

    /// Returns the document of the group that declares the dimension; `None` if it has no declarations.
    fn declaration(
        &self,
        model: &Model,
        dim: DimId,
        committed: &CommittedMetadata,
    ) -> Result<Option<LengthDocument>> {
        let dimension = model.dim(dim)?;
        let is_v3 = self.catalog.format == ZarrFormat::V3;
        let attribute = match self.catalog.flavour {
            Flavour::NcZarr => NCZARR_GROUP,
            Flavour::Zarr if self.catalog.annotate => NETCDF,
            Flavour::Zarr => return Ok(None),
        };
        let Some(name) = committed.stored_name(dimension.group, dim, &dimension.name) else {
            return Ok(None);
        };
        let node = NodeId::Group(dimension.group);
        let part = if is_v3 { DocumentKind::Marker } else { DocumentKind::Attrs };
        if self.catalog.root_array || committed.texts(node)[part as usize].is_none() {
            return Ok(None);
        }
        let mut key = Key::root();
        node.key(&self.catalog.read_state(), part, &mut key)?;
        let length = StoredLength::Declared { attribute, name: name.to_owned(), is_v3 };
        Ok(Some(LengthDocument { node, key, length }))
    }

    /// Returns the greatest stored length; 0 if nothing is stored.
    fn stored_length(&self, documents: &LengthDocuments) -> Result<u64> {
        let keys: Vec<Key> = documents.all().map(|document| document.key.clone()).collect();
        let found = read_here(&*self.catalog.map, &keys, &self.catalog.options.limits);
        let mut most = 0;
        for (document, found) in documents.all().zip(found) {
            most = most.max(found?.and_then(|mut found| document.length.get(&mut found)).unwrap_or(0));
        }
        Ok(most)
    }

    /// Raises the length in these documents. Requests to a remote map overlap.
    fn raise_all(&self, documents: &[LengthDocument], len: u64) -> Result<()> {
        let threads = if self.catalog.map.caps().remote { documents.len().min(MAX_THREADS) } else { 1 };
        let (turn, outcome) = (AtomicUsize::new(0), Mutex::new(Ok(())));
        run_on_new_threads(threads, &|| {
            while let Some(document) = documents.get(turn.fetch_add(1, Ordering::Relaxed)) {
                let raised = self.change(document, |found, length| {
                    Ok(found.as_mut().is_some_and(|found| length.raise(found, len)))
                });
                if raised.is_err() {
                    *outcome.lock().unwrap_or_else(PoisonError::into_inner) = raised;
                    break;
                }
            }
        });
        outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raises all lengths along the dimension in consolidated metadata, in one step.
    fn raise_consolidated(&self, documents: &LengthDocuments, len: u64) -> Result<()> {
        let is_v3 = self.catalog.format == ZarrFormat::V3;
        if is_v3 && self.catalog.root_array {
            return Ok(());
        }
        let key = Key::new(if is_v3 { ZARR_JSON } else { ZMETADATA })?;
        self.replace(&key, |document| {
            let consolidated = if is_v3 { member(document, CONSOLIDATED) } else { Some(document) };
            let Some(nodes) = consolidated.and_then(|found| member(found, "metadata")) else {
                return Ok(false);
            };
            let place = |document: &LengthDocument| {
                let key =
                    if is_v3 { document.key.parent().unwrap_or_default() } else { document.key.clone() };
                key.as_str().to_owned()
            };
            let mut end = len;
            for document in documents.all() {
                let stored = member(nodes, &place(document)).and_then(|found| document.length.get(found));
                end = end.max(stored.unwrap_or(0));
            }
            let mut is_changed = false;
            for document in documents.all() {
                if let Some(found) = member(nodes, &place(document)) {
                    is_changed |= document.length.raise(found, end);
                }
            }
            Ok(is_changed)
        })
    }

    /// Records the documents with the new length as stored, unless they have other changes to store.
    fn record(
        &self,
        model: &Arc<Model>,
        dim: DimId,
        end: u64,
        documents: &LengthDocuments,
        committed: &mut CommittedMetadata,
    ) -> Result<()> {
        let store = DocumentStore { catalog: self.catalog };
        let before = model.at(&committed.stored_lens);
        committed.stored_lens.raise_to(dim, end);
        model.dim(dim)?.grow(end);
        let after = model.at(&committed.stored_lens);
        let state = self.catalog.read_state();
        for document in documents.all() {
            if store.texts(&before, &state, document.node)? == *committed.texts(document.node) {
                committed.record(document.node, store.texts(&after, &state, document.node)?, &after);
            }
        }
        if let Some((last, lens)) = &mut committed.last_written
            && Arc::ptr_eq(last, model)
        {
            lens.raise_to(dim, end);
        }
        Ok(())
    }

    /// Replaces a document if `change` returns true. `change` gets `None` for an absent document.
    fn change(
        &self,
        document: &LengthDocument,
        mut change: impl FnMut(&mut Option<Json>, &StoredLength) -> Result<bool>,
    ) -> Result<()> {
        self.update(&document.key, |found| change(found, &document.length))
    }

    /// As [`IndexReserver::change`], for a document that may be absent.
    fn replace(&self, key: &Key, mut change: impl FnMut(&mut Json) -> Result<bool>) -> Result<()> {
        self.update(key, |found| found.as_mut().map_or(Ok(false), &mut change))
    }

    fn update(&self, key: &Key, mut change: impl FnMut(&mut Option<Json>) -> Result<bool>) -> Result<()> {
        let limits = &self.catalog.options.limits;
        let limit = usize::try_from(limits.document).unwrap_or(usize::MAX);
        let mut is_unchanged = false;
        let outcome = self.catalog.map.update(key, limit, &mut |old, new| {
            let mut document =
                old.map(|old| json::parse(old, limits)).transpose().map_err(|error| error.at(key))?;
            is_unchanged = !change(&mut document)?;
            match &document {
                Some(document) if !is_unchanged => {
                    let mut text = String::with_capacity(old.map_or(0, <[u8]>::len) + 16);
                    write_strict(document, &mut text);
                    new.extend_from_slice(text.as_bytes());
                    Ok(())
                }
                // Ends the update without a write.
                _ => Err(ErrorKind::Internal.context(format!("{key}: the document is unchanged"))),
            }
        });
        if is_unchanged { Ok(()) } else { outcome }
    }
}

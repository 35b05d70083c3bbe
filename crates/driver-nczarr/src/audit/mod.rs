//! Comparison of a store's objects with the dataset that was read from it.
//!
//! The dataset gives the nodes and the names of their chunks, so opening and audit follow the same rules.
//! `objects` finds objects that belong to no node. `consolidated` finds outdated copies of documents.

mod consolidated;
mod objects;

use std::collections::BTreeMap;

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::{Audit, Fault};
use nczarr_model::Result;
use nczarr_storage::{ByteRange, Key, ZMapExt};

use crate::dataset::catalog::Catalog;
use crate::legacy::{NCZATTR, NCZGROUP, NCZVAR};
use crate::metadata::json::{self, Json};
use crate::metadata::v2::consolidated::ZMETADATA;
use crate::metadata::v2::{ZARRAY, ZATTRS, ZGROUP};
use crate::metadata::v3::document::ZARR_JSON;
use crate::open::metadata_reader::cannot_list;

use objects::Nodes;

/// The documents of Zarr V2, and of the NCZarr generations in it.
const V2: &[&str] =
    &[ZGROUP, ZARRAY, ZATTRS, ZMETADATA, NCZGROUP, NCZVAR, NCZATTR, ".nczarr", ".nczarray", ".nczattrs"];

/// The prefix of this library's own objects, such as locks and leftovers of writers.
const INTERNAL_PREFIX: &str = ".nczarr-";

/// Whether an object of this name is a document.
fn is_document(name: &str) -> bool {
    name == ZARR_JSON || V2.contains(&name)
}

/// Compares the objects of a store with its dataset.
#[derive(Clone, Copy)]
pub(crate) struct Auditor<'c> {
    pub(crate) catalog: &'c Catalog,
}

impl Auditor<'_> {
    /// Compares all objects of the store with the dataset.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn audit(&self) -> Result<Audit> {
        if !self.catalog.map.caps().list {
            return Ok(Audit::default());
        }
        let keys = match self.catalog.map.keys(&Key::root()) {
            Ok(keys) => keys,
            Err(error) if cannot_list(&error) => return Ok(Audit::default()),
            Err(error) => return Err(error),
        };
        let mut audit = Audit { objects: keys.len() as u64, faults: Vec::new() };
        let mut documents = BTreeMap::new();
        for key in keys.iter().filter(|key| is_document(key.name())) {
            if let Some(document) = self.document(key, &mut audit.faults)? {
                documents.insert(key.as_str().to_owned(), document);
            }
            audit.faults.extend(self.of_another_format(key));
        }
        let nodes = Nodes::of(self.catalog, &keys)?;
        nodes.unlisted(&mut audit.faults);
        for key in
            keys.iter().filter(|key| !is_document(key.name()) && !key.name().starts_with(INTERNAL_PREFIX))
        {
            audit.faults.extend(nodes.fault(key));
        }
        consolidated::compare(&documents, &mut audit.faults);
        Ok(audit)
    }

    /// Reads and parses a document with the rules of opening; reports a fault if it is damaged.
    fn document(&self, key: &Key, faults: &mut Vec<Fault>) -> Result<Option<Json>> {
        let limits = &self.catalog.options.limits;
        let mut bytes = Vec::new();
        self.catalog.map.read(key, ByteRange::first(limits.document.saturating_add(1)), &mut bytes)?;
        match json::parse(&bytes, limits) {
            Ok(document) => {
                if !document.is_strict() {
                    let text = "has bare words such as NaN, which strict readers of JSON refuse";
                    faults.push(Fault::unusual(key, text));
                }
                Ok(Some(document))
            }
            Err(error) => {
                faults.push(Fault::damaged(key, error));
                Ok(None)
            }
        }
    }

    /// Reports a document of another version of Zarr, which this dataset does not use.
    fn of_another_format(&self, key: &Key) -> Option<Fault> {
        let (is_v3, found) = (self.catalog.format == ZarrFormat::V3, key.name() == ZARR_JSON);
        let (ours, other) = if is_v3 { ("V3", "V2") } else { ("V2", "V3") };
        let text = || {
            format!("is a document of Zarr {other} in a dataset of Zarr {ours}; other readers may prefer it")
        };
        (is_v3 != found).then(|| Fault::unusual(key, text()))
    }
}

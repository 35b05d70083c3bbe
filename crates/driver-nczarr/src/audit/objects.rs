//! Objects that belong to no node of the dataset.

use std::collections::{BTreeMap, BTreeSet};

use nczarr_codec::AxisEdges;
use nczarr_dispatch::Fault;
use nczarr_model::Result;
use nczarr_storage::Key;

use crate::data::variable_chunks::ChunkNaming;
use crate::dataset::catalog::Catalog;
use crate::metadata::v2::{ZARRAY, ZGROUP};
use crate::metadata::v3::document::ZARR_JSON;

/// The nodes of a dataset, by their keys.
pub(super) struct Nodes {
    arrays: BTreeMap<String, Option<AuditedChunks>>,
    /// Nodes with a document that the dataset does not show.
    unlisted: BTreeSet<String>,
}

/// The chunk grid of an array, or its grid of shards.
struct AuditedChunks {
    naming: ChunkNaming,
    /// The number of chunks along each dimension.
    grid: Vec<u64>,
}

impl Nodes {
    /// Collects the nodes that the dataset shows, and those that only have documents among `keys`.
    pub(super) fn of(catalog: &Catalog, keys: &[Key]) -> Result<Self> {
        let model = catalog.model.snapshot();
        let state = catalog.read_state();
        let mut arrays = BTreeMap::new();
        for ((id, shown), var) in model.vars().zip(&state.vars) {
            let chunks = match &var.stored.meta {
                Some(meta) => Some(AuditedChunks {
                    naming: ChunkNaming {
                        separator: meta.separator,
                        prefix: meta.prefix,
                        rank: meta.chunks.len(),
                    },
                    grid: match &meta.axes {
                        // The unreadable part of the metadata may be the grid.
                        _ if shown.problem.is_some() => vec![u64::MAX; meta.chunks.len()],
                        Some(axes) => axes.iter().map(AxisEdges::count).collect(),
                        None => grid(&model.shape(id)?, meta.shards.as_ref().unwrap_or(&meta.chunks)),
                    },
                }),
                None => None,
            };
            arrays.insert(var.key.as_str().to_owned(), chunks);
        }
        let shown: BTreeSet<&str> = state
            .groups
            .iter()
            .map(|group| group.key.as_str())
            .chain(arrays.keys().map(String::as_str))
            .collect();
        let nodes = keys.iter().filter(|key| [ZARRAY, ZGROUP, ZARR_JSON].contains(&key.name()));
        let nodes = nodes.map(|key| key.as_str().rsplit_once('/').map_or("", |(node, _)| node));
        let unlisted = nodes.filter(|node| !shown.contains(node)).map(str::to_owned).collect();
        Ok(Self { arrays, unlisted })
    }

    /// Reports nodes that have documents but are not shown.
    pub(super) fn unlisted(&self, faults: &mut Vec<Fault>) {
        let text = "has documents, but the metadata of its group or the consolidated metadata do not list it";
        faults.extend(self.unlisted.iter().map(|node| Fault::left_out(node, text)));
    }

    /// Returns the fault of an object that is no document, if it has one.
    pub(super) fn fault(&self, key: &Key) -> Option<Fault> {
        let path = key.as_str();
        let folders = path.match_indices('/').map(|(at, _)| (&path[..at], &path[at + 1..]));
        // Finds the innermost node around the object.
        for (folder, rest) in folders.rev().chain([("", path)]) {
            if self.unlisted.contains(folder) {
                return None;
            }
            if let Some(chunks) = self.arrays.get(folder) {
                let wrong = chunks.as_ref().and_then(|chunks| chunks.name_problem(rest));
                return wrong.map(|text| Fault::unusual(key, text));
            }
        }
        Some(Fault::unusual(key, "belongs to no array"))
    }
}

impl AuditedChunks {
    /// Returns why no chunk can have this name; `None` if one can.
    fn name_problem(&self, name: &str) -> Option<String> {
        let mut index = Vec::new();
        if !self.naming.parse(name, &mut index) {
            return Some(format!(
                "is not the name of a chunk of an array with {} dimensions",
                self.grid.len()
            ));
        }
        let beyond = index.iter().zip(&self.grid).position(|(index, count)| index >= count)?;
        Some(format!("is beyond the array, which has {} chunks along dimension {beyond}", self.grid[beyond]))
    }
}

/// Returns the number of chunks along each dimension.
fn grid(shape: &[u64], chunk: &[u64]) -> Vec<u64> {
    shape.iter().zip(chunk).map(|(len, chunk)| len.div_ceil((*chunk).max(1))).collect()
}

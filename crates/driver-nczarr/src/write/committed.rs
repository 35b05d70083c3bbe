//! [`CommittedMetadata`]: the metadata that this session knows to be stored.

use std::sync::Arc;

use nczarr_model::{DimId, GroupId, Lengths, Model};

use crate::dataset::node_id::NodeId;
use crate::legacy::NczarrVersion;
use crate::write::documents::NodeTexts;
use crate::write::merge_v3;

/// The metadata that this session knows to be stored.
#[derive(Debug, Default)]
pub(crate) struct CommittedMetadata {
    /// The documents of groups and variables by id, as this session last wrote them, or would write the
    /// loaded state. An absent entry was never written. Other writers may have changed the documents since.
    pub(crate) groups: Vec<NodeTexts>,
    pub(crate) vars: Vec<NodeTexts>,
    /// The dimensions that the stored groups declare, by group.
    pub(crate) dims: Vec<Vec<(DimId, String)>>,
    /// Whether the dataset has, or will get, consolidated metadata.
    pub(crate) consolidate: bool,
    /// Whether the consolidated metadata agrees with the documents.
    pub(crate) consolidated: bool,
    /// Whether groups below the root may still have their own consolidated metadata.
    pub(crate) may_have_nested: bool,
    /// The legacy style of the dataset, until it is upgraded.
    pub(crate) legacy: Option<NczarrVersion>,
    /// Metadata was written or loaded at least once.
    pub(crate) has_metadata: bool,
    /// The lengths that metadata may declare: the data below them are stored.
    pub(crate) stored_lens: Lengths,
    /// The last model that was stored completely, and its lengths. A variable with the same address in the
    /// current model is unchanged.
    pub(crate) last_written: Option<(Arc<Model>, Lengths)>,
}

impl CommittedMetadata {
    /// Returns the texts of a node's documents.
    pub(crate) fn texts(&self, node: NodeId) -> &NodeTexts {
        let found = match node {
            NodeId::Group(id) => self.groups.get(id.index()),
            NodeId::Var(id) => self.vars.get(id.index()),
        };
        found.unwrap_or(const { &[None, None] })
    }

    /// Returns the stored name of a group's dimension. A new dimension has its current name, or `None` if
    /// that is the stored name of another.
    pub(crate) fn stored_name<'a>(&'a self, group: GroupId, dim: DimId, name: &'a str) -> Option<&'a str> {
        let Some(dims) = self.dims.get(group.index()) else { return Some(name) };
        match dims.iter().find(|(id, _)| *id == dim) {
            Some((_, stored)) => Some(stored),
            None => dims.iter().all(|(_, stored)| stored != name).then_some(name),
        }
    }

    /// Records the documents that were stored for a node.
    pub(crate) fn record(&mut self, node: NodeId, texts: NodeTexts, model: &Model) {
        if let (NodeId::Group(id), true) = (node, texts.iter().any(Option::is_some))
            && let Ok(group) = model.group(id)
        {
            if self.dims.len() <= id.index() {
                self.dims.resize_with(id.index() + 1, Vec::new);
            }
            self.dims[id.index()] = group.dims.iter().map(|(name, &dim)| (dim, name.clone())).collect();
        }
        let (nodes, index) = match node {
            NodeId::Group(id) => (&mut self.groups, id.index()),
            NodeId::Var(id) => (&mut self.vars, id.index()),
        };
        if nodes.len() <= index {
            nodes.resize_with(index + 1, NodeTexts::default);
        }
        for (known, text) in nodes[index].iter_mut().zip(texts) {
            if text.is_some() {
                *known = text;
            }
        }
    }

    /// Forgets all attributes, so that the next write of a document replaces them.
    pub(crate) fn forget_attrs(&mut self) {
        for texts in self.groups.iter_mut().chain(&mut self.vars) {
            match texts {
                // The rest of the document stays.
                [None, Some(joined)] => *joined = merge_v3::EMPTY_BASE.into(),
                [attrs, _] => *attrs = None,
            }
        }
        self.last_written = None;
    }

    /// Forgets all but the first groups and variables.
    pub(super) fn forget(&mut self, groups: usize, vars: usize) {
        self.groups.truncate(groups);
        self.dims.truncate(groups);
        self.vars.truncate(vars);
    }
}

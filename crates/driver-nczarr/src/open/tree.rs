//! The documents of a store as a tree of groups and arrays: [`RawTree`], before a flavour interprets it.
//!
//! Arrays are already built as variables. A broken document stays with its node ([`RawGroup::damage`]); only
//! the root's are errors of the whole. `load` fills the tree.

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::Fault;
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::Key;

use crate::metadata::json::{Json, Object};
use crate::metadata::v2::{ZATTRS, ZGROUP};
use crate::metadata::variable::VariableDraft;

/// A group and its arrays.
#[derive(Debug)]
pub(crate) struct RawGroup {
    pub(crate) key: Key,
    pub(crate) name: String,
    /// Index of the parent group.
    pub(crate) parent: Option<usize>,
    /// Its `.zgroup`; `None` for a group that is only a folder.
    pub(crate) zgroup: Option<Object>,
    pub(crate) attrs: Object,
    /// Whether it has a `.zattrs`.
    pub(crate) has_attrs: bool,
    /// Its arrays.
    pub(crate) arrays: Vec<RawArray>,
    /// The damage to its own documents.
    pub(crate) damage: Option<GroupDamage>,
}

impl RawGroup {
    /// A group without documents and nodes.
    pub(crate) fn empty(key: Key, name: &str, parent: Option<usize>) -> Self {
        Self {
            key,
            name: name.to_owned(),
            parent,
            zgroup: None,
            attrs: Object::default(),
            has_attrs: false,
            arrays: Vec::new(),
            damage: None,
        }
    }
}

/// The damage to the documents of a group.
#[derive(Debug)]
pub(crate) struct GroupDamage {
    pub(crate) why: Error,
    /// The document may also be an array's.
    pub(crate) may_be_array: bool,
    /// Nodes below it are not read.
    pub(crate) unsearched: bool,
}

impl GroupDamage {
    pub(crate) fn group(why: Error) -> Self {
        Self { why, may_be_array: false, unsearched: false }
    }
}

/// An array, as a variable without dimensions.
#[derive(Debug)]
pub(crate) struct RawArray {
    pub(crate) key: Key,
    pub(crate) name: String,
    pub(crate) built: VariableDraft,
}

/// All groups, parents before children; the root first.
#[derive(Debug)]
pub(crate) struct RawTree {
    pub(crate) groups: Vec<RawGroup>,
    pub(crate) notes: Vec<String>,
    /// Objects that are neither a group nor an array with a possible name.
    pub(crate) faults: Vec<Fault>,
    /// Folders that were searched and have no nodes.
    pub(crate) empty_folders: Vec<Key>,
    /// The names directly below the root, until they are examined.
    pub(super) names: Option<Vec<String>>,
    /// The number of folders without metadata that were entered.
    pub(super) folders: usize,
    /// The array of a store that is one array without a group.
    pub(crate) root_array: Option<RawArray>,
    /// Renamed groups that replace listed ones; outer ones come first.
    pub(crate) renamed_groups: Vec<Key>,
}

/// The documents in the root of a store.
#[derive(Debug)]
pub(crate) struct RawRoot {
    pub(crate) format: ZarrFormat,
    pub(crate) zgroup: Option<Json>,
    pub(crate) attrs: Option<Json>,
    pub(crate) zarray: Option<Json>,
    /// The names directly below it, if known.
    pub(crate) names: Option<Vec<String>>,
    /// The version recorded outside of a superblock.
    pub(crate) version: Option<String>,
}

impl Default for RawRoot {
    fn default() -> Self {
        Self { format: ZarrFormat::V2, zgroup: None, attrs: None, zarray: None, names: None, version: None }
    }
}

/// Extracts the object from a document.
pub(crate) fn object(document: Json, key: impl std::fmt::Display) -> Result<Object> {
    let kind = document.kind();
    let object = document.into_object();
    object.ok_or_else(|| ErrorKind::NcZarr.context(format!("{key}: expected an object, found {kind}")))
}

impl RawTree {
    /// Makes a tree with only a root.
    ///
    /// # Errors
    /// [`ErrorKind::NcZarr`] if a document is not an object.
    pub(crate) fn of_root(root: RawRoot) -> Result<Self> {
        let group = RawGroup {
            has_attrs: root.attrs.is_some(),
            zgroup: root.zgroup.map(|document| object(document, ZGROUP)).transpose()?,
            attrs: root
                .attrs
                .filter(|attrs| !attrs.is_null())
                .map(|document| object(document, ZATTRS))
                .transpose()?
                .unwrap_or_default(),
            ..RawGroup::empty(Key::root(), "", None)
        };
        Ok(Self {
            groups: vec![group],
            notes: Vec::new(),
            faults: Vec::new(),
            empty_folders: Vec::new(),
            names: root.names,
            folders: 0,
            root_array: None,
            renamed_groups: Vec::new(),
        })
    }

    /// Whether the tree is only a root without metadata.
    pub(crate) fn is_empty_root(&self) -> bool {
        let root = &self.groups[0];
        self.groups.len() == 1 && root.arrays.is_empty() && root.zgroup.is_none() && !root.has_attrs
    }
}

/// Returns the error for a store without any Zarr documents.
pub(crate) fn not_zarr() -> Error {
    ErrorKind::NotZarr
        .context("the root has no .zgroup, .zarray, .zattrs or .zmetadata, and no array lies below it")
}

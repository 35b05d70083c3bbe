//! [`DimensionTable`]: the dimensions of a file and of each dataset, found by the rules of netCDF-C.
//!
//! A dimension is a dataset marked as a dimension scale. A dataset names its dimensions by number, or has
//! scales attached, or has neither. In the last case a phony dimension is made for each axis, one for each
//! length in a group.

use std::collections::HashMap;

use nczarr_dispatch::Fault;
use nczarr_model::{DimId, GroupId, Model, NcString, Result};

use super::attributes::StoredAttribute;
use super::cursor::{MetadataCursor, UNDEFINED, damaged};
use super::datatype::DatatypeClass;
use super::file::HdfFile;
use super::header::ObjectHeader;
use super::values::ElementDecoder;
use super::walk::{FileDataset, FileTree};

/// Prefix of the `NAME` attribute of a scale without a variable.
const NO_VARIABLE: &[u8] = b"This is a netCDF dimension but not a netCDF variable";

/// One dimension.
#[derive(Debug)]
struct FileDim {
    group: usize,
    name: String,
    len: u64,
    unlimited: bool,
    /// The number that netCDF gave it (`_Netcdf4Dimid`).
    id: i64,
}

/// The dimensions of a file.
#[derive(Debug, Default)]
pub(crate) struct DimensionTable {
    list: Vec<FileDim>,
    by_address: HashMap<u64, usize>,
    by_id: HashMap<i64, usize>,
    next: i64,
    /// For each dataset of each group: its dimensions, as positions in `list`.
    of: Vec<Vec<Vec<usize>>>,
    /// For each dataset of each group: whether it is a dimension without a variable.
    only: Vec<Vec<bool>>,
    /// Datasets whose dimensions are unknown because of damage.
    pub(crate) faults: Vec<Fault>,
}

fn find<'a>(dataset: &'a FileDataset, name: &str) -> Option<&'a StoredAttribute> {
    dataset.attributes.iter().find(|attribute| attribute.name == name)
}

/// Returns the text of an attribute of fixed or variable length. It is empty if it cannot be read.
pub(super) fn text(file: &HdfFile, attribute: &StoredAttribute) -> Vec<u8> {
    let bytes = match &attribute.ty {
        Ok(ty) if matches!(ty.class, DatatypeClass::Strings { .. }) => {
            let mut found = [NcString::new()];
            match ElementDecoder::new(file).strings(ty, &attribute.bytes, &mut found) {
                Ok(()) => found[0].as_bytes().to_vec(),
                Err(_) => Vec::new(),
            }
        }
        _ => attribute.bytes.clone(),
    };
    bytes.split(|&byte| byte == 0).next().unwrap_or_default().to_vec()
}

/// Returns the integers of an attribute.
fn integers(attribute: &StoredAttribute) -> Vec<i64> {
    let Ok(ty) = &attribute.ty else { return Vec::new() };
    let DatatypeClass::Integer { big_endian, .. } = ty.class else { return Vec::new() };
    let number = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        if big_endian {
            bytes.reverse();
        }
        MetadataCursor::new(&bytes, "number").uint(bytes.len().min(8) as u8).map_or(-1, |value| value as i64)
    };
    attribute.bytes.chunks_exact(ty.size as usize).map(number).collect()
}

impl DimensionTable {
    /// Finds all dimensions.
    ///
    /// If the dimensions of a dataset are damaged, phony ones are made.
    pub(crate) fn find(file: &HdfFile, tree: &FileTree) -> Self {
        let mut dims = Self::default();
        for (number, group) in tree.groups.iter().enumerate() {
            let only = group.datasets.iter().map(|dataset| dims.scale(file, number, dataset)).collect();
            dims.only.push(only);
            dims.of.push(Vec::new());
        }
        dims.of_groups(file, tree, 0);
        dims.grow(tree);
        dims
    }

    /// Whether a dataset is a dimension scale.
    pub(crate) fn is_scale(file: &HdfFile, dataset: &FileDataset) -> bool {
        find(dataset, "CLASS").is_some_and(|class| text(file, class) == b"DIMENSION_SCALE")
    }

    /// Adds the dimension of a dataset that is a scale. Returns whether the dataset is not a variable as
    /// well.
    fn scale(&mut self, file: &HdfFile, group: usize, dataset: &FileDataset) -> bool {
        if dataset.other.is_some() {
            return false;
        }
        let first = dataset.space.dims.as_deref().and_then(<[u64]>::first);
        let Some(&len) = first.filter(|_| Self::is_scale(file, dataset)) else { return false };
        let assigned =
            find(dataset, "_Netcdf4Dimid").and_then(|attribute| integers(attribute).first().copied());
        let unlimited = dataset.space.most[0] == UNDEFINED;
        self.add(FileDim { group, name: dataset.name.clone(), len, unlimited, id: -1 }, assigned);
        self.by_address.insert(dataset.address, self.list.len() - 1);
        find(dataset, "NAME").is_some_and(|name| text(file, name).starts_with(NO_VARIABLE))
    }

    fn add(&mut self, dim: FileDim, assigned: Option<i64>) {
        let id = assigned.filter(|id| *id >= 0 && !self.by_id.contains_key(id)).unwrap_or(self.next);
        self.next = self.next.max(id.saturating_add(1));
        self.by_id.insert(id, self.list.len());
        self.list.push(FileDim { id, ..dim });
    }

    /// Finds the dimensions of the datasets of a group. Inner groups come first, because netCDF-C numbers
    /// phony dimensions in that order.
    fn of_groups(&mut self, file: &HdfFile, tree: &FileTree, group: usize) {
        for &inner in &tree.groups[group].groups {
            self.of_groups(file, tree, inner);
        }
        for dataset in &tree.groups[group].datasets {
            let found = self.of_dataset(file, tree, group, dataset).unwrap_or_else(|error| {
                self.faults.push(Fault::damaged(tree.path(group, &dataset.name), format_args!("{error:#}")));
                self.complete(group, dataset, vec![None; dataset.space.dims.as_ref().map_or(0, Vec::len)])
            });
            self.of[group].push(found);
        }
    }

    fn of_dataset(
        &mut self,
        file: &HdfFile,
        tree: &FileTree,
        group: usize,
        dataset: &FileDataset,
    ) -> Result<Vec<usize>> {
        let lens = dataset.space.dims.as_deref().unwrap_or_default();
        let mut found: Vec<Option<usize>> = vec![None; lens.len()];
        if dataset.other.is_some() {
            return Ok(self.complete(group, dataset, found));
        }
        let own = self.by_address.get(&dataset.address).copied();
        if let (Some(own), 1) = (own, lens.len()) {
            return Ok(vec![own]);
        }
        if let Some(attribute) = find(dataset, "_Netcdf4Coordinates") {
            let numbers = integers(attribute);
            if numbers.len() == lens.len() {
                found = numbers.iter().map(|id| self.by_id.get(id).copied()).collect();
            }
        }
        if found.contains(&None)
            && let Some(attribute) = find(dataset, "DIMENSION_LIST")
        {
            // Scales count only in this group and its ancestors. Dimension numbers count in all groups.
            let attached = self.attached(file, attribute)?;
            for (axis, found) in found.iter_mut().enumerate() {
                let scale = attached.get(axis).copied().flatten();
                *found = found.or(scale.filter(|&dim| self.is_seen(tree, group, self.list[dim].group)));
            }
        }
        if let (Some(own), Some(first)) = (own, found.first_mut()) {
            first.get_or_insert(own);
        }
        Ok(self.complete(group, dataset, found))
    }

    /// Returns the dimensions of a dataset. Axes without one get phony dimensions.
    fn complete(&mut self, group: usize, dataset: &FileDataset, mut found: Vec<Option<usize>>) -> Vec<usize> {
        let lens = dataset.space.dims.as_deref().unwrap_or_default();
        for axis in 0..lens.len() {
            if found[axis].is_none() {
                let unlimited = dataset.space.most[axis] == UNDEFINED;
                found[axis] = Some(self.phony_dim(group, lens[axis], unlimited, &found));
            }
        }
        found.into_iter().flatten().collect()
    }

    fn is_seen(&self, tree: &FileTree, from: usize, group: usize) -> bool {
        let mut at = Some(from);
        while let Some(here) = at {
            if here == group {
                return true;
            }
            at = tree.groups[here].parent;
        }
        false
    }

    /// Returns the first scale that is attached to each axis.
    fn attached(&self, file: &HdfFile, attribute: &StoredAttribute) -> Result<Vec<Option<usize>>> {
        let Ok(ty) = &attribute.ty else { return Ok(Vec::new()) };
        let DatatypeClass::List(base) = &ty.class else { return Ok(Vec::new()) };
        let mut decoder = ElementDecoder::new(file);
        let mut axes = Vec::new();
        decoder.expect(ty, &attribute.bytes);
        for element in attribute.bytes.chunks_exact(ty.size as usize) {
            let (mut found, mut lost) = (None, None);
            decoder.items(element, base.size, &mut |_, items| {
                for item in items.chunks_exact(base.size.max(1) as usize) {
                    let address =
                        MetadataCursor::new(item, "reference").address(file.offsets.min(item.len() as u8))?;
                    found = found.or(self.by_address.get(&address).copied());
                    lost = lost.or(Some(address).filter(|&address| address != 0 && address != UNDEFINED));
                }
                Ok(())
            })?;
            // A reference to another kind of object is ignored. A reference to nothing is damage.
            if let (None, Some(address), true) = (found, lost, base.size == u32::from(file.offsets)) {
                ObjectHeader::read(file, address).map_err(|error| {
                    damaged(format!(
                        "axis {}: the reference to its dimension scale leads to no object",
                        axes.len()
                    ))
                    .caused_by(error)
                })?;
            }
            axes.push(found);
        }
        Ok(axes)
    }

    /// Finds a dimension of the group for an axis, or makes a phony one. The dimension has the length of the
    /// axis, and the dataset does not use it yet.
    fn phony_dim(&mut self, group: usize, len: u64, unlimited: bool, used: &[Option<usize>]) -> usize {
        let fits = |dim: &FileDim| dim.group == group && dim.len == len && dim.unlimited == unlimited;
        let known = (0..self.list.len()).find(|&at| fits(&self.list[at]) && !used.contains(&Some(at)));
        known.unwrap_or_else(|| {
            let name = format!("phony_dim_{}", self.next);
            self.add(FileDim { group, name, len, unlimited, id: -1 }, None);
            self.list.len() - 1
        })
    }

    /// Sets the length of each unlimited dimension to that of its longest variable.
    fn grow(&mut self, tree: &FileTree) {
        for dim in self.list.iter_mut().filter(|dim| dim.unlimited) {
            dim.len = 0;
        }
        for ((group, of), only) in tree.groups.iter().zip(&self.of).zip(&self.only) {
            for ((dataset, dims), _) in group.datasets.iter().zip(of).zip(only).filter(|(_, only)| !**only) {
                for (&dim, &len) in dims.iter().zip(dataset.space.dims.as_deref().unwrap_or_default()) {
                    let dim = &mut self.list[dim];
                    if dim.unlimited {
                        dim.len = dim.len.max(len);
                    }
                }
            }
        }
    }

    /// Whether some dimensions have no name in the file.
    pub(crate) fn has_phony(&self) -> bool {
        self.by_address.len() < self.list.len()
    }

    /// Defines the dimensions in the order of their numbers. Returns their ids.
    ///
    /// # Errors
    /// `NC_ENAMEINUSE` if two dimensions of a group have one name.
    pub(crate) fn define(&self, model: &mut Model) -> Result<Vec<DimId>> {
        let mut order: Vec<usize> = (0..self.list.len()).collect();
        order.sort_by_key(|&at| self.list[at].id);
        let mut ids = vec![DimId(0); self.list.len()];
        for at in order {
            let FileDim { group, name, len, unlimited, .. } = &self.list[at];
            ids[at] = model.add_dim(GroupId(*group as u32), name.clone(), *len, *unlimited)?;
        }
        Ok(ids)
    }

    /// Returns the dimensions of a dataset, as positions among all. `None`: the dataset is a dimension only.
    pub(crate) fn of(&self, group: usize, dataset: usize) -> Option<&[usize]> {
        (!self.only[group][dataset]).then(|| &*self.of[group][dataset])
    }
}

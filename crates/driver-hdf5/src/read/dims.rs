//! [`Dims`]: the dimensions of a file and those of each dataset, found as netCDF-C finds them.
//!
//! A dimension is a dataset that says it is a scale. A dataset names its dimensions by their numbers, or has scales
//! attached, or has none: then dimensions are made up for its bare axes, one for each length in a group.

use std::collections::HashMap;

use nczarr_dispatch::Fault;
use nczarr_model::{DimId, GroupId, Model, NcString, Result};

use super::attributes::Attribute;
use super::cursor::{Cursor, UNDEFINED, bad};
use super::datatype::Class;
use super::file::Hdf;
use super::header::Header;
use super::values::Decoder;
use super::walk::{Dataset, Tree};

/// A scale without a variable has a name that begins so.
const NO_VARIABLE: &[u8] = b"This is a netCDF dimension but not a netCDF variable";

/// One dimension.
#[derive(Debug)]
struct Dim {
    group: usize,
    name: String,
    len: u64,
    unlimited: bool,
    /// netCDF's number of it.
    id: i64,
}

/// The dimensions of a file.
#[derive(Debug, Default)]
pub(crate) struct Dims {
    list: Vec<Dim>,
    by_address: HashMap<u64, usize>,
    by_id: HashMap<i64, usize>,
    next: i64,
    /// Of each dataset of each group: its dimensions by their place in the list.
    of: Vec<Vec<Vec<usize>>>,
    /// Of each dataset of each group: whether it is a dimension and nothing else.
    only: Vec<Vec<bool>>,
    /// Datasets whose dimensions are unknown because of damage.
    pub(crate) faults: Vec<Fault>,
}

fn find<'a>(dataset: &'a Dataset, name: &str) -> Option<&'a Attribute> {
    dataset.attributes.iter().find(|attribute| attribute.name == name)
}

/// The text of an attribute, of a fixed length or of any. Empty: there is none, or it cannot be read.
pub(super) fn text(file: &Hdf, attribute: &Attribute) -> Vec<u8> {
    let bytes = match &attribute.ty {
        Ok(ty) if matches!(ty.class, Class::Strings) => {
            let mut found = [NcString::new()];
            match Decoder::new(file).strings(ty, &attribute.bytes, &mut found) {
                Ok(()) => found[0].as_bytes().to_vec(),
                Err(_) => Vec::new(),
            }
        }
        _ => attribute.bytes.clone(),
    };
    bytes.split(|&byte| byte == 0).next().unwrap_or_default().to_vec()
}

/// The integers of an attribute.
fn integers(attribute: &Attribute) -> Vec<i64> {
    let Ok(ty) = &attribute.ty else { return Vec::new() };
    let Class::Integer { big_endian, .. } = ty.class else { return Vec::new() };
    let number = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        if big_endian {
            bytes.reverse();
        }
        Cursor::new(&bytes, "number").uint(bytes.len().min(8) as u8).map_or(-1, |value| value as i64)
    };
    attribute.bytes.chunks_exact(ty.size as usize).map(number).collect()
}

impl Dims {
    /// Finds the dimensions of everything.
    ///
    /// Where something that tells those of a dataset is damaged, they are made up.
    pub(crate) fn find(file: &Hdf, tree: &Tree) -> Self {
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

    /// Whether a dataset is a dimension.
    pub(crate) fn is_scale(file: &Hdf, dataset: &Dataset) -> bool {
        find(dataset, "CLASS").is_some_and(|class| text(file, class) == b"DIMENSION_SCALE")
    }

    /// Takes the dimension that a dataset is, if it is one; whether it is nothing else.
    fn scale(&mut self, file: &Hdf, group: usize, dataset: &Dataset) -> bool {
        if dataset.other.is_some() {
            return false;
        }
        let first = dataset.space.dims.as_deref().and_then(<[u64]>::first);
        let Some(&len) = first.filter(|_| Self::is_scale(file, dataset)) else { return false };
        let assigned = find(dataset, "_Netcdf4Dimid").and_then(|attribute| integers(attribute).first().copied());
        let unlimited = dataset.space.most[0] == UNDEFINED;
        self.add(Dim { group, name: dataset.name.clone(), len, unlimited, id: -1 }, assigned);
        self.by_address.insert(dataset.address, self.list.len() - 1);
        find(dataset, "NAME").is_some_and(|name| text(file, name).starts_with(NO_VARIABLE))
    }

    fn add(&mut self, dim: Dim, assigned: Option<i64>) {
        let id = assigned.filter(|id| *id >= 0 && !self.by_id.contains_key(id)).unwrap_or(self.next);
        self.next = self.next.max(id.saturating_add(1));
        self.by_id.insert(id, self.list.len());
        self.list.push(Dim { id, ..dim });
    }

    /// Finds the dimensions of the datasets of a group, those of the groups in it first: so are those numbered that
    /// are made up.
    fn of_groups(&mut self, file: &Hdf, tree: &Tree, group: usize) {
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

    fn of_dataset(&mut self, file: &Hdf, tree: &Tree, group: usize, dataset: &Dataset) -> Result<Vec<usize>> {
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
            // A scale is looked for in the groups around, a number among all.
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

    /// The dimensions of a dataset, those that were not found made up.
    fn complete(&mut self, group: usize, dataset: &Dataset, mut found: Vec<Option<usize>>) -> Vec<usize> {
        let lens = dataset.space.dims.as_deref().unwrap_or_default();
        for axis in 0..lens.len() {
            if found[axis].is_none() {
                let unlimited = dataset.space.most[axis] == UNDEFINED;
                found[axis] = Some(self.made_up(group, lens[axis], unlimited, &found));
            }
        }
        found.into_iter().flatten().collect()
    }

    fn is_seen(&self, tree: &Tree, from: usize, group: usize) -> bool {
        let mut at = Some(from);
        while let Some(here) = at {
            if here == group {
                return true;
            }
            at = tree.groups[here].parent;
        }
        false
    }

    /// The scales that are attached to each axis: the first of each.
    fn attached(&self, file: &Hdf, attribute: &Attribute) -> Result<Vec<Option<usize>>> {
        let Ok(ty) = &attribute.ty else { return Ok(Vec::new()) };
        let Class::List(base) = &ty.class else { return Ok(Vec::new()) };
        let mut decoder = Decoder::new(file);
        let mut axes = Vec::new();
        decoder.expect(ty, &attribute.bytes);
        for element in attribute.bytes.chunks_exact(ty.size as usize) {
            let (mut found, mut lost) = (None, None);
            decoder.items(element, base.size, &mut |_, items| {
                for item in items.chunks_exact(base.size.max(1) as usize) {
                    let address = Cursor::new(item, "reference").address(file.offsets.min(item.len() as u8))?;
                    found = found.or(self.by_address.get(&address).copied());
                    lost = lost.or(Some(address).filter(|&address| address != 0 && address != UNDEFINED));
                }
                Ok(())
            })?;
            // What leads to some other object is no dimension; what leads nowhere is damaged.
            if let (None, Some(address), true) = (found, lost, base.size == u32::from(file.offsets)) {
                Header::read(file, address).map_err(|error| {
                    bad(format!("the scale of axis {} is not where it is said to be", axes.len())).caused_by(error)
                })?;
            }
            axes.push(found);
        }
        Ok(axes)
    }

    /// A dimension for a bare axis: one of the group that fits and is not used by the dataset yet, or a new one.
    fn made_up(&mut self, group: usize, len: u64, unlimited: bool, used: &[Option<usize>]) -> usize {
        let fits = |dim: &Dim| dim.group == group && dim.len == len && dim.unlimited == unlimited;
        let known = (0..self.list.len()).find(|&at| fits(&self.list[at]) && !used.contains(&Some(at)));
        known.unwrap_or_else(|| {
            let name = format!("phony_dim_{}", self.next);
            self.add(Dim { group, name, len, unlimited, id: -1 }, None);
            self.list.len() - 1
        })
    }

    /// Unlimited dimensions are as long as the longest variable that has them.
    fn grow(&mut self, tree: &Tree) {
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

    /// Whether there are dimensions that the file does not name.
    pub(crate) fn has_made_up(&self) -> bool {
        self.by_address.len() < self.list.len()
    }

    /// Defines them in the order of their numbers; answers which is which.
    ///
    /// # Errors
    /// `NC_ENAMEINUSE` if two of a group have one name.
    pub(crate) fn define(&self, model: &mut Model) -> Result<Vec<DimId>> {
        let mut order: Vec<usize> = (0..self.list.len()).collect();
        order.sort_by_key(|&at| self.list[at].id);
        let mut ids = vec![DimId(0); self.list.len()];
        for at in order {
            let Dim { group, name, len, unlimited, .. } = &self.list[at];
            ids[at] = model.add_dim(GroupId(*group as u32), name.clone(), *len, *unlimited)?;
        }
        Ok(ids)
    }

    /// The dimensions of a dataset by their place among all; `None` if it is one and no variable.
    pub(crate) fn of(&self, group: usize, dataset: usize) -> Option<&[usize]> {
        (!self.only[group][dataset]).then(|| &*self.of[group][dataset])
    }
}

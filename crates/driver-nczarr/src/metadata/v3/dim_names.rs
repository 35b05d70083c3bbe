//! The `dimension_names` of an NCZarr array: readers of plain Zarr distinguish dimensions by these names.
//!
//! No name repeats within an array, and one name means one dimension from every group. A shadowed dimension
//! gets its full name, and a repeated one a number.

use std::collections::HashSet;

use nczarr_model::{DimId, GroupId, Model, Result, Var};

/// Returns the names of a variable's dimensions.
///
/// # Errors
/// A dimension or group that the model does not have.
pub(crate) fn of(model: &Model, var: &Var) -> Result<Vec<String>> {
    let mut taken = HashSet::new();
    let mut names: Vec<String> = Vec::with_capacity(var.dims.len());
    for &id in &var.dims {
        let dim = model.dim(id)?;
        let name = if find(model, var.group, &dim.name) == Some(id) {
            dim.name.clone()
        } else {
            model.fqn(dim.group, &dim.name)?
        };
        let again = (2..).map(|number: u64| format!("{name}#{number}"));
        let free = std::iter::once(name.clone()).chain(again).find(|name| !taken.contains(name));
        let name = free.unwrap_or(name);
        taken.insert(name.clone());
        names.push(name);
    }
    Ok(names)
}

/// Finds the dimension of a name as a group sees it: a full name, or a name in the group or its ancestors.
pub(crate) fn find(model: &Model, group: GroupId, name: &str) -> Option<DimId> {
    if let Some(path) = name.strip_prefix('/') {
        let mut group = model.root();
        let mut path = path;
        while let Some((first, rest)) = path.split_once('/') {
            group = model.group(*group.groups.get(first)?).ok()?;
            path = rest;
        }
        return group.dims.get(path).copied();
    }
    let mut at = Some(group);
    while let Some(group) = at {
        let group = model.group(group).ok()?;
        if let Some(&dim) = group.dims.get(name) {
            return Some(dim);
        }
        at = group.parent;
    }
    None
}

/// Finds the dimension of a stored name, also if a number follows because it repeats.
pub(crate) fn of_stored(model: &Model, group: GroupId, name: &str) -> Option<DimId> {
    let counted = || {
        let (name, number) = name.rsplit_once('#')?;
        number.parse::<u64>().ok().filter(|&number| number > 1)?;
        find(model, group, name)
    };
    find(model, group, name).or_else(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_distinguish_dimensions() {
        let mut model = Model::new();
        let root = GroupId::ROOT;
        let x = model.add_dim(root, "x", 2, false).unwrap();
        let y = model.add_dim(root, "y", 3, false).unwrap();
        let odd = model.add_dim(root, "x#2", 3, false).unwrap();
        let g = model.add_group(root, "g").unwrap();
        let inner = model.add_dim(g, "y", 4, false).unwrap();
        for (group, dims, names) in [
            (root, vec![x, y], vec!["x", "y"]),
            (root, vec![x, x, x], vec!["x", "x#2", "x#3"]),
            (root, vec![odd, x, x], vec!["x#2", "x", "x#3"]),
            (g, vec![x, inner], vec!["x", "y"]),
            (g, vec![y, inner], vec!["/y", "y"]),
            (g, vec![y, y, inner], vec!["/y", "/y#2", "y"]),
            (root, vec![inner, y], vec!["/g/y", "y"]),
            (root, vec![], vec![]),
        ] {
            let var = Var { group, dims: dims.clone(), ..Var::default() };
            let found = of(&model, &var).unwrap();
            assert_eq!(found, names);
            // A number may look like part of a name. Other code decides how a reader takes it.
            if !dims.contains(&odd) {
                let again: Vec<_> =
                    found.iter().map(|name| of_stored(&model, group, name).unwrap()).collect();
                let same = |(a, b): (&DimId, &DimId)| a == b || *a == odd && *b == x;
                assert!(again.iter().zip(&dims).all(same), "{names:?}");
            }
        }
        assert_eq!(of_stored(&model, g, "z"), None);
        assert_eq!(of_stored(&model, g, "/g/z"), None);
        assert_eq!(of_stored(&model, g, "/h/y"), None);
        assert_eq!(of_stored(&model, g, "y#1"), None);
        assert_eq!(of_stored(&model, g, "y#5"), Some(inner));
    }
}

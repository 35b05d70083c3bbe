//! The `dimension_names` of an array of NCZarr: names by which readers of plain Zarr tell dimensions apart.
//!
//! In one array no name stands twice, and one name means one dimension wherever it is seen from: a name that another
//! dimension would be found by is the full one, and a dimension that comes again gets a number.

use std::collections::HashSet;

use nczarr_model::{DimId, GroupId, Model, Result, Var};

/// The names of a variable's dimensions.
///
/// # Errors
/// A dimension or group that the model does not have.
pub(crate) fn of(model: &Model, var: &Var) -> Result<Vec<String>> {
    let mut taken = HashSet::new();
    let mut names: Vec<String> = Vec::with_capacity(var.dims.len());
    for &id in &var.dims {
        let dim = model.dim(id)?;
        let name = match find(model, var.group, &dim.name) == Some(id) {
            true => dim.name.clone(),
            false => model.fqn(dim.group, &dim.name)?,
        };
        let again = (2..).map(|number: u64| format!("{name}#{number}"));
        let free = std::iter::once(name.clone()).chain(again).find(|name| !taken.contains(name));
        let name = free.unwrap_or(name);
        taken.insert(name.clone());
        names.push(name);
    }
    Ok(names)
}

/// The dimension that a name means in a group: a full name, or one of the group or of those around it.
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

/// The dimension of a stored name: also of one that got a number because it comes again.
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
    fn names_tell_dimensions_apart() {
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
            // A number may look like part of a name; what a reader makes of it is authoritative elsewhere.
            if !dims.contains(&odd) {
                let again: Vec<_> = found.iter().map(|name| of_stored(&model, group, name).unwrap()).collect();
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

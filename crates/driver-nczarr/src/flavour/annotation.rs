//! The attribute `_netcdf` (the annotation): netCDF facts for which plain Zarr has no place.
//!
//! * In a group: `dimensions` (in NCZarr's form), and the order of `arrays` and `groups`.
//! * In an array: `"type": "char"`; `"fill": "unwritten"` if unwritten elements do not read as the attribute
//!   `_FillValue`.
//! * In both: `types` and `nan`, in the form of `_nczarr_attr`, for attributes whose JSON alone is ambiguous.
//! * In a V3 array also `no_fill`, the `filters` as defined, and `"fill": "implied"` if `_FillValue` is not
//!   stored.
//!
//! A member is written only if something would be lost without it. On reading, the documents take precedence:
//! an order is a hint, and arrays determine lengths. [`DeclaredStructure::read_lists`] checks that the
//! declarations fit the arrays. `render` writes annotations.

use std::collections::{HashMap, HashSet};

use nczarr_model::{Model, NcType, Result, Values, Var, VarFill};

use crate::flavour::nczarr_lists::{self, DeclaredDim, GroupLists};
use crate::metadata::attributes::{self, FILL_VALUE, NETCDF};
use crate::metadata::json::{Object, ObjectMembers, Value, write_list, write_name, write_string};
use crate::metadata::types::dtype::DTypeKind;
use crate::metadata::v3::node_name;
use crate::metadata::variable::DimRefs;
use crate::open::tree::RawTree;

/// The value of `fill` for a fill value that is no attribute.
pub(crate) const FILL_UNWRITTEN: &str = "unwritten";

/// The recorded type of text that is stored as a JSON object or list.
const JSON_TYPE: &str = "|J0";

/// Returns the annotation of a node.
pub(crate) fn of<'a, 't>(attrs: &'a ObjectMembers<'t>) -> Option<&'a ObjectMembers<'t>> {
    attrs.get(NETCDF)?.as_object()
}

/// Whether the annotation declares an array of one-byte text as char.
pub(crate) fn is_char(attrs: &ObjectMembers<'_>, kind: DTypeKind) -> bool {
    kind == DTypeKind::Text(1) && of(attrs).and_then(|members| members.get("type")?.as_str()) == Some("char")
}

/// Whether a stored value fits its recorded type. Another program may have replaced the value.
pub(crate) fn fits(value: &Value<'_>, recorded: &str) -> bool {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    if recorded == JSON_TYPE {
        return matches!(value, Value::Array(_) | Value::Object(_));
    }
    let number =
        |item: &Value<'_>| item.token().is_some() && item.as_str().is_none() && item.as_bool().is_none();
    match crate::metadata::types::dtype::DType::kind_of(recorded) {
        DTypeKind::Char => value.as_str().is_some() || items.is_empty(),
        DTypeKind::Number(NcType::Float | NcType::Double) => {
            let special = |item: &Value<'_>| matches!(item.as_str(), Some("NaN" | "Infinity" | "-Infinity"));
            items.iter().all(|item| number(item) || special(item))
        }
        DTypeKind::Number(_) => items.iter().all(number),
        DTypeKind::Text(_) => items.iter().all(|item| item.as_str().is_some()),
        _ => false,
    }
}

/// The contents that the groups of a store declare, in the order of the tree's groups.
#[derive(Debug, Default)]
pub(crate) struct DeclaredStructure {
    pub(crate) groups: Vec<GroupLists>,
}

impl DeclaredStructure {
    /// Reads the declarations of all groups and takes lengths from the arrays; `None` if no group has an
    /// annotation.
    ///
    /// # Errors
    /// A declaration that does not fit the arrays. The caller then ignores all declarations.
    pub(crate) fn of(tree: &RawTree) -> std::result::Result<Option<Self>, String> {
        if tree.groups.iter().all(|group| of(&group.attrs).is_none()) {
            return Ok(None);
        }
        let mut groups = Vec::with_capacity(tree.groups.len());
        for group in &tree.groups {
            groups.push(match of(&group.attrs) {
                None => GroupLists::default(),
                Some(members) => {
                    nczarr_lists::read_lists(members).map_err(|error| error.at(&group.name).to_string())?
                }
            });
        }
        let mut this = Self { groups };
        this.apply_lengths(tree)?;
        Ok(Some(this))
    }

    /// Sets each declared dimension to the length of the arrays along it.
    fn apply_lengths(&mut self, tree: &RawTree) -> std::result::Result<(), String> {
        let mut dims: HashMap<(usize, &str), usize> = HashMap::new();
        for (group, lists) in self.groups.iter().enumerate() {
            dims.extend(lists.dims.iter().enumerate().map(|(at, dim)| ((group, dim.name.as_str()), at)));
        }
        // Resolves a dimension name as an array of the group sees it.
        let declared = |group: usize, name: &str| {
            let parents = std::iter::successors(Some(group), |&group| tree.groups[group].parent);
            parents.into_iter().find_map(|group| Some((group, *dims.get(&(group, name))?)))
        };
        let mut along: HashMap<(usize, usize), Vec<u64>> = HashMap::new();
        for (at, group) in tree.groups.iter().enumerate() {
            for array in &group.arrays {
                let (Some(meta), DimRefs::Names(names)) = (&array.built.stored.meta, &array.built.dim_refs)
                else {
                    continue;
                };
                for (name, &len) in names.iter().zip(&meta.shape) {
                    if let Some(dim) = name.as_ref().and_then(|name| declared(at, name)) {
                        along.entry(dim).or_default().push(len);
                    }
                }
            }
        }
        for ((group, dim), lens) in along {
            let DeclaredDim { name, len, unlimited } = &mut self.groups[group].dims[dim];
            let most = lens.iter().copied().max().unwrap_or(*len);
            // While an unlimited dimension grows, some arrays still have the earlier length.
            let fits = if *unlimited {
                lens.iter().all(|one| *one == most || *one >= *len)
            } else {
                lens.iter().all(|one| one == len)
            };
            if !fits {
                return Err(format!("dimension {name:?} has length {len}, arrays along it have {lens:?}"));
            }
            *len = most;
        }
        Ok(())
    }

    /// Sorts groups and arrays into the declared order; undeclared ones come last.
    pub(crate) fn sort(&mut self, tree: &mut RawTree) {
        fn ranks(names: &[String]) -> HashMap<&str, usize> {
            names.iter().enumerate().map(|(rank, name)| (name.as_str(), rank)).collect()
        }
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); tree.groups.len()];
        for (at, group) in tree.groups.iter().enumerate() {
            if let Some(parent) = group.parent {
                children[parent].push(at);
            }
        }
        for (group, lists) in tree.groups.iter_mut().zip(&self.groups) {
            let ranks = ranks(&lists.arrays);
            group.arrays.sort_by_key(|array| ranks.get(array.name.as_str()).copied().unwrap_or(usize::MAX));
        }
        let mut order: Vec<usize> = (0..tree.groups.len().min(1)).collect();
        let mut next = 0;
        while let Some(&at) = order.get(next) {
            let ranks = ranks(&self.groups[at].groups);
            let mut here = std::mem::take(&mut children[at]);
            here.sort_by_key(|&child| {
                ranks.get(tree.groups[child].name.as_str()).copied().unwrap_or(usize::MAX)
            });
            order.extend(here);
            next += 1;
        }
        let mut places = vec![0; order.len()];
        for (place, &at) in order.iter().enumerate() {
            places[at] = place;
        }
        let moved = tree.groups.drain(..).zip(self.groups.drain(..)).zip(&places);
        let mut moved: Vec<_> = moved.map(|((group, lists), &place)| (place, group, lists)).collect();
        moved.sort_by_key(|(place, ..)| *place);
        for (_, mut group, lists) in moved {
            group.parent = group.parent.map(|parent| places[parent]);
            tree.groups.push(group);
            self.groups.push(lists);
        }
    }
}

/// Appends the members of a group's annotation without which the group would read differently.
///
/// # Errors
/// A dimension that the model does not have.
pub(crate) fn write_group(model: &Model, group: &nczarr_model::Group, out: &mut String) -> Result<()> {
    let is_alone = model.groups().len() == 1;
    // Readers find nodes by their stored names.
    let is_sorted =
        |names: &[&String]| names.is_sorted() && !names.iter().any(|name| node_name::needs_escape(name));
    let (vars, groups) = (group.vars.keys().collect::<Vec<_>>(), group.groups.keys().collect::<Vec<_>>());
    let implied = if is_alone && is_sorted(&vars) {
        is_implied(model, group)?
    } else {
        // Groups see the dimensions of their ancestors.
        group.dims.is_empty()
    };
    if !implied {
        write_name("dimensions", out);
        nczarr_lists::write_dims(model, group, out)?;
    }
    for (member, names) in [("arrays", vars), ("groups", groups)] {
        if !is_sorted(&names) {
            write_name(member, out);
            write_list(names, out, |name, out| write_string(name, out));
        }
    }
    Ok(())
}

/// Whether a reader would derive the same dimensions from the arrays alone.
fn is_implied(model: &Model, group: &nczarr_model::Group) -> Result<bool> {
    let (mut listed, mut known) = (Vec::new(), HashSet::new());
    for &var in group.vars.values() {
        listed.extend(model.var(var)?.dims.iter().filter(|&&dim| known.insert(dim)));
    }
    // An empty unlimited dimension is declared too: readers then know it when writers extend it.
    let plain = |id| model.dim(id).is_ok_and(|dim| !dim.unlimited && !dim.is_empty());
    Ok(listed.iter().copied().eq(group.dims.values()) && listed.iter().all(|&&dim| plain(dim)))
}

/// Appends the members of an array's annotation that do not concern attributes.
pub(crate) fn write_var(var: &Var, out: &mut String) {
    if var.xtype == NcType::Char {
        write_name("type", out);
        write_string("char", out);
    }
    if matches!(var.fill, VarFill::Value(_)) && !var.atts.contains_key(FILL_VALUE) {
        write_name("fill", out);
        write_string(FILL_UNWRITTEN, out);
    }
}

/// Whether the annotation says that the array's fill value is no attribute.
pub(crate) fn is_only_unwritten(attrs: &ObjectMembers<'_>) -> bool {
    of(attrs).and_then(|members| members.get("fill")?.as_str()) == Some(FILL_UNWRITTEN)
}

/// Returns the type to record for an attribute whose stored text alone is ambiguous. `fill` is the type of
/// the variable if the attribute is its fill value; that type needs no record.
pub(crate) fn type_to_record(
    values: &Values,
    text: &str,
    fill: Option<NcType>,
    limits: &nczarr_dispatch::Limits,
) -> Option<String> {
    if fill == Some(values.nc_type()) {
        return None;
    }
    let value = crate::metadata::json::parse(text.as_bytes(), limits).ok()?;
    (attributes::read(&value, None) != *values).then(|| match (values, &value) {
        (Values::Char(_), Value::Array(_) | Value::Object(_)) => JSON_TYPE.to_owned(),
        _ => attributes::recorded_type(values),
    })
}

/// Converts the fill value of an array of one-byte text to char.
pub(crate) fn char_fill(values: Values) -> Values {
    match values {
        Values::String(text) => {
            let first = text.first().and_then(|text| text.as_bytes().first());
            Values::Char(vec![first.copied().unwrap_or(0)])
        }
        other => other,
    }
}

/// Whether the attributes of a node hold an annotation.
pub(crate) fn exists(attrs: &Object) -> bool {
    of(attrs).is_some()
}

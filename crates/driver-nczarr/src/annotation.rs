//! What netCDF knows of a plain Zarr store and Zarr has no word for, in one attribute, `_netcdf`.
//!
//! A group's holds `dimensions` (as NCZarr declares them), the order of `arrays` and `groups`; an array's holds `"type":
//! "char"`, and `"fill": "unwritten"` where what unwritten elements read as is not the attribute `_FillValue`; either `types` and `nan`, as `_nczarr_attr` has them, for attributes whose JSON alone is read otherwise. In V3 an array's holds what NCZarr's own key does as well: `no_fill`, `filters`
//! as they were defined, and `"fill": "implied"` where the array's fill value is a `_FillValue` that is not stored. Each
//! member is there only where something would be lost without it.
//!
//! The documents themselves always win: an order is a hint, a length is that of the arrays. [`Structure::of`] says
//! whether what groups declare fits the arrays. Writing is `render`'s business.

use std::collections::{HashMap, HashSet};

use nczarr_model::{Model, NcType, Result, Values, Var, VarFill};

use crate::attrs::{self, FILL_VALUE, NETCDF};
use crate::dtype::Kind;
use crate::json::{Members, Object, Value, write_list, write_name, write_string};
use crate::lists::{self, Declared, Lists};
use crate::tree::RawTree;
use crate::v3::node_name;
use crate::var::Links;

/// What is said of a fill value that is no attribute.
pub(crate) const UNWRITTEN: &str = "unwritten";

/// The type of text that is stored as an object or list.
const STRUCTURE: &str = "|J0";

/// The annotation of a node.
pub(crate) fn of<'a, 't>(attrs: &'a Members<'t>) -> Option<&'a Members<'t>> {
    attrs.get(NETCDF)?.as_object()
}

/// Whether an array of text of one byte is said to be char.
pub(crate) fn is_char(attrs: &Members<'_>, kind: Kind) -> bool {
    kind == Kind::Text(1) && of(attrs).and_then(|members| members.get("type")?.as_str()) == Some("char")
}

/// Whether a stored value can be one of the recorded type: others may have stored another since.
pub(crate) fn fits(value: &Value<'_>, recorded: &str) -> bool {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    if recorded == STRUCTURE {
        return matches!(value, Value::Array(_) | Value::Object(_));
    }
    let number = |item: &Value<'_>| item.token().is_some() && item.as_str().is_none() && item.as_bool().is_none();
    match crate::dtype::DType::kind_of(recorded) {
        Kind::Char => value.as_str().is_some() || items.is_empty(),
        Kind::Number(NcType::Float | NcType::Double) => {
            let special = |item: &Value<'_>| matches!(item.as_str(), Some("NaN" | "Infinity" | "-Infinity"));
            items.iter().all(|item| number(item) || special(item))
        }
        Kind::Number(_) => items.iter().all(number),
        Kind::Text(_) => items.iter().all(|item| item.as_str().is_some()),
        _ => false,
    }
}

/// What the groups of a store say they hold, in the order of the tree's groups.
#[derive(Debug, Default)]
pub(crate) struct Structure {
    pub(crate) groups: Vec<Lists>,
}

impl Structure {
    /// What the groups of a tree say, with the lengths that the arrays have; `None` if they say nothing.
    ///
    /// # Errors
    /// What does not fit: all of it is left aside then.
    pub(crate) fn of(tree: &RawTree) -> std::result::Result<Option<Self>, String> {
        if tree.groups.iter().all(|group| of(&group.attrs).is_none()) {
            return Ok(None);
        }
        let mut groups = Vec::with_capacity(tree.groups.len());
        for group in &tree.groups {
            groups.push(match of(&group.attrs) {
                None => Lists::default(),
                Some(members) => lists::of(members).map_err(|error| error.at(&group.name).to_string())?,
            });
        }
        let mut this = Self { groups };
        this.settle(tree)?;
        Ok(Some(this))
    }

    /// Gives the declared dimensions the lengths that arrays have along them.
    fn settle(&mut self, tree: &RawTree) -> std::result::Result<(), String> {
        let mut dims: HashMap<(usize, &str), usize> = HashMap::new();
        for (group, lists) in self.groups.iter().enumerate() {
            dims.extend(lists.dims.iter().enumerate().map(|(at, dim)| ((group, dim.name.as_str()), at)));
        }
        // The dimension of a name as an array in a group sees it.
        let declared = |group: usize, name: &str| {
            let parents = std::iter::successors(Some(group), |&group| tree.groups[group].parent);
            parents.into_iter().find_map(|group| Some((group, *dims.get(&(group, name))?)))
        };
        let mut along: HashMap<(usize, usize), Vec<u64>> = HashMap::new();
        for (at, group) in tree.groups.iter().enumerate() {
            for array in &group.arrays {
                let (Some(meta), Links::Names(names)) = (&array.built.stored.meta, &array.built.links) else {
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
            let Declared { name, len, unlimited } = &mut self.groups[group].dims[dim];
            let most = lens.iter().copied().max().unwrap_or(*len);
            // While an unlimited dimension grows, some arrays have the length that was declared before.
            let fits = match unlimited {
                true => lens.iter().all(|one| *one == most || *one >= *len),
                false => lens.iter().all(|one| one == len),
            };
            if !fits {
                return Err(format!("dimension {name:?} has length {len}, arrays along it have {lens:?}"));
            }
            *len = most;
        }
        Ok(())
    }

    /// Brings groups and arrays into the order that is said of them; what no list names comes last.
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
            here.sort_by_key(|&child| ranks.get(tree.groups[child].name.as_str()).copied().unwrap_or(usize::MAX));
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

/// Appends those members of a group's annotation without which it would be read otherwise.
///
/// # Errors
/// A dimension that the model does not have.
pub(crate) fn write_group(model: &Model, group: &nczarr_model::Group, out: &mut String) -> Result<()> {
    let is_alone = model.groups().len() == 1;
    // Nodes are found by the names they are stored by.
    let is_sorted = |names: &[&String]| names.is_sorted() && !names.iter().any(|name| node_name::is_elsewhere(name));
    let (vars, groups) = (group.vars.keys().collect::<Vec<_>>(), group.groups.keys().collect::<Vec<_>>());
    let implied = match is_alone && is_sorted(&vars) {
        true => is_implied(model, group)?,
        // Names of other groups' dimensions are seen here.
        false => group.dims.is_empty(),
    };
    if !implied {
        write_name("dimensions", out);
        lists::write_dims(model, group, out)?;
    }
    for (member, names) in [("arrays", vars), ("groups", groups)] {
        if !is_sorted(&names) {
            write_name(member, out);
            write_list(names, out, |name, out| write_string(name, out));
        }
    }
    Ok(())
}

/// Whether the dimensions are what the arrays alone would tell.
fn is_implied(model: &Model, group: &nczarr_model::Group) -> Result<bool> {
    let (mut told, mut known) = (Vec::new(), HashSet::new());
    for &var in group.vars.values() {
        told.extend(model.var(var)?.dims.iter().filter(|&&dim| known.insert(dim)));
    }
    let plain = |id| model.dim(id).is_ok_and(|dim| dim.unlimited == dim.is_empty());
    Ok(told.iter().copied().eq(group.dims.values()) && told.iter().all(|&&dim| plain(dim)))
}

/// Appends the members of an array's annotation that are not about attributes.
pub(crate) fn write_var(var: &Var, out: &mut String) {
    if var.xtype == NcType::Char {
        write_name("type", out);
        write_string("char", out);
    }
    if matches!(var.fill, VarFill::Value(_)) && !var.atts.contains_key(FILL_VALUE) {
        write_name("fill", out);
        write_string(UNWRITTEN, out);
    }
}

/// Whether the fill value of an array is said to be no attribute.
pub(crate) fn is_only_unwritten(attrs: &Members<'_>) -> bool {
    of(attrs).and_then(|members| members.get("fill")?.as_str()) == Some(UNWRITTEN)
}

/// The type to record for an attribute, if its stored text alone is read otherwise. `fill`: it is the fill value of a variable
/// of that type, whose type it has.
pub(crate) fn needed(
    values: &Values,
    text: &str,
    fill: Option<NcType>,
    limits: &nczarr_dispatch::Limits,
) -> Option<String> {
    if fill == Some(values.nc_type()) {
        return None;
    }
    let value = crate::json::parse(text.as_bytes(), limits).ok()?;
    (attrs::read(&value, None) != *values).then(|| match (values, &value) {
        (Values::Char(_), Value::Array(_) | Value::Object(_)) => STRUCTURE.to_owned(),
        _ => attrs::recorded(values),
    })
}

/// A fill value of an array that is said to be char: that of text of one byte.
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
pub(crate) fn is_there(attrs: &Object) -> bool {
    of(attrs).is_some()
}

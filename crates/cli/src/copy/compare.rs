//! Compares the metadata of source and copy.
//!
//! Every format loses something else. Comparing the finished copy finds losses without a rule per format.

use std::collections::HashSet;

use nczarr::File;
use nczarr::dispatch::Fault;
use nczarr_model::{
    DimId, FILL_VALUE, Field, GroupId, Model, NcType, Result, Scalar, TypeClass, UserType, Values, Var,
    VarFill, VarId,
};

use super::defined::{DefinedObjects, VariableForm};
use super::fit;
use super::loss_report::{LossReport, path};
use super::max_length::{DEFAULT_MAX_LEN, GIVEN_LEN, MAX_LEN};
use super::select::Selection;
use crate::json_atts;

/// The loss text for objects of the source's storage that its model does not show completely.
const UNSEEN: &str = "objects that the driver cannot show";

/// Returns one line per kind of difference. The layout of variables is not compared: flags may have changed
/// it.
pub fn between(
    source: &Model,
    faults: &[Fault],
    copy: &Model,
    copied: &DefinedObjects,
    select: &Selection,
) -> Vec<String> {
    let mut compared = Compared { source, copy, copied, select, lost: copied.lost.clone() };
    for fault in faults.iter().filter(|fault| fault.is_loss()) {
        compared.lost.add(UNSEEN, format!("{} ({})", fault.path, fault.text));
    }
    compared.types();
    compared.dims();
    compared.dims_added();
    for (id, _) in source.groups().filter(|(id, _)| select.has_group(*id)) {
        compared.group(id);
    }
    for (id, var) in source.vars() {
        compared.var(id, var);
    }
    compared.lost.lines()
}

/// Returns a line that names the attributes of a plain Zarr source whose JSON differs in the copy, for
/// readers of the JSON.
///
/// # Errors
///
/// Errors of the storage.
pub fn json(source: &File, copy: &File, copied: &DefinedObjects) -> Result<Option<String>> {
    let (here, there) = (source.model(), copy.model());
    let mut lost = LossReport::default();
    let mut compare = |from: (GroupId, Option<VarId>),
                       to: (GroupId, Option<VarId>),
                       path: String|
     -> Result<()> {
        let Some(left) = json_atts::plain(source, from.0, from.1)? else { return Ok(()) };
        let Some(right) = json_atts::stored(&**copy.dataset(), to.0, to.1)? else { return Ok(()) };
        let shown = match from.1 {
            Some(id) => &here.var(id)?.atts,
            None => &here.group(from.0)?.atts,
        };
        for (name, json) in left.iter().filter(|(name, _)| shown.contains_key(name) && name != FILL_VALUE) {
            let new = copied.atts.get(&(from.0, name.clone())).filter(|_| from.1.is_none()).unwrap_or(name);
            let other = right.iter().find(|(known, _)| known == new);
            if other.is_some_and(|(_, other)| !json_atts::same(json, other)) {
                lost.add("attributes with other JSON", format!("{path}:{name}"));
            }
        }
        Ok(())
    };
    for (id, _) in here.groups() {
        if let Some(to) =
            copied.groups.get(id.index()).and_then(|place| group_there(copied, &there, place.group))
        {
            compare((id, None), (to, None), path(&here, id, ""))?;
        }
    }
    for (id, var) in here.vars() {
        let new = copied.vars.get(id.index()).and_then(Option::as_ref);
        if let Some(to) = new.and_then(|new| self::there(copied, &there, new.id)) {
            compare(
                (var.group, Some(id)),
                (there.var(to)?.group, Some(to)),
                path(&here, var.group, &var.name),
            )?;
        }
    }
    Ok(lost.lines().pop())
}

struct Compared<'a> {
    source: &'a Model,
    copy: &'a Model,
    copied: &'a DefinedObjects,
    select: &'a Selection,
    lost: LossReport,
}

impl Compared<'_> {
    /// Returns the group that was defined in the copy.
    fn group_there(&self, defined: GroupId) -> Option<GroupId> {
        group_there(self.copied, self.copy, defined)
    }

    fn dim_there(&self, id: DimId) -> Option<DimId> {
        let defined = self.copied.made.dim(self.copied.dims[id.index()]?).ok()?;
        self.copy.group(self.group_there(defined.group)?).ok()?.dims.get(&defined.name).copied()
    }

    fn var_there(&self, id: VarId) -> Option<VarId> {
        there(self.copied, self.copy, self.copied.vars[id.index()].as_ref()?.id)
    }

    /// Returns the copy's type by the name that a type of the source got there.
    fn type_there(&self, ty: NcType) -> Option<NcType> {
        let NcType::User(defined) = self.copied.ty(ty)? else { return Some(ty) };
        let defined = self.copied.made.user_type(defined).ok()?;
        self.copy
            .group(self.group_there(defined.group)?)
            .ok()?
            .types
            .get(&defined.name)
            .copied()
            .map(NcType::User)
    }

    fn path(&self, group: GroupId, name: &str) -> String {
        path(self.source, group, name)
    }

    /// Returns the user-defined types that were defined. Some formats cannot store them, or their names.
    fn types(&mut self) {
        let mut kept = HashSet::new();
        for (id, ty) in self.source.user_types().filter(|(id, _)| self.copied.ty(NcType::User(*id)).is_some())
        {
            let path = self.path(ty.group, &ty.name);
            match self.type_there(NcType::User(id)) {
                Some(NcType::User(there)) => {
                    kept.insert(there);
                    // Types without a fixed size in memory have meaningless offsets.
                    let placed = self.source.is_fixed(NcType::User(id)).unwrap_or(true);
                    let same = |there: &UserType| self.same_class(&ty.class, &there.class, placed);
                    if !self.copy.user_type(there).is_ok_and(same) {
                        self.lost.add("types with another definition", path);
                    }
                }
                _ => self.lost.add("types", path),
            }
        }
        for (_, ty) in self.copy.user_types().filter(|(id, _)| !kept.contains(id)) {
            self.lost.add("types added", self::path(self.copy, ty.group, &ty.name));
        }
    }

    fn same_class(&self, source: &TypeClass, copy: &TypeClass, placed: bool) -> bool {
        let same = |source, copy| self.type_there(source) == Some(copy);
        match (source, copy) {
            (
                TypeClass::Compound { size, fields },
                TypeClass::Compound { size: size_there, fields: there },
            ) => {
                let equal = |(a, b): (&Field, &Field)| {
                    (&a.name, &a.shape) == (&b.name, &b.shape)
                        && (!placed || a.offset == b.offset)
                        && same(a.ty, b.ty)
                };
                (!placed || size == size_there)
                    && fields.len() == there.len()
                    && fields.iter().zip(there).all(equal)
            }
            (TypeClass::Vlen { base }, TypeClass::Vlen { base: there }) => same(*base, *there),
            (source, copy) => source == copy,
        }
    }

    fn dims(&mut self) {
        for (id, dim) in self.source.dims().filter(|(id, _)| self.copied.dims[id.index()].is_some()) {
            let path = self.path(dim.group, &dim.name);
            let Some(there) = self.dim_there(id).and_then(|id| self.copy.dim(id).ok()) else {
                self.lost.add("dimensions", path);
                continue;
            };
            if dim.unlimited && !there.unlimited && !self.select.fixed {
                self.lost.add("dimensions no longer unlimited", &path);
            }
            if !dim.unlimited && there.unlimited {
                self.lost.add("dimensions now unlimited", &path);
            }
            if dim.len() != there.len() {
                self.lost.add("dimensions with another length", &path);
            }
        }
    }

    /// Compares dimensions of the copy without a counterpart in the source, except those already reported as
    /// added.
    fn dims_added(&mut self) {
        let kept: HashSet<_> = self.source.dims().filter_map(|(id, _)| self.dim_there(id)).collect();
        let made: HashSet<_> = (self.copied.made.dims())
            .filter_map(|(_, dim)| {
                let group = self.group_there(dim.group)?;
                self.copy.group(group).ok()?.dims.get(&dim.name).copied()
            })
            .collect();
        for (_, dim) in self.copy.dims().filter(|(id, _)| !kept.contains(id) && !made.contains(id)) {
            self.lost.add("dimensions added", path(self.copy, dim.group, &dim.name));
        }
    }

    fn group(&mut self, id: GroupId) {
        let Ok(group) = self.source.group(id) else { return };
        let path = self.path(id, "");
        let place = &self.copied.groups[id.index()];
        let Some(there) = self.group_there(place.group).and_then(|id| self.copy.group(id).ok()) else {
            self.lost.add("groups", path);
            return;
        };
        let renamed = |name: &str| {
            self.copied.atts.get(&(id, name.to_owned())).cloned().unwrap_or_else(|| name.to_owned())
        };
        let mut lost = std::mem::take(&mut self.lost);
        let atts = group.atts.iter().map(|(name, values)| (name.as_str(), renamed(name), values));
        self.atts(&path, atts, &there.atts, &mut lost);
        if place.prefix.is_empty() {
            let names = |atts: &nczarr_model::Att| atts.keys().cloned().collect::<HashSet<_>>();
            let given = names(&group.atts).into_iter().chain(self.copied.atts.values().cloned()).collect();
            added(&path, &there.atts, &given, &mut lost);
        }
        let dims = group.dims.values().filter_map(|&id| self.dim_there(id)).collect::<Vec<_>>();
        let vars = group.vars.values().filter_map(|&id| self.var_there(id)).collect::<Vec<_>>();
        let groups = group.groups.values().filter(|id| self.copied.groups[id.index()].prefix.is_empty());
        let groups = groups
            .filter_map(|id| self.group_there(self.copied.groups[id.index()].group))
            .collect::<Vec<_>>();
        for (what, kept) in [
            ("dimensions", dims.iter().map(|id| there.dims.values().position(|here| here == id)).is_sorted()),
            ("variables", vars.iter().map(|id| there.vars.values().position(|here| here == id)).is_sorted()),
            ("groups", groups.iter().map(|id| there.groups.values().position(|here| here == id)).is_sorted()),
        ] {
            if !kept {
                lost.add(format!("{what} in another order"), &path);
            }
        }
        self.lost = lost;
    }

    fn var(&mut self, id: VarId, var: &Var) {
        // Its absence is already reported.
        let Some(new) = &self.copied.vars[id.index()] else { return };
        let path = self.path(var.group, &var.name);
        let Some(there) = self.var_there(id).and_then(|id| self.copy.var(id).ok()) else {
            self.lost.add("variables", path);
            return;
        };
        if Some(there.xtype) != self.type_there(var.xtype) {
            let (here, there) = (name(self.source, var.xtype), name(self.copy, there.xtype));
            self.lost.add(format!("variables with type {here}, now {there}"), &path);
        }
        if let Some(stored) = var.stored_type.as_deref().filter(|stored| says_more(stored))
            && there.stored_type.as_deref() != Some(stored)
        {
            let now = there.stored_type.clone().unwrap_or_else(|| name(self.copy, there.xtype));
            self.lost.add(format!("variables with stored type {stored}, now {now}"), &path);
        }
        let extra = usize::from(matches!(new.form, VariableForm::Text { .. }));
        let kept = &there.dims[..there.dims.len().saturating_sub(extra)];
        let len = |dim: &DimId| self.copy.dim(*dim).ok().map(nczarr_model::Dim::len);
        if self.source.shape(id).ok() != kept.iter().map(len).collect() {
            self.lost.add("variables with another shape", &path);
        }
        let dims: Vec<_> = var.dims.iter().map(|&dim| self.dim_there(dim)).collect();
        if !dims.iter().copied().eq(kept.iter().map(|&dim| Some(dim))) {
            self.lost.add("variables with other dimensions", &path);
        }
        let filled = |var: &Var| var.fill != VarFill::NoFill;
        // Without fill values, unwritten elements read as zeros, and strings as empty ones.
        let zeros = |var: &Var| var.fill_value().is_none_or(|value| fit::is_zero(&value));
        if filled(var) != filled(there) && !(zeros(var) && zeros(there)) {
            self.lost.add("variables with another fill mode", &path);
        }
        let mut lost = std::mem::take(&mut self.lost);
        let atts = var.atts.iter().map(|(name, values)| (name.as_str(), name.clone(), values));
        self.atts(&path, atts, &there.atts, &mut lost);
        added(&path, &there.atts, &var.atts.keys().cloned().collect(), &mut lost);
        self.lost = lost;
    }

    /// Compares attributes by their names in source and copy, and their values.
    fn atts<'v>(
        &self,
        path: &str,
        source: impl Iterator<Item = (&'v str, String, &'v Values)>,
        copy: &nczarr_model::Att,
        lost: &mut LossReport,
    ) {
        for (name, new, values) in source.filter(|(name, ..)| ![MAX_LEN, GIVEN_LEN].contains(name)) {
            let object = format!("{path}:{name}");
            if self.copied.left.contains(&object) {
                continue;
            }
            let Some(there) = copy.get(&new) else {
                lost.add("attributes", object);
                continue;
            };
            if Some(there.nc_type()) != self.type_there(values.nc_type()) {
                let here = self::name(self.source, values.nc_type());
                let there = self::name(self.copy, there.nc_type());
                lost.add(format!("attributes with type {here}, now {there}"), object.clone());
            }
            if !same(values, there) {
                lost.add("attributes with another value", object);
            }
        }
    }
}

/// Returns the variable of the finished copy that was defined for a source variable.
pub fn there(copied: &DefinedObjects, copy: &Model, defined: VarId) -> Option<VarId> {
    let defined = copied.made.var(defined).ok()?;
    copy.group(group_there(copied, copy, defined.group)?).ok()?.vars.get(&defined.name).copied()
}

fn group_there(copied: &DefinedObjects, copy: &Model, defined: GroupId) -> Option<GroupId> {
    let mut here = GroupId::ROOT;
    for name in copied.made.group_names(defined).ok()? {
        here = copy.find_group(here, name)?;
    }
    Some(here)
}

/// Returns attributes that the source lacks.
fn added(path: &str, there: &nczarr_model::Att, source: &HashSet<String>, lost: &mut LossReport) {
    // The attribute for maximum string lengths belongs to the format.
    let length =
        |name: &str| [MAX_LEN, DEFAULT_MAX_LEN, GIVEN_LEN].contains(&name) || name.ends_with(".strlen");
    let new = there.keys().filter(|name| !length(name));
    for name in new.filter(|name| !source.contains(*name)) {
        lost.add("attributes added", format!("{path}:{name}"));
    }
}

/// Returns whether values are the same numbers or the same text, whatever their types.
fn same(source: &Values, copy: &Values) -> bool {
    let number = |values: &Values, at| match values.scalar(at) {
        Some(Scalar::Int(value)) => Some(Scalar::Int(value)),
        // As 128 bits, integers of 64 bits are exact.
        Some(Scalar::Float(value))
            if value.fract() == 0.0
                && value.abs() < 2f64.powi(100)
                && value.to_bits() != (-0.0f64).to_bits() =>
        {
            Some(Scalar::Int(value as i128))
        }
        other => other,
    };
    let equal = |a: Option<Scalar>, b: Option<Scalar>| match (a, b) {
        (Some(Scalar::Float(a)), Some(Scalar::Float(b))) => a.to_bits() == b.to_bits(),
        (Some(a), Some(b)) => a == b,
        _ => false,
    };
    match (source, copy) {
        _ if source == copy => true,
        (Values::User(_, a), Values::User(_, b)) => a == b,
        (Values::Packed(_, a), Values::Packed(_, b)) => a == b,
        (Values::String(list), Values::Char(text)) => fit::lines(list) == *text,
        (Values::Char(text), Values::String(list)) => {
            matches!(list.as_slice(), [one] if one.as_bytes() == text)
        }
        _ => {
            source.len() == copy.len()
                && (0..source.len()).all(|at| equal(number(source, at), number(copy, at)))
        }
    }
}

/// Returns whether a stored type, by its name in Zarr V2 or V3, carries more meaning than the type of the
/// elements: dates, durations, truth values, half floats, or characters of a fixed number. A record does if
/// one of its fields does.
pub(super) fn says_more(stored: &str) -> bool {
    if stored.starts_with('[') {
        return serde_json::from_str(stored).is_ok_and(|record| field_says_more(&record));
    }
    let kind = stored.trim_start_matches(['<', '>', '|', '=']);
    ["M8", "m8", "U", "numpy.datetime64", "numpy.timedelta64", "fixed_length_utf32"]
        .iter()
        .any(|begin| kind.starts_with(begin))
        || ["b1", "bool", "f2", "float16", "bfloat16"].contains(&kind)
}

/// Returns whether a field of a record carries more meaning, at any depth. A field is a list of a name, a
/// type, and perhaps a shape.
fn field_says_more(record: &serde_json::Value) -> bool {
    let fields = record.as_array().map(Vec::as_slice).unwrap_or_default();
    let types = fields.iter().filter_map(|field| field.as_array()?.get(1));
    types.into_iter().any(|ty| ty.as_str().map_or_else(|| field_says_more(ty), says_more))
}

fn name(model: &Model, ty: NcType) -> String {
    match ty {
        NcType::User(id) => model.user_type(id).map_or_else(|_| "?".to_owned(), |ty| ty.name.clone()),
        atomic => atomic.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_stored_types_say_more() {
        for (stored, more) in [
            ("<M8[s]", true),
            (">m8[D]", true),
            ("|b1", true),
            ("<f2", true),
            ("<U6", true),
            ("|S6", false),
            ("<f4", false),
            ("|V4", false),
            (r#"[["id","<i4"],["name","|S4"],["in",[["a","<i2"]]]]"#, false),
            (r#"[["id","<i4"],["in",[["when","<M8[s]"]],[2]]]"#, true),
            (r#"[["M8","<i4"],["b1","|u1"]]"#, false),
        ] {
            assert_eq!(says_more(stored), more, "{stored}");
        }
    }

    #[test]
    fn values_of_different_types_compare_by_number() {
        let text = |text: &str| Values::String(vec![text.into()]);
        for (source, copy, want) in [
            (Values::UInt(vec![1, 2]), Values::Int(vec![1, 2]), true),
            (Values::UInt(vec![1, 2]), Values::Int(vec![1]), false),
            (Values::Float(vec![0.1]), Values::Double(vec![f64::from(0.1f32)]), true),
            (Values::Float(vec![0.1]), Values::Double(vec![0.1]), false),
            (Values::Int64(vec![(1 << 53) + 1]), Values::Double(vec![9007199254740992.0]), false),
            (Values::Double(vec![-0.0]), Values::Int(vec![0]), false),
            (Values::Double(vec![f64::NAN]), Values::Float(vec![f32::NAN]), true),
            (text("a"), Values::text("a"), true),
            (text("a"), Values::text("b"), false),
            (Values::String(vec!["a".into(), "b".into()]), Values::text("a"), false),
            (Values::String(vec!["a".into(), "b".into()]), Values::text("a\nb"), true),
            (Values::text("7"), Values::Int(vec![7]), false),
        ] {
            assert_eq!(same(&source, &copy), want, "{source:?} {copy:?}");
        }
    }
}

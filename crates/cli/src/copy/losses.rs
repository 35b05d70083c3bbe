//! What a copy did not keep: the metadata of the finished copy, compared with that of its source.
//!
//! Every format loses something else; nobody has to know what, since the result tells.

use std::collections::HashSet;

use model::{Model, NcType, Var, VarFill};

use super::define::{Copied, MAX_LEN};

/// So many objects are named per kind of loss.
const NAMED: usize = 8;

/// Kinds of losses, each with the objects it happened to.
#[derive(Default)]
struct Losses(Vec<(String, Vec<String>)>);

impl Losses {
    fn add(&mut self, kind: impl Into<String>, object: impl Into<String>) {
        let kind = kind.into();
        match self.0.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, objects)) => objects.push(object.into()),
            None => self.0.push((kind, vec![object.into()])),
        }
    }

    fn lines(self) -> Vec<String> {
        let line = |(kind, objects): (String, Vec<String>)| {
            let rest = objects.len().saturating_sub(NAMED);
            let named = objects[..objects.len() - rest].join(", ");
            if rest > 0 { format!("{kind}: {named} and {rest} more") } else { format!("{kind}: {named}") }
        };
        self.0.into_iter().map(line).collect()
    }
}

/// One line per kind of difference. The layout of variables is not compared: it may have been asked for.
pub fn between(source: &Model, copy: &Model, copied: &Copied) -> Vec<String> {
    let mut lost = Losses::default();
    dims(source, copy, &mut lost);
    for (id, group) in source.groups() {
        let path = source.fqn(id, "").unwrap_or_default();
        match find_group(source, copy, id) {
            Some(there) => {
                atts(&path, &group.atts, &there.atts, &mut lost);
                order("dimensions", &path, group.dims.keys(), there.dims.keys(), &mut lost);
                order("variables", &path, group.vars.keys(), there.vars.keys(), &mut lost);
                order("groups", &path, group.groups.keys(), there.groups.keys(), &mut lost);
            }
            None => lost.add("groups", path),
        }
    }
    for (id, var) in source.vars() {
        let path = source.fqn(var.group, &var.name).unwrap_or_default();
        let there = find_group(source, copy, var.group).and_then(|group| group.vars.get(&var.name));
        let Some(there) = there.and_then(|&id| copy.var(id).ok()) else {
            lost.add("variables", path);
            continue;
        };
        if there.xtype != copied.ty(var.xtype).unwrap_or(var.xtype) {
            let kind = format!("type {} of variables, read as {}", name(source, var.xtype), name(copy, there.xtype));
            lost.add(kind, &path);
        }
        if source.shape(id).ok() != there.dims.iter().map(|&dim| Some(copy.dim(dim).ok()?.len())).collect() {
            lost.add("shape of variables", &path);
        }
        if dim_paths(source, var) != dim_paths(copy, there) {
            lost.add("dimensions of variables", &path);
        }
        if (var.fill == VarFill::NoFill) != (there.fill == VarFill::NoFill) {
            lost.add("whether variables are filled", &path);
        }
        atts(&path, &var.atts, &there.atts, &mut lost);
    }
    lost.lines()
}

/// The dimensions of a variable, by their paths.
fn dim_paths(model: &Model, var: &Var) -> Vec<Option<String>> {
    let path = |dim: &model::Dim| model.fqn(dim.group, &dim.name).ok();
    var.dims.iter().map(|&dim| path(model.dim(dim).ok()?)).collect()
}

/// Whether what is in both is in the same order.
fn order<'n>(
    what: &str,
    path: &str,
    source: impl Iterator<Item = &'n String>,
    copy: impl Iterator<Item = &'n String>,
    lost: &mut Losses,
) {
    let (source, copy): (Vec<_>, Vec<_>) = (source.collect(), copy.collect());
    let (here, there): (HashSet<_>, HashSet<_>) = (source.iter().collect(), copy.iter().collect());
    let kept = source.iter().filter(|name| there.contains(name));
    if !kept.eq(copy.iter().filter(|name| here.contains(name))) {
        lost.add(format!("order of {what}"), path);
    }
}

/// Dimensions that are no longer unlimited, or not there.
fn dims(source: &Model, copy: &Model, lost: &mut Losses) {
    for (_, dim) in source.dims() {
        let path = source.fqn(dim.group, &dim.name).unwrap_or_default();
        let there = find_group(source, copy, dim.group).and_then(|group| group.dims.get(&dim.name));
        match there.and_then(|&id| copy.dim(id).ok()) {
            None => lost.add("dimensions", path),
            Some(there) if dim.unlimited && !there.unlimited => lost.add("that dimensions are unlimited", path),
            Some(_) => {}
        }
    }
}

fn atts(path: &str, source: &model::Att, copy: &model::Att, lost: &mut Losses) {
    for (name, values) in source.iter().filter(|(name, _)| *name != MAX_LEN) {
        let object = format!("{path}:{name}");
        match copy.get(name) {
            None => lost.add("attributes", object),
            Some(there) if there.nc_type() != values.nc_type() => {
                let (here, there) = (values.nc_type().name(), there.nc_type().name());
                lost.add(format!("type {here} of attributes, read as {there}"), object);
            }
            Some(there) if there != values => lost.add("value of attributes", object),
            Some(_) => {}
        }
    }
}

fn find_group<'m>(source: &Model, copy: &'m Model, id: model::GroupId) -> Option<&'m model::Group> {
    let mut here = model::GroupId::ROOT;
    for name in source.group_names(id).ok()? {
        here = copy.find_group(here, name)?;
    }
    copy.group(here).ok()
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
    fn losses_of_one_kind_are_one_line() {
        let mut lost = Losses::default();
        lost.add("groups", "/g");
        (0..10).for_each(|i| lost.add("attributes", format!("/:a{i}")));
        assert_eq!(
            lost.lines(),
            ["groups: /g", "attributes: /:a0, /:a1, /:a2, /:a3, /:a4, /:a5, /:a6, /:a7 and 2 more"]
        );
    }
}

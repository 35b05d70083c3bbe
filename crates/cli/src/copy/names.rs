//! Target groups and names for objects. In a target without groups, the objects of all groups share one, with
//! their groups' names as prefixes.

use std::collections::HashSet;

use nczarr_model::{GroupId, Model};

/// The target group for the objects of a source group.
#[derive(Debug, Clone)]
pub struct GroupTarget {
    /// The group of the target.
    pub group: GroupId,
    /// The source group that it is a copy of; objects of that group keep their names.
    host: GroupId,
    /// The prefix of the names; empty in a copy of the group.
    pub prefix: String,
}

impl GroupTarget {
    /// Makes the copy of a group.
    pub fn copy(source: GroupId, group: GroupId) -> Self {
        Self { group, host: source, prefix: String::new() }
    }

    /// Derives the target of a subgroup that has no group of its own.
    pub fn inside(&self, name: &str) -> Self {
        Self { prefix: format!("{}{name}_", self.prefix), ..self.clone() }
    }
}

/// A namespace of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Namespace {
    Dims,
    Vars,
    Atts,
}

/// The names given to objects that could not keep theirs.
#[derive(Debug, Default)]
pub struct GivenNames(HashSet<(Namespace, GroupId, String)>);

impl GivenNames {
    /// A name at a place for an object called `name` in its group: unique there.
    pub fn give(&mut self, source: &Model, place: &GroupTarget, space: Namespace, name: &str) -> String {
        if place.prefix.is_empty() {
            return name.to_owned();
        }
        let wanted = format!("{}{name}", place.prefix);
        self.free(source, place, space, wanted)
    }

    /// The first of `wanted`, `wanted_1`, `wanted_2` … that is free.
    pub fn free(&mut self, source: &Model, place: &GroupTarget, space: Namespace, wanted: String) -> String {
        let taken = |name: &String| {
            source.group(place.host).is_ok_and(|group| match space {
                Namespace::Dims => group.dims.contains_key(name),
                Namespace::Vars => group.vars.contains_key(name),
                Namespace::Atts => group.atts.contains_key(name),
            })
        };
        let more = (1u64..).map(|number| format!("{wanted}_{number}"));
        let mut names = std::iter::once(wanted.clone()).chain(more);
        let is_free = |name: &String| !taken(name) && self.0.insert((space, place.group, name.clone()));
        names.find(is_free).unwrap_or(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flattened_names_have_group_prefixes_and_are_unique() {
        let mut source = Model::new();
        source.add_dim(GroupId::ROOT, "a_b_x", 1, false).unwrap();
        let root = GroupTarget::copy(GroupId::ROOT, GroupId::ROOT);
        let (deep, flat) = (root.inside("a").inside("b"), root.inside("a_b"));
        let mut names = GivenNames::default();
        for (place, space, name, want) in [
            (&root, Namespace::Dims, "a_b_x", "a_b_x"),
            (&deep, Namespace::Dims, "x", "a_b_x_1"),
            (&flat, Namespace::Dims, "x", "a_b_x_2"),
            (&deep, Namespace::Vars, "x", "a_b_x"),
            (&flat, Namespace::Vars, "x", "a_b_x_1"),
            (&deep, Namespace::Atts, "title", "a_b_title"),
        ] {
            assert_eq!(names.give(&source, place, space, name), want);
        }
    }
}

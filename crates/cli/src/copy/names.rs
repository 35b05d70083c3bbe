//! Where the objects of each group go, and what they are called there: a target without groups has the objects of all groups
//! in one, by names that start with those of their groups.

use std::collections::HashSet;

use nczarr_model::{GroupId, Model};

/// Where the objects of a group of the source go.
#[derive(Debug, Clone)]
pub struct Place {
    /// The group of the target.
    pub group: GroupId,
    /// The group of the source that this one is a copy of: whose objects have their names without anything before.
    host: GroupId,
    /// What stands before their names; empty in a copy of the group.
    pub prefix: String,
}

impl Place {
    /// The copy of a group.
    pub fn copy(source: GroupId, group: GroupId) -> Self {
        Self { group, host: source, prefix: String::new() }
    }

    /// For a group that lies in the one of this place, and has none of its own.
    pub fn inside(&self, name: &str) -> Self {
        Self { prefix: format!("{}{name}_", self.prefix), ..self.clone() }
    }
}

/// What shares its names with nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    Dims,
    Vars,
    Atts,
}

/// Names that were given to objects that could not keep theirs.
#[derive(Debug, Default)]
pub struct Names(HashSet<(Space, GroupId, String)>);

impl Names {
    /// A name at a place for an object called `name` in its group: nobody else's there.
    pub fn give(&mut self, source: &Model, place: &Place, space: Space, name: &str) -> String {
        if place.prefix.is_empty() {
            return name.to_owned();
        }
        let wanted = format!("{}{name}", place.prefix);
        self.free(source, place, space, wanted)
    }

    /// The first of `wanted`, `wanted_1`, `wanted_2` … that is nobody's.
    pub fn free(&mut self, source: &Model, place: &Place, space: Space, wanted: String) -> String {
        let taken = |name: &String| {
            source.group(place.host).is_ok_and(|group| match space {
                Space::Dims => group.dims.contains_key(name),
                Space::Vars => group.vars.contains_key(name),
                Space::Atts => group.atts.contains_key(name),
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
    fn names_of_groups_stand_before_and_nobody_is_called_as_another() {
        let mut source = Model::new();
        source.add_dim(GroupId::ROOT, "a_b_x", 1, false).unwrap();
        let root = Place::copy(GroupId::ROOT, GroupId::ROOT);
        let (deep, flat) = (root.inside("a").inside("b"), root.inside("a_b"));
        let mut names = Names::default();
        for (place, space, name, want) in [
            (&root, Space::Dims, "a_b_x", "a_b_x"),
            (&deep, Space::Dims, "x", "a_b_x_1"),
            (&flat, Space::Dims, "x", "a_b_x_2"),
            (&deep, Space::Vars, "x", "a_b_x"),
            (&flat, Space::Vars, "x", "a_b_x_1"),
            (&deep, Space::Atts, "title", "a_b_title"),
        ] {
            assert_eq!(names.give(&source, place, space, name), want);
        }
    }
}

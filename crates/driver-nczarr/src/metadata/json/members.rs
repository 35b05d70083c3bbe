//! The members of an object: [`ObjectMembers`].
//!
//! Objects of metadata usually have a handful of members, which a vector holds. Larger objects, such as
//! consolidated metadata, get a hash index. So lookups and checks for repeated names stay fast for any
//! document.

use std::borrow::Cow;
use std::slice;

use indexmap::IndexMap;

use super::value::{Member, MemberStore, ObjectMembers, Value};

/// The most members that are kept without an index.
const MAX_UNINDEXED: usize = 16;

impl<'t> ObjectMembers<'t> {
    pub(crate) const fn new() -> Self {
        Self(MemberStore::Few(Vec::new()))
    }

    /// Makes an empty object with room for this many members, or fewer.
    pub(crate) fn with_capacity(members: usize) -> Self {
        Self(MemberStore::Few(Vec::with_capacity(members.min(MAX_UNINDEXED))))
    }

    /// Returns the members in order.
    pub(crate) fn into_list(self) -> Vec<(Cow<'t, str>, Value<'t>)> {
        match self.0 {
            MemberStore::Few(few) => few,
            MemberStore::Many(many) => many.into_iter().collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match &self.0 {
            MemberStore::Few(few) => few.len(),
            MemberStore::Many(many) => many.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value<'t>> {
        match &self.0 {
            MemberStore::Few(few) => few.iter().find(|member| member.0 == name).map(|member| &member.1),
            MemberStore::Many(many) => many.get(name),
        }
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Value<'t>> {
        match &mut self.0 {
            MemberStore::Few(few) => {
                few.iter_mut().find(|member| member.0 == name).map(|member| &mut member.1)
            }
            MemberStore::Many(many) => many.get_mut(name),
        }
    }

    pub(crate) fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets a member.
    pub(crate) fn insert(&mut self, name: impl Into<Cow<'t, str>>, value: Value<'t>) {
        let name = name.into();
        match &mut self.0 {
            MemberStore::Few(few) => match few.iter().position(|member| member.0 == name) {
                Some(place) => few[place].1 = value,
                None if few.len() < MAX_UNINDEXED => few.push((name, value)),
                None => {
                    let mut many: IndexMap<_, _, _> = std::mem::take(few).into_iter().collect();
                    many.insert(name, value);
                    self.0 = MemberStore::Many(Box::new(many));
                }
            },
            MemberStore::Many(many) => {
                many.insert(name, value);
            }
        }
    }

    /// Removes a member; the others keep their order.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Value<'t>> {
        match &mut self.0 {
            MemberStore::Few(few) => {
                let place = few.iter().position(|member| member.0 == name)?;
                Some(few.remove(place).1)
            }
            MemberStore::Many(many) => many.shift_remove(name),
        }
    }

    pub(crate) fn iter(&self) -> Iter<'_, 't> {
        match &self.0 {
            MemberStore::Few(few) => Iter::Few(few.iter()),
            MemberStore::Many(many) => Iter::Many(many.iter()),
        }
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Value<'t>> {
        self.iter().map(|(_, value)| value)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Value<'t>> {
        let (few, many) = match &mut self.0 {
            MemberStore::Few(few) => (Some(few.iter_mut()), None),
            MemberStore::Many(many) => (None, Some(many.values_mut())),
        };
        few.into_iter().flatten().map(|member| &mut member.1).chain(many.into_iter().flatten())
    }

    /// Copies borrowed text.
    pub(crate) fn into_owned(self) -> ObjectMembers<'static> {
        let owned = |(name, value): Member<'t>| (Cow::Owned(name.into_owned()), value.into_owned());
        ObjectMembers(match self.0 {
            MemberStore::Few(few) => MemberStore::Few(few.into_iter().map(owned).collect()),
            MemberStore::Many(many) => MemberStore::Many(Box::new(many.into_iter().map(owned).collect())),
        })
    }
}

/// An iterator over members, in order.
pub(crate) enum Iter<'m, 't> {
    Few(slice::Iter<'m, Member<'t>>),
    Many(indexmap::map::Iter<'m, Cow<'t, str>, Value<'t>>),
}

impl<'m, 't> Iterator for Iter<'m, 't> {
    type Item = (&'m str, &'m Value<'t>);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Few(few) => few.next().map(|(name, value)| (&**name, value)),
            Self::Many(many) => many.next().map(|(name, value)| (&**name, value)),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Few(few) => few.size_hint(),
            Self::Many(many) => many.size_hint(),
        }
    }
}

impl<'m, 't> IntoIterator for &'m ObjectMembers<'t> {
    type Item = (&'m str, &'m Value<'t>);
    type IntoIter = Iter<'m, 't>;

    fn into_iter(self) -> Iter<'m, 't> {
        self.iter()
    }
}

impl<'t, N: Into<Cow<'t, str>>> FromIterator<(N, Value<'t>)> for ObjectMembers<'t> {
    fn from_iter<I: IntoIterator<Item = (N, Value<'t>)>>(members: I) -> Self {
        let mut all = Self::new();
        for (name, value) in members {
            all.insert(name, value);
        }
        all
    }
}

impl Default for ObjectMembers<'_> {
    fn default() -> Self {
        Self::new()
    }
}

/// Ignores the order.
impl PartialEq for ObjectMembers<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(name, value)| other.get(name) == Some(value))
    }
}

impl std::fmt::Debug for ObjectMembers<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::json::value::Json;
    use proptest::prelude::*;

    proptest! {
        /// Equals an index map for any number of members, repeated or not.
        #[test]
        fn members_are_a_map_in_order(
            ops in prop::collection::vec((0u8..40, any::<u8>(), prop::bool::weighted(0.1)), 0..80),
        ) {
            let (mut ours, mut theirs) = (ObjectMembers::new(), IndexMap::new());
            for (name, value, remove) in ops {
                let name = format!("m{name}");
                if remove {
                    prop_assert_eq!(ours.remove(&name), theirs.shift_remove(&name));
                } else {
                    ours.insert(name.clone(), Json::int(value));
                    theirs.insert(name.clone(), Json::int(value));
                }
                prop_assert_eq!(ours.get(&name), theirs.get(&name));
                prop_assert_eq!(ours.contains_key(&name), theirs.contains_key(&name));
            }
            prop_assert_eq!(ours.len(), theirs.len());
            prop_assert_eq!(ours.is_empty(), theirs.is_empty());
            prop_assert!(ours.iter().eq(theirs.iter().map(|(name, value)| (name.as_str(), value))));
            for value in ours.values_mut() {
                *value = Json::Null;
            }
            prop_assert!(ours.values().all(Json::is_null));
            prop_assert_eq!(&ours.clone().into_owned(), &ours);
        }
    }
}

//! The members of an archive by key: [`MemberIndex`].
//!
//! A read-only archive uses its listing without a lock; a writable one uses a tree.

use std::collections::BTreeMap;
use std::ops::{Bound, Deref};
use std::sync::{Arc, PoisonError, RwLock};

use nczarr_model::Result;

use crate::listing::{Listing, MemberEntry};

/// Members by key.
type Entries = BTreeMap<Arc<str>, Arc<MemberEntry>>;

/// The members of an archive.
#[derive(Debug)]
pub(crate) enum MemberIndex {
    Fixed(Listing),
    Growing(RwLock<Entries>),
}

/// A member that was found.
pub(crate) enum FoundMember<'i> {
    Fixed(&'i MemberEntry),
    /// It may have been replaced since.
    Shared(Arc<MemberEntry>),
}

impl Deref for FoundMember<'_> {
    type Target = MemberEntry;

    fn deref(&self) -> &MemberEntry {
        match self {
            Self::Fixed(entry) => entry,
            Self::Shared(entry) => entry,
        }
    }
}

/// The result of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexChange {
    Done,
    /// The object has not the expected state.
    Lost,
    /// The key would be a prefix of another, or the other way round.
    Collision,
}

/// The state that a write accepts at its key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ExpectedMember {
    Anything,
    Nothing,
    /// The member at this position.
    At(u64),
}

impl MemberIndex {
    pub(crate) fn new(listing: Listing, writable: bool) -> Self {
        if !writable {
            return Self::Fixed(listing);
        }
        Self::Growing(RwLock::new(
            listing.into_members().map(|(key, entry)| (key, Arc::new(entry))).collect(),
        ))
    }

    /// Calls `look` with the keys, and returns its result.
    fn keys<T>(&self, look: impl FnOnce(IndexKeys<'_>) -> T) -> T {
        match self {
            Self::Fixed(listing) => look(IndexKeys::Fixed(listing)),
            Self::Growing(entries) => {
                look(IndexKeys::Growing(&entries.read().unwrap_or_else(PoisonError::into_inner)))
            }
        }
    }

    /// Calls `take` for all members in key order.
    pub(crate) fn each(&self, mut take: impl FnMut(&str, &MemberEntry) -> Result<()>) -> Result<()> {
        match self {
            Self::Fixed(listing) => listing.from("").try_for_each(|(key, entry)| take(key, entry)),
            Self::Growing(entries) => {
                let entries = entries.read().unwrap_or_else(PoisonError::into_inner);
                entries.iter().try_for_each(|(key, entry)| take(key, entry))
            }
        }
    }

    /// Returns the member of a key.
    pub(crate) fn get(&self, key: &str) -> Option<FoundMember<'_>> {
        match self {
            Self::Fixed(listing) => listing.get(key).map(FoundMember::Fixed),
            Self::Growing(entries) => {
                let entries = entries.read().unwrap_or_else(PoisonError::into_inner);
                entries.get(key).cloned().map(FoundMember::Shared)
            }
        }
    }

    /// Whether a member exists below a key.
    pub(crate) fn leads(&self, key: &str) -> bool {
        let base = base_of(key);
        self.keys(|keys| keys.from(&base).next().is_some_and(|key| key.starts_with(&base)))
    }

    /// Returns the result that [`MemberIndex::put`] would have.
    pub(crate) fn admits(&self, key: &str, before: ExpectedMember) -> IndexChange {
        match self {
            Self::Fixed(_) => IndexChange::Lost,
            Self::Growing(entries) => {
                admits(&entries.read().unwrap_or_else(PoisonError::into_inner), key, before)
            }
        }
    }

    /// Adds or replaces a member.
    pub(crate) fn put(&self, key: &str, entry: MemberEntry, before: ExpectedMember) -> IndexChange {
        let Self::Growing(entries) = self else { return IndexChange::Lost };
        let mut entries = entries.write().unwrap_or_else(PoisonError::into_inner);
        let admitted = admits(&entries, key, before);
        if admitted == IndexChange::Done {
            match entries.get_mut(key) {
                Some(there) => *there = Arc::new(entry),
                None => drop(entries.insert(key.into(), Arc::new(entry))),
            }
        }
        admitted
    }

    /// Removes a member; returns whether it existed.
    pub(crate) fn remove(&self, key: &str) -> bool {
        let Self::Growing(entries) = self else { return false };
        entries.write().unwrap_or_else(PoisonError::into_inner).remove(key).is_some()
    }

    /// Returns the next segments below `prefix`, sorted.
    pub(crate) fn search(&self, prefix: &str) -> Vec<String> {
        let base = base_of(prefix);
        self.keys(|keys| {
            let (mut names, mut from) = (Vec::new(), base.clone());
            while let Some(rest) = keys.from(&from).next().and_then(|key| key.strip_prefix(&*base)) {
                let name = rest.split('/').next().unwrap_or(rest);
                // Skips this key, or all keys below this name: `0` comes after `/`.
                from = format!("{base}{name}{}", if name.len() < rest.len() { '0' } else { '\0' });
                names.push(name.to_owned());
            }
            names.sort_unstable();
            names
        })
    }

    /// Returns all keys at or below `prefix`, sorted.
    pub(crate) fn list(&self, prefix: &str) -> Vec<String> {
        let base = base_of(prefix);
        self.keys(|keys| {
            let own = keys.from(prefix).next().filter(|key| *key == prefix);
            let below = keys.from(&base).take_while(|key| key.starts_with(&base));
            own.into_iter().chain(below).map(str::to_owned).collect()
        })
    }
}

/// The keys of an index.
#[derive(Clone, Copy)]
enum IndexKeys<'i> {
    Fixed(&'i Listing),
    Growing(&'i Entries),
}

impl<'i> IndexKeys<'i> {
    /// Returns the keys from `key` on, in order.
    fn from(self, key: &str) -> impl Iterator<Item = &'i str> + use<'i> {
        let (fixed, growing) = match self {
            IndexKeys::Fixed(listing) => (Some(listing.from(key)), None),
            IndexKeys::Growing(entries) => (None, Some(from(entries, key))),
        };
        fixed.into_iter().flatten().map(|(key, _)| key).chain(growing.into_iter().flatten())
    }
}

fn from<'e>(entries: &'e Entries, key: &str) -> impl Iterator<Item = &'e str> + use<'e> {
    entries.range::<str, _>((Bound::Included(key), Bound::Unbounded)).map(|(key, _)| &**key)
}

/// Returns the common start of all keys below a prefix.
fn base_of(prefix: &str) -> String {
    if prefix.is_empty() { String::new() } else { format!("{prefix}/") }
}

fn admits(entries: &Entries, key: &str, before: ExpectedMember) -> IndexChange {
    match (entries.get(key), before) {
        (Some(_), ExpectedMember::Anything) => IndexChange::Done,
        (Some(there), ExpectedMember::At(at)) if there.at == at => IndexChange::Done,
        (None, ExpectedMember::Anything | ExpectedMember::Nothing) => {
            if collides(entries, key) {
                IndexChange::Collision
            } else {
                IndexChange::Done
            }
        }
        _ => IndexChange::Lost,
    }
}

/// Whether a key is a prefix of a member's key, or the other way round.
fn collides(entries: &Entries, key: &str) -> bool {
    let base = base_of(key);
    key.match_indices('/').any(|(at, _)| entries.contains_key(&key[..at]))
        || from(entries, &base).next().is_some_and(|key| key.starts_with(&base))
}

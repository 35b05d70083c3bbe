//! Which members an archive has, by key: [`Index`].
//!
//! That of an archive that is only read is its listing, and is looked through without a lock; that of one which is written
//! is a tree.

use std::collections::BTreeMap;
use std::ops::{Bound, Deref};
use std::sync::{Arc, PoisonError, RwLock};

use nczarr_model::Result;

use crate::listing::{Entry, Listing};

/// Members by key.
type Entries = BTreeMap<Arc<str>, Arc<Entry>>;

/// The members of an archive.
#[derive(Debug)]
pub(crate) enum Index {
    Fixed(Listing),
    Growing(RwLock<Entries>),
}

/// A member that was found.
pub(crate) enum Found<'i> {
    Fixed(&'i Entry),
    /// Another may have taken its place since.
    Shared(Arc<Entry>),
}

impl Deref for Found<'_> {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        match self {
            Self::Fixed(entry) => entry,
            Self::Shared(entry) => entry,
        }
    }
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changed {
    Done,
    /// The object is not as expected.
    Lost,
    /// A key would be a prefix of another.
    Collision,
}

/// What a new member may find in its place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Before {
    Anything,
    Nothing,
    /// The member that begins there.
    At(u64),
}

impl Index {
    pub(crate) fn new(listing: Listing, writable: bool) -> Self {
        if !writable {
            return Self::Fixed(listing);
        }
        Self::Growing(RwLock::new(listing.into_members().map(|(key, entry)| (key, Arc::new(entry))).collect()))
    }

    /// Lets `look` look at the keys, and answers what it does.
    fn keys<T>(&self, look: impl FnOnce(Keys<'_>) -> T) -> T {
        match self {
            Self::Fixed(listing) => look(Keys::Fixed(listing)),
            Self::Growing(entries) => look(Keys::Growing(&entries.read().unwrap_or_else(PoisonError::into_inner))),
        }
    }

    /// Hands all members to `take`, in the order of their keys.
    pub(crate) fn each(&self, mut take: impl FnMut(&str, &Entry) -> Result<()>) -> Result<()> {
        match self {
            Self::Fixed(listing) => listing.from("").try_for_each(|(key, entry)| take(key, entry)),
            Self::Growing(entries) => {
                let entries = entries.read().unwrap_or_else(PoisonError::into_inner);
                entries.iter().try_for_each(|(key, entry)| take(key, entry))
            }
        }
    }

    /// The member of a key.
    pub(crate) fn get(&self, key: &str) -> Option<Found<'_>> {
        match self {
            Self::Fixed(listing) => listing.get(key).map(Found::Fixed),
            Self::Growing(entries) => {
                let entries = entries.read().unwrap_or_else(PoisonError::into_inner);
                entries.get(key).cloned().map(Found::Shared)
            }
        }
    }

    /// Whether a member lies below a key.
    pub(crate) fn leads(&self, key: &str) -> bool {
        let base = base_of(key);
        self.keys(|keys| keys.from(&base).next().is_some_and(|key| key.starts_with(&base)))
    }

    /// What would become of [`Index::put`].
    pub(crate) fn admits(&self, key: &str, before: Before) -> Changed {
        match self {
            Self::Fixed(_) => Changed::Lost,
            Self::Growing(entries) => admits(&entries.read().unwrap_or_else(PoisonError::into_inner), key, before),
        }
    }

    /// Adds a member, or has one take the place of another.
    pub(crate) fn put(&self, key: &str, entry: Entry, before: Before) -> Changed {
        let Self::Growing(entries) = self else { return Changed::Lost };
        let mut entries = entries.write().unwrap_or_else(PoisonError::into_inner);
        let admitted = admits(&entries, key, before);
        if admitted == Changed::Done {
            match entries.get_mut(key) {
                Some(there) => *there = Arc::new(entry),
                None => drop(entries.insert(key.into(), Arc::new(entry))),
            }
        }
        admitted
    }

    /// Takes a member out; whether there was one.
    pub(crate) fn remove(&self, key: &str) -> bool {
        let Self::Growing(entries) = self else { return false };
        entries.write().unwrap_or_else(PoisonError::into_inner).remove(key).is_some()
    }

    /// The next segments below `prefix`, sorted.
    pub(crate) fn search(&self, prefix: &str) -> Vec<String> {
        let base = base_of(prefix);
        self.keys(|keys| {
            let (mut names, mut from) = (Vec::new(), base.clone());
            while let Some(rest) = keys.from(&from).next().and_then(|key| key.strip_prefix(&*base)) {
                let name = rest.split('/').next().unwrap_or(rest);
                // Past this key, or past all that lies below this name: `0` comes after `/`.
                from = format!("{base}{name}{}", if name.len() < rest.len() { '0' } else { '\0' });
                names.push(name.to_owned());
            }
            names.sort_unstable();
            names
        })
    }

    /// All keys at or below `prefix`, sorted.
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
enum Keys<'i> {
    Fixed(&'i Listing),
    Growing(&'i Entries),
}

impl<'i> Keys<'i> {
    /// Those from a key on, in order.
    fn from(self, key: &str) -> impl Iterator<Item = &'i str> + use<'i> {
        let (fixed, growing) = match self {
            Keys::Fixed(listing) => (Some(listing.from(key)), None),
            Keys::Growing(entries) => (None, Some(from(entries, key))),
        };
        fixed.into_iter().flatten().map(|(key, _)| key).chain(growing.into_iter().flatten())
    }
}

fn from<'e>(entries: &'e Entries, key: &str) -> impl Iterator<Item = &'e str> + use<'e> {
    entries.range::<str, _>((Bound::Included(key), Bound::Unbounded)).map(|(key, _)| &**key)
}

/// What the keys below a prefix begin with.
fn base_of(prefix: &str) -> String {
    if prefix.is_empty() { String::new() } else { format!("{prefix}/") }
}

fn admits(entries: &Entries, key: &str, before: Before) -> Changed {
    match (entries.get(key), before) {
        (Some(_), Before::Anything) => Changed::Done,
        (Some(there), Before::At(at)) if there.at == at => Changed::Done,
        (None, Before::Anything | Before::Nothing) => {
            if collides(entries, key) {
                Changed::Collision
            } else {
                Changed::Done
            }
        }
        _ => Changed::Lost,
    }
}

/// Whether a key is a prefix of a member's, or a member's a prefix of it.
fn collides(entries: &Entries, key: &str) -> bool {
    let base = base_of(key);
    key.match_indices('/').any(|(at, _)| entries.contains_key(&key[..at]))
        || from(entries, &base).next().is_some_and(|key| key.starts_with(&base))
}

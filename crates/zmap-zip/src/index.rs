//! Which members an archive has, by key: [`Index`]; and what is known of each: [`Entry`].
//!
//! The index of an archive that is only read never changes, and is looked through without a lock.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// One member.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Where the record before it is, in bytes from the start of the file.
    pub(crate) at: u64,
    /// Bytes it takes in the archive.
    pub(crate) stored: u64,
    /// Bytes of the object.
    pub(crate) len: u64,
    /// Checksum of the object.
    pub(crate) crc: u32,
    pub(crate) form: Form,
    /// Where its record in the directory is; `None` if it is in none yet.
    pub(crate) central: Option<u64>,
    /// Where its bytes begin, once that is known; 0 until then.
    data: AtomicU64,
}

/// How a member is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As it is.
    Stored,
    /// Compressed; the number of the member in its archive.
    Packed(usize),
    /// In a way that cannot be read, and why.
    Bad(&'static str),
}

impl Entry {
    pub(crate) fn new(at: u64, stored: u64, len: u64, crc: u32, form: Form, central: Option<u64>) -> Self {
        Self { at, stored, len, crc, form, central, data: AtomicU64::new(0) }
    }

    /// Where its bytes begin, if that is known.
    pub(crate) fn data(&self) -> Option<u64> {
        Some(self.data.load(Ordering::Relaxed)).filter(|&at| at > 0)
    }

    /// Keeps where its bytes begin.
    pub(crate) fn begins(&self, at: u64) {
        self.data.store(at, Ordering::Relaxed);
    }
}

/// Members by key.
type Entries = BTreeMap<Arc<str>, Arc<Entry>>;

/// The members of an archive.
#[derive(Debug)]
pub(crate) enum Index {
    Fixed(Entries),
    Growing(RwLock<Entries>),
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
    pub(crate) fn new(entries: Entries, writable: bool) -> Self {
        if writable { Self::Growing(RwLock::new(entries)) } else { Self::Fixed(entries) }
    }

    /// Lets `look` look at all members.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&Entries) -> T) -> T {
        match self {
            Self::Fixed(entries) => look(entries),
            Self::Growing(entries) => look(&entries.read().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// The member of a key.
    pub(crate) fn get(&self, key: &str) -> Option<Arc<Entry>> {
        self.with(|entries| entries.get(key).cloned())
    }

    /// Whether a member lies below a key.
    pub(crate) fn leads(&self, key: &str) -> bool {
        self.with(|entries| below(entries, key).next().is_some())
    }

    /// What would become of [`Index::put`].
    pub(crate) fn admits(&self, key: &str, before: Before) -> Changed {
        if matches!(self, Self::Fixed(_)) {
            return Changed::Lost;
        }
        self.with(|entries| admits(entries, key, before))
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
        self.with(|entries| {
            let base = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
            let mut names: Vec<String> = Vec::new();
            let mut from = Bound::Included(base.clone());
            while let Some((key, _)) =
                entries.range::<str, _>((from.as_ref().map(String::as_str), Bound::Unbounded)).next()
                && let Some(rest) = key.strip_prefix(&*base)
            {
                let name = rest.split('/').next().unwrap_or(rest);
                // Past all that lies below this name: `0` comes after `/`.
                from = match name.len() < rest.len() {
                    true => Bound::Included(format!("{base}{name}0")),
                    false => Bound::Excluded(key.to_string()),
                };
                names.push(name.to_owned());
            }
            names.sort_unstable();
            names
        })
    }

    /// All keys at or below `prefix`, sorted.
    pub(crate) fn list(&self, prefix: &str) -> Vec<Arc<str>> {
        self.with(|entries| {
            let own = entries.get_key_value(prefix).map(|(key, _)| Arc::clone(key));
            own.into_iter().chain(below(entries, prefix).map(Arc::clone)).collect()
        })
    }
}

fn below<'e>(entries: &'e Entries, prefix: &str) -> impl Iterator<Item = &'e Arc<str>> {
    let base = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
    let range = entries.range::<str, _>((Bound::Included(base.as_str()), Bound::Unbounded));
    range.map(|(key, _)| key).take_while(move |key| key.starts_with(&base))
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
    key.match_indices('/').any(|(at, _)| entries.contains_key(&key[..at])) || below(entries, key).next().is_some()
}

//! The members of a directory in name order: [`Listing`]; and the facts about each: [`MemberEntry`].
//!
//! All names share one buffer, and lookups are binary searches, so 100,000 members take a handful of
//! allocations. A listing does not change after opening and needs no lock.

use std::sync::atomic::{AtomicU64, Ordering};

use nczarr_model::{ErrorKind, Result};

/// One member.
#[derive(Debug, Default)]
pub(crate) struct MemberEntry {
    /// The position of its local header, in bytes from the start of the file.
    pub(crate) at: u64,
    /// Its bytes in the archive.
    pub(crate) stored: u64,
    /// The bytes of the object.
    pub(crate) len: u64,
    /// The checksum of the object.
    pub(crate) crc: u32,
    pub(crate) form: MemberStorage,
    /// The position of its directory record; `None` before it is in a directory.
    pub(crate) central: Option<u64>,
    /// The position of its data, once known; 0 before.
    data: AtomicU64,
}

/// The storage of a member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum MemberStorage {
    /// Uncompressed.
    #[default]
    Stored,
    /// Compressed.
    Packed,
    /// Not readable.
    Bad(Flaw),
}

/// The reason why a member is not readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    Encrypted,
    Link,
    Length,
    Overlap,
}

impl Flaw {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Encrypted => "it is encrypted",
            Self::Link => "it is a symbolic link",
            Self::Length => "it is uncompressed, but its two lengths differ",
            Self::Overlap => "it overlaps the following bytes",
        }
    }
}

impl MemberEntry {
    pub(crate) fn new(
        at: u64,
        stored: u64,
        len: u64,
        crc: u32,
        form: MemberStorage,
        central: Option<u64>,
    ) -> Self {
        Self { at, stored, len, crc, form, central, data: AtomicU64::new(0) }
    }

    /// Copies the member for an owner that outlives the listing.
    pub(crate) fn copy(&self) -> Self {
        let Self { at, stored, len, crc, form, central, ref data } = *self;
        Self { at, stored, len, crc, form, central, data: AtomicU64::new(data.load(Ordering::Relaxed)) }
    }

    /// Returns the position of its data, if known.
    pub(crate) fn data(&self) -> Option<u64> {
        Some(self.data.load(Ordering::Relaxed)).filter(|&at| at > 0)
    }

    /// Records the position of its data.
    pub(crate) fn set_data(&self, at: u64) {
        self.data.store(at, Ordering::Relaxed);
    }
}

/// A member with its name.
#[derive(Debug, Default)]
struct NamedMember {
    /// Position and length of the name in the buffer.
    from: usize,
    len: usize,
    /// The least number of bytes before its data.
    head: u32,
    entry: MemberEntry,
}

/// Members by name.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    names: String,
    members: Vec<NamedMember>,
}

impl Listing {
    /// Makes an empty listing with room for `count` members and `bytes` of names.
    pub(crate) fn with_capacity(count: usize, bytes: usize) -> Self {
        Self { names: String::with_capacity(bytes), members: Vec::with_capacity(count) }
    }

    /// Adds a member with at least `head` bytes before its data. Call [`Listing::sort`] after the last one.
    pub(crate) fn push(&mut self, name: &str, head: u32, entry: MemberEntry) {
        self.members.push(NamedMember { from: self.names.len(), len: name.len(), head, entry });
        self.names.push_str(name);
    }

    /// Sorts the members. Of equal names the last one added stays.
    pub(crate) fn sort(&mut self) {
        let Self { names, members } = self;
        let name = |member: usize| name_of(names, &members[member]);
        if (1..members.len()).all(|at| name(at - 1) < name(at)) {
            return;
        }
        let mut order: Vec<(u64, usize)> = (0..members.len()).map(|at| (0, at)).collect();
        arrange(&|member| name(member).as_bytes(), &mut order, 0);
        order.dedup_by(|next, kept| {
            let same = name(next.1) == name(kept.1);
            if same {
                kept.1 = next.1;
            }
            same
        });
        *members = order.into_iter().map(|(_, at)| std::mem::take(&mut members[at])).collect();
    }

    /// Marks members that overlap the next one or the directory: their sizes are wrong.
    ///
    /// If a member with the shortest possible header ends exactly at the next one, its data position is
    /// certain: a longer header would make it overlap.
    pub(crate) fn mark_overlaps(&mut self, directory: u64) {
        let mut order: Vec<(u64, usize)> = self
            .members
            .iter()
            .enumerate()
            .map(|(member, NamedMember { entry, .. })| (entry.at, member))
            .collect();
        order.sort_unstable();
        for (place, &(at, member)) in order.iter().enumerate() {
            let next = order.get(place + 1).map_or(directory, |next| next.0);
            let NamedMember { head, entry, .. } = &mut self.members[member];
            let data = at.checked_add(u64::from(*head));
            match data.and_then(|data| data.checked_add(entry.stored)) {
                Some(end) if end < next => {}
                Some(end) if end == next => entry.set_data(end - entry.stored),
                _ => entry.form = MemberStorage::Bad(Flaw::Overlap),
            }
        }
    }

    /// Turns names into keys: the part behind `folder`, if `is_key` accepts it. Returns the other members,
    /// and the names of objects in the folder that are not keys.
    pub(crate) fn make_keys(
        &mut self,
        folder: &str,
        is_key: impl Fn(&str) -> bool,
    ) -> (Vec<MemberEntry>, Vec<Vec<u8>>) {
        let (names, mut others, mut odd) = (&self.names, Vec::new(), Vec::new());
        self.members.retain_mut(|member| match name_of(names, member).strip_prefix(folder) {
            Some(key) if is_key(key) => {
                (member.from, member.len) = (member.from + folder.len(), key.len());
                true
            }
            found => {
                others.push(member.entry.copy());
                // A name with a trailing `/` is a folder.
                let found = found.filter(|name| !name.is_empty() && !name.ends_with('/'));
                odd.extend(found.map(|name| name.as_bytes().to_vec()));
                false
            }
        });
        (others, odd)
    }

    /// Removes and returns empty members that have others below them, as some archivers write folders.
    ///
    /// # Errors
    /// `NC_EIO` for one that is not empty.
    pub(crate) fn take_folders(&mut self) -> Result<Vec<MemberEntry>> {
        let leads = |at: usize| {
            let key = self.name(at);
            // Names with this prefix follow it, perhaps not directly.
            at + 1 < self.members.len()
                && self.name(at + 1).starts_with(key)
                && self.name_from(&format!("{key}/")).is_some_and(|name| is_below(name, key))
        };
        let folders: Vec<usize> = (0..self.members.len()).filter(|&at| leads(at)).collect();
        if let Some(&full) = folders.iter().find(|&&at| self.members[at].entry.len > 0) {
            let key = self.name(full);
            return Err(
                ErrorKind::Io.context(format!("member {key:?} is not empty, but others lie below it"))
            );
        }
        let (mut taken, mut at, mut next) = (Vec::new(), 0, folders.into_iter().peekable());
        self.members.retain(|member| {
            let keep = next.next_if_eq(&at).is_none();
            at += 1;
            if !keep {
                taken.push(member.entry.copy());
            }
            keep
        });
        Ok(taken)
    }

    /// Returns the member of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&MemberEntry> {
        let at = self.members.binary_search_by(|member| name_of(&self.names, member).cmp(name)).ok()?;
        Some(&self.members[at].entry)
    }

    /// Returns all members from a name on, in order.
    pub(crate) fn from<'s>(
        &'s self,
        name: &str,
    ) -> impl Iterator<Item = (&'s str, &'s MemberEntry)> + use<'s> {
        self.members[self.place(name)..].iter().map(|member| (name_of(&self.names, member), &member.entry))
    }

    /// Returns all names, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| name_of(&self.names, member))
    }

    /// Returns all members, in order.
    pub(crate) fn into_members(self) -> impl Iterator<Item = (std::sync::Arc<str>, MemberEntry)> {
        let Self { names, members } = self;
        members.into_iter().map(move |member| (name_of(&names, &member).into(), member.entry))
    }

    /// Returns the first name not before this one.
    fn name_from(&self, name: &str) -> Option<&str> {
        self.from(name).next().map(|(name, _)| name)
    }

    /// Returns the number of names before this one.
    fn place(&self, name: &str) -> usize {
        self.members.partition_point(|member| name_of(&self.names, member) < name)
    }

    fn name(&self, at: usize) -> &str {
        name_of(&self.names, &self.members[at])
    }
}

fn name_of<'n>(names: &'n str, member: &NamedMember) -> &'n str {
    &names[member.from..][..member.len]
}

fn is_below(name: &str, folder: &str) -> bool {
    name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Sorts members whose names are equal up to `from`; equal names keep the order in which they were added.
///
/// It compares eight bytes at a time, as a number beside the member. Names with long common prefixes, such as
/// those of chunks, are then read once per eight bytes instead of once per comparison.
fn arrange<'n>(name: &impl Fn(usize) -> &'n [u8], order: &mut [(u64, usize)], from: usize) {
    for (first, member) in order.iter_mut() {
        *first = number(name(*member).get(from..).unwrap_or_default());
    }
    order.sort_unstable();
    for alike in order.chunk_by_mut(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
        // Short names are padded with zeros, which may also be bytes of a name.
        if alike.len() < SORT_BELOW
            || from > MAX_PREFIX
            || alike.iter().any(|(_, member)| name(*member).len() < from + 8)
        {
            alike.sort_unstable_by(|a, b| name(a.1).cmp(name(b.1)).then(a.1.cmp(&b.1)));
        } else {
            arrange(name, alike, from + 8);
        }
    }
}

/// Smaller groups, and names that are equal up to `MAX_PREFIX`, are sorted by comparison.
const SORT_BELOW: usize = 16;
const MAX_PREFIX: usize = 512;

/// Returns the first bytes as a number with the order of names.
fn number(name: &[u8]) -> u64 {
    if let Some(first) = name.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    let mut first = [0; 8];
    first[..name.len()].copy_from_slice(name);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Many names with long common prefixes.
    #[test]
    fn many_names_are_put_in_order() {
        let (mut listing, mut table) = (Listing::default(), BTreeMap::new());
        let folder = "v".repeat(MAX_PREFIX * 2);
        for at in 0..5000u64 {
            let (number, zeros) = (at * 7919 % 3001, "\0".repeat((at % 11) as usize));
            let name = format!(
                "group{}/{}/{}{zeros}",
                number % 3,
                &folder[..MAX_PREFIX * (1 + at as usize % 2)],
                number / 7
            );
            listing.push(&name, 30, MemberEntry { at, ..MemberEntry::default() });
            table.insert(name, at);
        }
        listing.sort();
        assert!(listing.from("").map(|(name, entry)| (name.to_owned(), entry.at)).eq(table));
    }

    proptest! {
        /// A listing equals a table by name, for any names in any order.
        #[test]
        fn a_listing_is_a_table(
            names in prop::collection::vec("[ab/0-]{0,3}(v/|longername/)?[0-9.]{0,2}", 0..40),
            asked in prop::collection::vec("[ab/0-]{0,3}(v/|longername/)?[0-9.]{0,2}", 0..10),
        ) {
            let (mut listing, mut table) = (Listing::default(), BTreeMap::new());
            for (at, name) in names.iter().enumerate() {
                listing.push(name, 30, MemberEntry { at: at as u64, ..MemberEntry::default() });
                table.insert(name.as_str(), at as u64);
            }
            listing.sort();
            let found: Vec<_> = listing.from("").map(|(name, entry)| (name, entry.at)).collect();
            let expected: Vec<_> = table.iter().map(|(name, at)| (*name, *at)).collect();
            prop_assert_eq!(found, expected);
            for name in asked.iter().chain(&names) {
                prop_assert_eq!(listing.get(name).map(|entry| entry.at), table.get(name.as_str()).copied());
                let next = table.range(name.as_str()..).next().map(|(name, _)| *name);
                prop_assert_eq!(listing.from(name).next().map(|(name, _)| name), next);
            }
            // Members that are prefixes of other members. All are empty here.
            let folders: Vec<&str> =
                table.keys().copied().filter(|key| table.keys().any(|other| is_below(other, key))).collect();
            listing.take_folders().unwrap();
            let left: Vec<_> = listing.names().map(str::to_owned).collect();
            let expected: Vec<_> = table.keys().filter(|key| !folders.contains(key)).map(|key| key.to_string()).collect();
            prop_assert_eq!(left, expected);
        }
    }
}

//! The members of a directory in the order of their names: [`Listing`]; and what is known of each: [`Entry`].
//!
//! All names lie in one buffer, and a member is found by halving: 100,000 members are a handful of allocations. A listing
//! never changes once the archive is open, so that it is looked through without a lock.

use std::sync::atomic::{AtomicU64, Ordering};

use nczarr_model::{ErrorKind, Result};

/// One member.
#[derive(Debug, Default)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// As it is.
    #[default]
    Stored,
    /// Compressed.
    Packed,
    /// In a way that cannot be read.
    Bad(Flaw),
}

/// Why a member cannot be read.
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
            Self::Length => "it is stored as it is, but in another length than its own",
            Self::Overlap => "it overlaps what comes after it",
        }
    }
}

impl Entry {
    pub(crate) fn new(at: u64, stored: u64, len: u64, crc: u32, form: Form, central: Option<u64>) -> Self {
        Self { at, stored, len, crc, form, central, data: AtomicU64::new(0) }
    }

    /// The same member, for who outlives the listing.
    pub(crate) fn copy(&self) -> Self {
        let Self { at, stored, len, crc, form, central, ref data } = *self;
        Self { at, stored, len, crc, form, central, data: AtomicU64::new(data.load(Ordering::Relaxed)) }
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

/// A member under its name.
#[derive(Debug, Default)]
struct Named {
    /// Where the name begins in the buffer, and its length.
    from: usize,
    len: usize,
    /// The fewest bytes there can be before its data.
    head: u32,
    entry: Entry,
}

/// Members by name.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    names: String,
    members: Vec<Named>,
}

impl Listing {
    /// An empty one with room for `count` members whose names take `bytes`.
    pub(crate) fn with_capacity(count: usize, bytes: usize) -> Self {
        Self { names: String::with_capacity(bytes), members: Vec::with_capacity(count) }
    }

    /// Adds a member before whose data there are at least `head` bytes. [`Listing::sort`] follows.
    pub(crate) fn push(&mut self, name: &str, head: u32, entry: Entry) {
        self.members.push(Named { from: self.names.len(), len: name.len(), head, entry });
        self.names.push_str(name);
    }

    /// Puts the members in order. Of several with one name the one that was added last stays.
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

    /// Marks members that reach into the next one or into the directory: their sizes cannot be right.
    ///
    /// Where one ends exactly where the next begins, with nothing but its name before its data, those begin there: a longer
    /// record before them would make it overlap.
    pub(crate) fn mark_overlaps(&mut self, directory: u64) {
        let mut order: Vec<(u64, usize)> =
            self.members.iter().enumerate().map(|(member, Named { entry, .. })| (entry.at, member)).collect();
        order.sort_unstable();
        for (place, &(at, member)) in order.iter().enumerate() {
            let next = order.get(place + 1).map_or(directory, |next| next.0);
            let Named { head, entry, .. } = &mut self.members[member];
            let data = at.checked_add(u64::from(*head));
            match data.and_then(|data| data.checked_add(entry.stored)) {
                Some(end) if end < next => {}
                Some(end) if end == next => entry.begins(end - entry.stored),
                _ => entry.form = Form::Bad(Flaw::Overlap),
            }
        }
    }

    /// Makes the names keys: the part behind `folder`, if `is_key` accepts it. Answers all other members, and the names of
    /// those in the folder that hold objects.
    pub(crate) fn make_keys(&mut self, folder: &str, is_key: impl Fn(&str) -> bool) -> (Vec<Entry>, Vec<Vec<u8>>) {
        let (names, mut others, mut odd) = (&self.names, Vec::new(), Vec::new());
        self.members.retain_mut(|member| match name_of(names, member).strip_prefix(folder) {
            Some(key) if is_key(key) => {
                (member.from, member.len) = (member.from + folder.len(), key.len());
                true
            }
            found => {
                others.push(member.entry.copy());
                // A name that ends so is that of a folder.
                let found = found.filter(|name| !name.is_empty() && !name.ends_with('/'));
                odd.extend(found.map(|name| name.as_bytes().to_vec()));
                false
            }
        });
        (others, odd)
    }

    /// Takes out empty members below which others lie, as some archivers write folders; answers them.
    ///
    /// # Errors
    /// `NC_EIO` for one that is not empty.
    pub(crate) fn take_folders(&mut self) -> Result<Vec<Entry>> {
        let leads = |at: usize| {
            let key = self.name(at);
            // What begins with it follows it, what lies below it perhaps later.
            at + 1 < self.members.len()
                && self.name(at + 1).starts_with(key)
                && self.name_from(&format!("{key}/")).is_some_and(|name| is_below(name, key))
        };
        let folders: Vec<usize> = (0..self.members.len()).filter(|&at| leads(at)).collect();
        if let Some(&full) = folders.iter().find(|&&at| self.members[at].entry.len > 0) {
            let key = self.name(full);
            return Err(ErrorKind::Io.context(format!("member {key:?} holds bytes, and others lie below it")));
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

    /// The member of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        let at = self.members.binary_search_by(|member| name_of(&self.names, member).cmp(name)).ok()?;
        Some(&self.members[at].entry)
    }

    /// All members from a name on, in order.
    pub(crate) fn from<'s>(&'s self, name: &str) -> impl Iterator<Item = (&'s str, &'s Entry)> + use<'s> {
        self.members[self.place(name)..].iter().map(|member| (name_of(&self.names, member), &member.entry))
    }

    /// All names, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| name_of(&self.names, member))
    }

    /// All members, in order.
    pub(crate) fn into_members(self) -> impl Iterator<Item = (std::sync::Arc<str>, Entry)> {
        let Self { names, members } = self;
        members.into_iter().map(move |member| (name_of(&names, &member).into(), member.entry))
    }

    /// The first name not before this one.
    fn name_from(&self, name: &str) -> Option<&str> {
        self.from(name).next().map(|(name, _)| name)
    }

    /// How many names come before this one.
    fn place(&self, name: &str) -> usize {
        self.members.partition_point(|member| name_of(&self.names, member) < name)
    }

    fn name(&self, at: usize) -> &str {
        name_of(&self.names, &self.members[at])
    }
}

fn name_of<'n>(names: &'n str, member: &Named) -> &'n str {
    &names[member.from..][..member.len]
}

fn is_below(name: &str, folder: &str) -> bool {
    name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Puts members whose names are equal up to `from` in the order of names, those of one name in the order they were added.
///
/// Eight bytes are compared at a time, as a number beside the member: names that are alike for long, as those of chunks are,
/// are looked at once per eight bytes and not once per comparison.
fn arrange<'n>(name: &impl Fn(usize) -> &'n [u8], order: &mut [(u64, usize)], from: usize) {
    for (first, member) in order.iter_mut() {
        *first = number(name(*member).get(from..).unwrap_or_default());
    }
    order.sort_unstable();
    for alike in order.chunk_by_mut(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
        // Behind the end of a name there are zeros, which may be a name's bytes too.
        if alike.len() < FEW || from > DEEP || alike.iter().any(|(_, member)| name(*member).len() < from + 8) {
            alike.sort_unstable_by(|a, b| name(a.1).cmp(name(b.1)).then(a.1.cmp(&b.1)));
        } else {
            arrange(name, alike, from + 8);
        }
    }
}

/// Fewer names than this are compared one with another, and those that are alike for longer than that.
const FEW: usize = 16;
const DEEP: usize = 512;

/// The first bytes as a number, in the order of names.
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

    /// Names that are alike for long, and many of them.
    #[test]
    fn many_names_are_put_in_order() {
        let (mut listing, mut table) = (Listing::default(), BTreeMap::new());
        let folder = "v".repeat(DEEP * 2);
        for at in 0..5000u64 {
            let (number, zeros) = (at * 7919 % 3001, "\0".repeat((at % 11) as usize));
            let name = format!("group{}/{}/{}{zeros}", number % 3, &folder[..DEEP * (1 + at as usize % 2)], number / 7);
            listing.push(&name, 30, Entry { at, ..Entry::default() });
            table.insert(name, at);
        }
        listing.sort();
        assert!(listing.from("").map(|(name, entry)| (name.to_owned(), entry.at)).eq(table));
    }

    proptest! {
        /// A listing is a table by name, whatever was added in what order.
        #[test]
        fn a_listing_is_a_table(
            names in prop::collection::vec("[ab/0-]{0,3}(v/|longername/)?[0-9.]{0,2}", 0..40),
            asked in prop::collection::vec("[ab/0-]{0,3}(v/|longername/)?[0-9.]{0,2}", 0..10),
        ) {
            let (mut listing, mut table) = (Listing::default(), BTreeMap::new());
            for (at, name) in names.iter().enumerate() {
                listing.push(name, 30, Entry { at: at as u64, ..Entry::default() });
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
            // Members below which others lie: all are empty here.
            let folders: Vec<&str> =
                table.keys().copied().filter(|key| table.keys().any(|other| is_below(other, key))).collect();
            listing.take_folders().unwrap();
            let left: Vec<_> = listing.names().map(str::to_owned).collect();
            let expected: Vec<_> = table.keys().filter(|key| !folders.contains(key)).map(|key| key.to_string()).collect();
            prop_assert_eq!(left, expected);
        }
    }
}

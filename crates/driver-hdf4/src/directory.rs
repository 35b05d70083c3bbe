//! [`Directory`]: the list of a file's elements and where each lies, out of its linked blocks of descriptors.
//!
//! Two descriptors may name the same bytes. Where the bytes of elements overlap in any other way, or reach over a block
//! of descriptors, one of the places is damaged, and nobody can tell which: none of them is read.

use std::collections::{HashMap, HashSet};

use nczarr_model::{ErrorKind, Result};

use crate::cursor::Cursor;
use crate::store::Store;

/// What kind of thing an element is.
pub(crate) mod tag {
    pub(crate) const NULL: u16 = 1;
    pub(crate) const LINKED: u16 = 20;
    pub(crate) const COMPRESSED: u16 = 40;
    pub(crate) const CHUNK: u16 = 61;
    pub(crate) const NT: u16 = 106;
    pub(crate) const FREE: u16 = 108;
    pub(crate) const SDG: u16 = 700;
    pub(crate) const SDD: u16 = 701;
    pub(crate) const SD: u16 = 702;
    pub(crate) const SDS: u16 = 703;
    pub(crate) const SDL: u16 = 704;
    pub(crate) const SDU: u16 = 705;
    pub(crate) const SDF: u16 = 706;
    pub(crate) const SDM: u16 = 707;
    pub(crate) const SDC: u16 = 708;
    pub(crate) const SDLNK: u16 = 710;
    pub(crate) const NDG: u16 = 720;
    pub(crate) const CAL: u16 = 731;
    pub(crate) const VH: u16 = 1962;
    pub(crate) const VS: u16 = 1963;
    pub(crate) const VG: u16 = 1965;

    /// What such elements are called in messages.
    pub(crate) fn name(tag: u16) -> &'static str {
        match tag {
            LINKED => "block",
            COMPRESSED => "compressed data",
            CHUNK => "chunk",
            NT => "number type",
            SDG | NDG => "data group",
            SDD => "dimension record",
            SD => "data",
            SDS => "scales",
            VH => "table header",
            VS => "table",
            VG => "group",
            _ => "element",
        }
    }

    /// Set in the tag of an element that does not simply lie in one piece.
    pub(crate) const SPECIAL: u16 = 0x4000;
    /// Set in tags of applications, which have no such bit.
    pub(crate) const USER: u16 = 0x8000;
}

/// Where an element lies, or what describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Whether the bytes are a description of where the element is.
    pub(crate) special: bool,
    pub(crate) offset: u32,
    pub(crate) len: u32,
    /// Whether the place is told to be another one's too.
    pub(crate) doubtful: bool,
}

/// All elements of a file.
#[derive(Debug)]
pub(crate) struct Directory {
    entries: HashMap<(u16, u16), Entry>,
    /// Descriptors that say nothing of where.
    unwritten: HashSet<(u16, u16)>,
}

/// The descriptor of an element to which nothing was written has this in place of offset and length.
const NOWHERE: u32 = u32::MAX;
/// Bytes of a descriptor, and of what stands before a block of them.
const DESCRIPTOR: u64 = 12;
const BLOCK_HEAD: u64 = 6;

/// Bytes of an element that counts as a small one.
const SMALL: u32 = 64 << 10;

impl Directory {
    /// # Errors
    /// `NC_EHDFERR` if a block of descriptors does not lie in the file, or the blocks never end.
    pub(crate) fn read(store: &Store) -> Result<Self> {
        let size = store.len();
        let mut found = Self { entries: HashMap::new(), unwritten: HashSet::new() };
        let mut places = Vec::new();
        let mut seen = HashSet::new();
        let (mut at, mut room) = (4, size);
        let mut bytes = Vec::new();
        while at != 0 {
            bytes.clear();
            store.append(at, BLOCK_HEAD, &mut bytes)?;
            let mut head = Cursor::new(&bytes, "block of descriptors");
            let (count, next) = (u64::from(head.u16()?), u64::from(head.u32()?));
            let len = BLOCK_HEAD + count * DESCRIPTOR;
            // Blocks do not overlap: together they are no longer than the file.
            room = room.checked_sub(len).filter(|_| seen.insert(at)).ok_or_else(|| {
                ErrorKind::HdfErr
                    .context(format!("the blocks of descriptors never end: one at byte {at} leads to {next}"))
            })?;
            bytes.clear();
            store.append(at + BLOCK_HEAD, count * DESCRIPTOR, &mut bytes)?;
            let mut cursor = Cursor::new(&bytes, "descriptors");
            for _ in 0..count {
                found.add(&mut cursor, &mut places)?;
            }
            places.push((at, at + len, None));
            at = next;
        }
        found.doubt(places);
        Ok(found)
    }

    fn add(&mut self, cursor: &mut Cursor<'_>, places: &mut Vec<Taken>) -> Result<()> {
        let (tag, number, offset, len) = (cursor.u16()?, cursor.u16()?, cursor.u32()?, cursor.u32()?);
        let special = tag & tag::USER == 0 && tag & tag::SPECIAL != 0;
        let base = if special { tag & !tag::SPECIAL } else { tag };
        if base == tag::NULL || base == tag::FREE {
            return Ok(());
        }
        let key = (base, number);
        if offset == NOWHERE || len == NOWHERE {
            self.unwritten.insert(key);
            return Ok(());
        }
        // The first counts, as in the HDF library.
        self.entries.entry(key).or_insert_with(|| {
            let from = u64::from(offset);
            if len > 0 {
                places.push((from, from + u64::from(len), Some(key)));
            }
            Entry { special, offset, len, doubtful: false }
        });
        Ok(())
    }

    /// Marks elements whose bytes are another's too, other than as a whole.
    fn doubt(&mut self, mut places: Vec<Taken>) {
        places.sort_unstable();
        let mut reach: Option<Taken> = None;
        for place in places {
            if let Some(before) = reach
                && place.0 < before.1
                && (place.0, place.1) != (before.0, before.1)
            {
                for key in [before.2, place.2].into_iter().flatten() {
                    if let Some(entry) = self.entries.get_mut(&key) {
                        entry.doubtful = true;
                    }
                }
            }
            if reach.is_none_or(|before| place.1 > before.1) {
                reach = Some(place);
            }
        }
    }

    /// Where an element is. `None`: there is none, or nothing was written to it.
    pub(crate) fn get(&self, tag: u16, number: u16) -> Option<Entry> {
        self.entries.get(&(tag, number)).copied()
    }

    /// Where what describes data lies, small elements only: they are read when a file is opened.
    pub(crate) fn descriptions(&self) -> impl Iterator<Item = (u64, u64)> {
        let describes = |tag: u16, entry: &Entry| match tag {
            tag::SD => entry.special,
            tag::NT | tag::SDG..=tag::SDLNK | tag::NDG..=tag::CAL | tag::VH..=tag::VG => true,
            _ => false,
        };
        let found = self.entries.iter().filter(move |((tag, _), entry)| describes(*tag, entry) && entry.len <= SMALL);
        found.map(|(_, entry)| (entry.offset.into(), entry.len.into()))
    }

    /// Whether an element was declared.
    pub(crate) fn declares(&self, tag: u16, number: u16) -> bool {
        let key = (tag, number);
        self.entries.contains_key(&key) || self.unwritten.contains(&key)
    }

    /// The numbers of all elements of one kind, in ascending order.
    pub(crate) fn numbers(&self, tag: u16) -> Vec<u16> {
        let mut numbers: Vec<_> = self.entries.keys().filter(|key| key.0 == tag).map(|key| key.1).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// First byte, one past the last, and whose; `None`: descriptors.
type Taken = (u64, u64, Option<(u16, u16)>);

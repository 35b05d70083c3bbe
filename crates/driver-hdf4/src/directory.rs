//! [`Directory`]: the elements of a file and their places, from its linked blocks of descriptors.
//!
//! Two descriptors may name the same bytes. If elements overlap in any other way, or overlap a block of
//! descriptors, one place is damaged and there is no telling which. None of these elements is read.

use std::collections::{HashMap, HashSet};

use nczarr_model::{ErrorKind, Result};

use crate::cursor::ElementCursor;
use crate::source::FileSource;

/// Tags: the kinds of elements.
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

    /// Returns the name of such elements for messages.
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

    /// Flag in the tag of an element that is not simply contiguous.
    pub(crate) const SPECIAL: u16 = 0x4000;
    /// Flag in tags of applications, which have no special elements.
    pub(crate) const USER: u16 = 0x8000;
}

/// The place of an element or of its description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ElementDescriptor {
    /// Whether the bytes describe where the element is.
    pub(crate) special: bool,
    pub(crate) offset: u32,
    pub(crate) len: u32,
    /// Whether the bytes overlap those of another element.
    pub(crate) overlapping: bool,
}

/// All elements of a file.
#[derive(Debug)]
pub(crate) struct Directory {
    entries: HashMap<(u16, u16), ElementDescriptor>,
    /// Descriptors without a place.
    unwritten: HashSet<(u16, u16)>,
}

/// Offset and length in the descriptor of an element that was never written.
const NOWHERE: u32 = u32::MAX;
/// Size in bytes of a descriptor, and of the header of a block.
const DESCRIPTOR: u64 = 12;
const BLOCK_HEAD: u64 = 6;

/// Largest element in bytes that is prefetched.
const SMALL: u32 = 64 << 10;

impl Directory {
    /// Reads the directory.
    ///
    /// # Errors
    /// `NC_EHDFERR` if a block of descriptors is outside the file, or if the blocks form a circle.
    pub(crate) fn read(store: &FileSource) -> Result<Self> {
        let size = store.len();
        let mut found = Self { entries: HashMap::new(), unwritten: HashSet::new() };
        let mut places = Vec::new();
        let mut seen = HashSet::new();
        let (mut at, mut room) = (4, size);
        let mut bytes = Vec::new();
        while at != 0 {
            bytes.clear();
            store.append(at, BLOCK_HEAD, &mut bytes)?;
            let mut head = ElementCursor::new(&bytes, "block of descriptors");
            let (count, next) = (u64::from(head.u16()?), u64::from(head.u32()?));
            let len = BLOCK_HEAD + count * DESCRIPTOR;
            // Blocks do not overlap, so together they are no longer than the file.
            room = room.checked_sub(len).filter(|_| seen.insert(at)).ok_or_else(|| {
                ErrorKind::HdfErr
                    .context(format!("blocks of descriptors: circular reference from byte {at} to {next}"))
            })?;
            bytes.clear();
            store.append(at + BLOCK_HEAD, count * DESCRIPTOR, &mut bytes)?;
            let mut cursor = ElementCursor::new(&bytes, "descriptors");
            for _ in 0..count {
                found.add(&mut cursor, &mut places)?;
            }
            places.push((at, at + len, None));
            at = next;
        }
        found.mark_overlaps(places);
        Ok(found)
    }

    fn add(&mut self, cursor: &mut ElementCursor<'_>, places: &mut Vec<OccupiedRange>) -> Result<()> {
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
        // The first one counts, as in the HDF library.
        self.entries.entry(key).or_insert_with(|| {
            let from = u64::from(offset);
            if len > 0 {
                places.push((from, from + u64::from(len), Some(key)));
            }
            ElementDescriptor { special, offset, len, overlapping: false }
        });
        Ok(())
    }

    /// Marks elements that overlap in part.
    fn mark_overlaps(&mut self, mut places: Vec<OccupiedRange>) {
        places.sort_unstable();
        let mut reach: Option<OccupiedRange> = None;
        for place in places {
            if let Some(before) = reach
                && place.0 < before.1
                && (place.0, place.1) != (before.0, before.1)
            {
                for key in [before.2, place.2].into_iter().flatten() {
                    if let Some(entry) = self.entries.get_mut(&key) {
                        entry.overlapping = true;
                    }
                }
            }
            if reach.is_none_or(|before| place.1 > before.1) {
                reach = Some(place);
            }
        }
    }

    /// Returns the place of an element; `None` if it does not exist or was never written.
    pub(crate) fn get(&self, tag: u16, number: u16) -> Option<ElementDescriptor> {
        self.entries.get(&(tag, number)).copied()
    }

    /// Returns the places of small elements that describe data. Opening reads them all.
    pub(crate) fn descriptions(&self) -> impl Iterator<Item = (u64, u64)> {
        let describes = |tag: u16, entry: &ElementDescriptor| match tag {
            tag::SD => entry.special,
            tag::NT | tag::SDG..=tag::SDLNK | tag::NDG..=tag::CAL | tag::VH..=tag::VG => true,
            _ => false,
        };
        let found =
            self.entries.iter().filter(move |((tag, _), entry)| describes(*tag, entry) && entry.len <= SMALL);
        found.map(|(_, entry)| (entry.offset.into(), entry.len.into()))
    }

    /// Whether an element was declared.
    pub(crate) fn declares(&self, tag: u16, number: u16) -> bool {
        let key = (tag, number);
        self.entries.contains_key(&key) || self.unwritten.contains(&key)
    }

    /// Returns the numbers of all elements with a tag, in ascending order.
    pub(crate) fn numbers(&self, tag: u16) -> Vec<u16> {
        let mut numbers: Vec<_> = self.entries.keys().filter(|key| key.0 == tag).map(|key| key.1).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// First byte, end, and the element; `None` for descriptors.
type OccupiedRange = (u64, u64, Option<(u16, u16)>);

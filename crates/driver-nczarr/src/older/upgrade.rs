//! A dataset of an older style becomes today's, before its metadata is written for the first time.
//!
//! Nothing of it but its style changes, and it opens at every point in between: while the root tells of the older style,
//! each node may be in either. So arrays come first, each with its attributes before its marker, then groups, each after what
//! it holds, the root last; then the keys that are no more. Each document is made of what is stored at that moment: what
//! another process did meanwhile is not lost, and what it turned already stays. What is no legal JSON becomes legal, and is
//! read as before.

use nczarr_dispatch::Key;
use nczarr_model::Result;

use super::today::{self, Documents};
use super::{Generation, NCZARR, NCZATTR, NCZGROUP, NCZVAR};
use crate::commit::Committed;
use crate::dataset::ZarrDataset;
use crate::fetch::read_here;
use crate::json::{self, Json, write_strict};
use crate::tree::{ZARRAY, ZATTRS, ZGROUP};

/// A node and its documents: the marker, the attributes, and what stood beside them.
struct Node {
    is_array: bool,
    is_root: bool,
    keys: [Key; 4],
}

impl Node {
    fn new(place: &Key, is_array: bool) -> Result<Self> {
        let (marker, own) = if is_array { (ZARRAY, NCZVAR) } else { (ZGROUP, NCZGROUP) };
        let keys = [place.join(marker)?, place.join(ZATTRS)?, place.join(own)?, place.join(NCZATTR)?];
        Ok(Self { is_array, is_root: place.is_root(), keys })
    }
}

impl ZarrDataset {
    /// Brings the stored metadata to today's style, if it is of an older one.
    ///
    /// # Errors
    /// What the storage says, and what of it cannot be understood; the next call does the rest.
    pub(crate) fn upgrade(&self, committed: &mut Committed) -> Result<()> {
        let Some(generation) = committed.older else { return Ok(()) };
        let mut nodes = Vec::new();
        {
            let state = self.read_state();
            for var in state.vars.iter().take(committed.vars.len()) {
                nodes.push(Node::new(&var.key, true)?);
            }
            // A group comes after the one it lies in.
            for group in state.groups.iter().take(committed.groups.len()).rev() {
                nodes.push(Node::new(&group.key, false)?);
            }
        }
        let keys: Vec<Key> = nodes.iter().flat_map(|node| node.keys.iter().cloned()).collect();
        let found = read_here(&*self.map, &keys, &self.options.limits);
        let found = found.into_iter().collect::<Result<Vec<_>>>()?;
        for (node, found) in nodes.iter().zip(found.as_chunks::<4>().0) {
            self.upgrade_node(node, found, generation)?;
        }
        // Today's documents are there: what the others said is no more.
        for (node, found) in nodes.iter().zip(found.as_chunks::<4>().0) {
            for (key, _) in node.keys.iter().zip(found).skip(2).filter(|(_, found)| found.is_some()) {
                self.map.delete(key)?;
            }
        }
        if generation == Generation::Keys {
            self.map.delete(&Key::new(NCZARR)?)?;
        }
        (committed.older, committed.consolidated) = (None, false);
        Ok(())
    }

    fn upgrade_node(&self, node: &Node, found: &[Option<Json>; 4], generation: Generation) -> Result<()> {
        let [marker, attrs, own, types] = found.each_ref().map(Option::as_ref);
        let [marker_key, attrs_key, ..] = &node.keys;
        if !attrs.is_some_and(today::is_today) {
            self.replace(attrs_key, |attrs| {
                let documents = Documents { marker, attrs, own, types };
                let attrs = match node.is_array {
                    true => today::array(documents),
                    false => today::group(documents, generation, node.is_root),
                };
                attrs.map(|attrs| today::legal(attrs, &self.options.limits)).transpose()
            })?;
        }
        let plain = || Json::Object([("zarr_format", Json::int(2))].into_iter().collect());
        let turned = |marker: Option<&Json>| match marker {
            Some(marker) => Some(today::marker(marker, self.about.defects)),
            None => (!node.is_array).then(plain),
        };
        if turned(marker).as_ref() != marker {
            self.replace(marker_key, |marker| Ok(turned(marker)))?;
        }
        Ok(())
    }

    /// Puts what `make` makes of the document at `key` in its place.
    fn replace(&self, key: &Key, make: impl Fn(Option<&Json>) -> Result<Option<Json>>) -> Result<()> {
        let limits = &self.options.limits;
        let limit = usize::try_from(limits.document).unwrap_or(usize::MAX);
        self.map.update(key, limit, &mut |old, new| {
            let old = old.map(|old| json::parse(old, limits)).transpose().map_err(|error| error.at(key))?;
            let mut text = String::new();
            let made = make(old.as_ref()).map_err(|error| error.at(key))?;
            write_strict(&made.unwrap_or(Json::Object(json::Members::new())), &mut text);
            new.extend_from_slice(text.as_bytes());
            Ok(())
        })
    }
}

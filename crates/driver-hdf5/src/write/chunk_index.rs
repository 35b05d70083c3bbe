//! The index of a dataset's chunks: a B-tree of version 1.
//!
//! It is the one index that every HDF5 since 1.6 reads, whatever the number of chunks and however many dimensions are
//! unlimited, and what netCDF-C writes. It is built anew, from the leaves up, whenever metadata are written, so none of
//! what the later kinds of index save when they grow is needed.
//!
//! Source: HDF5 File Format Specification 3.0, III.A.1.

use super::bytes::{Put, UNDEFINED};
use super::image::Image;

/// Where a chunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) address: u64,
    pub(super) size: u32,
    /// A bit for each filter that was left out.
    pub(super) mask: u32,
}

/// Most children of a node: twice the rank that a superblock without an extension implies.
const CHILDREN: usize = 64;

struct Key<'a> {
    size: u32,
    mask: u32,
    /// In chunks.
    index: &'a [u64],
    /// Beyond the chunk of that index.
    beyond: u64,
}

/// Appends the index of chunks; answers where its root is. `chunks`: by index, in the order of their indices; `shape`: of a
/// chunk; `item`: bytes of an element.
pub(super) fn put(image: &mut Image, chunks: &[(&[u64], Extent)], shape: &[u64], item: usize) -> u64 {
    if chunks.is_empty() {
        return UNDEFINED;
    }
    let key = |out: &mut Vec<u8>, key: &Key<'_>| {
        out.u32(key.size);
        out.u32(key.mask);
        for (&at, &side) in key.index.iter().zip(shape) {
            out.u64((at + key.beyond).saturating_mul(side));
        }
        out.u64(key.beyond * item as u64);
    };
    let (last, _) = chunks[chunks.len() - 1];
    let end = Key { size: 0, mask: 0, index: last, beyond: 1 };
    // Children of the level: first chunk and address.
    let mut children: Vec<(usize, u64)> =
        chunks.iter().enumerate().map(|(at, (_, found))| (at, found.address)).collect();
    let mut level = 0;
    loop {
        let node = 24 + 8 * CHILDREN + (CHILDREN + 1) * (8 + 8 * (shape.len() + 1));
        let (start, count) = (image.end(), children.len().div_ceil(CHILDREN));
        let step = node.next_multiple_of(8) as u64;
        let mut parents = Vec::with_capacity(count);
        for (n, group) in children.chunks(CHILDREN).enumerate() {
            let mut out = Vec::with_capacity(node);
            out.extend_from_slice(b"TREE\x01");
            out.u8(level);
            out.u16(group.len() as u16);
            out.u64(if n > 0 { start + (n as u64 - 1) * step } else { UNDEFINED });
            out.u64(if n + 1 < count { start + (n as u64 + 1) * step } else { UNDEFINED });
            for &(first, address) in group {
                let (index, found) = chunks[first];
                key(&mut out, &Key { size: found.size, mask: found.mask, index, beyond: 0 });
                out.u64(address);
            }
            match children.get((n + 1) * CHILDREN) {
                Some(&(next, _)) => {
                    let (index, found) = chunks[next];
                    key(&mut out, &Key { size: found.size, mask: found.mask, index, beyond: 0 });
                }
                None => key(&mut out, &end),
            }
            out.resize(node, 0);
            parents.push((group[0].0, image.put(&out)));
        }
        if let [(_, root)] = parents[..] {
            return root;
        }
        children = parents;
        level += 1;
    }
}

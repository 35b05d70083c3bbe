//! Writes a chunk index: a B-tree of version 1.
//!
//! Every HDF5 since 1.6 reads it, for any number of chunks and unlimited dimensions, and netCDF-C writes it.
//! Each commit builds the whole tree, leaves first. The later kinds of index save work only if an index grows
//! in place.
//!
//! Source: HDF5 File Format Specification 3.0, III.A.1.

use super::bytes::{PutBytes, UNDEFINED};
use super::image::MetadataImage;

/// The place of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChunkExtent {
    pub(super) address: u64,
    pub(super) size: u32,
    /// A bit for each filter that was left out.
    pub(super) mask: u32,
}

/// Most children of a node: twice the B-tree rank of a superblock without extension.
const CHILDREN: usize = 64;

struct ChunkKey<'a> {
    size: u32,
    mask: u32,
    /// Index of the chunk in the grid.
    index: &'a [u64],
    /// Chunks to add to each index; 1 in the last key.
    beyond: u64,
}

/// Appends the chunk index, and returns the address of its root.
///
/// `chunks` are sorted by index. `shape` is that of a chunk. `item` is the size of an element in bytes.
pub(super) fn put(
    image: &mut MetadataImage,
    chunks: &[(&[u64], ChunkExtent)],
    shape: &[u64],
    item: usize,
) -> u64 {
    if chunks.is_empty() {
        return UNDEFINED;
    }
    let key = |out: &mut Vec<u8>, key: &ChunkKey<'_>| {
        out.u32(key.size);
        out.u32(key.mask);
        for (&at, &side) in key.index.iter().zip(shape) {
            out.u64((at + key.beyond).saturating_mul(side));
        }
        out.u64(key.beyond * item as u64);
    };
    let (last, _) = chunks[chunks.len() - 1];
    let end = ChunkKey { size: 0, mask: 0, index: last, beyond: 1 };
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
                key(&mut out, &ChunkKey { size: found.size, mask: found.mask, index, beyond: 0 });
                out.u64(address);
            }
            match children.get((n + 1) * CHILDREN) {
                Some(&(next, _)) => {
                    let (index, found) = chunks[next];
                    key(&mut out, &ChunkKey { size: found.size, mask: found.mask, index, beyond: 0 });
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

//! Writes many attributes or links. A fractal heap holds them, and two B-trees of version 2 index them by
//! name and by creation order.
//!
//! The heap has one direct block of sufficient size. Larger objects are stored outside the heap. Each tree is
//! one leaf, or a root over leaves.
//!
//! Source: HDF5 File Format Specification 3.0, III.A.2 and III.G.

use nczarr_model::{ErrorKind, Result};

use super::bytes::{PutBytes, UNDEFINED};
use super::image::MetadataImage;
use crate::lookup3::lookup3;

/// Parameters of a heap, for one kind of objects.
pub(super) struct HeapKind {
    /// Size of an object's id in bytes.
    id: usize,
    /// Number of bits of a heap offset.
    heap_bits: u16,
    first_block: usize,
    /// Types of the index records.
    by_name: u8,
    by_order: u8,
    /// Sizes of a record by name and by order, in bytes.
    name_record: usize,
    order_record: usize,
    is_links: bool,
}

pub(super) const LINKS: HeapKind = HeapKind {
    id: 7,
    heap_bits: 32,
    first_block: 512,
    by_name: 5,
    by_order: 6,
    name_record: 4 + 7,
    order_record: 8 + 7,
    is_links: true,
};

pub(super) const ATTRIBUTES: HeapKind = HeapKind {
    id: 8,
    heap_bits: 40,
    first_block: 1024,
    by_name: 8,
    by_order: 9,
    name_record: 8 + 1 + 4 + 4,
    order_record: 8 + 1 + 4,
    is_links: false,
};

/// Largest managed object in bytes. A larger one is stored outside the heap.
const MANAGED: usize = 4096;

/// Largest block that the HDF5 library reads, in bytes.
const LONGEST_BLOCK: usize = 16 << 20;

/// Most records of a leaf.
const LEAF: usize = if cfg!(test) { 100 } else { 60_000 };

/// Addresses of the heap and its indexes.
#[derive(Debug)]
pub(super) struct DenseStorage {
    pub(super) heap: u64,
    pub(super) by_name: u64,
    pub(super) by_order: u64,
}

/// Appends objects in creation order, with their names.
///
/// # Errors
/// `NC_EATTMETA` or the like if one heap block cannot hold them.
pub(super) fn put<'a>(
    image: &mut MetadataImage,
    kind: &HeapKind,
    names: impl Iterator<Item = &'a str>,
    objects: &[Vec<u8>],
) -> Result<DenseStorage> {
    let (heap, ids) = put_heap(image, kind, objects)?;
    let mut found: Vec<(u32, &str, usize)> =
        names.enumerate().map(|(order, name)| (lookup3(name.as_bytes()), name, order)).collect();
    let record = |hash: u32, order: usize, by_name: bool| {
        let mut out = Vec::with_capacity(kind.name_record);
        match (kind.is_links, by_name) {
            (true, true) => out.u32(hash),
            (true, false) => out.u64(order as u64),
            _ => {}
        }
        out.extend_from_slice(&ids[order]);
        if !kind.is_links {
            out.u8(0);
            out.u32(order as u32);
            if by_name {
                out.u32(hash);
            }
        }
        out
    };
    let by_order: Vec<Vec<u8>> = found.iter().map(|&(hash, _, order)| record(hash, order, false)).collect();
    found.sort_unstable();
    let by_name: Vec<Vec<u8>> = found.iter().map(|&(hash, _, order)| record(hash, order, true)).collect();
    Ok(DenseStorage {
        heap,
        by_name: put_tree(image, kind.by_name, kind.name_record, &by_name)?,
        by_order: put_tree(image, kind.by_order, kind.order_record, &by_order)?,
    })
}

/// Appends a heap. Returns its address and the ids of its objects.
fn put_heap(image: &mut MetadataImage, kind: &HeapKind, objects: &[Vec<u8>]) -> Result<(u64, Vec<Vec<u8>>)> {
    let offset_width = usize::from(kind.heap_bits) / 8;
    // Signature, version, heap address, block offset, checksum.
    let head = 4 + 1 + 8 + offset_width + 4;
    let (mut ids, mut data, mut huge) = (Vec::with_capacity(objects.len()), Vec::new(), Vec::new());
    let mut managed = 0_u64;
    for object in objects {
        let mut id = Vec::with_capacity(kind.id);
        if object.len() <= MANAGED {
            id.u8(0);
            id.sized((head + data.len()) as u64, offset_width);
            id.u16(object.len() as u16);
            data.extend_from_slice(object);
            managed += 1;
        } else {
            let address = image.put(object);
            let key = huge.len() as u64 + 1;
            huge.push((address, object.len() as u64, key));
            id.u8(0x10);
            id.sized(key, kind.id - 1);
        }
        id.resize(kind.id, 0);
        ids.push(id);
    }
    let huge_records: Vec<Vec<u8>> = huge
        .iter()
        .map(|&(address, len, key)| {
            let mut out = Vec::new();
            [address, len, key].into_iter().for_each(|number| out.u64(number));
            out
        })
        .collect();
    let huge_tree = if huge.is_empty() { UNDEFINED } else { put_tree(image, 1, 24, &huge_records)? };
    let block = (head + data.len()).next_power_of_two().max(kind.first_block);
    if block > LONGEST_BLOCK {
        let what = format!(
            "{} links or attributes with {} bytes are too many for one group or variable",
            objects.len(),
            data.len()
        );
        return Err(ErrorKind::HdfErr.context(what));
    }
    // The header has a fixed length and comes first, so the address of the block is known.
    let address = image.end();
    let header_len = 4 + 1 + 2 + 2 + 1 + 4 + 8 * 12 + 2 + 8 * 2 + 2 + 2 + 8 + 2 + 4;
    let block_address = address + (header_len as u64).next_multiple_of(8);
    let has_block = managed > 0;
    let space = if has_block { block as u64 } else { 0 };
    let mut out = b"FRHP\0".to_vec();
    out.u16(kind.id as u16);
    out.u16(0);
    // Blocks have checksums.
    out.u8(2);
    out.u32(MANAGED as u32);
    out.u64(huge.len() as u64 + 1);
    out.u64(huge_tree);
    out.u64(if has_block { (block - head - data.len()) as u64 } else { 0 });
    out.u64(UNDEFINED);
    out.u64(space);
    out.u64(space);
    out.u64(space);
    out.u64(managed);
    out.u64(huge.iter().map(|&(_, len, _)| len).sum());
    out.u64(huge.len() as u64);
    out.u64(0);
    out.u64(0);
    out.u16(4);
    out.u64(block as u64);
    out.u64((block as u64).max(64 << 10));
    out.u16(kind.heap_bits);
    out.u16(1);
    out.u64(if has_block { block_address } else { UNDEFINED });
    out.u16(0);
    out.checksum(0);
    debug_assert_eq!(out.len(), header_len);
    image.put(&out);
    if has_block {
        let mut out = b"FHDB\0".to_vec();
        out.u64(address);
        out.sized(0, offset_width);
        out.u32(0);
        out.extend(data);
        out.resize(block, 0);
        let sum = lookup3(&out);
        out[head - 4..head].copy_from_slice(&sum.to_le_bytes());
        image.put(&out);
    }
    Ok((address, ids))
}

/// Appends a tree of sorted records, and returns the address of its header.
fn put_tree(image: &mut MetadataImage, ty: u8, record: usize, records: &[Vec<u8>]) -> Result<u64> {
    let prefix = 4 + 1 + 1 + 4;
    let per_leaf = records.len().clamp(1, LEAF);
    let node = (prefix + per_leaf * record).max(512);
    let leaf = |image: &mut MetadataImage, records: &[Vec<u8>]| {
        let mut out = b"BTLF\0".to_vec();
        out.u8(ty);
        records.iter().for_each(|record| out.extend_from_slice(record));
        out.checksum(0);
        out.resize(node, 0);
        image.put(&out)
    };
    let (depth, root, in_root) = if records.len() <= LEAF {
        (0, leaf(image, records), records.len())
    } else {
        // A record separates two leaves.
        let leaves: Vec<&[Vec<u8>]> = split(records);
        let width = super::bytes::width(((node - prefix) / record) as u64);
        let mut out = b"BTIN\0".to_vec();
        out.u8(ty);
        let mut at = 0;
        for part in &leaves[..leaves.len() - 1] {
            at += part.len();
            out.extend_from_slice(&records[at]);
            at += 1;
        }
        for part in &leaves {
            out.u64(leaf(image, part));
            out.sized(part.len() as u64, width);
        }
        out.checksum(0);
        out.resize(node, 0);
        (1, image.put(&out), leaves.len() - 1)
    };
    let mut out = b"BTHD\0".to_vec();
    out.u8(ty);
    out.u32(node as u32);
    out.u16(record as u16);
    out.u16(depth);
    // Percent at which nodes are split and merged.
    out.extend([100, 40]);
    out.u64(root);
    out.u16(in_root as u16);
    out.u64(records.len() as u64);
    out.checksum(0);
    Ok(image.put(&out))
}

/// Divides records among leaves of similar length. The record after each leaf but the last is left out.
fn split(records: &[Vec<u8>]) -> Vec<&[Vec<u8>]> {
    let count = records.len().div_ceil(LEAF);
    let each = (records.len() - (count - 1)) / count;
    let (mut rest, mut leaves) = (records, Vec::with_capacity(count));
    for _ in 1..count {
        leaves.push(&rest[..each]);
        rest = &rest[each + 1..];
    }
    leaves.push(rest);
    leaves
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nczarr_dispatch::{Clobber, Options, Registry};
    use nczarr_model::{GroupId, NcType, Values};
    use nczarr_nc_table::NcDispatch as _;

    use crate::Hdf5Driver;

    #[test]
    fn many_and_long_attributes_and_links_are_found_in_their_order() {
        let registry = Arc::new(Registry::new().with_driver(Hdf5Driver));
        let options = Options::default();
        let ds = registry
            .create_in_memory(
                &nczarr_dispatch::Place::url("x.nc#mode=nc4"),
                Clobber::Refuse,
                false,
                &options,
                false,
            )
            .unwrap();
        let root = GroupId::ROOT;
        let dims: Vec<_> =
            (0..350).map(|i| ds.def_dim(root, &format!("d{}", i * 7919 % 350), Some(2)).unwrap()).collect();
        let v = ds.def_var(root, "v", NcType::Byte, &dims[..1]).unwrap();
        for i in 0..250 {
            // Some attributes are longer than a managed object, and one is longer than any message.
            let len = if i == 77 { 70_000 } else { i * i % 5000 };
            let text = Values::Char(vec![b'a' + (i % 26) as u8; len]);
            ds.put_att(root, Some(v), &format!("a{}", i * 7919 % 250), NcType::Char, &text).unwrap();
        }
        ds.close().unwrap();
        let again = registry
            .open_bytes(&nczarr_dispatch::Place::url("x.nc"), ds.image().unwrap().into(), false, &options)
            .unwrap();
        let (before, after) = (ds.model().snapshot(), again.model().snapshot());
        let dims =
            |model: &nczarr_model::Model| model.dims().map(|(_, dim)| dim.name.clone()).collect::<Vec<_>>();
        assert_eq!(dims(&before), dims(&after));
        let atts =
            |model: &nczarr_model::Model| model.var(v).unwrap().atts.clone().into_iter().collect::<Vec<_>>();
        assert_eq!(atts(&before), atts(&after));
    }
}

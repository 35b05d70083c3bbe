//! Reads B-trees of version 2: their records, in order.

use nczarr_model::Result;

use super::cursor::{MetadataCursor, UNDEFINED, damaged};
use super::file::{HdfFile, WalkBudget};

/// Sizes of the nodes of one level.
#[derive(Debug, Clone, Copy)]
struct BTreeLevel {
    /// Most records in one node.
    most: u64,
    /// Most records in one node and all nodes below it.
    all: u64,
}

struct BTreeV2<'f> {
    file: &'f HdfFile,
    ty: u8,
    node: u64,
    record: usize,
    levels: Vec<BTreeLevel>,
    wants: RangeFilter<'f>,
    budget: WalkBudget,
}

/// Whether a caller needs the records between two given ones. `None` means no bound on that side.
pub(crate) type RangeFilter<'w> = &'w dyn Fn(Option<&[u8]>, Option<&[u8]>) -> Result<bool>;

/// Calls `then` with each record. `types` lists the accepted record types.
///
/// # Errors
/// `NC_EHDFERR` if the tree is damaged; errors of `then`.
pub(crate) fn each(
    file: &HdfFile,
    address: u64,
    types: &[u8],
    then: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    within(file, address, types, &|_, _| Ok(true), then)
}

/// Calls `then` with each record of the nodes that `wants` accepts.
///
/// # Errors
/// As [`each`]; errors of `wants`.
pub(crate) fn within(
    file: &HdfFile,
    address: u64,
    types: &[u8],
    wants: RangeFilter<'_>,
    then: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let head = file.checked(address, 22 + u64::from(file.offsets) + u64::from(file.lengths), "B-tree")?;
    let mut at = MetadataCursor::new(&head, "B-tree");
    at.expect(b"BTHD")?;
    at.version(0)?;
    let (ty, node, record, depth) = (at.u8()?, u64::from(at.u32()?), at.u16()?, at.u16()?);
    at.skip(2)?;
    let (root, count) = (at.address(file.offsets)?, at.u16()?);
    if !types.contains(&ty) {
        return Err(damaged(format!("B-tree: wrong record type (expected one of {types:?}, found {ty})")));
    }
    if root == UNDEFINED || count == 0 {
        return Ok(());
    }
    if record == 0 || node > file.len || depth > 32 {
        return Err(damaged(format!(
            "B-tree: invalid sizes (nodes of {node} bytes, records of {record} bytes, depth {depth})"
        )));
    }
    let mut levels: Vec<BTreeLevel> = Vec::new();
    for level in 0..=depth {
        let bytes = u64::from(record);
        let (room, unit) = match (levels.first(), levels.last()) {
            (Some(first), Some(below)) => {
                let cumulative = if level > 1 { HdfFile::bytes_for(below.all) } else { 0 };
                let pointer = u64::from(file.offsets + HdfFile::bytes_for(first.most) + cumulative);
                (node.saturating_sub(10 + pointer), bytes + pointer)
            }
            _ => (node.saturating_sub(10), bytes),
        };
        let most = room / unit;
        let below = levels.last().map_or(0, |below| below.all);
        let all = (most + 1).saturating_mul(below).saturating_add(most);
        levels.push(BTreeLevel { most, all });
    }
    let mut tree =
        BTreeV2 { file, ty, node, record: record.into(), levels, wants, budget: WalkBudget::new(file, 16) };
    tree.walk(root, count.into(), depth.into(), RecordBounds::default(), then)
}

/// The records around a node; `None`: no bound.
#[derive(Clone, Copy, Default)]
struct RecordBounds<'r> {
    from: Option<&'r [u8]>,
    to: Option<&'r [u8]>,
}

impl BTreeV2<'_> {
    fn walk(
        &mut self,
        address: u64,
        count: u64,
        level: usize,
        bounds: RecordBounds<'_>,
        then: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        self.budget.spend("nodes of a B-tree")?;
        let wrong = || damaged(format!("B-tree: invalid node with {count} records at address {address}"));
        if count > self.levels[level].most {
            return Err(wrong());
        }
        let records = count * self.record as u64;
        let (mut child_bytes, mut total_bytes) = (0, 0);
        let pointers = if level == 0 {
            0
        } else {
            child_bytes = HdfFile::bytes_for(self.levels[0].most);
            total_bytes = if level > 1 { HdfFile::bytes_for(self.levels[level - 1].all) } else { 0 };
            (count + 1) * u64::from(self.file.offsets + child_bytes + total_bytes)
        };
        let len = 6 + records + pointers + 4;
        if len > self.node {
            return Err(wrong());
        }
        let bytes = self.file.checked(address, len, "node of a B-tree")?;
        let mut at = MetadataCursor::new(&bytes, "node of a B-tree");
        at.expect(if level == 0 { b"BTLF" } else { b"BTIN" })?;
        at.version(0)?;
        if at.u8()? != self.ty {
            return Err(wrong());
        }
        let records = at.bytes(records as usize)?;
        let records: Vec<&[u8]> = records.chunks_exact(self.record).collect();
        if level == 0 {
            return records.into_iter().try_for_each(then);
        }
        let mut children = Vec::with_capacity(records.len() + 1);
        for number in 0..=records.len() {
            let child = at.address(self.file.offsets)?;
            let below = at.uint(child_bytes)?;
            at.uint(total_bytes)?;
            let from = number.checked_sub(1).map(|before| records[before]).or(bounds.from);
            let to = records.get(number).copied().or(bounds.to);
            let is_wanted = (self.wants)(from, to)?;
            children.push((child, below, RecordBounds { from, to }, is_wanted));
        }
        let wanted = children.iter().filter(|(.., is_wanted)| *is_wanted);
        self.file.prefetch(wanted.map(|&(child, ..)| (child, self.node)));
        for (number, (child, below, between, is_wanted)) in children.into_iter().enumerate() {
            if is_wanted {
                self.walk(child, below, level - 1, between, then)?;
            }
            if let Some(record) = records.get(number) {
                then(record)?;
            }
        }
        Ok(())
    }
}

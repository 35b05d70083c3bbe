//! Reads the links of a group: a symbol table in older files; messages, or a heap with an index, in newer
//! ones.

use nczarr_model::Result;

use super::btree2;
use super::cursor::{MetadataCursor, UNDEFINED, damaged};
use super::file::{HdfFile, WalkBudget};
use super::fractal_heap::FractalHeap;
use super::header::{ObjectHeader, message_type};
use super::local_heap::LocalHeap;

/// Target of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkTarget {
    /// A hard link: the object at an address.
    Object(u64),
    /// A soft link: a path in this file.
    Path(String),
    /// An external link: a path in another file.
    External { file: String, path: String },
    /// A user-defined link, which only the program that made it can follow.
    Elsewhere,
}

/// One link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupLink {
    pub(crate) name: String,
    pub(crate) target: LinkTarget,
    /// Creation order, if recorded.
    order: Option<u64>,
}

/// Assumed size in bytes of a structure of a group, for prefetching.
const NODE: u64 = 512;

/// Link type of external links.
const EXTERNAL: u8 = 64;

/// Whether an object is a group.
pub(crate) fn is_group(header: &ObjectHeader) -> bool {
    [message_type::SYMBOLS, message_type::LINK_INFO, message_type::GROUP_INFO, message_type::LINK]
        .iter()
        .any(|&ty| header.find(ty).is_some())
}

/// Whether the file records the order in which the links of a group were created.
pub(crate) fn has_order(header: &ObjectHeader) -> bool {
    // After the version.
    header
        .find(message_type::LINK_INFO)
        .is_some_and(|message| message.bytes.get(1).is_some_and(|flags| flags & 1 != 0))
}

/// Reads the links of a group. They are in creation order if the file records it, else sorted by name.
///
/// # Errors
/// `NC_EHDFERR` if something is damaged.
pub(crate) fn of(file: &HdfFile, header: &ObjectHeader) -> Result<Vec<GroupLink>> {
    let mut links = Vec::new();
    let mut ordered = false;
    if let Some(message) = header.find(message_type::SYMBOLS) {
        let mut at = MetadataCursor::new(message.bytes, "symbol table");
        let (tree, heap) = (at.address(file.offsets)?, at.address(file.offsets)?);
        file.prefetch([(tree, NODE), (heap, NODE)]);
        let heap = LocalHeap::read(file, heap)?;
        symbols(file, tree, None, &heap, &mut WalkBudget::new(file, 8), &mut links)?;
    }
    for message in header.all(message_type::LINK) {
        links.push(link(file, message.bytes)?);
    }
    if let Some(message) = header.find(message_type::LINK_INFO) {
        let mut at = MetadataCursor::new(message.bytes, "link info");
        at.version(0)?;
        let flags = at.u8()?;
        ordered = flags & 1 != 0;
        at.skip(if ordered { 8 } else { 0 })?;
        let (heap, names) = (at.address(file.offsets)?, at.address(file.offsets)?);
        if heap != UNDEFINED && names != UNDEFINED {
            file.prefetch([(heap, NODE), (names, NODE)]);
            let mut heap = FractalHeap::read(file, heap)?;
            let mut failed = None;
            btree2::each(file, names, &[5], &mut |record| {
                let id = record.get(4..).ok_or_else(|| damaged("link: an index record is too short"))?;
                // One unreadable link does not stop the prefetch of the others.
                match heap.object(file, id).and_then(|bytes| link(file, &bytes)) {
                    Ok(link) => links.push(link),
                    Err(error) => failed = failed.take().or(Some(error)),
                }
                Ok(())
            })?;
            failed.map_or(Ok(()), Err)?;
        }
    }
    if ordered {
        links.sort_by_key(|link| link.order)
    } else {
        links.sort_by(|a, b| a.name.cmp(&b.name))
    }
    Ok(links)
}

/// Reads the links below a node of a symbol tree. `level` is the level of its parent.
fn symbols(
    file: &HdfFile,
    address: u64,
    level: Option<u8>,
    heap: &LocalHeap,
    budget: &mut WalkBudget,
    links: &mut Vec<GroupLink>,
) -> Result<()> {
    budget.spend("nodes of a group's tree")?;
    let (o, l) = (file.offsets, file.lengths);
    if level == Some(0) {
        let head = file.read(address, 8)?;
        let mut at = MetadataCursor::new(&head, "symbol node");
        at.expect(b"SNOD")?;
        at.skip(2)?;
        let count = at.u16()?;
        let entry = 2 * u64::from(o) + 24;
        let bytes = file.read(address + 8, u64::from(count) * entry)?;
        for entry in bytes.chunks_exact(entry as usize) {
            budget.spend("links of a group")?;
            let mut at = MetadataCursor::new(entry, "symbol");
            let (name, object, cached) = (at.uint(o)?, at.address(o)?, at.u32()?);
            at.skip(4)?;
            let goal = match cached {
                2 => LinkTarget::Path(heap.text(file, at.u32()?.into())?),
                _ => LinkTarget::Object(object),
            };
            links.push(GroupLink { name: heap.text(file, name)?, target: goal, order: None });
        }
        return Ok(());
    }
    let head = file.read(address, 8 + 2 * u64::from(o))?;
    let mut at = MetadataCursor::new(&head, "node of a group's tree");
    at.expect(b"TREE")?;
    let (ty, own, count) = (at.u8()?, at.u8()?, at.u16()?);
    if ty != 0 || level.is_some_and(|level| own.checked_add(1) != Some(level)) {
        return Err(damaged(format!("group: invalid tree node of type {ty}, level {own}")));
    }
    let bytes = file.read(address + head.len() as u64, u64::from(count) * u64::from(o + l))?;
    let mut at = MetadataCursor::new(&bytes, "node of a group's tree");
    let mut children = Vec::with_capacity(count.into());
    for _ in 0..count {
        at.uint(l)?;
        children.push(at.address(o)?);
    }
    file.prefetch(children.iter().map(|&child| (child, NODE)));
    children.into_iter().try_for_each(|child| symbols(file, child, Some(own), heap, budget, links))
}

fn link(file: &HdfFile, bytes: &[u8]) -> Result<GroupLink> {
    let mut at = MetadataCursor::new(bytes, "link");
    at.version(1)?;
    let flags = at.u8()?;
    let ty = if flags & 8 != 0 { at.u8()? } else { 0 };
    let order = if flags & 4 != 0 { Some(at.u64()?) } else { None };
    at.skip(if flags & 16 != 0 { 1 } else { 0 })?;
    let len = at.uint(1 << (flags & 3))?;
    let len = usize::try_from(len).map_err(|_| damaged("link: the name is too long"))?;
    let name = String::from_utf8_lossy(at.bytes(len)?).into_owned();
    let goal = match ty {
        0 => LinkTarget::Object(at.address(file.offsets)?),
        1 => {
            let len = at.u16()?;
            LinkTarget::Path(String::from_utf8_lossy(at.bytes(len.into())?).into_owned())
        }
        EXTERNAL => {
            let len = at.u16()?;
            let value = at.bytes(len.into())?;
            // Version and flags, file name, path.
            let mut texts = value.get(1..).unwrap_or_default().split(|&byte| byte == 0);
            let mut text = || texts.next().map(|text| String::from_utf8_lossy(text).into_owned());
            match (text(), text()) {
                (Some(file), Some(path)) => LinkTarget::External { file, path },
                _ => return Err(damaged("external link: file or path is missing")),
            }
        }
        _ => LinkTarget::Elsewhere,
    };
    Ok(GroupLink { name, target: goal, order })
}

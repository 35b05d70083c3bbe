//! The links of a group: a table of symbols in older files, messages or a heap with an index in newer ones.

use nczarr_model::Result;

use super::btree2;
use super::cursor::{Cursor, UNDEFINED, bad};
use super::file::{Budget, Hdf};
use super::fractal_heap::FractalHeap;
use super::header::{Header, kind};
use super::local_heap::LocalHeap;

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Goal {
    /// To the object at an address.
    Object(u64),
    /// To what a path of this file means.
    Path(String),
    /// To what a path means in another file.
    External { file: String, path: String },
    /// To something that only who made the link can find.
    Elsewhere,
}

/// One link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) name: String,
    pub(crate) goal: Goal,
    /// When it was made, if that is noted.
    order: Option<u64>,
}

/// Bytes of a structure of a group, more or less.
const NODE: u64 = 512;

/// The kind of external links.
const EXTERNAL: u8 = 64;

/// Whether an object is a group.
pub(crate) fn is_group(header: &Header) -> bool {
    [kind::SYMBOLS, kind::LINK_INFO, kind::GROUP_INFO, kind::LINK].iter().any(|&ty| header.find(ty).is_some())
}

/// The links of a group: in the order in which they were made, if that is noted, else by name.
///
/// # Errors
/// `NC_EHDFERR` if something is damaged.
pub(crate) fn of(file: &Hdf, header: &Header) -> Result<Vec<Link>> {
    let mut links = Vec::new();
    let mut ordered = false;
    if let Some(message) = header.find(kind::SYMBOLS) {
        let mut at = Cursor::new(message.bytes, "symbol table");
        let (tree, heap) = (at.address(file.offsets)?, at.address(file.offsets)?);
        file.expect([(tree, NODE), (heap, NODE)]);
        let heap = LocalHeap::read(file, heap)?;
        symbols(file, tree, None, &heap, &mut Budget::new(file, 8), &mut links)?;
    }
    for message in header.all(kind::LINK) {
        links.push(link(file, message.bytes)?);
    }
    if let Some(message) = header.find(kind::LINK_INFO) {
        let mut at = Cursor::new(message.bytes, "link info");
        at.version(0)?;
        let flags = at.u8()?;
        ordered = flags & 1 != 0;
        at.skip(if ordered { 8 } else { 0 })?;
        let (heap, names) = (at.address(file.offsets)?, at.address(file.offsets)?);
        if heap != UNDEFINED && names != UNDEFINED {
            file.expect([(heap, NODE), (names, NODE)]);
            let mut heap = FractalHeap::read(file, heap)?;
            let mut failed = None;
            btree2::each(file, names, &[5], &mut |record| {
                let id = record.get(4..).ok_or_else(|| bad("a record of a link that is cut short"))?;
                // One that cannot be read yet does not keep the others from being asked for.
                match heap.object(file, id).and_then(|bytes| link(file, &bytes)) {
                    Ok(link) => links.push(link),
                    Err(error) => failed = failed.take().or(Some(error)),
                }
                Ok(())
            })?;
            failed.map_or(Ok(()), Err)?;
        }
    }
    match ordered {
        true => links.sort_by_key(|link| link.order),
        false => links.sort_by(|a, b| a.name.cmp(&b.name)),
    }
    Ok(links)
}

/// What is at a node of a tree of symbols. `level`: what the level of its parent is.
fn symbols(
    file: &Hdf,
    address: u64,
    level: Option<u8>,
    heap: &LocalHeap,
    budget: &mut Budget,
    links: &mut Vec<Link>,
) -> Result<()> {
    budget.spend("nodes of a group's tree")?;
    let (o, l) = (file.offsets, file.lengths);
    if level == Some(0) {
        let head = file.read(address, 8)?;
        let mut at = Cursor::new(&head, "symbol node");
        at.expect(b"SNOD")?;
        at.skip(2)?;
        let count = at.u16()?;
        let entry = 2 * u64::from(o) + 24;
        let bytes = file.read(address + 8, u64::from(count) * entry)?;
        for entry in bytes.chunks_exact(entry as usize) {
            budget.spend("links of a group")?;
            let mut at = Cursor::new(entry, "symbol");
            let (name, object, cached) = (at.uint(o)?, at.address(o)?, at.u32()?);
            at.skip(4)?;
            let goal = match cached {
                2 => Goal::Path(heap.text(file, at.u32()?.into())?),
                _ => Goal::Object(object),
            };
            links.push(Link { name: heap.text(file, name)?, goal, order: None });
        }
        return Ok(());
    }
    let head = file.read(address, 8 + 2 * u64::from(o))?;
    let mut at = Cursor::new(&head, "node of a group's tree");
    at.expect(b"TREE")?;
    let (ty, own, count) = (at.u8()?, at.u8()?, at.u16()?);
    if ty != 0 || level.is_some_and(|level| own.checked_add(1) != Some(level)) {
        return Err(bad(format!("group: a tree of type {ty}, level {own}")));
    }
    let bytes = file.read(address + head.len() as u64, u64::from(count) * u64::from(o + l))?;
    let mut at = Cursor::new(&bytes, "node of a group's tree");
    let mut children = Vec::with_capacity(count.into());
    for _ in 0..count {
        at.uint(l)?;
        children.push(at.address(o)?);
    }
    file.expect(children.iter().map(|&child| (child, NODE)));
    children.into_iter().try_for_each(|child| symbols(file, child, Some(own), heap, budget, links))
}

fn link(file: &Hdf, bytes: &[u8]) -> Result<Link> {
    let mut at = Cursor::new(bytes, "link");
    at.version(1)?;
    let flags = at.u8()?;
    let ty = if flags & 8 != 0 { at.u8()? } else { 0 };
    let order = if flags & 4 != 0 { Some(at.u64()?) } else { None };
    at.skip(if flags & 16 != 0 { 1 } else { 0 })?;
    let len = at.uint(1 << (flags & 3))?;
    let len = usize::try_from(len).map_err(|_| bad("a link with a name without end"))?;
    let name = String::from_utf8_lossy(at.bytes(len)?).into_owned();
    let goal = match ty {
        0 => Goal::Object(at.address(file.offsets)?),
        1 => {
            let len = at.u16()?;
            Goal::Path(String::from_utf8_lossy(at.bytes(len.into())?).into_owned())
        }
        EXTERNAL => {
            let len = at.u16()?;
            let value = at.bytes(len.into())?;
            // A version and flags, the name of the file, the path in it.
            let mut texts = value.get(1..).unwrap_or_default().split(|&byte| byte == 0);
            let mut text = || texts.next().map(|text| String::from_utf8_lossy(text).into_owned());
            match (text(), text()) {
                (Some(file), Some(path)) => Goal::External { file, path },
                _ => return Err(bad("an external link without a file and a path")),
            }
        }
        _ => Goal::Elsewhere,
    };
    Ok(Link { name, goal, order })
}

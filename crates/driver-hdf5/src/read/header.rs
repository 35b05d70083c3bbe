//! [`Header`]: the messages of an object, out of its header and what continues it.

use std::collections::HashSet;

use nczarr_model::Result;

use super::cursor::{Cursor, UNDEFINED, bad};
use super::file::{Budget, Hdf};

/// Types of messages.
pub(crate) mod kind {
    pub(crate) const DATASPACE: u16 = 1;
    pub(crate) const LINK_INFO: u16 = 2;
    pub(crate) const DATATYPE: u16 = 3;
    pub(crate) const OLD_FILL: u16 = 4;
    pub(crate) const FILL: u16 = 5;
    pub(crate) const LINK: u16 = 6;
    pub(crate) const EXTERNAL: u16 = 7;
    pub(crate) const LAYOUT: u16 = 8;
    pub(crate) const GROUP_INFO: u16 = 10;
    pub(crate) const PIPELINE: u16 = 11;
    pub(crate) const ATTRIBUTE: u16 = 12;
    pub(crate) const COMMENT: u16 = 13;
    pub(crate) const SHARED_TABLE: u16 = 15;
    pub(crate) const CONTINUATION: u16 = 16;
    pub(crate) const SYMBOLS: u16 = 17;
    pub(crate) const DRIVER: u16 = 20;
    pub(crate) const ATTRIBUTE_INFO: u16 = 21;
    pub(crate) const CACHE_IMAGE: u16 = 24;
}

/// One message, where it stands in the bytes of its header.
#[derive(Debug, Clone, Copy)]
struct Message {
    ty: u16,
    flags: u8,
    order: Option<u16>,
    part: usize,
    start: usize,
    len: usize,
}

/// An object's header.
#[derive(Debug)]
pub(crate) struct Header {
    /// Where it is.
    pub(crate) address: u64,
    /// Whether it tracks the order in which attributes are made.
    parts: Vec<Vec<u8>>,
    messages: Vec<Message>,
}

/// The pieces of a header: where each is, and how long.
#[derive(Debug)]
struct Pieces {
    list: Vec<(u64, u64)>,
    seen: HashSet<u64>,
}

impl Pieces {
    fn new(address: u64, len: u64) -> Self {
        Self { list: vec![(address, len)], seen: HashSet::from([address]) }
    }
}

/// A message as it is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'h> {
    /// Whether its bytes say where it is, not what it is.
    pub(crate) shared: bool,
    /// When it was made, if that was noted.
    pub(crate) order: Option<u16>,
    pub(crate) bytes: &'h [u8],
}

impl Header {
    /// Reads the header of an object.
    ///
    /// # Errors
    /// `NC_EHDFERR` if it is damaged.
    pub(crate) fn read(file: &Hdf, address: u64) -> Result<Self> {
        let mut header = Self { address, parts: Vec::new(), messages: Vec::new() };
        let first = file.read_most(address, 48)?;
        match first.starts_with(b"OHDR") {
            true => header.read_new(file, &first),
            false => header.read_old(file, &first),
        }
        .map_err(|error| error.at(format_args!("object at address {address}")))?;
        Ok(header)
    }

    /// The first message of a type.
    pub(crate) fn find(&self, ty: u16) -> Option<Found<'_>> {
        self.all(ty).next()
    }

    /// All messages of a type.
    pub(crate) fn all(&self, ty: u16) -> impl Iterator<Item = Found<'_>> {
        self.messages.iter().filter(move |message| message.ty == ty).map(|message| Found {
            shared: message.flags & 2 != 0,
            order: message.order,
            bytes: &self.parts[message.part][message.start..][..message.len],
        })
    }

    fn read_old(&mut self, file: &Hdf, first: &[u8]) -> Result<()> {
        let mut at = Cursor::new(first, "object header");
        match at.u8()? {
            1 => at.skip(1)?,
            other => return Err(bad(format!("an object header of version {other}, or none"))),
        }
        let count = at.u16()?;
        at.skip(4)?;
        let len = at.u32()?;
        let mut parts = Pieces::new(self.address.saturating_add(16), u64::from(len));
        let mut budget = Budget::new(file, 16);
        let mut next = 0;
        while let Some(&(address, len)) = parts.list.get(next) {
            next += 1;
            budget.spend("continued object headers")?;
            let bytes = file.read(address, len)?;
            let mut at = Cursor::new(&bytes, "object header");
            while at.rest().len() >= 8 && self.messages.len() < usize::from(count) {
                let (ty, size, flags) = (at.u16()?, at.u16()?, at.u8()?);
                at.skip(3)?;
                let start = at.at();
                at.skip(size.into())?;
                let message = Message { ty, flags, order: None, part: self.parts.len(), start, len: size.into() };
                self.take(file, message, &bytes, &mut parts)?;
            }
            self.parts.push(bytes);
        }
        Ok(())
    }

    fn read_new(&mut self, file: &Hdf, first: &[u8]) -> Result<()> {
        let mut at = Cursor::new(first, "object header");
        at.skip(4)?;
        if at.u8()? != 2 {
            return Err(bad("an object header of an unknown version"));
        }
        let flags = at.u8()?;
        at.skip(if flags & 0x20 != 0 { 16 } else { 0 })?;
        at.skip(if flags & 0x10 != 0 { 4 } else { 0 })?;
        let len = at.uint(1 << (flags & 3))?;
        let start = at.at();
        let whole = len.checked_add(start as u64 + 4).ok_or_else(|| bad("an object header without an end"))?;
        let mut parts = Pieces::new(self.address, whole);
        let mut budget = Budget::new(file, 8);
        let mut next = 0;
        while let Some(&(address, len)) = parts.list.get(next) {
            budget.spend("continued object headers")?;
            let bytes = file.checked(address, len, "object header")?;
            let mut at = Cursor::new(&bytes, "object header");
            match next {
                0 => at.skip(start)?,
                _ => at.expect(b"OCHK")?,
            }
            next += 1;
            let head = if flags & 4 != 0 { 6 } else { 4 };
            while at.rest().len() >= head {
                let (ty, size, own) = (at.u8()?.into(), at.u16()?, at.u8()?);
                let order = if flags & 4 != 0 { Some(at.u16()?) } else { None };
                let start = at.at();
                at.skip(size.into())?;
                let message = Message { ty, flags: own, order, part: self.parts.len(), start, len: size.into() };
                self.take(file, message, &bytes, &mut parts)?;
            }
            self.parts.push(bytes);
        }
        Ok(())
    }

    fn take(&mut self, file: &Hdf, message: Message, bytes: &[u8], parts: &mut Pieces) -> Result<()> {
        if message.ty == kind::CONTINUATION {
            let mut at = Cursor::new(&bytes[message.start..][..message.len], "continuation");
            let (address, len) = (at.address(file.offsets)?, at.uint(file.lengths)?);
            if address == UNDEFINED || !parts.seen.insert(address) {
                return Err(bad(format!("an object header that goes on at address {address}, again")));
            }
            parts.list.push((address, len));
        }
        self.messages.push(message);
        Ok(())
    }
}

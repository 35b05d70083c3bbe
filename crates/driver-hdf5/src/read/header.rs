//! [`ObjectHeader`]: the messages of an object, from its header and its continuation blocks.

use std::collections::HashSet;

use nczarr_model::Result;

use super::cursor::{MetadataCursor, UNDEFINED, damaged};
use super::file::{HdfFile, WalkBudget};

/// Message types.
pub(crate) mod message_type {
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

/// The position of one message in the bytes of its header.
#[derive(Debug, Clone, Copy)]
struct MessageRange {
    ty: u16,
    flags: u8,
    order: Option<u16>,
    part: usize,
    start: usize,
    len: usize,
}

/// The header of an object.
#[derive(Debug)]
pub(crate) struct ObjectHeader {
    /// The address of the header.
    pub(crate) address: u64,
    /// The bytes of the header and of each continuation block.
    parts: Vec<Vec<u8>>,
    messages: Vec<MessageRange>,
}

/// The blocks of a header: address and length of each.
#[derive(Debug)]
struct HeaderBlocks {
    list: Vec<(u64, u64)>,
    seen: HashSet<u64>,
}

impl HeaderBlocks {
    fn new(address: u64, len: u64) -> Self {
        Self { list: vec![(address, len)], seen: HashSet::from([address]) }
    }
}

/// One message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeaderMessage<'h> {
    /// Whether its bytes are the place of a shared message.
    pub(crate) shared: bool,
    /// Creation order, if recorded.
    pub(crate) order: Option<u16>,
    pub(crate) bytes: &'h [u8],
}

impl ObjectHeader {
    /// Reads the header of an object.
    ///
    /// # Errors
    /// `NC_EHDFERR` if it is damaged.
    pub(crate) fn read(file: &HdfFile, address: u64) -> Result<Self> {
        let mut header = Self { address, parts: Vec::new(), messages: Vec::new() };
        let first = file.read_most(address, 48)?;
        let result = if first.starts_with(b"OHDR") {
            header.read_new(file, &first)
        } else {
            header.read_old(file, &first)
        };
        result.map_err(|error| error.at(format_args!("object at address {address}")))?;
        Ok(header)
    }

    /// Returns the first message of a type.
    pub(crate) fn find(&self, ty: u16) -> Option<HeaderMessage<'_>> {
        self.all(ty).next()
    }

    /// Returns all messages of a type.
    pub(crate) fn all(&self, ty: u16) -> impl Iterator<Item = HeaderMessage<'_>> {
        self.messages.iter().filter(move |message| message.ty == ty).map(|message| HeaderMessage {
            shared: message.flags & 2 != 0,
            order: message.order,
            bytes: &self.parts[message.part][message.start..][..message.len],
        })
    }

    fn read_old(&mut self, file: &HdfFile, first: &[u8]) -> Result<()> {
        let mut at = MetadataCursor::new(first, "object header");
        match at.u8()? {
            1 => at.skip(1)?,
            other => return Err(damaged(format!("object header: unknown version {other}"))),
        }
        let count = at.u16()?;
        at.skip(4)?;
        let len = at.u32()?;
        let mut parts = HeaderBlocks::new(self.address.saturating_add(16), u64::from(len));
        let mut budget = WalkBudget::new(file, 16);
        let mut next = 0;
        while let Some(&(address, len)) = parts.list.get(next) {
            next += 1;
            budget.spend("continued object headers")?;
            let bytes = file.read(address, len)?;
            let mut at = MetadataCursor::new(&bytes, "object header");
            while at.rest().len() >= 8 && self.messages.len() < usize::from(count) {
                let (ty, size, flags) = (at.u16()?, at.u16()?, at.u8()?);
                at.skip(3)?;
                let start = at.at();
                at.skip(size.into())?;
                let message =
                    MessageRange { ty, flags, order: None, part: self.parts.len(), start, len: size.into() };
                self.take(file, message, &bytes, &mut parts)?;
            }
            self.parts.push(bytes);
        }
        Ok(())
    }

    fn read_new(&mut self, file: &HdfFile, first: &[u8]) -> Result<()> {
        let mut at = MetadataCursor::new(first, "object header");
        at.skip(4)?;
        if at.u8()? != 2 {
            return Err(damaged("object header: unknown version"));
        }
        let flags = at.u8()?;
        at.skip(if flags & 0x20 != 0 { 16 } else { 0 })?;
        at.skip(if flags & 0x10 != 0 { 4 } else { 0 })?;
        let len = at.uint(1 << (flags & 3))?;
        let start = at.at();
        let whole =
            len.checked_add(start as u64 + 4).ok_or_else(|| damaged("object header: invalid size"))?;
        let mut parts = HeaderBlocks::new(self.address, whole);
        let mut budget = WalkBudget::new(file, 8);
        let mut next = 0;
        while let Some(&(address, len)) = parts.list.get(next) {
            budget.spend("continued object headers")?;
            let bytes = file.checked(address, len, "object header")?;
            let mut at = MetadataCursor::new(&bytes, "object header");
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
                let message =
                    MessageRange { ty, flags: own, order, part: self.parts.len(), start, len: size.into() };
                self.take(file, message, &bytes, &mut parts)?;
            }
            self.parts.push(bytes);
        }
        Ok(())
    }

    fn take(
        &mut self,
        file: &HdfFile,
        message: MessageRange,
        bytes: &[u8],
        parts: &mut HeaderBlocks,
    ) -> Result<()> {
        if message.ty == message_type::CONTINUATION {
            let mut at = MetadataCursor::new(&bytes[message.start..][..message.len], "continuation");
            let (address, len) = (at.address(file.offsets)?, at.uint(file.lengths)?);
            if address == UNDEFINED || !parts.seen.insert(address) {
                return Err(damaged(format!("object header: it continues at address {address} again")));
            }
            parts.list.push((address, len));
        }
        self.messages.push(message);
        Ok(())
    }
}

//! Writes object headers of version 2. Attributes and links are messages, or lie in heaps of their own.
//!
//! Creation order is tracked and, in heaps, indexed. netCDF-C reads definitions in that order, and does not
//! write to files without it.
//!
//! Source: HDF5 File Format Specification 3.0, IV.A.

use nczarr_model::{ErrorKind, Result};

use super::bytes::{PutBytes, UNDEFINED};
use super::dense;
use super::image::MetadataImage;

/// Most attributes or links kept as messages. More get a heap with an index.
const COMPACT: usize = 64;

/// Most bytes of a message.
const MESSAGE: usize = u16::MAX as usize;

/// Message types.
pub(super) mod kind {
    pub(in super::super) const DATASPACE: u8 = 1;
    pub(in super::super) const LINK_INFO: u8 = 2;
    pub(in super::super) const DATATYPE: u8 = 3;
    pub(in super::super) const FILL_VALUE: u8 = 5;
    pub(in super::super) const LINK: u8 = 6;
    pub(in super::super) const LAYOUT: u8 = 8;
    pub(in super::super) const GROUP_INFO: u8 = 10;
    pub(in super::super) const FILTERS: u8 = 11;
    pub(in super::super) const ATTRIBUTE: u8 = 12;
    pub(in super::super) const ATTRIBUTE_INFO: u8 = 21;
}

/// Message flag: the message never changes.
const CONSTANT: u8 = 1;
/// Message flag: the message holds the place of the real one.
const SHARED: u8 = 2;
/// Message flag: the message is never shared.
const OWN: u8 = 4;

/// A dataspace.
#[derive(Debug, Clone)]
pub(super) enum DataspaceMessage {
    Null,
    Scalar,
    /// Length and maximum length of each dimension.
    Simple(Vec<(u64, u64)>),
}

impl DataspaceMessage {
    /// Makes a dataspace of one dimension, or a null dataspace for no elements.
    pub(super) fn list(len: usize) -> Self {
        if len == 0 { Self::Null } else { Self::Simple(vec![(len as u64, len as u64)]) }
    }

    /// Returns the dataspace message.
    pub(super) fn message(&self) -> Vec<u8> {
        match self {
            Self::Scalar => vec![2, 0, 0, 0],
            Self::Null => vec![2, 0, 0, 2],
            Self::Simple(dims) => {
                let grows = dims.iter().any(|(len, most)| len != most);
                let mut out = vec![2, dims.len() as u8, u8::from(grows), 1];
                dims.iter().for_each(|&(len, _)| out.u64(len));
                if grows {
                    dims.iter().for_each(|&(_, most)| out.u64(most));
                }
                out
            }
        }
    }
}

/// A datatype: a description, or the address of a named type.
#[derive(Debug, Clone)]
pub(super) enum DatatypeMessage {
    Own(Vec<u8>),
    Named(u64),
}

impl DatatypeMessage {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Own(bytes) => bytes.clone(),
            Self::Named(address) => {
                let mut out = vec![2, 2];
                out.u64(*address);
                out
            }
        }
    }
}

/// An attribute.
#[derive(Debug)]
pub(super) struct AttributeMessage {
    pub(super) name: String,
    pub(super) datatype: DatatypeMessage,
    pub(super) space: DataspaceMessage,
    pub(super) data: Vec<u8>,
}

impl AttributeMessage {
    fn message(&self) -> Vec<u8> {
        let (datatype, space) = (self.datatype.bytes(), self.space.message());
        let mut out = vec![3, u8::from(matches!(self.datatype, DatatypeMessage::Named(_)))];
        out.u16(self.name.len() as u16 + 1);
        out.u16(datatype.len() as u16);
        out.u16(space.len() as u16);
        out.u8(u8::from(!self.name.is_ascii()));
        out.extend_from_slice(self.name.as_bytes());
        out.u8(0);
        out.extend(datatype);
        out.extend(space);
        out.extend_from_slice(&self.data);
        out
    }
}

/// A link of a group.
#[derive(Debug)]
pub(super) struct LinkMessage {
    pub(super) name: String,
    pub(super) address: u64,
}

impl LinkMessage {
    fn message(&self, order: u64) -> Vec<u8> {
        let utf8 = !self.name.is_ascii();
        let len = self.name.len() as u64;
        let width = super::bytes::width(len);
        let width = if width == 3 { 4 } else { width };
        // Width of the name's length; creation order present; character set present if not ASCII.
        let mut out = vec![1, width.ilog2() as u8 | 4 | u8::from(utf8) << 4];
        out.u64(order);
        if utf8 {
            out.u8(1);
        }
        out.sized(len, width);
        out.extend_from_slice(self.name.as_bytes());
        out.u64(self.address);
        out
    }
}

/// An object header under construction.
#[derive(Debug, Default)]
pub(super) struct HeaderBuilder {
    messages: Vec<u8>,
    /// Type and length of a message that is too long.
    too_long: Option<(u8, usize)>,
}

impl HeaderBuilder {
    fn message(&mut self, kind: u8, flags: u8, order: u16, body: &[u8]) {
        if body.len() > MESSAGE {
            self.too_long = Some((kind, body.len()));
            return;
        }
        self.messages.u8(kind);
        self.messages.u16(body.len() as u16);
        self.messages.u8(flags);
        self.messages.u16(order);
        self.messages.extend_from_slice(body);
    }

    /// Appends a message that may change.
    pub(super) fn put(&mut self, kind: u8, body: &[u8]) {
        self.message(kind, 0, 0, body);
    }

    /// Appends a message that never changes.
    pub(super) fn put_constant(&mut self, kind: u8, body: &[u8]) {
        self.message(kind, CONSTANT, 0, body);
    }

    pub(super) fn put_datatype(&mut self, datatype: &DatatypeMessage) {
        let shared = if matches!(datatype, DatatypeMessage::Named(_)) { SHARED } else { 0 };
        self.message(kind::DATATYPE, CONSTANT | shared, 0, &datatype.bytes());
    }

    /// Appends the attributes in creation order.
    pub(super) fn put_attributes(
        &mut self,
        image: &mut MetadataImage,
        attributes: &[AttributeMessage],
    ) -> Result<()> {
        let messages: Vec<Vec<u8>> = attributes.iter().map(AttributeMessage::message).collect();
        let compact = messages.len() <= COMPACT && messages.iter().all(|message| message.len() < MESSAGE);
        let names = attributes.iter().map(|attribute| &*attribute.name);
        let stored = if compact {
            dense::DenseStorage::default()
        } else {
            dense::put(image, &dense::ATTRIBUTES, names, &messages)?
        };
        let mut info = vec![0, 3];
        info.u16(attributes.len() as u16);
        stored.put(&mut info);
        self.message(kind::ATTRIBUTE_INFO, OWN, 0, &info);
        if compact {
            for (order, message) in messages.iter().enumerate() {
                self.message(kind::ATTRIBUTE, 0, order as u16, message);
            }
        }
        Ok(())
    }

    /// Appends the links of a group in creation order.
    pub(super) fn put_links(&mut self, image: &mut MetadataImage, links: &[LinkMessage]) -> Result<()> {
        let messages: Vec<Vec<u8>> =
            links.iter().enumerate().map(|(order, link)| link.message(order as u64)).collect();
        let compact = messages.len() <= COMPACT;
        let stored = if compact {
            dense::DenseStorage::default()
        } else {
            dense::put(image, &dense::LINKS, links.iter().map(|link| &*link.name), &messages)?
        };
        let mut info = vec![0, 3];
        info.u64(links.len() as u64);
        stored.put(&mut info);
        self.put(kind::LINK_INFO, &info);
        self.put_constant(kind::GROUP_INFO, &[0, 0]);
        if compact {
            messages.iter().for_each(|message| self.put(kind::LINK, message));
        }
        Ok(())
    }

    /// Appends the header to the image, and returns its address.
    ///
    /// # Errors
    /// `NC_EHDFERR` if a type description or fill value is longer than HDF5 allows.
    pub(super) fn finish(self, image: &mut MetadataImage) -> Result<u64> {
        if let Some((kind, len)) = self.too_long {
            let what = match kind {
                kind::DATATYPE => "the type description",
                kind::FILL_VALUE => "the fill value",
                _ => "the description",
            };
            return Err(ErrorKind::HdfErr
                .context(format!("{what} is too long (expected at most {MESSAGE} bytes, found {len})")));
        }
        // Attribute creation order is tracked and indexed; the length has four bytes.
        let mut out = b"OHDR\x02\x0e".to_vec();
        out.u32(self.messages.len() as u32);
        out.extend(self.messages);
        out.checksum(0);
        Ok(image.put(&out))
    }
}

impl dense::DenseStorage {
    fn put(&self, out: &mut Vec<u8>) {
        [self.heap, self.by_name, self.by_order].into_iter().for_each(|address| out.u64(address));
    }
}

impl Default for dense::DenseStorage {
    fn default() -> Self {
        Self { heap: UNDEFINED, by_name: UNDEFINED, by_order: UNDEFINED }
    }
}

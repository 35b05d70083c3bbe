//! MessagePack, as far as JSON can express it: [`read`], and writing of text and numbers.
//!
//! Source: the MessagePack specification.

use nczarr_model::NcString;

use super::{MemoryBudget, ObjectNode, token};

/// Most levels of nested lists.
const DEPTH: usize = 64;

/// Reads the value that is all of `src`.
pub(super) fn read(src: &[u8], budget: &mut MemoryBudget) -> Result<ObjectNode, String> {
    let mut reader = MsgpackReader { src, at: 0, budget };
    let node = reader.node(DEPTH)?;
    match src.len() - reader.at {
        0 => Ok(node),
        more => Err(format!("{more} bytes are left over")),
    }
}

struct MsgpackReader<'a> {
    src: &'a [u8],
    at: usize,
    budget: &'a mut MemoryBudget,
}

impl<'a> MsgpackReader<'a> {
    fn bytes(&mut self, len: usize) -> Result<&'a [u8], String> {
        let rest = self.src.get(self.at..).unwrap_or_default();
        match rest.get(..len) {
            Some(bytes) => {
                self.at += len;
                Ok(bytes)
            }
            None => Err(format!("expected {len} bytes at byte {}, found {}", self.at, rest.len())),
        }
    }

    /// Reads a number of `len` bytes, at most 8.
    fn number(&mut self, len: usize) -> Result<u64, String> {
        Ok(self.bytes(len)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn len(&mut self, len: usize) -> Result<usize, String> {
        usize::try_from(self.number(len)?).map_err(|_| "a length exceeds memory".to_owned())
    }

    fn node(&mut self, depth: usize) -> Result<ObjectNode, String> {
        let from = self.at;
        self.budget.take(0)?;
        match self.number(1)? as u8 {
            small @ 0..=0x7f => Ok(ObjectNode::Number(small.into())),
            list @ 0x90..=0x9f => self.list(usize::from(list & 0x0f), depth),
            text @ 0xa0..=0xbf => self.text(usize::from(text & 0x1f)),
            0xc0 => Ok(ObjectNode::Null),
            size @ 0xcc..=0xcf => Ok(ObjectNode::Number(self.number(1 << (size - 0xcc))?)),
            size @ 0xd9..=0xdb => {
                let len = self.len(1 << (size - 0xd9))?;
                self.text(len)
            }
            size @ 0xdc..=0xdd => {
                let len = self.len(2 << (size - 0xdc))?;
                self.list(len, depth)
            }
            map @ 0x80..=0x8f => self.map(usize::from(map & 0x0f), depth),
            size @ 0xde..=0xdf => {
                let len = self.len(2 << (size - 0xde))?;
                self.map(len, depth)
            }
            value @ 0xc2..=0xc3 => Ok(ObjectNode::Bool(value == 0xc3)),
            0xca => Ok(ObjectNode::Token(token(f32::from_bits(self.number(4)? as u32).into()))),
            0xcb => Ok(ObjectNode::Token(token(f64::from_bits(self.number(8)?)))),
            size @ 0xd0..=0xd3 => {
                let bytes = 1 << (size - 0xd0);
                // Sign-extends from the first bit.
                let unused = 64 - 8 * bytes as u32;
                Ok(signed((self.number(bytes)? << unused) as i64 >> unused))
            }
            small @ 0xe0..=0xff => Ok(signed((small as i8).into())),
            other => {
                let kind = if matches!(other, 0xc4..=0xc6) { "bytes" } else { "something else" };
                Err(format!("expected text at byte {from}, found {kind}"))
            }
        }
    }

    fn text(&mut self, len: usize) -> Result<ObjectNode, String> {
        let bytes = self.bytes(len)?;
        self.budget.take(len)?;
        Ok(ObjectNode::Text(NcString::from(bytes)))
    }

    fn list(&mut self, len: usize, depth: usize) -> Result<ObjectNode, String> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(format!("lists are nested more than {DEPTH} levels deep"));
        };
        // Memory grows with the data present, not with the announced length.
        let mut list = Vec::new();
        for _ in 0..len {
            list.push(self.node(depth)?);
        }
        Ok(ObjectNode::List(list))
    }

    fn map(&mut self, len: usize, depth: usize) -> Result<ObjectNode, String> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(format!("lists are nested more than {DEPTH} levels deep"));
        };
        let mut map = Vec::new();
        for _ in 0..len {
            let from = self.at;
            match self.node(depth)? {
                ObjectNode::Text(name) => map.push((name, self.node(depth)?)),
                other => return Err(format!("expected a name at byte {from}, found {}", other.kind())),
            }
        }
        Ok(ObjectNode::Map(map))
    }
}

/// Returns a signed number.
fn signed(number: i64) -> ObjectNode {
    u64::try_from(number).map_or_else(|_| ObjectNode::Token(number.to_string()), ObjectNode::Number)
}

/// Appends the header of a list.
pub(super) fn put_list(out: &mut Vec<u8>, len: u32) {
    put_head(out, len, 0x90, 16, [None, Some(0xdc), Some(0xdd)]);
}

/// Appends text. `raw`: in the older format without one-byte lengths.
pub(super) fn put_text(out: &mut Vec<u8>, text: &[u8], len: u32, raw: bool) {
    put_head(out, len, 0xa0, 32, [(!raw).then_some(0xd9), Some(0xda), Some(0xdb)]);
    out.extend_from_slice(text);
}

/// Appends a number.
pub(super) fn put_number(out: &mut Vec<u8>, number: u32) {
    put_head(out, number, 0, 128, [Some(0xcc), Some(0xcd), Some(0xce)]);
}

/// Appends a number below `few` combined with `mark`, or a mark for 1, 2 or 4 bytes and the number.
fn put_head(out: &mut Vec<u8>, number: u32, mark: u8, few: u32, marks: [Option<u8>; 3]) {
    let [_, _, _, low] = number.to_be_bytes();
    if number < few {
        return out.push(mark | low);
    }
    for (mark, size) in marks.into_iter().zip([1, 2, 4]) {
        let Some(mark) = mark else { continue };
        if size == 4 || number >> (8 * size) == 0 {
            out.push(mark);
            return out.extend_from_slice(&number.to_be_bytes()[4 - size..]);
        }
    }
}

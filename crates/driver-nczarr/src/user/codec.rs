//! Element codecs for packed elements of user-defined types.
//!
//! [`StringCompoundCodec`] stores compounds with strings in records of a fixed size. [`PackedCodec`] wraps
//! the codec named in the metadata and converts packed bytes to the stored byte order.

use std::sync::Arc;

use nczarr_chunkio::ElementPiece;
use nczarr_codec::{ElementChunk, ElementCodec, ItemType, Json};
use nczarr_model::{ErrorKind, Model, NcString, NcType, Packer, Result, TypeClass, Unpacker};

/// A part of a record, in the order of the packed form.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PackStep {
    /// This many bytes, unchanged.
    Bytes(usize),
    /// Numbers of one size.
    Numbers { size: usize, count: usize, big_endian: bool },
    /// Strings, each in `width` bytes, padded with NULs.
    Text { width: usize, count: usize },
}

impl PackStep {
    pub(super) fn numbers(size: usize, count: usize, big_endian: bool) -> Self {
        if size == 1 { Self::Bytes(count) } else { Self::Numbers { size, count, big_endian } }
    }

    pub(super) fn times(self, times: usize) -> Self {
        match self {
            Self::Bytes(len) => Self::Bytes(len.saturating_mul(times)),
            Self::Numbers { size, count, big_endian } => {
                Self::Numbers { size, count: count.saturating_mul(times), big_endian }
            }
            Self::Text { width, count } => Self::Text { width, count: count.saturating_mul(times) },
        }
    }

    /// Returns the engine's form; `None` for text.
    pub(super) fn piece(&self) -> Option<ElementPiece> {
        Some(match *self {
            Self::Bytes(len) => ElementPiece::Bytes(len),
            Self::Numbers { size, count, big_endian } => ElementPiece::Numbers { size, count, big_endian },
            Self::Text { .. } => return None,
        })
    }
}

/// Copies numbers and reverses their bytes if the orders differ.
fn copy_numbers(from: &[u8], size: usize, big_endian: bool, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(from);
    if big_endian != cfg!(target_endian = "big") {
        out[start..].chunks_exact_mut(size.max(1)).for_each(<[u8]>::reverse);
    }
}

/// Stores compounds with strings as records of a fixed size.
#[derive(Debug, Clone)]
pub(crate) struct StringCompoundCodec {
    pub(crate) steps: Vec<PackStep>,
    /// Bytes of a record.
    pub(crate) size: usize,
}

impl StringCompoundCodec {
    /// Appends the record of an element.
    pub(crate) fn save(&self, element: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut parts = Unpacker::new(element);
        for step in &self.steps {
            match *step {
                PackStep::Bytes(len) => out.extend_from_slice(parts.fixed(len)?),
                PackStep::Numbers { size, count, big_endian } => {
                    copy_numbers(parts.fixed(size.saturating_mul(count))?, size, big_endian, out);
                }
                PackStep::Text { width, count } => {
                    for _ in 0..count {
                        let text = parts.string()?;
                        if text.len() > width {
                            let len = text.len();
                            return Err(ErrorKind::Inval.context(format!(
                                "the text is too long (expected at most {width} bytes, found {len})"
                            )));
                        }
                        if text.last() == Some(&0) {
                            return Err(ErrorKind::Inval
                                .context("text that ends with NUL cannot be stored; the NUL would be lost"));
                        }
                        out.extend_from_slice(text);
                        out.resize(out.len() + width - text.len(), 0);
                    }
                }
            }
        }
        parts.end()
    }

    /// Returns the element of a record.
    pub(crate) fn load(&self, record: &[u8]) -> Result<NcString> {
        let mut rest = Unpacker::new(record);
        let mut packer = Packer::default();
        let mut numbers = Vec::new();
        for step in &self.steps {
            match *step {
                PackStep::Bytes(len) => packer.fixed(rest.fixed(len)?),
                PackStep::Numbers { size, count, big_endian } => {
                    numbers.clear();
                    copy_numbers(rest.fixed(size.saturating_mul(count))?, size, big_endian, &mut numbers);
                    packer.fixed(&numbers);
                }
                PackStep::Text { width, count } => {
                    for _ in 0..count {
                        let text = rest.fixed(width)?;
                        let len = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                        packer.string(&text[..len]);
                    }
                }
            }
        }
        rest.end()?;
        Ok(packer.finish())
    }
}

impl ElementCodec for StringCompoundCodec {
    fn name(&self) -> &str {
        "record"
    }

    /// No description: the stored type implies the codec.
    fn to_json(&self) -> Json {
        Json::Null
    }

    fn check(&self, element: &NcString) -> Result<()> {
        self.save(element.as_bytes(), &mut Vec::new())
    }

    fn encode(&self, elements: &[NcString], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        elements.iter().try_for_each(|element| self.save(element.as_bytes(), out))
    }

    fn decode(&self, src: &[u8], count: usize, limit: usize) -> Result<Vec<NcString>> {
        let lengths: usize = self
            .steps
            .iter()
            .map(|step| if let PackStep::Text { count, .. } = step { *count } else { 0 })
            .sum();
        let one = lengths.saturating_mul(8).saturating_add(self.size).saturating_add(size_of::<NcString>());
        if src.len() != count.saturating_mul(self.size) || count.saturating_mul(one) > limit.max(src.len()) {
            let what = format!(
                "the chunk has the wrong size (expected {count} records of {} bytes, found {} bytes)",
                self.size,
                src.len()
            );
            return Err(ErrorKind::Filter.context(what));
        }
        src.chunks_exact(self.size.max(1)).map(|record| self.load(record)).collect()
    }
}

/// Packed elements in little-endian order, around a codec of bytes.
#[derive(Debug, Clone)]
pub(crate) struct PackedCodec {
    codec: Box<dyn ElementCodec>,
    model: Arc<Model>,
    ty: NcType,
}

impl PackedCodec {
    /// Wraps a codec so that it accepts elements in native byte order.
    pub(crate) fn around(codec: Box<dyn ElementCodec>, model: &Model, ty: NcType) -> Box<dyn ElementCodec> {
        Box::new(Self { codec, model: Arc::new(model.types_only()), ty })
    }
}

/// Converts a packed element between native and stored byte order. `stored`: it has the stored order.
///
/// # Errors
/// `NC_EBADTYPE` if it is not a valid element.
pub(crate) fn reordered(model: &Model, ty: NcType, element: &[u8], stored: bool) -> Result<Vec<u8>> {
    if cfg!(target_endian = "little") {
        return Ok(element.to_vec());
    }
    reorder(model, ty, element, stored)
}

fn reorder(model: &Model, ty: NcType, element: &[u8], stored: bool) -> Result<Vec<u8>> {
    let mut order = ByteOrderSwap { model, foreign: stored, out: Vec::with_capacity(element.len()) };
    match model.vlen_base(ty)? {
        Some(base) => order.elements(base, element, 0)?,
        None => {
            let rest = order.part(ty, 1, element, 0)?;
            if !rest.is_empty() {
                return Err(ErrorKind::BadType.context("a packed element has excess bytes"));
            }
        }
    }
    Ok(order.out)
}

/// Reverses the bytes of all numbers and lengths.
struct ByteOrderSwap<'a> {
    model: &'a Model,
    /// Whether lengths are in the non-native order.
    foreign: bool,
    out: Vec<u8>,
}

impl ByteOrderSwap<'_> {
    fn part<'b>(&mut self, ty: NcType, count: usize, bytes: &'b [u8], depth: usize) -> Result<&'b [u8]> {
        let short = || ErrorKind::BadType.context("a packed element is cut short");
        let mut rest = bytes;
        if depth > 64 {
            return Err(ErrorKind::BadType.context("types are nested too deeply"));
        }
        for _ in 0..count {
            let user = match ty {
                NcType::User(id) => Some(&self.model.user_type(id)?.class),
                _ => None,
            };
            match user {
                Some(TypeClass::Compound { size, fields }) if self.model.is_fixed(ty)? => {
                    let (element, after) = rest.split_at_checked(*size).ok_or_else(short)?;
                    let start = self.out.len();
                    self.out.extend_from_slice(element);
                    for field in fields {
                        let mut inner =
                            ByteOrderSwap { model: self.model, foreign: self.foreign, out: Vec::new() };
                        let from = element.get(field.offset..).ok_or_else(short)?;
                        inner.part(field.ty, field.count()?, from, depth + 1)?;
                        let at = start + field.offset;
                        self.out
                            .get_mut(at..at + inner.out.len())
                            .ok_or_else(short)?
                            .copy_from_slice(&inner.out);
                    }
                    rest = after;
                }
                Some(TypeClass::Compound { fields, .. }) => {
                    for field in fields {
                        rest = self.part(field.ty, field.count()?, rest, depth + 1)?;
                    }
                }
                Some(TypeClass::Opaque { size }) => {
                    let (element, after) = rest.split_at_checked(*size).ok_or_else(short)?;
                    self.out.extend_from_slice(element);
                    rest = after;
                }
                Some(TypeClass::Enum { base, .. }) => rest = self.part(*base, 1, rest, depth + 1)?,
                Some(TypeClass::Vlen { base }) => {
                    let (list, after) = self.counted(rest)?;
                    self.elements(*base, list, depth + 1)?;
                    rest = after;
                }
                None if ty == NcType::String => {
                    let (text, after) = self.counted(rest)?;
                    self.out.extend_from_slice(text);
                    rest = after;
                }
                None => {
                    let (number, after) = rest.split_at_checked(ty.size().unwrap_or(1)).ok_or_else(short)?;
                    self.out.extend(number.iter().rev());
                    rest = after;
                }
            }
        }
        Ok(rest)
    }

    /// Writes the reversed length and splits the bytes that it counts from the rest.
    fn counted<'b>(&mut self, bytes: &'b [u8]) -> Result<(&'b [u8], &'b [u8])> {
        let short = || ErrorKind::BadType.context("a packed element is cut short");
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
        let mut swapped = *length;
        swapped.reverse();
        self.out.extend_from_slice(&swapped);
        let len = u64::from_ne_bytes(if self.foreign { swapped } else { *length });
        rest.split_at_checked(usize::try_from(len).map_err(|_| short())?).ok_or_else(short)
    }

    fn elements(&mut self, base: NcType, mut bytes: &[u8], depth: usize) -> Result<()> {
        while !bytes.is_empty() {
            let rest = self.part(base, 1, bytes, depth)?;
            if rest.len() == bytes.len() {
                return Err(ErrorKind::BadType.context("a list has elements of zero bytes"));
            }
            bytes = rest;
        }
        Ok(())
    }
}

impl ElementCodec for PackedCodec {
    fn name(&self) -> &str {
        self.codec.name()
    }

    fn to_json(&self) -> Json {
        self.codec.to_json()
    }

    fn item(&self) -> Option<ItemType> {
        self.codec.item()
    }

    fn bind(&mut self, chunk: &ElementChunk<'_>) -> Result<()> {
        self.codec.bind(chunk)
    }

    fn check(&self, element: &NcString) -> Result<()> {
        self.model.check_packed(self.ty, element.as_bytes())?;
        self.codec.check(element)
    }

    fn encode(&self, elements: &[NcString], out: &mut Vec<u8>) -> Result<()> {
        if cfg!(target_endian = "little") {
            return self.codec.encode(elements, out);
        }
        let stored =
            |element: &NcString| Ok(reordered(&self.model, self.ty, element.as_bytes(), false)?.into());
        self.codec.encode(&elements.iter().map(stored).collect::<Result<Vec<_>>>()?, out)
    }

    fn decode(&self, src: &[u8], count: usize, limit: usize) -> Result<Vec<NcString>> {
        let mut elements = self.codec.decode(src, count, limit)?;
        for (index, element) in elements.iter_mut().enumerate() {
            let at = |error: nczarr_model::Error| {
                ErrorKind::Filter.context(format!("element {index}: {}", error.what()))
            };
            if cfg!(target_endian = "big") {
                *element = reordered(&self.model, self.ty, element.as_bytes(), true).map_err(at)?.into();
            }
            // The result must be an element of its type.
            self.model.check_packed(self.ty, element.as_bytes()).map_err(at)?;
        }
        Ok(elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nczarr_model::{Field, GroupId, Item, UserType};

    #[test]
    fn the_other_order_of_bytes_and_back() {
        let mut model = Model::new();
        let mut add = |name: &str, class| {
            let ty = UserType { name: name.to_owned(), group: GroupId::ROOT, class };
            NcType::User(model.add_type(ty).unwrap())
        };
        let field = |name: &str, offset, ty, shape: &[u32]| Field {
            name: name.to_owned(),
            offset,
            ty,
            shape: shape.to_vec(),
        };
        let fields = vec![field("a", 0, NcType::Short, &[2]), field("b", 8, NcType::Double, &[])];
        let point = add("point", TypeClass::Compound { size: 16, fields });
        let points = add("points", TypeClass::Vlen { base: point });
        let fields = vec![field("p", 0, points, &[]), field("s", 16, NcType::String, &[])];
        let note = add("note", TypeClass::Compound { size: 24, fields });
        let p = Item::Compound(vec![vec![Item::Int(1), Item::Int(2)], vec![Item::Double(3.0)]]);
        let item =
            Item::Compound(vec![vec![Item::Vlen(vec![p.clone(), p])], vec![Item::String("ab".into())]]);
        let packed = model.pack(note, &item).unwrap();
        let other = reorder(&model, note, packed.as_bytes(), false).unwrap();
        let mut length = 32u64.to_ne_bytes();
        length.reverse();
        assert_eq!(other[..8], length);
        let mut three = 3f64.to_ne_bytes();
        three.reverse();
        assert_eq!(other[16..24], three);
        assert_eq!(reorder(&model, note, &other, true).unwrap(), packed.as_bytes());
        for cut in 0..other.len() {
            assert!(reorder(&model, note, &other[..cut], true).is_err());
        }
    }
}

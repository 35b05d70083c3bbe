//! Element codecs between packed elements and what is stored of them: [`Texts`] makes records of compounds with strings,
//! [`Packed`] puts packed bytes into storage's order of bytes, around the codec that is told in the metadata.

use std::sync::Arc;

use nczarr_chunkio::Piece;
use nczarr_dispatch::{ElementChunk, ElementCodec, ItemType, Json};
use nczarr_model::{ErrorKind, Model, NcString, NcType, Packer, Result, TypeClass, Unpacker};

/// A part of a record, in the order of the packed form.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// So many bytes, as they are.
    Bytes(usize),
    /// Numbers of a size.
    Numbers { size: usize, count: usize, big_endian: bool },
    /// Strings, each in so many bytes, padded with NULs.
    Text { width: usize, count: usize },
}

impl Step {
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

    /// As the engine has it; `None` for text.
    pub(super) fn piece(&self) -> Option<Piece> {
        Some(match *self {
            Self::Bytes(len) => Piece::Bytes(len),
            Self::Numbers { size, count, big_endian } => Piece::Numbers { size, count, big_endian },
            Self::Text { .. } => return None,
        })
    }
}

/// Copies numbers, each the other way round if the orders differ.
fn copy_numbers(from: &[u8], size: usize, big_endian: bool, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(from);
    if big_endian != cfg!(target_endian = "big") {
        out[start..].chunks_exact_mut(size.max(1)).for_each(<[u8]>::reverse);
    }
}

/// Compounds with strings as records of a fixed size.
#[derive(Debug, Clone)]
pub(crate) struct Texts {
    pub(crate) steps: Vec<Step>,
    /// Bytes of a record.
    pub(crate) size: usize,
}

impl Texts {
    /// Appends the record of an element.
    pub(crate) fn save(&self, element: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut parts = Unpacker::new(element);
        for step in &self.steps {
            match *step {
                Step::Bytes(len) => out.extend_from_slice(parts.fixed(len)?),
                Step::Numbers { size, count, big_endian } => {
                    copy_numbers(parts.fixed(size.saturating_mul(count))?, size, big_endian, out);
                }
                Step::Text { width, count } => {
                    for _ in 0..count {
                        let text = parts.string()?;
                        if text.len() > width {
                            let len = text.len();
                            return Err(
                                ErrorKind::Inval.context(format!("text of {len} bytes where {width} are stored"))
                            );
                        }
                        if text.last() == Some(&0) {
                            return Err(ErrorKind::Inval.context("text that ends with NUL, which would be lost"));
                        }
                        out.extend_from_slice(text);
                        out.resize(out.len() + width - text.len(), 0);
                    }
                }
            }
        }
        parts.end()
    }

    /// The element of a record.
    pub(crate) fn load(&self, record: &[u8]) -> Result<NcString> {
        let mut rest = Unpacker::new(record);
        let mut packer = Packer::default();
        let mut numbers = Vec::new();
        for step in &self.steps {
            match *step {
                Step::Bytes(len) => packer.fixed(rest.fixed(len)?),
                Step::Numbers { size, count, big_endian } => {
                    numbers.clear();
                    copy_numbers(rest.fixed(size.saturating_mul(count))?, size, big_endian, &mut numbers);
                    packer.fixed(&numbers);
                }
                Step::Text { width, count } => {
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

impl ElementCodec for Texts {
    fn name(&self) -> &str {
        "record"
    }

    /// Nothing: the stored type says it.
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
        let lengths: usize =
            self.steps.iter().map(|step| if let Step::Text { count, .. } = step { *count } else { 0 }).sum();
        let one = lengths.saturating_mul(8).saturating_add(self.size).saturating_add(size_of::<NcString>());
        if src.len() != count.saturating_mul(self.size) || count.saturating_mul(one) > limit.max(src.len()) {
            let what = format!("{count} records of {} bytes expected, {} bytes found", self.size, src.len());
            return Err(ErrorKind::Filter.context(what));
        }
        src.chunks_exact(self.size.max(1)).map(|record| self.load(record)).collect()
    }
}

/// Packed elements in little-endian order, around a codec of bytes.
#[derive(Debug, Clone)]
pub(crate) struct Packed {
    codec: Box<dyn ElementCodec>,
    model: Arc<Model>,
    ty: NcType,
}

impl Packed {
    /// The codec that takes elements in this machine's order of bytes.
    pub(crate) fn around(codec: Box<dyn ElementCodec>, model: &Model, ty: NcType) -> Box<dyn ElementCodec> {
        Box::new(Self { codec, model: Arc::new(model.types_only()), ty })
    }
}

/// A packed element in the other order of bytes, if this machine's is not storage's. `stored`: it is in storage's.
///
/// # Errors
/// `NC_EBADTYPE` if it is no element.
pub(crate) fn reordered(model: &Model, ty: NcType, element: &[u8], stored: bool) -> Result<Vec<u8>> {
    if cfg!(target_endian = "little") {
        return Ok(element.to_vec());
    }
    reorder(model, ty, element, stored)
}

fn reorder(model: &Model, ty: NcType, element: &[u8], stored: bool) -> Result<Vec<u8>> {
    let mut order = Order { model, foreign: stored, out: Vec::with_capacity(element.len()) };
    match model.vlen_base(ty)? {
        Some(base) => order.elements(base, element, 0)?,
        None => {
            let rest = order.part(ty, 1, element, 0)?;
            if !rest.is_empty() {
                return Err(ErrorKind::BadType.context("bytes left over"));
            }
        }
    }
    Ok(order.out)
}

/// Puts all numbers and lengths the other way round.
struct Order<'a> {
    model: &'a Model,
    /// Whether lengths are in the order that is not this machine's.
    foreign: bool,
    out: Vec<u8>,
}

impl Order<'_> {
    fn part<'b>(&mut self, ty: NcType, count: usize, bytes: &'b [u8], depth: usize) -> Result<&'b [u8]> {
        let short = || ErrorKind::BadType.context("a packed element is cut short");
        let mut rest = bytes;
        if depth > 64 {
            return Err(ErrorKind::BadType.context("types nested too deeply"));
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
                        let mut inner = Order { model: self.model, foreign: self.foreign, out: Vec::new() };
                        let from = element.get(field.offset..).ok_or_else(short)?;
                        inner.part(field.ty, field.count()?, from, depth + 1)?;
                        let at = start + field.offset;
                        self.out.get_mut(at..at + inner.out.len()).ok_or_else(short)?.copy_from_slice(&inner.out);
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

    /// What a length stands before; the length is written.
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
                return Err(ErrorKind::BadType.context("elements without bytes"));
            }
            bytes = rest;
        }
        Ok(())
    }
}

impl ElementCodec for Packed {
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
        let stored = |element: &NcString| Ok(reordered(&self.model, self.ty, element.as_bytes(), false)?.into());
        self.codec.encode(&elements.iter().map(stored).collect::<Result<Vec<_>>>()?, out)
    }

    fn decode(&self, src: &[u8], count: usize, limit: usize) -> Result<Vec<NcString>> {
        let mut elements = self.codec.decode(src, count, limit)?;
        for (index, element) in elements.iter_mut().enumerate() {
            let at =
                |error: nczarr_model::Error| ErrorKind::Filter.context(format!("element {index}: {}", error.what()));
            if cfg!(target_endian = "big") {
                *element = reordered(&self.model, self.ty, element.as_bytes(), true).map_err(at)?.into();
            }
            // What is handed on is an element of its type.
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
        let field =
            |name: &str, offset, ty, shape: &[u32]| Field { name: name.to_owned(), offset, ty, shape: shape.to_vec() };
        let fields = vec![field("a", 0, NcType::Short, &[2]), field("b", 8, NcType::Double, &[])];
        let point = add("point", TypeClass::Compound { size: 16, fields });
        let points = add("points", TypeClass::Vlen { base: point });
        let fields = vec![field("p", 0, points, &[]), field("s", 16, NcType::String, &[])];
        let note = add("note", TypeClass::Compound { size: 24, fields });
        let p = Item::Compound(vec![vec![Item::Int(1), Item::Int(2)], vec![Item::Double(3.0)]]);
        let item = Item::Compound(vec![vec![Item::Vlen(vec![p.clone(), p])], vec![Item::String("ab".into())]]);
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
